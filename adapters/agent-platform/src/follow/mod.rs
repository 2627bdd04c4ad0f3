//! Following a run: one task, which looks at it as often as somebody waits for its output, and gives its log each
//! completed turn once and the end last.
//!
//! - `pace` says when to look.
//! - `telling` is the platform's own stream of events, which brings a look forward.
//! - `given` knows what the log has.
//! - `cancel` ends a run and makes sure of it.

mod cancel;
mod given;
mod pace;
mod telling;
#[cfg(test)]
mod tests;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use sessiond_core::{Demand, Error, ErrorKind, Exit, OutputSink, PlatformId, Result, Stopped, TaskKind};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use self::given::Given;
use self::pace::Pace;
use self::telling::{Heard, Telling};
use crate::backend::Site;
use crate::dialect::{Mark, Phase, Request, RunState};

pub(crate) use self::cancel::end;

/// Follows one run to its end.
const FOLLOW: TaskKind = TaskKind("agent_platform.follow");

/// The most of a platform's own words for why a run failed, in bytes.
const REASON: usize = 4096;

/// How long the platform may take to end what was started here when the server ends.
const PARTING: Duration = Duration::from_secs(4);

/// Asks a follower to look soon.
#[derive(Clone, Debug)]
pub(crate) struct Bell(Arc<watch::Sender<u64>>);

impl Bell {
    /// There is something to see.
    pub(crate) fn ring(&self) {
        self.0.send_modify(|rings| *rings = rings.wrapping_add(1));
    }
}

/// How a run came to be followed, which says when a follower looks first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begin {
    /// Soon: the run was started just now.
    Soon,
    /// At once: the run may have said much already, and may be over.
    AtOnce,
}

/// Follows a run that is there from now on, until it is over or the platform's tasks are ended. What was started here is
/// cancelled then; what was only shown to this server goes on (AL05).
pub(crate) fn follow(site: &Arc<Site>, id: PlatformId, out: OutputSink, begin: Begin) -> Bell {
    let bell = Bell(Arc::new(watch::Sender::new(0)));
    let rung = bell.0.subscribe();
    if begin == Begin::AtOnce {
        bell.ring();
    }
    let now = Instant::now();
    let follower = Follower {
        demand: out.demand(),
        watch: Watch {
            pace: Pace::new(now, seed(&id)),
            given: Given::default(),
            mark: Mark::default(),
            site: site.clone(),
            id,
            out,
        },
        telling: Telling::new(now),
        begin,
        rung,
        // Keeps the bell alive when nobody holds the session any more.
        _bell: bell.clone(),
    };
    site.tasks.spawn(FOLLOW, follower.run());
    bell
}

fn seed(id: &PlatformId) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}

/// The task that follows one run.
struct Follower {
    watch: Watch,
    demand: Demand,
    telling: Telling,
    begin: Begin,
    rung: watch::Receiver<u64>,
    _bell: Bell,
}

impl Follower {
    async fn run(mut self) {
        let exit = self.until_end().await;
        self.watch.out.finish(exit);
    }

    /// Looks when it is time to, until the run has ended.
    async fn until_end(&mut self) -> Exit {
        let ended = self.watch.site.tasks.token().clone();
        while !ended.is_cancelled() {
            let now = Instant::now();
            self.listen(now);
            if self.watch.due() <= now {
                // What a look needs is there only while it lasts: a thousand runs that nobody looks at are small.
                match Box::pin(self.watch.look(now)).await {
                    Some(exit) => return exit,
                    None => continue,
                }
            }
            tokio::select! {
                () = ended.cancelled() => {}
                () = self.demand.wanted(), if !self.watch.pace.is_watched() => {}
                _ = self.rung.changed() => self.watch.pace.ask(),
                heard = self.telling.next() => self.heard(heard),
                () = sleep_until(self.watch.until(now)) => {}
            }
        }
        match self.begin {
            Begin::Soon => Box::pin(self.watch.part()).await,
            Begin::AtOnce => Exit::Lost("the server ended; the run goes on at its platform".to_owned()),
        }
    }

    /// Has the platform tell by itself for as long as somebody waits.
    fn listen(&mut self, now: Instant) {
        let pace = &mut self.watch.pace;
        pace.wanted(now, self.demand.is_wanted());
        if pace.is_watched() {
            self.telling.open(&self.watch.site, &self.watch.id, now);
        } else {
            pace.told(false);
            self.telling.close();
        }
    }

    fn heard(&mut self, heard: Heard) {
        let pace = &mut self.watch.pace;
        match heard {
            // What happened before it began was told to nobody. That something comes through has still to be seen: what
            // stands between may hold it back.
            Heard::Begun => pace.ask(),
            Heard::Changed => {
                pace.told(true);
                pace.stirred();
            }
            Heard::Alive => pace.told(true),
            Heard::Ended => {
                pace.told(false);
                pace.ask();
            }
        }
    }
}

/// What looks at one run.
struct Watch {
    site: Arc<Site>,
    id: PlatformId,
    out: OutputSink,
    pace: Pace,
    given: Given,
    mark: Mark,
}

impl Watch {
    /// When to look next. A platform that fails is given up as soon as it has failed for long enough.
    fn due(&self) -> Instant {
        self.bounded(self.pace.due())
    }

    /// When to think again.
    fn until(&self, now: Instant) -> Instant {
        self.bounded(self.pace.until(now))
    }

    fn bounded(&self, at: Instant) -> Instant {
        self.pace.failing_since().map_or(at, |since| at.min(since + self.site.lost_after))
    }

    /// Looks once: how the run stands, and what it has said since, when somebody waits for that or nothing more comes.
    /// Returns the end, once it has come.
    async fn look(&mut self, now: Instant) -> Option<Exit> {
        self.pace.began(now);
        let cx = Request::follower(self.site.timeout, self.site.tasks.token().clone());
        match self.see(&cx, self.pace.is_watched()).await {
            Ok(Some(state)) => {
                self.pace.answered();
                exit(&state)
            }
            Ok(None) => Some(Exit::Lost("the platform does not know the run any more".to_owned())),
            Err(error) => self.failed(&error),
        }
    }

    /// Ends the run because the server does, and sees how it ended. The platform's tasks are cancelled by now, which
    /// must not cut this short.
    async fn part(&mut self) -> Exit {
        let stopped = end(&self.site, &self.id, Instant::now() + PARTING).await;
        if matches!(stopped, Ok(Stopped::Confirmed)) {
            let cx = Request::follower(PARTING, CancellationToken::new());
            if let Ok(Some(state)) = self.see(&cx, false).await
                && let Some(exit) = exit(&state)
            {
                return exit;
            }
        }
        Exit::Lost("the server ended, and the platform has not confirmed that the run has".to_owned())
    }

    /// How the run stands; `None` when it is not there any more. Once it is over, the log has all that it said.
    async fn see(&mut self, cx: &Request, wanted: bool) -> Result<Option<RunState>> {
        let Self { site, id, out, given, mark, .. } = self;
        let state = if wanted {
            let (state, turns) = tokio::join!(site.standing(cx, id), site.dialect.turns_since(cx, id, mark));
            match turns {
                Ok(turns) => drop(given.give(&turns, out)),
                // Its own record says whether there is such a run.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return state.and_then(|state| if state.is_none() { Ok(state) } else { Err(error) }),
            }
            state?
        } else {
            site.standing(cx, id).await?
        };
        if state.as_ref().is_some_and(|state| state.phase.is_over()) {
            // What was said last may have come behind the turns that were read beside the state.
            given.give(&site.turns(cx, id).await?, out);
        }
        Ok(state)
    }

    /// A platform that fails is asked again for a while; the run lives there meanwhile.
    fn failed(&mut self, error: &Error) -> Option<Exit> {
        let silent = self.pace.failed(Instant::now());
        tracing::debug!(run = %self.id, error = error.message(), "a followed run could not be looked at");
        (silent >= self.site.lost_after).then(|| {
            let limit = told(self.site.lost_after);
            Exit::Lost(format!("it could not be followed for {limit}, and may still run: {}", error.message()))
        })
    }
}

/// How a run ended (DF02).
fn exit(state: &RunState) -> Option<Exit> {
    match state.phase {
        Phase::Complete => Some(Exit::Exited(0)),
        Phase::Canceled => Some(Exit::Canceled),
        Phase::Failed => {
            let why = state.error.as_deref().map(str::trim).filter(|why| !why.is_empty());
            Some(Exit::Failed(why.map_or("the platform says that it failed", cut).to_owned()))
        }
        _ => None,
    }
}

/// The beginning of a reason that is too long to be one.
fn cut(why: &str) -> &str {
    why.get(..why.floor_char_boundary(REASON)).unwrap_or(why)
}

fn told(time: Duration) -> String {
    if time.subsec_millis() > 0 { format!("{} ms", time.as_millis()) } else { format!("{} s", time.as_secs()) }
}
