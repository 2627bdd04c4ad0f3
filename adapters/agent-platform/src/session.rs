//! A run as a session: how it is started or found, and the handle that stops it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use serde::de::IgnoredAny;
use sessiond_core::{
    Call, Error, Facts, InputState, Json, ManualTaskSummary, NativeId, OutputSink, PlatformId, Process, Result,
    Session, SessionSpec, Signal, SignalTarget, Stopped, TaskKind, WindowSize, Written, shown,
};
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::backend::Site;
use crate::dialect::Request;
use crate::follow::{self, Begin, Bell};

/// Starts one run, and cancels it when nobody wants it any more.
const START: TaskKind = TaskKind("agent_platform.start");

/// How much longer than its grace a stop may wait for the platform's word. The registry waits a little longer still.
const PATIENCE: Duration = Duration::from_secs(20);
/// For how long what waits for a person is taken as known.
const KNOWN: Duration = Duration::from_secs(2);

/// Starts a run and follows it. When the returned future fails or is dropped, no run is left: the platform is asked in
/// a task of its own, which cancels what nobody has claimed.
///
/// # Errors
/// `invalid_argument` for a command that is not `AGENT {inputs}`, and for what an agent does not have: a directory, an
/// environment, a login shell; else what the platform says.
pub(crate) async fn start(
    site: &Arc<Site>,
    request: Request,
    spec: SessionSpec,
    out: OutputSink,
) -> Result<Box<dyn Session>> {
    let wanted = Wanted::parse(&spec)?;
    let (tell, told) = oneshot::channel();
    let (claim, claimed) = oneshot::channel();
    site.tasks.spawn(START, {
        let site = site.clone();
        async move {
            if let Some(id) = wanted.start(&site, request, tell).await
                && claimed.await.is_err()
            {
                give_up(&site, &id).await;
            }
        }
    });
    let id = told.await.map_err(|_| Error::internal("the start of the run has broken off: try again"))??;
    let session = Run::follow(site, id, out, Begin::Soon);
    // Nothing has been awaited since the id was there, so that the claim comes in any case in which it is kept.
    let _ = claim.send(());
    Ok(Box::new(session))
}

/// Follows a run that is there already.
///
/// # Errors
/// `invalid_argument` for what is no id, `not_found` for a run that is not there.
pub(crate) async fn attach(
    site: &Arc<Site>,
    request: Request,
    native: &NativeId,
    out: OutputSink,
) -> Result<Box<dyn Session>> {
    let id = PlatformId::new("native_id", native.0.clone())?;
    site.dialect.state(&request, &id).await?;
    Ok(Box::new(Run::follow(site, id, out, Begin::AtOnce)))
}

/// Cancels a run that nobody wants.
async fn give_up(site: &Site, id: &PlatformId) {
    if !matches!(follow::end(site, id, Instant::now() + PATIENCE).await, Ok(Stopped::Confirmed)) {
        tracing::warn!(run = %id, "a run whose caller has gone may still run: the platform has not confirmed its end");
    }
}

/// The agent that a command names, and what it is given.
#[derive(Debug, PartialEq)]
struct Wanted {
    agent: String,
    inputs: Option<Json>,
}

impl Wanted {
    /// The name ends where the inputs, a JSON object, begin.
    fn parse(spec: &SessionSpec) -> Result<Self> {
        let invocation = &spec.invocation;
        let refused = |what: &str| {
            Err(Error::invalid_argument(format!("an agent's run has no {what}: leave it out, or give it as an input")))
        };
        if invocation.cwd.is_some() {
            return refused("cwd");
        }
        if !invocation.env.is_empty() {
            return refused("env");
        }
        if spec.login {
            return refused("login");
        }
        let command = invocation.command.as_str();
        let (agent, inputs) = command.split_at(command.find('{').unwrap_or(command.len()));
        let agent = agent.trim();
        if agent.is_empty() {
            return Err(Error::invalid_argument(
                "command names no agent: give its name, then its inputs as a JSON object; get_agents lists the names",
            ));
        }
        let inputs = Some(inputs.trim()).filter(|inputs| !inputs.is_empty()).map(object).transpose()?;
        Ok(Self { agent: agent.to_owned(), inputs })
    }

    /// Starts it and tells its id. Returns the id when there is a run that somebody has to claim.
    async fn start(
        self,
        site: &Site,
        request: Request,
        tell: oneshot::Sender<Result<PlatformId>>,
    ) -> Option<PlatformId> {
        // A start that is under way goes on to its end, which alone shows what there is to be cancelled.
        let cx = Request { cancel: CancellationToken::new(), ..request };
        let started = site.dialect.start(&cx, &self.agent, self.inputs.as_ref()).await;
        let id = started.and_then(|run| {
            PlatformId::new("session_id", run.session_id)
                .map_err(|_| Error::unavailable("the platform gave the run an id that cannot be used: look there"))
        });
        let kept = id.as_ref().ok().cloned();
        // Whether somebody still listens shows in the claim.
        let _ = tell.send(id);
        kept
    }
}

fn object(inputs: &str) -> Result<Json> {
    match serde_json::from_str::<std::collections::HashMap<String, IgnoredAny>>(inputs) {
        Ok(_) => Ok(Json::from_checked(inputs)),
        Err(error) => Err(Error::invalid_argument(format!(
            "what follows the agent's name in command is no JSON object (column {}): {}",
            error.column(),
            shown(inputs)
        ))),
    }
}

/// A run that is followed.
struct Run {
    site: Arc<Site>,
    id: PlatformId,
    bell: Bell,
    /// What waited for a person when that was last asked.
    waiting: Mutex<Option<(Instant, Vec<ManualTaskSummary>)>>,
}

impl Run {
    fn follow(site: &Arc<Site>, id: PlatformId, out: OutputSink, begin: Begin) -> Self {
        let bell = follow::follow(site, id.clone(), out, begin);
        Self { site: site.clone(), id, bell, waiting: Mutex::default() }
    }

    fn known(&self) -> Option<InputState> {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.as_ref().filter(|(when, _)| when.elapsed() < KNOWN).map(|(_, tasks)| input_state(tasks))
    }
}

#[async_trait]
impl Process for Run {
    fn facts(&self) -> Facts {
        Facts { native_id: Some(NativeId(self.id.to_string())), ..Facts::default() }
    }

    async fn signal(&self, _cx: &Call, _signal: Signal, _to: SignalTarget) -> Result<()> {
        Err(Error::unsupported("an agent's run takes no signals: stop the session, or use control_session"))
    }

    /// Cancels the run; confirmed once the platform says that it is over.
    async fn stop(&self, grace: Duration) -> Result<Stopped> {
        let stopped = follow::end(&self.site, &self.id, Instant::now() + grace + PATIENCE).await;
        self.bell.ring();
        stopped
    }

    /// What a run has started is the platform's, and ends with it.
    async fn descendants(&self) -> Vec<u32> {
        Vec::new()
    }
}

#[async_trait]
impl Session for Run {
    async fn write(&self, _cx: &Call, _input: Bytes) -> Result<Written> {
        Err(no_terminal())
    }

    async fn eof(&self, _cx: &Call) -> Result<()> {
        Err(no_terminal())
    }

    async fn resize(&self, _cx: &Call, _size: WindowSize) -> Result<()> {
        Err(no_terminal())
    }

    /// A run waits for input while a manual task of its own waits for a person.
    async fn input_state(&self, cx: &Call) -> Option<InputState> {
        if let Some(known) = self.known() {
            return Some(known);
        }
        let tasks = self.site.dialect.pending_tasks(&Request::of(cx, self.site.timeout), &self.id).await.ok()?;
        let state = input_state(&tasks);
        *self.waiting.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), tasks));
        Some(state)
    }
}

fn no_terminal() -> Error {
    Error::unsupported("an agent's run has no terminal: give all that it needs as inputs, or answer its manual tasks")
}

/// What the tasks that wait say of the run, in words.
fn input_state(tasks: &[ManualTaskSummary]) -> InputState {
    let evidence = match tasks {
        [] => "no manual task waits".to_owned(),
        [task] => format!("manual task {} waits", title(task)),
        [first, others @ ..] => format!("manual task {} and {} more wait", title(first), others.len()),
    };
    InputState { waiting: !tasks.is_empty(), evidence }
}

fn title(task: &ManualTaskSummary) -> String {
    format!("\"{}\"", shown(task.title.as_deref().unwrap_or(&task.work_item_id)))
}

#[cfg(test)]
mod tests {
    use sessiond_core::{ErrorKind, Invocation};

    use super::*;

    fn spec(command: &str) -> SessionSpec {
        SessionSpec { invocation: Invocation::new(command), size: WindowSize::default(), login: false }
    }

    fn parsed(command: &str) -> Result<(String, Option<String>)> {
        let wanted = Wanted::parse(&spec(command))?;
        Ok((wanted.agent, wanted.inputs.map(|inputs| inputs.as_str().to_owned())))
    }

    #[test]
    fn a_command_is_an_agent_and_perhaps_its_inputs() {
        assert_eq!(parsed("Health Check"), Ok(("Health Check".into(), None)));
        assert_eq!(parsed("  Health Check \n"), Ok(("Health Check".into(), None)));
        assert_eq!(parsed("a {}"), Ok(("a".into(), Some("{}".into()))));
        assert_eq!(
            parsed("Health Check {\"site\": \"a{b}\",\n \"n\": [1]} "),
            Ok(("Health Check".into(), Some("{\"site\": \"a{b}\",\n \"n\": [1]}".into())))
        );
    }

    #[test]
    fn a_command_that_is_none_is_refused_with_what_is_wrong() {
        let refused = |command: &str| {
            let error = parsed(command).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            error.message().to_owned()
        };
        assert!(refused("{\"a\":1}").starts_with("command names no agent: "));
        assert!(refused(" ").starts_with("command names no agent: "));
        for command in ["a {", "a {\"b\":}", "a {} x", "a {\"b\":1", "a {b:1}", "a {}{}"] {
            assert!(refused(command).contains("is no JSON object"), "{command}");
        }
        assert!(refused(&format!("a {{{}", "x".repeat(100_000))).len() < 300);
    }

    #[test]
    fn what_an_agent_does_not_have_is_refused() {
        let refused = |change: fn(&mut SessionSpec)| {
            let mut spec = spec("a");
            change(&mut spec);
            Wanted::parse(&spec).unwrap_err().message().to_owned()
        };
        assert!(refused(|spec| spec.invocation.cwd = Some("/tmp".into())).contains("no cwd"));
        assert!(refused(|spec| spec.invocation.env = vec![("A".into(), "b".into())]).contains("no env"));
        assert!(refused(|spec| spec.login = true).contains("no login"));
    }

    #[test]
    fn what_waits_is_said_in_words() {
        let task = |title: Option<&str>| ManualTaskSummary {
            work_item_id: "w1".into(),
            title: title.map(str::to_owned),
            view_type: None,
            waiting_age_seconds: None,
            completion_supported: true,
        };
        let said = |tasks: &[ManualTaskSummary]| {
            let state = input_state(tasks);
            (state.waiting, state.evidence)
        };
        assert_eq!(said(&[]), (false, "no manual task waits".into()));
        assert_eq!(said(&[task(Some("Approve change"))]), (true, "manual task \"Approve change\" waits".into()));
        assert_eq!(said(&[task(None)]), (true, "manual task \"w1\" waits".into()));
        let three = [task(Some("A")), task(Some("B")), task(None)];
        assert_eq!(said(&three), (true, "manual task \"A\" and 2 more wait".into()));
    }
}
