//! Whose a session id is: every session that this server has started, by the number that it shares with its leader.
//!
//! The kernel gives a number to nobody else while a process has it or is in the session of that name. A leader that is
//! not reaped therefore vouches for its session. Later the session may be empty and its number another's: a process
//! with that session id belongs to the old session only if it started while that was occupied for certain.

use std::collections::{HashMap, HashSet};

use rustix::process::Pid;

use sessiond_core::Mark;

use crate::stat::Identity;

/// So many ended sessions, and as many again as were left by the last scan, may wait for a scan to tell which of them
/// are empty.
const CROWD: usize = 1024;

/// The sessions of this server's processes.
#[derive(Default)]
pub(crate) struct Sids {
    /// Those whose leader is not reaped.
    living: HashMap<Pid, Mark>,
    /// The others, until a scan has seen nobody in them. How long anybody asks for them does not matter: who is left
    /// in them must be told apart from what others have started.
    ended: HashMap<Pid, Ended>,
    /// How many of the ended ones the last scan has left.
    left: usize,
}

struct Ended {
    mark: Mark,
    /// The latest tick in which somebody was in the session for certain.
    occupied: u64,
}

impl Sids {
    /// A leader was born. If its number was an ended session's, that is empty.
    pub(crate) fn begin(&mut self, leader: Pid, mark: Mark) {
        self.ended.remove(&leader);
        self.living.insert(leader, mark);
    }

    /// A leader was born and has died, and nobody was told of it.
    pub(crate) fn abort(&mut self, leader: Pid) {
        self.living.remove(&leader);
    }

    /// A leader was reaped in this tick.
    pub(crate) fn end(&mut self, leader: Pid, now: u64) {
        if let Some(mark) = self.living.remove(&leader) {
            self.ended.insert(leader, Ended { mark, occupied: now });
        }
    }

    /// Whether this is a leader that has not been reaped.
    pub(crate) fn lives(&self, pid: Pid) -> bool {
        self.living.contains_key(&pid)
    }

    /// Whose a process with this session id is, if that can be proven by it.
    pub(crate) fn whose(&self, sid: i32, identity: Identity) -> Option<Mark> {
        let sid = Pid::from_raw(sid)?;
        self.living.get(&sid).copied().or_else(|| Some(self.ended_session(sid, identity)?.mark))
    }

    /// A start is known to the tick. Whoever started in the very tick of the leader's end counts as of its session:
    /// most background processes of a short command do, and a number comes round only after all the others.
    fn ended_session(&self, sid: Pid, identity: Identity) -> Option<&Ended> {
        self.ended.get(&sid).filter(|ended| identity.pid != sid && identity.started <= ended.occupied)
    }

    /// Learns from a scan that began in the tick `begun`: a session in which it has seen somebody was occupied then,
    /// and one in which it has seen nobody, though nothing was hidden from it, is not asked for any more.
    pub(crate) fn looked(&mut self, begun: u64, complete: bool, seen: impl Iterator<Item = (i32, Identity)>) {
        if self.ended.is_empty() {
            return;
        }
        let occupied: HashSet<Pid> = seen
            .filter_map(|(sid, identity)| {
                let sid = Pid::from_raw(sid)?;
                self.ended_session(sid, identity).map(|_| sid)
            })
            .collect();
        self.ended.retain(|sid, ended| {
            if occupied.contains(sid) {
                // What starts in the scan's own tick may start after it has looked there.
                ended.occupied = ended.occupied.max(begun.saturating_sub(1));
                return true;
            }
            !complete || ended.occupied >= begun
        });
        self.left = self.ended.len();
    }

    /// Whether so many ended sessions are kept that a scan should tell which of them are empty.
    pub(crate) fn are_crowded(&self) -> bool {
        self.ended.len() > CROWD + 2 * self.left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SID: i32 = 100;

    fn leader() -> Pid {
        Pid::from_raw(SID).unwrap()
    }

    fn process(pid: i32, started: u64) -> Identity {
        Identity { pid: Pid::from_raw(pid).unwrap(), started }
    }

    fn begun() -> (Sids, Mark) {
        let (mut sids, mark) = (Sids::default(), Mark::random().unwrap());
        sids.begin(leader(), mark);
        (sids, mark)
    }

    #[test]
    fn a_living_leader_vouches_for_its_session() {
        let (sids, mark) = begun();
        assert_eq!(sids.whose(SID, process(SID, 5)), Some(mark));
        assert_eq!(sids.whose(SID, process(200, 1_000_000)), Some(mark));
        assert_eq!(sids.whose(SID + 1, process(200, 5)), None);
        assert_eq!(sids.whose(0, process(200, 5)), None);
    }

    #[test]
    fn the_number_of_an_ended_session_proves_nothing_for_whoever_started_later() {
        let (mut sids, mark) = begun();
        sids.end(leader(), 50);
        assert_eq!(sids.whose(SID, process(200, 50)), Some(mark), "it was there before the number was free");
        assert_eq!(sids.whose(SID, process(201, 51)), None, "the number may have been another's by then");
        assert_eq!(sids.whose(SID, process(SID, 50)), None, "the leader is dead: another has its number");
    }

    #[test]
    fn somebody_who_stays_in_an_ended_session_vouches_for_it() {
        let (mut sids, mark) = begun();
        sids.end(leader(), 50);
        sids.looked(80, true, [(SID, process(200, 40))].into_iter());
        assert_eq!(sids.whose(SID, process(201, 79)), Some(mark));
        assert_eq!(sids.whose(SID, process(201, 80)), None);
    }

    #[test]
    fn an_ended_session_is_kept_until_a_complete_scan_sees_nobody_in_it() {
        let (mut sids, mark) = begun();
        sids.end(leader(), 50);
        let member = process(200, 40);
        sids.looked(50, true, [].into_iter());
        assert_eq!(sids.whose(SID, member), Some(mark), "that scan began before the end");
        sids.looked(80, false, [].into_iter());
        assert_eq!(sids.whose(SID, member), Some(mark), "that scan could not see everything");
        sids.looked(80, true, [(SID, process(SID, 60)), (SID, process(201, 60))].into_iter());
        assert_eq!(sids.whose(SID, member), None, "others have the number");
    }

    #[test]
    fn a_new_leader_takes_the_number_over() {
        let (mut sids, old) = begun();
        sids.end(leader(), 50);
        let new = old.sibling().unwrap();
        sids.begin(leader(), new);
        assert_eq!(sids.whose(SID, process(200, 40)), Some(new));
        sids.end(leader(), 90);
        assert_eq!(sids.whose(SID, process(200, 90)), Some(new));
    }

    #[test]
    fn ended_sessions_that_no_scan_has_looked_at_are_noticed() {
        let mut sids = Sids::default();
        let mark = Mark::random().unwrap();
        for number in 1..=CROWD as i32 + 1 {
            assert!(!sids.are_crowded());
            let leader = Pid::from_raw(number).unwrap();
            sids.begin(leader, mark);
            sids.end(leader, 50);
        }
        assert!(sids.are_crowded());
        sids.looked(80, true, [].into_iter());
        assert!(!sids.are_crowded());
    }
}
