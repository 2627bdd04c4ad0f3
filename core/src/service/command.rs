//! Requests and answers of commands: one that is waited for, and those that are followed by a handle.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;

use super::Wait;
use crate::id::{Handle, TargetName};
use crate::output::{Cursor, End, Stream};
use crate::pattern::Pattern;
use crate::spec::{Invocation, Signal};

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
    /// When to stop it; `None` never. At most [`MAX_TIME_LIMIT`](super::MAX_TIME_LIMIT).
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

/// The longest that [`RunCommand`] keeps its caller waiting (CF01); many clients give a call up at 60 s.
pub const MAX_RUN_WAIT: Duration = Duration::from_secs(50);
/// The silence that ends the waiting of [`RunCommand`] when the caller names none (CF01).
pub const DEFAULT_SILENCE: Duration = Duration::from_secs(60);
/// The longest [`CheckCommand::wait`].
pub const MAX_CHECK_WAIT: Duration = Duration::from_secs(50);
/// The most output of each stream in the answer of [`RunCommand`], in bytes (CO33).
pub const MAX_INLINE: usize = 32_768;
/// The lines of [`ReadCommand`] when the caller names no number (CO10).
pub const DEFAULT_LINES: u64 = 50;

/// Run a command on a host, wait for it as long as told, and keep it under a handle.
#[derive(Clone, Debug, PartialEq)]
pub struct RunCommand {
    /// Where; may be left out while exactly one host is connected (CF08).
    pub target: Option<TargetName>,
    /// What.
    pub invocation: Invocation,
    /// All of its standard input.
    pub stdin: Bytes,
    /// How long the command may print nothing before the waiting ends; the command goes on.
    pub silence: Duration,
    /// How long to wait at most; `None` is [`MAX_RUN_WAIT`]. The command goes on.
    pub wait: Option<Duration>,
    /// When to stop the command; `None` never. At most [`MAX_TIME_LIMIT`](super::MAX_TIME_LIMIT).
    pub time_limit: Option<Duration>,
}

/// Why the waiting of a [`RunCommand`] ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RunStatus {
    /// It has ended with exit code 0.
    Success,
    /// It has ended otherwise, by itself or by a kill.
    CommandFailed,
    /// It printed nothing for so long; it goes on.
    IoTimeout,
    /// The wait was up, or the call was taken back; it goes on.
    WaitTimeout {
        /// Whether the caller asked for more than [`MAX_RUN_WAIT`], or for no limit.
        capped: bool,
    },
    /// Its time limit has stopped it.
    RuntimeTimeout,
    /// The working directory does not exist: nothing was started, and there is no handle.
    CwdNotFound,
    /// The connection was lost, or nobody knows how it ended.
    Error,
}

impl RunStatus {
    /// The name on every wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::CommandFailed => "command_failed",
            Self::IoTimeout => "io_timeout",
            Self::WaitTimeout { .. } => "wait_timeout",
            Self::RuntimeTimeout => "runtime_timeout",
            Self::CwdNotFound => "cwd_not_found",
            Self::Error => "error",
        }
    }
}

/// How a [`RunCommand`] went.
#[derive(Clone, Debug, PartialEq)]
pub struct CommandRun {
    /// Why the answer came now.
    pub status: RunStatus,
    /// The host.
    pub target: TargetName,
    /// The command's record; `None` when nothing was started.
    pub command: Option<CommandInfo>,
    /// The newest of what it has printed on stdout.
    pub stdout: Tail,
    /// The newest of what it has printed on stderr.
    pub stderr: Tail,
    /// Processes that it left behind and that still live.
    pub descendants: Vec<u32>,
    /// What went wrong, where something did.
    pub error: Option<String>,
}

/// The newest output of one stream: at most [`MAX_INLINE`] bytes, from a line's beginning on; of a longer single line
/// its newest bytes from a character's beginning on (CO33).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tail {
    /// The output.
    pub bytes: Bytes,
    /// The number of the line that it begins in, from 1.
    pub first_line: u64,
    /// Whether the stream has had more.
    pub truncated: bool,
}

/// What is known of a command under a handle.
#[derive(Clone, Debug, PartialEq)]
pub struct CommandInfo {
    /// Its handle.
    pub handle: Handle,
    /// Its host.
    pub target: TargetName,
    /// What it runs.
    pub command: Arc<str>,
    /// Where it runs, when the caller said so.
    pub cwd: Option<Arc<str>>,
    /// Where it stands.
    pub status: CommandStatus,
    /// How it ended, once it has.
    pub end: Option<End>,
    /// Its process id on the host.
    pub pid: Option<u32>,
    /// When it started.
    pub started_at: SystemTime,
    /// When it ended.
    pub ended_at: Option<SystemTime>,
    /// What there is on stdout.
    pub stdout: LineFacts,
    /// What there is on stderr.
    pub stderr: LineFacts,
}

/// Where a command stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CommandStatus {
    /// It runs.
    Running,
    /// It has ended by itself, whatever its exit code.
    Completed,
    /// A kill or its time limit has ended it.
    Killed,
    /// Its connection was lost; nobody knows how it ended.
    Lost,
}

impl CommandStatus {
    /// The name on every wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Killed => "killed",
            Self::Lost => "lost",
        }
    }
}

/// How many lines a stream has (CO34).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineFacts {
    /// Lines that it has had; the last unterminated piece is one.
    pub total: u64,
    /// Lines that can no longer be read.
    pub dropped: u64,
}

/// Look at a command.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckCommand {
    /// Which.
    pub handle: Handle,
    /// How long to wait for its end; at most [`MAX_CHECK_WAIT`].
    pub wait: Duration,
}

/// Read lines of a command's output.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadCommand {
    /// Which.
    pub handle: Handle,
    /// Which of its streams.
    pub stream: Stream,
    /// How many lines, at least 1; `None` is [`DEFAULT_LINES`].
    pub lines: Option<u64>,
    /// From which line on, from 1; `None` is the newest ones.
    pub start_line: Option<u64>,
}

/// Lines of output, each without its terminator (CO02).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CommandLines {
    /// The number of the first one, from 1.
    pub first: u64,
    /// The lines.
    pub lines: Vec<Bytes>,
}

/// Read the bytes of a command's output, waiting for them when asked to.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadCommandOutput {
    /// Which.
    pub handle: Handle,
    /// Which of its streams.
    pub stream: Stream,
    /// From where.
    pub cursor: Cursor,
    /// What to wait for and how much to take.
    pub wait: Wait,
}

/// End a command.
#[derive(Clone, Debug, PartialEq)]
pub struct KillCommand {
    /// Which.
    pub handle: Handle,
    /// The signal to ask with.
    pub signal: Signal,
    /// Whether to kill what is left after `wait`.
    pub force: bool,
    /// How long to wait after the signal.
    pub wait: Duration,
}

/// How a kill went.
#[derive(Clone, Debug, PartialEq)]
pub struct KillOutcome {
    /// Which.
    pub handle: Handle,
    /// Its process id on the host.
    pub pid: Option<u32>,
    /// What came of it.
    pub result: KillResult,
    /// The signal that was asked for.
    pub signal: Signal,
    /// Whether `KILL` was needed.
    pub force_used: bool,
    /// Processes that still live, where it failed.
    pub survivors: Vec<u32>,
}

/// What came of a kill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KillResult {
    /// It is gone with all that it started.
    Killed,
    /// It ended by itself before the signal could reach it.
    AlreadyExited,
    /// It had ended before the call.
    NotRunning,
    /// Something of it lives.
    FailedToKill,
}

impl KillResult {
    /// The name on every wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Killed => "killed",
            Self::AlreadyExited => "already_exited",
            Self::NotRunning => "not_running",
            Self::FailedToKill => "failed_to_kill",
        }
    }
}

/// Which commands to list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListCommands {
    /// Only those of this host.
    pub target: Option<TargetName>,
    /// The newest so many; `None` is all.
    pub limit: Option<usize>,
    /// Whether the newest comes first; else the oldest does.
    pub reverse: bool,
    /// Only those whose text this matches somewhere.
    pub pattern: Option<Pattern>,
    /// How many of the newest lines of each stream to tell; `None` is no output at all.
    pub output_lines: Option<u64>,
}

/// A command as it is listed.
#[derive(Clone, Debug, PartialEq)]
pub struct CommandSummary {
    /// What is known of it.
    pub info: CommandInfo,
    /// Its newest output, when that was asked for.
    pub output: Option<RecentOutput>,
}

/// The newest lines of both streams.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecentOutput {
    /// Of stdout.
    pub stdout: Vec<Bytes>,
    /// Of stderr.
    pub stderr: Vec<Bytes>,
}
