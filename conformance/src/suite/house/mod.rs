//! Houses: a sessiond over one backend, reached through one transport, opened anew for each stage.

mod http;
mod in_process;
mod platform;
mod process;
pub mod ssh;
mod stdio;
mod wire;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::{BoxFuture, join_all};
use sessiond_core::{Capabilities, Capability, Limits, Owner};

pub use http::Key;
pub(crate) use in_process::connect;
pub(crate) use platform::Peers;

use super::client::Client;
use super::mutant::Fault;
use super::scenario::Need;
use super::stage::{Stage, target};

/// Where the work runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BackendKind {
    /// The scripted backend.
    Fake,
    /// This machine.
    Pty,
    /// A host behind a real OpenSSH server.
    Ssh,
    /// An agent platform that does what its scenario says.
    AgentPlatform,
}

/// How a sessiond is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TransportKind {
    /// The registry and the tool layer in this process.
    InProcess,
    /// The binary, over its standard input and output.
    Stdio,
    /// gRPC on a unix socket.
    Grpc,
    /// The tool layer over gRPC: what the binary is with `--connect`.
    Bridge,
    /// The binary, over MCP's streamable HTTP, with a key for everything.
    McpHttp,
    /// The same with the key of a device: it reaches one target, which calls need not name.
    McpHttpScoped,
}

/// What the caller of a stage may reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Every target; each call names the one it means.
    Management,
    /// The target of every stage alone; calls leave it out.
    Scoped,
}

/// The binaries that are tested.
#[derive(Clone, Debug, Default)]
pub struct Servers {
    /// `sessiond-mcp-stdio`.
    pub mcp_stdio: PathBuf,
    /// `sessiond-mcp-http`.
    pub mcp_http: PathBuf,
}

impl BackendKind {
    /// Every backend that there is.
    pub const ALL: &[Self] = &[Self::Fake, Self::Pty, Self::Ssh, Self::AgentPlatform];

    /// The name in the table and in a configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Fake => "fake",
            Self::Pty => "pty",
            Self::Ssh => "ssh",
            Self::AgentPlatform => "agent-platform",
        }
    }

    /// What it can do.
    pub fn capabilities(self) -> Capabilities {
        use Capability::{Agents, Attach, Commands, Connections, Eof, Resize, Sessions, Signals, Write};
        match self {
            Self::Pty => Capabilities::of(&[Sessions, Commands, Write, Eof, Resize, Signals]),
            Self::Fake | Self::Ssh => Capabilities::of(&[Sessions, Commands, Write, Eof, Resize, Signals, Connections]),
            Self::AgentPlatform => Capabilities::of(&[Sessions, Attach, Agents]),
        }
    }
}

impl TransportKind {
    /// Every transport that there is.
    pub const ALL: &[Self] =
        &[Self::InProcess, Self::Stdio, Self::Grpc, Self::Bridge, Self::McpHttp, Self::McpHttpScoped];

    /// The name in the table.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InProcess => "in-process",
            Self::Stdio => "stdio",
            Self::Grpc => "grpc",
            Self::Bridge => "bridge",
            Self::McpHttp => "mcp-http",
            Self::McpHttpScoped => "mcp-http-scoped",
        }
    }

    /// What its caller may reach.
    pub fn access(self) -> Access {
        match self {
            Self::InProcess | Self::Stdio | Self::Grpc | Self::Bridge | Self::McpHttp => Access::Management,
            Self::McpHttpScoped => Access::Scoped,
        }
    }
}

impl Access {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Management, Self::Scoped];

    /// The owner of this name with this access.
    pub(crate) fn owner(self, name: &'static str) -> Owner {
        match self {
            Self::Management => Owner::management(name),
            Self::Scoped => Owner::scoped(name, target()),
        }
    }

    /// The client as one of this access speaks.
    fn spoken(self, client: Client) -> Client {
        match self {
            Self::Management => client,
            Self::Scoped => client.omitting(target()),
        }
    }
}

/// What a stage is to be like, where that differs from the defaults.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The registry's bounds.
    pub limits: Limits,
    /// How long the end of a session waits for others that keep its terminal open (SR56).
    pub linger: Duration,
    /// How long one call to an agent platform may take.
    pub platform_timeout: Duration,
    /// Targets beside the one of every stage, by name.
    pub more: Vec<(&'static str, BackendKind)>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            linger: Duration::from_secs(2),
            platform_timeout: Duration::from_secs(30),
            more: Vec::new(),
        }
    }
}

/// Opens stages, and ends what it has opened.
#[async_trait]
pub(crate) trait Opener: Send + Sync {
    async fn open(&self, backend: BackendKind, settings: Settings) -> Stage;

    /// The ends of the stages that have been opened, each to be awaited once.
    fn ends(&self) -> Vec<BoxFuture<'static, ()>>;
}

/// Ends that are still to come.
#[derive(Default)]
pub(crate) struct Ends(Mutex<Vec<BoxFuture<'static, ()>>>);

impl Ends {
    fn add(&self, end: impl Future<Output = ()> + Send + 'static) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(Box::pin(end));
    }

    fn take(&self) -> Vec<BoxFuture<'static, ()>> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Where a scenario gets its stages from.
#[derive(Clone)]
pub struct House {
    backend: BackendKind,
    transport: TransportKind,
    access: Access,
    servers: Servers,
    opener: Arc<dyn Opener>,
}

impl House {
    /// The house of a pair.
    pub fn new(backend: BackendKind, transport: TransportKind, servers: Servers) -> Self {
        let access = transport.access();
        let opener: Arc<dyn Opener> = match transport {
            TransportKind::InProcess => Arc::new(in_process::InProcess::under(access)),
            TransportKind::Stdio => Arc::new(stdio::Stdio::new(servers.mcp_stdio.clone())),
            TransportKind::Grpc => Arc::new(wire::Wire::default()),
            TransportKind::Bridge => Arc::new(wire::Wire::bridge()),
            TransportKind::McpHttp | TransportKind::McpHttpScoped => {
                Arc::new(http::Http::new(servers.mcp_http.clone(), access))
            }
        };
        Self { backend, transport, access, servers, opener }
    }

    /// A house in this process with a fault built in; for a fault in the server's lines or in who is let in, the binary
    /// behind one.
    pub fn faulty(backend: BackendKind, fault: Fault, servers: Servers) -> Self {
        let (transport, opener): (_, Arc<dyn Opener>) = match fault {
            Fault::Line(_) => (TransportKind::Stdio, Arc::new(stdio::Stdio::faulty(servers.mcp_stdio.clone(), fault))),
            Fault::Keys(_) | Fault::NoPassword => {
                (TransportKind::McpHttp, Arc::new(http::Http::faulty(servers.mcp_http.clone(), fault)))
            }
            _ => (TransportKind::InProcess, Arc::new(in_process::InProcess::faulty(fault))),
        };
        Self { backend, transport, access: transport.access(), servers, opener }
    }

    /// The same transport over another backend.
    pub fn over(&self, backend: BackendKind) -> Self {
        Self::new(backend, self.transport, self.servers.clone())
    }

    /// The same backend for the same caller without any transport: what every transport must agree with.
    pub fn in_process(&self) -> Self {
        let opener = Arc::new(in_process::InProcess::under(self.access));
        Self { transport: TransportKind::InProcess, opener, ..self.clone() }
    }

    /// Where the work runs.
    pub fn backend(&self) -> BackendKind {
        self.backend
    }

    /// How it is reached.
    pub fn transport(&self) -> TransportKind {
        self.transport
    }

    /// A command that breaks the connection that it runs on, as each backend has one.
    pub fn cut(&self) -> &'static str {
        match self.backend {
            BackendKind::Fake => ":disconnect",
            // The parent of what the server starts is what serves the connection. It has time to tell of the start.
            BackendKind::Ssh => "sleep 0.2; kill -KILL $PPID",
            BackendKind::Pty | BackendKind::AgentPlatform => panic!("it is reached over no connection"),
        }
    }

    /// Whether it has what a scenario needs.
    pub fn has(&self, need: Need) -> bool {
        match need {
            Need::Backend(capability) => self.backend.capabilities().has(capability),
            Need::Management => self.access == Access::Management,
            Need::Owners => self.transport == TransportKind::InProcess || self.has(Need::Keys),
            Need::Keys => matches!(self.transport, TransportKind::McpHttp | TransportKind::McpHttpScoped),
            Need::Process => self.transport == TransportKind::Stdio || self.has(Need::Keys),
            Need::Lines => self.transport == TransportKind::Stdio,
            Need::CommandLine => self.backend != BackendKind::AgentPlatform,
            Need::Shell => matches!(self.backend, BackendKind::Pty | BackendKind::Ssh),
            Need::Terminal => self.backend == BackendKind::Pty,
            Need::Network => self.backend == BackendKind::Ssh,
            Need::Scripted => self.backend == BackendKind::Fake,
        }
    }

    /// A sessiond with the target `local` and default settings.
    pub async fn open(&self) -> Stage {
        self.open_with(Settings::default()).await
    }

    /// Ends every stage that has been opened, however its scenario came out, so that no process is left behind.
    pub async fn close(&self) {
        join_all(self.opener.ends()).await;
    }

    /// A sessiond with the target `local`.
    pub async fn open_with(&self, settings: Settings) -> Stage {
        self.opener.open(self.backend, settings).await
    }
}
