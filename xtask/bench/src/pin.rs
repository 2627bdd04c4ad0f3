//! One processor for both sides of a conversation.
//!
//! Where the scheduler puts a process that has just been woken decides over 9 or 80 µs a call on a quiet machine with
//! virtual processors, and it decides anew for each pair of processes. On one processor both sides are measured alike.

#![allow(unsafe_code, reason = "the system call has no safe interface here; each block says why it is sound")]

use std::io;
use std::mem::{MaybeUninit, size_of};

/// Keeps the calling thread, and whatever it starts, on one processor until it is dropped.
pub(crate) struct Pinned(libc::cpu_set_t);

impl Pinned {
    /// The processor that the thread is on now.
    ///
    /// # Errors
    /// The system refuses.
    pub(crate) fn here() -> io::Result<Self> {
        let mut before = MaybeUninit::<libc::cpu_set_t>::zeroed();
        // SAFETY: the set is as large as is said; zeroes are an empty one.
        let (known, before, cpu) = unsafe {
            let known = libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), before.as_mut_ptr());
            (known, before.assume_init(), libc::sched_getcpu())
        };
        let cpu = usize::try_from(cpu).map_err(|_| io::Error::last_os_error())?;
        if known != 0 {
            return Err(io::Error::last_os_error());
        }
        let mut one = MaybeUninit::<libc::cpu_set_t>::zeroed();
        // SAFETY: as above; the system numbers no processor that the set cannot hold.
        let one = unsafe {
            libc::CPU_SET(cpu, &mut *one.as_mut_ptr());
            one.assume_init()
        };
        set(&one)?;
        Ok(Self(before))
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // What was allowed before is allowed again.
        let _ = set(&self.0);
    }
}

fn set(to: &libc::cpu_set_t) -> io::Result<()> {
    // SAFETY: the set is as large as is said.
    if unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), to) } == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
