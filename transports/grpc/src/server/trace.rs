//! The span of each call that is let in, where there are traces: part of the caller's, which `traceparent` of its metadata
//! names. It lasts until the answer is out; what a stream reads on its way is no span of its own.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body::{Body as HttpBody, Frame, SizeHint};
use sessiond_bootstrap::telemetry;
use tonic::body::Body;
use tonic::{Code, Status};
use tracing::{Instrument, Span};

use crate::convert::error::outcome;

/// Where our own methods lie.
const OURS: &str = "/sessiond.v1.";

/// The longest path that names one of them.
const LONGEST: usize = 64;

/// The span of a call; none for what is not ours, and while traces are off.
pub(super) fn span(request: &Request<Body>) -> Span {
    let path = request.uri().path();
    if !path.starts_with(OURS) {
        return Span::none();
    }
    let sent = request.headers().get("traceparent").and_then(|value| value.to_str().ok());
    // A path that is longer names nothing, and is no name for a span either.
    let name = || path.get(1..).filter(|name| name.len() < LONGEST).unwrap_or("unknown").to_owned();
    telemetry::call("grpc", name, sent)
}

/// Makes a call within its span.
pub(super) async fn within(
    span: Span,
    call: impl Future<Output = Result<Response<Body>, Infallible>>,
) -> Result<Response<Body>, Infallible> {
    if span.is_none() {
        return call.await;
    }
    let response = call.instrument(span.clone()).await?;
    // A refusal has its status in the head, anything else after the last message.
    Ok(match Status::from_header_map(response.headers()) {
        Some(status) => {
            telemetry::answered(&span, outcome(status.code()));
            response
        }
        None => response.map(|body| Body::new(Traced { body, span })),
    })
}

/// An answer on its way, which ends its span.
struct Traced {
    body: Body,
    span: Span,
}

impl HttpBody for Traced {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        if let Poll::Ready(Some(Ok(frame))) = &polled
            && let Some(trailers) = frame.trailers_ref()
        {
            telemetry::answered(&self.span, outcome(code(trailers)));
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

fn code(trailers: &HeaderMap) -> Code {
    Status::from_header_map(trailers).map_or(Code::Unknown, |status| status.code())
}
