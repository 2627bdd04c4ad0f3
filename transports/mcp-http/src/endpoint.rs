//! The MCP endpoint: the way of one request, from its headers to rmcp and back.
//!
//! 1. It is for a host and from a page that are expected (`allowed`).
//! 2. Its credential proves an identity; else it is told how to get one (`answers`).
//! 3. The identity asks for no more than it may (`limits`).
//! 4. Its body comes whole, within limits (`body`).
//! 5. rmcp answers it, with the identity in the request's extensions, where the handler finds the owner, and with the
//!    MCP sessions of that identity (`session`).

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::request::Parts;
use http::uri::Authority;
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use http_body_util::combinators::BoxBody;
use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use sessiond_bootstrap::identity::{Denied, Identity};
use tokio_util::sync::CancellationToken;
use tower_service::Service;

use crate::allowed::Unexpected;
use crate::body::{Bodies, Held};
use crate::door::Door;
use crate::limits::{Callers, TooMany};
use crate::metrics::Metrics;
use crate::session::{Manager, Outcome, Sessions};
use crate::{METADATA_PATH, answers};

/// How often an event stream without events says that it is still there, so that nobody in between cuts it off.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// The endpoint.
pub(crate) struct Endpoint {
    pub(crate) door: Door,
    pub(crate) callers: Callers,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) bodies: Bodies,
    /// How long the answer of a call in a session is waited for before there is a stream of events for it.
    pub(crate) patience: Duration,
    /// The URL that clients know this endpoint by, where the request does not tell.
    pub(crate) public_url: Option<String>,
    pub(crate) answer: Box<Answer>,
}

/// rmcp, with the type of the handler forgotten.
type Answer =
    dyn Fn(Request<Full<Bytes>>, Arc<Manager>) -> BoxFuture<'static, Result<Response<Sent>, Infallible>> + Send + Sync;

/// The body of an answer of rmcp's.
type Sent = BoxBody<Bytes, Infallible>;

/// Answers requests by this handler until the token fires, which ends every stream.
pub(crate) fn answer_with<H: ServerHandler + Clone + Sync>(handler: H, closing: CancellationToken) -> Box<Answer> {
    let mut config = StreamableHttpServerConfig::default()
        // They are checked before, once for all routes.
        .disable_allowed_hosts()
        .disable_allowed_origins()
        // A body is here in full, and its length has been checked.
        .with_max_request_body_bytes(usize::MAX)
        .with_json_response(true)
        .with_sse_keep_alive(Some(KEEP_ALIVE))
        .with_cancellation_token(closing);
    // A session begins its streams itself.
    config.sse_retry = None;
    Box::new(move |request, manager| {
        let handler = handler.clone();
        let mut service = StreamableHttpService::new(move || io::Result::Ok(handler.clone()), manager, config.clone());
        service.call(request)
    })
}

impl Endpoint {
    /// Answers one request.
    pub(crate) async fn serve(&self, request: Request<Body>) -> Response<Body> {
        let (parts, body) = request.into_parts();
        let response = self.answer(parts, body).await.unwrap_or_else(|refusal| *refusal);
        self.metrics.answered(response.status());
        response
    }

    /// Whom a request is from.
    ///
    /// # Errors
    /// The answer to a request that is not let in.
    pub(crate) async fn admit(&self, parts: &Parts) -> Result<Identity, Box<Response<Body>>> {
        let host = self.door.expects(parts).map_err(|unexpected| {
            let status = match unexpected {
                Unexpected::NoHost => StatusCode::BAD_REQUEST,
                _ => StatusCode::FORBIDDEN,
            };
            Box::new(answers::error(status, unexpected.message()))
        })?;
        let identity = self.door.admit(parts).await;
        identity.map_err(|denied| Box::new(answers::denied(denied, &self.metadata_url(parts, &host))))
    }

    async fn answer(&self, mut parts: Parts, body: Body) -> Result<Response<Body>, Box<Response<Body>>> {
        let identity = self.admit(&parts).await?;
        let permit = self.callers.admit(identity.owner.name()).map_err(|reason| Box::new(too_many(reason)))?;
        let body = self.bodies.read(&parts.headers, body).await;
        let body = body.map_err(|(status, message)| Box::new(answers::error(status, &message)))?;
        self.metrics.received(body.len());
        // A body may have been held back for long: who is known no more by now does nothing.
        if identity.has_ended() {
            return Err(Box::new(answers::error(StatusCode::UNAUTHORIZED, Denied::Unknown.message())));
        }
        let manager = Manager::new(self.sessions.clone(), identity.clone(), self.patience, permit.clone());
        parts.extensions.insert(identity.clone());
        let is_delete = parts.method == Method::DELETE;
        let request = Request::from_parts(parts, Full::new(body));
        let response = tokio::select! {
            response = (self.answer)(request, manager.clone()) => response,
            () = identity.ended(), if identity.can_end() => return Err(Box::new(answers::error(StatusCode::UNAUTHORIZED, Denied::Unknown.message()))),
        };
        let Ok(response) = response;
        let sent = self.metrics.sent();
        match manager.finish() {
            Some(Outcome::Refused(refusal)) => Ok(answers::refused(&refusal)),
            // It is done, and there is nothing to say: what the official servers and clients mean by that.
            None if is_delete && response.status() == StatusCode::ACCEPTED => Ok(answers::nothing()),
            Some(Outcome::Answered(message)) => Ok(Held::of(answers::message(&message), identity, permit, sent)),
            None => Ok(Held::of(response, identity, permit, sent)),
        }
    }

    /// Where it says who lets in (RFC 9728, section 3.1).
    fn metadata_url(&self, parts: &Parts, host: &Authority) -> String {
        format!("{}{METADATA_PATH}", self.origin(parts, host))
    }

    /// The scheme, host and port that the client knows.
    pub(crate) fn origin(&self, parts: &Parts, host: &Authority) -> String {
        match &self.public_url {
            Some(url) => url.clone(),
            None => format!("{}://{host}", self.door.scheme(parts)),
        }
    }
}

/// What an identity is told that asks for too much.
fn too_many(reason: TooMany) -> Response<Body> {
    let (message, retry_after) = match reason {
        TooMany::PerSecond { retry_after } => ("requests come too fast: send them more slowly", retry_after),
        TooMany::Concurrent => {
            ("too many requests are being answered at one time: wait for some of them", Duration::from_secs(1))
        }
    };
    answers::later(StatusCode::TOO_MANY_REQUESTS, message, retry_after)
}
