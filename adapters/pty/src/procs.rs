//! One look at everything that descends from this server.

use std::collections::{HashMap, HashSet};

use rustix::process::{Pid, getpid};

use sessiond_core::Mark;

use crate::children::{self, Children};
use crate::stat::{self, Identity, Stat};
use crate::{sys, view};

/// A process that descends from this server.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) identity: Identity,
    group: i32,
    /// Where its parent stands in the snapshot; none for a child of the server.
    parent: Option<usize>,
    /// Whose it is, by its session or by the mark in its environment.
    pub(crate) mark: Option<Mark>,
    /// Somebody else in this server has started it: it or its ancestor is in the server's own session, or was entered
    /// as foreign.
    pub(crate) foreign: bool,
}

/// Everything that descends from this server, parents before their children.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) processes: Vec<Process>,
    /// Whether everything could be looked at.
    pub(crate) complete: bool,
}

impl Snapshot {
    /// Looks now. Takes tens of milliseconds where thousands of processes run.
    pub(crate) fn take() -> Self {
        let begun = stat::now();
        // Nothing seen and not complete where there is nothing to be seen.
        let (stats, all_read) = stat::read_all().unwrap_or_default();
        // The first process of all is always there; who cannot see it cannot see others either.
        let first = stats.iter().any(|stat| stat.pid == Pid::INIT);
        let mut snapshot = Self { processes: Vec::new(), complete: all_read && first && view::is_whole() };
        snapshot.add_descendants(&stats, begun);
        snapshot
    }

    fn add_descendants(&mut self, stats: &[Stat], begun: u64) {
        let mut by_parent: HashMap<i32, Vec<&Stat>> = HashMap::new();
        for stat in stats {
            by_parent.entry(stat.parent).or_default().push(stat);
        }
        let mut children = children::lock();
        children.looked(begun, self.complete, stats);
        for stat in by_parent.get(&getpid().as_raw_pid()).into_iter().flatten() {
            self.add_child(stat, &mut children);
        }
        let mut next = 0;
        while let Some(parent) = self.processes.get(next) {
            let (pid, foreign) = (parent.identity.pid, parent.foreign);
            for stat in by_parent.get(&pid.as_raw_pid()).into_iter().flatten() {
                self.add(stat, Some(next), foreign, &children);
            }
            next += 1;
        }
        drop(children);
        // Only an orphan whose session proves nothing must show its environment.
        let unclaimed = |process: &&mut Process| process.parent.is_none() && process.mark.is_none() && !process.foreign;
        for process in self.processes.iter_mut().filter(unclaimed) {
            process.mark = stat::read_mark(process.identity.pid);
        }
    }

    /// A child of the server: a leader, an orphan that it has adopted, or what somebody else here has started.
    fn add_child(&mut self, stat: &Stat, children: &mut Children) {
        let own_session = sys::session_of(None).is_ok_and(|own| own == stat.session);
        let foreign = own_session || children.is_foreign(stat.identity());
        if stat.zombie && !foreign && children.reap_orphan(stat.pid) {
            return;
        }
        self.add(stat, None, foreign, children);
    }

    fn add(&mut self, stat: &Stat, parent: Option<usize>, foreign: bool, children: &Children) {
        let mark = children.whose(stat);
        self.processes.push(Process { identity: stat.identity(), group: stat.group, parent, mark, foreign });
    }

    /// Those that `claim` takes, those known from before, and everything that descends from them. They are known
    /// from here on.
    pub(crate) fn members(&self, claim: impl Fn(&Process) -> bool, known: &mut HashSet<Identity>) -> Vec<Identity> {
        let mut is_member = vec![false; self.processes.len()];
        let mut members = Vec::new();
        for (place, process) in self.processes.iter().enumerate() {
            let inherited = process.parent.and_then(|parent| is_member.get(parent).copied()).unwrap_or(false);
            if (inherited || known.contains(&process.identity) || claim(process))
                && let Some(member) = is_member.get_mut(place)
            {
                *member = true;
                members.push(process.identity);
            }
        }
        known.extend(&members);
        members
    }

    /// The groups that these are in, each with one of them. A group lies within one session, and whoever made that
    /// session is the ancestor of all who are in it: a group has no others.
    pub(crate) fn groups(&self, known: &HashSet<Identity>) -> HashMap<Pid, Identity> {
        let own = sys::own_group();
        let members = self.processes.iter().filter(|process| known.contains(&process.identity) && !process.foreign);
        members
            .filter(|member| member.group != own)
            .filter_map(|member| Some((Pid::from_raw(member.group)?, member.identity)))
            .collect()
    }

    /// Adopted processes that nobody can claim and that are not older than `since`: they may be anybody's.
    pub(crate) fn strays(&self, since: u64, known: &HashSet<Identity>) -> Vec<Identity> {
        let stray = |process: &&Process| {
            process.parent.is_none()
                && process.mark.is_none()
                && !process.foreign
                && process.identity.started >= since
                && !known.contains(&process.identity)
        };
        self.processes.iter().filter(stray).map(|process| process.identity).collect()
    }
}
