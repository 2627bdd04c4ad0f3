//! A one-shot command, from its start to its end, which comes even when nobody waits for it any more.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::Registry;
use super::run::Run;
use crate::backend::Stopped;
use crate::call::{Call, after};
use crate::error::Result;
use crate::output::{Cursor, End, Exit, Reason, Stream};
use crate::service::{CommandResult, ExecuteCommand};
use crate::task::Tasks;
use crate::wait::{Patience, Settled};

/// How much longer than the stop's grace a caller whose time is up waits for the outcome. The stop goes on without it.
const LAST_WORD: Duration = Duration::from_secs(1);

impl Registry {
    /// Runs a command and returns how it went. A call that is taken back, or dropped, stops it.
    pub(super) async fn execute(&self, cx: &Call, request: ExecuteCommand) -> Result<CommandResult> {
        let run = self.launch_passing(cx, request).await?;
        let guard = StopOnDrop { run: &run, grace: self.limits.stop_grace, tasks: &self.tasks };
        let settled = tokio::select! {
            settled = run.log.settled(Patience::until(cx.deadline), report(cx)) => settled,
            () = cx.cancel.cancelled() => Settled::Late,
        };
        let settled = match settled {
            Settled::Late => guard.stop().await,
            settled => settled,
        };
        let end = match settled {
            Settled::Ended(end) => end,
            Settled::GaveUp(reason) => gave_up(&run, reason),
            Settled::Silent | Settled::Late => gave_up(&run, Reason::Stop),
        };
        let stdout = run.log.read(Stream::Stdout, Cursor::START, usize::MAX, None)?.bytes;
        let stderr = run.log.read(Stream::Stderr, Cursor::START, usize::MAX, None)?.bytes;
        let truncated = run.log.discarded(Stream::Stdout) + run.log.discarded(Stream::Stderr) > 0;
        let descendants = tokio::select! {
            descendants = run.descendants() => descendants,
            // Who does not wait any more does not wait for this either.
            () = cx.cancel.cancelled() => Vec::new(),
            () = sleep_until(cx.deadline) => Vec::new(),
        };
        Ok(CommandResult { stdout, stderr, truncated, end, descendants })
    }
}

/// Tells whoever wants to know how much output there is.
pub(super) fn report(cx: &Call) -> impl Fn(u64) {
    |bytes| {
        if let Some(progress) = &cx.progress {
            progress.report(bytes);
        }
    }
}

/// Stops a command whose caller has gone before it had ended.
struct StopOnDrop<'a> {
    run: &'a Arc<Run>,
    grace: Duration,
    tasks: &'a Tasks,
}

impl StopOnDrop<'_> {
    /// Stops it, and waits for the outcome as long as a sound target needs for one.
    async fn stop(&self) -> Settled {
        self.run.begin_stop(Reason::Stop, self.grace, self.tasks);
        let until = after(Instant::now(), self.grace.saturating_add(LAST_WORD));
        self.run.log.settled(Patience::until(until), |_| ()).await
    }
}

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        if self.run.log.end().is_none() {
            self.run.begin_stop(Reason::Stop, self.grace, self.tasks);
        }
    }
}

/// The end of a command that could not be stopped.
pub(super) fn gave_up(run: &Run, reason: Reason) -> End {
    let why = match run.stop_outcome() {
        Some(Ok(Stopped::Unconfirmed { pids })) => format!("still running or not told apart are {pids:?}"),
        Some(Err(error)) => error.message().to_owned(),
        _ => "the target did not say".to_owned(),
    };
    End { exit: Exit::Failed(format!("it could not be stopped: {why}")), cause: reason.cause(false) }
}
