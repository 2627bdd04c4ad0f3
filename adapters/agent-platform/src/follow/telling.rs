//! What a platform tells of a run by itself, for as long as somebody listens.
//!
//! It only says when to look: what is in the log comes from the platform's records alone. So a stream that breaks,
//! repeats itself or leaves something out can neither double nor lose a turn.

use std::future::{pending, ready};
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{self, BoxStream, StreamExt, TryStreamExt};
use sessiond_core::{ErrorKind, PlatformId, Result};
use tokio::time::{Instant, timeout_at};

use crate::backend::Site;
use crate::dialect::{EventId, Happened, Request, RunEvent};

/// How long a stream that has broken is left alone at first, and at the most.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));
/// A stream on which nothing has come for so long, not even a sign of life, is dead.
const SILENCE: Duration = Duration::from_secs(30);

/// The platform's stream of one run's events, while it is open.
pub(super) struct Telling {
    stream: Option<BoxStream<'static, Result<Told>>>,
    /// Where the stream has got to.
    last: Option<EventId>,
    /// When the stream counts as dead unless something comes.
    silent_at: Instant,
    /// When the next one may be opened, and how long after the next fault.
    again_at: Instant,
    pause: Duration,
    /// The platform has no such stream.
    never: bool,
}

/// An item of the stream, its beginning included.
enum Told {
    Begun,
    /// It cannot begin where it should go on.
    Refused,
    Never,
    Event(RunEvent),
}

/// What was heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// The stream has begun: from here on it tells.
    Begun,
    /// The run has changed.
    Changed,
    /// Nothing of interest.
    Alive,
    /// The stream is no more.
    Ended,
}

impl Telling {
    pub(super) fn new(now: Instant) -> Self {
        Self { stream: None, last: None, silent_at: now, again_at: now, pause: PAUSES.0, never: false }
    }

    /// Begins to listen, unless that is under way, or was in vain a moment ago.
    pub(super) fn open(&mut self, site: &Arc<Site>, id: &PlatformId, now: Instant) {
        if self.stream.is_none() && !self.never && now >= self.again_at {
            // How long the beginning may take is the request's own limit.
            self.silent_at = now + site.timeout + SILENCE;
            self.stream = Some(listen(site.clone(), id.clone(), self.last.clone()));
        }
    }

    /// Listens no more. Where it got to is kept.
    pub(super) fn close(&mut self) {
        self.stream = None;
    }

    /// The next thing that is told; never, while nobody listens.
    pub(super) async fn next(&mut self) -> Heard {
        let Some(stream) = &mut self.stream else { return pending().await };
        let told = timeout_at(self.silent_at, stream.next()).await;
        let now = Instant::now();
        match told {
            Ok(Some(Ok(told))) => {
                self.silent_at = now + SILENCE;
                self.heard(told, now)
            }
            Ok(Some(Err(_)) | None) | Err(_) => self.broken(now),
        }
    }

    fn heard(&mut self, told: Told, now: Instant) -> Heard {
        match told {
            Told::Begun => Heard::Begun,
            Told::Refused => {
                // The platform may not know that place any more; what it would tell from there is found by looking.
                self.last = None;
                self.broken(now)
            }
            Told::Never => {
                (self.never, self.stream) = (true, None);
                Heard::Ended
            }
            Told::Event(RunEvent { id, what }) => {
                self.pause = PAUSES.0;
                self.last = id.or(self.last.take());
                match what {
                    Happened::Changed => Heard::Changed,
                    Happened::Heartbeat => Heard::Alive,
                }
            }
        }
    }

    fn broken(&mut self, now: Instant) -> Heard {
        self.stream = None;
        self.again_at = now + self.pause;
        self.pause = (self.pause * 2).min(PAUSES.1);
        Heard::Ended
    }
}

/// The stream from `last` on, with the request that opens it.
fn listen(site: Arc<Site>, id: PlatformId, last: Option<EventId>) -> BoxStream<'static, Result<Told>> {
    let begin = async move {
        let cx = Request::follower(site.timeout, site.tasks.token().clone());
        match site.dialect.events(&cx, &id, last.as_ref()).await {
            Ok(Some(events)) => stream::once(ready(Ok(Told::Begun))).chain(events.map_ok(Told::Event)).boxed(),
            Ok(None) => stream::once(ready(Ok(Told::Never))).boxed(),
            Err(error) if error.kind() == ErrorKind::InvalidArgument => stream::once(ready(Ok(Told::Refused))).boxed(),
            Err(error) => stream::once(ready(Err(error))).boxed(),
        }
    };
    stream::once(begin).flatten().boxed()
}
