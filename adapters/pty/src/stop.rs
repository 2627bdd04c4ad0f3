//! The verified stop: a ladder from polite to forced, over everything that a process has started, until it is certain
//! that nothing is left or that this cannot be known.
//!
//! 1. HUP, CONT and TERM to every member; the grace ends when all are gone.
//! 2. STOP to every member and its group, and KILL to those who have been stopped since an earlier scan: whatever they
//!    have started is known by then.
//! 3. Confirmed when it is certain that nobody is left; given up with a KILL to all who are known.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal};
use sessiond_core::{Stopped, TaskKind};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout};

use crate::backend::Kit;
use crate::certainty::{Certainty, SCAN_PAUSE, Whose};
use crate::children;
use crate::procs::Snapshot;
use crate::running::Running;
use crate::stat::Identity;

/// Carries one stop to its end, also when nobody waits for it any more.
const STOP: TaskKind = TaskKind("pty stop");
/// Looks at the children of this server alone.
const LOOK: TaskKind = TaskKind("pty look");

/// While a grace runs there is less hurry.
const LONGEST_PAUSE: Duration = Duration::from_millis(24);
/// What has not died so long after the grace will not: it hangs inside the kernel. Clearly less than whoever asks
/// waits beyond the grace, so that there is time left to say so.
pub(crate) const FORCE: Duration = Duration::from_secs(3);
/// A process has no readable environment in the moment in which it changes its program. Whoever is without one for
/// longer has none.
const STRAY: Duration = Duration::from_millis(100);
/// Graces beyond this are this.
const LONGEST_GRACE: Duration = Duration::from_secs(24 * 3600);

/// Stops a process and everything it has started.
pub(crate) async fn process(kit: &Arc<Kit>, running: &Arc<Running>, grace: Duration) -> Stopped {
    let group = &running.group;
    let ladder = Ladder::new(Whose::One(group.mark), group.started);
    let (answer, answered) = oneshot::channel();
    let (climber, held) = (kit.clone(), running.clone());
    kit.tasks.spawn(STOP, async move {
        let stopped = climb(&climber, ladder, grace).await;
        if stopped == Stopped::Confirmed && held.has_ended() {
            held.certainty().prove();
        }
        let _ = answer.send(stopped);
    });
    let pid = running.group.leader.as_raw_pid().unsigned_abs();
    answered.await.unwrap_or(Stopped::Unconfirmed { pids: vec![pid] })
}

/// Stops everything that this backend has ever started, in little more than the grace.
pub(crate) async fn everything(kit: &Arc<Kit>, grace: Duration) {
    // Many servers are started and never used; their end need not look at every process of the machine.
    if children::lock().are_none() {
        return;
    }
    let whose = Whose::All { sibling: kit.mark, strays: kit.is_alone() };
    // A scan of very many processes takes its time, too.
    let longest = grace.min(LONGEST_GRACE) + FORCE + SCAN_PAUSE;
    let _ = timeout(longest, climb(kit, Ladder::new(whose, kit.started), grace)).await;
}

/// The living processes of an ended one.
pub(crate) async fn descendants(kit: &Kit, running: &Arc<Running>) -> Vec<u32> {
    if running.certainty().is_reached() {
        return Vec::new();
    }
    let (mark, leader, started) = (running.group.mark, running.group.leader, running.group.started);
    let ended = running.has_ended();
    if ended && kit.blocking(LOOK, move || children::lock().has_nobody_of(mark)).await == Some(true) {
        running.certainty().prove();
        return Vec::new();
    }
    let held = running.clone();
    let look = move |snapshot: &Snapshot| {
        let whose = Whose::One(mark);
        let mut known = HashSet::new();
        let members = snapshot.members(|process| whose.claims(process), &mut known);
        if ended {
            let clean = snapshot.complete && members.is_empty() && snapshot.strays(started, &known).is_empty();
            held.certainty().add(whose, clean);
        }
        pids(members.iter().filter(|member| member.pid != leader))
    };
    kit.scans.look(look).await.unwrap_or_default()
}

/// What a stop knows of the processes it is about.
struct Ladder {
    whose: Whose,
    started: u64,
    known: HashSet<Identity>,
    /// Those who have been asked to go.
    asked: HashSet<Identity>,
    /// Those who have been stopped from doing anything, and the groups of which all have.
    frozen: HashSet<Identity>,
    frozen_groups: HashSet<Pid>,
    certainty: Certainty,
}

/// How hard a step pushes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Push {
    Ask,
    Force,
    /// For the last time.
    Kill,
}

/// What a step has found.
struct Sight {
    members: Vec<Identity>,
    strays: Vec<Identity>,
}

impl Sight {
    fn unconfirmed(&self) -> Stopped {
        Stopped::Unconfirmed { pids: pids(self.members.iter().chain(&self.strays)) }
    }
}

impl Ladder {
    fn new(whose: Whose, started: u64) -> Self {
        Self {
            whose,
            started,
            known: HashSet::new(),
            asked: HashSet::new(),
            frozen: HashSet::new(),
            frozen_groups: HashSet::new(),
            certainty: Certainty::default(),
        }
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
            Push::Force => self.force(snapshot, &members),
            Push::Kill => self.kill(snapshot, &members),
        }
        self.certainty.add(whose, snapshot.complete && members.is_empty() && strays.is_empty());
        Sight { members, strays }
    }

    fn ask(&mut self, members: &[Identity]) {
        for member in members {
            // Whoever could not be asked is asked again.
            if !self.asked.contains(member) && member.send(&[Signal::HUP, Signal::CONT, Signal::TERM]) {
                self.asked.insert(*member);
            }
        }
    }

    /// Whoever is stopped can start nobody. What it had started before is in the next snapshot, after which it can be
    /// killed, and none has slipped away. A group is stopped and killed as one: no fork comes in between.
    fn force(&mut self, snapshot: &Snapshot, members: &[Identity]) {
        for (group, member) in snapshot.groups(&self.known) {
            member.send_group(group, if self.frozen_groups.insert(group) { Signal::STOP } else { Signal::KILL });
        }
        for member in members {
            if self.frozen.contains(member) {
                member.send(&[Signal::KILL]);
            } else if member.send(&[Signal::STOP]) {
                self.frozen.insert(*member);
            }
        }
    }

    /// Better dead than stopped for ever.
    fn kill(&mut self, snapshot: &Snapshot, members: &[Identity]) {
        for (group, member) in snapshot.groups(&self.known) {
            member.send_group(group, Signal::KILL);
        }
        for member in members {
            member.send(&[Signal::KILL]);
        }
    }
}

/// Climbs the ladder to its end.
async fn climb(kit: &Kit, mut ladder: Ladder, grace: Duration) -> Stopped {
    let begun = Instant::now();
    let asking = grace.min(LONGEST_GRACE);
    let mut pause = SCAN_PAUSE;
    let mut only_strays: Option<Instant> = None;
    loop {
        let push = match begun.elapsed() {
            elapsed if elapsed < asking => Push::Ask,
            elapsed if elapsed < asking + FORCE => Push::Force,
            _ => Push::Kill,
        };
        let step = move |snapshot: &Snapshot| {
            let sight = ladder.step(snapshot, push);
            (ladder, sight)
        };
        let Some((back, sight)) = kit.scans.look(step).await else { return Stopped::Unconfirmed { pids: Vec::new() } };
        ladder = back;
        if ladder.certainty.is_reached() {
            return Stopped::Confirmed;
        }
        if sight.members.is_empty() && !sight.strays.is_empty() {
            if only_strays.get_or_insert_with(Instant::now).elapsed() > STRAY {
                return sight.unconfirmed();
            }
        } else {
            only_strays = None;
        }
        if push == Push::Kill {
            return sight.unconfirmed();
        }
        let hurry = push != Push::Ask || sight.members.is_empty();
        pause = if hurry { SCAN_PAUSE } else { (pause * 2).min(LONGEST_PAUSE) };
        sleep(pause).await;
    }
}

fn pids<'i>(identities: impl Iterator<Item = &'i Identity>) -> Vec<u32> {
    let mut pids: Vec<u32> = identities.map(|identity| identity.pid.as_raw_pid().unsigned_abs()).collect();
    pids.sort_unstable();
    pids
}
