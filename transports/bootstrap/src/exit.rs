//! How a binary ends: with a session's end as its exit code where it has watched one.

use std::process::ExitCode;

use sessiond_core::{End, Exit, Signal};

/// Something that was asked for went wrong.
pub const FAILURE: u8 = 1;

/// What a shell adds to the number of the signal that has ended a program.
const BY_SIGNAL: u8 = 128;

/// The session's exit code, as a shell would have it.
pub fn exit_code(end: &End) -> ExitCode {
    ExitCode::from(match &end.exit {
        Exit::Exited(code) => u8::try_from(*code).unwrap_or(FAILURE),
        Exit::Signaled(name) => name.parse().ok().and_then(number).map_or(FAILURE, |number| BY_SIGNAL + number),
        Exit::Failed(_) | Exit::Canceled | Exit::Lost(_) => FAILURE,
    })
}

/// The numbers that POSIX fixes; others differ between systems.
fn number(signal: Signal) -> Option<u8> {
    match signal {
        Signal::Hup => Some(1),
        Signal::Int => Some(2),
        Signal::Quit => Some(3),
        Signal::Abrt => Some(6),
        Signal::Kill => Some(9),
        Signal::Alrm => Some(14),
        Signal::Term => Some(15),
        _ => None,
    }
}

/// How it ended, in words.
pub fn told(end: &End) -> String {
    match (&end.exit, end.error()) {
        (Exit::Exited(code), None) => format!("exit code {code}"),
        (Exit::Exited(code), Some(error)) => format!("exit code {code}: {error}"),
        (Exit::Canceled, None) => "canceled".to_owned(),
        (_, error) => error.unwrap_or_else(|| "ended".to_owned()),
    }
}
