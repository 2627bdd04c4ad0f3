//! The raw baselines: what the same work costs with system calls alone.
//!
//! A terminal pair, a program on it, a blocking read loop, a wait. No runtime, no log, no lookup.
#![allow(unsafe_code, reason = "the baseline is made of bare system calls")]

#[cfg(target_os = "linux")]
mod spawn;

/// The baselines have been measured and checked on Linux only.
#[cfg(not(target_os = "linux"))]
mod spawn {
    pub(super) fn spawn(_argv: &[&std::ffi::CStr], _slave: &std::os::fd::OwnedFd) -> std::io::Result<libc::pid_t> {
        Err(std::io::Error::new(std::io::ErrorKind::Unsupported, "the bench runs on Linux"))
    }
}

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;

/// A program on a terminal of its own.
pub(crate) struct OnPty {
    master: OwnedFd,
    pid: libc::pid_t,
}

impl OnPty {
    /// Opens a pair and starts `argv` on it, looked for on the path, as the leader of a session of its own.
    pub(crate) fn spawn(argv: &[&CStr]) -> io::Result<Self> {
        let (master, slave) = open_pair()?;
        let pid = spawn::spawn(argv, &slave)?;
        // The program holds its own by now.
        drop(slave);
        Ok(Self { master, pid })
    }

    /// Reads to the end and waits. Returns how many bytes came and the exit code.
    pub(crate) fn drain(self, buffer: &mut [u8]) -> io::Result<(u64, i32)> {
        let mut total = 0;
        loop {
            // SAFETY: the buffer is ours and as long as we say.
            let read = unsafe { libc::read(self.master.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len()) };
            match u64::try_from(read) {
                // Linux says EIO when nobody holds the terminal any more, others say 0.
                Ok(0) | Err(_) => break,
                Ok(read) => total += read,
            }
        }
        let mut status = 0;
        // SAFETY: `pid` is our child, waited for only here, and `status` is ours.
        if unsafe { libc::waitpid(self.pid, &raw mut status, 0) } != self.pid {
            return Err(io::Error::last_os_error());
        }
        let code = if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { -1 };
        Ok((total, code))
    }
}

fn open_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let (mut master, mut slave) = (-1, -1);
    // SAFETY: both numbers are ours, and null asks for neither a name nor settings.
    let opened =
        unsafe { libc::openpty(&raw mut master, &raw mut slave, ptr::null_mut(), ptr::null_mut(), ptr::null_mut()) };
    if opened != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `openpty` has just given both to us alone.
    let pair = unsafe { (OwnedFd::from_raw_fd(master), OwnedFd::from_raw_fd(slave)) };
    for end in [&pair.0, &pair.1] {
        // SAFETY: the descriptor is open.
        if unsafe { libc::fcntl(end.as_raw_fd(), libc::F_SETFD, libc::FD_CLOEXEC) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(pair)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_on_a_raw_terminal_is_read_to_its_end() {
        let mut buffer = [0; 4096];
        let run =
            |command: &CStr, buffer: &mut [u8]| OnPty::spawn(&[c"sh", c"-c", command]).unwrap().drain(buffer).unwrap();
        assert_eq!(run(c"echo hi", &mut buffer), (4, 0));
        assert_eq!(buffer.get(..4), Some(&b"hi\r\n"[..]));
        assert_eq!(run(c"test -t 0 && test -t 2 && (: </dev/tty) && exit 7", &mut buffer), (0, 7));
        assert!(OnPty::spawn(&[c"no-such-program-here"]).is_err());
    }
}
