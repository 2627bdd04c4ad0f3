//! The traits that an adapter implements. Each rule is a bullet, and the shared suite proves each for every adapter.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

use crate::call::Call;
use crate::capability::{Capabilities, Capability};
use crate::error::{Error, Result, shown};
use crate::id::{NativeId, TargetName};
use crate::output::OutputSink;
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

    /// Ends whatever this backend still has running, also what outlived its process, and all of its own tasks.
    /// Returns when that is done, after little more than `grace` at the latest.
    async fn shutdown(&self, grace: Duration);
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
        self.0.iter().find(|target| target.info.name == *name).cloned().ok_or_else(|| {
            let name = shown(name.as_str());
            Error::not_found(format!("there is no target \"{name}\": list_clients shows the client_token of each"))
        })
    }

    async fn shutdown(&self, grace: Duration) {
        futures_util::future::join_all(self.0.iter().map(|target| target.backend.shutdown(grace))).await;
    }
}
