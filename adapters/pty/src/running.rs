//! What a handle and the task that pumps have in common: the identity of a process, and its descriptors while it runs.

use std::future::poll_fn;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::process::{Pid, PidfdFlags, pidfd_open, pidfd_send_signal};
use sessiond_core::{Exit, Mark, Result, Signal};
use tokio::io::Interest;
use tokio::io::unix::{AsyncFd, AsyncFdReadyGuard};

use crate::certainty::Certainty;
use crate::{children, error, signal, sys};

/// A descriptor in the runtime's event queue.
pub(crate) type Watched = AsyncFd<OwnedFd>;

/// Who is of the same process: its leader, everything in its session, everything with its mark, and their children.
#[derive(Debug)]
pub(crate) struct Group {
    /// The leader; the id of its session and first group too.
    pub(crate) leader: Pid,
    /// In clock ticks since the machine's start, not later than the leader's own.
    pub(crate) started: u64,
    /// In the environment of all.
    pub(crate) mark: Mark,
}

/// A process that was started.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) group: Group,
    open: Mutex<Option<Open>>,
    /// How certain it is that it has ended and left nobody behind.
    alone: Mutex<Certainty>,
}

/// Its descriptors, which are closed at its end however long its handle is kept.
#[derive(Clone, Debug)]
struct Open {
    leader: Arc<Watched>,
    terminal: Option<Arc<Watched>>,
}

impl Running {
    pub(crate) fn new(group: Group, leader: Watched, terminal: Option<Arc<Watched>>) -> Self {
        let leader = Arc::new(leader);
        Self { group, open: Mutex::new(Some(Open { leader, terminal })), alone: Mutex::default() }
    }

    /// The leader's process descriptor.
    ///
    /// # Errors
    /// `failed_precondition` when it has ended.
    pub(crate) fn leader(&self) -> Result<Arc<Watched>> {
        self.open().map(|open| open.leader)
    }

    /// The terminal.
    ///
    /// # Errors
    /// `failed_precondition` when it has ended.
    pub(crate) fn terminal(&self) -> Result<Arc<Watched>> {
        self.open()?.terminal.ok_or_else(error::ended)
    }

    fn open(&self) -> Result<Open> {
        self.lock().clone().ok_or_else(error::ended)
    }

    /// Goes on with another descriptor of the same terminal.
    pub(crate) fn replace_terminal(&self, terminal: Arc<Watched>) {
        if let Some(open) = self.lock().as_mut() {
            open.terminal = Some(terminal);
        }
    }

    /// How certain it is that it has ended and left nobody behind.
    pub(crate) fn certainty(&self) -> std::sync::MutexGuard<'_, Certainty> {
        self.alone.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets go of every descriptor: the process has ended.
    pub(crate) fn close(&self) {
        self.lock().take();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the leader has been reaped.
    pub(crate) fn has_ended(&self) -> bool {
        !children::lock().lives(self.group.leader)
    }

    /// Sends a signal to the leader alone.
    ///
    /// # Errors
    /// `failed_precondition` when it has ended.
    pub(crate) fn signal_leader(&self, which: Signal) -> Result<()> {
        let leader = self.leader()?;
        pidfd_send_signal(leader.get_ref(), signal::number(which)).map_err(|error| signal::refused(which, error))
    }
}

/// A descriptor by which a process that is not reaped yet can be waited for.
///
/// # Errors
/// There is no free descriptor.
pub(crate) fn watch_process(pid: Pid) -> io::Result<Watched> {
    sys::watch(pidfd_open(pid, PidfdFlags::empty())?, Interest::READABLE)
}

/// Waits until a descriptor may be read. It has one such waiter, the task that pumps: that is a fraction of the state
/// that any number of waiters would need.
///
/// # Errors
/// The runtime is shutting down.
pub(crate) async fn readable(watched: &Watched) -> io::Result<AsyncFdReadyGuard<'_, OwnedFd>> {
    poll_fn(|cx| watched.poll_read_ready(cx)).await
}

/// Waits for the leader's end and reaps it. Safe to drop before it is ready.
pub(crate) async fn leader_exit(pid: Pid, pidfd: &Watched) -> Exit {
    loop {
        let mut guard = match readable(pidfd).await {
            Ok(guard) => guard,
            Err(error) => return Exit::Lost(format!("its process cannot be watched any more: {error}")),
        };
        match children::lock().reap(pid, pidfd.get_ref().as_fd()) {
            Ok(Some(status)) => return signal::exit(&status),
            Ok(None) => guard.clear_ready(),
            Err(error) => return Exit::Lost(format!("somebody else has taken its exit status: {error}")),
        }
    }
}
