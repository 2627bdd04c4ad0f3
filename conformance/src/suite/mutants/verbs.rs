//! Faults in what a verb takes or gives, and in the settings that a server works by.

use std::time::Duration;

use sessiond_core::{Action, Cause, Cursor, Error, ErrorKind, Exit, Launch, Slice, TargetName, Wait, WindowSize};

use crate::suite::house::{BackendKind, Settings};
use crate::suite::mutant::{Fault, Mutant};
use crate::suite::verbs::Hooks;

pub(super) const fn hooked(id: &'static str, title: &'static str, hooks: Hooks) -> Mutant {
    Mutant { id, title, backend: BackendKind::Fake, fault: Fault::Hooks(hooks) }
}

pub(super) const fn set(id: &'static str, title: &'static str, change: fn(&mut Settings)) -> Mutant {
    Mutant { id, title, backend: BackendKind::Fake, fault: Fault::Settings(change) }
}

/// A change of every slice that is read.
macro_rules! slices {
    ($change:expr) => {
        Hooks {
            read_out: |read| {
                if let Ok(read) = read {
                    let change: fn(&mut Slice) = $change;
                    change(&mut read.slice);
                }
            },
            ..Hooks::NONE
        }
    };
}

pub(super) const MUTANTS: &[Mutant] = &[
    hooked(
        "SR13",
        "scoped access must name its target",
        Hooks {
            read_in: |request| {
                if request.target.is_none() {
                    request.target = TargetName::new("unnamed").ok();
                }
            },
            ..Hooks::NONE
        },
    ),
    hooked(
        "SR13",
        "another target is passed over where there is but one",
        Hooks {
            read_in: |request| {
                if request.target.as_ref().is_some_and(|target| target.as_str() == "other") {
                    request.target = None;
                }
            },
            ..Hooks::NONE
        },
    ),
    hooked(
        "SR14",
        "a session that is not there is told apart by the tool",
        Hooks {
            read_out: |read| {
                if let Err(error) = read
                    && error.kind() == ErrorKind::NotFound
                {
                    *error = Error::not_found("there is nothing to read");
                }
            },
            ..Hooks::NONE
        },
    ),
    hooked(
        "SR20",
        "next_cursor skips a byte",
        slices!(|slice| {
            if slice.next < slice.end {
                slice.next = Cursor(slice.next.0 + 1);
            }
        }),
    ),
    hooked(
        "SR23",
        "a read may end inside a character",
        slices!(|slice| {
            if slice.bytes.last().is_some_and(|byte| *byte >= 0x80) {
                slice.bytes.truncate(slice.bytes.len() - 1);
                slice.next = Cursor(slice.next.0 - 1);
                slice.ended = None;
            }
        }),
    ),
    hooked(
        "SR25",
        "the echo is hidden",
        slices!(|slice| {
            let text = String::from_utf8_lossy(&slice.bytes).replace("typed", "");
            slice.bytes = text.into_bytes().into();
        }),
    ),
    set("SR30", "half as much is kept", |settings| settings.limits.session_output = 1 << 19),
    hooked("SR31", "nothing is ever truncated", slices!(|slice| slice.lost = 0)),
    set("SR32", "one byte less is kept", |settings| settings.limits.session_output = (1 << 20) - 1),
    set("SR33", "everything is kept", |settings| settings.limits.session_output = 1 << 30),
    set("SR34", "a command keeps half as much", |settings| settings.limits.command_output = 1 << 19),
    hooked(
        "SR40",
        "nothing ever waits",
        Hooks { read_in: |request| request.wait.time = Duration::ZERO, ..Hooks::NONE },
    ),
    hooked(
        "SR52",
        "the last byte is lost",
        slices!(|slice| {
            if slice.ended.is_some() {
                slice.bytes.truncate(slice.bytes.len().saturating_sub(1));
            }
        }),
    ),
    hooked(
        "SR53",
        "a signal is told as a shell tells it",
        slices!(|slice| {
            if let Some(end) = &mut slice.ended
                && matches!(end.exit, Exit::Signaled(_))
            {
                end.exit = Exit::Exited(137);
            }
        }),
    ),
    hooked(
        "SR54",
        "a time limit is told as an end like any other",
        slices!(|slice| {
            if let Some(end) = &mut slice.ended
                && matches!(end.cause, Cause::TimeLimit { .. })
            {
                end.cause = Cause::Own;
            }
        }),
    ),
    hooked(
        "SR55",
        "every end has an error",
        slices!(|slice| {
            if let Some(end) = &mut slice.ended {
                end.cause = Cause::Stop { confirmed: false };
            }
        }),
    ),
    Mutant {
        id: "SR56",
        title: "the end waits for nobody",
        backend: BackendKind::Pty,
        fault: Fault::Settings(|settings| settings.linger = Duration::ZERO),
    },
    set("SR60", "finished records stay for ever", |settings| {
        settings.limits.finished_ttl = Duration::from_secs(1_000_000);
    }),
    Mutant {
        id: "SF01",
        title: "the caller's directory is passed over",
        backend: BackendKind::Pty,
        fault: Fault::Hooks(Hooks {
            start_in: |request| {
                if let Launch::Start(invocation) = &mut request.what {
                    invocation.cwd = None;
                }
            },
            ..Hooks::NONE
        }),
    },
    hooked(
        "SF02",
        "the last byte of a write is cut silently",
        Hooks { write_in: |request| request.input.truncate(request.input.len().saturating_sub(1)), ..Hooks::NONE },
    ),
    hooked(
        "SF03",
        "every stop is the first",
        Hooks {
            stop_out: |outcome| {
                if let Ok(outcome) = outcome {
                    (outcome.accepted, outcome.already_done) = (true, false);
                }
            },
            ..Hooks::NONE
        },
    ),
    hooked(
        "SF04",
        "a command that fails is an error",
        Hooks {
            execute_out: |result| {
                if result.as_ref().is_ok_and(|result| result.end.exit_code() != 0) {
                    *result = Err(Error::failed_precondition("the command failed"));
                }
            },
            ..Hooks::NONE
        },
    ),
    hooked(
        "SF05",
        "sessions are not listed",
        Hooks {
            list_out: |page| {
                if let Ok(page) = page {
                    page.sessions.clear();
                }
            },
            ..Hooks::NONE
        },
    ),
    set("SF06", "there is no limit", |settings| settings.limits.running_per_owner = usize::MAX),
    hooked(
        "SF07",
        "a start does not wait",
        Hooks { start_in: |request| request.wait = Wait::default(), ..Hooks::NONE },
    ),
    hooked(
        "EX01",
        "quiet is passed over",
        Hooks {
            read_in: |request| {
                if let Some(until) = &mut request.wait.until {
                    until.quiet = None;
                    until.end |= until.pattern.is_none();
                }
            },
            ..Hooks::NONE
        },
    ),
    hooked(
        "EX04",
        "every size is 80 by 24",
        Hooks {
            control_in: |request| {
                if let Action::Resize(size) = &mut request.action {
                    *size = WindowSize::default();
                }
            },
            ..Hooks::NONE
        },
    ),
];
