//! A scripted backend in memory: sessions and commands without a shell, an operating system or real time.
//!
//! It understands a handful of what a shell understands, so that one test text can run here and on a real target:
//! `echo`, `printf`, `sleep`, `exit`, `true`, `false`, `cat`, `read`, `seq`, `head -c N /dev/zero`, `stty size`,
//! `trap '' NAME`, `kill -NAME $$`, `NAME &` (leaves a descendant), `>&2`, `;`, newlines and quotes. Words that begin
//! with a colon do what no shell can: `:fail WHY` and `:hang` at the start, `:lose N`, `:lost WHY`, `:drop`, and
//! `:unkillable`. Its time is tokio's, so it can be paused.

mod process;
mod script;
mod terminal;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;

use crate::backend::{Availability, Backend, Command, Machine, Session, TargetInfo, TargetStatus};
use crate::call::Call;
use crate::capability::{Capabilities, Capability};
use crate::error::{Error, Result};
use crate::id::TargetName;
use crate::output::OutputSink;
use crate::spec::{CommandSpec, Invocation, SessionSpec};
use crate::task::Tasks;
use process::{FakeProcess, Surroundings};
use script::{Script, Statement};

/// The first process id that is given out.
const FIRST_PID: u32 = 1000;

/// The scripted backend.
pub struct Fake {
    tasks: Tasks,
    next_pid: AtomicU32,
    capabilities: Capabilities,
    availability: Availability,
}

impl Fake {
    /// A backend that can do everything but attach.
    pub fn new() -> Arc<Self> {
        use Capability::{Commands, Eof, Resize, Sessions, Signals, Write};
        Self::with(Capabilities::of(&[Sessions, Commands, Write, Eof, Resize, Signals]), Availability::Online)
    }

    /// A backend that can do just this, and says so of itself.
    pub fn with(capabilities: Capabilities, availability: Availability) -> Arc<Self> {
        Arc::new(Self { tasks: Tasks::new(), next_pid: AtomicU32::new(FIRST_PID), capabilities, availability })
    }

    /// How a target behind this backend is listed.
    pub fn info(name: TargetName) -> TargetInfo {
        TargetInfo { client_id: name.to_string(), name, backend: "fake" }
    }

    /// How many processes run.
    pub fn running(&self) -> usize {
        self.tasks.len()
    }

    /// Parses the script and carries out what it says of its own start.
    async fn prepare(&self, invocation: &Invocation) -> Result<Script> {
        let script = Script::parse(&invocation.command)?;
        match script.first() {
            Some(Statement::Fail(why)) => Err(Error::unavailable(why.clone())),
            Some(Statement::Hang) => std::future::pending().await,
            _ => Ok(script),
        }
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

    async fn start_session(&self, _cx: &Call, spec: SessionSpec, out: OutputSink) -> Result<Box<dyn Session>> {
        let script = self.prepare(&spec.invocation).await?;
        Ok(Box::new(self.start(script, Surroundings::terminal(spec.size), out)))
    }

    async fn run_command(&self, _cx: &Call, spec: CommandSpec, out: OutputSink) -> Result<Box<dyn Command>> {
        let script = self.prepare(&spec.invocation).await?;
        Ok(Box::new(self.start(script, Surroundings::pipes(&spec.stdin), out)))
    }

    async fn shutdown(&self, grace: Duration) {
        self.tasks.shutdown(grace).await;
    }
}
