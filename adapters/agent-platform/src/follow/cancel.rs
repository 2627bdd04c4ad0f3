//! Ending a run, and making sure of it.

use std::time::Duration;

use sessiond_core::{AgentAction, Error, PlatformId, Result, Stopped};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::backend::Site;
use crate::dialect::{Phase, Request};
use crate::request::Who;

/// Between two looks at a run that is being cancelled: at first, and at the most.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(1));
/// After so long without an effect the platform is asked again to cancel.
const INSIST: Duration = Duration::from_secs(5);

/// Cancels a run unless it is over, and waits until the platform says that it is, until `until` at the latest.
///
/// # Errors
/// What the platform answered last, when it has never taken the request.
pub(crate) async fn end(site: &Site, id: &PlatformId, until: Instant) -> Result<Stopped> {
    let mut attempt = Attempt { site, id, until, taken: None, trouble: None };
    let mut pause = PAUSES.0;
    loop {
        if attempt.is_over().await {
            return Ok(Stopped::Confirmed);
        }
        if Instant::now() + pause >= until {
            return attempt.in_vain();
        }
        sleep(pause).await;
        pause = (pause * 2).min(PAUSES.1);
    }
}

/// A cancel that is under way.
struct Attempt<'a> {
    site: &'a Site,
    id: &'a PlatformId,
    until: Instant,
    /// When the platform took the latest request, and how the run stood.
    taken: Option<(Instant, Phase)>,
    /// Why it has not taken it.
    trouble: Option<Error>,
}

impl Attempt<'_> {
    /// Looks whether the run is over, and asks for that where it is time to.
    async fn is_over(&mut self) -> bool {
        let phase = match self.site.standing(&self.request(), self.id).await {
            Ok(None) => return true,
            Ok(Some(state)) if state.phase.is_over() => return true,
            Ok(Some(state)) => state.phase,
            Err(error) => {
                self.trouble = Some(error);
                return false;
            }
        };
        if self.is_time(phase) {
            match self.site.dialect.control(&self.request(), self.id, AgentAction::Cancel, None).await {
                Ok(_) => self.taken = Some((Instant::now(), phase)),
                // It may have ended in between, which the next look shows.
                Err(error) => self.trouble = Some(error),
            }
        }
        false
    }

    /// A run that stands otherwise than when it was cancelled has got around it: one that waits for a person again.
    fn is_time(&self, phase: Phase) -> bool {
        phase != Phase::Canceling && self.taken.is_none_or(|(when, then)| phase != then || when.elapsed() >= INSIST)
    }

    fn request(&self) -> Request {
        let deadline = self.until.min(Instant::now() + self.site.timeout);
        Request { deadline, cancel: CancellationToken::new(), who: Who::Caller }
    }

    fn in_vain(self) -> Result<Stopped> {
        match (self.taken, self.trouble) {
            (None, Some(trouble)) => Err(trouble),
            _ => Ok(Stopped::Unconfirmed { pids: Vec::new() }),
        }
    }
}
