//! The verified stop: a ladder from polite to forced, over everything that a process has started, until it is certain
//! that nothing is left or that this cannot be known.
//!
//! 1. HUP, CONT and TERM to every member; the grace ends when all are gone.
//! 2. STOP to every member, until a scan finds no new one; then KILL.
//! 3. Confirmed after four clean scans in a row. One scan alone can miss a process that is born behind its back.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rustix::process::{Pid, Signal};
use sessiond_core::{Stopped, TaskKind};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};

use crate::backend::Kit;
use crate::children;
use crate::mark::Mark;
use crate::procs::{Identity, Process, Snapshot};
use crate::running::Running;

/// Carries one stop to its end, also when nobody waits for it any more.
const STOP: TaskKind = TaskKind("pty stop");

/// So many clean scans in a row, so far apart, are certainty.
const CLEAN_SCANS: u32 = 4;
const SCAN_PAUSE: Duration = Duration::from_millis(3);
/// While a grace runs there is less hurry.
const LONGEST_PAUSE: Duration = Duration::from_millis(24);
/// What has not died so long after the grace will not: it hangs inside the kernel.
const FORCE: Duration = Duration::from_secs(5);
/// A process has no readable environment in the moment in which it changes its program. Whoever is without one for
/// longer has none.
const STRAY: Duration = Duration::from_millis(100);
/// Graces beyond this are this.
const LONGEST_GRACE: Duration = Duration::from_secs(24 * 3600);

/// Stops a process and everything it has started.
pub(crate) async fn process(kit: &Arc<Kit>, running: &Arc<Running>, grace: Duration) -> Stopped {
    let group = &running.group;
    let ladder = Ladder::new(Whose::One { mark: group.mark, leader: group.leader }, group.started);
    let (answer, answered) = oneshot::channel();
    let (climber, held) = (kit.clone(), running.clone());
    kit.tasks.spawn(STOP, async move {
        let stopped = climb(&climber, ladder, grace).await;
        if stopped == Stopped::Confirmed && held.has_ended() {
            held.alone.store(true, Ordering::Relaxed);
        }
        let _ = answer.send(stopped);
    });
    let pid = running.group.leader.as_raw_pid().unsigned_abs();
    answered.await.unwrap_or(Stopped::Unconfirmed { pids: vec![pid] })
}

/// Stops everything that this backend has ever started.
pub(crate) async fn everything(kit: &Arc<Kit>, grace: Duration) -> Stopped {
    let whose = Whose::All { sibling: kit.mark, strays: kit.is_alone() };
    climb(kit, Ladder::new(whose, kit.started), grace).await
}

/// The living processes of an ended one.
pub(crate) async fn descendants(kit: &Kit, running: &Running) -> Vec<u32> {
    if running.alone.load(Ordering::Relaxed) {
        return Vec::new();
    }
    let (mark, leader) = (running.group.mark, running.group.leader);
    let ended = running.has_ended();
    let mut found = Vec::new();
    // As for a stop, only several scans are certainty, and certainty is worth being remembered.
    for _ in 0..CLEAN_SCANS {
        let look = move |snapshot: &Snapshot| {
            let members = snapshot.members(|process| process.mark == Some(mark), &mut HashSet::new());
            (pids(members.iter().filter(|member| member.pid != leader)), snapshot.complete)
        };
        let Some((pids, complete)) = kit.scans.look(look).await else { return found };
        found = pids;
        if !found.is_empty() || !ended || !complete {
            return found;
        }
    }
    running.alone.store(true, Ordering::Relaxed);
    found
}

/// Whose processes are to go.
#[derive(Clone, Copy, Debug)]
enum Whose {
    /// One process's.
    One { mark: Mark, leader: Pid },
    /// All of one backend, and what nobody can claim when there is no other backend.
    All { sibling: Mark, strays: bool },
}

impl Whose {
    fn claims(self, process: &Process) -> bool {
        match self {
            Self::One { mark, .. } => process.mark == Some(mark),
            Self::All { sibling, .. } => process.mark.is_some_and(|mark| mark.is_sibling(sibling)),
        }
    }

    /// Whether an orphan that was reaped since `count` may have been one of them.
    fn orphan_since(self, count: u64) -> bool {
        let children = children::lock();
        match self {
            Self::One { leader, .. } => children.orphan_since(count, leader),
            Self::All { .. } => children.orphans_reaped() != count,
        }
    }
}

/// What a stop knows of the processes it is about.
struct Ladder {
    whose: Whose,
    started: u64,
    known: HashSet<Identity>,
    /// Those who have been asked to go.
    asked: HashSet<Identity>,
    /// Those who have been stopped from doing anything.
    frozen: HashSet<Identity>,
    /// How many orphans had been reaped at the last scan.
    orphans: u64,
}

/// How hard a step pushes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Push {
    Ask,
    Force,
}

/// What a step has found.
struct Sight {
    members: Vec<Identity>,
    strays: Vec<Identity>,
    /// Whether the scan was complete and nothing has come or gone unseen.
    certain: bool,
}

impl Sight {
    fn is_clean(&self) -> bool {
        self.certain && self.members.is_empty() && self.strays.is_empty()
    }

    fn unconfirmed(&self) -> Stopped {
        Stopped::Unconfirmed { pids: pids(self.members.iter().chain(&self.strays)) }
    }
}

impl Ladder {
    fn new(whose: Whose, started: u64) -> Self {
        let orphans = children::lock().orphans_reaped();
        let (known, asked, frozen) = (HashSet::new(), HashSet::new(), HashSet::new());
        Self { whose, started, known, asked, frozen, orphans }
    }

    fn step(&mut self, snapshot: &Snapshot, push: Push) -> Sight {
        let whose = self.whose;
        let mut strays = snapshot.strays(self.started, &self.known);
        if matches!(whose, Whose::All { strays: true, .. }) {
            self.known.extend(strays.drain(..));
        }
        let members = snapshot.members(|process| whose.claims(process), &mut self.known);
        match push {
            Push::Ask => self.ask(&members),
            Push::Force => self.force(&members),
        }
        let certain = snapshot.complete && !whose.orphan_since(self.orphans);
        self.orphans = children::lock().orphans_reaped();
        Sight { members, strays, certain }
    }

    fn ask(&mut self, members: &[Identity]) {
        for member in members {
            if self.asked.insert(*member) {
                member.send(&[Signal::HUP, Signal::CONT, Signal::TERM]);
            }
        }
    }

    /// Whoever is stopped can start nobody: once all are, all can be killed and none has slipped away.
    fn force(&mut self, members: &[Identity]) {
        let mut new = false;
        for member in members {
            if self.frozen.insert(*member) {
                member.send(&[Signal::STOP]);
                new = true;
            }
        }
        if !new {
            for member in members {
                member.send(&[Signal::KILL]);
            }
        }
    }
}

/// Climbs the ladder to its end.
async fn climb(kit: &Kit, mut ladder: Ladder, grace: Duration) -> Stopped {
    let begun = Instant::now();
    let asking = grace.min(LONGEST_GRACE);
    let mut clean = 0;
    let mut pause = SCAN_PAUSE;
    let mut only_strays: Option<Instant> = None;
    loop {
        let push = if begun.elapsed() < asking { Push::Ask } else { Push::Force };
        let step = move |snapshot: &Snapshot| {
            let sight = ladder.step(snapshot, push);
            (ladder, sight)
        };
        let Some((back, sight)) = kit.scans.look(step).await else { return Stopped::Unconfirmed { pids: Vec::new() } };
        ladder = back;
        clean = if sight.is_clean() { clean + 1 } else { 0 };
        if clean == CLEAN_SCANS {
            return Stopped::Confirmed;
        }
        if sight.members.is_empty() && !sight.strays.is_empty() {
            if only_strays.get_or_insert_with(Instant::now).elapsed() > STRAY {
                return sight.unconfirmed();
            }
        } else {
            only_strays = None;
        }
        if begun.elapsed() > asking + FORCE {
            return sight.unconfirmed();
        }
        let hurry = push == Push::Force || sight.members.is_empty();
        pause = if hurry { SCAN_PAUSE } else { (pause * 2).min(LONGEST_PAUSE) };
        sleep(pause).await;
    }
}

fn pids<'i>(identities: impl Iterator<Item = &'i Identity>) -> Vec<u32> {
    let mut pids: Vec<u32> = identities.map(|identity| identity.pid.as_raw_pid().unsigned_abs()).collect();
    pids.sort_unstable();
    pids
}
