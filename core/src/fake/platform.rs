//! A scripted agent platform in memory: the test says what its records are, how its runs go, and what fails.

mod port;
mod run;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::agent::{
    Agent, AgentRun, AgentSession, AgentSessionDetail, Json, ManualTask, PlatformId, ReasoningEvent, TokenUsage,
};
use crate::backend::{InputState, PlatformInfo, TargetInfo};
use crate::error::{Error, Result, shown};
use crate::id::TargetName;
use crate::output::{Demand, Exit, OutputSink, Stream};

/// The agent that is there from the beginning.
const AGENT: &str = "echo";

/// The scripted platform.
///
/// Its statuses are `RUNNING`, `PAUSED`, `COMPLETE`, `FAILED` and `CANCELED`. Starting an agent makes a session with
/// the id `run-1`, `run-2` and so on, whose turns and end come from [`turn`](Self::turn) and [`end`](Self::end).
#[derive(Clone)]
pub struct FakePlatform(Arc<Mutex<State>>);

/// What the platform knows.
#[derive(Default)]
struct State {
    runs: Vec<Run>,
    agents: Vec<Agent>,
    tasks: Vec<ManualTask>,
    usage: Vec<TokenUsage>,
    started: usize,
    failure: Option<Error>,
    delay: Duration,
    asked: Vec<String>,
}

/// A session and those who follow it.
struct Run {
    detail: AgentSessionDetail,
    exit: Option<Exit>,
    input: Option<InputState>,
    /// Whether it is this server's: its session has started it.
    is_own: bool,
    followers: Vec<(OutputSink, Demand)>,
}

/// What a test says.
impl FakePlatform {
    /// A platform with the agent `echo` and no session.
    pub fn new() -> Arc<Self> {
        let agents = vec![Agent { name: AGENT.to_owned(), ..Agent::default() }];
        Arc::new(Self(Arc::new(Mutex::new(State { agents, ..State::default() }))))
    }

    /// How a target behind this backend is listed.
    pub fn info(name: TargetName) -> TargetInfo {
        let platform = PlatformInfo { dialect: "fake".to_owned() };
        TargetInfo { platform: Some(platform), ..TargetInfo::new(name, "fake") }
    }

    /// There is a session with this record, which is listed too.
    pub fn put_session(&self, detail: AgentSessionDetail) {
        let exit = match detail.status.as_str() {
            "COMPLETE" => Some(Exit::Exited(0)),
            "FAILED" => Some(Exit::Failed("the platform says that it failed".to_owned())),
            "CANCELED" => Some(Exit::Canceled),
            _ => None,
        };
        self.lock().runs.push(Run { detail, exit, input: None, is_own: false, followers: Vec::new() });
    }

    /// There is this agent.
    pub fn put_agent(&self, agent: Agent) {
        self.lock().agents.push(agent);
    }

    /// There is this manual task.
    pub fn put_task(&self, task: ManualTask) {
        self.lock().tasks.push(task);
    }

    /// This is what its session cost.
    pub fn put_usage(&self, usage: TokenUsage) {
        self.lock().usage.push(usage);
    }

    /// Every request for a record fails like this from now on, or does not any more. It counts as asked all the same.
    pub fn fail(&self, failure: Option<Error>) {
        self.lock().failure = failure;
    }

    /// Every request takes so long from now on.
    pub fn delay(&self, delay: Duration) {
        self.lock().delay = delay;
    }

    /// The requests so far, each as words: `describe run-1`, `control run-1 cancel`, `finish task-1 success {}`.
    pub fn asked(&self) -> Vec<String> {
        self.lock().asked.clone()
    }

    /// The run's agent completes a turn.
    pub fn turn(&self, run: &str, text: &str) {
        let mut state = self.lock();
        let Some(run) = state.run(run) else { return };
        let sequence_number = Some(run.detail.reasoning_events.len() as i64);
        let text = text.to_owned();
        run.followers.iter_mut().for_each(|(out, _)| push(out, &text));
        run.detail.reasoning_events.push(ReasoningEvent { sequence_number, text: Some(text), ..Default::default() });
    }

    /// The run ends.
    pub fn end(&self, run: &str, exit: Exit) {
        if let Some(run) = self.lock().run(run) {
            run.end(exit);
        }
    }

    /// The run waits for input from now on, or does not any more.
    pub fn input(&self, run: &str, input: Option<InputState>) {
        if let Some(run) = self.lock().run(run) {
            run.input = input;
        }
    }

    /// Whether somebody wants the run's output.
    pub fn is_wanted(&self, run: &str) -> bool {
        let mut state = self.lock();
        state.run(run).is_some_and(|run| run.followers.iter().any(|(_, demand)| demand.is_wanted()))
    }
}

impl FakePlatform {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One request: it is noted, takes its time, and fails where it is to fail.
    async fn request(&self, words: String) -> Result<()> {
        let delay = {
            let mut state = self.lock();
            state.asked.push(words);
            state.delay
        };
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        self.lock().failure.clone().map_or(Ok(()), Err)
    }

    /// Starts an agent, with somebody who follows it or nobody.
    async fn launch(&self, agent: &str, inputs: Option<&Json>, out: Option<OutputSink>) -> Result<AgentRun> {
        let inputs = inputs.map_or("", Json::as_str);
        self.request(format!("start {agent} {inputs}").trim_end().to_owned()).await?;
        let mut state = self.lock();
        let is_meant = |known: &&Agent| {
            [Some(&known.name), known.agent_id.as_ref(), known.route_name.as_ref()].contains(&Some(&agent.to_owned()))
        };
        let Some(agent) = state.agents.iter().find(is_meant) else {
            return Err(Error::not_found(format!("there is no agent \"{}\": get_agents shows them", shown(agent))));
        };
        let agent_name = Some(agent.name.clone());
        state.started += 1;
        let session_id = format!("run-{}", state.started);
        let detail = AgentSessionDetail {
            session_id,
            agent_name,
            status: "RUNNING".to_owned(),
            ..AgentSessionDetail::default()
        };
        let mut run = Run { detail, exit: None, input: None, is_own: out.is_some(), followers: Vec::new() };
        let started = run.told();
        run.followers.extend(out.map(followed));
        state.runs.push(run);
        Ok(started)
    }
}

impl State {
    fn run(&mut self, id: &str) -> Option<&mut Run> {
        self.runs.iter_mut().find(|run| run.detail.session_id == id)
    }

    fn known(&mut self, id: &str) -> Result<&mut Run> {
        let unknown = || Error::not_found(format!("there is no session \"{}\": get_sessions shows them", shown(id)));
        self.run(id).ok_or_else(unknown)
    }

    fn task(&mut self, id: &PlatformId) -> Result<&mut ManualTask> {
        let unknown = || Error::not_found(format!("there is no task \"{id}\": describe_session shows what waits"));
        self.tasks.iter_mut().find(|task| task.work_item_id == id.as_str()).ok_or_else(unknown)
    }
}

impl Run {
    fn is_over(&self) -> bool {
        self.exit.is_some()
    }

    fn end(&mut self, exit: Exit) {
        let status = match &exit {
            Exit::Exited(_) => "COMPLETE",
            Exit::Canceled => "CANCELED",
            Exit::Failed(_) | Exit::Signaled(_) | Exit::Lost(_) => "FAILED",
        };
        self.detail.status = status.to_owned();
        self.detail.output = self.detail.reasoning_events.last().and_then(|event| event.text.clone());
        self.exit = Some(exit.clone());
        self.followers.drain(..).for_each(|(out, _)| out.finish(exit.clone()));
    }

    fn told(&self) -> AgentRun {
        AgentRun { session_id: self.detail.session_id.clone(), status: self.detail.status.clone() }
    }

    fn listed(&self) -> AgentSession {
        let detail = self.detail.clone();
        AgentSession {
            session_id: detail.session_id,
            status: detail.status,
            agent_name: detail.agent_name,
            started_at: detail.started_at,
            end_time: detail.end_time,
            duration_ms: detail.duration_ms,
            ..AgentSession::default()
        }
    }
}

/// A sink with its demand, which is asked for before anybody can read.
fn followed(out: OutputSink) -> (OutputSink, Demand) {
    let demand = out.demand();
    (out, demand)
}

/// A turn as a session's output has it, in one piece.
fn push(out: &mut OutputSink, text: &str) {
    let end = if text.ends_with('\n') { "" } else { "\n" };
    out.push(Stream::Stdout, format!("{text}{end}").as_bytes());
}
