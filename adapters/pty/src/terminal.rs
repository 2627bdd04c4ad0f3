//! A pseudo-terminal: opened by portable-pty, used through a descriptor of our own.

use std::ffi::CString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;

use portable_pty::{PtyPair, PtySize, SlavePty, native_pty_system};
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::Errno;
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt};
use rustix::termios::{InputModes, OptionalActions, Winsize, tcgetattr, tcsetattr, tcsetwinsize};
use sessiond_core::WindowSize;

use crate::sys;

/// How the child's side is opened where we open it.
const PEER: OpenptFlags = OpenptFlags::RDWR.union(OpenptFlags::NOCTTY).union(OpenptFlags::CLOEXEC);

/// A terminal on which nothing runs yet.
pub(crate) struct NewTerminal {
    pub(crate) master: OwnedFd,
    /// By which a child opens it.
    pub(crate) name: CString,
    /// Keeps the terminal from looking hung up until a child has it open.
    pub(crate) slave: Box<dyn SlavePty + Send>,
}

/// Opens a terminal. Call it with the children locked: its descriptors are born inheritable.
///
/// # Errors
/// There is no free terminal or descriptor.
pub(crate) fn open(size: WindowSize) -> io::Result<NewTerminal> {
    let size = PtySize { rows: size.rows(), cols: size.cols(), ..PtySize::default() };
    let PtyPair { master, slave } = native_pty_system().openpty(size).map_err(|error| why(&error.to_string()))?;
    let name = master.tty_name().ok_or_else(|| io::Error::other("a terminal without a name"))?;
    let name = CString::new(name.as_os_str().as_bytes())?;
    let master = sys::own_master(master.as_ref())?;
    fcntl_setfl(&master, OFlags::RDWR | OFlags::NONBLOCK)?;
    let mut modes = tcgetattr(&master)?;
    modes.input_modes |= InputModes::IUTF8;
    tcsetattr(&master, OptionalActions::Now, &modes)?;
    Ok(NewTerminal { master, name, slave })
}

/// portable-pty gives its error as text alone; the same attempt again tells which it was.
fn why(text: &str) -> io::Error {
    match openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC) {
        // POSIX has no error of its own for it, and rustix keeps to POSIX.
        Err(Errno::AGAIN) => Errno::NOSPC.into(),
        Err(error) => error.into(),
        // The pair takes two descriptors, and one was to be had.
        Ok(master) => match ioctl_tiocgptpeer(&master, PEER) {
            Err(error) => error.into(),
            Ok(_) => io::Error::other(text.to_owned()),
        },
    }
}

/// Opens the child's side of a terminal for us to hold, so that the terminal stays one while nobody else has it, and
/// another descriptor of ours for the master. The first of them is the child's side.
///
/// # Errors
/// There is no free descriptor.
pub(crate) fn hold(master: &OwnedFd) -> io::Result<(OwnedFd, OwnedFd)> {
    Ok((ioctl_tiocgptpeer(master, PEER)?, master.try_clone()?))
}

/// Changes the size; the foreground job hears of it.
///
/// # Errors
/// The terminal is gone.
pub(crate) fn resize(master: &OwnedFd, size: WindowSize) -> io::Result<()> {
    let size = Winsize { ws_row: size.rows(), ws_col: size.cols(), ws_xpixel: 0, ws_ypixel: 0 };
    Ok(tcsetwinsize(master, size)?)
}
