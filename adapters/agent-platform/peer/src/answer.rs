//! What the platform answers, and how it comes when something is to go wrong.

use std::io;
use std::time::Duration;

use axum::body::Body;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, LOCATION, RETRY_AFTER, SET_COOKIE};
use axum::http::{HeaderName, HeaderValue, Response, StatusCode};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};

use crate::fault::{Fault, LEAK};

/// An answer that is still to be sent.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    body: Bytes,
    headers: Vec<(HeaderName, String)>,
}

impl Answer {
    pub(crate) fn json(value: &Value) -> Self {
        Self::bytes(value.to_string().into())
    }

    /// JSON that has been written already.
    pub(crate) fn bytes(body: Bytes) -> Self {
        Self { status: 200, body, headers: vec![(CONTENT_TYPE, "application/json".to_owned())] }
    }

    /// A failure, with a body that nobody is to hand on.
    pub(crate) fn failure(status: u16) -> Self {
        let body = json!({ "message": format!("{LEAK}: it could not be done"), "metadata": { "at": LEAK } });
        Self { status, ..Self::json(&body) }
    }

    pub(crate) fn cookie(mut self, token: &str) -> Self {
        self.headers.push((SET_COOKIE, format!("token={token}; Path=/; HttpOnly")));
        self
    }

    /// The answer in place of the right one; `None` when that one is sent after all, in a way of its own.
    pub(crate) fn instead(fault: &Fault) -> Option<Self> {
        match fault {
            Fault::Status(status) => Some(Self::failure(*status)),
            Fault::RetryAfter(status, after) => {
                let mut answer = Self::failure(*status);
                answer.headers.push((RETRY_AFTER, after.clone()));
                Some(answer)
            }
            Fault::Garbage => Some(Self::bytes(Bytes::from(format!("[{{\"{LEAK}\": [,")))),
            Fault::Empty => Some(Self::bytes(Bytes::new())),
            Fault::Other(body) => Some(Self::bytes(Bytes::from_static(body.as_bytes()))),
            Fault::Redirect(to) => {
                let mut answer = Self { status: 302, ..Self::bytes(Bytes::new()) };
                answer.headers.push((LOCATION, to.clone()));
                Some(answer)
            }
            Fault::Drip { .. } | Fault::Truncated | Fault::HangUp | Fault::Never => None,
        }
    }

    /// The answer as it is sent.
    pub(crate) fn send(self, fault: Option<&Fault>) -> Response<Body> {
        let length = self.body.len();
        let body = match fault {
            Some(Fault::Drip { bytes, pause }) => drip(self.body, (*bytes).max(1), *pause),
            Some(Fault::Truncated) => broken_off(&self.body, length / 2),
            Some(Fault::HangUp) => hung_up(),
            _ => Body::from(self.body),
        };
        let mut response = Response::new(body);
        *response.status_mut() = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        response.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(length));
        for (name, value) in self.headers {
            if let Ok(value) = HeaderValue::from_str(&value) {
                response.headers_mut().append(name, value);
            }
        }
        response
    }
}

fn drip(body: Bytes, bytes: usize, pause: Duration) -> Body {
    Body::from_stream(stream::unfold(body, move |mut rest| async move {
        if rest.is_empty() {
            return None;
        }
        tokio::time::sleep(pause).await;
        let piece = rest.split_to(bytes.min(rest.len()));
        Some((Ok::<_, io::Error>(piece), rest))
    }))
}

/// So much of a body, and then an error, on which the server closes the connection.
fn broken_off(body: &Bytes, at: usize) -> Body {
    let error = || io::Error::new(io::ErrorKind::ConnectionAborted, "the answer was to break off here");
    let rest = async move {
        // What has been written by now goes out before the connection is closed.
        tokio::task::yield_now().await;
        Err(error())
    };
    let piece = (at > 0).then(|| Ok(body.slice(..at.min(body.len()))));
    Body::from_stream(stream::iter(piece).chain(stream::once(rest)))
}

/// An answer of which not even the head is sent.
fn hung_up() -> Body {
    let error = io::Error::new(io::ErrorKind::ConnectionAborted, "there was to be no answer");
    Body::from_stream(stream::iter([Err::<Bytes, _>(error)]))
}
