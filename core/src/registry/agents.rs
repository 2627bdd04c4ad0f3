//! Agent platforms: which one a call means, what is checked before it is asked anything, and how long it may take.

use std::future::Future;

use super::Registry;
use super::events;
use super::hosts::names;
use crate::agent::{Agent, AgentAction, AgentRun, AgentSessionDetail, AgentSessionPage, PlatformId, TokenUsage};
use crate::backend::{AgentPlatform, ResolvedTarget};
use crate::call::Call;
use crate::capability::Capability;
use crate::error::{Error, Result, shown};
use crate::id::TargetName;
use crate::owner::not_found;
use crate::service::{
    ControlAgentSession, DescribeAgentSession, ListAgentSessions, ListAgents, MAX_AGENT_NAME, MAX_AGENT_PAGE,
    MAX_EVENTS, PlatformList, StartAgent,
};

/// What a question that was not answered leaves behind.
pub(super) const NOTHING: &str = "nothing has changed; try again";

/// What a request to change something leaves behind when its answer was not waited for.
const UNKNOWN: &str = "whether the platform did it is not known; get_sessions shows how its sessions stand";

impl Registry {
    /// The agent platforms that the caller may use.
    pub(super) fn platforms(&self, cx: &Call) -> PlatformList {
        let mut platforms = self.targets.list();
        platforms.retain(|info| info.platform.is_some() && cx.owner.reaches(&info.name));
        PlatformList { platforms }
    }

    /// One page of a platform's sessions.
    pub(super) async fn platform_sessions(&self, cx: &Call, request: ListAgentSessions) -> Result<AgentSessionPage> {
        if !(1..=MAX_AGENT_PAGE).contains(&request.query.limit) {
            return Err(Error::invalid_argument(format!("limit must be 1 to {MAX_AGENT_PAGE}")));
        }
        let target = self.platform(cx, request.target.as_ref()).await?;
        self.ask(cx, agents(&target)?.sessions(cx, &request.query), NOTHING).await
    }

    /// A session of a platform, its oldest turns left out where it would be too large.
    pub(super) async fn platform_session(
        &self,
        cx: &Call,
        request: DescribeAgentSession,
    ) -> Result<AgentSessionDetail> {
        let (target, id) = self.session_of_platform(cx, request.target.as_ref(), &request.session).await?;
        let mut detail = self.ask(cx, agents(&target)?.describe(cx, &id), NOTHING).await?;
        detail.dropped_events += events::trim(&mut detail.reasoning_events, MAX_EVENTS);
        Ok(detail)
    }

    /// What a session of a platform cost.
    pub(super) async fn platform_usage(&self, cx: &Call, request: DescribeAgentSession) -> Result<TokenUsage> {
        let (target, id) = self.session_of_platform(cx, request.target.as_ref(), &request.session).await?;
        self.ask(cx, agents(&target)?.token_usage(cx, &id), NOTHING).await
    }

    /// The agents of a platform.
    pub(super) async fn platform_agents(&self, cx: &Call, request: ListAgents) -> Result<Vec<Agent>> {
        let target = self.platform(cx, request.target.as_ref()).await?;
        self.ask(cx, agents(&target)?.agents(cx), NOTHING).await
    }

    /// Starts an agent that nothing here follows.
    pub(super) async fn start_on_platform(&self, cx: &Call, request: StartAgent) -> Result<AgentRun> {
        check_agent(&request.agent)?;
        let target = self.platform(cx, request.target.as_ref()).await?;
        self.ask(cx, agents(&target)?.start(cx, &request.agent, request.inputs.as_ref()), UNKNOWN).await
    }

    /// Steers a session of a platform.
    pub(super) async fn control_on_platform(&self, cx: &Call, request: ControlAgentSession) -> Result<AgentRun> {
        if request.input.is_some() && request.action != AgentAction::Resume {
            return Err(Error::invalid_argument("input goes with action resume only: leave it out"));
        }
        let (target, id) = self.session_of_platform(cx, request.target.as_ref(), &request.session).await?;
        self.ask(cx, agents(&target)?.control(cx, &id, request.action, request.input.as_ref()), UNKNOWN).await
    }

    /// The platform that a call means: the named one, the only one that the caller may use, or the only one there is.
    pub(super) async fn platform(&self, cx: &Call, named: Option<&TargetName>) -> Result<ResolvedTarget> {
        let name = match named.or(cx.owner.only()) {
            Some(name) => name.clone(),
            None => self.only_platform(cx)?,
        };
        if !cx.owner.reaches(&name) {
            let name = shown(name.as_str());
            return Err(Error::not_found(format!(
                "there is no agent platform \"{name}\" here: list_clients shows yours"
            )));
        }
        let target = self.targets.resolve(&name).await?;
        target.backend.capabilities().require(Capability::Agents)?;
        Ok(target)
    }

    /// The only platform that the caller may use.
    fn only_platform(&self, cx: &Call) -> Result<TargetName> {
        match self.platforms(cx).platforms.as_slice() {
            [] => Err(Error::unsupported("there is no agent platform here: list_clients shows the targets")),
            [only] => Ok(only.name.clone()),
            several => Err(Error::failed_precondition(format!(
                "client_token is missing, and there are several agent platforms: name one of {}",
                names(several.iter())
            ))),
        }
    }

    /// The platform and its id of a session, which is named by that id or by the caller's own session that follows it
    /// (DF02). What is no session of the caller's is the platform's to know, whatever it looks like.
    async fn session_of_platform(
        &self,
        cx: &Call,
        named: Option<&TargetName>,
        session: &str,
    ) -> Result<(ResolvedTarget, PlatformId)> {
        let id = PlatformId::new("session_id", session)?;
        let own = session.parse().ok().and_then(|own| self.table.session(&cx.owner, own));
        let Some(record) = own.filter(|record| cx.owner.reaches(&record.run.target.name)) else {
            return Ok((self.platform(cx, named).await?, id));
        };
        let own_target = &record.run.target.name;
        if named.is_some_and(|name| name != own_target) {
            return Err(not_found());
        }
        let target = self.platform(cx, Some(own_target)).await?;
        let native = record.run.process().facts().native_id.ok_or_else(|| {
            Error::unavailable("the platform has not told its id of this session yet: try again, or see get_sessions")
        })?;
        Ok((target, PlatformId::new("session_id", native.0)?))
    }

    /// What a platform answers within the call's time. `left` says what is the case when nobody waited for that.
    pub(super) async fn ask<T>(&self, cx: &Call, answer: impl Future<Output = Result<T>>, left: &str) -> Result<T> {
        self.until(cx, cx.deadline, answer, &format!("the platform did not answer in time: {left}"), left).await
    }
}

/// A platform's records.
pub(super) fn agents(target: &ResolvedTarget) -> Result<&dyn AgentPlatform> {
    target
        .backend
        .agents()
        .ok_or_else(|| Error::internal("a fault of ours: this agent platform has no agents; please report it"))
}

fn check_agent(agent: &str) -> Result<()> {
    let why = if agent.is_empty() {
        "is empty"
    } else if agent.len() > MAX_AGENT_NAME {
        "is too long"
    } else if agent.chars().any(char::is_control) {
        "has a control character"
    } else {
        return Ok(());
    };
    let agent = shown(agent);
    Err(Error::invalid_argument(format!(
        "agent \"{agent}\" {why}: give the name, id or route of one that get_agents shows"
    )))
}
