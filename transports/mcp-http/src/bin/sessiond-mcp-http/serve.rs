//! The server: from its first connection to the end of the last process it has started.

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use sessiond_bootstrap::network::Network;
use sessiond_bootstrap::{Assembly, Bootstrap, TextStyle, end_on_signals, end_or_reload_on_signals, stdout};
use sessiond_core::Tasks;
use sessiond_mcp::{Family, Handler};
use sessiond_mcp_http::{Admission, Asking, Server, Settings};
use tokio_util::sync::CancellationToken;

use crate::cli;

/// Where it listens unless told otherwise.
const DEFAULT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 7110);

/// What is spoken over TLS, the best first.
pub(crate) const PROTOCOLS: [&str; 2] = ["h2", "http/1.1"];

/// How long the tasks of this binary may take to end; they have nothing to finish.
const TASKS_END: Duration = Duration::from_secs(1);

/// Serves until a signal comes, then stops every session and command.
///
/// # Errors
/// The configuration or the keys are wrong, nobody could come in, or nobody can listen there.
pub(crate) async fn serve(bootstrap: &Bootstrap, how: &cli::Serve) -> anyhow::Result<ExitCode> {
    let tasks = Tasks::new();
    let network = bootstrap.network(&PROTOCOLS, &tasks)?;
    let listener = network.listen(address(bootstrap, how)?, how.door())?;
    let ending = end_by_signals(&network, &tasks).context("listening for signals")?;
    let admission = if how.no_password { Admission::Everybody } else { Admission::Known(network.identities.clone()) };
    bootstrap.export_traces(&tasks)?;
    let assembly = bootstrap.assemble()?;
    let server = Server::new(&assembly.registry, assembly.service(), admission, settings(bootstrap))?;
    let handler = handler(bootstrap, &assembly).observed(server.observer()).until(ending.clone());
    let address = listener.address().context("asking where it listens")?;
    let url = format!("{}://{address}/mcp", if listener.is_encrypted() { "https" } else { "http" });
    if how.no_password {
        warn(&url);
    }
    tracing::info!(version = env!("CARGO_PKG_VERSION"), url, "serving");
    stdout::print(&format!("listening on {url}\n"))?;
    server.serve(handler, listener, network.header_timeout(), ending, assembly.shutdown()).await;
    tasks.shutdown(TASKS_END).await;
    tracing::info!("ended");
    Ok(ExitCode::SUCCESS)
}

/// Where to listen.
///
/// # Errors
/// The configuration says something else than an address.
pub(crate) fn address(bootstrap: &Bootstrap, how: &cli::Serve) -> anyhow::Result<SocketAddr> {
    match (how.listen, &bootstrap.configuration.http.listen) {
        (Some(address), _) => Ok(address),
        (None, Some(text)) => text.parse().with_context(|| format!("http.listen = {text:?}: write IP:PORT")),
        (None, None) => Ok(DEFAULT),
    }
}

/// SIGHUP ends a server that has nothing to read again, as it does when its terminal closes.
fn end_by_signals(network: &Network, tasks: &Tasks) -> std::io::Result<CancellationToken> {
    let again = network.clone();
    if network.can_reload() { end_or_reload_on_signals(tasks, move || again.reload()) } else { end_on_signals(tasks) }
}

fn handler(bootstrap: &Bootstrap, assembly: &Assembly) -> Handler {
    let families = Family::present([(Family::Ssh, assembly.has_hosts), (Family::Agent, assembly.has_platforms)]);
    let style = match bootstrap.configuration.text {
        TextStyle::Short => sessiond_mcp::TextStyle::Short,
        TextStyle::Full => sessiond_mcp::TextStyle::Full,
    };
    Handler::new(assembly.service(), Asking, &families, style)
}

/// What the configuration says of HTTP.
pub(crate) fn settings(bootstrap: &Bootstrap) -> Settings {
    let http = &bootstrap.configuration.http;
    Settings {
        hosts: http.allowed_hosts.clone(),
        origins: http.allowed_origins.clone(),
        public_url: http.public_url.clone(),
        max_body: http.max_request,
        concurrent: http.concurrent_per_identity,
        per_second: http.requests_per_second,
        sessions: http.sessions_per_identity,
        session_idle: http.session_idle,
        ..Settings::default()
    }
}

/// Says what a port without a password means.
fn warn(url: &str) {
    let text = format!(
        "warning: {url} asks nobody for a key: every account of this machine can run commands as the user of this \
         server, and all of them share its sessions\n"
    );
    // Nobody to read it changes nothing.
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}
