//! Backends whose requests are spans.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use sessiond_core::*;
use tracing::field::Empty;
use tracing::{Instrument, Span, info_span};

use super::spans::{TARGET, end, is_inside_a_call, within};

/// Targets with a decorator around the backend of each. A backend has one decorator for as long as it is that target's,
/// because the registry tells by its identity whether it has seen it before.
pub(super) struct TracedTargets {
    inner: Arc<dyn Targets>,
    known: Mutex<HashMap<TargetName, Arc<Traced>>>,
}

impl TracedTargets {
    /// Decorates these.
    pub(super) fn new(inner: Arc<dyn Targets>) -> Self {
        Self { inner, known: Mutex::default() }
    }

    fn decorated(&self, info: &TargetInfo, backend: Arc<dyn Backend>) -> Arc<dyn Backend> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(&info.name).filter(|known| Arc::ptr_eq(&known.inner, &backend)) {
            return known.clone();
        }
        let made = Arc::new(Traced { inner: backend, target: info.name.clone(), name: info.backend });
        known.insert(info.name.clone(), made.clone());
        made
    }
}

#[async_trait]
impl Targets for TracedTargets {
    fn list(&self) -> Vec<TargetInfo> {
        self.inner.list()
    }

    async fn resolve(&self, name: &TargetName) -> Result<ResolvedTarget> {
        let ResolvedTarget { info, backend } = self.inner.resolve(name).await?;
        let backend = self.decorated(&info, backend);
        Ok(ResolvedTarget { info, backend })
    }

    async fn shutdown(&self, grace: Duration) {
        self.inner.shutdown(grace).await;
    }
}

/// The decorator. It stands for the connections and for the platform of its backend too, where that has them.
struct Traced {
    inner: Arc<dyn Backend>,
    target: TargetName,
    /// The kind of backend.
    name: &'static str,
}

impl Traced {
    fn span(&self, what: &'static str) -> Span {
        info_span!(
            target: TARGET,
            "backend",
            otel.name = format_args!("{} {what}", self.name),
            otel.kind = "client",
            otel.status_code = Empty,
            sessiond.backend = self.name,
            sessiond.target = self.target.as_str(),
            sessiond.outcome = Empty,
        )
    }

    async fn asked<T>(&self, what: &'static str, work: impl Future<Output = Result<T>>) -> Result<T> {
        within(|| self.span(what), work, |_| {}).await
    }

    /// # Errors
    /// Never: nobody is given the platform of a backend that has none.
    fn platform(&self) -> Result<&dyn AgentPlatform> {
        self.inner.agents().ok_or_else(|| Error::internal("this target is no agent platform"))
    }

    /// # Errors
    /// Never: nobody is given the connections of a backend that has none.
    fn host(&self) -> Result<&dyn Connections> {
        self.inner.connections().ok_or_else(|| Error::internal("this target is no host"))
    }
}

#[async_trait]
impl Backend for Traced {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn status(&self, cx: &Call) -> TargetStatus {
        if !is_inside_a_call() {
            return self.inner.status(cx).await;
        }
        let span = self.span("status");
        let status = self.inner.status(cx).instrument(span.clone()).await;
        let outcome = match status.availability {
            Availability::Online => "online",
            Availability::Offline => "offline",
            Availability::Unknown => "unknown",
        };
        end(&span, outcome);
        status
    }

    async fn start_session(&self, cx: &Call, spec: SessionSpec, out: OutputSink) -> Result<Box<dyn Session>> {
        self.asked("start_session", self.inner.start_session(cx, spec, out)).await
    }

    async fn attach_session(&self, cx: &Call, native: &NativeId, out: OutputSink) -> Result<Box<dyn Session>> {
        self.asked("attach_session", self.inner.attach_session(cx, native, out)).await
    }

    async fn run_command(&self, cx: &Call, spec: CommandSpec, out: OutputSink) -> Result<Box<dyn Command>> {
        self.asked("run_command", self.inner.run_command(cx, spec, out)).await
    }

    fn connections(&self) -> Option<&dyn Connections> {
        self.inner.connections().map(|_| self as &dyn Connections)
    }

    fn agents(&self) -> Option<&dyn AgentPlatform> {
        self.inner.agents().map(|_| self as &dyn AgentPlatform)
    }

    async fn shutdown(&self, grace: Duration) {
        self.inner.shutdown(grace).await;
    }
}

#[async_trait]
impl Connections for Traced {
    async fn connect(&self, cx: &Call) -> Result<ConnectionFacts> {
        self.asked("connect", self.host()?.connect(cx)).await
    }

    fn status(&self, owner: &Owner) -> Option<ConnectionStatus> {
        self.host().ok()?.status(owner)
    }

    fn period(&self, owner: &Owner) -> Option<u64> {
        self.host().ok()?.period(owner)
    }

    async fn disconnect(&self, cx: &Call) -> bool {
        match self.host() {
            Ok(host) => host.disconnect(cx).await,
            Err(_) => false,
        }
    }
}

#[async_trait]
impl AgentPlatform for Traced {
    async fn sessions(&self, cx: &Call, query: &AgentSessionQuery) -> Result<AgentSessionPage> {
        self.asked("sessions", self.platform()?.sessions(cx, query)).await
    }

    async fn describe(&self, cx: &Call, session: &PlatformId) -> Result<AgentSessionDetail> {
        self.asked("describe", self.platform()?.describe(cx, session)).await
    }

    async fn token_usage(&self, cx: &Call, session: &PlatformId) -> Result<TokenUsage> {
        self.asked("token_usage", self.platform()?.token_usage(cx, session)).await
    }

    async fn agents(&self, cx: &Call) -> Result<Vec<Agent>> {
        self.asked("agents", self.platform()?.agents(cx)).await
    }

    async fn start(&self, cx: &Call, agent: &str, inputs: Option<&Json>) -> Result<AgentRun> {
        self.asked("start", self.platform()?.start(cx, agent, inputs)).await
    }

    async fn control(
        &self,
        cx: &Call,
        session: &PlatformId,
        action: AgentAction,
        input: Option<&Json>,
    ) -> Result<AgentRun> {
        self.asked("control", self.platform()?.control(cx, session, action, input)).await
    }

    async fn manual_task(&self, cx: &Call, work_item: &PlatformId) -> Result<ManualTask> {
        self.asked("manual_task", self.platform()?.manual_task(cx, work_item)).await
    }

    async fn finish_task(
        &self,
        cx: &Call,
        work_item: &PlatformId,
        state: FinishState,
        variables: Option<&Json>,
    ) -> Result<()> {
        self.asked("finish_task", self.platform()?.finish_task(cx, work_item, state, variables)).await
    }
}
