//! The inbound port: one typed request and one typed answer per verb.
//!
//! The registry implements it, and so does whatever stands for a registry elsewhere; transports and the conformance
//! suite know nothing else.
//!
//! - `session`, `command`, `host`, `agent`: the requests and answers, by what they are about
//! - `verb`: the verbs as data
//! - `guarded`: lets through what the caller's role permits

mod agent;
mod command;
mod guarded;
mod host;
mod session;
mod verb;

use std::time::Duration;

use async_trait::async_trait;

pub use agent::*;
pub use command::*;
pub use guarded::Guarded;
pub use host::*;
pub use session::*;
pub use verb::{NoVerb, Verb};

use crate::agent::{Agent, AgentRun, AgentSessionDetail, AgentSessionPage, ManualTask, TokenUsage};
use crate::backend::{TargetInfo, TargetStatus};
use crate::call::Call;
use crate::error::{Error, Result};
use crate::id::TargetName;
use crate::pattern::Pattern;

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

    /// The hosts that the caller may use: targets that are reached over a connection (CF09).
    ///
    /// # Errors
    /// None of its own.
    async fn list_hosts(&self, cx: &Call) -> Result<HostList>;

    /// Connects to a host. One that is connected is asked whether it still answers, and is left as it is.
    ///
    /// # Errors
    /// `not_found`; `unsupported` for a target that is no host; `permission_denied` when the host's key or our login
    /// is refused; `unavailable` when the host cannot be reached.
    async fn connect_host(&self, cx: &Call, request: ConnectHost) -> Result<HostConnected>;

    /// The caller's connections: of every host that it has tried to reach.
    ///
    /// # Errors
    /// `not_found` for a host that is not there.
    async fn list_connections(&self, cx: &Call, request: ListConnections) -> Result<Vec<Connection>>;

    /// Stops whatever the caller runs on a host and closes its connections. Asking again is no error.
    ///
    /// # Errors
    /// `not_found`; `failed_precondition` when none is named and several are connected.
    async fn disconnect_host(&self, cx: &Call, request: DisconnectHost) -> Result<HostDisconnected>;

    /// Runs a command on a host and waits for it as long as told. Nothing but its time limit stops it: when the caller
    /// takes the call back, or drops it, the command goes on under its handle.
    ///
    /// # Errors
    /// Only when nothing has run, and not for a working directory that is not there, which is a status.
    async fn run_command(&self, cx: &Call, request: RunCommand) -> Result<CommandRun>;

    /// How a command stands, at its end or when the wait is up. `None` for a handle that is not there for the caller.
    ///
    /// # Errors
    /// `invalid_argument` for a wait out of range.
    async fn check_command(&self, cx: &Call, request: CheckCommand) -> Result<Option<CommandInfo>>;

    /// Reads lines of a command's output. Consumes nothing, and costs no round trip to the host.
    ///
    /// # Errors
    /// `not_found`; `invalid_argument` for a number out of range, and for a line that has been dropped.
    async fn read_command(&self, cx: &Call, request: ReadCommand) -> Result<CommandLines>;

    /// Reads the bytes of one of a command's streams from a cursor on, waiting for them when asked to: what
    /// [`read_session`](Self::read_session) is for a session.
    ///
    /// # Errors
    /// `not_found`; `invalid_argument` for a cursor past the end.
    async fn read_command_output(&self, cx: &Call, request: ReadCommandOutput) -> Result<Read>;

    /// Ends a command and all that it started. Asking again is no error.
    ///
    /// # Errors
    /// `not_found`; `unavailable` when its host cannot be asked.
    async fn kill_command(&self, cx: &Call, request: KillCommand) -> Result<KillOutcome>;

    /// The caller's commands that have a handle, in the order of starting.
    ///
    /// # Errors
    /// `not_found` for a host that is not there.
    async fn list_commands(&self, cx: &Call, request: ListCommands) -> Result<Vec<CommandSummary>>;

    /// Forgets the caller's commands that have ended. Returns how many.
    ///
    /// # Errors
    /// `failed_precondition` when there is none and no host is connected either.
    async fn clear_commands(&self, cx: &Call) -> Result<usize>;

    /// The agent platforms that the caller may use. Costs no request to any of them.
    ///
    /// # Errors
    /// None of its own.
    async fn list_platforms(&self, cx: &Call) -> Result<PlatformList>;

    /// One page of a platform's sessions.
    ///
    /// # Errors
    /// `invalid_argument` for a limit out of range and for a page token that was not handed out; `failed_precondition`
    /// when no target is named and several platforms are configured; `unsupported` for a target that is no platform;
    /// and what the platform answers, as for every verb below.
    async fn list_agent_sessions(&self, cx: &Call, request: ListAgentSessions) -> Result<AgentSessionPage>;

    /// A session of a platform with its completed turns and what waits for a person.
    ///
    /// # Errors
    /// `invalid_argument` for an id that no platform hands out (DS41); `not_found` when the platform knows it not.
    async fn describe_agent_session(&self, cx: &Call, request: DescribeAgentSession) -> Result<AgentSessionDetail>;

    /// What a session of a platform cost, turn by turn.
    ///
    /// # Errors
    /// As for [`describe_agent_session`](Self::describe_agent_session).
    async fn agent_token_usage(&self, cx: &Call, request: DescribeAgentSession) -> Result<TokenUsage>;

    /// The agents of a platform that can be started.
    ///
    /// # Errors
    /// None of its own.
    async fn list_agents(&self, cx: &Call, request: ListAgents) -> Result<Vec<Agent>>;

    /// Starts an agent. The session is the platform's: nothing here follows it, and the server's end leaves it alone.
    ///
    /// # Errors
    /// `not_found` for an agent that is not there; `invalid_argument` for inputs that the platform refuses.
    async fn start_agent(&self, cx: &Call, request: StartAgent) -> Result<AgentRun>;

    /// Cancels, pauses or resumes a session of a platform.
    ///
    /// # Errors
    /// `not_found`; `unsupported` when the platform has no such action; `failed_precondition` when it is over.
    async fn control_agent_session(&self, cx: &Call, request: ControlAgentSession) -> Result<AgentRun>;

    /// Something that waits for a person.
    ///
    /// # Errors
    /// `not_found`; `unsupported` when the platform has no such things.
    async fn describe_manual_task(&self, cx: &Call, request: DescribeManualTask) -> Result<ManualTask>;

    /// Completes something that waits for a person; without confirmation, says what that would do.
    ///
    /// # Errors
    /// `not_found`; `failed_precondition` when it waits no more, or has no button for the finish state;
    /// `unsupported` when its view cannot be completed from here.
    async fn complete_manual_task(&self, cx: &Call, request: CompleteManualTask) -> Result<TaskCompletion>;
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
