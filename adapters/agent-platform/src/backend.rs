//! The backend of one platform: what the core asks of it, and the records that it has.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use sessiond_core::{
    Agent, AgentAction, AgentPlatform, AgentRun, AgentSessionDetail, AgentSessionPage, AgentSessionQuery, Availability,
    Backend, Call, Capabilities, Capability, Command, CommandSpec, Error, ErrorKind, FinishState, Json, ManualTask,
    ManualTaskSummary, NativeId, OutputSink, PlatformId, PlatformInfo, ReasoningEvent, Result, Session, SessionSpec,
    TargetStatus, Tasks, TokenUsage,
};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::config::{DialectName, PlatformConfig};
use crate::dialect::itential::Itential;
use crate::dialect::langgraph::Langgraph;
use crate::dialect::{Dialect, Phase, Request, RunState};
use crate::http::Http;
use crate::keepalive::Keepalive;
use crate::session;

/// How long a look at a platform may take that nobody waits for by itself.
const LOOK: Duration = Duration::from_secs(2);
/// For how long a look is good.
const LOOK_IS_GOOD: Duration = Duration::from_secs(5);
/// How much longer than the grace of a shutdown a platform may take to end what was started here.
const LATE: Duration = Duration::from_secs(4);
/// The most time for the lookup of what waits for a person (DS30).
const LOOKUP: Duration = Duration::from_secs(10);

/// One agent platform.
pub struct Platform {
    site: Arc<Site>,
    keepalive: Keepalive,
    /// One looks at the platform at a time; the others find what it found.
    looking: Semaphore,
    seen: Mutex<Option<(Instant, TargetStatus)>>,
}

/// What everything about one platform shares.
pub(crate) struct Site {
    /// What it speaks.
    pub(crate) dialect: Box<dyn Dialect>,
    /// How long one thing that is asked may take.
    pub(crate) timeout: Duration,
    /// For how long a followed run is asked for that a silent platform should have.
    pub(crate) lost_after: Duration,
    /// Everything that runs in the background, followed runs among them.
    pub(crate) tasks: Tasks,
}

impl Platform {
    /// The platform of this configuration. Nothing is connected yet.
    ///
    /// # Errors
    /// `invalid_argument` for an address or a header that is none, `failed_precondition` for certificates that cannot
    /// be used.
    pub fn new(config: &PlatformConfig) -> Result<Arc<Self>> {
        let http = Http::new(config)?;
        let dialect: Box<dyn Dialect> = match config.dialect {
            DialectName::Itential => Box::new(Itential::new(http)),
            DialectName::Langgraph => Box::new(Langgraph::new(http)),
        };
        let site = Site { dialect, timeout: config.timeout, lost_after: config.lost_after, tasks: Tasks::new() };
        Ok(Arc::new(Self {
            site: Arc::new(site),
            keepalive: Keepalive::new(config.keepalive),
            looking: Semaphore::new(1),
            seen: Mutex::default(),
        }))
    }

    /// What a list of targets says of it.
    pub fn info(config: &PlatformConfig) -> PlatformInfo {
        PlatformInfo { dialect: config.dialect.as_str().to_owned() }
    }

    /// What a caller asks, which is a use of the platform.
    fn request(&self, cx: &Call) -> Request {
        self.keepalive.used(&self.site);
        Request::of(cx, self.site.timeout)
    }

    fn seen(&self) -> Option<TargetStatus> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.as_ref().filter(|(when, _)| when.elapsed() < LOOK_IS_GOOD).map(|(_, status)| status.clone())
    }

    async fn look(&self, cx: &Call) -> TargetStatus {
        let unhurried = Instant::now() + LOOK <= cx.deadline;
        let (availability, detail) = match self.site.dialect.check(&Request::of(cx, LOOK)).await {
            Ok(()) => (Availability::Online, None),
            // Who gave it less time than it may take has not learnt whether it is there.
            Err(error) if error.kind() == ErrorKind::TimedOut && !unhurried => (Availability::Unknown, None),
            Err(error) => (Availability::Offline, Some(error.message().to_owned())),
        };
        let status = TargetStatus { availability, detail, machine: None };
        // That a hurried caller got no answer says nothing to the others.
        if availability == Availability::Online || unhurried && !cx.cancel.is_cancelled() {
            *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), status.clone()));
        }
        status
    }
}

#[async_trait]
impl Backend for Platform {
    fn capabilities(&self) -> Capabilities {
        Capabilities::of(&[Capability::Sessions, Capability::Attach, Capability::Agents])
    }

    /// One authenticated request with a short limit, whose answer is good for some seconds.
    async fn status(&self, cx: &Call) -> TargetStatus {
        let Ok(_one) = tokio::time::timeout_at(cx.deadline, self.looking.acquire()).await else {
            return TargetStatus { availability: Availability::Unknown, detail: None, machine: None };
        };
        match self.seen() {
            Some(status) => status,
            None => self.look(cx).await,
        }
    }

    async fn start_session(&self, cx: &Call, spec: SessionSpec, out: OutputSink) -> Result<Box<dyn Session>> {
        let request = self.request(cx);
        session::start(&self.site, request, spec, out).await
    }

    async fn attach_session(&self, cx: &Call, native: &NativeId, out: OutputSink) -> Result<Box<dyn Session>> {
        let request = self.request(cx);
        session::attach(&self.site, request, native, out).await
    }

    async fn run_command(&self, _cx: &Call, _spec: CommandSpec, _out: OutputSink) -> Result<Box<dyn Command>> {
        Err(Error::unsupported("an agent platform runs no commands: start an agent with session_start or start_agent"))
    }

    fn agents(&self) -> Option<&dyn AgentPlatform> {
        Some(self)
    }

    async fn shutdown(&self, grace: Duration) {
        self.site.tasks.shutdown(grace + LATE).await;
    }
}

#[async_trait]
impl AgentPlatform for Platform {
    async fn sessions(&self, cx: &Call, query: &AgentSessionQuery) -> Result<AgentSessionPage> {
        self.site.dialect.sessions(&self.request(cx), query).await
    }

    async fn describe(&self, cx: &Call, session: &PlatformId) -> Result<AgentSessionDetail> {
        self.site.describe(&self.request(cx), session).await
    }

    async fn token_usage(&self, cx: &Call, session: &PlatformId) -> Result<TokenUsage> {
        self.site.dialect.token_usage(&self.request(cx), session).await
    }

    async fn agents(&self, cx: &Call) -> Result<Vec<Agent>> {
        self.site.dialect.agents(&self.request(cx)).await
    }

    async fn start(&self, cx: &Call, agent: &str, inputs: Option<&Json>) -> Result<AgentRun> {
        self.site.dialect.start(&self.request(cx), agent, inputs).await
    }

    async fn control(
        &self,
        cx: &Call,
        session: &PlatformId,
        action: AgentAction,
        input: Option<&Json>,
    ) -> Result<AgentRun> {
        self.site.dialect.control(&self.request(cx), session, action, input).await
    }

    async fn manual_task(&self, cx: &Call, work_item: &PlatformId) -> Result<ManualTask> {
        self.site.dialect.manual_task(&self.request(cx), work_item).await
    }

    async fn finish_task(
        &self,
        cx: &Call,
        work_item: &PlatformId,
        state: FinishState,
        variables: Option<&Json>,
    ) -> Result<()> {
        self.site.dialect.finish_task(&self.request(cx), work_item, state, variables).await
    }
}

impl Site {
    /// A session with all of its completed turns. What it said is asked for once it is known how it stands: the turns of
    /// a session that is over are then all there, and its last one is its output. What waits for a person is looked up
    /// meanwhile.
    async fn describe(&self, cx: &Request, id: &PlatformId) -> Result<AgentSessionDetail> {
        let mut state = self.dialect.state(cx, id).await?;
        let (pending_manual_tasks, reasoning_events) =
            futures_util::future::join(self.waiting(cx, id, &mut state), self.turns(cx, id)).await;
        let reasoning_events = reasoning_events?;
        // DS12: what the last completed turn said is the output once nothing comes any more.
        let last = reasoning_events.last().filter(|_| state.phase.is_over());
        let output = last.and_then(|event| event.text.clone());
        let session = state.session;
        Ok(AgentSessionDetail {
            session_id: session.session_id,
            status: session.status,
            agent_name: session.agent_name,
            output,
            started_at: session.started_at,
            end_time: session.end_time,
            duration_ms: session.duration_ms,
            reasoning_events,
            pending_manual_tasks,
            dropped_events: 0,
        })
    }

    /// How a run stands; `None` when it is not there any more. What stands in front of a platform that is away may say
    /// so of everything: only a platform that answers something else has said it.
    pub(crate) async fn standing(&self, cx: &Request, id: &PlatformId) -> Result<Option<RunState>> {
        match self.dialect.state(cx, id).await {
            Err(error) if error.kind() == ErrorKind::NotFound => match self.dialect.check(cx).await {
                Ok(()) => Ok(None),
                Err(error) if error.kind() == ErrorKind::NotFound => Err(Error::unavailable(
                    "the platform knows nothing at all at its address: check the target's url, and whether it runs",
                )),
                Err(error) => Err(error),
            },
            state => state.map(Some),
        }
    }

    /// All that a session has said. One that is there, and of whose messages the platform knows nothing, has said
    /// nothing.
    pub(crate) async fn turns(&self, cx: &Request, id: &PlatformId) -> Result<Vec<ReasoningEvent>> {
        match self.dialect.turns(cx, id).await {
            Err(error) if error.kind() == ErrorKind::NotFound => self.dialect.state(cx, id).await.map(|_| Vec::new()),
            turns => turns,
        }
    }

    /// What waits for a person; `None` when that could not be learnt. Only a running session is looked up (DS30).
    async fn waiting(&self, cx: &Request, id: &PlatformId, state: &mut RunState) -> Option<Vec<ManualTaskSummary>> {
        match state.waiting.take() {
            Some(waiting) => Some(waiting),
            None if state.phase != Phase::Running => Some(Vec::new()),
            None => self.dialect.pending_tasks(&cx.halved(LOOKUP), id).await.ok(),
        }
    }
}
