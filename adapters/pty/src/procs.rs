//! One look at everything that descends from this server.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, Read};

use rustix::io::Errno;
use rustix::param::clock_ticks_per_second;
use rustix::process::{Pid, PidfdFlags, Signal, getpid, getsid, pidfd_open, pidfd_send_signal};
use rustix::time::{ClockId, clock_gettime};

use crate::children;
use crate::mark::Mark;

/// More than this of a process's environment is not searched for a mark: it is as much as the system takes at a start.
const MAX_ENVIRON: u64 = 4 * 1024 * 1024;

/// The present in clock ticks since the machine's start: what `/proc` gives as a process's start.
pub(crate) fn now() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    let (seconds, nanoseconds) = (now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs());
    let hertz = clock_ticks_per_second().max(1);
    seconds * hertz + nanoseconds / (1_000_000_000 / hertz).max(1)
}

/// A process and the moment of its start, which together are never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Identity {
    pub(crate) pid: Pid,
    pub(crate) started: u64,
}

impl Identity {
    /// Sends signals to this process and to no other that may have its id by now.
    pub(crate) fn send(self, signals: &[Signal]) {
        let open = || pidfd_open(self.pid, PidfdFlags::empty()).map_err(io::Error::from);
        let Ok(pidfd) = retried(open) else { return };
        // The descriptor stays with whoever had the id when it was opened: was it the one that is meant?
        if read_stat(self.pid).is_ok_and(|stat| stat.started == self.started) {
            for signal in signals {
                let _ = pidfd_send_signal(&pidfd, *signal);
            }
        }
    }
}

/// A process that descends from this server.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) identity: Identity,
    /// Where its parent stands in the snapshot; none for a child of the server.
    parent: Option<usize>,
    /// Whose it is, by its session or by the mark in its environment.
    pub(crate) mark: Option<Mark>,
    /// Somebody else in this server has started it: it or its ancestor is in the server's own session.
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
        // Nothing seen and not complete where there is nothing to be seen.
        let (stats, complete) = read_all().unwrap_or_default();
        let mut snapshot = Self { processes: Vec::new(), complete };
        snapshot.add_descendants(&stats);
        snapshot
    }

    fn add_descendants(&mut self, stats: &[Stat]) {
        let mut by_parent: HashMap<i32, Vec<&Stat>> = HashMap::new();
        for stat in stats {
            by_parent.entry(stat.parent).or_default().push(stat);
        }
        let server = getpid();
        let own_session = getsid(None).map_or(0, Pid::as_raw_pid);
        for stat in by_parent.get(&server.as_raw_pid()).into_iter().flatten() {
            self.add_child(stat, own_session);
        }
        let mut next = 0;
        while let Some(parent) = self.processes.get(next) {
            let (pid, foreign) = (parent.identity.pid, parent.foreign);
            for stat in by_parent.get(&pid.as_raw_pid()).into_iter().flatten() {
                let mark = session_of(stat);
                self.processes.push(Process { identity: stat.identity(), parent: Some(next), mark, foreign });
            }
            next += 1;
        }
    }

    /// A child of the server: a leader, an orphan that it has adopted, or what somebody else here has started.
    fn add_child(&mut self, stat: &Stat, own_session: i32) {
        let foreign = stat.session == own_session;
        if stat.zombie && !foreign && children::lock().reap_orphan(stat.pid) {
            return;
        }
        let mark = session_of(stat);
        // Only an orphan in a session that it has made itself must show its environment.
        let mark = if mark.is_none() && !foreign { read_mark(stat.pid) } else { mark };
        self.processes.push(Process { identity: stat.identity(), parent: None, mark, foreign });
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

fn session_of(stat: &Stat) -> Option<Mark> {
    children::lock().session(Pid::from_raw(stat.session)?)
}

/// What `/proc/PID/stat` says, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stat {
    pid: Pid,
    parent: i32,
    session: i32,
    started: u64,
    zombie: bool,
}

impl Stat {
    fn identity(&self) -> Identity {
        Identity { pid: self.pid, started: self.started }
    }

    /// The name stands in parentheses and may hold anything, parentheses included: the last one closes it.
    fn parse(pid: Pid, text: &[u8]) -> Option<Self> {
        let rest = text.get(memchr::memrchr(b')', text)? + 2..)?;
        let fields = std::str::from_utf8(rest).ok()?;
        let mut fields = fields.split_ascii_whitespace();
        let zombie = matches!(fields.next()?, "Z" | "X");
        let parent = fields.next()?.parse().ok()?;
        let session = fields.nth(1)?.parse().ok()?;
        let started = fields.nth(15)?.parse().ok()?;
        Some(Self { pid, parent, session, started, zombie })
    }
}

/// Every process of the machine, and whether none had to be left out.
fn read_all() -> io::Result<(Vec<Stat>, bool)> {
    let mut all = Vec::with_capacity(256);
    let mut complete = true;
    for entry in retried(|| fs::read_dir("/proc"))? {
        let Some(pid) = entry?.file_name().to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw) else {
            continue;
        };
        match read_stat(pid) {
            Ok(stat) => all.push(stat),
            Err(error) => complete &= has_gone(&error),
        }
    }
    Ok((all, complete))
}

fn read_stat(pid: Pid) -> io::Result<Stat> {
    let mut file = retried(|| File::open(format!("/proc/{}/stat", pid.as_raw_pid())))?;
    // One read gives all of it; it is a few hundred bytes long.
    let mut text = [0; 1024];
    let length = file.read(&mut text)?;
    Stat::parse(pid, text.get(..length).unwrap_or_default()).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// The mark in a process's environment, where it may be read.
fn read_mark(pid: Pid) -> Option<Mark> {
    let file = retried(|| File::open(format!("/proc/{}/environ", pid.as_raw_pid()))).ok()?;
    let mut environ = Vec::new();
    file.take(MAX_ENVIRON).read_to_end(&mut environ).ok()?;
    Mark::find(&environ)
}

/// While a child is born the limit of open files is lower. Once more, when no child can be born.
fn retried<T>(open: impl Fn() -> io::Result<T>) -> io::Result<T> {
    match open() {
        Err(error) if error.raw_os_error() == Some(Errno::MFILE.raw_os_error()) => {
            let _children = children::lock();
            open()
        }
        opened => opened,
    }
}

/// A process that ended between the listing and the reading of it.
fn has_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(Errno::SRCH.raw_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_does_not_confuse() {
        let text = b"42 (a) R (b) S 7 42 41 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 987654 1000 2\n";
        let pid = Pid::from_raw(42).unwrap();
        let expected = Stat { pid, parent: 7, session: 41, started: 987_654, zombie: false };
        assert_eq!(Stat::parse(pid, text), Some(expected));
        assert_eq!(Stat::parse(pid, b"42 (a"), None);
        assert_eq!(Stat::parse(pid, b"42 (a) S 7"), None);
    }

    #[test]
    fn this_process_has_started_before_now() {
        let own = read_stat(getpid()).unwrap();
        assert!(own.started <= now());
        assert!(!own.zombie);
    }
}
