//! Following one stream of a session.

use std::pin::pin;
use std::sync::Arc;

use futures_util::{Stream, StreamExt, stream};
use rmcp::model::ServerJsonRpcMessage;
use rmcp::transport::streamable_http_server::session::ServerSseMessage;
use tokio::sync::watch;

use super::stream::{Found, Place};
use super::{Busy, Session};

/// A reader at its place. While it lives, its session is not idle.
struct Reader {
    session: Arc<Session>,
    turn: u64,
    place: Place,
    level: watch::Receiver<()>,
    _busy: Busy,
}

/// The events from this place on, until the stream ends or a newer reader takes over. `None` when there is nothing to
/// read there.
pub(super) fn read(
    session: &Arc<Session>,
    place: Place,
) -> Option<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static + use<>> {
    let busy = session.busy()?;
    let (turn, level) = session.routes().read(place.stream)?;
    let reader = Reader { session: session.clone(), turn, place, level, _busy: busy };
    Some(stream::unfold(reader, |mut reader| async {
        let event = reader.next().await?;
        Some((event, reader))
    }))
}

/// The answer of a request whose stream says nothing else, as soon as it is there. `None` when something else comes first,
/// or the stream ends without it.
pub(super) async fn only(session: &Arc<Session>, place: Place) -> Option<Arc<ServerJsonRpcMessage>> {
    {
        let mut events = pin!(read(session, place)?);
        let first = loop {
            // What only says where a client could come back to is no message.
            if let Some(message) = events.next().await?.message {
                break message;
            }
        };
        if !matches!(*first, ServerJsonRpcMessage::Response(_) | ServerJsonRpcMessage::Error(_)) {
            return None;
        }
    }
    session.routes().take(place.stream)
}

impl Reader {
    async fn next(&mut self) -> Option<ServerSseMessage> {
        loop {
            // Seen before looking: what comes after the look is a change.
            self.level.mark_unchanged();
            match self.session.routes().look(self.turn, &mut self.place) {
                Found::Event(event) => return Some(event),
                Found::End => return None,
                Found::NotYet => {}
            }
            self.level.changed().await.ok()?;
        }
    }
}
