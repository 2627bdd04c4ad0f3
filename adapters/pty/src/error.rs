//! From what the operating system says to an error that says what to do next.

use std::fs;
use std::io;
use std::path::Path;

use rustix::fs::{Access, AtFlags, CWD, accessat};
use rustix::io::Errno;
use sessiond_core::{Error, ErrorKind, Reason};

/// Why a launch failed. The system reports one error for every step of a start, so each step is looked at again.
pub(crate) fn launch(error: &io::Error, shell: &Path, directory: &Path) -> Error {
    if let Some(limit) = limit(error) {
        return limit;
    }
    wrong_directory(directory).or_else(|| wrong_shell(shell)).unwrap_or_else(|| match errno(error) {
        Some(Errno::NOENT) => Error::failed_precondition(format!(
            "shell {} is there, but the interpreter that it names is not: repair it, or set another shell",
            shell.display()
        )),
        Some(Errno::NOEXEC) => Error::failed_precondition(format!(
            "shell {} is no program for this machine: set another shell in the configuration",
            shell.display()
        )),
        _ => Error::unavailable(format!(
            "{} cannot be started in {}: {error}; try again",
            shell.display(),
            directory.display()
        )),
    })
}

/// Why this is no directory to run in.
pub(crate) fn wrong_directory(directory: &Path) -> Option<Error> {
    let shown = directory.display();
    match fs::metadata(directory) {
        Ok(found) if !found.is_dir() => {
            return Some(Error::failed_precondition(format!("{shown} is not a directory: name another in cwd")));
        }
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            return Some(Error::permission_denied(format!(
                "directory {shown} may not be entered: name another in cwd"
            )));
        }
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            let missing = format!("there is no directory {shown}: create it, or name another in cwd");
            return Some(Error::failed_precondition(missing).because(Reason::NoSuchDirectory));
        }
        Err(error) => {
            return Some(Error::failed_precondition(format!(
                "directory {shown} cannot be used: {error}; name another in cwd"
            )));
        }
    }
    executable(directory)
        .err()
        .map(|_| Error::permission_denied(format!("directory {shown} may not be entered: name another in cwd")))
}

/// Why this is no shell to run with.
pub(crate) fn wrong_shell(shell: &Path) -> Option<Error> {
    let shown = shell.display();
    let (kind, what) = match fs::metadata(shell) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            (ErrorKind::PermissionDenied, format!("shell {shown} may not be reached"))
        }
        Err(_) => (ErrorKind::FailedPrecondition, format!("there is no shell {shown}")),
        Ok(found) if !found.is_file() => (ErrorKind::FailedPrecondition, format!("shell {shown} is not a program")),
        Ok(_) if executable(shell).is_err() => {
            (ErrorKind::PermissionDenied, format!("shell {shown} may not be executed"))
        }
        Ok(_) => return None,
    };
    Some(Error::new(kind, format!("{what}: set another shell in the configuration, or SHELL")))
}

/// Asks as the user that starts programs, which is the effective one.
fn executable(path: &Path) -> Result<(), Errno> {
    accessat(CWD, path, Access::EXEC_OK, AtFlags::EACCESS)
}

/// The limits of the system that a launch or a call can meet.
pub(crate) fn limit(error: &io::Error) -> Option<Error> {
    let what = match errno(error)? {
        Errno::MFILE => "this server has no free file descriptor: stop sessions, or raise its limit of open files",
        Errno::NFILE => "this machine has no free file descriptor: stop what is not needed",
        Errno::NOSPC => "this machine has no free pseudo-terminal: stop sessions, or raise kernel.pty.max",
        Errno::AGAIN => "this machine allows no further process: stop sessions, or raise its limit of processes",
        Errno::NOMEM => "this machine has no memory for a further process: stop what is not needed",
        Errno::TOOBIG => {
            return Some(Error::invalid_argument(
                "the command with its environment is longer than the system takes (131,071 bytes for one string): \
                 put it into a file and run that",
            ));
        }
        _ => return None,
    };
    Some(Error::limit_exceeded(what))
}

/// An operation on something that has ended.
pub(crate) fn ended() -> Error {
    Error::failed_precondition("it has ended: read what it printed, or start another")
}

/// What the operating system refused although nothing speaks against it.
pub(crate) fn refused(doing: &str, error: &io::Error) -> Error {
    match limit(error) {
        Some(limit) => limit,
        None if error.kind() == io::ErrorKind::PermissionDenied => {
            Error::permission_denied(format!("{doing}: the system refuses it to this server's user"))
        }
        None => Error::internal(format!("{doing}: {error}")),
    }
}

fn errno(error: &io::Error) -> Option<Errno> {
    error.raw_os_error().map(Errno::from_raw_os_error)
}
