//! The bench of sessiond: the same work done by sessiond and by raw system calls, as ratios within one run.
//!
//! - `rows`: what is compared, one file for each group of rows
//! - `raw`: the baselines; `bin/*empty.rs`: the empty servers; `bin/stamp.rs`: a program that says when it ended
//! - `ssh`: an OpenSSH server, with sessiond and the OpenSSH client as two ways to it
//! - `client`: a client on pipes that adds as little as it can; `grpc`, `http`: those of gRPC and of MCP over HTTP; `inside`: sessiond within this process
//! - `text`: what programs print; `usage`: what a process takes of the machine
//! - `stats`: interleaved rounds and medians; `report`: the table and the JSON
//! - `setup`: what every row needs
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a tool for a person at a terminal")]

mod client;
mod grpc;
mod http;
mod inside;
mod pin;
mod raw;
mod report;
mod rows;
mod setup;
mod ssh;
mod stats;
mod text;
mod usage;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use rows::ROWS;
use setup::Setup;

const HELP: &str = "\
Measures sessiond against raw baselines, as ratios within one run.

Usage: sessiond-bench [--only ROW]... [--rounds N] [--json FILE] [--list]

  --only ROW      only this row; may be given several times
  --rounds N      so many interleaved rounds of each pair; each row has its own default
  --json FILE     write the figures as JSON too
  --list          name the rows

Exits with 0 unless something breaks: a goal that is missed is printed, and judged by people.";

/// What the command line asks for.
#[derive(Debug, Default, PartialEq)]
struct Options {
    only: Vec<String>,
    rounds: Option<usize>,
    json: Option<PathBuf>,
    list: bool,
    help: bool,
}

impl Options {
    fn parse(args: impl IntoIterator<Item = String>) -> Result<Self> {
        let mut options = Self::default();
        let mut args = args.into_iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().with_context(|| format!("{arg} needs a value"));
            match arg.as_str() {
                "--only" => options.only.push(known_row(value()?)?),
                "--rounds" => options.rounds = Some(rounds(&value()?)?),
                "--json" => options.json = Some(value()?.into()),
                "--list" => options.list = true,
                "--help" | "-h" => options.help = true,
                other => bail!("{other:?} is not an option; --help lists what there is"),
            }
        }
        Ok(options)
    }
}

fn known_row(name: String) -> Result<String> {
    if ROWS.iter().any(|row| row.name == name) {
        return Ok(name);
    }
    let names: Vec<_> = ROWS.iter().map(|row| row.name).collect();
    bail!("there is no row {name:?}; there are {}", names.join(", "))
}

fn rounds(text: &str) -> Result<usize> {
    match text.parse() {
        Ok(rounds) if rounds > 0 => Ok(rounds),
        _ => bail!("--rounds must be a whole number from 1 on, not {text:?}"),
    }
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args == [raw::FLOOD] {
        return raw::flood();
    }
    let options = Options::parse(args)?;
    if options.help {
        println!("{HELP}");
        return Ok(());
    }
    if options.list {
        ROWS.iter().for_each(|row| println!("{:<12} {}", row.name, row.what));
        return Ok(());
    }
    let setup = Setup::new(options.rounds)?;
    let machine = report::Machine::look();
    println!("{machine}\n\n{}", report::heading());
    let mut lines = Vec::new();
    for row in ROWS.iter().filter(|row| options.only.is_empty() || options.only.iter().any(|only| only == row.name)) {
        let measured = (row.measure)(&setup).with_context(|| format!("row {}", row.name))?;
        println!("{}", report::line(row, &measured));
        lines.push((row, measured));
    }
    if let Some(path) = &options.json {
        let text = report::json(&machine, &lines);
        std::fs::write(path, text).with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> Result<Options> {
        Options::parse(args.iter().map(|arg| (*arg).to_owned()))
    }

    #[test]
    fn options_are_read() {
        let options = parse(&["--only", "idle", "--rounds", "3", "--json", "x.json"]).unwrap();
        let expected =
            Options { only: vec!["idle".into()], rounds: Some(3), json: Some("x.json".into()), ..Options::default() };
        assert_eq!(options, expected);
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        let refused = |args: &[&str]| parse(args).unwrap_err().to_string();
        assert!(refused(&["--only", "idel"]).starts_with("there is no row \"idel\"; there are throughput, "));
        assert_eq!(refused(&["--rounds", "0"]), "--rounds must be a whole number from 1 on, not \"0\"");
        assert_eq!(refused(&["--json"]), "--json needs a value");
        assert_eq!(refused(&["--quick"]), "\"--quick\" is not an option; --help lists what there is");
    }
}
