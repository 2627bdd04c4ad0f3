//! The services over any `Service`.
//!
//! 1. A listener accepts connections and says whom each belongs to, or that each call is to be asked (`peer`, `listen`).
//!    The gate asks, and ends what runs for an identity that ends (`gate`); whoever is let in has a span (`trace`).
//! 2. A call becomes a [`Call`](sessiond_core::Call): owner, deadline, cancellation (`call`).
//! 3. The message becomes a request, one verb is called, its answer becomes a message (`verbs`).
//! 4. Streams: `follow` is a chain of reads that its reader pulls; `attach` adds a way in.
//!
//! Health (`grpc.health.v1`) and reflection (`grpc.reflection.v1`) stand beside them.

mod attach;
mod call;
mod follow;
mod gate;
mod listen;
mod peer;
mod trace;
mod verbs;

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::Stream;
use sessiond_bootstrap::identity::Identities;
use sessiond_core::{Service, Tasks};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;
use tonic::service::Routes;
use tonic::transport;
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;

pub use listen::{Listener, uid};
pub use peer::{Accepted, Peer};

use crate::MAX_REQUEST;
use crate::proto::agent_service_server::{AgentServiceServer, SERVICE_NAME as AGENTS};
use crate::proto::command_service_server::{CommandServiceServer, SERVICE_NAME as COMMANDS};
use crate::proto::host_service_server::{HostServiceServer, SERVICE_NAME as HOSTS};
use crate::proto::session_service_server::{SERVICE_NAME as SESSIONS, SessionServiceServer};
use crate::proto::target_service_server::{SERVICE_NAME as TARGETS, TargetServiceServer};
use gate::GateLayer;
use verbs::Verbs;

/// Calls and streams at one time on one connection. Every waiting read is one, so that hyper's 200 would be few.
const MAX_STREAMS: u32 = 16_384;

/// Calls that a connection may take back faster than they are looked at, before it counts as an attack (CVE-2023-44487).
const MAX_RESETS: usize = 1024;

/// After which time a connection is asked whether it lives: one whose caller has vanished would stay for ever.
const ASK_AFTER: Duration = Duration::from_secs(60);

/// How long it may take to answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(20);

/// The largest question for the health of a service, in bytes: whoever has proven nothing may ask it.
const MAX_PROBE: usize = 1024;

/// How long connections may take to end once whatever they wait for has ended.
const CONNECTIONS_END: Duration = Duration::from_secs(1);

/// The services, health and reflection over one [`Service`].
pub struct Server {
    routes: Routes,
    health: HealthReporter,
    tasks: Tasks,
    identities: Option<Identities>,
}

impl Server {
    /// The services over this one.
    ///
    /// # Errors
    /// The descriptors that the build has made cannot be read.
    pub async fn new(service: Arc<dyn Service>) -> io::Result<Self> {
        let tasks = Tasks::new();
        let verbs = Arc::new(Verbs::new(service, tasks.clone()));
        let (health, health_service) = tonic_health::server::health_reporter();
        let reflection = tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(crate::proto::DESCRIPTORS)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
            .build_v1()
            .map_err(io::Error::other)?;
        let routes = Routes::new(health_service.max_decoding_message_size(MAX_PROBE))
            .add_service(reflection)
            .add_service(TargetServiceServer::from_arc(verbs.clone()))
            .add_service(SessionServiceServer::from_arc(verbs.clone()).max_decoding_message_size(MAX_REQUEST))
            .add_service(CommandServiceServer::from_arc(verbs.clone()).max_decoding_message_size(MAX_REQUEST))
            .add_service(HostServiceServer::from_arc(verbs.clone()))
            .add_service(AgentServiceServer::from_arc(verbs).max_decoding_message_size(MAX_REQUEST));
        let server = Self { routes, health, tasks, identities: None };
        server.says(ServingStatus::Serving).await;
        Ok(server)
    }

    /// Lets in whoever proves to be one of these. Without them only connections that their listener has proven have calls
    /// answered.
    #[must_use]
    pub fn with_identities(self, identities: Identities) -> Self {
        Self { identities: Some(identities), ..self }
    }

    /// Serves these connections until `ending` fires, then takes no new call, does `end`, which is to end whatever the
    /// open calls wait for, and gives them a moment to say so. Whoever still holds a connection then is cut off with
    /// the runtime. `end` is done in any case.
    ///
    /// # Errors
    /// The transport breaks.
    pub async fn serve<IO>(
        self,
        incoming: impl Stream<Item = io::Result<Accepted<IO>>>,
        ending: CancellationToken,
        end: impl Future<Output = ()>,
    ) -> io::Result<()>
    where
        IO: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let serving = transport::Server::builder()
            .max_concurrent_streams(MAX_STREAMS)
            .http2_max_pending_accept_reset_streams(Some(MAX_RESETS))
            .http2_keepalive_interval(Some(ASK_AFTER))
            .http2_keepalive_timeout(Some(ANSWER_WITHIN))
            .layer(GateLayer(self.identities.clone()))
            .serve_with_incoming_shutdown(self.routes.clone().prepare(), incoming, ending.clone().cancelled_owned());
        let mut serving = pin!(serving);
        let early = tokio::select! {
            served = &mut serving => Some(served),
            () = ending.cancelled() => None,
        };
        self.says(ServingStatus::NotServing).await;
        end.await;
        self.tasks.shutdown(CONNECTIONS_END).await;
        match early {
            Some(served) => served,
            None => tokio::time::timeout(CONNECTIONS_END, serving).await.unwrap_or(Ok(())),
        }
        .map_err(io::Error::other)
    }

    /// Tells whoever asks for the health of a service, or watches it.
    async fn says(&self, status: ServingStatus) {
        for service in ["", TARGETS, SESSIONS, COMMANDS, HOSTS, AGENTS] {
            self.health.set_service_status(service, status).await;
        }
    }
}
