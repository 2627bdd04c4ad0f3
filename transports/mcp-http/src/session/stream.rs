//! One stream of events: a bounded log with absolute numbers, which readers follow without taking anything away.
//!
//! Whoever writes never waits: a stream that nobody reads fills up to its limit and then drops its oldest events. So
//! one unread stream delays neither another nor the session.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::ServerJsonRpcMessage;
use rmcp::transport::streamable_http_server::session::ServerSseMessage;
use tokio::sync::watch;
use tokio::time::Instant;

/// Events of one stream that are kept while it goes on. They are progress and questions to the client; the answer is
/// the last one, and is always kept.
const MAX_EVENTS: usize = 64;

/// Which stream of its session; the standalone one is 0.
pub(super) type StreamNumber = u64;

/// Where a reader stands: the next event that it wants, of which stream. On the wire it is the event's id, which clients
/// hand back as `Last-Event-ID`; it means something only in its own session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) stream: StreamNumber,
    pub(super) index: u64,
}

impl Place {
    /// The place behind the event of this id.
    pub(super) fn behind(id: &str) -> Option<Self> {
        let (stream, index) = id.split_once('-')?;
        Some(Self { stream: number(stream)?, index: number(index)?.checked_add(1)? })
    }
}

/// Digits alone: Rust's own parser would take a sign.
fn number(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// The events of one stream.
pub(super) struct Stream {
    number: StreamNumber,
    /// The number of the oldest event that is kept.
    first: u64,
    events: VecDeque<Event>,
    /// Fires with every event, and when the stream ends.
    level: watch::Sender<()>,
    /// When the last event came.
    ended: Option<Instant>,
    /// Which reader is the newest; an older one gets nothing more.
    turn: u64,
    retry: Option<Duration>,
}

struct Event {
    message: Option<Arc<ServerJsonRpcMessage>>,
    weight: usize,
}

/// What a reader finds at its place.
pub(super) enum Found {
    /// The event there.
    Event(ServerSseMessage),
    /// Nothing yet.
    NotYet,
    /// Nothing, ever: the stream has ended, or a newer reader has taken over.
    End,
}

impl Stream {
    /// A stream that begins with an event without a message, so that its client can come back before the first one
    /// (SEP-1699); `retry` is how long it should wait before it does.
    pub(super) fn new(number: StreamNumber, retry: Option<Duration>) -> Self {
        let mut stream = Self {
            number,
            first: 0,
            events: VecDeque::new(),
            level: watch::Sender::new(()),
            ended: None,
            turn: 0,
            retry,
        };
        stream.push(None, 0);
        stream
    }

    /// Adds a message of this many bytes.
    pub(super) fn push(&mut self, message: Option<ServerJsonRpcMessage>, weight: usize) {
        if self.ended.is_some() {
            return;
        }
        if self.events.len() >= MAX_EVENTS {
            self.events.pop_front();
            self.first += 1;
        }
        self.events.push_back(Event { message: message.map(Arc::new), weight });
        self.level.send_replace(());
    }

    /// Nothing follows any more.
    pub(super) fn end(&mut self) {
        self.ended.get_or_insert_with(Instant::now);
        self.level.send_replace(());
    }

    pub(super) fn ended(&self) -> Option<Instant> {
        self.ended
    }

    /// Whether a reader is there.
    pub(super) fn is_read(&self) -> bool {
        self.level.receiver_count() > 0
    }

    /// The bytes of its messages.
    pub(super) fn weight(&self) -> usize {
        self.events.iter().map(|event| event.weight).sum()
    }

    /// The message that came last.
    pub(super) fn last(&self) -> Option<Arc<ServerJsonRpcMessage>> {
        self.events.back().and_then(|event| event.message.clone())
    }

    /// Lets a new reader take over: its turn, and what fires when there is something for it.
    pub(super) fn take_over(&mut self) -> (u64, watch::Receiver<()>) {
        self.turn += 1;
        let level = self.level.subscribe();
        // Whoever read before learns that it is out.
        self.level.send_replace(());
        (self.turn, level)
    }

    /// What is there for the reader of this turn. What has been dropped is passed over.
    pub(super) fn look(&self, turn: u64, place: &mut Place) -> Found {
        if turn != self.turn {
            return Found::End;
        }
        place.index = place.index.max(self.first);
        let event = usize::try_from(place.index - self.first).ok().and_then(|at| self.events.get(at));
        match event {
            Some(event) => {
                let found = self.sse(place.index, event);
                place.index += 1;
                Found::Event(found)
            }
            None if self.ended.is_some() => Found::End,
            None => Found::NotYet,
        }
    }

    fn sse(&self, index: u64, event: &Event) -> ServerSseMessage {
        let mut sse = ServerSseMessage::default();
        sse.event_id = Some(format!("{}-{index}", self.number));
        sse.retry = self.retry.filter(|_| event.message.is_none());
        sse.message.clone_from(&event.message);
        sse
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(text: &str) -> Option<ServerJsonRpcMessage> {
        use rmcp::model::{ErrorData, JsonRpcError};
        Some(ServerJsonRpcMessage::Error(JsonRpcError::new(None, ErrorData::internal_error(text.to_owned(), None))))
    }

    fn ids(stream: &Stream, turn: u64, mut place: Place) -> Vec<String> {
        let mut ids = Vec::new();
        while let Found::Event(event) = stream.look(turn, &mut place) {
            ids.extend(event.event_id);
        }
        ids
    }

    #[test]
    fn an_id_is_two_numbers_and_leads_behind_its_event() {
        assert_eq!(Place::behind("3-7"), Some(Place { stream: 3, index: 8 }));
        for odd in ["", "3", "3-", "-7", "+3-7", "3-7-1", "3--7", "a-b", "3-18446744073709551615"] {
            assert_eq!(Place::behind(odd), None, "{odd:?}");
        }
    }

    #[test]
    fn a_reader_comes_back_to_where_it_was() {
        let mut stream = Stream::new(5, None);
        stream.push(note("one"), 3);
        stream.push(note("two"), 3);
        let (turn, _) = stream.take_over();
        assert_eq!(ids(&stream, turn, Place { stream: 5, index: 0 }), ["5-0", "5-1", "5-2"]);
        assert_eq!(ids(&stream, turn, Place::behind("5-1").unwrap()), ["5-2"]);
        assert_eq!(stream.weight(), 6);
    }

    #[test]
    fn a_newer_reader_takes_over() {
        let mut stream = Stream::new(0, None);
        let (old, mut level) = stream.take_over();
        level.mark_unchanged();
        let (new, _) = stream.take_over();
        assert!(level.has_changed().unwrap(), "the old one is told");
        assert!(matches!(stream.look(old, &mut Place { stream: 0, index: 0 }), Found::End));
        assert!(matches!(stream.look(new, &mut Place { stream: 0, index: 0 }), Found::Event(_)));
    }

    #[test]
    fn an_unread_stream_keeps_its_newest_events() {
        let mut stream = Stream::new(1, None);
        for _ in 0..2 * MAX_EVENTS {
            stream.push(note("again"), 1);
        }
        stream.end();
        stream.push(note("after the end"), 1);
        let (turn, _) = stream.take_over();
        let kept = ids(&stream, turn, Place { stream: 1, index: 0 });
        assert_eq!(kept.len(), MAX_EVENTS);
        assert_eq!(kept.last().map(String::as_str), Some("1-128"));
        assert_eq!(stream.weight(), MAX_EVENTS);
    }
}
