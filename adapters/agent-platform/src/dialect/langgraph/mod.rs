//! LangGraph Server (Agent Server API): agents are assistants, sessions are threads, runs come and go on a thread.
//!
//! - `assistants`: which agents there are.
//! - `threads`: how a thread stands, and what on it waits for a person.
//! - `runs`: starting, resuming and cancelling.
//! - `history`: what was said, from the thread's checkpoints.
//! - `events`: the thread's stream, which tells when to look.

mod assistants;
mod events;
mod history;
mod messages;
mod runs;
mod threads;

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use reqwest::header::{ACCEPT, HeaderName};
use sessiond_core::{
    Agent, AgentAction, AgentRun, AgentSessionPage, AgentSessionQuery, Error, ErrorKind, FinishState, Json, ManualTask,
    ManualTaskSummary, PlatformId, ReasoningEvent, Result, TokenUsage, shown,
};

use self::assistants::Assistants;
use super::{Dialect, EventId, Mark, Request, RunEvent, RunState};
use crate::http::{Ask, Http, Path, Reply};

/// One LangGraph Server.
pub(crate) struct Langgraph {
    http: Http,
    assistants: Assistants,
}

impl Langgraph {
    /// The server that is reached like this.
    pub(crate) fn new(http: Http) -> Self {
        Self { http, assistants: Assistants::default() }
    }

    /// Asks something of one thread. That its id is no UUID (422) is one more way of not being there; of one that is,
    /// the platform then refuses something else.
    async fn of_thread(&self, cx: &Request, id: &PlatformId, ask: &Ask) -> Result<Reply> {
        self.http.ask(cx, ask).await.map_err(|error| match error.kind() {
            ErrorKind::NotFound => no_session(id),
            ErrorKind::InvalidArgument if !runs::is_uuid(id.as_str()) => no_session(id),
            _ => error,
        })
    }
}

/// The path of a thread, or of something of it.
fn thread(id: &PlatformId, below: &[&str]) -> Result<Path> {
    let mut segments = vec!["threads", id.as_str()];
    segments.extend_from_slice(below);
    Path::of(&segments)
}

fn no_session(id: &PlatformId) -> Error {
    let id = shown(id.as_str());
    Error::not_found(format!("there is no session \"{id}\" on this platform: get_sessions lists those that it has"))
}

#[async_trait]
impl Dialect for Langgraph {
    /// `/ok` answers without a login, so this is asked instead.
    async fn check(&self, cx: &Request) -> Result<()> {
        self.one_assistant(cx).await
    }

    async fn state(&self, cx: &Request, id: &PlatformId) -> Result<RunState> {
        self.standing(cx, id).await
    }

    async fn turns(&self, cx: &Request, id: &PlatformId) -> Result<Vec<ReasoningEvent>> {
        self.turns_behind(cx, id, &mut Mark::default()).await
    }

    async fn turns_since(&self, cx: &Request, id: &PlatformId, mark: &mut Mark) -> Result<Vec<ReasoningEvent>> {
        self.turns_behind(cx, id, mark).await
    }

    async fn pending_tasks(&self, cx: &Request, id: &PlatformId) -> Result<Vec<ManualTaskSummary>> {
        match self.interrupts(cx, id).await {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
            tasks => tasks,
        }
    }

    /// The stream of the thread, which outlives the runs on it. A server without one is asked instead.
    async fn events(
        &self,
        cx: &Request,
        id: &PlatformId,
        last: Option<&EventId>,
    ) -> Result<Option<BoxStream<'static, Result<RunEvent>>>> {
        let mut ask =
            Ask::get(thread(id, &["stream"])?).query("stream_modes", "run_modes").header(ACCEPT, "text/event-stream");
        if let Some(EventId(last)) = last {
            ask = ask.header(HeaderName::from_static("last-event-id"), last);
        }
        match self.http.stream(cx, &ask).await {
            Ok(body) => Ok(Some(events::read(body))),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Unsupported) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn sessions(&self, cx: &Request, query: &AgentSessionQuery) -> Result<AgentSessionPage> {
        self.page(cx, query).await
    }

    async fn token_usage(&self, cx: &Request, id: &PlatformId) -> Result<TokenUsage> {
        self.usage(cx, id).await
    }

    async fn agents(&self, cx: &Request) -> Result<Vec<Agent>> {
        self.every_agent(cx).await
    }

    async fn start(&self, cx: &Request, agent: &str, inputs: Option<&Json>) -> Result<AgentRun> {
        self.start_run(cx, agent, inputs).await
    }

    async fn control(
        &self,
        cx: &Request,
        id: &PlatformId,
        action: AgentAction,
        input: Option<&Json>,
    ) -> Result<AgentRun> {
        match action {
            AgentAction::Cancel => self.cancel(cx, id).await,
            AgentAction::Resume => self.resume(cx, id, input).await,
            AgentAction::Pause => Err(Error::unsupported(
                "this platform pauses no run: a graph rests where it interrupts itself; cancel it, or let it run",
            )),
        }
    }

    async fn manual_task(&self, cx: &Request, item: &PlatformId) -> Result<ManualTask> {
        self.interrupt(cx, item).await
    }

    async fn finish_task(
        &self,
        _cx: &Request,
        _item: &PlatformId,
        _state: FinishState,
        _variables: Option<&Json>,
    ) -> Result<()> {
        Err(Error::unsupported(
            "an interrupt of a graph is answered, not completed: use control_session with action resume and the answer \
             as input",
        ))
    }
}
