//! The body of an answer: bounded, whole, and decoded where it lies.

use bytes::{Bytes, BytesMut};
use futures_util::stream::{self, BoxStream, StreamExt};
use serde::Deserialize;
use sessiond_core::Result;

use super::error;
use super::wire::Answer;

/// The most bytes of one answer; a longer list has pages.
const LARGEST: usize = 64 * 1024 * 1024;
/// How much room an answer's own word for its length gets before it has come.
const TRUSTED: usize = 4 * 1024 * 1024;

/// An answer that says that all is well, with its body.
#[derive(Clone, Debug)]
pub(crate) struct Reply(Bytes);

impl Reply {
    /// Reads a body to its end.
    ///
    /// # Errors
    /// `unavailable` when it breaks off or is too large.
    pub(super) async fn read(answer: Answer) -> Result<Self> {
        let Answer { mut response, room: _room } = answer;
        let said = response.content_length().and_then(|length| usize::try_from(length).ok());
        if said.is_some_and(|length| length > LARGEST) {
            return Err(error::too_large(LARGEST));
        }
        let Some(first) = response.chunk().await.map_err(error::broken)? else { return Ok(Self(Bytes::new())) };
        if said == Some(first.len()) {
            return Ok(Self(first));
        }
        let mut body = BytesMut::with_capacity(said.unwrap_or_default().clamp(first.len(), TRUSTED.max(first.len())));
        body.extend_from_slice(&first);
        while let Some(chunk) = response.chunk().await.map_err(error::broken)? {
            if body.len() + chunk.len() > LARGEST {
                return Err(error::too_large(LARGEST));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Self(body.freeze()))
    }

    /// The body as a value that may borrow from it.
    ///
    /// # Errors
    /// `unavailable` when it is no such value.
    pub(crate) fn json<'a, T: Deserialize<'a>>(&'a self) -> Result<T> {
        serde_json::from_slice(&self.0).map_err(|_| error::malformed())
    }

    /// The body itself.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// The body of an answer as it comes. It has no end of its own: whoever reads it bounds what is kept.
pub(super) fn stream(answer: Answer) -> BoxStream<'static, Result<Bytes>> {
    // An answer that goes on for hours takes no room from the others.
    stream::unfold(Some(answer.response), |response| async {
        let mut response = response?;
        match response.chunk().await {
            Ok(chunk) => chunk.map(|chunk| (Ok(chunk), Some(response))),
            Err(fault) => Some((Err(error::broken(fault)), None)),
        }
    })
    .boxed()
}
