//! Requests and answers of agent platforms. The records themselves are in [`agent`](crate::agent).
//!
//! A request's target may be left out by an owner who has one target only, while exactly one platform is configured,
//! and where the id is that of a session of this server, which tells. Whoever may use the target sees its records:
//! they belong to the platform, not to a caller (DF01).

use crate::agent::{AgentAction, AgentSessionQuery, FinishState, Json};
use crate::backend::TargetInfo;
use crate::id::TargetName;

/// The agent platforms there are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlatformList {
    /// The platforms; each has [`TargetInfo::platform`].
    pub platforms: Vec<TargetInfo>,
}

/// The sessions on one page of a platform's list when the caller names no number.
pub const DEFAULT_AGENT_PAGE: usize = 100;
/// The most sessions on one page of a platform's list.
pub const MAX_AGENT_PAGE: usize = 500;
/// The longest name, id or route of an agent, in bytes.
pub const MAX_AGENT_NAME: usize = 256;
/// The most bytes of completed turns in the description of a session, as compact JSON (DS45).
pub const MAX_EVENTS: usize = 1_048_576;

/// List the sessions of a platform.
#[derive(Clone, Debug, PartialEq)]
pub struct ListAgentSessions {
    /// Which platform.
    pub target: Option<TargetName>,
    /// Which sessions; the limit is 1 to [`MAX_AGENT_PAGE`].
    pub query: AgentSessionQuery,
}

/// Describe a session of a platform, or tell what it cost.
#[derive(Clone, Debug, PartialEq)]
pub struct DescribeAgentSession {
    /// Which platform.
    pub target: Option<TargetName>,
    /// The platform's id, or that of the session of this server that follows it (DF02).
    pub session: String,
}

/// List the agents of a platform.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListAgents {
    /// Which platform.
    pub target: Option<TargetName>,
}

/// Start an agent.
#[derive(Clone, Debug, PartialEq)]
pub struct StartAgent {
    /// Which platform.
    pub target: Option<TargetName>,
    /// The agent: its name, id or route.
    pub agent: String,
    /// Its inputs, a JSON object.
    pub inputs: Option<Json>,
}

/// Steer a session of a platform.
#[derive(Clone, Debug, PartialEq)]
pub struct ControlAgentSession {
    /// Which platform.
    pub target: Option<TargetName>,
    /// The platform's id, or that of the session of this server that follows it.
    pub session: String,
    /// What to do.
    pub action: AgentAction,
    /// What a resume hands to the agent, where the platform takes something.
    pub input: Option<Json>,
}

/// Describe something that waits for a person.
#[derive(Clone, Debug, PartialEq)]
pub struct DescribeManualTask {
    /// Which platform.
    pub target: Option<TargetName>,
    /// The platform's id of it.
    pub work_item: String,
}

/// Complete something that waits for a person.
#[derive(Clone, Debug, PartialEq)]
pub struct CompleteManualTask {
    /// Which platform.
    pub target: Option<TargetName>,
    /// The platform's id of it.
    pub work_item: String,
    /// How it is to end.
    pub finish_state: FinishState,
    /// Whether to do it; otherwise the answer says what would be done, and nothing changes.
    pub confirm: bool,
    /// Values for the platform, a flat JSON object.
    pub variables: Option<Json>,
}

/// What became, or would become, of a manual task.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskCompletion {
    /// The platform's id of it.
    pub work_item_id: String,
    /// Its title.
    pub title: Option<String>,
    /// How it ended, or would end.
    pub finish_state: FinishState,
    /// Whether it was done.
    pub completed: bool,
    /// What whoever confirms should know.
    pub warnings: Vec<String>,
}
