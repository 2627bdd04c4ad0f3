//! Children that somebody else in this process starts and waits for.

use std::io;

use rustix::process::Pid;

use crate::children;
use crate::stat::{self, Identity};

/// Says that a child of this process is none of the adapter's, for as long as it is kept: it is neither reaped nor
/// stopped as an orphan would be, nor is what it starts and keeps.
///
/// A child that stays in the server's own session is known without it. One that makes a session of its own looks
/// exactly like an orphan. Keep it until the child has been waited for.
#[derive(Debug)]
pub struct Foreign(Identity);

impl Foreign {
    /// Starts a child with `start`, which returns it and its process id, while nothing else is started: the child
    /// inherits no descriptor that is about to become a session's, and is known before it can end.
    ///
    /// # Errors
    /// What `start` failed with, or that the child cannot be found.
    pub fn start<C>(start: impl FnOnce() -> io::Result<(C, u32)>) -> io::Result<(C, Self)> {
        let mut children = children::lock();
        let (child, pid) = start()?;
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| io::Error::other("no process has this id"))?;
        let identity = stat::read_once(pid)?.identity();
        children.add_foreign(identity);
        Ok((child, Self(identity)))
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        children::lock().remove_foreign(self.0);
    }
}
