//! The family of sessions and commands: the tools, and what they have in common.

mod control;
mod execute;
mod list;
mod list_clients;
mod read;
mod start;
mod stop;
mod write;

use std::time::Duration;

use sessiond_core::{
    Access, Error, MAX_READ, MAX_TIME_LIMIT, MAX_WAIT, MIN_READ, Owner, Pattern, Result, SessionId, TargetName, Until,
    Wait, WindowSize, not_found,
};

use super::Tool;
use crate::args::Args;
use crate::schema::{Field, Kind, Need, Object};

/// The tools, in the order in which an agent meets them.
pub(super) const TOOLS: [&Tool; 8] = [
    &list_clients::TOOL,
    &execute::TOOL,
    &start::TOOL,
    &read::TOOL,
    &write::TOOL,
    &control::TOOL,
    &stop::TOOL,
    &list::TOOL,
];

/// The longest wait, in milliseconds.
const LONGEST_WAIT_MS: u64 = MAX_WAIT.as_millis() as u64;
/// The longest side of a terminal, in characters.
const MAX_SIDE: u64 = WindowSize::MAX as u64;
/// The longest time limit, in milliseconds.
const LONGEST_LIMIT_MS: u64 = MAX_TIME_LIMIT.as_millis() as u64;

// Inputs.

const SESSION_ID: Field =
    Field::required("session_id", Kind::TEXT, "Id of the session, from session_start or session_list.");

const fn client_token(about: &'static str) -> Field {
    Field { name: "client_token", kind: Kind::TEXT, need: Need::UnlessScoped, about }
}

/// Selects where something new runs.
const RUN_ON: Field = client_token("Target to run on: a client_token from list_clients.");
/// Names the target of what runs already.
const RUNS_ON: Field = client_token("Target that the session runs on: the client_token it was started with.");

const CLIENT_ID: Field = Field::optional(
    "client_id",
    Kind::TEXT,
    "Device of the target, from list_clients; needed only where a target has several.",
);
const CWD: Field = Field::optional(
    "cwd",
    Kind::TEXT,
    "Directory to run in; a leading ~ is the home directory. Default: the target's own.",
);
const ENV: Field = Field::optional("env", Kind::TextMap, "Environment variables to add, names and values as strings.");

const WAIT_MS: Field = Field::optional(
    "wait_ms",
    Kind::within(0, LONGEST_WAIT_MS).default(0),
    "How long to wait for output at most, in milliseconds; 0 does not wait.",
);
const MAX_BYTES: Field = Field::optional(
    "max_bytes",
    Kind::within(MIN_READ as u64, MAX_READ as u64),
    "Most bytes of output to return; 16384 is good. Left out: usually all that is kept, up to 1 MiB.",
);
const UNTIL: Field = Field::optional(
    "until",
    Kind::Object(&Object::closed(&[
        Field::optional("pattern", Kind::TEXT, "Regular expression (Rust syntax); output ends with its match."),
        Field::optional("quiet_ms", Kind::within(1, LONGEST_WAIT_MS), "So many milliseconds without a new byte."),
        Field::optional("end", Kind::BOOLEAN, "The session's end."),
    ])),
    "Wait for any of these instead of for any new output. Needs wait_ms: without it this looks once.",
);

// Results.

const OUTPUT: Field = Field::required(
    "output",
    Kind::TEXT,
    "Terminal output from the cursor on, as text; a byte that is not valid UTF-8 reads as U+FFFD.",
);
const NEXT_CURSOR: Field =
    Field::required("next_cursor", Kind::NATURAL, "Cursor to go on with: the byte offset just after output.");
const TRUNCATED: Field = Field::required(
    "truncated",
    Kind::BOOLEAN,
    "True when bytes at the asked cursor are no longer kept and output begins later.",
);
const DONE: Field = Field::required(
    "done",
    Kind::BOOLEAN,
    "True when the session has ended, or its connection is lost, and output reaches its last byte.",
);
const EXIT_CODE: Field = Field::optional(
    "exit_code",
    Kind::Integer,
    "Only when done: the process's exit code; -1 when it has none (signal, failure, lost).",
);
const TIMED_OUT: Field =
    Field::optional("timed_out", Kind::BOOLEAN, "Only when done: whether the time limit ended it.");
const CANCELED: Field = Field::optional(
    "canceled",
    Kind::BOOLEAN,
    "Only when done: whether a confirmed stop, or its platform, cancelled it.",
);
const ERROR: Field =
    Field::optional("error", Kind::TEXT, "What went wrong, when something did; absent after a clean end.");

/// A property of the read fields in an answer that has them only when it waited.
const fn when_waited(field: Field) -> Field {
    Field { need: Need::Optional, ..field }
}

/// The session and target that a call names.
///
/// # Errors
/// `invalid_argument` when the target must be named and is not; the one [`not_found`] for what cannot be an id.
fn session(args: &mut Args, owner: &Owner) -> Result<(SessionId, Option<TargetName>)> {
    let id = args.text("session_id").and_then(|id| id.parse().ok());
    let target = args.text("client_token").map(|name| TargetName::new(name).map_err(|_| not_found())).transpose()?;
    match id {
        Some(id) => Ok((id, target)),
        None => {
            owner.select(target.as_ref())?;
            Err(not_found())
        }
    }
}

/// The target that a call wants something new on.
///
/// # Errors
/// For what cannot be a target's name: `invalid_argument`, or the one [`not_found`] for scoped access (SR13).
fn target(args: &mut Args, owner: &Owner) -> Result<Option<TargetName>> {
    let Some(name) = args.text("client_token") else {
        owner.select(None)?;
        return Ok(None);
    };
    let target = TargetName::new(name)
        .map_err(|error| Error::new(error.kind(), format!("client_token is no name of a target: {error}")));
    match target {
        Err(_) if *owner.access() != Access::Management => Err(not_found()),
        other => other.map(Some),
    }
}

/// The wait that a call asks for.
///
/// # Errors
/// `invalid_argument` for a pattern that does not compile, and an `until` that asks for nothing.
fn wait(args: &mut Args) -> Result<Wait> {
    let until = args.object("until").map(|mut until| -> Result<Until> {
        Ok(Until {
            pattern: until.text("pattern").map(|pattern| Pattern::new(&pattern)).transpose()?,
            quiet: until.natural("quiet_ms").map(Duration::from_millis),
            end: until.flag("end"),
        })
    });
    let wait = Wait {
        time: Duration::from_millis(args.natural("wait_ms").unwrap_or(0)),
        until: until.transpose()?,
        max_bytes: args.natural("max_bytes").and_then(|bytes| usize::try_from(bytes).ok()),
    };
    wait.check()?;
    Ok(wait)
}

/// A time limit in milliseconds, where 0 means none.
fn time_limit(millis: u64) -> Option<Duration> {
    (millis > 0).then(|| Duration::from_millis(millis))
}

/// A terminal's size; a side that is left out is that of a terminal of 80 columns and 24 lines.
///
/// # Errors
/// `invalid_argument` for a side out of range.
fn size(args: &Args) -> Result<WindowSize> {
    let usual = WindowSize::default();
    let side = |name, usual| args.natural(name).and_then(|side| u16::try_from(side).ok()).unwrap_or(usual);
    WindowSize::new(side("cols", usual.cols()), side("rows", usual.rows()))
}

/// Exactly one of two ways to say a thing.
///
/// # Errors
/// `invalid_argument` when there are both or neither.
fn one_of(args: &Args, first: &str, second: &str, what: &str) -> Result<()> {
    match (args.has(first), args.has(second)) {
        (true, true) => Err(Error::invalid_argument(format!("{first} and {second} exclude each other: give one"))),
        (false, false) => Err(Error::invalid_argument(format!("{first} is missing: give {what}"))),
        _ => Ok(()),
    }
}

/// The target that a list is narrowed to; left out, nothing is narrowed for anybody.
///
/// # Errors
/// As [`target`].
pub(super) fn target_filter(args: &mut Args, owner: &Owner) -> Result<Option<TargetName>> {
    if args.has("client_token") { target(args, owner) } else { Ok(None) }
}
