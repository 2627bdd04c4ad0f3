//! The server: from its first connection to the end of the last process it has started.

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use sessiond_bootstrap::network::Door;
use sessiond_bootstrap::{Args, Bootstrap, Environment, end_on_signals, end_or_reload_on_signals, stdout};
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
    let network = bootstrap.network(&["h2"], &tasks)?;
    let ending = if network.can_reload() {
        let network = network.clone();
        end_or_reload_on_signals(&tasks, move || network.reload())
    } else {
        end_on_signals(&tasks)
    };
    let ending = ending.context("listening for signals")?;
    let door = settings.door();
    let listener = Listener::bind(&address(bootstrap, settings)?, &network, door)?;
    bootstrap.export_traces(&tasks)?;
    let assembly = bootstrap.assemble()?;
    let server = Server::new(assembly.service()).await.context("making the services")?;
    let server = server.with_identities(network.identities);
    let address = listener.address().context("asking where it listens")?;
    if door == Door::Open && matches!(address, Address::Tcp(_) | Address::Tls(_)) {
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

/// Where to listen: the flag goes before the configuration, and that before the user's socket.
fn address(bootstrap: &Bootstrap, settings: &cli::Serve) -> anyhow::Result<Address> {
    match (&settings.listen, &bootstrap.configuration.grpc_listen) {
        (Some(address), _) => Ok(address.clone()),
        (None, Some(text)) => text.parse().context("grpc.listen of the configuration"),
        (None, None) => Ok(sessiond_grpc::client::own_address()),
    }
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
