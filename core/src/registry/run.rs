//! Something that runs: its log, its process, and the one stop that may be under way.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::backend::{Command, Process, Session, Stopped};
use crate::error::{Error, Result};
use crate::output::{OutputLog, Reason};
use crate::task::{TaskKind, Tasks};

/// Carries out one stop to its outcome, whoever still waits for it.
const STOP: TaskKind = TaskKind("registry.stop");

/// How much longer than its grace a stop may take before it counts as given up.
const STOP_SLACK: Duration = Duration::from_secs(30);

/// A process of either kind.
pub(super) enum Kind {
    Session(Box<dyn Session>),
    Command(Box<dyn Command>),
}

impl Kind {
    fn process(&self) -> &dyn Process {
        match self {
            Self::Session(session) => session.as_ref(),
            Self::Command(command) => command.as_ref(),
        }
    }
}

/// The outcome of a stop; `None` while it is under way.
pub(super) type StopLevel = watch::Receiver<Option<Result<Stopped>>>;

/// A process with its log.
pub(super) struct Run {
    pub(super) log: Arc<OutputLog>,
    kind: Kind,
    stop: Mutex<Option<StopLevel>>,
}

impl Run {
    pub(super) fn new(log: Arc<OutputLog>, kind: Kind) -> Self {
        Self { log, kind, stop: Mutex::new(None) }
    }

    pub(super) fn process(&self) -> &dyn Process {
        self.kind.process()
    }

    /// The session, where it is one.
    pub(super) fn session(&self) -> Option<&dyn Session> {
        match &self.kind {
            Kind::Session(session) => Some(session.as_ref()),
            Kind::Command(_) => None,
        }
    }

    /// Begins a stop, or joins the one that is under way. The stop goes on when nobody waits for it any more.
    pub(super) fn begin_stop(self: &Arc<Self>, reason: Reason, grace: Duration, tasks: &Tasks) -> StopLevel {
        let mut current = self.stop.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(level) = current.as_ref()
            && level.borrow().is_none()
            && level.has_changed().is_ok()
        {
            return level.clone();
        }
        let (outcome, level) = watch::channel(None);
        *current = Some(level.clone());
        drop(current);
        self.log.begin_stop(reason);
        let run = self.clone();
        tasks.spawn(STOP, async move {
            // An end waits for this outcome, so there is one in any case.
            let stop = AssertUnwindSafe(run.process().stop(grace)).catch_unwind();
            let stopped = match timeout(grace + STOP_SLACK, stop).await {
                Ok(Ok(stopped)) => stopped,
                Ok(Err(_)) => Err(Error::internal("the stop has broken off: try again")),
                Err(_) => Err(Error::unavailable("the target has not answered the stop: try again")),
            };
            run.log.conclude_stop(matches!(stopped, Ok(Stopped::Confirmed)));
            outcome.send_replace(Some(stopped));
        });
        level
    }

    /// The outcome of the latest stop, when there is one.
    pub(super) fn stop_outcome(&self) -> Option<Result<Stopped>> {
        let current = self.stop.lock().unwrap_or_else(PoisonError::into_inner);
        current.as_ref().and_then(|level| level.borrow().clone())
    }
}

/// Waits for a stop's outcome. `None` when the stop itself has broken.
pub(super) async fn outcome(level: &mut StopLevel) -> Option<Result<Stopped>> {
    level.wait_for(Option::is_some).await.ok().and_then(|outcome| outcome.clone())
}
