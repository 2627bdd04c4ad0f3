//! `ssh_cmd_kill`: the end of a command and of all that it started, verified on the host.

use std::time::{Duration, SystemTime};

use sessiond_core::{Error, KillCommand, KillOutcome, KillResult, Result, Signal, Verb};

use super::{HANDLE, HANDLE_ID, LONGEST_CHECK_S, PID, TIMESTAMP, handle};
use crate::answer::Answer;
use crate::args::Args;
use crate::contract::{Family, Hints, Request, Tool};
use crate::render::{Fields, processes};
use crate::schema::{Field, Kind, Object};
use crate::time::rfc3339;

/// The wait when the caller names none, in seconds.
const DEFAULT_WAIT_S: u64 = 1;
/// The signal when the caller names none: TERM.
const DEFAULT_SIGNAL: u64 = 15;

pub(super) const TOOL: Tool = Tool {
    name: "ssh_cmd_kill",
    title: "Kill an SSH command",
    summary: "Ends a command on an SSH host with all that it started, and verifies that on the host",
    about: "Ends a running command of ssh_cmd_run with everything that it started: pipelines, a; b, background jobs. \
            Sends signal to all of it, waits up to wait_seconds, then, unless force is false, kills what is left, and \
            verifies on the host that nothing remains. Asking again is harmless. Its output stays readable with \
            ssh_cmd_output.\n\
            result: killed (gone with all that it started); already_exited (ended by itself just before); not_running \
            (had ended before the call); failed_to_kill (something of it lives, marked as an error: with force false \
            and a command that ignores the signal, or one that even KILL does not end; survivors names the pids). To \
            only interrupt something interactive use a session (session_start, session_control); to give a command a \
            limit from the start use runtime_timeout of ssh_cmd_run.\n\
            Errors: not_found for a handle that is not there (ssh_cmd_history lists yours; a pid is no handle); \
            unavailable when the host cannot be asked; invalid_argument for an unknown signal.",
    hints: Hints::END,
    family: Family::Ssh,
    verb: Verb::KillCommand,
    input: Object::closed(&[
        HANDLE_ID,
        Field::optional(
            "signal",
            Kind::Signal { default: DEFAULT_SIGNAL },
            "Signal to ask with: a name such as INT, or its number on Linux; 15 is TERM.",
        ),
        Field::optional(
            "force",
            Kind::Boolean { default: Some(true) },
            "Whether to kill what is left after wait_seconds.",
        ),
        Field::optional(
            "wait_seconds",
            Kind::Seconds { min_ms: 0, max: LONGEST_CHECK_S, default: Some(DEFAULT_WAIT_S) },
            "How long to wait after the signal, in seconds.",
        ),
    ]),
    output: Object::open(&[
        HANDLE,
        PID,
        Field::required(
            "result",
            Kind::Choice(&["killed", "already_exited", "not_running", "failed_to_kill"]),
            "What came of it; see the tool's description.",
        ),
        Field::required("signal", Kind::TEXT, "Name of the signal that was asked for."),
        Field::required("force_kill_used", Kind::BOOLEAN, "Whether KILL was needed."),
        Field::optional("survivors", Kind::Many(&Kind::NATURAL), "Pids that still live, where it failed."),
        TIMESTAMP,
    ]),
    run: |request| Box::pin(run(request)),
};

async fn run(Request { service, cx, mut args, .. }: Request<'_>) -> Result<Answer> {
    let request = KillCommand {
        handle: handle(&args),
        signal: signal(&mut args)?,
        force: args.flag_or("force", true),
        wait: args.seconds("wait_seconds").unwrap_or(Duration::from_secs(DEFAULT_WAIT_S)),
    };
    Ok(answer(&service.kill_command(cx, request).await?))
}

/// The signal that a call names; a number may come as text, as some callers send it.
///
/// # Errors
/// `invalid_argument`, naming the known ones.
fn signal(args: &mut Args) -> Result<Signal> {
    let number = match (args.natural("signal"), args.text("signal")) {
        (Some(number), _) => number,
        (None, None) => DEFAULT_SIGNAL,
        (None, Some(text)) => match text.parse() {
            Ok(number) => number,
            Err(_) => return text.parse(),
        },
    };
    numbered(number).ok_or_else(|| {
        Error::invalid_argument(format!(
            "signal {number} is not known: give a name such as TERM, INT, KILL or HUP, or its number on Linux"
        ))
    })
}

/// The signal of a number, as Linux numbers them on all but a few old processors. POSIX fixes 1, 2, 3, 6, 9, 14 and 15.
///
/// The list of signals is in that order, but lacks 16 and 30, which are Linux's own.
fn numbered(number: u64) -> Option<Signal> {
    let before = match number {
        1..=15 => 1,
        17..=29 => 2,
        31.. => 3,
        0 | 16 | 30 => return None,
    };
    Signal::ALL.get(usize::try_from(number - before).ok()?).copied()
}

fn answer(outcome: &KillOutcome) -> Answer {
    let mut line = outcome.result.as_str().to_owned();
    if outcome.force_used {
        line.push_str(", KILL was needed");
    }
    if let Some(survivors) = processes("still alive", &outcome.survivors) {
        line = format!("{line}; {survivors}");
    }
    let failed = outcome.result == KillResult::FailedToKill;
    if failed && !outcome.force_used {
        line.push_str("; with force true what ignores the signal is killed");
    }
    let mut fields = Fields::default();
    fields.put("handle_id", outcome.handle.0);
    fields.put_some("pid", outcome.pid);
    fields.put("result", outcome.result.as_str());
    fields.put("signal", outcome.signal.name());
    fields.put("force_kill_used", outcome.force_used);
    fields.put_some("survivors", (!outcome.survivors.is_empty()).then(|| outcome.survivors.clone()));
    fields.put("timestamp", rfc3339(SystemTime::now()));
    Answer { is_error: failed, ..Answer::new(fields.0, line) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_mean_what_they_mean_on_linux() {
        let fixed = [(1, "HUP"), (2, "INT"), (3, "QUIT"), (6, "ABRT"), (9, "KILL"), (14, "ALRM"), (15, "TERM")];
        let usual = [(10, "USR1"), (12, "USR2"), (13, "PIPE"), (17, "CHLD"), (18, "CONT"), (19, "STOP"), (31, "SYS")];
        for (number, name) in fixed.into_iter().chain(usual) {
            assert_eq!(numbered(number).map(Signal::name), Some(name));
        }
        for number in [0, 16, 30, 32, 64, u64::MAX] {
            assert_eq!(numbered(number), None);
        }
        let numbered = (0..=64).filter_map(numbered).collect::<Vec<_>>();
        assert_eq!(numbered, Signal::ALL, "each signal has its number, once");
    }
}
