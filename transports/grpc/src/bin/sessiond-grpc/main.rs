//! `sessiond-grpc`: sessions over gRPC, and a person's way to join them.
//!
//! - `cli`: the command line
//! - `serve`: the server, from its first connection to the last process it started
//! - `remote`: the way to a running server
//! - `list`, `tail`, `attach`: what a person does with a running server; `found`: which session is meant
//! - `terminal`: the person's own terminal

mod attach;
mod cli;
mod found;
mod list;
mod remote;
mod serve;
mod tail;
mod terminal;

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Parser;
use sessiond_bootstrap::exit::FAILURE;

use crate::cli::{Cli, Command};

fn main() -> ExitCode {
    let ended = sessiond_bootstrap::prepare_process().context("preparing the process").and_then(|()| run(Cli::parse()));
    ended.unwrap_or_else(|error| {
        // A person reads it, or a service manager's log; there may be nobody.
        let _ = writeln!(std::io::stderr(), "error: {error:#}");
        ExitCode::from(FAILURE)
    })
}

fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    let Some(command) = cli.command else { return serve::run(&cli.common, &cli.serve) };
    if cli.serve.is_given() {
        bail!("--listen, --no-password and --plain are for serving: a subcommand takes --connect");
    }
    if let Command::Key(key) = &command {
        return key.run().map_err(anyhow::Error::from_boxed);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("starting the runtime")?;
    let ended = runtime.block_on(async {
        let client = remote::client(&cli.common, command.server()).await?;
        match command {
            Command::List(_) => list::list(&client).await,
            Command::Tail(tail) => tail::tail(&client, &tail).await,
            Command::Attach(attach) => attach::attach(&client, &attach).await,
            Command::Key(_) => Ok(ExitCode::SUCCESS),
        }
    });
    // A read of the terminal may never return.
    runtime.shutdown_background();
    ended
}
