//! Writing to a session, steering it, and stopping it.

use std::time::Duration;

use bytes::Bytes;
use tokio::time::{Instant, sleep_until};

use super::Registry;
use super::record::Record;
use super::run::{StopLevel, outcome};
use crate::backend::{SignalTarget, Stopped};
use crate::call::{Call, after};
use crate::capability::Capability;
use crate::error::{Error, ErrorKind, Result};
use crate::keys::Key;
use crate::output::{Cause, Cursor, End, Reason};
use crate::service::{Action, ControlOutcome, MAX_WAIT, StopOutcome, StopStatus, Wait, WriteOutcome};
use crate::spec::{Signal, WindowSize};

/// What came of an action: where the output stood just before it, and what there is to say.
struct Acted {
    before: Cursor,
    accepted: bool,
    detail: Option<String>,
}

impl Registry {
    /// Hands input to a session, in the order of the calls.
    pub(super) async fn write(&self, cx: &Call, record: &Record, input: Bytes, wait: &Wait) -> Result<WriteOutcome> {
        wait.check()?;
        record.capabilities.require(Capability::Write)?;
        let turn = record.turn(cx).await?;
        let before = record.end_of_output();
        let written = record.living()?.write(cx, input).await?;
        record.run.log.took(written.bytes);
        drop(turn);
        let read = self.read_if_asked(cx, record, before, wait).await;
        Ok(WriteOutcome { bytes: written.bytes, stalled: written.stalled, read })
    }

    /// Steers a session. One that has ended accepts nothing, which is no error.
    pub(super) async fn control(
        &self,
        cx: &Call,
        record: &Record,
        action: Action,
        wait: &Wait,
    ) -> Result<ControlOutcome> {
        wait.check()?;
        let before = record.end_of_output();
        let acted = match self.act(cx, record, action).await {
            Err(error) if error.kind() == ErrorKind::FailedPrecondition => {
                Acted { before, accepted: false, detail: Some(error.message().to_owned()) }
            }
            acted => acted?,
        };
        let read = self.read_if_asked(cx, record, acted.before, wait).await;
        Ok(ControlOutcome { accepted: acted.accepted, detail: acted.detail, read })
    }

    async fn act(&self, cx: &Call, record: &Record, action: Action) -> Result<Acted> {
        match action {
            Action::Interrupt => self.signal(cx, record, Signal::Int).await,
            Action::Signal(signal) => self.signal(cx, record, signal).await,
            Action::Eof => {
                record.capabilities.require(Capability::Eof)?;
                let _turn = record.turn(cx).await?;
                let before = record.end_of_output();
                record.living()?.eof(cx).await?;
                Ok(Acted { before, accepted: true, detail: None })
            }
            Action::Stop => {
                let before = record.end_of_output();
                record.living()?;
                record.run.begin_stop(Reason::Stop, self.limits.stop_grace, &self.tasks);
                Ok(Acted {
                    before,
                    accepted: true,
                    detail: Some("stopping; session_stop tells the outcome".to_owned()),
                })
            }
            Action::Resize(size) => self.resize(cx, record, size).await,
            Action::Keys(keys) => self.press(cx, record, &keys).await,
        }
    }

    async fn signal(&self, cx: &Call, record: &Record, signal: Signal) -> Result<Acted> {
        record.capabilities.require(Capability::Signals)?;
        let before = record.end_of_output();
        record.living()?.signal(cx, signal, SignalTarget::Foreground).await?;
        Ok(Acted { before, accepted: true, detail: None })
    }

    async fn resize(&self, cx: &Call, record: &Record, size: WindowSize) -> Result<Acted> {
        record.capabilities.require(Capability::Resize)?;
        let before = record.end_of_output();
        record.living()?.resize(cx, size).await?;
        record.run.log.resized(size);
        Ok(Acted { before, accepted: true, detail: None })
    }

    async fn press(&self, cx: &Call, record: &Record, keys: &[Key]) -> Result<Acted> {
        record.capabilities.require(Capability::Write)?;
        if keys.is_empty() {
            return Err(Error::invalid_argument("keys is empty: name at least one key, such as enter or ctrl-c"));
        }
        let _turn = record.turn(cx).await?;
        let before = record.end_of_output();
        let application = record.run.log.application_keys();
        let bytes: Vec<u8> = keys.iter().flat_map(|key| key.bytes(application)).collect();
        let written = record.living()?.write(cx, bytes.into()).await?;
        record.run.log.took(written.bytes);
        Ok(Acted { before, accepted: written.stalled.is_none(), detail: written.stalled })
    }

    /// Stops a session, or what it has left behind, and waits for the outcome.
    pub(super) async fn stop(&self, cx: &Call, record: &Record, wait: Duration) -> Result<StopOutcome> {
        if wait > MAX_WAIT {
            return Err(Error::invalid_argument(format!("wait_ms must be 0 to {}", MAX_WAIT.as_millis())));
        }
        let already_done = record.run.log.end().is_some();
        let deadline = after(Instant::now(), wait).min(cx.deadline);
        let mut stop = record.run.begin_stop(Reason::Stop, self.limits.stop_grace, &self.tasks);
        tokio::select! {
            () = settled(record, &mut stop) => {}
            () = sleep_until(deadline) => {}
            () = cx.cancel.cancelled() => {}
        }
        let end = record.run.log.end();
        let survivors = match record.run.stop_outcome() {
            Some(Ok(Stopped::Unconfirmed { pids })) => pids,
            Some(Err(error)) => return Err(error),
            _ => Vec::new(),
        };
        let status = status(end.as_ref(), !survivors.is_empty());
        Ok(StopOutcome { accepted: !already_done, already_done, status, end, survivors })
    }
}

/// Waits until a stop has its outcome and, when that is confirmed, the end is there.
async fn settled(record: &Record, stop: &mut StopLevel) {
    if let Some(Ok(Stopped::Confirmed)) = outcome(stop).await {
        record.run.log.ended().await;
    }
}

/// Where the stop of a session stands; one that has given up is still stopping, whether or not its leader is gone.
fn status(end: Option<&End>, gave_up: bool) -> StopStatus {
    match end.map(|end| &end.cause) {
        None => StopStatus::Stopping,
        Some(Cause::Stop { confirmed: true }) => StopStatus::Stopped,
        Some(Cause::Stop { confirmed: false }) if gave_up => StopStatus::Stopping,
        Some(_) => StopStatus::Finished,
    }
}
