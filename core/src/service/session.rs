//! Requests and answers of sessions.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;

use super::Wait;
use crate::backend::InputState;
use crate::id::{NativeId, SessionId, TargetName};
use crate::keys::Key;
use crate::output::{Cursor, End, Slice, Status};
use crate::service::Fired;
use crate::spec::{Invocation, Signal, WindowSize};

/// Start a session.
#[derive(Clone, Debug, PartialEq)]
pub struct StartSession {
    /// Where; may be left out by an owner who has one target only.
    pub target: Option<TargetName>,
    /// Which device of the target.
    pub client_id: Option<String>,
    /// What to run or attach to.
    pub what: Launch,
    /// When to stop it; `None` never. At most [`MAX_TIME_LIMIT`](super::MAX_TIME_LIMIT).
    pub time_limit: Option<Duration>,
    /// The terminal's size.
    pub size: WindowSize,
    /// The caller's own name for it; at most [`MAX_LABEL`] bytes.
    pub label: Option<String>,
    /// Whether the shell is a login shell.
    pub login: bool,
    /// What output to wait for.
    pub wait: Wait,
}

/// The longest label, in bytes.
pub const MAX_LABEL: usize = 256;

/// What a session is to be.
#[derive(Clone, Debug, PartialEq)]
pub enum Launch {
    /// Something new.
    Start(Invocation),
    /// What runs on the target already.
    Attach(NativeId),
}

/// A session that has started.
#[derive(Clone, Debug, PartialEq)]
pub struct Started {
    /// Its id.
    pub session: SessionId,
    /// Its first output, when the caller asked to wait.
    pub read: Option<Read>,
}

/// Read a session's output.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadSession {
    /// Which session.
    pub session: SessionId,
    /// Its target; may be left out by an owner who has one target only.
    pub target: Option<TargetName>,
    /// From where.
    pub cursor: Cursor,
    /// What to wait for and how much to take.
    pub wait: Wait,
}

/// A piece of a session's output, and why the wait for it ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Read {
    /// The output.
    pub slice: Slice,
    /// What ended the wait.
    pub fired: Fired,
}

/// Write to a session.
#[derive(Clone, Debug, PartialEq)]
pub struct WriteSession {
    /// Which session.
    pub session: SessionId,
    /// Its target; may be left out by an owner who has one target only.
    pub target: Option<TargetName>,
    /// What to type.
    pub input: Bytes,
    /// What output to wait for afterwards.
    pub wait: Wait,
}

/// How a write went.
#[derive(Clone, Debug, PartialEq)]
pub struct WriteOutcome {
    /// How many bytes were handed to the target.
    pub bytes: u64,
    /// Why it was not all of them.
    pub stalled: Option<String>,
    /// The output since just before the write, when the caller asked to wait.
    pub read: Option<Read>,
}

/// Steer a session.
#[derive(Clone, Debug, PartialEq)]
pub struct ControlSession {
    /// Which session.
    pub session: SessionId,
    /// Its target; may be left out by an owner who has one target only.
    pub target: Option<TargetName>,
    /// What to do.
    pub action: Action,
    /// What output to wait for afterwards.
    pub wait: Wait,
}

/// Something to do to a session.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Interrupt the job in the foreground.
    Interrupt,
    /// Tell the program that its input has ended.
    Eof,
    /// Stop the session and all that it started.
    Stop,
    /// Send a signal to the job in the foreground.
    Signal(Signal),
    /// Change the terminal's size.
    Resize(WindowSize),
    /// Press keys, one after another.
    Keys(Vec<Key>),
}

/// How steering went.
#[derive(Clone, Debug, PartialEq)]
pub struct ControlOutcome {
    /// Whether it was done.
    pub accepted: bool,
    /// What there is to say, above all why not.
    pub detail: Option<String>,
    /// The output since just before, when the caller asked to wait.
    pub read: Option<Read>,
}

/// Stop a session.
#[derive(Clone, Debug, PartialEq)]
pub struct StopSession {
    /// Which session.
    pub session: SessionId,
    /// Its target; may be left out by an owner who has one target only.
    pub target: Option<TargetName>,
    /// How long to wait for the outcome; at most [`MAX_WAIT`](super::MAX_WAIT).
    pub wait: Duration,
}

/// How a stop went.
#[derive(Clone, Debug, PartialEq)]
pub struct StopOutcome {
    /// Whether this call asked for something that was not over yet.
    pub accepted: bool,
    /// Whether the session had ended before.
    pub already_done: bool,
    /// Where it stands.
    pub status: StopStatus,
    /// How it ended, once it has.
    pub end: Option<End>,
    /// Processes that are known to live although a stop has given up on them.
    pub survivors: Vec<u32>,
}

/// Where a stop stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StopStatus {
    /// Not confirmed yet, or given up.
    Stopping,
    /// Ended by a confirmed stop.
    Stopped,
    /// Ended for another reason.
    Finished,
}

/// Which sessions to list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListSessions {
    /// Only those of this target.
    pub target: Option<TargetName>,
    /// Only those of this device.
    pub client_id: Option<String>,
    /// Only those that stand here.
    pub status: Option<Status>,
    /// How many, 1 to [`MAX_PAGE`](super::MAX_PAGE); `None` is [`DEFAULT_PAGE`](super::DEFAULT_PAGE).
    pub limit: Option<usize>,
    /// Where the page before ended.
    pub page_token: Option<String>,
}

/// One page of sessions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionPage {
    /// The sessions.
    pub sessions: Vec<SessionSummary>,
    /// Where to go on, when there are more.
    pub next_page_token: Option<String>,
}

/// A session as it is listed.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionSummary {
    /// Its id.
    pub session: SessionId,
    /// Its target.
    pub target: TargetName,
    /// The kind of adapter that reaches it.
    pub backend: &'static str,
    /// The caller's own name for it.
    pub label: Option<Arc<str>>,
    /// What it runs.
    pub command: Arc<str>,
    /// When it started.
    pub started_at: SystemTime,
    /// When it ended.
    pub ended_at: Option<SystemTime>,
    /// Where it stands.
    pub status: Status,
    /// How it ended.
    pub end: Option<End>,
    /// The earliest output that can still be read.
    pub output_start: Cursor,
    /// Just after the last byte of output.
    pub output_end: Cursor,
    /// Living processes that its leader has left behind.
    pub descendants: usize,
    /// The backend's own name for it.
    pub native_id: Option<NativeId>,
    /// Whether it seems to wait for somebody's input, where that can be told while it runs.
    pub input_state: Option<InputState>,
}
