//! A terminal on a session: output comes out, input, sizes and signals go in.

use bytes::Bytes;
use futures_util::stream;
use sessiond_core::{Call, Cursor, Error, Result, Signal, WindowSize};
use tokio::sync::mpsc;
use tonic::Streaming;

use super::{GrpcClient, SessionRef, answer, failure, not_understood, reference, request};
use crate::convert::{Encode, Follows};
use crate::proto::attach_session_request::{Detach, Item as Asked};
use crate::proto::attach_session_response::Item as Said;
use crate::proto::{AttachSessionRequest, AttachSessionResponse, FollowSessionRequest};
use crate::{Item, MAX_REQUEST};

/// Messages that wait to be sent.
const WAITING: usize = 16;

/// The most bytes of input in one message.
const INPUT: usize = MAX_REQUEST / 16;

/// What goes into an attached session. Clones go into the same one; when the last is dropped, nothing more goes in,
/// and the output goes on.
#[derive(Clone, Debug)]
pub struct Input(mpsc::Sender<AttachSessionRequest>);

impl Input {
    /// Types.
    ///
    /// # Errors
    /// `unavailable` when the output has ended.
    pub async fn write(&self, mut bytes: Bytes) -> Result<()> {
        while !bytes.is_empty() {
            let piece = bytes.split_to(bytes.len().min(INPUT));
            self.send(Asked::Input(piece)).await?;
        }
        Ok(())
    }

    /// Says how large the terminal is that looks on.
    ///
    /// # Errors
    /// As for [`write`](Self::write).
    pub async fn resize(&self, size: WindowSize) -> Result<()> {
        self.send(Asked::Resize(size.encode())).await
    }

    /// Sends a signal to the job in the foreground.
    ///
    /// # Errors
    /// As for [`write`](Self::write).
    pub async fn signal(&self, signal: Signal) -> Result<()> {
        self.send(Asked::Signal(signal.name().to_owned())).await
    }

    /// Leaves the session, which goes on. The output ends once everything that was typed before has been handed over.
    ///
    /// # Errors
    /// As for [`write`](Self::write).
    pub async fn detach(self) -> Result<()> {
        self.send(Asked::Detach(Detach {})).await
    }

    async fn send(&self, item: Asked) -> Result<()> {
        let message = AttachSessionRequest { item: Some(item) };
        self.0.send(message).await.map_err(|_| Error::unavailable("the session is no longer attached"))
    }
}

/// What comes out of an attached session. Dropping it leaves the session, and what is still on its way in may be lost.
#[derive(Debug)]
pub struct Output {
    cx: Call,
    stream: Streaming<AttachSessionResponse>,
    is_over: bool,
}

/// The next thing to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shown {
    /// Output, a gap, or the end.
    Item(Item),
    /// Input, a size or a signal that the session did not take: why.
    Refused(String),
}

impl Output {
    /// The next thing to show; `None` after the end, after [`Input::detach`], or when the call was taken back.
    ///
    /// # Errors
    /// As for the items of [`GrpcClient::follow_session`].
    pub async fn next(&mut self) -> Result<Option<Shown>> {
        if self.is_over {
            return Ok(None);
        }
        let message = tokio::select! {
            message = self.stream.message() => message.map_err(|status| failure(&self.cx, &status))?,
            () = self.cx.cancel.cancelled() => return Ok(None),
        };
        let Some(message) = message else {
            self.is_over = true;
            return Ok(None);
        };
        if let Some(Said::Refused(why)) = message.item {
            return Ok(Some(Shown::Refused(why)));
        }
        let item = message.item().map_err(|error| not_understood(&error))?;
        self.is_over = matches!(item, Some(Item::End(_)));
        Ok(item.map(Shown::Item))
    }
}

impl GrpcClient {
    /// Attaches to a session, whose output comes from a cursor on.
    ///
    /// # Errors
    /// As for [`follow_session`](Self::follow_session).
    pub async fn attach(&self, cx: &Call, session: &SessionRef, cursor: Cursor) -> Result<(Input, Output)> {
        let (input, requests) = mpsc::channel(WAITING);
        let input = Input(input);
        input.send(Asked::Attach(FollowSessionRequest { session: reference(session), cursor: cursor.0 })).await?;
        let requests = stream::unfold(requests, async |mut requests: mpsc::Receiver<AttachSessionRequest>| {
            Some((requests.recv().await?, requests))
        });
        let stream = answer(cx, self.sessions().attach_session(request(cx, requests)?)).await?;
        Ok((input, Output { cx: cx.clone(), stream, is_over: false }))
    }
}
