//! Itential Platform: agent sessions, automations that start agents, and the work centre's manual tasks.
//!
//! - `sessions`: how one stands, the list of them, starting and steering one
//! - `messages`: every page of what one said, and what of it is a completed turn
//! - `tokens`: what its turns cost
//! - `agents`: which there are, and how each is started
//! - `tasks`: what waits for a person
//!
//! Lists have pages of three kinds here, and each reader ends when there is nothing new, whatever a platform makes of
//! its parameters (`pages`).

mod agents;
mod messages;
mod pages;
mod sessions;
mod tasks;
mod tokens;

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use sessiond_core::{
    Agent, AgentAction, AgentRun, AgentSessionPage, AgentSessionQuery, Error, ErrorKind, FinishState, Json, ManualTask,
    ManualTaskSummary, PlatformId, ReasoningEvent, Result, TokenUsage, shown,
};

use super::{Dialect, EventId, Mark, Request, RunEvent, RunState};
use crate::http::{Ask, Http, Path};

/// Where the sessions are.
const SESSIONS: [&str; 2] = ["agent-session-manager", "sessions"];

/// A platform that speaks it.
pub(crate) struct Itential {
    http: Http,
}

impl Itential {
    /// This platform.
    pub(crate) fn new(http: Http) -> Self {
        Self { http }
    }
}

/// What is said of a session that the platform does not know (DS42).
fn no_session(error: Error, id: &PlatformId) -> Error {
    missing(error, || {
        let id = shown(id.as_str());
        format!("there is no session \"{id}\" on this platform: get_sessions lists those that it has")
    })
}

/// An error in whose place this is said when it is about something that is not there.
fn missing(error: Error, message: impl FnOnce() -> String) -> Error {
    if error.kind() == ErrorKind::NotFound { Error::not_found(message()) } else { error }
}

#[async_trait]
impl Dialect for Itential {
    async fn check(&self, cx: &Request) -> Result<()> {
        self.http.ask(cx, &Ask::get(Path::of(&["whoami"])?)).await.map(drop)
    }

    async fn state(&self, cx: &Request, id: &PlatformId) -> Result<RunState> {
        sessions::state(&self.http, cx, id).await
    }

    async fn turns(&self, cx: &Request, id: &PlatformId) -> Result<Vec<ReasoningEvent>> {
        messages::turns(&self.http, cx, id).await
    }

    async fn turns_since(&self, cx: &Request, id: &PlatformId, mark: &mut Mark) -> Result<Vec<ReasoningEvent>> {
        messages::turns_since(&self.http, cx, id, mark).await
    }

    async fn pending_tasks(&self, cx: &Request, id: &PlatformId) -> Result<Vec<ManualTaskSummary>> {
        tasks::pending(&self.http, cx, id).await
    }

    async fn events(
        &self,
        _cx: &Request,
        _id: &PlatformId,
        _last: Option<&EventId>,
    ) -> Result<Option<BoxStream<'static, Result<RunEvent>>>> {
        Ok(None)
    }

    async fn sessions(&self, cx: &Request, query: &AgentSessionQuery) -> Result<AgentSessionPage> {
        sessions::list(&self.http, cx, query).await
    }

    async fn token_usage(&self, cx: &Request, id: &PlatformId) -> Result<TokenUsage> {
        tokens::usage(&self.http, cx, id).await
    }

    async fn agents(&self, cx: &Request) -> Result<Vec<Agent>> {
        agents::list(&self.http, cx).await
    }

    async fn start(&self, cx: &Request, agent: &str, inputs: Option<&Json>) -> Result<AgentRun> {
        agents::start(&self.http, cx, agent, inputs).await
    }

    async fn control(
        &self,
        cx: &Request,
        id: &PlatformId,
        action: AgentAction,
        input: Option<&Json>,
    ) -> Result<AgentRun> {
        sessions::control(&self.http, cx, id, action, input).await
    }

    async fn manual_task(&self, cx: &Request, item: &PlatformId) -> Result<ManualTask> {
        tasks::describe(&self.http, cx, item).await
    }

    async fn finish_task(
        &self,
        cx: &Request,
        item: &PlatformId,
        state: FinishState,
        variables: Option<&Json>,
    ) -> Result<()> {
        tasks::finish(&self.http, cx, item, state, variables).await
    }
}
