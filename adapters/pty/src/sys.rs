//! The one module with unsafe code: the system interfaces for which there is no safe one.
//!
//! - [`Birth`]: `posix_spawn`, which starts a program without a copy of the server's memory
//! - [`exited_child`]: which child waits to be reaped, without reaping it
//! - [`session_of`], [`own_group`]: ids that may be 0, which no type of a process id allows for
//! - [`unblock`]: a signal that this thread is to receive
//! - [`watch`]: a descriptor in the runtime's event queue
//! - [`own_master`]: the descriptor of a terminal that portable-pty has opened
//! - [`close_on_exec`]: a flag on a descriptor that we know by its number only

#![allow(unsafe_code, reason = "the audited module: each block says why it is sound")]

use std::ffi::CStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::ptr;

use portable_pty::MasterPty;
use rustix::process::{Pid, Signal};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// What a new process has as its standard descriptors.
pub(crate) enum Stdio<'a> {
    /// The terminal of this name for all three; it becomes the controlling terminal.
    Terminal(&'a CStr),
    /// One descriptor each.
    Pipes([BorrowedFd<'a>; 3]),
}

/// A program to start.
pub(crate) struct Program<'a> {
    pub(crate) path: &'a CStr,
    pub(crate) argv: &'a [&'a CStr],
    pub(crate) envp: &'a [&'a CStr],
    pub(crate) cwd: &'a CStr,
    pub(crate) stdio: Stdio<'a>,
}

/// A program that is about to start, as the leader of a session of its own, with no signal blocked or ignored.
pub(crate) struct Birth<'a> {
    path: &'a CStr,
    argv: Vec<*const libc::c_char>,
    envp: Vec<*const libc::c_char>,
    actions: FileActions,
    attributes: Attributes,
    /// The pointers point into it.
    _program: &'a Program<'a>,
}

impl<'a> Birth<'a> {
    /// Prepares everything that can be prepared. glibc refuses a descriptor here that is beyond the soft limit, which
    /// therefore must not be lowered yet.
    ///
    /// # Errors
    /// There is no memory.
    pub(crate) fn new(program: &'a Program<'a>) -> io::Result<Self> {
        let mut actions = FileActions::new()?;
        match program.stdio {
            Stdio::Terminal(name) => {
                actions.open(libc::STDIN_FILENO, name)?;
                actions.duplicate(libc::STDIN_FILENO, libc::STDOUT_FILENO)?;
                actions.duplicate(libc::STDIN_FILENO, libc::STDERR_FILENO)?;
            }
            Stdio::Pipes(pipes) => {
                for (pipe, target) in pipes.iter().zip([libc::STDIN_FILENO, libc::STDOUT_FILENO, libc::STDERR_FILENO]) {
                    actions.duplicate(pipe.as_raw_fd(), target)?;
                }
            }
        }
        actions.enter(program.cwd)?;
        Ok(Self {
            path: program.path,
            argv: pointers(program.argv),
            envp: pointers(program.envp),
            actions,
            attributes: Attributes::new()?,
            _program: program,
        })
    }

    /// Starts it. Returns when the program runs: it has opened its terminal and entered its directory by then.
    ///
    /// # Errors
    /// What any step in the child failed with; the system does not say which.
    pub(crate) fn start(&self) -> io::Result<Pid> {
        let mut pid: libc::pid_t = 0;
        // SAFETY: `actions` and `attributes` are initialised; `path` and the strings behind `argv` and `envp` are
        // borrowed for as long as `self` lives, both arrays end in null, and the call writes to none of them.
        let code = unsafe {
            libc::posix_spawn(
                &raw mut pid,
                self.path.as_ptr(),
                self.actions.0.as_ptr(),
                self.attributes.0.as_ptr(),
                self.argv.as_ptr().cast(),
                self.envp.as_ptr().cast(),
            )
        };
        check(code)?;
        Pid::from_raw(pid).ok_or_else(|| io::Error::other("posix_spawn gave no process id"))
    }
}

fn pointers(strings: &[&CStr]) -> Vec<*const libc::c_char> {
    strings.iter().map(|string| string.as_ptr()).chain([ptr::null()]).collect()
}

/// These functions return their error instead of setting `errno`.
fn check(code: libc::c_int) -> io::Result<()> {
    if code == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(code)) }
}

/// Steps between the birth of a process and its program. The strings are copied.
struct FileActions(MaybeUninit<libc::posix_spawn_file_actions_t>);

impl FileActions {
    fn new() -> io::Result<Self> {
        let mut actions = MaybeUninit::uninit();
        // SAFETY: the call initialises the memory it is given.
        check(unsafe { libc::posix_spawn_file_actions_init(actions.as_mut_ptr()) })?;
        Ok(Self(actions))
    }

    fn open(&mut self, target: RawFd, path: &CStr) -> io::Result<()> {
        // SAFETY: initialised in `new`; `path` is a C string and is copied by the call.
        check(unsafe {
            libc::posix_spawn_file_actions_addopen(self.0.as_mut_ptr(), target, path.as_ptr(), libc::O_RDWR, 0)
        })
    }

    fn duplicate(&mut self, from: RawFd, target: RawFd) -> io::Result<()> {
        // SAFETY: initialised in `new`; the numbers are only looked at in the child.
        check(unsafe { libc::posix_spawn_file_actions_adddup2(self.0.as_mut_ptr(), from, target) })
    }

    fn enter(&mut self, directory: &CStr) -> io::Result<()> {
        // SAFETY: initialised in `new`; `directory` is a C string and is copied by the call.
        check(unsafe { libc::posix_spawn_file_actions_addchdir_np(self.0.as_mut_ptr(), directory.as_ptr()) })
    }
}

impl Drop for FileActions {
    fn drop(&mut self) {
        // SAFETY: initialised in `new`, and destroyed only here. It cannot fail.
        unsafe { libc::posix_spawn_file_actions_destroy(self.0.as_mut_ptr()) };
    }
}

/// A session of its own, every signal at its default, none blocked.
struct Attributes(MaybeUninit<libc::posix_spawnattr_t>);

impl Attributes {
    fn new() -> io::Result<Self> {
        let mut attributes = MaybeUninit::uninit();
        // SAFETY: the call initialises the memory it is given.
        check(unsafe { libc::posix_spawnattr_init(attributes.as_mut_ptr()) })?;
        let mut attributes = Self(attributes);
        let (mut none, mut all) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        let flags =
            libc::c_int::from(libc::POSIX_SPAWN_SETSID) | libc::POSIX_SPAWN_SETSIGMASK | libc::POSIX_SPAWN_SETSIGDEF;
        let attr = attributes.0.as_mut_ptr();
        // SAFETY: the sets are initialised by the first two calls before they are read, `attr` just above, and the
        // calls copy the sets.
        unsafe {
            libc::sigemptyset(none.as_mut_ptr());
            libc::sigfillset(all.as_mut_ptr());
            check(libc::posix_spawnattr_setsigmask(attr, none.as_ptr()))?;
            check(libc::posix_spawnattr_setsigdefault(attr, all.as_ptr()))?;
            check(libc::posix_spawnattr_setflags(attr, flags as libc::c_short))?;
        }
        Ok(attributes)
    }
}

impl Drop for Attributes {
    fn drop(&mut self) {
        // SAFETY: initialised in `new`, and destroyed only here. It cannot fail.
        unsafe { libc::posix_spawnattr_destroy(self.0.as_mut_ptr()) };
    }
}

/// A child that has exited and waits to be reaped; it goes on waiting. With several it is always the same one.
pub(crate) fn exited_child() -> Option<Pid> {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: the call fills the memory it is given or leaves it zeroed, and both are valid values.
    let info = unsafe {
        if libc::waitid(libc::P_ALL, 0, info.as_mut_ptr(), options) != 0 {
            return None;
        }
        info.assume_init()
    };
    // SAFETY: after a successful `waitid` the process id is the member of the union that is set, or zero.
    Pid::from_raw(unsafe { info.si_pid() })
}

/// The session of a process, or of this one. It is 0 when its leader is outside of what this process can see, as a
/// container's first process may find.
///
/// # Errors
/// There is no such process.
pub(crate) fn session_of(pid: Option<Pid>) -> io::Result<i32> {
    // SAFETY: the call takes and gives a number.
    let session = unsafe { libc::getsid(Pid::as_raw(pid)) };
    if session < 0 { Err(io::Error::last_os_error()) } else { Ok(session) }
}

/// The group of this process; 0 as for [`session_of`].
pub(crate) fn own_group() -> i32 {
    // SAFETY: the call takes nothing and gives a number.
    unsafe { libc::getpgrp() }
}

/// Lets this thread, and those that it starts from now on, receive a signal.
///
/// # Errors
/// There is no such signal.
pub(crate) fn unblock(signal: Signal) -> io::Result<()> {
    let mut set = MaybeUninit::uninit();
    // SAFETY: the set is initialised by the first call before the others use it, and nobody asks for the old one.
    check(unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), signal.as_raw());
        libc::pthread_sigmask(libc::SIG_UNBLOCK, set.as_ptr(), ptr::null_mut())
    })
}

/// Puts a descriptor into the event queue of the current runtime.
///
/// # Errors
/// The operating system has no room for another one, or the descriptor cannot be waited for.
pub(crate) fn watch(descriptor: OwnedFd, interest: Interest) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` keeps its descriptor open and gives the same number until it is dropped.
    Ok(unsafe { AsyncFd::register_with_interest(descriptor, interest) }?)
}

/// A descriptor of our own, close-on-exec, for the master of a terminal pair.
///
/// # Errors
/// There is no free descriptor.
pub(crate) fn own_master(master: &dyn MasterPty) -> io::Result<OwnedFd> {
    let raw = master.as_raw_fd().ok_or_else(|| io::Error::other("this terminal has no descriptor"))?;
    // SAFETY: `master` keeps its descriptor open for the length of this call.
    unsafe { BorrowedFd::borrow_raw(raw) }.try_clone_to_owned()
}

/// Marks a descriptor close-on-exec. A number that is not open is left alone.
pub(crate) fn close_on_exec(raw: RawFd) {
    // SAFETY: the call looks a number up and sets a flag; nothing is read, written or closed through it.
    unsafe { libc::fcntl(raw, libc::F_SETFD, libc::FD_CLOEXEC) };
}
