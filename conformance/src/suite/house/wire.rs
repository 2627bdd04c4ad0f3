//! The registry behind gRPC on a unix socket, all in this process: as its client sees it, or as the bridge shows it.

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use futures_util::stream;
use sessiond_core::{Owner, Registry, Service};
use sessiond_grpc::Address;
use sessiond_grpc::client::GrpcClient;
use sessiond_grpc::server::{Accepted, Server};
use tempfile::TempDir;
use tokio::net::UnixListener;
use tokio_util::sync::CancellationToken;

use super::in_process::{connect, families, targets};
use super::platform;
use super::{BackendKind, Ends, Opener, Settings};
use crate::suite::remote::Remote;
use crate::suite::stage::{Hold, OWNER, Stage};

/// Opens stages whose verbs go over gRPC.
#[derive(Default)]
pub(crate) struct Wire {
    /// Whether the verbs are the tools' in front of it.
    is_bridge: bool,
    ends: Ends,
}

impl Wire {
    /// Stages as the bridge shows them: tools over gRPC.
    pub(crate) fn bridge() -> Self {
        Self { is_bridge: true, ends: Ends::default() }
    }
}

#[async_trait]
impl Opener for Wire {
    async fn open(&self, kind: BackendKind, settings: Settings) -> Stage {
        let families = families(kind, &settings);
        let peers = platform::peers(kind, &settings);
        let registry = Registry::new(targets(kind, &settings, &peers), settings.limits);
        let (place, ending) = (tempfile::tempdir().unwrap(), CancellationToken::new());
        let owner = Owner::management(OWNER);
        let wired: Arc<dyn Service> = Arc::new(served(&place, registry.clone(), &owner, ending.clone()).await);
        let closing = CancellationToken::new();
        let (client, serving) = connect(wired.clone(), owner, &families, None, closing.clone()).await;
        let (its_end, its_peers) = (registry.clone(), peers.clone());
        self.ends.add(async move {
            its_end.shutdown().await;
            ending.cancel();
            drop((place, its_peers));
        });
        // A bridge that has ended says nothing more, and what has become of its sessions is the upstream's to say.
        let (service, after): (Arc<dyn Service>, _) = match self.is_bridge {
            true => (Arc::new(Remote::new(client.clone())), Some(wired)),
            false => (wired, None),
        };
        let hold = Hold::InProcess { registry: Some(registry), families, closing, serving, after, fault: None };
        Stage::new(service, client, hold).on(peers)
    }

    fn ends(&self) -> Vec<BoxFuture<'static, ()>> {
        self.ends.take()
    }
}

/// Serves a registry to this owner on a socket in a directory of its own, and connects to it.
async fn served(place: &TempDir, registry: Arc<Registry>, owner: &Owner, ending: CancellationToken) -> GrpcClient {
    let path = place.path().join("s");
    let listener = UnixListener::bind(&path).unwrap();
    let incoming = stream::unfold((listener, owner.clone()), async |(listener, owner)| {
        let accepted = listener.accept().await.map(|(stream, _)| Accepted::new(stream, owner.clone()));
        Some((accepted, (listener, owner)))
    });
    let server = Server::new(registry).await.unwrap();
    tokio::task::spawn(async move { server.serve(incoming, ending, async {}).await });
    GrpcClient::connect(&Address::Unix(path)).await.unwrap_or_else(|error| panic!("{error}"))
}
