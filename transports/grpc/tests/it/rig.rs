//! A server in this process over the scripted backend and the scripted platform, and a client of it on a unix socket.

use std::sync::Arc;
use std::time::Duration;

use sessiond_core::fake::{Fake, FakePlatform};
use sessiond_core::{
    Call, Cursor, FixedTargets, Invocation, Limits, Owner, ReadSession, Registry, Service, TargetName, TaskKind, Tasks,
    Until, Wait,
};
use sessiond_grpc::Address;
use sessiond_grpc::client::{GrpcClient, SessionRef, new_session};
use sessiond_grpc::server::{Accepted, Server};
use tempfile::TempDir;
use tokio::net::UnixListener;
use tokio_util::sync::CancellationToken;

const SERVER: TaskKind = TaskKind("test.server");

pub(crate) struct Rig {
    pub(crate) client: GrpcClient,
    pub(crate) fake: Arc<Fake>,
    pub(crate) platform: Arc<FakePlatform>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) address: Address,
    pub(crate) ending: CancellationToken,
    tasks: Tasks,
    _place: TempDir,
}

pub(crate) fn target() -> TargetName {
    TargetName::new("fake").unwrap()
}

/// The scripted platform.
pub(crate) fn platform() -> TargetName {
    TargetName::new("agents").unwrap()
}

impl Rig {
    pub(crate) async fn new() -> Self {
        Self::with(Limits::default()).await
    }

    pub(crate) async fn with(limits: Limits) -> Self {
        let (fake, agents) = (Fake::new(), FakePlatform::new());
        let targets = FixedTargets::new(vec![
            (Fake::info(target()), fake.clone() as _),
            (FakePlatform::info(platform()), agents.clone() as _),
        ]);
        let registry = Registry::new(Arc::new(targets), limits);
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("s");
        let incoming = futures_util::stream::unfold(UnixListener::bind(&path).unwrap(), async |listener| {
            let accepted = listener.accept().await.map(|(stream, _)| Accepted::new(stream, owner()));
            Some((accepted, listener))
        });
        let address = Address::Unix(path);
        let (ending, tasks) = (CancellationToken::new(), Tasks::new());
        let server = Server::new(registry.clone()).await.unwrap();
        let (ends, end) = (ending.clone(), registry.clone());
        tasks.spawn(SERVER, async move {
            server.serve(incoming, ends, async { end.shutdown().await }).await.unwrap();
        });
        let client = GrpcClient::connect(&address).await.unwrap();
        Self { client, fake, platform: agents, registry, address, ending, tasks, _place: place }
    }

    /// Starts a session.
    pub(crate) async fn start(&self, command: &str) -> SessionRef {
        let request = new_session(target(), Invocation::new(command));
        let started = self.client.start_session(&cx(), request).await.unwrap();
        SessionRef { session: started.session, target: Some(target()) }
    }

    /// Waits until a session has ended, and returns how much it has printed.
    pub(crate) async fn ended(&self, session: &SessionRef) -> u64 {
        let until = Some(Until { end: true, ..Until::default() });
        let mut cursor = Cursor::START;
        loop {
            let wait = Wait { time: Duration::from_secs(20), until: until.clone(), max_bytes: None };
            let read = self.client.read_session(&cx(), self.reading(session, cursor, wait)).await.unwrap();
            cursor = read.slice.next;
            if read.slice.ended.is_some() {
                return read.slice.end.0;
            }
        }
    }

    pub(crate) fn reading(&self, session: &SessionRef, cursor: Cursor, wait: Wait) -> ReadSession {
        ReadSession { session: session.session, target: session.target.clone(), cursor, wait }
    }

    /// Ends the server as a signal would, and waits until it has.
    pub(crate) async fn end(&self) {
        self.ending.cancel();
        assert!(self.tasks.shutdown(Duration::from_secs(20)).await, "the server does not end");
    }
}

/// Whose every connection is.
pub(crate) fn owner() -> Owner {
    Owner::management("rig")
}

/// A call that no test's patience outlives.
pub(crate) fn cx() -> Call {
    GrpcClient::call()
}
