//! Which message belongs on which stream of a session (MCP 2025-11-25, "Streamable HTTP").

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Duration;

use rmcp::model::{GetExtensions, NumberOrString, RequestId, ServerJsonRpcMessage, ServerNotification};
use rmcp::service::OriginatingRequestId;
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

use super::Busy;
use super::stream::{Found, Place, Stream, StreamNumber};
use crate::limits::Permit;

/// How long an answer is kept for a client that comes back for it.
pub(super) const ANSWER_KEPT: Duration = Duration::from_secs(60);

/// Answers of one session that are kept, in bytes. Beyond it the oldest go earlier; the newest one stays in any case.
const ANSWERS_KEPT_BYTES: usize = 1 << 20;

/// The stream for what answers no request.
const STANDALONE: StreamNumber = 0;

/// Where its first event is.
pub(super) const STANDALONE_START: Place = Place { stream: STANDALONE, index: 0 };

/// The streams of one session.
pub(super) struct Routes {
    retry: Option<Duration>,
    last: StreamNumber,
    streams: BTreeMap<StreamNumber, Stream>,
    open: HashMap<RequestId, Open>,
    progress: HashMap<NumberOrString, StreamNumber>,
    /// Streams that have ended, the oldest first.
    ended: VecDeque<StreamNumber>,
}

/// A request that has no answer yet.
struct Open {
    stream: StreamNumber,
    progress: Option<NumberOrString>,
    _held: Held,
    _busy: Busy,
}

/// What a request holds for as long as it has no answer, whether its client is there or not.
#[derive(Default)]
pub(super) struct Held {
    /// It counts among its caller's.
    _permit: Option<Permit>,
    /// Tells whoever watches over its identity that there is nothing to watch over any more.
    _answered: Option<oneshot::Sender<()>>,
}

impl Held {
    pub(super) fn new(permit: Option<Permit>, answered: Option<oneshot::Sender<()>>) -> Self {
        Self { _permit: permit, _answered: answered }
    }
}

impl Routes {
    pub(super) fn new(retry: Option<Duration>) -> Self {
        let standalone = Stream::new(STANDALONE, retry);
        Self {
            retry,
            last: STANDALONE,
            streams: BTreeMap::from([(STANDALONE, standalone)]),
            open: HashMap::new(),
            progress: HashMap::new(),
            ended: VecDeque::new(),
        }
    }

    /// Opens the stream of a request. Returns `None` when one with this id is still without an answer: two answers of
    /// one id could not be told apart.
    pub(super) fn open(
        &mut self,
        id: RequestId,
        progress: Option<NumberOrString>,
        held: Held,
        busy: Busy,
    ) -> Option<Place> {
        self.forget();
        if self.open.contains_key(&id) {
            return None;
        }
        self.last += 1;
        let stream = self.last;
        self.streams.insert(stream, Stream::new(stream, self.retry));
        if let Some(token) = &progress {
            self.progress.insert(token.clone(), stream);
        }
        self.open.insert(id, Open { stream, progress, _held: held, _busy: busy });
        Some(Place { stream, index: 0 })
    }

    /// Puts a message of the server on its stream.
    pub(super) fn publish(&mut self, message: ServerJsonRpcMessage, weight: usize) {
        match &message {
            ServerJsonRpcMessage::Response(response) => self.answer(response.id.clone(), message, weight),
            ServerJsonRpcMessage::Error(error) => {
                if let Some(id) = error.id.clone() {
                    self.answer(id, message, weight);
                }
            }
            ServerJsonRpcMessage::Request(request) => {
                // A question that a tool asks while it works rides on the stream of its call (SEP-2260).
                let asks = request.request.extensions().get::<OriginatingRequestId>();
                let stream = asks.and_then(|asks| self.open.get(&asks.0)).map_or(STANDALONE, |open| open.stream);
                self.push(stream, message, weight);
            }
            ServerJsonRpcMessage::Notification(notification) => {
                let stream = match &notification.notification {
                    ServerNotification::ProgressNotification(progress) => {
                        self.progress.get(&progress.params.progress_token.0).copied()
                    }
                    ServerNotification::CancelledNotification(cancelled) => {
                        let id = cancelled.params.request_id.as_ref();
                        id.and_then(|id| self.open.get(id)).map(|open| open.stream)
                    }
                    _ => None,
                };
                self.push(stream.unwrap_or(STANDALONE), message, weight);
            }
        }
    }

    /// The answer to a request is the last message of its stream. Nobody waits for one that comes after the request
    /// was taken back.
    fn answer(&mut self, id: RequestId, message: ServerJsonRpcMessage, weight: usize) {
        if let Some(open) = self.open.get(&id) {
            let stream = open.stream;
            self.push(stream, message, weight);
            self.close(&id);
        }
    }

    /// A request that has no answer yet.
    pub(super) fn any_open(&self) -> Option<RequestId> {
        self.open.keys().next().cloned()
    }

    /// Ends the stream of a request: it has been answered, or its client has taken it back.
    pub(super) fn close(&mut self, id: &RequestId) {
        let Some(open) = self.open.remove(id) else { return };
        if let Some(token) = open.progress {
            self.progress.remove(&token);
        }
        if let Some(stream) = self.streams.get_mut(&open.stream) {
            stream.end();
            self.ended.push_back(open.stream);
        }
        self.forget();
    }

    /// The answer with which a stream has ended, for a client that has heard nothing of the stream: nobody comes back for it.
    pub(super) fn take(&mut self, stream: StreamNumber) -> Option<std::sync::Arc<ServerJsonRpcMessage>> {
        let last = self.last(stream)?;
        self.streams.remove(&stream);
        self.ended.retain(|ended| *ended != stream);
        Some(last)
    }

    /// Ends every stream: the session is over.
    pub(super) fn end(&mut self) {
        self.open.clear();
        self.progress.clear();
        self.streams.values_mut().for_each(Stream::end);
    }

    /// Frees what has been kept long enough, or is too much. What somebody reads stays.
    pub(super) fn forget(&mut self) {
        let Self { ended, streams, .. } = self;
        let mut kept: usize = ended.iter().filter_map(|number| streams.get(number)).map(Stream::weight).sum();
        let newest = ended.back().copied();
        ended.retain(|number| {
            let Some(stream) = streams.get(number) else { return false };
            let old = stream.ended().is_none_or(|at| at.elapsed() >= ANSWER_KEPT);
            let much = kept > ANSWERS_KEPT_BYTES && Some(*number) != newest;
            if stream.is_read() || !old && !much {
                return true;
            }
            kept -= stream.weight();
            streams.remove(number);
            false
        });
    }

    /// When something will have been kept long enough.
    pub(super) fn due(&self) -> Option<Instant> {
        let kept = self.ended.iter().filter_map(|number| self.streams.get(number));
        kept.filter(|stream| !stream.is_read()).filter_map(Stream::ended).min().map(|at| at + ANSWER_KEPT)
    }

    /// A new reader for a stream: its turn, and what fires when there is something for it. `None` when there is no such
    /// stream, or not any more.
    pub(super) fn read(&mut self, stream: StreamNumber) -> Option<(u64, watch::Receiver<()>)> {
        self.streams.get_mut(&stream).map(Stream::take_over)
    }

    /// What is there for a reader.
    pub(super) fn look(&self, turn: u64, place: &mut Place) -> Found {
        self.streams.get(&place.stream).map_or(Found::End, |stream| stream.look(turn, place))
    }

    /// The answer with which a stream has ended.
    pub(super) fn last(&self, stream: StreamNumber) -> Option<std::sync::Arc<ServerJsonRpcMessage>> {
        self.streams.get(&stream).filter(|stream| stream.ended().is_some()).and_then(Stream::last)
    }

    fn push(&mut self, stream: StreamNumber, message: ServerJsonRpcMessage, weight: usize) {
        if let Some(stream) = self.streams.get_mut(&stream) {
            stream.push(Some(message), weight);
        }
    }
}
