//! Agent platforms: their agents and the records of their sessions.

use sessiond_core::{
    Agent, AgentAction, AgentRun, AgentSession, AgentSessionDetail, AgentSessionPage, AgentSessionQuery,
    ControlAgentSession, DEFAULT_AGENT_PAGE, DescribeAgentSession, Json, ListAgentSessions, ListAgents,
    ManualTaskSummary, PlatformInfo, PlatformList, ReasoningEvent, Result, StartAgent, TargetInfo, TargetName,
    TokenCounts, TokenSummary, TokenTurn, TokenUsage,
};

use super::{Decode, Encode, alike, backend, count, json, known, required, target, unsaid};
use crate::proto;

alike! {
    AgentRun { session_id, status }
    AgentSession {
        session_id, status, agent_name, started_at, end_time, duration_ms, total_input_tokens, total_output_tokens
    }
    ManualTaskSummary { work_item_id, title, view_type, waiting_age_seconds, completion_supported }
    PlatformInfo { dialect }
    ReasoningEvent { event_id, sequence_number, timestamp, text }
    TokenCounts { input_tokens, output_tokens, cache_read_tokens, cache_creation_tokens, total_tokens }
    TokenSummary {
        session_id, turn_count, total_duration_ms, total_input_tokens, total_output_tokens, total_tokens
    }
}

impl Encode for PlatformList {
    type Message = proto::ListPlatformsResponse;

    fn encode(self) -> Self::Message {
        proto::ListPlatformsResponse { platforms: self.platforms.into_iter().map(platform).collect() }
    }
}

impl Decode for proto::ListPlatformsResponse {
    type Value = PlatformList;

    fn decode(self) -> Result<PlatformList> {
        Ok(PlatformList { platforms: self.platforms.decode()? })
    }
}

fn platform(info: TargetInfo) -> proto::Platform {
    proto::Platform {
        name: info.name.to_string(),
        client_id: info.client_id,
        backend: info.backend.to_owned(),
        info: info.platform.encode(),
    }
}

impl Decode for proto::Platform {
    type Value = TargetInfo;

    fn decode(self) -> Result<TargetInfo> {
        Ok(TargetInfo {
            name: TargetName::new(self.name)?,
            client_id: self.client_id,
            backend: backend(&self.backend),
            host: None,
            platform: self.info.decode()?,
        })
    }
}

impl Encode for ListAgentSessions {
    type Message = proto::ListAgentSessionsRequest;

    fn encode(self) -> Self::Message {
        proto::ListAgentSessionsRequest {
            target: self.target.map(|name| name.to_string()),
            agent_name: self.query.agent_name,
            status: self.query.status,
            started_after: self.query.started_after.encode(),
            started_before: self.query.started_before.encode(),
            limit: Some(u32::try_from(self.query.limit).unwrap_or(u32::MAX)),
            page_token: self.query.page_token,
        }
    }
}

impl Decode for proto::ListAgentSessionsRequest {
    type Value = ListAgentSessions;

    fn decode(self) -> Result<ListAgentSessions> {
        let query = AgentSessionQuery {
            agent_name: self.agent_name,
            status: self.status,
            started_after: self.started_after.decode()?,
            started_before: self.started_before.decode()?,
            limit: self.limit.map_or(DEFAULT_AGENT_PAGE, |limit| count(limit.into())),
            page_token: self.page_token,
        };
        Ok(ListAgentSessions { target: target(self.target)?, query })
    }
}

impl Encode for AgentSessionPage {
    type Message = proto::ListAgentSessionsResponse;

    fn encode(self) -> Self::Message {
        proto::ListAgentSessionsResponse { sessions: self.sessions.encode(), next_page_token: self.next_page_token }
    }
}

impl Decode for proto::ListAgentSessionsResponse {
    type Value = AgentSessionPage;

    fn decode(self) -> Result<AgentSessionPage> {
        Ok(AgentSessionPage { sessions: self.sessions.decode()?, next_page_token: self.next_page_token })
    }
}

impl Encode for DescribeAgentSession {
    type Message = proto::DescribeAgentSessionRequest;

    fn encode(self) -> Self::Message {
        let target = self.target.map(|name| name.to_string());
        proto::DescribeAgentSessionRequest { target, session_id: self.session }
    }
}

impl Decode for proto::DescribeAgentSessionRequest {
    type Value = DescribeAgentSession;

    fn decode(self) -> Result<DescribeAgentSession> {
        Ok(DescribeAgentSession { target: target(self.target)?, session: self.session_id })
    }
}

/// Two verbs ask about a session in the same words; on the wire each has a message of its own.
impl From<proto::DescribeAgentSessionRequest> for proto::AgentTokenUsageRequest {
    fn from(asked: proto::DescribeAgentSessionRequest) -> Self {
        Self { target: asked.target, session_id: asked.session_id }
    }
}

impl Decode for proto::AgentTokenUsageRequest {
    type Value = DescribeAgentSession;

    fn decode(self) -> Result<DescribeAgentSession> {
        Ok(DescribeAgentSession { target: target(self.target)?, session: self.session_id })
    }
}

impl Encode for AgentSessionDetail {
    type Message = proto::AgentSessionDetail;

    fn encode(self) -> Self::Message {
        proto::AgentSessionDetail {
            session_id: self.session_id,
            status: self.status,
            agent_name: self.agent_name,
            output: self.output,
            started_at: self.started_at,
            end_time: self.end_time,
            duration_ms: self.duration_ms,
            reasoning_events: self.reasoning_events.encode(),
            pending_manual_tasks: self
                .pending_manual_tasks
                .map(|tasks| proto::PendingManualTasks { tasks: tasks.encode() }),
            dropped_events: self.dropped_events,
        }
    }
}

impl Decode for proto::AgentSessionDetail {
    type Value = AgentSessionDetail;

    fn decode(self) -> Result<AgentSessionDetail> {
        Ok(AgentSessionDetail {
            session_id: self.session_id,
            status: self.status,
            agent_name: self.agent_name,
            output: self.output,
            started_at: self.started_at,
            end_time: self.end_time,
            duration_ms: self.duration_ms,
            reasoning_events: self.reasoning_events.decode()?,
            pending_manual_tasks: self.pending_manual_tasks.map(|pending| pending.tasks.decode()).transpose()?,
            dropped_events: self.dropped_events,
        })
    }
}

impl Decode for proto::DescribeAgentSessionResponse {
    type Value = AgentSessionDetail;

    fn decode(self) -> Result<AgentSessionDetail> {
        required(self.session, "session")?.decode()
    }
}

impl Encode for TokenUsage {
    type Message = proto::AgentTokenUsageResponse;

    fn encode(self) -> Self::Message {
        proto::AgentTokenUsageResponse { summary: Some(self.summary.encode()), turns: self.turns.encode() }
    }
}

impl Decode for proto::AgentTokenUsageResponse {
    type Value = TokenUsage;

    fn decode(self) -> Result<TokenUsage> {
        Ok(TokenUsage { summary: required(self.summary, "summary")?.decode()?, turns: self.turns.decode()? })
    }
}

impl Encode for TokenTurn {
    type Message = proto::TokenTurn;

    fn encode(self) -> Self::Message {
        proto::TokenTurn {
            sequence_number: self.sequence_number,
            timestamp: self.timestamp,
            succeeded: self.succeeded,
            duration_ms: self.duration_ms,
            token_usage: self.token_usage.encode(),
            error: self.error,
        }
    }
}

impl Decode for proto::TokenTurn {
    type Value = TokenTurn;

    fn decode(self) -> Result<TokenTurn> {
        Ok(TokenTurn {
            sequence_number: self.sequence_number,
            timestamp: self.timestamp,
            succeeded: self.succeeded,
            duration_ms: self.duration_ms,
            token_usage: self.token_usage.decode()?,
            error: self.error,
        })
    }
}

impl Encode for ListAgents {
    type Message = proto::ListAgentsRequest;

    fn encode(self) -> Self::Message {
        proto::ListAgentsRequest { target: self.target.map(|name| name.to_string()) }
    }
}

impl Decode for proto::ListAgentsRequest {
    type Value = ListAgents;

    fn decode(self) -> Result<ListAgents> {
        Ok(ListAgents { target: target(self.target)? })
    }
}

impl Encode for Vec<Agent> {
    type Message = proto::ListAgentsResponse;

    fn encode(self) -> Self::Message {
        proto::ListAgentsResponse { agents: self.into_iter().map(agent).collect() }
    }
}

impl Decode for proto::ListAgentsResponse {
    type Value = Vec<Agent>;

    fn decode(self) -> Result<Vec<Agent>> {
        self.agents.decode()
    }
}

fn agent(agent: Agent) -> proto::Agent {
    proto::Agent {
        name: agent.name,
        description: agent.description,
        agent_id: agent.agent_id,
        route_name: agent.route_name,
        input_schema_json: agent.input_schema.map(text),
        last_executed: agent.last_executed,
    }
}

impl Decode for proto::Agent {
    type Value = Agent;

    fn decode(self) -> Result<Agent> {
        Ok(Agent {
            name: self.name,
            description: self.description,
            agent_id: self.agent_id,
            route_name: self.route_name,
            input_schema: json::value(self.input_schema_json, "input_schema_json")?,
            last_executed: self.last_executed,
        })
    }
}

impl Encode for StartAgent {
    type Message = proto::StartAgentRequest;

    fn encode(self) -> Self::Message {
        proto::StartAgentRequest {
            target: self.target.map(|name| name.to_string()),
            agent: self.agent,
            inputs_json: self.inputs.map(text),
        }
    }
}

impl Decode for proto::StartAgentRequest {
    type Value = StartAgent;

    fn decode(self) -> Result<StartAgent> {
        let inputs = json::object(self.inputs_json, "inputs_json")?;
        Ok(StartAgent { target: target(self.target)?, agent: self.agent, inputs })
    }
}

impl Decode for proto::StartAgentResponse {
    type Value = AgentRun;

    fn decode(self) -> Result<AgentRun> {
        required(self.run, "run")?.decode()
    }
}

impl Encode for ControlAgentSession {
    type Message = proto::ControlAgentSessionRequest;

    fn encode(self) -> Self::Message {
        proto::ControlAgentSessionRequest {
            target: self.target.map(|name| name.to_string()),
            session_id: self.session,
            action: self.action.encode().into(),
            input_json: self.input.map(text),
        }
    }
}

impl Decode for proto::ControlAgentSessionRequest {
    type Value = ControlAgentSession;

    fn decode(self) -> Result<ControlAgentSession> {
        Ok(ControlAgentSession {
            target: target(self.target)?,
            session: self.session_id,
            action: known::<proto::AgentAction>(self.action, "action")?.decode()?,
            input: json::value(self.input_json, "input_json")?,
        })
    }
}

impl Decode for proto::ControlAgentSessionResponse {
    type Value = AgentRun;

    fn decode(self) -> Result<AgentRun> {
        required(self.run, "run")?.decode()
    }
}

impl Encode for AgentAction {
    type Message = proto::AgentAction;

    fn encode(self) -> proto::AgentAction {
        match self {
            Self::Cancel => proto::AgentAction::Cancel,
            Self::Pause => proto::AgentAction::Pause,
            Self::Resume => proto::AgentAction::Resume,
        }
    }
}

impl Decode for proto::AgentAction {
    type Value = AgentAction;

    fn decode(self) -> Result<AgentAction> {
        Ok(match self {
            Self::Unspecified => return Err(unsaid("action")),
            Self::Cancel => AgentAction::Cancel,
            Self::Pause => AgentAction::Pause,
            Self::Resume => AgentAction::Resume,
        })
    }
}

/// A JSON value as it is written.
pub(super) fn text(json: Json) -> String {
    json.as_str().to_owned()
}
