//! `sessiond-mcp-stdio`: sessions for AI agents over MCP on stdin and stdout, and the same tools from a command line.
//!
//! - `cli`: the command line
//! - `serve`: the server, from its first byte to the last process it started; `greeting`: what a person sees who
//!   starts it by hand
//! - `bridge`: the same tools over a running `sessiond-grpc`; `upstream`: finding it, or starting it
//! - `trace`: the span of each call
//! - `check`, `tools`, `call`: the other subcommands; `follow`: a session's output until its end
//!
//! One thread: the work of a call is less than the cost of handing it to another.

mod bridge;
mod call;
mod check;
mod cli;
mod follow;
mod greeting;
mod serve;
mod tools;
mod trace;
mod upstream;

use std::io::Write;
use std::process::ExitCode;

use anyhow::Context;
use sessiond_bootstrap::{Args, Bootstrap, Environment, exit::FAILURE};

use crate::bridge::Bridge;
use crate::cli::{Cli, Command};

fn main() -> ExitCode {
    let limit = upstream::FileLimit::now();
    let ended =
        sessiond_bootstrap::prepare_process().context("preparing the process").and_then(|()| run(Cli::own(), limit));
    ended.unwrap_or_else(|error| {
        // A person reads it, or a client's log; there may be nobody.
        let _ = writeln!(std::io::stderr(), "error: {error:#}");
        ExitCode::from(FAILURE)
    })
}

fn run(cli: Cli, limit: upstream::FileLimit) -> anyhow::Result<ExitCode> {
    // The tools are the same wherever the sessions are.
    if let Some(Command::Tools(form)) = cli.command {
        return on_runtime(|| tools::print(form));
    }
    let environment = Environment::capture();
    let upstream = cli.upstream(&environment)?;
    let bridge = upstream.map(|upstream| Bridge::new(upstream, cli.common.clone(), limit));
    let load = |environment| load(&cli.common, environment);
    match (&cli.command, &bridge) {
        (Some(Command::Check), _) => {
            let loaded = Bootstrap::load(&cli.common, environment);
            on_runtime(|| check::check(loaded, bridge.as_ref()))
        }
        (Some(Command::Call(call)), bridge) => {
            let (tool, arguments) = (call.tool.clone(), call.arguments()?);
            let bootstrap = load(environment)?;
            match bridge {
                Some(bridge) => on_runtime(|| bridge.call(bootstrap, tool, arguments)),
                None => on_runtime(|| call::call(bootstrap, tool, arguments)),
            }
        }
        (_, bridge) => {
            let bootstrap = load(environment)?;
            match bridge {
                Some(bridge) => on_runtime(|| bridge.serve(bootstrap)),
                None => on_runtime(|| serve::serve(bootstrap)),
            }
        }
    }
}

/// The configuration, with logs as it wants them.
fn load(common: &Args, environment: Environment) -> anyhow::Result<Bootstrap> {
    let bootstrap = Bootstrap::load(common, environment)?;
    bootstrap.start_logs();
    Ok(bootstrap)
}

/// Runs to the end, and leaves without waiting for a read of stdin that may never return.
///
/// What is to run lies on the heap, and is made here, so that a start touches the memory of what it runs and of nothing
/// else: each page takes as long as a few calls.
#[inline(never)]
fn on_runtime<W>(work: impl FnOnce() -> W) -> anyhow::Result<ExitCode>
where
    W: Future<Output = anyhow::Result<ExitCode>>,
{
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("starting the runtime")?;
    let ended = runtime.block_on(Box::pin(work()));
    runtime.shutdown_background();
    ended
}
