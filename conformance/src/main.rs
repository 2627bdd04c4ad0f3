//! Runs the conformance suite and prints its table.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for people: it prints a table")]

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use futures_util::{StreamExt, stream};
use sessiond_conformance::suite::house::{BackendKind, Servers, TransportKind, ssh};
use sessiond_conformance::suite::requirement::IN_FORCE;
use sessiond_conformance::suite::runner::{self, Outcome, Selection};
use sessiond_conformance::suite::{baseline, mutant, mutants, report, scenarios};

/// How many mutants are hunted at once. Most of them wait most of the time.
const MUTANTS_AT_ONCE: usize = 12;

/// Proves every requirement in force, through every transport, over every backend.
#[derive(Debug, Parser)]
#[command(name = "conformance")]
struct Args {
    /// The binary sessiond-mcp-stdio to test, built with the feature `fake`.
    #[arg(long, value_name = "FILE")]
    mcp_stdio: PathBuf,
    /// The binary sessiond-mcp-http to test, built with the feature `fake`.
    #[arg(long, value_name = "FILE")]
    mcp_http: PathBuf,
    /// Only this backend.
    #[arg(long, value_parser = backend)]
    backend: Option<BackendKind>,
    /// Only this transport.
    #[arg(long, value_parser = transport)]
    transport: Option<TransportKind>,
    /// Only requirements whose id or sentence contains this.
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Only name the requirements and their scenarios.
    #[arg(long)]
    list: bool,
    /// Break each requirement on purpose and see whether its scenarios notice.
    #[arg(long)]
    mutants: bool,
    /// Write the table as JSON here too.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

fn backend(name: &str) -> Result<BackendKind, String> {
    named(BackendKind::ALL, BackendKind::as_str, name)
}

fn transport(name: &str) -> Result<TransportKind, String> {
    named(TransportKind::ALL, TransportKind::as_str, name)
}

fn named<T: Copy>(all: &[T], name_of: impl Fn(T) -> &'static str, name: &str) -> Result<T, String> {
    let known: Vec<_> = all.iter().map(|one| name_of(*one)).collect();
    let found = all.iter().copied().find(|one| name_of(*one) == name);
    found.ok_or_else(|| format!("there is none of this name; there are {}", known.join(", ")))
}

#[tokio::main]
async fn main() -> ExitCode {
    let args = Args::parse();
    let servers = Servers { mcp_stdio: args.mcp_stdio.clone(), mcp_http: args.mcp_http.clone() };
    if let Some(missing) = [&servers.mcp_stdio, &servers.mcp_http].into_iter().find(|server| !server.is_file()) {
        eprintln!("{}: there is no such server; cargo xtask conformance builds it", missing.display());
        return ExitCode::FAILURE;
    }
    let unproven = runner::unproven();
    let gaps = match baseline::gaps() {
        Ok(gaps) if unproven.is_empty() => gaps,
        Ok(_) => {
            eprintln!("in force without a scenario: {}", unproven.join(", "));
            return ExitCode::FAILURE;
        }
        Err(why) => {
            eprintln!("{why}");
            return ExitCode::FAILURE;
        }
    };
    if args.list {
        list();
        return ExitCode::SUCCESS;
    }
    runner::silence_panics();
    if args.mutants {
        return hunt(&args, &servers).await;
    }
    let selection = Selection { backend: args.backend, transport: args.transport, filter: args.filter };
    let began = Instant::now();
    let rows = runner::run(servers, &selection, |done, total, row| {
        let (backend, transport) = (row.backend_name(), row.transport_name());
        eprintln!("{done}/{total} {} {backend} {transport} {}", row.requirement.id, row.outcome.word());
    });
    let rows = rows.await;
    ssh::end();
    print!("{}", report::table(&rows, &gaps));
    println!("it took {} s", began.elapsed().as_secs());
    println!("{}", report::closing(&rows));
    if let Some(file) = args.json
        && let Err(error) = std::fs::write(&file, format!("{:#}\n", report::json(&rows, &gaps)))
    {
        eprintln!("{}: {error}", file.display());
        return ExitCode::FAILURE;
    }
    if rows.is_empty() {
        eprintln!("nothing was selected: --list shows what there is");
        return ExitCode::FAILURE;
    }
    if rows.iter().any(|row| matches!(row.outcome, Outcome::Fail(_))) { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Hunts every selected mutant.
async fn hunt(args: &Args, servers: &Servers) -> ExitCode {
    let unbroken = mutant::unbroken();
    if !unbroken.is_empty() {
        eprintln!("in force without a mutant: {}", unbroken.join(", "));
        return ExitCode::FAILURE;
    }
    let (mut caught, mut survived) = (0, 0);
    let selected = mutants::all().filter(|mutant| args.filter.as_ref().is_none_or(|text| mutant.id.contains(text)));
    let mut verdicts =
        stream::iter(selected.map(|mutant| mutant::hunt(mutant, servers.clone()))).buffered(MUTANTS_AT_ONCE);
    while let Some(verdict) = verdicts.next().await {
        let (word, count) = match verdict.caught {
            Some(_) => ("caught", &mut caught),
            None => ("SURVIVED", &mut survived),
        };
        *count += 1;
        println!("{:<6} {word:<9} {}", verdict.id, verdict.title);
        if let Some(why) = verdict.caught {
            println!("       {}", why.lines().next().unwrap_or_default());
        }
    }
    ssh::end();
    println!("mutants: {caught} passed, {survived} failed");
    if survived == 0 && caught > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn list() {
    for requirement in IN_FORCE {
        println!("{:<6} {}", requirement.id, requirement.sentence);
        for scenario in scenarios::all().filter(|scenario| scenario.id == requirement.id) {
            println!("         {}", scenario.title);
        }
    }
}
