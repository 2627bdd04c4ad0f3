//! The bridge: the same tools over a running `sessiond-grpc`.
//!
//! It keeps nothing. Ids, cursors, handles, targets and owner are the upstream's, and so is every session: they go on
//! when this process ends. An upstream that is lost makes calls `unavailable` until one answers again.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use sessiond_bootstrap::{Args, Bootstrap, end_on_signals};
use sessiond_core::{Call, Service, Tasks};
use sessiond_grpc::client::GrpcClient;
use sessiond_mcp::Handler;
use tokio::time::Instant;

use crate::cli::Upstream;
use crate::greeting::greet;
use crate::serve::{TASKS_END, owner, style};
use crate::tools::families;
use crate::upstream::{self, FileLimit};

/// How long the upstream may take to say whether it has hosts.
const PATIENCE: Duration = Duration::from_secs(10);

/// Serves until stdin ends or a signal comes. Nothing is stopped: nothing is ours.
///
/// # Errors
/// No upstream runs and none can be started, or the transport breaks.
pub(crate) async fn serve(
    bootstrap: Bootstrap,
    upstream: &Upstream,
    common: &Args,
    limit: FileLimit,
) -> anyhow::Result<ExitCode> {
    let tasks = Tasks::new();
    let ending = end_on_signals(&tasks).context("listening for signals")?;
    let client = match upstream {
        Upstream::At(address) => GrpcClient::lazy(address)?,
        Upstream::Auto => upstream::found_or_started(common, limit).await?,
    };
    let ssh = &bootstrap.configuration.ssh;
    let families = families(ssh.enabled && ssh.any_host || has_hosts(&client).await);
    tracing::info!(version = env!("CARGO_PKG_VERSION"), "bridging stdin and stdout");
    greet();
    let handler = Handler::new(Arc::new(client), owner(), &families, style(&bootstrap));
    let served = sessiond_mcp::serve_stdio(handler, ending).await;
    tasks.shutdown(TASKS_END).await;
    tracing::info!("ended");
    served.context("serving on stdin and stdout")?;
    Ok(ExitCode::SUCCESS)
}

/// Whether the upstream has hosts, whose tools are worth listing. One that does not answer may come yet, and is served
/// without them.
async fn has_hosts(client: &GrpcClient) -> bool {
    let cx = Call { deadline: Instant::now() + PATIENCE, ..GrpcClient::call() };
    match client.list_hosts(&cx).await {
        Ok(hosts) => !hosts.hosts.is_empty(),
        Err(error) => {
            tracing::warn!("calls will be unavailable until the upstream answers: {error}");
            false
        }
    }
}
