//! MCP's streamable HTTP over any MCP handler, for callers who prove who they are.
//!
//! The way of one request:
//!
//! 1. `connections`: accepted within limits, HTTP/1.1 or HTTP/2
//! 2. `router`: the MCP endpoint, and beside it health, metrics and who lets in
//! 3. `endpoint`: the request's host and page (`allowed`), its identity (`door`), its limits (`limits`, `body`), then
//!    rmcp with the handler; `answers` is what those are told who do not get that far
//! 4. `session`: MCP sessions of revisions up to 2025-11-25, each its identity's own; later revisions have none
//!
//! `health`, `metrics` and `metadata` are the other routes. The binary is `main`, with `cli`.

mod allowed;
mod answers;
mod body;
mod connections;
mod door;
mod endpoint;
mod health;
mod limits;
mod metadata;
mod metrics;
mod router;
mod session;

use std::sync::Arc;
use std::time::Duration;

use rmcp::ServerHandler;
use sessiond_bootstrap::identity::Identity;
use sessiond_bootstrap::network::Listener;
use sessiond_core::{Error, Owner, Registry, Service, Tasks};
use sessiond_mcp::{Observer, Owners, Proof};
use tokio_util::sync::CancellationToken;

use self::allowed::Allowed;
use self::body::Bodies;
pub use self::door::Admission;
use self::door::Door;
use self::endpoint::{Endpoint, answer_with};
use self::health::Health;
use self::limits::{Callers, IdentityLimits};
use self::metrics::Metrics;
use self::session::{SessionLimits, Sessions};

/// Where MCP is served.
const MCP_PATH: &str = "/mcp";
/// Where the metadata of that lies (RFC 9728, section 3.1).
const METADATA_PATH: &str = "/.well-known/oauth-protected-resource/mcp";
/// The same for clients that look at the root only.
const METADATA_ROOT: &str = "/.well-known/oauth-protected-resource";

/// How long connections may take to end once whatever they wait for has ended.
const CONNECTIONS_END: Duration = Duration::from_secs(1);

/// How a server is asked for, and how much of it there is for each identity.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The names it goes by besides those of the machine itself: `NAME` or `NAME:PORT`.
    pub hosts: Vec<String>,
    /// The origins of web pages that may ask it besides those of the machine itself: `SCHEME://NAME`, with a port, or
    /// `:*` for every one.
    pub origins: Vec<String>,
    /// Scheme, host and port that clients know, where a proxy stands before it.
    pub public_url: Option<String>,
    /// Bytes of a request's body at most.
    pub max_body: usize,
    /// How long a body may take to come: whoever sends it slowly holds a place that others want.
    pub body_time: Duration,
    /// Requests and streams of one identity at one time, waits included.
    pub concurrent: usize,
    /// Requests of one identity in a second.
    pub per_second: u32,
    /// MCP sessions of one identity (revisions up to 2025-11-25).
    pub sessions: usize,
    /// How long nobody may be there before such a session ends.
    pub session_idle: Duration,
    /// How long the answer of a call in such a session is waited for before there is a stream of events for it. Shorter
    /// than what anybody in between takes for the end of a silent connection.
    pub patience: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            hosts: Vec::new(),
            origins: Vec::new(),
            public_url: None,
            max_body: 4 << 20,
            body_time: Duration::from_secs(30),
            concurrent: 1_024,
            per_second: 1_000,
            sessions: 256,
            session_idle: Duration::from_secs(600),
            patience: Duration::from_secs(10),
        }
    }
}

/// How long a client should wait before it comes back to a stream that broke.
const RETRY: Duration = Duration::from_secs(1);

/// A server, before it has a handler and listens.
pub struct Server {
    door: Door,
    settings: Settings,
    sessions: Arc<Sessions>,
    metrics: Arc<Metrics>,
    service: Arc<dyn Service>,
}

impl Server {
    /// For callers who are let in like this. The targets of the service decide whether it is ready; what runs in the
    /// registry behind it is counted.
    ///
    /// # Errors
    /// `invalid_argument` when a host or an origin of the settings is none.
    pub fn new(
        registry: &Arc<Registry>,
        service: Arc<dyn Service>,
        admission: Admission,
        settings: Settings,
    ) -> Result<Self, Error> {
        let door = Door { allowed: Allowed::new(&settings.hosts, &settings.origins)?, admission };
        let limits = SessionLimits { per_identity: settings.sessions, idle: settings.session_idle, retry: RETRY };
        let sessions = Arc::new(Sessions::new(limits));
        let metrics = Metrics::new(sessions.clone(), registry.clone());
        Ok(Self { door, settings, sessions, metrics, service })
    }

    /// Counts and times calls; for the handler.
    pub fn observer(&self) -> Arc<dyn Observer> {
        self.metrics.clone()
    }

    /// Serves until `ending` fires. Then it takes no new connection, does `end`, which is to end whatever the open calls
    /// wait for, and gives them a moment to be answered. Whoever still holds a connection after that is cut off. `end`
    /// is done in any case.
    ///
    /// `head` is how long the head of a request may take.
    pub async fn serve<H>(
        self,
        handler: H,
        listener: Listener,
        head: Duration,
        ending: CancellationToken,
        end: impl Future<Output = ()>,
    ) where
        H: ServerHandler + Clone + Sync,
    {
        let Self { door, settings, sessions, metrics, service } = self;
        // Ends streams: later than the listening, because what they carry is answered first.
        let closing = CancellationToken::new();
        let limits = IdentityLimits { concurrent: settings.concurrent, per_second: settings.per_second };
        let endpoint = Endpoint {
            door,
            callers: Callers::new(limits),
            sessions,
            metrics: metrics.clone(),
            bodies: Bodies { max: settings.max_body, time: settings.body_time },
            patience: settings.patience,
            public_url: settings.public_url,
            answer: answer_with(handler, closing.clone()),
        };
        let health = Health::new(service, ending.clone());
        let router = router::router(router::Parts { endpoint, health, metrics });
        let tasks = Tasks::new();
        connections::serve(listener, router, head, &tasks, &ending).await;
        end.await;
        closing.cancel();
        if !tasks.settled(CONNECTIONS_END).await {
            tracing::info!(connections = tasks.len(), "cutting off whoever still holds a connection");
        }
        tasks.shutdown(CONNECTIONS_END).await;
    }
}

/// Finds the owner of a request where the endpoint has left the identity.
#[derive(Clone, Copy, Debug)]
pub struct Asking;

impl Owners for Asking {
    fn owner(&self, request: &Proof<'_>) -> Option<Owner> {
        let head: &http::request::Parts = request.get()?;
        head.extensions.get::<Identity>().map(|identity| identity.owner.clone())
    }
}
