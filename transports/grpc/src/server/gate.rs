//! Who makes each call: asked before a service sees it, and again and again while it runs.
//!
//! A connection that its listener has proven asks for nothing. On any other a call shows a credential in its metadata
//! (`authorization: Bearer …`), or the connection has shown a certificate; a credential goes before a certificate. When
//! the identity ends (a key is taken back, a token expires), what still runs for it ends with `UNAUTHENTICATED`, and
//! nothing more comes in: who does not read the answer any more could else go on writing.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Extensions, HeaderMap, Request, Response};
use http_body::{Body as HttpBody, Frame, SizeHint};
use sessiond_bootstrap::identity::{Denied, Identities, Identity};
use sessiond_bootstrap::network::Origin;
use tonic::body::Body;
use tonic::service::Routes;
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt};
use tower_service::Service;

use super::peer::Peer;
use super::trace;

/// The one method that answers everybody: whether the server serves is no secret, and what asks for it has no key. Its
/// sibling that watches is for those who have proven who they are, because its answers never end.
const HEALTH: &str = "/grpc.health.v1.Health/Check";

/// How long somebody who has proven nothing may take to ask that.
const PROBE: Duration = Duration::from_secs(5);

/// Asks before each call.
#[derive(Clone)]
pub(super) struct Gate<S> {
    inner: S,
    identities: Option<Identities>,
}

/// Makes [`Gate`]s.
#[derive(Clone)]
pub(super) struct GateLayer(pub(super) Option<Identities>);

impl<S> tower_layer::Layer<S> for GateLayer {
    type Service = Gate<S>;

    fn layer(&self, inner: S) -> Gate<S> {
        Gate { inner, identities: self.0.clone() }
    }
}

impl Service<Request<Body>> for Gate<Routes> {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Service::<Request<Body>>::poll_ready(&mut self.inner, cx)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let (mut inner, identities) = (self.inner.clone(), self.identities.clone());
        // The clone is not the one that has been found ready; it is, because routes always are.
        std::mem::swap(&mut inner, &mut self.inner);
        Box::pin(async move {
            if request.uri().path() == HEALTH {
                return probe(inner.call(request)).await;
            }
            match judge(request.extensions(), request.headers(), identities.as_ref()).await {
                Err(denied) => Ok(status(denied).into_http()),
                Ok(identity) => {
                    request.extensions_mut().insert(Caller(identity.clone()));
                    let span = trace::span(&request);
                    if identity.can_end() {
                        let request = request.map(|body| Body::new(Guarded::new(body, &identity)));
                        until_it_ends(trace::within(span, inner.call(request)), identity).await
                    } else {
                        trace::within(span, inner.call(request)).await
                    }
                }
            }
        })
    }
}

/// Answers somebody who has proven nothing, and waits for them no longer than that needs.
async fn probe(call: impl Future<Output = Result<Response<Body>, Infallible>>) -> Result<Response<Body>, Infallible> {
    let late = || Ok(Status::deadline_exceeded("the question did not come in time: ask again").into_http());
    tokio::time::timeout(PROBE, call).await.unwrap_or_else(|_| late())
}

/// Whom a call belongs to, as the services find it.
#[derive(Clone)]
pub(super) struct Caller(pub(super) Identity);

async fn judge(
    extensions: &Extensions,
    headers: &HeaderMap,
    identities: Option<&Identities>,
) -> Result<Identity, Denied> {
    match extensions.get() {
        Some(Peer::Proven(identity)) => Ok(identity.clone()),
        Some(Peer::Asked(origin)) => {
            let identity = ask(headers, origin, identities.ok_or(Denied::Unknown)?).await?;
            origin.prove();
            Ok(identity)
        }
        None => Err(Denied::Missing),
    }
}

async fn ask(headers: &HeaderMap, origin: &Origin, identities: &Identities) -> Result<Identity, Denied> {
    let mut credentials = headers.get_all(http::header::AUTHORIZATION).iter();
    match (credentials.next(), credentials.next(), &origin.certificate) {
        (Some(_), Some(_), _) => Err(Denied::Malformed),
        (None, _, Some(certificate)) => identities.certificate(certificate),
        (credential, _, _) => identities.authorization(origin.ip(), credential.map(http::HeaderValue::as_bytes)).await,
    }
}

/// The status of a refusal (AL03: credentials are judged before a call exists).
fn status(denied: Denied) -> Status {
    let code = match denied {
        Denied::Missing | Denied::Malformed | Denied::Unknown | Denied::Expired => Code::Unauthenticated,
        Denied::Scope => Code::PermissionDenied,
        Denied::TooMany { .. } => Code::ResourceExhausted,
        Denied::Unavailable => Code::Unavailable,
    };
    match denied.retry_after() {
        None => Status::new(code, denied.message()),
        Some(time) => Status::with_error_details(code, denied.message(), ErrorDetails::with_retry_info(Some(time))),
    }
}

/// What somebody is told whose identity ends under way.
fn ended() -> Status {
    Status::unauthenticated("this credential has just been taken back or has expired: what it had open has ended")
}

/// Runs a call for as long as the identity holds, its answer included.
async fn until_it_ends(
    call: impl Future<Output = Result<Response<Body>, Infallible>>,
    identity: Identity,
) -> Result<Response<Body>, Infallible> {
    let mut over = end_of(&identity);
    tokio::select! {
        biased;
        () = &mut over => Ok(ended().into_http()),
        answered = call => {
            let response = answered?;
            Ok(response.map(|body| Body::new(Guarded { body: Some(body), over })))
        }
    }
}

/// When an identity ends.
type Over = Pin<Box<dyn Future<Output = ()> + Send>>;

fn end_of(identity: &Identity) -> Over {
    let identity = identity.clone();
    Box::pin(async move { identity.ended().await })
}

/// What goes out, or comes in, until the identity ends.
struct Guarded {
    /// `None` once it has ended.
    body: Option<Body>,
    over: Over,
}

impl Guarded {
    fn new(body: Body, identity: &Identity) -> Self {
        Self { body: Some(body), over: end_of(identity) }
    }
}

impl HttpBody for Guarded {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let Self { body, over } = &mut *self;
        let Some(body) = body else { return Poll::Ready(None) };
        // First, for a flood always has a next frame.
        if over.as_mut().poll(cx).is_pending() {
            return Pin::new(body).poll_frame(cx);
        }
        // Whatever the answer waits for is told that nobody waits any more.
        self.body = None;
        let mut trailers = HeaderMap::new();
        Poll::Ready(Some(ended().add_header(&mut trailers).map(|()| Frame::trailers(trailers))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map(HttpBody::size_hint).unwrap_or_default()
    }
}
