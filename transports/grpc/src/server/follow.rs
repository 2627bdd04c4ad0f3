//! Following output: a chain of reads, each pulled by whoever follows.
//!
//! Nothing is read ahead of the reader: HTTP/2 stops asking while the reader does, and what the log drops meanwhile is
//! a gap in what comes next. There is no task and no buffer for a follower, only the read that waits.

use std::sync::Arc;

use futures_util::{Stream, stream};
use sessiond_core::{
    Call, Cursor, Error, Handle, MAX_WAIT, Read, ReadCommandOutput, ReadSession, Result, Service, Slice, Wait,
};
use tokio::time::Instant;
use tokio_util::sync::DropGuard;
use tonic::Status;

use crate::Item;
use crate::convert::error::status;
use crate::convert::{Follows, Named};

/// The most bytes of one chunk: large enough that a message costs little, and as much as tonic hands on at once, so that
/// what is copied is still in the processor's cache when it is sent.
const CHUNK: usize = 32 << 10;

/// The most bytes that are read at once, which go out as several chunks without another copy. A read looks for the end
/// of a character where nobody has looked lately, which takes as long as copying a good part of a chunk; and of smaller
/// buffers the allocator gives the pages back each time.
const READ: usize = 4 * CHUNK;

/// What is followed.
pub(super) enum Source {
    /// A session's one stream.
    Session(Named),
    /// One of a command's streams.
    Command(Handle, sessiond_core::Stream),
}

/// Somebody who follows, and how far they have come.
pub(super) struct Followed {
    service: Arc<dyn Service>,
    cx: Call,
    source: Source,
    cursor: Cursor,
    /// What was read and has not been told yet.
    untold: Option<Slice>,
    is_over: bool,
}

impl Followed {
    pub(super) fn new(service: Arc<dyn Service>, cx: Call, source: Source, cursor: Cursor) -> Self {
        Self { service, cx, source, cursor, untold: None, is_over: false }
    }

    /// The next piece; `None` after the end. May be dropped and asked again: nothing is lost.
    ///
    /// # Errors
    /// As for a read; `timed_out` when the call's time is up.
    pub(super) async fn next(&mut self) -> Result<Option<Item>> {
        while !self.is_over {
            if let Some(item) = self.tell() {
                return Ok(Some(item));
            }
            let read = self.read().await?;
            if read.slice.next == self.cursor && read.slice.ended.is_none() && Instant::now() >= self.cx.deadline {
                return Err(Error::timed_out(
                    "the deadline came before the end: follow on from where this has come to",
                ));
            }
            self.untold = Some(read.slice);
        }
        Ok(None)
    }

    /// A piece of what was read: what is missing, then what is there, then the end.
    fn tell(&mut self) -> Option<Item> {
        let slice = self.untold.as_mut()?;
        // More than was lost can be missing: the rest of a character whose beginning was.
        let missing = slice.start.0.saturating_sub(self.cursor.0);
        if missing > 0 {
            return Some(Item::Gap { start: std::mem::replace(&mut self.cursor, slice.start), bytes: missing });
        }
        let bytes = slice.bytes.split_to(slice.bytes.len().min(CHUNK));
        if !bytes.is_empty() {
            let start = slice.start;
            slice.start = Cursor(start.0 + bytes.len() as u64);
            self.cursor = slice.start;
            return Some(Item::Chunk { start, bytes });
        }
        self.is_over = slice.ended.is_some();
        self.untold.take()?.ended.map(Item::End)
    }

    async fn read(&self) -> Result<Read> {
        let wait = Wait { time: MAX_WAIT, until: None, max_bytes: Some(READ) };
        let (cx, cursor) = (&self.cx, self.cursor);
        match &self.source {
            Source::Session((session, target)) => {
                let request = ReadSession { session: *session, target: target.clone(), cursor, wait };
                self.service.read_session(cx, request).await
            }
            Source::Command(handle, stream) => {
                let request = ReadCommandOutput { handle: *handle, stream: *stream, cursor, wait };
                self.service.read_command_output(cx, request).await
            }
        }
    }
}

/// The pieces as messages. Whoever drops the stream takes the call back.
pub(super) fn follow<M: Follows>(
    followed: Followed,
    taken_back: DropGuard,
) -> impl Stream<Item = std::result::Result<M, Status>> + Send {
    stream::try_unfold((followed, taken_back), async |(mut followed, taken_back)| {
        let item = followed.next().await.map_err(|error| status(&error))?;
        Ok(item.map(|item| (M::of(item), (followed, taken_back))))
    })
}
