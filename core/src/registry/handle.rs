//! The record of a command under a handle: what the registry keeps of it until it expires or its connection's time is
//! over.

use std::sync::Arc;

use super::run::Run;
use super::shelf::Kept;
use crate::backend::Backend;
use crate::capability::Capabilities;
use crate::id::Handle;
use crate::output::{Cause, Stream};
use crate::owner::Owner;
use crate::service::{CommandInfo, CommandStatus};

/// A command that its owner can come back to.
pub(super) struct CommandRecord {
    pub(super) handle: Handle,
    pub(super) run: Arc<Run>,
    pub(super) command: Arc<str>,
    cwd: Option<Arc<str>>,
    /// What reaches its host: it knows whether the connection's period has passed.
    backend: Arc<dyn Backend>,
    pub(super) period: Option<u64>,
}

impl Kept for CommandRecord {
    fn run(&self) -> &Arc<Run> {
        &self.run
    }

    fn command(&self) -> &str {
        &self.command
    }
}

impl CommandRecord {
    pub(super) fn new(
        handle: Handle,
        backend: Arc<dyn Backend>,
        run: Arc<Run>,
        command: String,
        cwd: Option<String>,
    ) -> Arc<Self> {
        let period = run.process().facts().period;
        Arc::new(Self { handle, run, command: command.into(), cwd: cwd.map(Arc::from), backend, period })
    }

    pub(super) fn capabilities(&self) -> Capabilities {
        self.backend.capabilities()
    }

    /// Whether its host has been connected anew since it was started: handles do not survive that (CO32).
    pub(super) fn is_outdated(&self, owner: &Owner) -> bool {
        self.latest_period(owner).is_some_and(|latest| !self.is_of(latest))
    }

    /// The latest period of its host for the owner.
    pub(super) fn latest_period(&self, owner: &Owner) -> Option<u64> {
        self.backend.connections().and_then(|connections| connections.period(owner))
    }

    /// Whether it was started in this period of its host. A backend that counts no periods has one for ever.
    pub(super) fn is_of(&self, period: u64) -> bool {
        self.period.is_none_or(|own| own == period)
    }

    /// Where it stands.
    pub(super) fn info(&self) -> CommandInfo {
        let log = &self.run.log;
        // The end first: what has ended gets no more output.
        let end = log.end();
        let status = match &end {
            None => CommandStatus::Running,
            Some(end) if end.lost() => CommandStatus::Lost,
            Some(end) if end.cause == Cause::Own => CommandStatus::Completed,
            Some(_) => CommandStatus::Killed,
        };
        CommandInfo {
            handle: self.handle,
            target: self.run.target.name.clone(),
            command: self.command.clone(),
            cwd: self.cwd.clone(),
            status,
            end,
            pid: self.run.process().facts().pid,
            started_at: self.run.started_at,
            ended_at: self.run.ended_at(),
            stdout: log.line_facts(Stream::Stdout),
            stderr: log.line_facts(Stream::Stderr),
        }
    }
}
