//! Bodies: a request's is read in full, within a limit and a time; a response's keeps what its request holds.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::BoxError;
use axum::body::Body;
use bytes::Bytes;
use http::header::CONTENT_LENGTH;
use http::{HeaderMap, Response, StatusCode};
use http_body::{Frame, SizeHint};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use prometheus_client::metrics::counter::Counter;
use sessiond_bootstrap::identity::Identity;
use tokio::time::timeout;

use crate::limits::Permit;

/// How much of a request is waited for.
pub(crate) struct Bodies {
    /// Bytes at most.
    pub(crate) max: usize,
    /// How long it may take to come.
    pub(crate) time: Duration,
}

impl Bodies {
    /// The whole body of a request.
    ///
    /// # Errors
    /// The status and what to say: it is too long, too slow, or broke off.
    pub(crate) async fn read(&self, headers: &HeaderMap, body: Body) -> Result<Bytes, (StatusCode, String)> {
        let said = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
        if said.is_some_and(|length| length > self.max as u64) {
            return Err(self.too_large());
        }
        match timeout(self.time, Limited::new(body, self.max).collect()).await {
            Ok(Ok(body)) => Ok(body.to_bytes()),
            Ok(Err(error)) if error.is::<LengthLimitError>() => Err(self.too_large()),
            Ok(Err(_)) => Err((StatusCode::BAD_REQUEST, "the request broke off".to_owned())),
            Err(_) => {
                Err((StatusCode::REQUEST_TIMEOUT, format!("the request did not come whole within {:?}", self.time)))
            }
        }
    }

    fn too_large(&self) -> (StatusCode, String) {
        (StatusCode::PAYLOAD_TOO_LARGE, format!("the request is too large: at most {} bytes are taken", self.max))
    }
}

/// A response's body that ends early when the identity does that it is for, and counts among that identity's requests
/// for as long as anybody reads it.
pub(crate) struct Held<B> {
    body: B,
    identity: Identity,
    /// The wait for the identity's end; none for a body that is there in full, as most are, and where nothing ends.
    ended: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    _permit: Permit,
    sent: Counter,
}

impl<B> Held<B>
where
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
{
    /// The same answer, with its body held.
    pub(crate) fn of(answer: Response<B>, identity: Identity, permit: Permit, sent: Counter) -> Response<Body> {
        answer.map(|body| Body::new(Self { body, identity, ended: None, _permit: permit, sent }))
    }
}

impl<B> Held<B> {
    fn poll_ended(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if !self.identity.can_end() {
            return Poll::Pending;
        }
        let wait = || {
            let identity = self.identity.clone();
            Box::pin(async move { identity.ended().await }) as _
        };
        self.ended.get_or_insert_with(wait).as_mut().poll(cx)
    }
}

impl<B: http_body::Body<Data = Bytes> + Unpin> http_body::Body for Held<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        // A stream may always have a next event for whoever reads slowly, from the first one on: that it is over goes
        // first. A body that is there in full goes out as it is, because its length has been said.
        let is_stream = self.body.size_hint().exact().is_none();
        if is_stream && self.poll_ended(cx).is_ready() {
            return Poll::Ready(None);
        }
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        if let Poll::Ready(Some(Ok(frame))) = &frame {
            self.sent.inc_by(frame.data_ref().map_or(0, |data| data.len() as u64));
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::sync::Arc;

    use futures_util::{StreamExt, poll};
    use http_body_util::StreamBody;
    use sessiond_bootstrap::identity::NewKey;
    use sessiond_bootstrap::network::Network;
    use sessiond_bootstrap::{Args, Bootstrap, Environment};
    use sessiond_core::Tasks;
    use tokio::sync::{Semaphore, mpsc};

    use super::*;

    fn event(text: &'static str) -> Frame<Bytes> {
        Frame::data(Bytes::from_static(text.as_bytes()))
    }

    /// A server that knows Alice, in a place with her keys file.
    async fn known() -> (tempfile::TempDir, Network, Identity) {
        let place = tempfile::tempdir().unwrap();
        let (file, key) = (place.path().join("keys.toml"), NewKey::random().unwrap());
        std::fs::write(&file, format!("[keys.alice]\nsha256 = '{}'\nrole = 'full'\n", key.digest())).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        let environment = Environment::of([("HOME", place.path()), ("SESSIOND_NETWORK__KEYS_FILE", &file)]);
        let bootstrap = Bootstrap::load(&Args::default(), environment).unwrap();
        let network = bootstrap.network(&[], &Tasks::new()).unwrap();
        let alice = network.identities.bearer([127, 0, 0, 1].into(), key.expose()).await.unwrap();
        (place, network, alice)
    }

    /// Takes her key back.
    fn take_back(place: &tempfile::TempDir, network: &Network) {
        std::fs::write(place.path().join("keys.toml"), "").unwrap();
        network.reload();
    }

    fn permit() -> Permit {
        Arc::new(Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap())
    }

    #[tokio::test]
    async fn a_stream_that_has_had_a_next_event_each_time_ends_with_its_identity() {
        let (place, network, alice) = known().await;
        let events = futures_util::stream::repeat_with(|| Ok::<_, std::convert::Infallible>(event("x")));
        let answer = Response::new(StreamBody::new(events));
        let mut body = Held::of(answer, alice.clone(), permit(), Counter::default()).into_body();
        let whole = Response::new(http_body_util::Full::new(Bytes::from_static(b"x")));
        let mut whole = Held::of(whole, alice, permit(), Counter::default()).into_body();
        assert!(body.frame().await.is_some());
        take_back(&place, &network);
        assert!(body.frame().await.is_none());
        assert!(whole.frame().await.is_some(), "nothing has come since");
    }

    #[tokio::test]
    async fn a_stream_that_always_has_a_next_event_ends_with_its_identity_all_the_same() {
        let (place, network, alice) = known().await;
        let (events, queue) = mpsc::unbounded_channel();
        let queue = futures_util::stream::unfold(queue, async |mut queue: mpsc::UnboundedReceiver<_>| {
            queue.recv().await.map(|event| (Ok::<_, std::convert::Infallible>(event), queue))
        });
        let answer = Response::new(StreamBody::new(queue.boxed()));
        let mut body = Held::of(answer, alice, permit(), Counter::default()).into_body();
        assert!(poll!(body.frame()).is_pending());
        events.send(event("one")).unwrap();
        assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "one");
        events.send(event("secret")).unwrap();
        take_back(&place, &network);
        assert!(body.frame().await.is_none());
    }
}
