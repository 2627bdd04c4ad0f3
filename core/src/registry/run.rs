//! Something that runs: its log, its process, and the one stop that may be under way.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

use futures_util::FutureExt;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::backend::{Command, Process, Session, Stopped, TargetInfo};
use crate::error::{Error, Result};
use crate::output::{Exit, OutputLog, Reason};
use crate::task::{TaskKind, Tasks};

/// Carries out one stop to its outcome, whoever still waits for it.
const STOP: TaskKind = TaskKind("registry.stop");

/// How much longer than its grace a stop may take before it counts as given up.
const STOP_SLACK: Duration = Duration::from_secs(30);

/// How long a target is asked what a process has left behind, or whether it waits for input.
pub(super) const LOOK: Duration = Duration::from_secs(2);

/// What is said of a session that was attached to what ran already, when the server ends.
const LET_GO: &str = "the server ended; the run goes on";

/// A process of any kind.
pub(super) enum Kind {
    Session(Box<dyn Session>),
    /// A session that was attached to what ran already, so that it is not the server's to end.
    Attached(Box<dyn Session>),
    Command(Box<dyn Command>),
}

impl Kind {
    fn process(&self) -> &dyn Process {
        match self {
            Self::Session(session) | Self::Attached(session) => session.as_ref(),
            Self::Command(command) => command.as_ref(),
        }
    }
}

/// The outcome of a stop; `None` while it is under way.
pub(super) type StopLevel = watch::Receiver<Option<Result<Stopped>>>;

/// A process with its log.
pub(super) struct Run {
    pub(super) log: Arc<OutputLog>,
    pub(super) target: TargetInfo,
    pub(super) started_at: SystemTime,
    ended_at: OnceLock<SystemTime>,
    kind: Kind,
    stops: Mutex<Stops>,
}

/// Who is ending the process.
#[derive(Default)]
struct Stops {
    /// The latest stop.
    latest: Option<StopLevel>,
    /// How many ask it to go with a signal.
    signalling: usize,
}

impl Stops {
    fn under_way(&self) -> Option<&StopLevel> {
        self.latest.as_ref().filter(|level| level.borrow().is_none() && level.has_changed().is_ok())
    }
}

impl Run {
    pub(super) fn new(target: TargetInfo, log: Arc<OutputLog>, kind: Kind) -> Arc<Self> {
        let (started_at, ended_at) = (SystemTime::now(), OnceLock::new());
        Arc::new(Self { log, target, started_at, ended_at, kind, stops: Mutex::default() })
    }

    pub(super) fn process(&self) -> &dyn Process {
        self.kind.process()
    }

    /// The session, where it is one.
    pub(super) fn session(&self) -> Option<&dyn Session> {
        match &self.kind {
            Kind::Session(session) | Kind::Attached(session) => Some(session.as_ref()),
            Kind::Command(_) => None,
        }
    }

    /// When it ended, once it has.
    pub(super) fn ended_at(&self) -> Option<SystemTime> {
        self.ended_at.get().copied()
    }

    pub(super) fn note_end(&self) {
        // The end comes once; a second note would change nothing.
        let _ = self.ended_at.set(SystemTime::now());
    }

    /// The living processes that it has left behind, as far as the target tells in time.
    pub(super) async fn descendants(&self) -> Vec<u32> {
        timeout(LOOK, self.process().descendants()).await.unwrap_or_default()
    }

    /// Begins a stop, or joins the one that is under way. The stop goes on when nobody waits for it any more.
    pub(super) fn begin_stop(self: &Arc<Self>, reason: Reason, grace: Duration, tasks: &Tasks) -> StopLevel {
        let mut stops = self.stops();
        if let Some(level) = stops.under_way() {
            return level.clone();
        }
        let (outcome, level) = watch::channel(None);
        stops.latest = Some(level.clone());
        self.log.begin_stop(reason);
        drop(stops);
        let run = self.clone();
        tasks.spawn(STOP, async move {
            // An end waits for this outcome, so there is one in any case.
            let stop = AssertUnwindSafe(run.process().stop(grace)).catch_unwind();
            let stopped = match timeout(grace.saturating_add(STOP_SLACK), stop).await {
                Ok(Ok(stopped)) => stopped,
                Ok(Err(_)) => Err(Error::internal("the stop has broken off: try again")),
                Err(_) => Err(Error::unavailable("the target has not answered the stop: try again")),
            };
            // In one step for whoever holds the stops: who finds none under way finds it concluded.
            let _stops = run.stops();
            run.log.conclude_stop(matches!(stopped, Ok(Stopped::Confirmed)));
            outcome.send_replace(Some(stopped));
        });
        level
    }

    /// The server ends. What it has started is stopped (AL05); what it was attached to is let go of, unless somebody is
    /// stopping that already. Returns the stop, where there is one.
    pub(super) fn end_with_server(self: &Arc<Self>, grace: Duration, tasks: &Tasks) -> Option<StopLevel> {
        if !matches!(self.kind, Kind::Attached(_)) {
            return Some(self.begin_stop(Reason::Shutdown, grace, tasks));
        }
        let stop = self.stops().under_way().cloned();
        if stop.is_none() {
            self.log.exited(Exit::Lost(LET_GO.to_owned()));
        }
        stop
    }

    /// The stop that is under way, or that has been confirmed before the end could come.
    pub(super) fn stop_to_join(&self) -> Option<StopLevel> {
        let stops = self.stops();
        stops.under_way().or(stops.latest.as_ref().filter(|level| is_confirmed(level))).cloned()
    }

    /// The outcome of the latest stop, when there is one.
    pub(super) fn stop_outcome(&self) -> Option<Result<Stopped>> {
        self.stops().latest.as_ref().and_then(|level| level.borrow().clone())
    }

    /// From here on an end counts as asked for, until the guard is dropped or told how it went.
    pub(super) fn begin_signal(self: &Arc<Self>) -> Signalling {
        let mut stops = self.stops();
        stops.signalling += 1;
        self.log.begin_stop(Reason::Stop);
        drop(stops);
        Signalling { run: self.clone(), confirmed: None }
    }

    fn stops(&self) -> MutexGuard<'_, Stops> {
        self.stops.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Somebody asks the process to go with a signal, which is no stop yet: who joins it would not be sure of anything.
pub(super) struct Signalling {
    run: Arc<Run>,
    confirmed: Option<bool>,
}

impl Signalling {
    /// The process has gone, and whether all that it started has gone too.
    pub(super) fn conclude(mut self, confirmed: bool) {
        self.confirmed = Some(confirmed);
    }
}

impl Drop for Signalling {
    fn drop(&mut self) {
        let mut stops = self.run.stops();
        stops.signalling -= 1;
        if stops.under_way().is_some() {
            // That stop has the last word.
            return;
        }
        match (self.confirmed, &stops.latest) {
            (Some(confirmed), _) => self.run.log.conclude_stop(confirmed),
            (None, _) if stops.signalling > 0 => {}
            (None, None) => self.run.log.retract_stop(),
            (None, Some(level)) => self.run.log.conclude_stop(is_confirmed(level)),
        }
    }
}

fn is_confirmed(level: &StopLevel) -> bool {
    matches!(*level.borrow(), Some(Ok(Stopped::Confirmed)))
}

/// Waits for a stop's outcome. `None` when the stop itself has broken.
pub(super) async fn outcome(level: &mut StopLevel) -> Option<Result<Stopped>> {
    level.wait_for(Option::is_some).await.ok().and_then(|outcome| outcome.clone())
}
