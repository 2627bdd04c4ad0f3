//! What one identity may ask for: so many requests at one time, and so many in a second.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError};
use tokio::time::Instant;

/// Identities that are remembered before those are forgotten who ask for nothing. Keys are few; who comes with a token
/// of an identity provider is one of many.
const REMEMBERED: usize = 1024;

/// Counts a request among its identity's, for as long as any clone lives.
pub(crate) type Permit = Arc<OwnedSemaphorePermit>;

/// The limits of each identity.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IdentityLimits {
    /// Requests and streams at one time, waits included.
    pub(crate) concurrent: usize,
    /// Requests in a second, on the average. As many again may come at once.
    pub(crate) per_second: u32,
}

/// Why a request has to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TooMany {
    /// They come too fast.
    PerSecond {
        /// How long until the next one may come.
        retry_after: Duration,
    },
    /// Too many are being answered.
    Concurrent,
}

/// All identities that ask.
pub(crate) struct Callers {
    limits: IdentityLimits,
    callers: Mutex<HashMap<Arc<str>, Caller>>,
}

struct Caller {
    running: Arc<Semaphore>,
    /// When the bucket will be full again: in the past when it is. The further in the future, the emptier it is.
    full_at: Instant,
}

impl Callers {
    pub(crate) fn new(limits: IdentityLimits) -> Self {
        Self { limits, callers: Mutex::default() }
    }

    /// Admits a request of this identity.
    ///
    /// # Errors
    /// Which limit is reached. Such a request counts towards neither.
    pub(crate) fn admit(&self, owner: &Arc<str>) -> Result<Permit, TooMany> {
        let now = Instant::now();
        let mut callers = self.callers();
        if callers.len() >= REMEMBERED && !callers.contains_key(owner) {
            callers.retain(|_, caller| {
                caller.full_at > now || caller.running.available_permits() < self.limits.concurrent
            });
        }
        let fresh = || Caller { running: Arc::new(Semaphore::new(self.limits.concurrent)), full_at: now };
        let caller = callers.entry(owner.clone()).or_insert_with(fresh);
        let full_at = caller.full_at.max(now) + self.interval();
        let over = (full_at - now).saturating_sub(BURST);
        if !over.is_zero() {
            return Err(TooMany::PerSecond { retry_after: over });
        }
        match caller.running.clone().try_acquire_owned() {
            Ok(permit) => {
                caller.full_at = full_at;
                Ok(Arc::new(permit))
            }
            Err(TryAcquireError::NoPermits | TryAcquireError::Closed) => Err(TooMany::Concurrent),
        }
    }

    /// The share of a second that one request takes.
    fn interval(&self) -> Duration {
        Duration::from_secs(1) / self.limits.per_second.max(1)
    }

    /// A panic leaves nothing half done here.
    fn callers(&self) -> MutexGuard<'_, HashMap<Arc<str>, Caller>> {
        self.callers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What an identity may have saved up: the requests of this time.
const BURST: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    fn callers(concurrent: usize, per_second: u32) -> Callers {
        Callers::new(IdentityLimits { concurrent, per_second })
    }

    #[tokio::test(start_paused = true)]
    async fn requests_that_come_too_fast_are_told_how_long_to_wait() {
        let (callers, one, other) = (callers(100, 4), "one".into(), "other".into());
        for _ in 0..4 {
            callers.admit(&one).unwrap();
        }
        let retry_after = Duration::from_millis(250);
        assert_eq!(callers.admit(&one).unwrap_err(), TooMany::PerSecond { retry_after });
        callers.admit(&other).unwrap();
        tokio::time::advance(retry_after).await;
        callers.admit(&one).unwrap();
        assert_eq!(callers.admit(&one).unwrap_err(), TooMany::PerSecond { retry_after });
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_counts_until_its_last_permit_is_gone() {
        let (callers, one) = (callers(2, 1_000), "one".into());
        let first = callers.admit(&one).unwrap();
        let second = callers.admit(&one).unwrap();
        let kept = second.clone();
        drop(second);
        assert_eq!(callers.admit(&one).unwrap_err(), TooMany::Concurrent);
        callers.admit(&"other".into()).unwrap();
        drop(kept);
        let _third = callers.admit(&one).unwrap();
        assert_eq!(callers.admit(&one).unwrap_err(), TooMany::Concurrent);
        drop(first);
        callers.admit(&one).unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn identities_that_ask_for_nothing_are_forgotten() {
        let callers = callers(2, 10);
        let busy: Arc<str> = "busy".into();
        let _permit = callers.admit(&busy).unwrap();
        for number in 0..5 * REMEMBERED {
            callers.admit(&format!("{number}").into()).unwrap();
            tokio::time::advance(Duration::from_millis(100)).await;
        }
        let remembered = callers.callers();
        assert!(remembered.len() <= REMEMBERED + 1, "{}", remembered.len());
        assert!(remembered.contains_key(&busy));
    }
}
