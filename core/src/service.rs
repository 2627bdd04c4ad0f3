//! The inbound port: one typed request and one typed answer per verb.
//!
//! The registry implements it, and so does whatever stands for a registry elsewhere; transports and the conformance
//! suite know nothing else.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use bytes::Bytes;

use crate::backend::{TargetInfo, TargetStatus};
use crate::call::Call;
use crate::error::{Error, Result};
use crate::id::{NativeId, SessionId, TargetName};
use crate::keys::Key;
use crate::output::{Cursor, End, Slice, Status};
use crate::pattern::Pattern;
use crate::spec::{Invocation, Signal, WindowSize};

/// The verbs.
#[async_trait]
pub trait Service: Send + Sync {
    /// The targets that the caller may use.
    ///
    /// # Errors
    /// `not_found` for a target that is not the caller's.
    async fn list_targets(&self, cx: &Call, request: ListTargets) -> Result<Vec<Target>>;

    /// Runs a command to its end.
    ///
    /// When the caller takes the call back, or drops it, the command is stopped.
    ///
    /// # Errors
    /// Only when nothing has run; whatever ran has a result.
    async fn execute_command(&self, cx: &Call, request: ExecuteCommand) -> Result<CommandResult>;

    /// Starts a session, and reads its first output when asked to wait.
    ///
    /// # Errors
    /// A launch that fails leaves no session.
    async fn start_session(&self, cx: &Call, request: StartSession) -> Result<Started>;

    /// Reads output from a cursor on, waiting for it when asked to. Consumes nothing and changes nothing.
    ///
    /// # Errors
    /// `not_found`; `invalid_argument` for a cursor past the end.
    async fn read_session(&self, cx: &Call, request: ReadSession) -> Result<Read>;

    /// Writes input to a session.
    ///
    /// # Errors
    /// `failed_precondition` when the session has ended or its terminal would cut the input.
    async fn write_session(&self, cx: &Call, request: WriteSession) -> Result<WriteOutcome>;

    /// Steers a session other than by input.
    ///
    /// # Errors
    /// `unsupported` when its target cannot do it. A session that has ended is no error: nothing is accepted.
    async fn control_session(&self, cx: &Call, request: ControlSession) -> Result<ControlOutcome>;

    /// Stops a session and all that it started. Asking again is no error.
    ///
    /// # Errors
    /// `not_found`.
    async fn stop_session(&self, cx: &Call, request: StopSession) -> Result<StopOutcome>;

    /// The caller's sessions: running ones first, then the newest.
    ///
    /// # Errors
    /// `invalid_argument` for a page token that was not handed out.
    async fn list_sessions(&self, cx: &Call, request: ListSessions) -> Result<SessionPage>;
}

/// The longest [`Wait::time`] (SR10).
pub const MAX_WAIT: Duration = Duration::from_millis(20_000);
/// The least [`Wait::max_bytes`]: the longest character.
pub const MIN_READ: usize = 4;
/// The most [`Wait::max_bytes`], in bytes.
pub const MAX_READ: usize = 1_048_576;
/// The longest time limit of a process.
pub const MAX_TIME_LIMIT: Duration = Duration::from_millis(86_400_000);
/// The time limit of [`ExecuteCommand`] when the caller names none.
pub const DEFAULT_TIME_LIMIT: Duration = Duration::from_millis(60_000);
/// The most sessions on one page of a list.
pub const MAX_PAGE: usize = 500;
/// The sessions on one page when the caller names no number.
pub const DEFAULT_PAGE: usize = 50;
/// The wait of [`StopSession`] when the caller names none.
pub const DEFAULT_STOP_WAIT: Duration = Duration::from_millis(1000);

/// What a read waits for and how much it takes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wait {
    /// How long at most; zero looks once.
    pub time: Duration,
    /// What to wait for; `None` waits for any new output.
    pub until: Option<Until>,
    /// The most raw bytes to return; `None` is all that is kept, or the server's own default.
    pub max_bytes: Option<usize>,
}

impl Wait {
    /// Whether the caller asked to wait for anything at all.
    pub fn is_asked(&self) -> bool {
        !self.time.is_zero() || self.until.is_some()
    }

    /// Refuses what is out of range.
    ///
    /// # Errors
    /// `invalid_argument`, naming the range.
    pub fn check(&self) -> Result<()> {
        if self.time > MAX_WAIT {
            return Err(Error::invalid_argument(format!("wait_ms must be 0 to {}", MAX_WAIT.as_millis())));
        }
        if self.max_bytes.is_some_and(|bytes| !(MIN_READ..=MAX_READ).contains(&bytes)) {
            return Err(Error::invalid_argument(format!("max_bytes must be {MIN_READ} to {MAX_READ}")));
        }
        if self.until.as_ref().and_then(|until| until.quiet).is_some_and(|quiet| quiet > MAX_WAIT) {
            return Err(Error::invalid_argument(format!("until.quiet_ms must be at most {}", MAX_WAIT.as_millis())));
        }
        if self.until.as_ref().is_some_and(|until| *until == Until::default()) {
            return Err(Error::invalid_argument("until is empty: give pattern, quiet_ms, end, or several of them"));
        }
        Ok(())
    }
}

/// Conditions that end a wait; any of them does. The process's end always does.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Until {
    /// This matches in the output from the cursor on.
    pub pattern: Option<Pattern>,
    /// No byte has come for so long.
    pub quiet: Option<Duration>,
    /// The process has ended.
    pub end: bool,
}

/// What ended a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fired {
    /// New output, where nothing else was asked for.
    Output,
    /// The pattern matched; the output ends with the match.
    Pattern,
    /// Nothing came for long enough.
    Quiet,
    /// The process has ended.
    End,
    /// As many bytes are there as the caller takes.
    Full,
    /// The time was up, or the caller took the call back.
    Deadline,
}

impl Fired {
    /// The name on every wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Output => "output",
            Self::Pattern => "pattern",
            Self::Quiet => "quiet",
            Self::End => "end",
            Self::Full => "max_bytes",
            Self::Deadline => "deadline",
        }
    }
}

/// Which targets to list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListTargets {
    /// Only this one.
    pub target: Option<TargetName>,
    /// How long to wait while none is online; at most [`MAX_WAIT`].
    pub wait: Duration,
}

/// A target and how it does.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// What it is.
    pub info: TargetInfo,
    /// How it does.
    pub status: TargetStatus,
}

/// Run a command.
#[derive(Clone, Debug, PartialEq)]
pub struct ExecuteCommand {
    /// Where; may be left out by an owner who has one target only.
    pub target: Option<TargetName>,
    /// Which device of the target.
    pub client_id: Option<String>,
    /// What.
    pub invocation: Invocation,
    /// All of its standard input.
    pub stdin: Bytes,
    /// When to stop it; `None` never. At most [`MAX_TIME_LIMIT`].
    pub time_limit: Option<Duration>,
}

/// How a command went.
#[derive(Clone, Debug, PartialEq)]
pub struct CommandResult {
    /// What it printed on stdout, as far as it was kept.
    pub stdout: Bytes,
    /// What it printed on stderr, as far as it was kept.
    pub stderr: Bytes,
    /// Whether output was turned away.
    pub truncated: bool,
    /// How it ended.
    pub end: End,
    /// Processes that it left behind and that still live.
    pub descendants: Vec<u32>,
}

/// Start a session.
#[derive(Clone, Debug, PartialEq)]
pub struct StartSession {
    /// Where; may be left out by an owner who has one target only.
    pub target: Option<TargetName>,
    /// Which device of the target.
    pub client_id: Option<String>,
    /// What to run or attach to.
    pub what: Launch,
    /// When to stop it; `None` never. At most [`MAX_TIME_LIMIT`].
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
    /// How long to wait for the outcome; at most [`MAX_WAIT`].
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
    /// How many, 1 to [`MAX_PAGE`]; `None` is [`DEFAULT_PAGE`].
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
}
