//! The routes.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::routing::{any, get};
use http::{Request, Response, StatusCode};
use sessiond_core::Access;

use crate::endpoint::Endpoint;
use crate::health::Health;
use crate::metrics::Metrics;
use crate::{MCP_PATH, METADATA_PATH, METADATA_ROOT, answers, metadata};

/// What the routes lead to.
pub(crate) struct Parts {
    pub(crate) endpoint: Endpoint,
    pub(crate) health: Health,
    pub(crate) metrics: Arc<Metrics>,
}

type Shared = State<Arc<Parts>>;

/// All of them.
pub(crate) fn router(parts: Parts) -> Router {
    Router::new()
        .route(MCP_PATH, any(mcp))
        .route(METADATA_PATH, get(who_lets_in))
        .route(METADATA_ROOT, get(who_lets_in))
        .route("/healthz", get(alive))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .fallback(nothing)
        .with_state(Arc::new(parts))
}

async fn mcp(State(parts): Shared, request: Request<Body>) -> Response<Body> {
    parts.endpoint.serve(request).await
}

async fn who_lets_in(State(parts): Shared, request: Request<Body>) -> Response<Body> {
    let (head, _) = request.into_parts();
    match parts.endpoint.door.expects(&head) {
        Ok(host) => metadata::document(&parts.endpoint.door.admission, &parts.endpoint.origin(&head, &host)),
        Err(unexpected) => answers::error(StatusCode::FORBIDDEN, unexpected.message()),
    }
}

/// Whoever gets this answer knows all that it says. Probes come under any name, so none is checked.
async fn alive() -> &'static str {
    "ok\n"
}

async fn ready(State(parts): Shared) -> Response<Body> {
    parts.health.ready().await
}

/// For whoever reaches every target: the numbers are of all callers together.
async fn metrics(State(parts): Shared, request: Request<Body>) -> Response<Body> {
    let (head, _) = request.into_parts();
    match parts.endpoint.admit(&head).await {
        Ok(identity) if *identity.owner.access() == Access::Management => parts.metrics.render(),
        Ok(_) => answers::error(StatusCode::FORBIDDEN, "the numbers are of all callers: a management key sees them"),
        Err(refusal) => *refusal,
    }
}

async fn nothing() -> Response<Body> {
    answers::error(StatusCode::NOT_FOUND, "there is nothing here: MCP is served at /mcp")
}
