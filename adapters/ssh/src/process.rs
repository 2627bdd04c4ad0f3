//! What a handle and the task that drains have in common: the identity of a process on its host, and its channel while
//! it runs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant as Clock};

use sessiond_core::{Call, Error, Facts, Mark, Result, Signal, TaskKind};
use tokio_util::sync::CancellationToken;

use crate::channel::Writer;
use crate::link::Link;
use crate::pool::Pool;
use crate::shell::{Delivery, Group, Leader, signal};
use crate::{ask, error, stop};

/// Stops what nobody waits for any more.
const TAKE_BACK: TaskKind = TaskKind("ssh take back");

/// A process that was started on a host.
pub(crate) struct Running {
    pool: Arc<Pool>,
    mark: Mark,
    leader: Leader,
    period: u64,
    life: Mutex<Life>,
    /// Cancelled at the leader's end.
    gone: CancellationToken,
    /// It has ended, and nobody that it started is left.
    alone: AtomicBool,
    /// Nobody holds its pipes any more.
    released: AtomicBool,
    /// Somebody has wanted to end it from here.
    stopped: AtomicBool,
}

struct Life {
    begun: Clock,
    lived: Option<Duration>,
    /// Let go of at the end, however long the handle is kept.
    open: Option<Open>,
    /// The latest signal that was sent: servers have no name for many of them.
    sent: Option<Signal>,
}

/// What is there while it runs.
#[derive(Clone)]
pub(crate) struct Open {
    pub(crate) writer: Arc<Writer>,
    pub(crate) link: Arc<Link>,
}

impl Running {
    pub(crate) fn new(pool: Arc<Pool>, (mark, leader): (Mark, Leader), period: u64, open: Open) -> Arc<Self> {
        let life = Life { begun: Clock::now(), lived: None, open: Some(open), sent: None };
        Arc::new(Self {
            pool,
            mark,
            leader,
            period,
            life: Mutex::new(life),
            gone: CancellationToken::new(),
            alone: AtomicBool::new(false),
            released: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
        })
    }

    fn life(&self) -> MutexGuard<'_, Life> {
        self.life.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }

    pub(crate) fn mark(&self) -> Mark {
        self.mark
    }

    pub(crate) fn leader(&self) -> Leader {
        self.leader
    }

    /// Who is of it besides those with its mark.
    pub(crate) fn group(&self) -> Group {
        Group { leader: self.leader, lived: self.life().lived }
    }

    /// What the core is told.
    pub(crate) fn facts(&self) -> Facts {
        Facts { pid: Some(self.leader.pid), native_id: None, period: Some(self.period) }
    }

    /// Its channel.
    ///
    /// # Errors
    /// `failed_precondition` when it has ended.
    pub(crate) fn open(&self) -> Result<Open> {
        self.life().open.clone().ok_or_else(error::ended)
    }

    /// Whether the leader has ended, as far as the host has told.
    pub(crate) fn has_ended(&self) -> bool {
        self.gone.is_cancelled()
    }

    /// Waits for the leader's end.
    pub(crate) async fn end(&self) {
        self.gone.cancelled().await;
    }

    /// The host has told the leader's end.
    pub(crate) fn ended(&self) {
        let mut life = self.life();
        let lived = life.begun.elapsed();
        life.lived.get_or_insert(lived);
        life.open = None;
        self.gone.cancel();
    }

    /// The connection is lost, and with it whatever could be known. It may live on.
    pub(crate) fn lost(&self) {
        self.life().open = None;
        self.pool.leave([self.group()]);
        self.gone.cancel();
    }

    /// It is certain that it has ended and left nobody behind.
    pub(crate) fn left_alone(&self) {
        self.alone.store(true, Ordering::Relaxed);
    }

    /// Whether that is certain.
    pub(crate) fn is_alone(&self) -> bool {
        self.alone.load(Ordering::Relaxed)
    }

    /// The host has told that nobody holds its pipes any more.
    pub(crate) fn released(&self) {
        self.released.store(true, Ordering::Relaxed);
    }

    /// Somebody wants to end it from here.
    pub(crate) fn stopped(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Whether it has ended by itself, as far as is known here, and nobody holds its pipes.
    pub(crate) fn ended_quietly(&self) -> bool {
        let interfered = self.stopped.load(Ordering::Relaxed) || self.latest_signal().is_some();
        self.has_ended() && self.released.load(Ordering::Relaxed) && !interfered
    }

    /// The latest signal that was sent to it.
    pub(crate) fn latest_signal(&self) -> Option<Signal> {
        self.life().sent
    }

    /// Sends a signal.
    ///
    /// # Errors
    /// `failed_precondition` when there is nobody to receive it, `permission_denied` when it is another user's.
    pub(crate) async fn signal(&self, cx: &Call, which: Signal, whom: signal::Whom) -> Result<()> {
        if self.has_ended() {
            return Err(error::ended());
        }
        let before = self.life().sent.replace(which);
        let script = signal::script(self.leader, which, whom)?;
        let answer = ask::script(&self.pool, script, cx.deadline).await;
        let sent = answer.and_then(|answer| {
            signal::read(&answer).ok_or_else(|| {
                Error::unavailable(format!("it is not known whether {which} was sent: the host's answer broke off"))
            })
        });
        if sent != Ok(Delivery::Sent) {
            self.life().sent = before;
        }
        match sent? {
            Delivery::Sent => Ok(()),
            other => Err(error::not_sent(which, other)),
        }
    }
}

/// A process that was started, until whoever asked for it has it: dropped before, it is stopped.
pub(crate) struct Unclaimed(Option<Arc<Running>>);

impl Unclaimed {
    pub(crate) fn new(running: Arc<Running>) -> Self {
        Self(Some(running))
    }

    /// It has arrived.
    pub(crate) fn claim(mut self) -> Option<Arc<Running>> {
        self.0.take()
    }
}

impl Drop for Unclaimed {
    fn drop(&mut self) {
        if let Some(running) = self.0.take() {
            let tasks = running.pool.host.tasks.clone();
            tasks.spawn(TAKE_BACK, async move {
                if stop::process(&running, Duration::ZERO).await.is_err() {
                    running.pool.leave([running.group()]);
                }
            });
        }
    }
}
