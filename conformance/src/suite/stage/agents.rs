//! Short words for what scenarios do with agent platforms and with runs of agents.

use sessiond_agent_peer::{Peer, Script};
use sessiond_core::{
    AgentAction, AgentRun, AgentSessionDetail, AgentSessionPage, AgentSessionQuery, CompleteManualTask,
    ControlAgentSession, DescribeAgentSession, DescribeManualTask, FinishState, Json, Launch, ListAgentSessions,
    ListSessions, ManualTask, NativeId, Result, SessionId, SessionSummary, StartAgent, StartSession, TaskCompletion,
    TokenUsage,
};

use super::{Stage, said};

/// A request to list all sessions of the one platform there is, to be changed where it differs.
pub fn all_sessions() -> AgentSessionQuery {
    AgentSessionQuery { limit: 500, ..AgentSessionQuery::default() }
}

/// A request to start a run of the agent `script`, to be changed where it differs from the defaults.
pub fn playing(script: &Script) -> StartSession {
    Stage::request(&script.command())
}

impl Stage {
    /// The platform behind the target of every stage.
    pub fn peer(&self) -> &Peer {
        self.peer_of("local")
    }

    /// The platform behind a target.
    pub fn peer_of(&self, name: &str) -> &Peer {
        let found = self.peers.iter().find(|(known, _)| *known == name);
        &found.unwrap_or_else(|| panic!("{name} is no platform")).1
    }

    /// Starts a run that does this, and follows it.
    pub async fn play(&self, script: &Script) -> SessionId {
        self.try_start(playing(script)).await.unwrap_or_else(|error| panic!("{}", said(error)))
    }

    /// Follows a run that has been started elsewhere.
    ///
    /// # Errors
    /// What the server answers.
    pub async fn attach(&self, native: &str) -> Result<SessionId> {
        let what = Launch::Attach(NativeId(native.to_owned()));
        self.try_start(StartSession { what, ..Self::request("") }).await
    }

    /// A session as it is listed.
    pub async fn listed(&self, session: SessionId) -> SessionSummary {
        let page = self.list(ListSessions::default()).await.unwrap_or_else(|error| panic!("{}", said(error)));
        let found = page.sessions.into_iter().find(|summary| summary.session == session);
        found.unwrap_or_else(|| panic!("{session} is listed"))
    }

    /// The platform's id of a session.
    pub async fn native(&self, session: SessionId) -> String {
        self.listed(session).await.native_id.unwrap_or_else(|| panic!("{session} has an id of its platform")).0
    }

    /// Describes a session of the platform.
    pub async fn describe(&self, session: &str) -> AgentSessionDetail {
        self.try_describe(session).await.unwrap_or_else(|error| panic!("{}", said(error)))
    }

    /// Describes a session of the platform.
    ///
    /// # Errors
    /// What the server answers.
    pub async fn try_describe(&self, session: &str) -> Result<AgentSessionDetail> {
        let request = DescribeAgentSession { target: None, session: session.to_owned() };
        self.service.describe_agent_session(&self.call(), request).await
    }

    /// What a session of the platform cost.
    ///
    /// # Errors
    /// What the server answers.
    pub async fn token_usage(&self, session: &str) -> Result<TokenUsage> {
        let request = DescribeAgentSession { target: None, session: session.to_owned() };
        self.service.agent_token_usage(&self.call(), request).await
    }

    /// Lists sessions of the platform.
    ///
    /// # Errors
    /// What the server answers.
    pub async fn agent_sessions(&self, query: AgentSessionQuery) -> Result<AgentSessionPage> {
        self.service.list_agent_sessions(&self.call(), ListAgentSessions { target: None, query }).await
    }

    /// Starts an agent; nobody follows it.
    ///
    /// # Errors
    /// What the server answers.
    pub async fn start_agent(&self, agent: &str, inputs: Option<&str>) -> Result<AgentRun> {
        let request = StartAgent { target: None, agent: agent.to_owned(), inputs: inputs.map(Json::from_checked) };
        self.service.start_agent(&self.call(), request).await
    }

    /// Steers a session of the platform.
    ///
    /// # Errors
    /// What the server answers.
    pub async fn steer(&self, session: &str, action: AgentAction) -> Result<AgentRun> {
        let request = ControlAgentSession { target: None, session: session.to_owned(), action, input: None };
        self.service.control_agent_session(&self.call(), request).await
    }

    /// Looks at something that waits for a person.
    ///
    /// # Errors
    /// What the server answers.
    pub async fn manual_task(&self, item: &str) -> Result<ManualTask> {
        let request = DescribeManualTask { target: None, work_item: item.to_owned() };
        self.service.describe_manual_task(&self.call(), request).await
    }

    /// Completes something that waits for a person, or says what that would do.
    ///
    /// # Errors
    /// What the server answers.
    pub async fn complete_task(&self, item: &str, finish_state: FinishState, confirm: bool) -> Result<TaskCompletion> {
        let request =
            CompleteManualTask { target: None, work_item: item.to_owned(), finish_state, confirm, variables: None };
        self.service.complete_manual_task(&self.call(), request).await
    }
}
