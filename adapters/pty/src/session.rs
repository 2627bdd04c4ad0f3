//! A session: the handle to a process on a terminal.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use rustix::io::Errno;
use rustix::process::{Pid, kill_process_group};
use rustix::termios::tcgetpgrp;
use sessiond_core::{
    Call, Error, Facts, PendingLine, Process, Result, Session, Signal, SignalTarget, Stopped, WindowSize, Written,
};

use crate::backend::Kit;
use crate::line;
use crate::running::Running;
use crate::{error, signal, stop, sys, terminal, write};

/// A process on a terminal of this machine.
pub(crate) struct PtySession {
    kit: Arc<Kit>,
    running: Arc<Running>,
    /// How much of an unfinished line has been written.
    pending: Mutex<PendingLine>,
}

impl PtySession {
    pub(crate) fn new(kit: Arc<Kit>, running: Arc<Running>) -> Self {
        Self { kit, running, pending: Mutex::default() }
    }

    /// The job in the foreground of the terminal, if it is one of this session.
    fn foreground(&self) -> Result<Pid> {
        let terminal = self.running.terminal()?;
        let nobody = || Error::failed_precondition("no job is in the foreground of the terminal: signal the leader");
        let group = tcgetpgrp(terminal.get_ref()).map_err(|_| nobody())?;
        match sys::session_of(Some(group)) {
            Ok(session) if session == self.running.group.leader.as_raw_pid() => Ok(group),
            // A group can outlive its first member, whose id then names nobody else.
            Err(error) if error.raw_os_error() == Some(Errno::SRCH.raw_os_error()) => Ok(group),
            _ => Err(nobody()),
        }
    }
}

#[async_trait]
impl Process for PtySession {
    fn facts(&self) -> Facts {
        Facts { pid: Some(self.running.group.leader.as_raw_pid().unsigned_abs()), native_id: None, period: None }
    }

    async fn signal(&self, _cx: &Call, which: Signal, to: SignalTarget) -> Result<()> {
        if self.running.has_ended() {
            return Err(error::ended());
        }
        match to {
            SignalTarget::Leader => self.running.signal_leader(which),
            SignalTarget::Foreground => kill_process_group(self.foreground()?, signal::number(which))
                .map_err(|errno| signal::refused(which, errno)),
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
impl Session for PtySession {
    async fn write(&self, cx: &Call, input: Bytes) -> Result<Written> {
        if self.running.has_ended() {
            return Err(error::ended());
        }
        let terminal = self.running.terminal()?;
        write::all(&terminal, &self.pending, &input, self.kit.config.write_stall, cx).await
    }

    async fn eof(&self, cx: &Call) -> Result<()> {
        let key = line::discipline(self.running.terminal()?.get_ref())?.end_of_file();
        let written = self.write(cx, Bytes::copy_from_slice(&[key])).await?;
        match written.stalled {
            None => Ok(()),
            Some(why) => Err(Error::unavailable(format!("the end of input was not taken: {why}"))),
        }
    }

    async fn resize(&self, _cx: &Call, size: WindowSize) -> Result<()> {
        if self.running.has_ended() {
            return Err(error::ended());
        }
        terminal::resize(self.running.terminal()?.get_ref(), size).map_err(|error| error::refused("resizing", &error))
    }
}
