//! Every process this server has started: the one place that starts and the one place that reaps.
//!
//! One lock makes opening and starting one critical section, so that no descriptor leaks into somebody else's child,
//! and makes a process and its place in the set one thing: whoever holds the lock sees either both or none.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus, kill_process_group, waitid};

use sessiond_core::Mark;

use crate::process::with_original_limit;
use crate::sids::Sids;
use crate::stat::{self, Identity, Stat};
use crate::sys::{self, Birth, Program};

/// How many reaped orphans are remembered for the stops in flight.
const REMEMBERED: usize = 4096;

/// How many orphans are reaped before others have their turn.
const TURN: usize = 64;

static CHILDREN: LazyLock<Mutex<Children>> = LazyLock::new(Mutex::default);

/// The children of this process, locked.
pub(crate) fn lock() -> MutexGuard<'static, Children> {
    CHILDREN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is known of this process's children.
#[derive(Default)]
pub(crate) struct Children {
    sids: Sids,
    /// What others here have started and wait for, by the moment of its start.
    foreign: HashMap<Pid, u64>,
    orphans: Orphans,
}

/// What a sweep for orphans has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Swept {
    /// No orphan waits.
    Clean,
    /// There may be more.
    More,
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
        self.sids.begin(pid, mark);
        Ok(pid)
    }

    /// Takes back a start: nothing of it is left.
    pub(crate) fn abort(&mut self, pid: Pid) {
        let _ = kill_process_group(pid, Signal::KILL);
        // It was killed in its first moment and is ours to reap: this ends at once.
        let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED);
        self.sids.abort(pid);
    }

    /// Reaps a leader that has ended; nothing while it lives.
    ///
    /// # Errors
    /// Somebody else has reaped it.
    pub(crate) fn reap(&mut self, pid: Pid, pidfd: BorrowedFd<'_>) -> io::Result<Option<WaitIdStatus>> {
        // Until it is reaped its number is nobody else's: the clock is asked before.
        let now = stat::now();
        let reaped = waitid(WaitId::PidFd(pidfd.as_fd()), WaitIdOptions::EXITED | WaitIdOptions::NOHANG)
            .map_err(io::Error::from);
        if !matches!(reaped, Ok(None)) {
            self.sids.end(pid, now);
        }
        reaped
    }

    /// Whether this is a leader that has not been reaped.
    pub(crate) fn lives(&self, pid: Pid) -> bool {
        self.sids.lives(pid)
    }

    /// Whose this process is, if its session id proves it.
    pub(crate) fn whose(&self, stat: &Stat) -> Option<Mark> {
        self.sids.whose(stat.session, stat.identity())
    }

    /// Learns from a scan. See [`Sids::looked`].
    pub(crate) fn looked(&mut self, begun: u64, complete: bool, stats: &[Stat]) {
        self.sids.looked(begun, complete, stats.iter().map(|stat| (stat.session, stat.identity())));
    }

    /// Whether a scan is due for the sake of ended sessions alone.
    pub(crate) fn are_crowded(&self) -> bool {
        self.sids.are_crowded()
    }

    /// Enters a child that somebody else here waits for.
    pub(crate) fn add_foreign(&mut self, child: Identity) {
        self.foreign.insert(child.pid, child.started);
    }

    /// Whoever started it has waited for it, or does not want to any more.
    pub(crate) fn remove_foreign(&mut self, child: Identity) {
        if self.foreign.get(&child.pid) == Some(&child.started) {
            self.foreign.remove(&child.pid);
        }
    }

    /// Whether somebody else here has said that it waits for this child.
    pub(crate) fn is_foreign(&self, child: Identity) -> bool {
        self.foreign.get(&child.pid) == Some(&child.started)
    }

    /// Reaps the orphans that it can reach, some at a time.
    pub(crate) fn sweep(&mut self) -> Swept {
        for _ in 0..TURN {
            let Some(pid) = sys::exited_child() else { return Swept::Clean };
            if self.lives(pid) {
                return Swept::BehindLeader;
            }
            if !self.reap_orphan(pid) {
                return Swept::BehindStranger;
            }
        }
        Swept::More
    }

    /// Reaps every orphan, also behind leaders and strangers. Returns whether that could be done.
    pub(crate) fn sweep_all(&mut self) -> bool {
        let Some(children) = stat::own_children() else { return false };
        for child in children {
            self.reap_orphan(child);
        }
        true
    }

    /// Whether it is certain, without a scan, that nothing is left of a process that has ended: every child of this
    /// server is a leader that has not, or another's. Whatever outlives all its ancestors but the server is a child of
    /// the server.
    pub(crate) fn has_nobody_of(&self, mark: Mark) -> bool {
        let others = |child: Pid| self.lives(child) || self.is_anothers(child, mark);
        stat::own_children().is_some_and(|children| children.into_iter().all(others))
    }

    /// Whether this process has no child at all: then nothing is left of whatever it has started or adopted.
    pub(crate) fn are_none(&self) -> bool {
        stat::own_children().is_some_and(|children| children.is_empty())
    }

    /// What others here have started proves nothing: when they reap it meanwhile, the list may have a gap behind it.
    fn is_anothers(&self, child: Pid, mark: Mark) -> bool {
        let Ok(stat) = stat::read_once(child) else { return false };
        let own = sys::session_of(None).is_ok_and(|own| own == stat.session);
        if own || self.is_foreign(stat.identity()) {
            return false;
        }
        self.whose(&stat).or_else(|| stat::read_mark_once(child)).is_some_and(|owner| owner != mark)
    }

    /// Reaps one exited child if it is an orphan. Children that somebody else here has started are left to them: they
    /// are entered as foreign, or they have our session id, which nothing that we start has.
    pub(crate) fn reap_orphan(&mut self, pid: Pid) -> bool {
        if self.lives(pid) {
            return false;
        }
        let unreaped = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        if !matches!(waitid(WaitId::Pid(pid), unreaped), Ok(Some(_))) {
            return false;
        }
        let stat = stat::read_once(pid).ok();
        let foreign = match &stat {
            Some(stat) => self.is_foreign(stat.identity()),
            None => self.foreign.contains_key(&pid),
        };
        let Ok(session) = sys::session_of(Some(pid)) else { return false };
        if foreign || sys::session_of(None).is_ok_and(|own| own == session) {
            return false;
        }
        match waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG) {
            Ok(Some(_)) => {
                self.orphans.add(stat.and_then(|stat| self.whose(&stat)));
                true
            }
            Ok(None) | Err(_) => false,
        }
    }

    /// How many orphans have been reaped so far, and whether one since `count` may have been one of those that are
    /// `meant`.
    pub(crate) fn orphans_since(&self, count: u64, meant: impl Fn(Mark) -> bool) -> (u64, bool) {
        (self.orphans.count, self.orphans.since(count, |owner| owner.is_none_or(&meant)))
    }
}

/// The newest reaped orphans, by whose they were where that was certain.
#[derive(Default)]
struct Orphans {
    count: u64,
    newest: VecDeque<Option<Mark>>,
}

impl Orphans {
    fn add(&mut self, owner: Option<Mark>) {
        self.count += 1;
        self.newest.push_back(owner);
        if self.newest.len() > REMEMBERED {
            self.newest.pop_front();
        }
    }

    /// Whether one since `count` is meant, or has been forgotten.
    fn since(&self, count: u64, meant: impl Fn(Option<Mark>) -> bool) -> bool {
        let new = usize::try_from(self.count.saturating_sub(count)).unwrap_or(usize::MAX);
        new > self.newest.len() || self.newest.iter().rev().take(new).any(|owner| meant(*owner))
    }
}
