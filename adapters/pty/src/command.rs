//! A command: the handle to a process on pipes.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rustix::process::kill_process_group;
use sessiond_core::{Call, Command, Facts, Process, Result, Signal, SignalTarget, Stopped};

use crate::backend::Kit;
use crate::running::Running;
use crate::{children, error, signal, stop};

/// A one-shot command on this machine.
pub(crate) struct PtyCommand {
    kit: Arc<Kit>,
    running: Arc<Running>,
}

impl PtyCommand {
    pub(crate) fn new(kit: Arc<Kit>, running: Arc<Running>) -> Self {
        Self { kit, running }
    }

    /// To the group that the command began with. It is locked against reaping: its number is nobody else's.
    fn signal_group(&self, which: Signal) -> Result<()> {
        let children = children::lock();
        let leader = self.running.group.leader;
        if !children.lives(leader) {
            return Err(error::ended());
        }
        kill_process_group(leader, signal::number(which)).map_err(|errno| signal::refused(which, errno))
    }
}

#[async_trait]
impl Process for PtyCommand {
    fn facts(&self) -> Facts {
        Facts { pid: Some(self.running.group.leader.as_raw_pid().unsigned_abs()), native_id: None, period: None }
    }

    async fn signal(&self, _cx: &Call, which: Signal, to: SignalTarget) -> Result<()> {
        match to {
            SignalTarget::Leader => self.running.signal_leader(which),
            SignalTarget::Foreground => self.signal_group(which),
        }
    }

    async fn stop(&self, grace: Duration) -> Result<Stopped> {
        Ok(stop::process(&self.kit, &self.running, grace).await)
    }

    async fn descendants(&self) -> Vec<u32> {
        stop::descendants(&self.kit, &self.running).await
    }
}

#[async_trait]
impl Command for PtyCommand {}
