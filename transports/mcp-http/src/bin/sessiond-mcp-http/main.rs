//! `sessiond-mcp-http`: the tools over MCP's streamable HTTP, for whoever brings a key.
//!
//! - `cli`: the command line
//! - `serve`: the server, from its first connection to the last process it started
//! - `check`: what holds, and whether it would serve

mod check;
mod cli;
mod serve;

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, anyhow, bail};
use clap::Parser;
use sessiond_bootstrap::exit::FAILURE;
use sessiond_bootstrap::{Bootstrap, Environment};

use crate::cli::{Cli, Command};

/// A call allocates and frees some hundred times in the libraries of its protocol, on whichever thread is free.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let ended = sessiond_bootstrap::prepare_process().context("preparing the process").and_then(|()| run(Cli::parse()));
    ended.unwrap_or_else(|error| {
        // A person reads it, or a service manager's log; there may be nobody.
        let _ = writeln!(std::io::stderr(), "error: {error:#}");
        ExitCode::from(FAILURE)
    })
}

fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    if cli.command.is_some() && cli.serve.is_given() {
        bail!("--listen, --plain and --no-password are for serving: a subcommand takes none of them");
    }
    match &cli.command {
        Some(Command::Key(key)) => key.run().map_err(|error| anyhow!(error)),
        Some(Command::Check) => on_runtime(check::check(Bootstrap::load(&cli.common, Environment::capture()))),
        None => {
            let bootstrap = Bootstrap::load(&cli.common, Environment::capture())?;
            bootstrap.start_logs();
            on_runtime(serve::serve(&bootstrap, &cli.serve))
        }
    }
}

/// Runs to the end, on as many threads as there are processors: callers are many.
fn on_runtime(work: impl Future<Output = anyhow::Result<ExitCode>>) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("starting the runtime")?;
    let ended = runtime.block_on(work);
    runtime.shutdown_background();
    ended
}
