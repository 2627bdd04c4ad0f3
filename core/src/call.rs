//! What accompanies every call: who asks, until when, and how to tell them how it goes.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::owner::Owner;

/// One call on its way through the server.
#[derive(Clone, Debug)]
pub struct Call {
    /// Who asks.
    pub owner: Owner,
    /// When the caller stops listening, taken when the call arrived.
    pub deadline: Instant,
    /// Fires when the caller takes the call back. A wait then ends as if its time were up.
    pub cancel: CancellationToken,
    /// Where to report how a long wait goes, when somebody wants to know.
    pub progress: Option<Progress>,
}

impl Call {
    /// The deadline of a call whose caller has named none: longer than any wait or time limit, yet not for ever.
    pub const LONGEST: Duration = Duration::from_secs(25 * 3600);

    /// A call that arrives now, without a deadline of its own.
    pub fn new(owner: Owner) -> Self {
        Self { owner, deadline: Instant::now() + Self::LONGEST, cancel: CancellationToken::new(), progress: None }
    }
}

/// So long after a moment; a time that no clock can tell is as good as the longest call.
pub(crate) fn after(moment: Instant, time: Duration) -> Instant {
    moment.checked_add(time).unwrap_or(moment + Call::LONGEST)
}

/// Takes reports of how much output a waiting call has seen.
#[derive(Clone)]
pub struct Progress(Arc<dyn Fn(u64) + Send + Sync>);

impl Progress {
    /// `report` is called with the bytes of output seen since the call began to wait; it must return at once.
    pub fn new(report: impl Fn(u64) + Send + Sync + 'static) -> Self {
        Self(Arc::new(report))
    }

    /// Reports the bytes seen so far.
    pub fn report(&self, bytes: u64) {
        (self.0)(bytes);
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Progress")
    }
}
