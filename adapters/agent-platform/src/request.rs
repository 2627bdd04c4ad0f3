//! What accompanies everything that is asked of a platform: until when, for whom, and whether they still want it.

use std::time::Duration;

use sessiond_core::Call;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// One thing that is asked of a platform, with all the requests that it takes.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// When the answer has to be there.
    pub(crate) deadline: Instant,
    /// Fires when nobody wants it any more.
    pub(crate) cancel: CancellationToken,
    /// Who wants it.
    pub(crate) who: Who,
}

/// Who wants something of a platform: callers go before followers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    /// Somebody waits for the answer.
    Caller,
    /// A followed run is looked at.
    Follower,
}

impl Request {
    /// What a call asks: until its deadline, and no longer than `timeout`.
    pub(crate) fn of(call: &Call, timeout: Duration) -> Self {
        let deadline = call.deadline.min(Instant::now() + timeout);
        Self { deadline, cancel: call.cancel.clone(), who: Who::Caller }
    }

    /// What the follower of a run asks.
    pub(crate) fn follower(timeout: Duration, cancel: CancellationToken) -> Self {
        Self { deadline: Instant::now() + timeout, cancel, who: Who::Follower }
    }

    /// The same with half of the remaining time, at most `limit`.
    pub(crate) fn halved(&self, limit: Duration) -> Self {
        let now = Instant::now();
        let left = self.deadline.saturating_duration_since(now);
        Self { deadline: now + (left / 2).min(limit), ..self.clone() }
    }
}
