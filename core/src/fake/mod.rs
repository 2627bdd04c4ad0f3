//! A scripted backend in memory: sessions and commands without a shell, an operating system or real time.
//!
//! It understands a handful of what a shell understands, so that one test text can run here and on a real target:
//! `echo`, `echo $NAME`, `echo $$`, `pwd`, `printf`, `sleep`, `exit`, `true`, `false`, `cat`, `read`, `seq`, `head -c N /dev/zero`, `stty size`,
//! `trap '' NAME`, `kill -NAME $$`, `NAME &` (leaves a descendant), `>&2`, `;`, newlines and quotes. Words that begin
//! with a colon do what no shell can: `:fail WHY` and `:hang` at the start, `:lose N`, `:lost WHY`, `:drop`,
//! `:disconnect` (breaks its owner's connection) and `:unkillable`. A directory whose name begins with `/missing` does
//! not exist. Its time is tokio's, so it can be paused.
//!
//! It is a host: every owner has a connection to it, which is made by whatever needs one and which
//! [`Fake::cut`] breaks.
//!
//! [`FakePlatform`] is the other backend: an agent platform whose records, runs and failures the test sets.

mod links;
mod platform;
mod process;
mod script;
mod terminal;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;

use crate::backend::{
    Availability, Backend, Command, ConnectionFacts, ConnectionStatus, Connections, HostInfo, Machine, Session,
    TargetInfo, TargetStatus,
};
use crate::call::Call;
use crate::capability::{Capabilities, Capability};
use crate::error::{Error, Reason, Result, shown};
use crate::id::TargetName;
use crate::output::OutputSink;
use crate::owner::Owner;
use crate::spec::{CommandSpec, Invocation, SessionSpec};
use crate::task::Tasks;
use links::{Link, Links, Loss};
use process::{FakeProcess, Surroundings};
use script::{Script, Statement};

pub use platform::FakePlatform;

/// The first process id that is given out.
const FIRST_PID: u32 = 1000;

/// How a directory's name begins that does not exist.
const MISSING: &str = "/missing";

/// The scripted backend.
pub struct Fake {
    tasks: Tasks,
    next_pid: AtomicU32,
    capabilities: Capabilities,
    availability: Availability,
    links: Links,
}

impl Fake {
    /// A backend that can do everything but attach.
    pub fn new() -> Arc<Self> {
        use Capability::{Commands, Connections, Eof, Resize, Sessions, Signals, Write};
        let capabilities = [Sessions, Commands, Write, Eof, Resize, Signals, Connections];
        Self::with(Capabilities::of(&capabilities), Availability::Online)
    }

    /// A backend that can do just this, and says so of itself.
    pub fn with(capabilities: Capabilities, availability: Availability) -> Arc<Self> {
        let (tasks, next_pid, links) = (Tasks::new(), AtomicU32::new(FIRST_PID), Links::default());
        Arc::new(Self { tasks, next_pid, capabilities, availability, links })
    }

    /// How a target behind this backend is listed when it is a host.
    pub fn info(name: TargetName) -> TargetInfo {
        let host = HostInfo { description: None, source: "configuration".to_owned() };
        TargetInfo { host: Some(host), ..TargetInfo::new(name, "fake") }
    }

    /// Breaks an owner's connection: what runs on it is lost. Returns whether there was one.
    pub fn cut(&self, owner: &Owner) -> bool {
        self.links.end(owner, Loss::Cut)
    }

    /// How many processes run.
    pub fn running(&self) -> usize {
        self.tasks.len()
    }

    /// Parses the script and carries out what it says of its own start.
    async fn prepare(&self, invocation: &Invocation) -> Result<Script> {
        let script = Script::parse(&invocation.command)?;
        match (script.first(), &invocation.cwd) {
            (Some(Statement::Fail(why)), _) => Err(Error::unavailable(why.clone())),
            (Some(Statement::Hang), _) => std::future::pending().await,
            (_, Some(cwd)) if cwd.starts_with(MISSING) => {
                let missing = format!("there is no directory {}: create it, or name another in cwd", shown(cwd));
                Err(Error::failed_precondition(missing).because(Reason::NoSuchDirectory))
            }
            _ => Ok(script),
        }
    }

    /// The owner's connection, where this is a host.
    fn link(&self, owner: &Owner) -> Option<Link> {
        self.capabilities.has(Capability::Connections).then(|| self.links.open(owner))
    }

    fn start(&self, script: Script, surroundings: Surroundings, out: OutputSink) -> FakeProcess {
        let pid = self.next_pid.fetch_add(1, Ordering::Relaxed);
        FakeProcess::start(pid, script, surroundings, out, &self.tasks)
    }
}

#[async_trait]
impl Backend for Fake {
    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    async fn status(&self, _cx: &Call) -> TargetStatus {
        let machine = Machine { os: Some("fake".to_owned()), ..Machine::default() };
        TargetStatus { availability: self.availability, detail: None, machine: Some(machine) }
    }

    async fn start_session(&self, cx: &Call, spec: SessionSpec, out: OutputSink) -> Result<Box<dyn Session>> {
        let script = self.prepare(&spec.invocation).await?;
        let around = Surroundings::terminal(spec.size, spec.invocation, self.link(&cx.owner));
        Ok(Box::new(self.start(script, around, out)))
    }

    async fn run_command(&self, cx: &Call, spec: CommandSpec, out: OutputSink) -> Result<Box<dyn Command>> {
        let script = self.prepare(&spec.invocation).await?;
        let around = Surroundings::pipes(&spec.stdin, spec.invocation, self.link(&cx.owner));
        Ok(Box::new(self.start(script, around, out)))
    }

    fn connections(&self) -> Option<&dyn Connections> {
        self.capabilities.has(Capability::Connections).then_some(self)
    }

    async fn shutdown(&self, grace: Duration) {
        self.tasks.shutdown(grace).await;
    }
}

#[async_trait]
impl Connections for Fake {
    async fn connect(&self, cx: &Call) -> Result<ConnectionFacts> {
        if self.availability == Availability::Offline {
            let why = "the host cannot be reached: try again later";
            self.links.note_failure(&cx.owner, why);
            return Err(Error::unavailable(why));
        }
        self.links.open(&cx.owner);
        Ok(links::facts())
    }

    fn status(&self, owner: &Owner) -> Option<ConnectionStatus> {
        self.links.status(owner)
    }

    fn period(&self, owner: &Owner) -> Option<u64> {
        self.links.period(owner)
    }

    async fn disconnect(&self, cx: &Call) -> bool {
        self.links.end(&cx.owner, Loss::Closed)
    }
}
