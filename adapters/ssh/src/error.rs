//! From what a host or the protocol says to an error that says what to do next.

use sessiond_core::{Error, Reason, Signal, shown};

use crate::shell::Delivery;

/// An operation on something that has ended.
pub(crate) fn ended() -> Error {
    Error::failed_precondition("it has ended: read what it printed, or start another")
}

/// The call's deadline has come.
pub(crate) fn timed_out(host: &str) -> Error {
    Error::timed_out(format!("host {} has not answered in time: try again with more time", shown(host)))
}

/// Nothing runs any more that could do it.
pub(crate) fn broke_off(host: &str) -> Error {
    Error::unavailable(format!("the connection to host {} broke off: try again, which connects anew", shown(host)))
}

/// No connection stands, and making one would not help what the lost one has left behind.
pub(crate) fn not_connected(host: &str) -> Error {
    Error::unavailable(format!(
        "the connection to host {} is lost, so it cannot be asked: connect again first",
        shown(host)
    ))
}

/// An owner has as many connections to a host as it may.
pub(crate) fn too_many_connections(host: &str, limit: usize) -> Error {
    Error::limit_exceeded(format!(
        "all {limit} connections to host {} that you may have (max_connections) carry as much as the host takes: stop \
         what runs there, or wait for an end",
        shown(host)
    ))
}

/// A host that takes a connection, but nothing on it.
pub(crate) fn no_channel(host: &str, why: &str) -> Error {
    Error::failed_precondition(format!(
        "host {} opens no session on this connection ({}): its server may allow none (MaxSessions)",
        shown(host),
        shown(why)
    ))
}

/// The directory that something was to run in.
pub(crate) fn no_directory(directory: &str) -> Error {
    Error::failed_precondition(format!(
        "there is no directory {} on the host: create it, or name another in cwd",
        shown(directory)
    ))
    .because(Reason::NoSuchDirectory)
}

/// A directory that is none.
pub(crate) fn not_a_directory(directory: &str) -> Error {
    Error::failed_precondition(format!("{} is not a directory: name another in cwd", shown(directory)))
}

/// A directory that our account may not enter.
pub(crate) fn directory_denied(directory: &str) -> Error {
    Error::permission_denied(format!("directory {} may not be entered: name another in cwd", shown(directory)))
}

/// A host whose login shell did not hand the work to a POSIX shell.
pub(crate) fn no_shell(host: &str, words: Option<&str>) -> Error {
    let said = words.map(|words| format!("; it said \"{}\"", shown(words))).unwrap_or_default();
    Error::failed_precondition(format!(
        "host {} has run nothing: the account's login shell must be able to run a POSIX sh there{said}",
        shown(host)
    ))
}

/// A host that refuses a request for a terminal or a program.
pub(crate) fn request_refused(host: &str, what: &str) -> Error {
    Error::permission_denied(format!("host {} refuses {what} to this account: its server forbids it", shown(host)))
}

/// What became of a signal that was not sent.
pub(crate) fn not_sent(signal: Signal, delivery: Delivery) -> Error {
    match delivery {
        Delivery::Nobody => {
            Error::failed_precondition("no job is in the foreground of the terminal: signal the leader")
        }
        Delivery::Denied => Error::permission_denied(format!(
            "{signal} cannot be sent: the process runs as another user; session_stop says what is left"
        )),
        Delivery::Sent | Delivery::Gone => ended(),
    }
}
