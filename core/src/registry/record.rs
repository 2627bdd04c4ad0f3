//! A session's record: what the registry keeps of it until it expires.

use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use tokio::sync::{Mutex, MutexGuard};

use super::run::Run;
use crate::backend::{Process, Session, TargetInfo};
use crate::call::Call;
use crate::capability::Capabilities;
use crate::error::{Error, Result};
use crate::id::SessionId;
use crate::output::{Cursor, End, Stream};
use crate::service::SessionSummary;

/// A session of somebody's.
pub(super) struct Record {
    pub(super) id: SessionId,
    pub(super) target: TargetInfo,
    pub(super) capabilities: Capabilities,
    pub(super) run: Arc<Run>,
    label: Option<Arc<str>>,
    command: Arc<str>,
    started_at: SystemTime,
    ended_at: OnceLock<SystemTime>,
    /// Whoever writes holds this, so that writes keep their order. It guards no data: input is the only thing that
    /// must wait for its turn.
    turnstile: Mutex<()>,
}

/// What a record is made of.
pub(super) struct NewRecord {
    pub(super) id: SessionId,
    pub(super) target: TargetInfo,
    pub(super) capabilities: Capabilities,
    pub(super) run: Run,
    pub(super) label: Option<String>,
    pub(super) command: String,
}

impl Record {
    pub(super) fn new(new: NewRecord) -> Arc<Self> {
        Arc::new(Self {
            id: new.id,
            target: new.target,
            capabilities: new.capabilities,
            run: Arc::new(new.run),
            label: new.label.map(Arc::from),
            command: Arc::from(new.command),
            started_at: SystemTime::now(),
            ended_at: OnceLock::new(),
            turnstile: Mutex::new(()),
        })
    }

    pub(super) fn note_end(&self, at: SystemTime) {
        // The end comes once; a second note would change nothing.
        let _ = self.ended_at.set(at);
    }

    /// The living session, to act on.
    ///
    /// # Errors
    /// `failed_precondition` when it has ended; the message says how.
    pub(super) fn living(&self) -> Result<&dyn Session> {
        if let Some(end) = self.run.log.end() {
            return Err(ended(&end));
        }
        self.run.session().ok_or_else(|| Error::internal("a fault of ours: this is no session; please report it"))
    }

    /// Waits until no other write is under way.
    ///
    /// # Errors
    /// `timed_out` when the call's time is up first, `unavailable` when it is taken back.
    pub(super) async fn turn(&self, cx: &Call) -> Result<MutexGuard<'_, ()>> {
        tokio::select! {
            turn = self.turnstile.lock() => Ok(turn),
            () = tokio::time::sleep_until(cx.deadline) => {
                Err(Error::timed_out("another write to this session is still under way: nothing was written; try again"))
            }
            () = cx.cancel.cancelled() => Err(Error::unavailable("the call was taken back: nothing was written")),
        }
    }

    /// Behind the last byte of output.
    pub(super) fn end_of_output(&self) -> Cursor {
        self.run.log.bounds(Stream::Stdout).1
    }

    /// How the session is listed.
    pub(super) async fn summary(&self) -> SessionSummary {
        let log = &self.run.log;
        let (output_start, output_end) = log.bounds(Stream::Stdout);
        let end = log.end();
        let process: &dyn Process = self.run.process();
        SessionSummary {
            session: self.id,
            target: self.target.name.clone(),
            backend: self.target.backend,
            label: self.label.clone(),
            command: self.command.clone(),
            started_at: self.started_at,
            ended_at: self.ended_at.get().copied(),
            status: log.status(),
            descendants: if end.is_some() { process.descendants().await.len() } else { 0 },
            end,
            output_start,
            output_end,
            native_id: process.facts().native_id,
        }
    }
}

/// The refusal of input to a session that has ended.
fn ended(end: &End) -> Error {
    let how = end.error().unwrap_or_else(|| format!("exit code {}", end.exit_code()));
    Error::failed_precondition(format!(
        "the session has ended ({how}): its output can still be read; start another with session_start"
    ))
}
