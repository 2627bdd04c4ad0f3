//! The bridge: the same tools over a running `sessiond-grpc`.
//!
//! It keeps nothing. Ids, cursors, handles, targets and owner are the upstream's, and so is every session: they go on
//! when this process ends. An upstream that is lost makes calls `unavailable` until one answers again.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Map, Value};
use sessiond_bootstrap::{Args, Bootstrap, end_on_signals, telemetry};
use sessiond_core::{Call, ErrorKind, ListTargets, Service, Target, Tasks};
use sessiond_grpc::client::{GrpcClient, own_address};
use sessiond_mcp::{Answer, Family, Handler};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::call;
use crate::cli::Upstream;
use crate::greeting::greet;
use crate::serve::{TASKS_END, owner, style};
use crate::trace::{of_command_line, traced};
use crate::upstream::{self, FileLimit};

/// How long the upstream may take to say whether it has hosts and agent platforms.
const PATIENCE: Duration = Duration::from_secs(10);

/// A way to an upstream.
pub(crate) struct Bridge {
    upstream: Upstream,
    /// What a server that is started here is given too.
    common: Args,
    limit: FileLimit,
}

impl Bridge {
    pub(crate) fn new(upstream: Upstream, common: Args, limit: FileLimit) -> Self {
        Self { upstream, common, limit }
    }

    /// Serves until stdin ends or a signal comes. Nothing is stopped: nothing is ours.
    ///
    /// # Errors
    /// No upstream runs and none can be started, or the transport breaks.
    pub(crate) async fn serve(&self, bootstrap: Bootstrap) -> Result<ExitCode> {
        let tasks = Tasks::new();
        let ending = end_on_signals(&tasks).context("listening for signals")?;
        bootstrap.export_traces(&tasks)?;
        let client = self.client(&bootstrap, &ending).await?;
        let ssh = &bootstrap.configuration.ssh;
        let families = families(&client, ssh.enabled && ssh.any_host).await;
        tracing::info!(version = env!("CARGO_PKG_VERSION"), "bridging stdin and stdout");
        greet();
        let handler = traced(Handler::new(service(client), owner(), &families, style(&bootstrap)));
        let served = sessiond_mcp::serve_stdio(handler, ending).await;
        tasks.shutdown(TASKS_END).await;
        tracing::info!("ended");
        served.context("serving on stdin and stdout")?;
        Ok(ExitCode::SUCCESS)
    }

    /// Calls a tool and prints its result. A session that it starts stays with the upstream.
    ///
    /// # Errors
    /// As for [`serve`](Self::serve); stdout cannot be written to.
    pub(crate) async fn call(
        &self,
        bootstrap: Bootstrap,
        tool: String,
        arguments: Map<String, Value>,
    ) -> Result<ExitCode> {
        let tasks = Tasks::new();
        let ending = end_on_signals(&tasks).context("listening for signals")?;
        bootstrap.export_traces(&tasks)?;
        let client = self.client(&bootstrap, &ending).await?;
        // Whoever names a tool of hosts or platforms is told by the upstream where there are none.
        let handler = traced(Handler::new(service(client), owner(), &Family::ALL, style(&bootstrap)));
        let cx = Call { cancel: ending, ..Call::new(owner()) };
        let called = handler.call(&tool, arguments, &cx).instrument(of_command_line()).await;
        let answer = called.unwrap_or_else(Answer::from);
        tasks.shutdown(TASKS_END).await;
        call::print(&answer)
    }

    /// The targets as the upstream sees them; `None` where none runs yet and one can be started.
    ///
    /// # Errors
    /// The upstream does not answer, or none runs and none is installed.
    pub(crate) async fn targets(&self, bootstrap: &Bootstrap, cx: &Call) -> Result<Option<Vec<Target>>> {
        let client = match &self.upstream {
            Upstream::At(address) => Some(upstream::at(address, bootstrap).await?),
            Upstream::Auto => upstream::found().await?,
        };
        match client {
            Some(client) => Ok(Some(client.list_targets(cx, ListTargets::default()).await?)),
            None => upstream::program().map(|_| None),
        }
    }

    /// Where the upstream is.
    pub(crate) fn address(&self) -> String {
        match &self.upstream {
            Upstream::At(address) => address.to_string(),
            Upstream::Auto => own_address().to_string(),
        }
    }

    /// A named upstream is connected with the first call, so that it may come later than its bridges.
    async fn client(&self, bootstrap: &Bootstrap, ending: &CancellationToken) -> Result<GrpcClient> {
        match &self.upstream {
            Upstream::At(address) => upstream::at(address, bootstrap).await,
            Upstream::Auto => match upstream::found().await? {
                Some(client) => Ok(client),
                None => upstream::started(&self.common, self.limit, ending).await,
            },
        }
    }
}

/// The upstream, with its part of each call in the same trace.
fn service(client: GrpcClient) -> Arc<dyn Service> {
    telemetry::traced_remote(Arc::new(client.tracing(telemetry::traceparent)))
}

/// The tools that are worth listing: those of hosts and of agent platforms where the upstream has some. One that does
/// not answer may come yet, and is served without them.
async fn families(client: &GrpcClient, any_host: bool) -> Vec<Family> {
    let (hosts, platforms) = has_some(client).await.unwrap_or_else(|error| {
        tracing::warn!("calls will be unavailable until the upstream answers: {error}");
        (false, false)
    });
    Family::present([(Family::Ssh, any_host || hosts), (Family::Agent, platforms)])
}

/// Whether the upstream has hosts, and whether it has agent platforms.
async fn has_some(client: &GrpcClient) -> sessiond_core::Result<(bool, bool)> {
    let cx = Call { deadline: Instant::now() + PATIENCE, ..GrpcClient::call() };
    let hosts = client.list_hosts(&cx).await?.hosts;
    let platforms = match client.list_platforms(&cx).await {
        Ok(list) => list.platforms,
        // One that is older than platforms are.
        Err(error) if error.kind() == ErrorKind::Unsupported => Vec::new(),
        Err(error) => return Err(error),
    };
    Ok((!hosts.is_empty(), !platforms.is_empty()))
}
