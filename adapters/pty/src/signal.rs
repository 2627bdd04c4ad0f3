//! Signals: their numbers on this system, and the exits they cause by name.

use rustix::io::Errno;
use rustix::process::{Signal as Number, WaitIdStatus};
use sessiond_core::{Error, Exit, Signal};

use crate::error;

/// The number of a signal on this system.
pub(crate) fn number(signal: Signal) -> Number {
    match signal {
        Signal::Hup => Number::HUP,
        Signal::Int => Number::INT,
        Signal::Quit => Number::QUIT,
        Signal::Ill => Number::ILL,
        Signal::Trap => Number::TRAP,
        Signal::Abrt => Number::ABORT,
        Signal::Bus => Number::BUS,
        Signal::Fpe => Number::FPE,
        Signal::Kill => Number::KILL,
        Signal::Usr1 => Number::USR1,
        Signal::Segv => Number::SEGV,
        Signal::Usr2 => Number::USR2,
        Signal::Pipe => Number::PIPE,
        Signal::Alrm => Number::ALARM,
        Signal::Term => Number::TERM,
        Signal::Chld => Number::CHILD,
        Signal::Cont => Number::CONT,
        Signal::Stop => Number::STOP,
        Signal::Tstp => Number::TSTP,
        Signal::Ttin => Number::TTIN,
        Signal::Ttou => Number::TTOU,
        Signal::Urg => Number::URG,
        Signal::Xcpu => Number::XCPU,
        Signal::Xfsz => Number::XFSZ,
        Signal::Vtalrm => Number::VTALARM,
        Signal::Prof => Number::PROF,
        Signal::Winch => Number::WINCH,
        Signal::Io => Number::IO,
        Signal::Sys => Number::SYS,
    }
}

/// How a reaped process ended.
pub(crate) fn exit(status: &WaitIdStatus) -> Exit {
    if let Some(code) = status.exit_status() {
        return Exit::Exited(code);
    }
    let raw = status.terminating_signal().unwrap_or_default();
    let known = Signal::ALL.iter().find(|signal| number(**signal).as_raw() == raw);
    Exit::Signaled(known.map_or_else(|| raw.to_string(), |signal| signal.name().to_owned()))
}

/// Why a signal could not be sent.
pub(crate) fn refused(signal: Signal, errno: Errno) -> Error {
    match errno {
        Errno::SRCH => error::ended(),
        Errno::PERM => Error::permission_denied(format!(
            "{signal} cannot be sent: the process runs as another user; session_stop says what is left"
        )),
        other => error::refused(&format!("sending {signal}"), &other.into()),
    }
}
