//! How much is asked of a platform at once, and in a second: one budget, in which callers go before followed runs.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sessiond_core::{Error, Result};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::Instant;

use crate::request::Who;

/// The most requests on their way to one platform.
const IN_FLIGHT: usize = 32;
/// How many of these may be for followed runs, so that slow ones leave room for callers.
const FOLLOWING: usize = IN_FLIGHT / 2;

/// What may be asked of one platform.
pub(super) struct Budget {
    in_flight: Arc<Semaphore>,
    following: Arc<Semaphore>,
    /// The callers that wait for their turn; a follower lets them go first.
    waiting: watch::Sender<usize>,
    /// At most one caller and one follower wait for a moment of their own.
    gates: [Semaphore; 2],
    pace: Option<Pace>,
}

/// Room for one request, until it is dropped.
pub(crate) struct Room {
    _in_flight: OwnedSemaphorePermit,
    _following: Option<OwnedSemaphorePermit>,
}

impl Budget {
    /// So many requests a second; 0 is no limit.
    pub(super) fn new(per_second: u32) -> Self {
        Self {
            in_flight: Arc::new(Semaphore::new(IN_FLIGHT)),
            following: Arc::new(Semaphore::new(FOLLOWING)),
            waiting: watch::Sender::new(0),
            gates: [Semaphore::new(1), Semaphore::new(1)],
            pace: (per_second > 0).then(|| Pace::new(per_second)),
        }
    }

    /// Waits for the turn of one request. Those of one kind go in the order in which they came.
    ///
    /// # Errors
    /// `internal` when the budget is gone, which it never is.
    pub(super) async fn turn(&self, who: Who) -> Result<Room> {
        match who {
            Who::Caller => {
                let _counted = Waiting::new(&self.waiting);
                let _gate = self.gate(0).await?;
                self.room(None).await
            }
            Who::Follower => {
                let _gate = self.gate(1).await?;
                let own = self.following.clone().acquire_owned().await.map_err(|_| gone())?;
                let mut waiting = self.waiting.subscribe();
                let _ = waiting.wait_for(|callers| *callers == 0).await;
                self.room(Some(own)).await
            }
        }
    }

    async fn gate(&self, which: usize) -> Result<tokio::sync::SemaphorePermit<'_>> {
        let gate = self.gates.get(which).ok_or_else(gone)?;
        gate.acquire().await.map_err(|_| gone())
    }

    async fn room(&self, following: Option<OwnedSemaphorePermit>) -> Result<Room> {
        let in_flight = self.in_flight.clone().acquire_owned().await.map_err(|_| gone())?;
        if let Some(pace) = &self.pace {
            let now = Instant::now();
            let slot = pace.next(now);
            // A sleep until now is one until the timer's next millisecond, which each page of a list would wait for.
            if slot > now {
                tokio::time::sleep_until(slot).await;
            }
        }
        Ok(Room { _in_flight: in_flight, _following: following })
    }
}

fn gone() -> Error {
    Error::internal("the budget of an agent platform is gone: report this")
}

/// One caller that waits.
struct Waiting<'a>(&'a watch::Sender<usize>);

impl<'a> Waiting<'a> {
    fn new(count: &'a watch::Sender<usize>) -> Self {
        count.send_modify(|count| *count += 1);
        Self(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count = count.saturating_sub(1));
    }
}

/// So many a second, and as many at once after a second of rest.
struct Pace {
    every: Duration,
    /// The moment of the next request, were they evenly spread.
    even: Mutex<Option<Instant>>,
}

impl Pace {
    const BURST: Duration = Duration::from_secs(1);

    fn new(per_second: u32) -> Self {
        Self { every: Self::BURST / per_second.max(1), even: Mutex::new(None) }
    }

    /// When the next request may go, from now on.
    fn next(&self, now: Instant) -> Instant {
        let mut even = self.even.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = even.map_or(now, |slot| slot.max(now));
        *even = Some(slot + self.every);
        // A slot up to a second away may be used at once, less the one that it is itself.
        slot.checked_sub(Self::BURST.saturating_sub(self.every)).map_or(now, |early| early.max(now))
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn a_second_holds_so_many_requests() {
        let pace = Pace::new(10);
        let start = Instant::now();
        let waits: Vec<_> = (0..13).map(|_| pace.next(start).duration_since(start).as_millis()).collect();
        assert_eq!(waits, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 100, 200, 300]);
        let later = start + Duration::from_secs(60);
        assert_eq!(pace.next(later), later);
    }

    #[tokio::test]
    async fn callers_go_before_followers() {
        let budget = Budget::new(0);
        let mut taken = Vec::new();
        for _ in 0..IN_FLIGHT {
            taken.push(budget.turn(Who::Caller).await.unwrap());
        }
        let mut caller = Box::pin(budget.turn(Who::Caller));
        let mut follower = Box::pin(budget.turn(Who::Follower));
        assert!(caller.as_mut().now_or_never().is_none());
        assert!(follower.as_mut().now_or_never().is_none());
        taken.pop();
        assert!(follower.as_mut().now_or_never().is_none());
        let room = caller.as_mut().now_or_never().unwrap().unwrap();
        drop(caller);
        assert!(follower.as_mut().now_or_never().is_none());
        drop(room);
        assert!(follower.as_mut().now_or_never().is_some());
    }

    #[tokio::test]
    async fn followers_leave_room_for_callers() {
        let budget = Budget::new(0);
        let mut taken = Vec::new();
        for _ in 0..FOLLOWING {
            taken.push(budget.turn(Who::Follower).await.unwrap());
        }
        assert!(budget.turn(Who::Follower).now_or_never().is_none());
        assert!(budget.turn(Who::Caller).now_or_never().is_some());
    }
}
