//! A session: the handle to a process on a terminal of a host.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use sessiond_core::{
    Call, Discipline, Error, Facts, PendingLine, Process, Result, Session, Signal, SignalTarget, Stopped, WindowSize,
    Written,
};
use tokio::time::{Instant, timeout_at};

use crate::process::Running;
use crate::shell::modes;
use crate::shell::signal::Whom;
use crate::{ask, error, stop};

/// Why a write ended before its last byte.
const NOT_TAKEN: &str = "the program takes no input";
const TAKEN_BACK: &str = "the call was taken back";
const HAS_ENDED: &str = "it has ended";

/// A process on a terminal of a host.
pub(crate) struct SshSession {
    running: Arc<Running>,
    /// How much of an unfinished line has been written.
    pending: Mutex<PendingLine>,
}

impl SshSession {
    pub(crate) fn new(running: Arc<Running>) -> Self {
        Self { running, pending: Mutex::default() }
    }

    /// How the terminal treats its input just now.
    async fn discipline(&self, cx: &Call) -> Result<Option<Discipline>> {
        let script = modes::script(self.running.leader())?;
        let answer = ask::script(self.running.pool(), script, cx.deadline).await?;
        Ok(modes::read(&answer))
    }

    /// What is pending behind `input`. The terminal is asked only where it would cut a line if nobody had changed it:
    /// nearly never, and a question takes as long as a command.
    async fn pending_behind(&self, input: &[u8], cx: &Call) -> Result<PendingLine> {
        let before = *self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        match before.after(input, &Discipline::usual()) {
            Ok(behind) => Ok(behind),
            Err(too_long) => match self.discipline(cx).await? {
                Some(discipline) => before.after(input, &discipline),
                // What cannot be asked is taken for what it mostly is.
                None => Err(too_long),
            },
        }
    }
}

#[async_trait]
impl Process for SshSession {
    fn facts(&self) -> Facts {
        self.running.facts()
    }

    async fn signal(&self, cx: &Call, which: Signal, to: SignalTarget) -> Result<()> {
        let whom = match to {
            SignalTarget::Leader => Whom::Leader,
            SignalTarget::Foreground => Whom::Terminal,
        };
        self.running.signal(cx, which, whom).await
    }

    async fn stop(&self, grace: Duration) -> Result<Stopped> {
        stop::process(&self.running, grace).await
    }

    async fn descendants(&self) -> Vec<u32> {
        stop::descendants(&self.running).await
    }
}

#[async_trait]
impl Session for SshSession {
    async fn write(&self, cx: &Call, input: Bytes) -> Result<Written> {
        if self.running.has_ended() {
            return Err(error::ended());
        }
        // Refused as a whole or not at all.
        let behind = self.pending_behind(&input, cx).await?;
        let written = write(&self.running, cx, &input).await?;
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        *pending = if written.stalled.is_none() { behind } else { PendingLine::default() };
        Ok(written)
    }

    async fn eof(&self, cx: &Call) -> Result<()> {
        if self.running.has_ended() {
            return Err(error::ended());
        }
        let key = self.discipline(cx).await?.unwrap_or_else(Discipline::usual).end_of_file();
        let written = self.write(cx, Bytes::copy_from_slice(&[key])).await?;
        match written.stalled {
            None => Ok(()),
            Some(why) => Err(Error::unavailable(format!("the end of input was not taken: {why}"))),
        }
    }

    async fn resize(&self, cx: &Call, size: WindowSize) -> Result<()> {
        let open = self.running.open()?;
        let resized = async {
            open.writer.resize(size).await.map_err(|_| error::ended())?;
            // There is no answer to it; but what is asked behind it is answered behind it.
            open.link.round_trip().await
        };
        timeout_at(cx.deadline, resized).await.map_err(|_| error::timed_out(&self.running.pool().host.name))?
    }
}

/// Hands all of `input` to the host, as it makes room for it.
async fn write(running: &Running, cx: &Call, input: &Bytes) -> Result<Written> {
    let writer = running.open()?.writer;
    let stall = running.pool().host.write_stall;
    let mut rest = input.clone();
    let outcome = |rest: &Bytes, stalled: Option<&str>| Written {
        bytes: (input.len() - rest.len()) as u64,
        stalled: stalled.map(str::to_owned),
    };
    while !rest.is_empty() {
        let patience = (Instant::now() + stall).min(cx.deadline);
        let why = tokio::select! {
            biased;
            () = cx.cancel.cancelled() => TAKEN_BACK,
            written = writer.some(&rest) => match written {
                Ok(count) => {
                    let _ = rest.split_to(count.min(rest.len()));
                    continue;
                }
                Err(_) => HAS_ENDED,
            },
            () = running.end() => HAS_ENDED,
            () = tokio::time::sleep_until(patience) => NOT_TAKEN,
        };
        if why == HAS_ENDED && rest.len() == input.len() {
            return Err(error::ended());
        }
        return Ok(outcome(&rest, Some(why)));
    }
    Ok(outcome(&rest, None))
}
