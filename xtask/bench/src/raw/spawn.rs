//! Starts a program on a terminal with as few steps as there can be.

use std::ffi::CStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr;

/// What the child needs, in memory that it shares with us until its program runs.
struct Launch {
    argv: *const *const libc::c_char,
    terminal: libc::c_int,
    /// Why the program does not run; 0 while it does.
    error: libc::c_int,
}

/// Large enough for a search of the path.
const STACK: usize = 64 << 10;

/// The cheapest way to start a program: a child that borrows our memory until it runs, and nothing but the steps that
/// give it its terminal. The C library's spawn resets every signal as well.
pub(super) fn spawn(argv: &[&CStr], slave: &OwnedFd) -> io::Result<libc::pid_t> {
    let pointers: Vec<*const libc::c_char> = argv.iter().map(|arg| arg.as_ptr()).chain([ptr::null()]).collect();
    let mut launch = Launch { argv: pointers.as_ptr(), terminal: slave.as_raw_fd(), error: 0 };
    let mut stack: Vec<MaybeUninit<u128>> = Vec::with_capacity(STACK / size_of::<u128>());
    // SAFETY: one past the end of our allocation, and aligned, as a stack that grows downwards begins.
    let top = unsafe { stack.as_mut_ptr().add(stack.capacity()) };
    // SAFETY: with CLONE_VFORK we stand still until the child has run its program or ended, so everything it looks at
    // lives long enough, and `launch` is not touched from two sides. The child makes system calls only.
    let pid = unsafe {
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        libc::clone(run_program, top.cast(), flags, (&raw mut launch).cast())
    };
    if pid < 0 {
        return Err(io::Error::last_os_error());
    }
    if launch.error != 0 {
        // SAFETY: the child has ended, and nobody else waits for it.
        unsafe { libc::waitpid(pid, ptr::null_mut(), 0) };
        return Err(io::Error::from_raw_os_error(launch.error));
    }
    Ok(pid)
}

/// In the child: a session of its own, the terminal, the program.
extern "C" fn run_program(launch: *mut libc::c_void) -> libc::c_int {
    let launch: *mut Launch = launch.cast();
    // SAFETY: the parent stands still and keeps `launch` and what it points at.
    unsafe {
        let terminal = (*launch).terminal;
        let ready = libc::setsid() >= 0
            && libc::ioctl(terminal, libc::TIOCSCTTY, 0) == 0
            && (0..=2).all(|standard| libc::dup2(terminal, standard) >= 0);
        if ready {
            libc::execvp(*(*launch).argv, (*launch).argv);
        }
        (*launch).error = *libc::__errno_location();
        libc::_exit(127)
    }
}
