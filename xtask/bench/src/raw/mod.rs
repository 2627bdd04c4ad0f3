//! The raw baselines: what the same work costs with system calls alone.
//!
//! A terminal pair or a pipe, a program on it, a blocking read loop, a wait. No runtime, no log, no lookup.
#![allow(unsafe_code, reason = "the baseline is made of bare system calls")]

mod channel;
pub(crate) mod clock;
mod crowd;
mod flood;
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
use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::process::{Command, Stdio};
use std::ptr;
use std::time::Duration;

pub(crate) use channel::Channel;
pub(crate) use crowd::Crowd;
pub(crate) use flood::{FLOOD, Flood, flood};

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

    /// Types something, which must fit into the terminal.
    pub(crate) fn write(&self, input: &[u8]) -> io::Result<()> {
        // SAFETY: the input is as long as we say.
        let written = unsafe { libc::write(self.master.as_raw_fd(), input.as_ptr().cast(), input.len()) };
        match usize::try_from(written) {
            Ok(written) if written == input.len() => Ok(()),
            Ok(_) => Err(io::ErrorKind::WriteZero.into()),
            Err(_) => Err(io::Error::last_os_error()),
        }
    }

    /// Reads once: how many bytes came, 0 at the end. Linux says EIO when nobody holds the terminal any more, others
    /// say 0.
    pub(crate) fn read(&self, buffer: &mut [u8]) -> usize {
        // SAFETY: the buffer is ours and as long as we say.
        let read = unsafe { libc::read(self.master.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len()) };
        usize::try_from(read).unwrap_or(0)
    }

    /// Reads until the whole of `text` has come and nothing else.
    pub(crate) fn expect(&self, text: &[u8]) -> io::Result<()> {
        let mut buffer = [0; 4096];
        let mut came = 0;
        while came < text.len() {
            match self.read(buffer.get_mut(came..).unwrap_or_default()) {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                read => came += read,
            }
        }
        if buffer.get(..came) == Some(text) { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) }
    }

    /// Reads to the end and waits. Returns how much of the buffer was filled, which must be large enough, and the exit
    /// code.
    pub(crate) fn drain_into(self, buffer: &mut [u8]) -> io::Result<(usize, i32)> {
        let mut filled = 0;
        loop {
            match self.read(buffer.get_mut(filled..).unwrap_or_default()) {
                0 => break,
                read => filled += read,
            }
        }
        Ok((filled, self.wait()?))
    }

    /// Reads to the end and waits. Returns how many bytes came and the exit code.
    pub(crate) fn drain(self, buffer: &mut [u8]) -> io::Result<(u64, i32)> {
        let mut total = 0;
        loop {
            match self.read(buffer) {
                0 => break,
                read => total += read as u64,
            }
        }
        Ok((total, self.wait()?))
    }

    /// Hangs up, which ends whatever does not mind the signal, and waits for it.
    pub(crate) fn hang_up(self) -> io::Result<()> {
        let Self { master, pid } = self;
        drop(master);
        wait(pid).map(drop)
    }

    fn wait(&self) -> io::Result<i32> {
        wait(self.pid)
    }
}

/// Waits for a child and returns its exit code, -1 for a signal.
fn wait(pid: libc::pid_t) -> io::Result<i32> {
    let mut status = 0;
    // SAFETY: `pid` is our child, waited for only here, and `status` is ours.
    if unsafe { libc::waitpid(pid, &raw mut status, 0) } != pid {
        return Err(io::Error::last_os_error());
    }
    Ok(if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { -1 })
}

/// Runs a program on a pipe as the system gives it, reads it to the end, and waits. Returns how many bytes came and the
/// exit code.
pub(crate) fn drain_pipe(program: &str, args: &[&str], buffer: &mut [u8]) -> io::Result<(u64, Option<i32>)> {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null());
    drain_command(command, buffer)
}

/// The same with a command that is ready to be started.
pub(crate) fn drain_command(mut command: Command, buffer: &mut [u8]) -> io::Result<(u64, Option<i32>)> {
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let mut total = 0;
    if let Some(mut pipe) = child.stdout.take() {
        loop {
            match pipe.read(buffer)? {
                0 => break,
                read => total += read as u64,
            }
        }
    }
    Ok((total, child.wait()?.code()))
}

/// The processor time that this process has taken, its children not counted.
pub(crate) fn cpu_time() -> Duration {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: `usage` is ours; all zeros is a value of it, and the call cannot fail with these arguments.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    };
    let time = |time: libc::timeval| Duration::new(time.tv_sec as u64, time.tv_usec as u32 * 1000);
    time(usage.ru_utime) + time(usage.ru_stime)
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

    #[test]
    fn a_program_on_a_raw_terminal_answers_and_is_hung_up() {
        let cat = OnPty::spawn(&[c"sh", c"-c", c"stty -echo; echo ready; exec cat"]).unwrap();
        cat.expect(b"ready\r\n").unwrap();
        cat.write(b"x\n").unwrap();
        cat.expect(b"x\r\n").unwrap();
        cat.write(b"y\n").unwrap();
        assert_eq!(cat.expect(b"x\r\n").unwrap_err().kind(), io::ErrorKind::InvalidData);
        cat.hang_up().unwrap();
    }

    #[test]
    fn a_program_on_a_raw_pipe_is_read_to_its_end() {
        let mut buffer = [0; 4096];
        assert_eq!(drain_pipe("sh", &["-c", "seq 3; exit 7"], &mut buffer).unwrap(), (6, Some(7)));
    }

    #[test]
    fn work_takes_processor_time() {
        let before = cpu_time();
        while cpu_time() == before {}
    }
}
