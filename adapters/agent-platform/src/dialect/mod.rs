//! What one kind of platform speaks: its routes, its pages, its words, and what a completed turn is.

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use sessiond_core::{
    Agent, AgentAction, AgentRun, AgentSession, AgentSessionPage, AgentSessionQuery, FinishState, Json, ManualTask,
    ManualTaskSummary, PlatformId, ReasoningEvent, Result, TokenUsage,
};

pub(crate) use crate::request::Request;

pub(crate) mod itential;
pub(crate) mod langgraph;

/// Asks one kind of platform.
///
/// - Nothing is kept here but what makes the next request cheaper: every answer is what the platform says now.
/// - An error is of the closed set, and never has the platform's address, headers or body.
/// - `not_found` is said only when the platform says so, and names what is missing.
/// - One odd field or record never fails an answer: it is `None`, or left out.
#[async_trait]
pub(crate) trait Dialect: Send + Sync {
    /// Makes sure that the platform is there and lets us in, with one cheap request.
    async fn check(&self, cx: &Request) -> Result<()>;

    /// How a run stands: one request where the platform allows.
    async fn state(&self, cx: &Request, id: &PlatformId) -> Result<RunState>;

    /// Every completed turn so far, from all pages, in order (DS10, DS11). `not_found` says nothing of the run itself:
    /// [`state`](Self::state) does.
    async fn turns(&self, cx: &Request, id: &PlatformId) -> Result<Vec<ReasoningEvent>>;

    /// Of the turns of [`turns`](Self::turns), in order, at least those that nobody has been given who holds `mark`;
    /// moves the mark behind them. A turn may come again, and one that the platform puts among earlier ones may be left
    /// out: whoever needs all of them asks for all in the end.
    async fn turns_since(&self, cx: &Request, id: &PlatformId, _mark: &mut Mark) -> Result<Vec<ReasoningEvent>> {
        self.turns(cx, id).await
    }

    /// What of this run waits for a person: only its own, only pending ones (DS31). Empty when the platform knows
    /// nothing of it.
    async fn pending_tasks(&self, cx: &Request, id: &PlatformId) -> Result<Vec<ManualTaskSummary>>;

    /// What happens to a run, as the platform tells it by itself; `None` where it does not, and has to be asked.
    /// `last` is the [`RunEvent::id`] after which to go on.
    async fn events(
        &self,
        cx: &Request,
        id: &PlatformId,
        last: Option<&EventId>,
    ) -> Result<Option<BoxStream<'static, Result<RunEvent>>>>;

    /// One page of sessions.
    async fn sessions(&self, cx: &Request, query: &AgentSessionQuery) -> Result<AgentSessionPage>;

    /// What a session cost.
    async fn token_usage(&self, cx: &Request, id: &PlatformId) -> Result<TokenUsage>;

    /// The agents that can be started.
    async fn agents(&self, cx: &Request) -> Result<Vec<Agent>>;

    /// Starts an agent by its name, id or route.
    async fn start(&self, cx: &Request, agent: &str, inputs: Option<&Json>) -> Result<AgentRun>;

    /// Steers a session.
    async fn control(
        &self,
        cx: &Request,
        id: &PlatformId,
        action: AgentAction,
        input: Option<&Json>,
    ) -> Result<AgentRun>;

    /// Something that waits for a person.
    async fn manual_task(&self, cx: &Request, item: &PlatformId) -> Result<ManualTask>;

    /// Completes something that waits for a person.
    async fn finish_task(
        &self,
        cx: &Request,
        item: &PlatformId,
        state: FinishState,
        variables: Option<&Json>,
    ) -> Result<()>;
}

/// How a run stands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RunState {
    /// Its record, with the platform's own word for how it stands.
    pub(crate) session: AgentSession,
    /// What that word means.
    pub(crate) phase: Phase,
    /// Why it failed, in the platform's words for whoever reads the session.
    pub(crate) error: Option<String>,
    /// What waits for a person, when this answer told it already.
    pub(crate) waiting: Option<Vec<ManualTaskSummary>>,
}

/// What a platform's word for how a run stands means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Phase {
    /// It has not begun.
    Pending,
    /// It runs.
    Running,
    /// It is about to rest.
    Pausing,
    /// It rests until somebody resumes it.
    Paused,
    /// It waits for a person.
    Waiting,
    /// It has ended well.
    Complete,
    /// It has ended badly.
    Failed,
    /// It is about to be cancelled.
    Canceling,
    /// It was cancelled.
    Canceled,
    /// A word that this server does not know.
    Unknown,
}

impl Phase {
    /// Whether nothing comes any more (DS12).
    pub(crate) const fn is_over(self) -> bool {
        matches!(self, Self::Complete | Self::Failed | Self::Canceled)
    }
}

/// Up to where a follower has read a run's turns, in the dialect's words; at first it has read nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mark(pub(crate) Option<Box<str>>);

/// Where in a platform's stream of events an event stands, in the platform's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EventId(pub(crate) String);

/// Something that a platform tells of a run by itself.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RunEvent {
    /// Where to go on behind it.
    pub(crate) id: Option<EventId>,
    /// What it was.
    pub(crate) what: Happened,
}

/// What happened to a run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Happened {
    /// It has changed: look at its state and its turns.
    Changed,
    /// Nothing, but the stream is alive.
    Heartbeat,
}
