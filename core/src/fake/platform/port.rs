//! What the scripted platform answers: the two ports of a backend that is an agent platform.

use std::time::Duration;

use async_trait::async_trait;

use super::run::Follower;
use super::{FakePlatform, followed, push};
use crate::agent::{
    Agent, AgentAction, AgentRun, AgentSession, AgentSessionDetail, AgentSessionPage, AgentSessionQuery, FinishState,
    Json, ManualTask, PlatformId, TokenUsage,
};
use crate::backend::{AgentPlatform, Availability, Backend, Command, Session, TargetStatus};
use crate::call::Call;
use crate::capability::{Capabilities, Capability};
use crate::error::{Error, Result};
use crate::id::NativeId;
use crate::output::{Exit, OutputSink};
use crate::spec::{CommandSpec, SessionSpec};

#[async_trait]
impl Backend for FakePlatform {
    fn capabilities(&self) -> Capabilities {
        Capabilities::of(&[Capability::Sessions, Capability::Attach, Capability::Agents])
    }

    async fn status(&self, _cx: &Call) -> TargetStatus {
        TargetStatus { availability: Availability::Online, detail: None, machine: None }
    }

    async fn start_session(&self, _cx: &Call, spec: SessionSpec, out: OutputSink) -> Result<Box<dyn Session>> {
        if spec.invocation.cwd.is_some() || !spec.invocation.env.is_empty() || spec.login {
            return Err(Error::invalid_argument("an agent has no cwd, env or login: leave them out"));
        }
        let (agent, inputs) = split(&spec.invocation.command);
        let started = self.launch(agent, inputs.as_ref(), Some(out)).await?;
        Ok(Box::new(Follower { platform: self.clone(), run: started.session_id }))
    }

    async fn attach_session(&self, _cx: &Call, native: &NativeId, mut out: OutputSink) -> Result<Box<dyn Session>> {
        self.request(format!("attach {native}")).await?;
        let mut state = self.lock();
        let run = state.known(&native.0)?;
        let turns = run.detail.reasoning_events.iter().filter_map(|event| event.text.as_deref());
        turns.for_each(|text| push(&mut out, text));
        match &run.exit {
            Some(exit) => out.finish(exit.clone()),
            None => run.followers.push(followed(out)),
        }
        drop(state);
        Ok(Box::new(Follower { platform: self.clone(), run: native.0.clone() }))
    }

    async fn run_command(&self, _cx: &Call, _spec: CommandSpec, _out: OutputSink) -> Result<Box<dyn Command>> {
        Err(Error::unsupported("an agent platform has no commands"))
    }

    fn agents(&self) -> Option<&dyn AgentPlatform> {
        Some(self)
    }

    async fn shutdown(&self, _grace: Duration) {
        for run in &mut self.lock().runs {
            if run.is_own && !run.is_over() {
                run.end(Exit::Canceled);
            }
            run.followers.clear();
        }
    }
}

/// An agent's name and its inputs, which begin at the first brace.
fn split(command: &str) -> (&str, Option<Json>) {
    match command.find('{').and_then(|at| command.split_at_checked(at)) {
        Some((agent, inputs)) => (agent.trim(), Some(Json::from_checked(inputs.trim()))),
        None => (command.trim(), None),
    }
}

#[async_trait]
impl AgentPlatform for FakePlatform {
    async fn sessions(&self, _cx: &Call, query: &AgentSessionQuery) -> Result<AgentSessionPage> {
        self.request("sessions".to_owned()).await?;
        let refused = |_| Error::invalid_argument("page_token is not one that get_sessions has returned: leave it out");
        let from: usize = query.page_token.as_deref().map_or(Ok(0), str::parse).map_err(refused)?;
        let listed: Vec<AgentSession> = self.lock().runs.iter().map(|run| run.listed()).collect();
        let is_meant = |session: &AgentSession| {
            query.agent_name.as_ref().is_none_or(|name| session.agent_name.as_ref() == Some(name))
                && query.status.as_ref().is_none_or(|status| session.status == *status)
        };
        let mut sessions: Vec<_> = listed.into_iter().filter(is_meant).skip(from).collect();
        let next_page_token = (sessions.len() > query.limit).then(|| (from + query.limit).to_string());
        sessions.truncate(query.limit);
        Ok(AgentSessionPage { sessions, next_page_token })
    }

    async fn describe(&self, _cx: &Call, session: &PlatformId) -> Result<AgentSessionDetail> {
        self.request(format!("describe {session}")).await?;
        Ok(self.lock().known(session.as_str())?.detail.clone())
    }

    async fn token_usage(&self, _cx: &Call, session: &PlatformId) -> Result<TokenUsage> {
        self.request(format!("usage {session}")).await?;
        let mut state = self.lock();
        state.known(session.as_str())?;
        let mut usage = TokenUsage::default();
        usage.summary.session_id = session.to_string();
        let known = state.usage.iter().find(|usage| usage.summary.session_id == session.as_str());
        Ok(known.cloned().unwrap_or(usage))
    }

    async fn agents(&self, _cx: &Call) -> Result<Vec<Agent>> {
        self.request("agents".to_owned()).await?;
        Ok(self.lock().agents.clone())
    }

    async fn start(&self, _cx: &Call, agent: &str, inputs: Option<&Json>) -> Result<AgentRun> {
        self.launch(agent, inputs, None).await
    }

    async fn control(
        &self,
        _cx: &Call,
        session: &PlatformId,
        action: AgentAction,
        input: Option<&Json>,
    ) -> Result<AgentRun> {
        let input = input.map_or("", Json::as_str);
        self.request(format!("control {session} {} {input}", action.as_str()).trim_end().to_owned()).await?;
        let mut state = self.lock();
        let run = state.known(session.as_str())?;
        if run.is_over() {
            return Err(Error::failed_precondition("the session is over: get_sessions shows which are not"));
        }
        match action {
            AgentAction::Cancel => run.end(Exit::Canceled),
            AgentAction::Pause => run.detail.status = "PAUSED".to_owned(),
            AgentAction::Resume => run.detail.status = "RUNNING".to_owned(),
        }
        Ok(run.told())
    }

    async fn manual_task(&self, _cx: &Call, work_item: &PlatformId) -> Result<ManualTask> {
        self.request(format!("task {work_item}")).await?;
        Ok(self.lock().task(work_item)?.clone())
    }

    async fn finish_task(
        &self,
        _cx: &Call,
        work_item: &PlatformId,
        state: FinishState,
        variables: Option<&Json>,
    ) -> Result<()> {
        let variables = variables.map_or("", Json::as_str);
        self.request(format!("finish {work_item} {} {variables}", state.as_str()).trim_end().to_owned()).await?;
        let mut known = self.lock();
        let task = known.task(work_item)?;
        task.pending = false;
        task.status = "completed".to_owned();
        Ok(())
    }
}
