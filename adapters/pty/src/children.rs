//! Every process this server has started: the one place that starts and the one place that reaps.
//!
//! One lock makes opening and starting one critical section, so that no descriptor leaks into somebody else's child,
//! and makes a process and its place in the set one thing: whoever holds the lock sees either both or none.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus, getsid, kill_process_group, waitid};

use crate::mark::Mark;
use crate::process::with_original_limit;
use crate::sys::{self, Birth, Program};

/// How many reaped orphans are remembered for the stops in flight.
const REMEMBERED: usize = 4096;

static CHILDREN: LazyLock<Mutex<Children>> = LazyLock::new(Mutex::default);

/// The children of this process, locked.
pub(crate) fn lock() -> MutexGuard<'static, Children> {
    CHILDREN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is known of this process's children.
#[derive(Default)]
pub(crate) struct Children {
    /// By process id, which is the id of its session and group too. An entry stays after the leader's end, until
    /// nobody asks for its session any more.
    leaders: HashMap<Pid, Leader>,
    orphans: Orphans,
}

struct Leader {
    mark: Mark,
    /// Not reaped yet: its id cannot belong to anybody else.
    living: bool,
}

/// What a sweep for orphans has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Swept {
    /// No orphan waits.
    Clean,
    /// A leader waits to be reaped by its own task; orphans may wait behind it.
    BehindLeader,
    /// Somebody else's child waits; orphans may wait behind it.
    BehindStranger,
}

impl Children {
    /// Starts a program under the limits the server was started with.
    ///
    /// # Errors
    /// What any step failed with.
    pub(crate) fn spawn(&mut self, program: &Program<'_>, mark: Mark) -> io::Result<Pid> {
        let birth = Birth::new(program)?;
        let pid = with_original_limit(|| birth.start())?;
        self.leaders.insert(pid, Leader { mark, living: true });
        Ok(pid)
    }

    /// Takes back a start: nothing of it is left.
    pub(crate) fn abort(&mut self, pid: Pid) {
        let _ = kill_process_group(pid, Signal::KILL);
        // It was killed in its first moment and is ours to reap: this ends at once.
        let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED);
        self.leaders.remove(&pid);
    }

    /// Reaps a leader that has ended; nothing while it lives.
    ///
    /// # Errors
    /// Somebody else has reaped it.
    pub(crate) fn reap(&mut self, pid: Pid, pidfd: BorrowedFd<'_>) -> io::Result<Option<WaitIdStatus>> {
        let reaped = waitid(WaitId::PidFd(pidfd.as_fd()), WaitIdOptions::EXITED | WaitIdOptions::NOHANG)
            .map_err(io::Error::from);
        if !matches!(reaped, Ok(None))
            && let Some(leader) = self.leaders.get_mut(&pid)
        {
            leader.living = false;
        }
        reaped
    }

    /// Whether this is a leader that has not been reaped.
    pub(crate) fn lives(&self, pid: Pid) -> bool {
        self.leaders.get(&pid).is_some_and(|leader| leader.living)
    }

    /// Whose session this is, by its id.
    pub(crate) fn session(&self, sid: Pid) -> Option<Mark> {
        self.leaders.get(&sid).map(|leader| leader.mark)
    }

    /// Forgets a session that nobody asks for any more.
    pub(crate) fn forget(&mut self, pid: Pid, mark: Mark) {
        if self.session(pid) == Some(mark) {
            self.leaders.remove(&pid);
        }
    }

    /// Reaps every orphan it can reach. Children that somebody else in this process has started are left to them:
    /// they have our session id, which nothing that we start has.
    pub(crate) fn sweep(&mut self) -> Swept {
        while let Some(pid) = sys::exited_child() {
            if self.lives(pid) {
                return Swept::BehindLeader;
            }
            if !self.reap_orphan(pid) {
                return Swept::BehindStranger;
            }
        }
        Swept::Clean
    }

    /// Reaps one exited child if it is an orphan.
    pub(crate) fn reap_orphan(&mut self, pid: Pid) -> bool {
        if self.lives(pid) {
            return false;
        }
        let Ok(sid) = getsid(Some(pid)) else { return false };
        if getsid(None) == Ok(sid) {
            return false;
        }
        match waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG) {
            Ok(Some(_)) => {
                self.orphans.add(sid);
                true
            }
            Ok(None) | Err(_) => false,
        }
    }

    /// How many orphans have been reaped so far.
    pub(crate) fn orphans_reaped(&self) -> u64 {
        self.orphans.count
    }

    /// Whether an orphan has been reaped since `count` that may have been of this session.
    pub(crate) fn orphan_since(&self, count: u64, sid: Pid) -> bool {
        self.orphans.since(count, |orphan| orphan == sid || !self.leaders.contains_key(&orphan))
    }
}

/// The newest reaped orphans, by the session they were in.
#[derive(Default)]
struct Orphans {
    count: u64,
    newest: VecDeque<Pid>,
}

impl Orphans {
    fn add(&mut self, sid: Pid) {
        self.count += 1;
        self.newest.push_back(sid);
        if self.newest.len() > REMEMBERED {
            self.newest.pop_front();
        }
    }

    /// Whether one since `count` is meant, or has been forgotten.
    fn since(&self, count: u64, meant: impl Fn(Pid) -> bool) -> bool {
        let new = usize::try_from(self.count.saturating_sub(count)).unwrap_or(usize::MAX);
        new > self.newest.len() || self.newest.iter().rev().take(new).any(|sid| meant(*sid))
    }
}
