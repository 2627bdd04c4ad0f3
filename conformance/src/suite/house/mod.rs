//! Houses: a sessiond over one backend, reached through one transport, opened anew for each stage.

mod in_process;
pub mod ssh;
mod stdio;
mod wire;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::{BoxFuture, join_all};
use sessiond_core::{Capabilities, Capability, Limits};

pub(crate) use in_process::connect;

use super::mutant::Fault;
use super::scenario::Need;
use super::stage::Stage;

/// Where the work runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BackendKind {
    /// The scripted backend.
    Fake,
    /// This machine.
    Pty,
    /// A host behind a real OpenSSH server.
    Ssh,
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
}

impl BackendKind {
    /// Every backend that there is.
    pub const ALL: &[Self] = &[Self::Fake, Self::Pty, Self::Ssh];

    /// The name in the table and in a configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Fake => "fake",
            Self::Pty => "pty",
            Self::Ssh => "ssh",
        }
    }

    /// What it can do.
    pub fn capabilities(self) -> Capabilities {
        use Capability::{Commands, Connections, Eof, Resize, Sessions, Signals, Write};
        match self {
            Self::Pty => Capabilities::of(&[Sessions, Commands, Write, Eof, Resize, Signals]),
            Self::Fake | Self::Ssh => Capabilities::of(&[Sessions, Commands, Write, Eof, Resize, Signals, Connections]),
        }
    }
}

impl TransportKind {
    /// Every transport that there is.
    pub const ALL: &[Self] = &[Self::InProcess, Self::Stdio, Self::Grpc, Self::Bridge];

    /// The name in the table.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InProcess => "in-process",
            Self::Stdio => "stdio",
            Self::Grpc => "grpc",
            Self::Bridge => "bridge",
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
    /// Targets beside the one of every stage, by name.
    pub more: Vec<(&'static str, BackendKind)>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { limits: Limits::default(), linger: Duration::from_secs(2), more: Vec::new() }
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
    server: PathBuf,
    opener: Arc<dyn Opener>,
}

impl House {
    /// The house of a pair; `server` is the binary that is to be tested.
    pub fn new(backend: BackendKind, transport: TransportKind, server: PathBuf) -> Self {
        let opener: Arc<dyn Opener> = match transport {
            TransportKind::InProcess => Arc::new(in_process::InProcess::default()),
            TransportKind::Stdio => Arc::new(stdio::Stdio::new(server.clone())),
            TransportKind::Grpc => Arc::new(wire::Wire::default()),
            TransportKind::Bridge => Arc::new(wire::Wire::bridge()),
        };
        Self { backend, transport, server, opener }
    }

    /// A house in this process with a fault built in; for a fault in the server's lines, the binary behind one.
    pub fn faulty(backend: BackendKind, fault: Fault, server: PathBuf) -> Self {
        let (transport, opener): (_, Arc<dyn Opener>) = match fault {
            Fault::Line(_) => (TransportKind::Stdio, Arc::new(stdio::Stdio::faulty(server.clone(), fault))),
            _ => (TransportKind::InProcess, Arc::new(in_process::InProcess::faulty(fault))),
        };
        Self { backend, transport, server, opener }
    }

    /// The same transport over another backend.
    pub fn over(&self, backend: BackendKind) -> Self {
        Self::new(backend, self.transport, self.server.clone())
    }

    /// The same backend without any transport: what every transport must agree with.
    pub fn in_process(&self) -> Self {
        Self::new(self.backend, TransportKind::InProcess, self.server.clone())
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
            BackendKind::Pty => panic!("this machine is reached over no connection"),
        }
    }

    /// Whether it has what a scenario needs.
    pub fn has(&self, need: Need) -> bool {
        match need {
            Need::Backend(capability) => self.backend.capabilities().has(capability),
            Need::Owners => self.transport == TransportKind::InProcess,
            Need::Process => self.transport == TransportKind::Stdio,
            Need::Shell => self.backend != BackendKind::Fake,
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
