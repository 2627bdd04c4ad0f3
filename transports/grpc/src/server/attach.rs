//! Attaching a terminal: the output of a session comes out, input, sizes and signals go in.
//!
//! The output is followed as by everybody else. The way in has a task of its own, so that an interrupt goes through
//! while the output is more than its reader takes; it ends with the stream.

use std::sync::Arc;

use futures_util::{Stream, StreamExt, stream};
use sessiond_core::{
    Action, Call, ControlSession, Cursor, Error, Result, Service, Signal, TaskKind, Tasks, Wait, WriteSession,
};
use tokio::sync::mpsc;
use tokio_util::sync::DropGuard;
use tonic::{Status, Streaming};

use super::call::Begun;
use super::follow::{Followed, Source};
use crate::convert::error::status;
use crate::convert::{Decode, Follows, Named, named, required};
use crate::proto::attach_session_request::Item as Asked;
use crate::proto::attach_session_response::Item as Said;
use crate::proto::{AttachSessionRequest, AttachSessionResponse};

/// Carries what comes from one attached terminal to its session.
const INPUT: TaskKind = TaskKind("grpc.attach.input");

/// Words that wait for the terminal to read; the way in then waits too.
const WORDS: usize = 8;

/// What the way in has to say to the way out.
enum Word {
    /// Something was not taken: why.
    Refused(String),
    /// The terminal leaves, and all that it said before has been handed over.
    Left,
}

/// A terminal that is about to be attached: its first message is yet to come.
pub(super) struct Attached {
    service: Arc<dyn Service>,
    tasks: Tasks,
    cx: Call,
    requests: Streaming<AttachSessionRequest>,
    taken_back: DropGuard,
}

impl Attached {
    pub(super) fn new(service: Arc<dyn Service>, tasks: Tasks, call: Begun<Streaming<AttachSessionRequest>>) -> Self {
        Self { service, tasks, cx: call.cx, requests: call.message, taken_back: call.guard }
    }

    /// Waits for the first message, which says which session.
    async fn begin(mut self) -> std::result::Result<Running, Status> {
        let first = self.requests.message().await?;
        let Some(Asked::Attach(attach)) = first.and_then(|message| message.item) else {
            let missing = Error::invalid_argument("the first message must be attach: it says which session");
            return Err(status(&missing));
        };
        let session = named(attach.session).map_err(|error| status(&error))?;
        let followed = Followed::new(
            self.service.clone(),
            self.cx.clone(),
            Source::Session(session.clone()),
            Cursor(attach.cursor),
        );
        let (say, words) = mpsc::channel(WORDS);
        let input = Input { service: self.service, cx: self.cx.clone(), session, say };
        let (ended, taken_back) = (self.tasks.cancelled(), self.cx.cancel.clone());
        self.tasks.spawn(INPUT, async move {
            tokio::select! {
                () = input.carry(self.requests) => {}
                () = taken_back.cancelled() => {}
                () = ended => {}
            }
        });
        Ok(Running { followed, words, _taken_back: self.taken_back })
    }
}

/// The answers. Whoever drops the stream takes the call back.
pub(super) fn answers(
    attached: Attached,
) -> impl Stream<Item = std::result::Result<AttachSessionResponse, Status>> + Send {
    stream::once(attached.begin()).flat_map(|begun| match begun {
        Ok(running) => stream::try_unfold(running, async |mut running: Running| {
            Ok(running.next().await?.map(|answer| (answer, running)))
        })
        .left_stream(),
        Err(refused) => stream::once(std::future::ready(Err(refused))).right_stream(),
    })
}

/// The way out.
struct Running {
    followed: Followed,
    words: mpsc::Receiver<Word>,
    _taken_back: DropGuard,
}

impl Running {
    async fn next(&mut self) -> std::result::Result<Option<AttachSessionResponse>, Status> {
        tokio::select! {
            biased;
            Some(word) = self.words.recv() => Ok(match word {
                Word::Refused(why) => Some(AttachSessionResponse { item: Some(Said::Refused(why)) }),
                Word::Left => None,
            }),
            item = self.followed.next() => {
                item.map(|item| item.map(AttachSessionResponse::of)).map_err(|error| status(&error))
            }
        }
    }
}

/// The way in.
struct Input {
    service: Arc<dyn Service>,
    cx: Call,
    session: Named,
    say: mpsc::Sender<Word>,
}

impl Input {
    /// Carries everything in order until the terminal leaves or has no more to say. One that breaks off only ends the
    /// way in: the way out notices by itself.
    async fn carry(self, mut requests: Streaming<AttachSessionRequest>) {
        while let Ok(Some(request)) = requests.message().await {
            let leaves = matches!(request.item, Some(Asked::Detach(_)));
            let word = match self.hand_over(request).await {
                Ok(None) if leaves => Some(Word::Left),
                Ok(refused) => refused.map(Word::Refused),
                Err(error) => Some(Word::Refused(error.message().to_owned())),
            };
            if let Some(word) = word {
                // Nobody to tell: the stream is about to end.
                let _ = self.say.send(word).await;
            }
            if leaves {
                break;
            }
        }
    }

    /// Hands one message over. Returns why the session did not take it, when it did not.
    async fn hand_over(&self, request: AttachSessionRequest) -> Result<Option<String>> {
        let action = match required(request.item, "item")? {
            Asked::Detach(_) => return Ok(None),
            Asked::Attach(_) => return Err(Error::invalid_argument("attach comes first, and once")),
            Asked::Input(input) => {
                let (session, target) = self.session.clone();
                let request = WriteSession { session, target, input, wait: Wait::default() };
                return Ok(self.service.write_session(&self.cx, request).await?.stalled);
            }
            Asked::Resize(size) => Action::Resize(size.decode()?),
            Asked::Signal(name) => Action::Signal(name.parse::<Signal>()?),
        };
        let (session, target) = self.session.clone();
        let request = ControlSession { session, target, action, wait: Wait::default() };
        let outcome = self.service.control_session(&self.cx, request).await?;
        Ok((!outcome.accepted).then(|| outcome.detail.unwrap_or_else(|| "not accepted".to_owned())))
    }
}
