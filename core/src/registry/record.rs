//! A session's record: what the registry keeps of it until it expires.

use std::sync::Arc;

use tokio::sync::{Mutex, MutexGuard};
use tokio::time::{Instant, timeout_at};

use super::run::Run;
use super::shelf::Kept;
use crate::backend::Session;
use crate::call::Call;
use crate::capability::Capabilities;
use crate::error::{Error, Result};
use crate::id::SessionId;
use crate::output::{Cursor, End, Stream};
use crate::service::SessionSummary;

/// A session of somebody's.
pub(super) struct Record {
    pub(super) id: SessionId,
    pub(super) capabilities: Capabilities,
    pub(super) run: Arc<Run>,
    label: Option<Arc<str>>,
    command: Arc<str>,
    /// Whoever writes holds this, so that writes keep their order. It guards no data: input is the only thing that
    /// must wait for its turn.
    turnstile: Mutex<()>,
}

/// What a record is made of.
pub(super) struct NewRecord {
    pub(super) id: SessionId,
    pub(super) capabilities: Capabilities,
    pub(super) run: Arc<Run>,
    pub(super) label: Option<String>,
    pub(super) command: String,
}

impl Kept for Record {
    fn run(&self) -> &Arc<Run> {
        &self.run
    }

    fn command(&self) -> &str {
        &self.command
    }
}

impl Record {
    pub(super) fn new(new: NewRecord) -> Arc<Self> {
        Arc::new(Self {
            id: new.id,
            capabilities: new.capabilities,
            run: new.run,
            label: new.label.map(Arc::from),
            command: Arc::from(new.command),
            turnstile: Mutex::new(()),
        })
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

    /// How the session is listed. Its target is asked until then at the longest.
    pub(super) async fn summary(&self, cx: &Call, until: Instant) -> SessionSummary {
        let (run, log) = (&self.run, &self.run.log);
        let (output_start, output_end) = log.bounds(Stream::Stdout);
        let end = log.end();
        let input_state = match (&end, run.session()) {
            (None, Some(session)) => timeout_at(until, session.input_state(cx)).await.ok().flatten(),
            _ => None,
        };
        SessionSummary {
            session: self.id,
            target: run.target.name.clone(),
            backend: run.target.backend,
            label: self.label.clone(),
            command: self.command.clone(),
            started_at: run.started_at,
            ended_at: run.ended_at(),
            status: log.status(),
            descendants: if end.is_some() { run.descendants().await.len() } else { 0 },
            end,
            output_start,
            output_end,
            native_id: run.process().facts().native_id,
            input_state,
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
