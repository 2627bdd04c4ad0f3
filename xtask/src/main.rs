//! The chores of this repository: `cargo xtask test | conformance | tidy | protocol | ci | bench`.
//!
//! - `needs`: what the tests need beside Rust, and how it is installed
//! - `test`: installs or names what is missing, then runs every test
//! - `conformance`: builds and runs the conformance suite
//! - `tidy`: the rules of the house that a look at the tree can decide
//! - `protocol`: the gRPC files, and what changes in them
//! - `ci`: everything a change must pass beside the tests
//! - `bench`: builds and runs the bench
//! - `workspace`: where things are; `step`: one command with its heading and its time
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a tool for a person at a terminal")]

mod bench;
mod ci;
mod conformance;
mod needs;
mod protocol;
mod step;
mod test;
mod tidy;
mod workspace;

use std::process::ExitCode;

use anyhow::{Result, bail};

/// One chore: how it is called, what it is for, and what runs it.
struct Chore {
    name: &'static str,
    summary: &'static str,
    help: &'static str,
    run: fn(&[String]) -> Result<()>,
}

const CHORES: &[Chore] = &[
    Chore { name: "test", summary: "run every test", help: test::HELP, run: test::run },
    Chore {
        name: "conformance",
        summary: "prove every requirement and print the table",
        help: conformance::HELP,
        run: conformance::run,
    },
    Chore { name: "tidy", summary: "check the rules of the house", help: tidy::HELP, run: tidy::run },
    Chore { name: "protocol", summary: "check the gRPC files", help: protocol::HELP, run: protocol::run },
    Chore { name: "ci", summary: "check format, lints, rules and documentation", help: ci::HELP, run: ci::run },
    Chore { name: "bench", summary: "compare with raw baselines", help: bench::HELP, run: bench::run },
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(args: &[String]) -> Result<()> {
    let Some((name, rest)) = args.split_first() else {
        bail!("no chore is named\n\n{}", overview());
    };
    if is_help(name) {
        println!("{}", overview());
        return Ok(());
    }
    let Some(chore) = CHORES.iter().find(|chore| chore.name == name) else {
        bail!("there is no chore {name:?}\n\n{}", overview());
    };
    // Behind `--` stand arguments of another program.
    if rest.iter().take_while(|arg| *arg != "--").any(|arg| is_help(arg)) {
        println!("{}", chore.help);
        return Ok(());
    }
    (chore.run)(rest)
}

fn is_help(arg: &str) -> bool {
    matches!(arg, "--help" | "-h" | "help")
}

fn overview() -> String {
    let mut text = String::from("The chores of this repository.\n\nUsage: cargo xtask CHORE [OPTIONS]\n\nChores:\n");
    for chore in CHORES {
        text.push_str(&format!("  {:<11} {}\n", chore.name, chore.summary));
    }
    text.push_str("\n`cargo xtask CHORE --help` says more.");
    text
}

/// Refuses arguments for a chore that takes none.
fn no_arguments(args: &[String]) -> Result<()> {
    match args.first() {
        None => Ok(()),
        Some(arg) => bail!("{arg:?} is not an option of this chore; --help lists what there is"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(args: &[&str]) -> Result<()> {
        dispatch(&args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn every_chore_is_listed_and_has_help() {
        for chore in CHORES {
            assert!(overview().contains(chore.summary));
            assert!(chore.help.contains(&format!("Usage: cargo xtask {}", chore.name)), "{}", chore.name);
            assert!(call(&[chore.name, "--help"]).is_ok());
        }
    }

    #[test]
    fn what_is_not_understood_is_refused_by_name() {
        assert!(call(&[]).unwrap_err().to_string().starts_with("no chore is named"));
        assert!(call(&["tset"]).unwrap_err().to_string().starts_with("there is no chore \"tset\""));
        assert!(call(&["tidy", "--fix"]).unwrap_err().to_string().starts_with("\"--fix\" is not an option"));
        assert!(call(&["test", "--instal"]).unwrap_err().to_string().starts_with("\"--instal\" is not an option"));
    }
}
