//! What a request is told that does not get as far as MCP.

use std::time::Duration;

use axum::body::Body;
use http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, Response, StatusCode};
use rmcp::model::ServerJsonRpcMessage;
use serde_json::json;
use sessiond_bootstrap::identity::Denied;

use crate::session::Refusal;

/// The code of a JSON-RPC error that the server defines for itself (JSON-RPC 2.0, section 5.1).
const SERVER_ERROR: i32 = -32_000;
/// The same, for a session that is not there: what the official servers send.
const NO_SESSION: i32 = -32_001;

/// An error, in the form in which clients of MCP look for one.
pub(crate) fn error(status: StatusCode, message: &str) -> Response<Body> {
    coded(status, SERVER_ERROR, message)
}

fn coded(status: StatusCode, code: i32, message: &str) -> Response<Body> {
    json(status, &json!({ "jsonrpc": "2.0", "id": null, "error": { "code": code, "message": message } }))
}

/// Any document.
pub(crate) fn json(status: StatusCode, value: &serde_json::Value) -> Response<Body> {
    content(status, "application/json", value.to_string())
}

/// A message of the protocol.
pub(crate) fn message(message: &ServerJsonRpcMessage) -> Response<Body> {
    match serde_json::to_vec(message) {
        Ok(json) => content(StatusCode::OK, "application/json", json),
        Err(_) => error(StatusCode::INTERNAL_SERVER_ERROR, "the answer cannot be written"),
    }
}

/// Any text.
pub(crate) fn content(status: StatusCode, kind: &'static str, text: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(text.into());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// Done.
pub(crate) fn nothing() -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}

/// Come back later.
pub(crate) fn later(status: StatusCode, message: &str, retry_after: Duration) -> Response<Body> {
    let mut response = error(status, message);
    // Whole seconds (RFC 9110, section 10.2.3), and never too few.
    let seconds = retry_after.as_secs() + u64::from(retry_after.subsec_nanos() > 0);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    response
}

/// Not let in (RFC 6750, section 3; RFC 9728, section 5.1). `metadata` is the URL that says who lets in.
pub(crate) fn denied(denied: Denied, metadata: &str) -> Response<Body> {
    let status = StatusCode::from_u16(denied.status()).unwrap_or(StatusCode::UNAUTHORIZED);
    let mut response = match denied.retry_after() {
        Some(retry_after) => later(status, denied.message(), retry_after),
        None => error(status, denied.message()),
    };
    if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::BAD_REQUEST) {
        let mut challenge = format!("Bearer realm=\"sessiond\", resource_metadata=\"{metadata}\"");
        if let Some(error) = denied.error() {
            challenge.push_str(&format!(", error=\"{error}\", error_description=\"{}\"", denied.message()));
        }
        if let Ok(challenge) = HeaderValue::try_from(challenge) {
            response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        }
    }
    response
}

/// What the sessions did not do.
pub(crate) fn refused(refusal: &Refusal) -> Response<Body> {
    let message = refusal.to_string();
    match refusal {
        Refusal::NotFound => coded(StatusCode::NOT_FOUND, NO_SESSION, &message),
        Refusal::Duplicate => error(StatusCode::BAD_REQUEST, &message),
        Refusal::Full(_) => later(StatusCode::TOO_MANY_REQUESTS, &message, Duration::from_secs(1)),
    }
}
