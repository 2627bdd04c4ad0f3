//! The traits that an adapter implements. Each rule is a bullet, and the shared suite proves each for every adapter.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use bytes::Bytes;

use crate::agent::{
    Agent, AgentAction, AgentRun, AgentSessionDetail, AgentSessionPage, AgentSessionQuery, FinishState, Json,
    ManualTask, PlatformId, TokenUsage,
};
use crate::call::Call;
use crate::capability::{Capabilities, Capability};
use crate::error::{Error, ErrorKind, Result, shown};
use crate::id::{NativeId, TargetName};
use crate::output::OutputSink;
use crate::owner::Owner;
use crate::spec::{CommandSpec, SessionSpec, Signal, WindowSize};

/// The targets of this server: fixed by the configuration, or found on demand.
#[async_trait]
pub trait Targets: Send + Sync {
    /// The targets that are known by name.
    fn list(&self) -> Vec<TargetInfo>;

    /// A target and the backend that reaches it.
    ///
    /// # Errors
    /// `not_found` when there is no such target; the message names where the targets are listed.
    async fn resolve(&self, name: &TargetName) -> Result<ResolvedTarget>;

    /// Ends every backend, all at once. See [`Backend::shutdown`].
    async fn shutdown(&self, grace: Duration);
}

/// A target that is there.
#[derive(Clone)]
pub struct ResolvedTarget {
    /// What it is.
    pub info: TargetInfo,
    /// What reaches it.
    pub backend: Arc<dyn Backend>,
}

/// A target as it is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetInfo {
    /// Its name, which selects it: the `client_token` of the published tools.
    pub name: TargetName,
    /// The device behind it; as long as a target has one device, its name.
    pub client_id: String,
    /// The kind of adapter that reaches it: `pty`, `ssh`, `agent-platform`, `fake`.
    pub backend: &'static str,
    /// Where it comes from, when it is a host: a target that is reached over a connection.
    pub host: Option<HostInfo>,
    /// What it speaks, when it is an agent platform.
    pub platform: Option<PlatformInfo>,
}

impl TargetInfo {
    /// A target with one device, of the target's name; no host and no platform.
    pub fn new(name: TargetName, backend: &'static str) -> Self {
        Self { client_id: name.to_string(), name, backend, host: None, platform: None }
    }
}

/// What is told of a host before anybody connects to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostInfo {
    /// The operator's words for it.
    pub description: Option<String>,
    /// Who names it: `configuration`, or the path of the client configuration that does.
    pub source: String,
}

/// What is told of an agent platform before anybody asks it anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlatformInfo {
    /// The protocol that it speaks: `itential`, `langgraph`.
    pub dialect: String,
}

/// Whether a target can run something now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Availability {
    /// It can run something now.
    Online,
    /// It cannot.
    Offline,
    /// Nobody has looked, and looking would cost a connection.
    Unknown,
}

/// What is known of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetStatus {
    /// Whether it can run something now.
    pub availability: Availability,
    /// Why not, or what else there is to say.
    pub detail: Option<String>,
    /// What kind of machine it is, where that is known.
    pub machine: Option<Machine>,
}

/// What kind of machine a target is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// The operating system, as `uname -s` in lower case.
    pub os: Option<String>,
    /// The processor, as `uname -m`.
    pub arch: Option<String>,
    /// Its own name for itself.
    pub hostname: Option<String>,
    /// The shell that runs commands.
    pub shell: Option<String>,
}

/// Reaches one target.
///
/// - A start that returns an error, or whose future is dropped before it returns, leaves no process.
/// - A start that returns has started: the process's output and end arrive in its sink, in order, the end last.
/// - The sink is finished exactly once, after the last byte that the leader printed, also when nobody holds the
///   returned process any more. Dropping the process neither stops it nor loses its output.
/// - A process whose end cannot be observed ends as [`Exit::Lost`](crate::Exit::Lost), never as a success.
/// - What it was attached to is not its to end: that goes on when the server ends, and only a stop ends it.
/// - What a capability rules out is never called: the registry refuses it before.
/// - No call takes longer than its [`Call::deadline`], and none blocks the runtime's thread.
#[async_trait]
pub trait Backend: Send + Sync {
    /// What this backend can do. Constant.
    fn capabilities(&self) -> Capabilities;

    /// Whether the target can run something now; honest, and as cheap as honesty allows.
    async fn status(&self, cx: &Call) -> TargetStatus;

    /// Starts a session: a terminal with the target's shell running the command.
    ///
    /// # Errors
    /// A launch that fails is an error, never a session that ends at once; an unknown program inside the shell is
    /// the shell's own exit 127.
    async fn start_session(&self, cx: &Call, spec: SessionSpec, out: OutputSink) -> Result<Box<dyn Session>>;

    /// Attaches to what runs on the target already. Never starts anything.
    ///
    /// # Errors
    /// `unsupported` by default.
    async fn attach_session(&self, _cx: &Call, _native: &NativeId, _out: OutputSink) -> Result<Box<dyn Session>> {
        Err(Capabilities::default()
            .require(Capability::Attach)
            .err()
            .unwrap_or_else(|| Error::unsupported("no attach")))
    }

    /// Starts a one-shot command with separate output streams.
    ///
    /// # Errors
    /// As for [`start_session`](Self::start_session).
    async fn run_command(&self, cx: &Call, spec: CommandSpec, out: OutputSink) -> Result<Box<dyn Command>>;

    /// The connections to this target, where it is reached over some: such a target is a host.
    fn connections(&self) -> Option<&dyn Connections> {
        None
    }

    /// The records of this target, where it is an agent platform.
    fn agents(&self) -> Option<&dyn AgentPlatform> {
        None
    }

    /// Ends whatever this backend has started and is still running, also what outlived its process, and all of its own
    /// tasks. Returns when that is done, after little more than `grace` at the latest. The registry's own stops are
    /// under way at the same time.
    async fn shutdown(&self, grace: Duration);
}

/// The connections to one host. Every owner has its own; none is shared between two.
///
/// - Whatever is started connects first where it must; connecting is never somebody's duty.
/// - A lost connection ends what ran on it as [`Exit::Lost`](crate::Exit::Lost), and the next call makes another.
/// - A period begins when an owner goes from no living connection to one, and has a number that no other has had.
#[async_trait]
pub trait Connections: Send + Sync {
    /// Connects the call's owner, or makes sure that its connection still answers.
    ///
    /// # Errors
    /// `permission_denied` when the host's key or our login is refused, `unavailable` when it cannot be reached.
    async fn connect(&self, cx: &Call) -> Result<ConnectionFacts>;

    /// How the owner's connections stand; `None` when it has never tried to connect.
    fn status(&self, owner: &Owner) -> Option<ConnectionStatus>;

    /// The number of the owner's latest period; `None` before the first.
    fn period(&self, owner: &Owner) -> Option<u64>;

    /// Closes the owner's connections, once nothing of its own runs on them. Returns whether there was one.
    async fn disconnect(&self, cx: &Call) -> bool;
}

/// What is known of a connection that stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionFacts {
    /// The address that was dialled, as it was named.
    pub host: String,
    /// The account there.
    pub user: String,
    /// The port.
    pub port: u16,
    /// The operating system, as `uname -s` in lower case.
    pub os: Option<String>,
    /// What the server says of itself.
    pub server_version: String,
    /// The host's key.
    pub host_key: HostKey,
    /// The method that let us in: `publickey`, `password`, and so on; several with a comma where several were asked
    /// for.
    pub auth_method: String,
    /// The hosts in between, in the order of the way.
    pub hops: Vec<String>,
}

/// The key by which a host was recognised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostKey {
    /// The algorithm's name, `ssh-ed25519` and the like.
    pub kind: String,
    /// `SHA256:` and the digest in base 64 without padding.
    pub fingerprint: String,
    /// What vouches for it: the file and line that knows it.
    pub verified_by: String,
}

/// How an owner's connections to a host stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionStatus {
    /// The address, as it is dialled; the target's name until that is known.
    pub host: String,
    /// The account there, once that is known.
    pub user: Option<String>,
    /// The port, once that is known.
    pub port: Option<u16>,
    /// Whether one stands.
    pub connected: bool,
    /// Since when.
    pub since: Option<SystemTime>,
    /// Channels that are open.
    pub channels: usize,
    /// Why the latest one broke or did not come about.
    pub last_error: Option<String>,
}

/// The agents of one platform and the records of their sessions.
///
/// - Nothing is kept here: every answer is what the platform says now.
/// - No id reaches a path other than as one segment of it, and an id that cannot be one is refused before any request.
/// - A failure of the platform is an error of the closed set, without the platform's address, headers or body.
/// - No call takes longer than its [`Call::deadline`].
#[async_trait]
pub trait AgentPlatform: Send + Sync {
    /// One page of sessions.
    ///
    /// # Errors
    /// `invalid_argument` for a page token that this platform's adapter has not written.
    async fn sessions(&self, cx: &Call, query: &AgentSessionQuery) -> Result<AgentSessionPage>;

    /// A session with every completed turn.
    ///
    /// # Errors
    /// `not_found`.
    async fn describe(&self, cx: &Call, session: &PlatformId) -> Result<AgentSessionDetail>;

    /// What a session cost.
    ///
    /// # Errors
    /// `not_found`.
    async fn token_usage(&self, cx: &Call, session: &PlatformId) -> Result<TokenUsage>;

    /// The agents that can be started.
    ///
    /// # Errors
    /// None of its own.
    async fn agents(&self, cx: &Call) -> Result<Vec<Agent>>;

    /// Starts an agent by its name, id or route.
    ///
    /// # Errors
    /// `not_found` for an agent that is not there.
    async fn start(&self, cx: &Call, agent: &str, inputs: Option<&Json>) -> Result<AgentRun>;

    /// Steers a session.
    ///
    /// # Errors
    /// `not_found`; `unsupported` for an action that the platform does not have.
    async fn control(
        &self,
        cx: &Call,
        session: &PlatformId,
        action: AgentAction,
        input: Option<&Json>,
    ) -> Result<AgentRun>;

    /// Something that waits for a person.
    ///
    /// # Errors
    /// `not_found`; `unsupported` when the platform has no such things.
    async fn manual_task(&self, cx: &Call, work_item: &PlatformId) -> Result<ManualTask>;

    /// Completes something that waits for a person. The registry has looked at it and found that it may be.
    ///
    /// # Errors
    /// `not_found`; `failed_precondition` when it waits no more.
    async fn finish_task(
        &self,
        cx: &Call,
        work_item: &PlatformId,
        state: FinishState,
        variables: Option<&Json>,
    ) -> Result<()>;
}

/// Whether a session seems to wait for somebody's input, and what says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputState {
    /// Whether it waits.
    pub waiting: bool,
    /// What shows it, in words.
    pub evidence: String,
}

/// What both kinds of running things have in common.
///
/// - [`stop`](Self::stop) is verified: confirmed only when nothing that the process started is left.
/// - It works after the end too, for what outlived the process.
/// - It may be called again, also while another call is under way, and is safe to drop.
/// - A signal to a process that has ended is an error of kind `failed_precondition` and reaches nobody else.
#[async_trait]
pub trait Process: Send + Sync {
    /// What is known of the process.
    fn facts(&self) -> Facts;

    /// Sends a signal.
    ///
    /// # Errors
    /// `failed_precondition` when there is nobody to receive it; `unsupported` when the target cannot send it.
    async fn signal(&self, cx: &Call, signal: Signal, to: SignalTarget) -> Result<()>;

    /// Ends the process and all that it started: politely, and after `grace` by force.
    ///
    /// # Errors
    /// `unavailable` when the target cannot be asked.
    async fn stop(&self, grace: Duration) -> Result<Stopped>;

    /// The living processes that the process started and has not taken with it; meaningful once it has ended.
    async fn descendants(&self) -> Vec<u32>;
}

/// Who is to receive a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SignalTarget {
    /// The job in the foreground of the terminal; for a command its process group.
    Foreground,
    /// The leader alone.
    Leader,
}

/// What is known of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The leader's process id on its target.
    pub pid: Option<u32>,
    /// The backend's own name for it.
    pub native_id: Option<NativeId>,
    /// The period of [`Connections`] in which it was started, on a host.
    pub period: Option<u64>,
}

/// The outcome of a stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// Nothing that the process started is left.
    Confirmed,
    /// That is not certain; these processes are known to live, or cannot be told apart from its own.
    Unconfirmed {
        /// Their ids.
        pids: Vec<u32>,
    },
}

/// A process on a terminal.
///
/// - Bytes are handed over in order, each at most once; [`Written`] tells how many.
/// - A write that the program does not take ends with what was handed over; the rest is never written later.
/// - Nothing is cut silently: what the terminal would cut is refused as a whole, before anything is written.
/// - A resize that returns has reached the program's terminal.
#[async_trait]
pub trait Session: Process {
    /// Writes input as if it were typed. One call at a time: the registry keeps them in order.
    ///
    /// # Errors
    /// `failed_precondition` when the session has ended, or when its terminal would cut the input.
    async fn write(&self, cx: &Call, input: Bytes) -> Result<Written>;

    /// Tells the program that its input has ended, as Ctrl-D would.
    ///
    /// # Errors
    /// `failed_precondition` when the session has ended.
    async fn eof(&self, cx: &Call) -> Result<()>;

    /// Changes the terminal's size. The registry marks it in the log.
    ///
    /// # Errors
    /// `failed_precondition` when the session has ended.
    async fn resize(&self, cx: &Call, size: WindowSize) -> Result<()>;

    /// Whether the session waits for somebody's input, where that can be told. Within 2 s, after which nobody waits for
    /// the answer any more; whatever fails is `None`.
    async fn input_state(&self, _cx: &Call) -> Option<InputState> {
        None
    }
}

/// How much of a write was handed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The bytes that were handed to the target, from the first on.
    pub bytes: u64,
    /// Why it was not all of them.
    pub stalled: Option<String>,
}

/// A one-shot command.
#[async_trait]
pub trait Command: Process {}

/// Targets that do not change while the server runs.
pub struct FixedTargets(Vec<ResolvedTarget>);

impl FixedTargets {
    /// Exactly these, in this order.
    pub fn new(targets: Vec<(TargetInfo, Arc<dyn Backend>)>) -> Self {
        Self(targets.into_iter().map(|(info, backend)| ResolvedTarget { info, backend }).collect())
    }
}

#[async_trait]
impl Targets for FixedTargets {
    fn list(&self) -> Vec<TargetInfo> {
        self.0.iter().map(|target| target.info.clone()).collect()
    }

    async fn resolve(&self, name: &TargetName) -> Result<ResolvedTarget> {
        self.0.iter().find(|target| target.info.name == *name).cloned().ok_or_else(|| no_target(name))
    }

    async fn shutdown(&self, grace: Duration) {
        futures_util::future::join_all(self.0.iter().map(|target| target.backend.shutdown(grace))).await;
    }
}

/// Several sources of targets as one. Where two know a name, the earlier one has it.
pub struct JoinedTargets(Vec<Arc<dyn Targets>>);

impl JoinedTargets {
    /// These, in this order.
    pub fn new(sources: Vec<Arc<dyn Targets>>) -> Self {
        Self(sources)
    }
}

#[async_trait]
impl Targets for JoinedTargets {
    fn list(&self) -> Vec<TargetInfo> {
        let mut all: Vec<TargetInfo> = Vec::new();
        for info in self.0.iter().flat_map(|source| source.list()) {
            if !all.iter().any(|known| known.name == info.name) {
                all.push(info);
            }
        }
        all
    }

    async fn resolve(&self, name: &TargetName) -> Result<ResolvedTarget> {
        let mut missing = no_target(name);
        for source in &self.0 {
            match source.resolve(name).await {
                Err(error) if error.kind() == ErrorKind::NotFound => missing = error,
                resolved => return resolved,
            }
        }
        Err(missing)
    }

    async fn shutdown(&self, grace: Duration) {
        futures_util::future::join_all(self.0.iter().map(|source| source.shutdown(grace))).await;
    }
}

fn no_target(name: &TargetName) -> Error {
    let name = shown(name.as_str());
    Error::not_found(format!("there is no target \"{name}\": list_clients shows the client_token of each"))
}
