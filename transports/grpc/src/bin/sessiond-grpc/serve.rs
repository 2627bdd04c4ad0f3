//! The server: from its first connection to the end of the last process it has started.

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use sessiond_bootstrap::{Args, Bootstrap, Environment, end_on_signals, stdout};
use sessiond_core::Tasks;
use sessiond_grpc::Address;
use sessiond_grpc::server::{Listener, Server};

use crate::cli;

/// How long the tasks of this binary may take to end; they have nothing to finish.
const TASKS_END: Duration = Duration::from_secs(1);

/// Serves until a signal comes, then stops every session and command.
///
/// # Errors
/// The configuration is wrong, nobody can listen there, or the transport breaks.
pub(crate) fn run(common: &Args, settings: &cli::Serve) -> anyhow::Result<ExitCode> {
    if settings.background {
        rustix::process::setsid().context("leaving the terminal")?;
    }
    let bootstrap = Bootstrap::load(common, Environment::capture())?;
    bootstrap.start_logs();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("starting the runtime")?;
    let ended = runtime.block_on(serve(&bootstrap, settings));
    runtime.shutdown_background();
    ended
}

async fn serve(bootstrap: &Bootstrap, settings: &cli::Serve) -> anyhow::Result<ExitCode> {
    let tasks = Tasks::new();
    let ending = end_on_signals(&tasks).context("listening for signals")?;
    let address = match &settings.listen {
        Some(address) => address.clone(),
        None => sessiond_grpc::client::own_address(),
    };
    let listener = Listener::bind(&address, settings.no_password)?;
    let assembly = bootstrap.assemble()?;
    let server = Server::new(assembly.registry.clone()).await.context("making the services")?;
    let address = listener.address().context("asking where it listens")?;
    if matches!(address, Address::Tcp(_)) {
        warn(&address);
    }
    tracing::info!(version = env!("CARGO_PKG_VERSION"), %address, "serving");
    stdout::print(&format!("listening on {address}\n"))?;
    let served = server.serve(listener.incoming(), ending, assembly.shutdown()).await;
    tasks.shutdown(TASKS_END).await;
    tracing::info!("ended");
    served.context("serving")?;
    Ok(ExitCode::SUCCESS)
}

/// Says what a port without a password means.
fn warn(address: &Address) {
    let text = format!(
        "warning: {address} asks nobody for a password: every account of this machine can run commands as the user of \
         this server, and all of them share its sessions\n"
    );
    // Nobody to read it changes nothing.
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}
