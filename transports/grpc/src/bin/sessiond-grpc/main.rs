//! `sessiond-grpc`: sessions over gRPC, and a person's way to join them.
//!
//! - `cli`: the command line
//! - `serve`: the server, from its first connection to the last process it started
//! - `list`, `tail`, `attach`: what a person does with a running server; `found`: which session is meant
//! - `terminal`: the person's own terminal

mod attach;
mod cli;
mod found;
mod list;
mod serve;
mod tail;
mod terminal;

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Parser;
use sessiond_bootstrap::exit::FAILURE;
use sessiond_grpc::client::GrpcClient;

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
        bail!("--listen and --no-password are for serving: a subcommand takes --connect");
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("starting the runtime")?;
    let ended = runtime.block_on(async {
        let client = GrpcClient::connect(&command.server().address()?).await.context(
            "a server is started by `sessiond-grpc` or its systemd unit, and --connect says where one listens",
        )?;
        match command {
            Command::List(_) => list::list(&client).await,
            Command::Tail(tail) => tail::tail(&client, &tail).await,
            Command::Attach(attach) => attach::attach(&client, &attach).await,
        }
    });
    // A read of the terminal may never return.
    runtime.shutdown_background();
    ended
}
