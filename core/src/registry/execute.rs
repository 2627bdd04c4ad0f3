//! A one-shot command, from its start to its end, which comes even when nobody waits for it any more.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep_until;

use super::Registry;
use super::run::Run;
use crate::backend::Stopped;
use crate::call::Call;
use crate::error::Result;
use crate::output::{Cursor, End, Exit, Reason, Stream};
use crate::service::{CommandResult, ExecuteCommand};
use crate::task::Tasks;

impl Registry {
    /// Runs a command and returns how it went. A call that is taken back, or dropped, stops it.
    pub(super) async fn execute(&self, cx: &Call, request: ExecuteCommand) -> Result<CommandResult> {
        let run = self.launch_command(cx, request).await?;
        let guard = StopOnDrop { run: &run, grace: self.limits.stop_grace, tasks: &self.tasks };
        let settled = tokio::select! {
            settled = run.log.settled(report(cx)) => settled,
            () = cx.cancel.cancelled() => guard.stop().await,
            () = sleep_until(cx.deadline) => guard.stop().await,
        };
        let end = settled.unwrap_or_else(|reason| gave_up(&run, reason));
        let stdout = run.log.read(Stream::Stdout, Cursor::START, usize::MAX, None)?.bytes;
        let stderr = run.log.read(Stream::Stderr, Cursor::START, usize::MAX, None)?.bytes;
        let truncated = run.log.discarded(Stream::Stdout) + run.log.discarded(Stream::Stderr) > 0;
        let descendants = tokio::select! {
            descendants = run.process().descendants() => descendants,
            // Who does not wait any more does not wait for this either.
            () = cx.cancel.cancelled() => Vec::new(),
        };
        Ok(CommandResult { stdout, stderr, truncated, end, descendants })
    }
}

/// Tells whoever wants to know how much output there is.
fn report(cx: &Call) -> impl Fn(u64) {
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
    async fn stop(&self) -> Result<End, Reason> {
        self.run.begin_stop(Reason::Stop, self.grace, self.tasks);
        self.run.log.settled(|_| ()).await
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
fn gave_up(run: &Run, reason: Reason) -> End {
    let why = match run.stop_outcome() {
        Some(Ok(Stopped::Unconfirmed { pids })) => format!("still running or not told apart are {pids:?}"),
        Some(Err(error)) => error.message().to_owned(),
        _ => "the target did not say".to_owned(),
    };
    End { exit: Exit::Failed(format!("it could not be stopped: {why}")), cause: reason.cause(false) }
}
