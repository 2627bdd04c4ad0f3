//! One process as `/proc` shows it.

use std::fs::{self, File};
use std::io::{self, Read};

use rustix::io::Errno;
use rustix::param::clock_ticks_per_second;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open, pidfd_send_signal};
use rustix::time::{ClockId, clock_gettime};

use sessiond_core::Mark;

use crate::children;

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
    /// Sends signals to this process and to no other that may have its id by now. Returns whether it has them or has
    /// gone.
    pub(crate) fn send(self, signals: &[Signal]) -> bool {
        let open = || pidfd_open(self.pid, PidfdFlags::empty()).map_err(io::Error::from);
        let pidfd = match retried(open) {
            Ok(pidfd) => pidfd,
            Err(error) => return has_gone(&error),
        };
        // The descriptor stays with whoever had the id when it was opened: was it the one that is meant?
        match read(self.pid) {
            Ok(stat) if stat.started == self.started => {
                signals.iter().all(|signal| !matches!(pidfd_send_signal(&pidfd, *signal), Err(Errno::PERM)))
            }
            Ok(_) => true,
            Err(error) => has_gone(&error),
        }
    }

    /// Sends a signal to the whole group of this process, if it is in that group: nobody in it can start another
    /// behind the signal's back. A living leader's group needs no proof, because its number is nobody else's.
    pub(crate) fn send_group(self, group: Pid, signal: Signal) {
        let children = children::lock();
        if children.lives(group) {
            let _ = kill_process_group(group, signal);
            return;
        }
        drop(children);
        if read(self.pid).is_ok_and(|stat| stat.started == self.started && stat.group == group.as_raw_pid()) {
            let _ = kill_process_group(group, signal);
        }
    }
}

/// What `/proc/PID/stat` says, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) pid: Pid,
    pub(crate) parent: i32,
    pub(crate) group: i32,
    pub(crate) session: i32,
    pub(crate) started: u64,
    pub(crate) zombie: bool,
}

impl Stat {
    pub(crate) fn identity(&self) -> Identity {
        Identity { pid: self.pid, started: self.started }
    }

    fn was_released(&self) -> bool {
        self.group < 0 || self.session < 0
    }

    /// The name stands in parentheses and may hold anything, parentheses included: the last one closes it. A process
    /// that is being released has no group and no session any more, which are -1 then.
    fn parse(pid: Pid, text: &[u8]) -> Option<Self> {
        let rest = text.get(memchr::memrchr(b')', text)? + 2..)?;
        let fields = std::str::from_utf8(rest).ok()?;
        let mut fields = fields.split_ascii_whitespace();
        let zombie = matches!(fields.next()?, "Z" | "X");
        let parent = fields.next()?.parse().ok()?;
        let group = fields.next()?.parse().ok()?;
        let session = fields.next()?.parse().ok()?;
        let started = fields.nth(15)?.parse().ok()?;
        Some(Self { pid, parent, group, session, started, zombie })
    }
}

/// Every process of the machine, and whether none had to be left out.
///
/// # Errors
/// There is no descriptor to list them with.
pub(crate) fn read_all() -> io::Result<(Vec<Stat>, bool)> {
    let mut all = Vec::with_capacity(256);
    let mut complete = true;
    for entry in retried(|| fs::read_dir("/proc"))? {
        let Some(pid) = entry?.file_name().to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw) else {
            continue;
        };
        match read(pid) {
            Ok(stat) => all.push(stat),
            Err(error) => complete &= has_gone(&error),
        }
    }
    Ok((all, complete))
}

/// One process.
///
/// # Errors
/// It has gone, or may not be looked at.
pub(crate) fn read(pid: Pid) -> io::Result<Stat> {
    retried(|| open(pid)).and_then(|file| parse(pid, file))
}

/// The same for whoever holds the children locked.
///
/// # Errors
/// As for [`read`].
pub(crate) fn read_once(pid: Pid) -> io::Result<Stat> {
    open(pid).and_then(|file| parse(pid, file))
}

fn open(pid: Pid) -> io::Result<File> {
    File::open(format!("/proc/{}/stat", pid.as_raw_pid()))
}

fn parse(pid: Pid, mut file: File) -> io::Result<Stat> {
    // One read gives all of it; it is a few hundred bytes long.
    let mut text = [0; 1024];
    let length = file.read(&mut text)?;
    let stat = Stat::parse(pid, text.get(..length).unwrap_or_default()).ok_or(io::ErrorKind::InvalidData)?;
    if stat.was_released() { Err(io::ErrorKind::NotFound.into()) } else { Ok(stat) }
}

/// The children of this process, exited ones included, some of them twice, if the system can list them. Whoever calls it holds the
/// children locked, so that none of ours is reaped meanwhile: the kernel may leave one out behind one that goes.
pub(crate) fn own_children() -> Option<Vec<Pid>> {
    let threads = own_threads()?;
    let mut all = Vec::new();
    // A thread that ends hands its children over, perhaps to one that was looked at already: hence twice.
    for thread in threads.iter().chain(&threads) {
        let list = fs::read_to_string(format!("/proc/self/task/{thread}/children")).ok()?;
        for child in list.split_ascii_whitespace() {
            all.push(Pid::from_raw(child.parse().ok()?)?);
        }
    }
    if own_threads()? != threads {
        return None;
    }
    Some(all)
}

fn own_threads() -> Option<Vec<String>> {
    let entries = fs::read_dir("/proc/self/task").ok()?;
    let mut threads = entries.map(|entry| entry.ok()?.file_name().into_string().ok()).collect::<Option<Vec<_>>>()?;
    threads.sort_unstable();
    Some(threads)
}

/// The mark in a process's environment, where it may be read.
pub(crate) fn read_mark(pid: Pid) -> Option<Mark> {
    find_mark(retried(|| open_environ(pid)).ok()?)
}

/// The same for whoever holds the children locked.
pub(crate) fn read_mark_once(pid: Pid) -> Option<Mark> {
    find_mark(open_environ(pid).ok()?)
}

fn open_environ(pid: Pid) -> io::Result<File> {
    File::open(format!("/proc/{}/environ", pid.as_raw_pid()))
}

fn find_mark(file: File) -> Option<Mark> {
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
    use rustix::process::getpid;

    use super::*;

    #[test]
    fn a_name_with_parentheses_does_not_confuse() {
        let text = b"42 (a) R (b) S 7 40 41 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 987654 1000 2\n";
        let pid = Pid::from_raw(42).unwrap();
        let expected = Stat { pid, parent: 7, group: 40, session: 41, started: 987_654, zombie: false };
        assert_eq!(Stat::parse(pid, text), Some(expected));
        assert_eq!(Stat::parse(pid, b"42 (a"), None);
        assert_eq!(Stat::parse(pid, b"42 (a) S 7"), None);
    }

    #[test]
    fn a_process_that_is_being_released_has_gone() {
        let text = b"42 (a) Z 0 -1 -1 0 -1 4194316 1 2 3 4 5 6 7 8 20 0 1 0 987654 0 0\n";
        assert!(Stat::parse(Pid::from_raw(42).unwrap(), text).unwrap().was_released());
    }

    #[test]
    fn this_process_has_started_before_now() {
        let own = read(getpid()).unwrap();
        assert!(own.started <= now());
        assert!(!own.zombie);
    }
}
