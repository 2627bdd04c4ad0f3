//! Mutants: for each requirement a fault that breaks just it. A scenario that does not catch its mutant proves nothing.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;
use sessiond_core::{
    Call, CommandResult, ControlOutcome, ControlSession, ExecuteCommand, ListSessions, ListTargets, Read, ReadSession,
    Result, Service, SessionPage, StartSession, Started, StopOutcome, StopSession, Target, WriteOutcome, WriteSession,
};

use super::house::{BackendKind, House, Settings};
use super::mutants;
use super::requirement;
use super::runner::{Outcome, prove};

/// A fault that breaks one requirement.
#[derive(Clone, Copy)]
pub struct Mutant {
    /// The requirement that it breaks.
    pub id: &'static str,
    /// What it does wrong, as a sentence.
    pub title: &'static str,
    /// Where the work runs: a fault that only a real shell shows needs one.
    pub backend: BackendKind,
    /// The fault.
    pub fault: Fault,
}

/// Where a fault is built in.
#[derive(Clone, Copy)]
pub enum Fault {
    /// Around the service, below the tool layer.
    Service(fn(Arc<dyn Service>) -> Arc<dyn Service>),
    /// Around the service: what goes in or comes out of a verb is changed.
    Hooks(Hooks),
    /// In what the server sends, message by message.
    Message(fn(&mut Value)),
    /// In what the server receives, message by message: as if it had understood something else.
    Request(fn(&mut Value)),
    /// In the lines that the server writes: this one comes before each message.
    Line(&'static str),
    /// In the settings that the server works by.
    Settings(fn(&mut Settings)),
    /// The server's end ends nothing.
    NoEnd,
}

/// Changes of what goes into a verb and of what comes out of it.
#[derive(Clone, Copy)]
pub struct Hooks {
    /// Before a start.
    pub start_in: fn(&mut StartSession),
    /// Before a read.
    pub read_in: fn(&mut ReadSession),
    /// After a read.
    pub read_out: fn(&mut Result<Read>),
    /// Before a write.
    pub write_in: fn(&mut WriteSession),
    /// Before steering.
    pub control_in: fn(&mut ControlSession),
    /// After a stop.
    pub stop_out: fn(&mut Result<StopOutcome>),
    /// After a command.
    pub execute_out: fn(&mut Result<CommandResult>),
    /// After a list of sessions.
    pub list_out: fn(&mut Result<SessionPage>),
}

impl Hooks {
    /// No change.
    pub const NONE: Self = Self {
        start_in: |_| (),
        read_in: |_| (),
        read_out: |_| (),
        write_in: |_| (),
        control_in: |_| (),
        stop_out: |_| (),
        execute_out: |_| (),
        list_out: |_| (),
    };
}

/// A service whose verbs are hooked.
pub(crate) struct Hooked {
    pub(crate) right: Arc<dyn Service>,
    pub(crate) hooks: Hooks,
}

#[async_trait]
impl Faulty for Hooked {
    fn right(&self) -> &dyn Service {
        &*self.right
    }

    async fn start_session(&self, cx: &Call, mut request: StartSession) -> Result<Started> {
        (self.hooks.start_in)(&mut request);
        self.right.start_session(cx, request).await
    }

    async fn read_session(&self, cx: &Call, mut request: ReadSession) -> Result<Read> {
        (self.hooks.read_in)(&mut request);
        let mut answer = self.right.read_session(cx, request).await;
        (self.hooks.read_out)(&mut answer);
        answer
    }

    async fn write_session(&self, cx: &Call, mut request: WriteSession) -> Result<WriteOutcome> {
        (self.hooks.write_in)(&mut request);
        self.right.write_session(cx, request).await
    }

    async fn control_session(&self, cx: &Call, mut request: ControlSession) -> Result<ControlOutcome> {
        (self.hooks.control_in)(&mut request);
        self.right.control_session(cx, request).await
    }

    async fn stop_session(&self, cx: &Call, request: StopSession) -> Result<StopOutcome> {
        let mut answer = self.right.stop_session(cx, request).await;
        (self.hooks.stop_out)(&mut answer);
        answer
    }

    async fn execute_command(&self, cx: &Call, request: ExecuteCommand) -> Result<CommandResult> {
        let mut answer = self.right.execute_command(cx, request).await;
        (self.hooks.execute_out)(&mut answer);
        answer
    }

    async fn list_sessions(&self, cx: &Call, request: ListSessions) -> Result<SessionPage> {
        let mut answer = self.right.list_sessions(cx, request).await;
        (self.hooks.list_out)(&mut answer);
        answer
    }
}

/// A service with one verb that is wrong; every other goes through.
#[async_trait]
pub trait Faulty: Send + Sync {
    /// The right service.
    fn right(&self) -> &dyn Service;

    /// See [`Service::list_targets`].
    ///
    /// # Errors
    /// As there.
    async fn list_targets(&self, cx: &Call, request: ListTargets) -> Result<Vec<Target>> {
        self.right().list_targets(cx, request).await
    }

    /// See [`Service::execute_command`].
    ///
    /// # Errors
    /// As there.
    async fn execute_command(&self, cx: &Call, request: ExecuteCommand) -> Result<CommandResult> {
        self.right().execute_command(cx, request).await
    }

    /// See [`Service::start_session`].
    ///
    /// # Errors
    /// As there.
    async fn start_session(&self, cx: &Call, request: StartSession) -> Result<Started> {
        self.right().start_session(cx, request).await
    }

    /// See [`Service::read_session`].
    ///
    /// # Errors
    /// As there.
    async fn read_session(&self, cx: &Call, request: ReadSession) -> Result<Read> {
        self.right().read_session(cx, request).await
    }

    /// See [`Service::write_session`].
    ///
    /// # Errors
    /// As there.
    async fn write_session(&self, cx: &Call, request: WriteSession) -> Result<WriteOutcome> {
        self.right().write_session(cx, request).await
    }

    /// See [`Service::control_session`].
    ///
    /// # Errors
    /// As there.
    async fn control_session(&self, cx: &Call, request: ControlSession) -> Result<ControlOutcome> {
        self.right().control_session(cx, request).await
    }

    /// See [`Service::stop_session`].
    ///
    /// # Errors
    /// As there.
    async fn stop_session(&self, cx: &Call, request: StopSession) -> Result<StopOutcome> {
        self.right().stop_session(cx, request).await
    }

    /// See [`Service::list_sessions`].
    ///
    /// # Errors
    /// As there.
    async fn list_sessions(&self, cx: &Call, request: ListSessions) -> Result<SessionPage> {
        self.right().list_sessions(cx, request).await
    }
}

/// Makes a [`Service`] of a faulty one.
pub struct Broken<F>(pub F);

#[async_trait]
impl<F: Faulty> Service for Broken<F> {
    async fn list_targets(&self, cx: &Call, request: ListTargets) -> Result<Vec<Target>> {
        self.0.list_targets(cx, request).await
    }

    async fn execute_command(&self, cx: &Call, request: ExecuteCommand) -> Result<CommandResult> {
        self.0.execute_command(cx, request).await
    }

    async fn start_session(&self, cx: &Call, request: StartSession) -> Result<Started> {
        self.0.start_session(cx, request).await
    }

    async fn read_session(&self, cx: &Call, request: ReadSession) -> Result<Read> {
        self.0.read_session(cx, request).await
    }

    async fn write_session(&self, cx: &Call, request: WriteSession) -> Result<WriteOutcome> {
        self.0.write_session(cx, request).await
    }

    async fn control_session(&self, cx: &Call, request: ControlSession) -> Result<ControlOutcome> {
        self.0.control_session(cx, request).await
    }

    async fn stop_session(&self, cx: &Call, request: StopSession) -> Result<StopOutcome> {
        self.0.stop_session(cx, request).await
    }

    async fn list_sessions(&self, cx: &Call, request: ListSessions) -> Result<SessionPage> {
        self.0.list_sessions(cx, request).await
    }
}

/// How a mutant came out.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The requirement.
    pub id: &'static str,
    /// What the mutant does wrong.
    pub title: &'static str,
    /// How its scenarios caught it; `None` when it survived.
    pub caught: Option<String>,
}

/// The requirements in force for which there is no mutant.
pub fn unbroken() -> Vec<&'static str> {
    let broken = |id: &str| mutants::all().any(|mutant| mutant.id == id);
    requirement::IN_FORCE.iter().map(|requirement| requirement.id).filter(|id| !broken(id)).collect()
}

/// Runs the scenarios of a mutant's requirement against it.
pub async fn hunt(mutant: &Mutant, server: PathBuf) -> Verdict {
    let house = House::faulty(mutant.backend, mutant.fault, server);
    let caught = match prove(mutant.id, &house).await {
        Outcome::Fail(why) => Some(why),
        Outcome::Pass | Outcome::NotApplicable(_) => None,
    };
    Verdict { id: mutant.id, title: mutant.title, caught }
}
