//! Output as a stream: every byte or how many are gone, then the end.

use std::pin::Pin;

use futures_util::{Stream, stream};
use sessiond_core::{Call, Cursor, Error, Handle, Result};
use tonic::Streaming;

use super::{GrpcClient, SessionRef, answer, failure, not_understood, reference, request};
use crate::convert::{Encode, Follows};
use crate::{Item, proto};

/// The pieces of a followed stream. The last one is the end, or an error; the stream can be dropped at any time.
pub type Items = Pin<Box<dyn Stream<Item = Result<Item>> + Send>>;

impl GrpcClient {
    /// Follows a session's output from a cursor on. Nothing comes faster than it is taken; what the server drops
    /// meanwhile is a gap.
    ///
    /// # Errors
    /// `unavailable` when the server does not answer. Everything else is an item: `not_found`, `invalid_argument` for a
    /// cursor past the end, `timed_out` at the call's deadline, `unavailable` when the server is lost.
    pub async fn follow_session(&self, cx: &Call, session: &SessionRef, cursor: Cursor) -> Result<Items> {
        let message = proto::FollowSessionRequest { session: reference(session), cursor: cursor.0 };
        let stream = answer(cx, self.sessions().follow_session(request(cx, message)?)).await?;
        Ok(items(cx.clone(), stream))
    }

    /// Follows one stream of a command from a cursor on.
    ///
    /// # Errors
    /// As for [`follow_session`](Self::follow_session).
    pub async fn follow_command(
        &self,
        cx: &Call,
        handle: Handle,
        stream: sessiond_core::Stream,
        cursor: Cursor,
    ) -> Result<Items> {
        let stream = stream.encode().into();
        let message = proto::FollowCommandRequest { handle: handle.0, stream, cursor: cursor.0 };
        let stream = answer(cx, self.commands().follow_command(request(cx, message)?)).await?;
        Ok(items(cx.clone(), stream))
    }
}

/// The pieces of a stream, until the call is taken back.
fn items<M: Follows + Send + 'static>(cx: Call, stream: Streaming<M>) -> Items {
    Box::pin(stream::try_unfold(Some((cx, stream)), async |open| {
        let Some((cx, mut stream)) = open else { return Ok(None) };
        loop {
            let message = tokio::select! {
                message = stream.message() => message.map_err(|status| failure(&cx, &status))?,
                () = cx.cancel.cancelled() => return Ok(None),
            };
            let item = message.ok_or_else(broken_off)?.item().map_err(|error| not_understood(&error))?;
            match item {
                Some(end @ Item::End(_)) => return Ok(Some((end, None))),
                Some(item) => return Ok(Some((item, Some((cx, stream))))),
                None => {}
            }
        }
    }))
}

/// The error of a stream that has no end.
fn broken_off() -> Error {
    Error::unavailable("the server has broken the stream off before its end: follow on from where it has come to")
}
