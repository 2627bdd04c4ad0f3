//! The only place that spawns. Every task has an owner, which ends it, and a kind, which its crate names.

use std::future::Future;
use std::time::Duration;

use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tokio_util::task::TaskTracker;

/// What a task is for. Each crate lists its own as constants, so that the list of all tasks can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskKind(pub &'static str);

/// The tasks of one owner, which ends them all.
#[derive(Clone, Debug, Default)]
pub struct Tasks {
    tracker: TaskTracker,
    cancel: CancellationToken,
}

impl Tasks {
    /// No task yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts a task. It is on its own to end; [`cancelled`](Self::cancelled) tells it when it must.
    ///
    /// The kind says what the task is for where it is spawned; a task that panics ends, and what it owned is dropped.
    #[allow(clippy::disallowed_methods, reason = "the one place that spawns")]
    pub fn spawn(&self, _kind: TaskKind, task: impl Future<Output = ()> + Send + 'static) {
        self.tracker.spawn(task);
    }

    /// Runs what blocks on a thread that may be blocked. It is on its own to end, and soon.
    #[allow(clippy::disallowed_methods, reason = "the one place that spawns")]
    pub fn spawn_blocking(&self, _kind: TaskKind, work: impl FnOnce() + Send + 'static) {
        self.tracker.spawn_blocking(work);
    }

    /// Fires when the owner ends its tasks.
    pub fn cancelled(&self) -> WaitForCancellationFutureOwned {
        self.cancel.clone().cancelled_owned()
    }

    /// The token behind [`cancelled`](Self::cancelled).
    pub fn token(&self) -> &CancellationToken {
        &self.cancel
    }

    /// How many tasks run.
    pub fn len(&self) -> usize {
        self.tracker.len()
    }

    /// Whether none runs.
    pub fn is_empty(&self) -> bool {
        self.tracker.is_empty()
    }

    /// Waits until every task has ended by itself, at most `limit`. Returns whether all have. For an owner that starts
    /// none any more.
    pub async fn settled(&self, limit: Duration) -> bool {
        self.tracker.close();
        tokio::time::timeout(limit, self.tracker.wait()).await.is_ok()
    }

    /// Tells every task to end and waits until all have, at most `grace`. Returns whether all have.
    pub async fn shutdown(&self, grace: Duration) -> bool {
        self.cancel.cancel();
        self.settled(grace).await
    }
}
