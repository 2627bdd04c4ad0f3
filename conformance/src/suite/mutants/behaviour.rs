//! Faults that need a service of their own: it remembers, looks twice, or does one thing at a time.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use sessiond_core::{Call, Cursor, ErrorKind, Fired, Owner, Read, ReadSession, Result, Service, Slice, Wait};
use tokio::sync::Mutex as Turnstile;

use crate::suite::house::BackendKind;
use crate::suite::mutant::{Fault, Mutant};
use crate::suite::stage::OWNER;
use crate::suite::verbs::{Broken, Faulty};

const fn service(id: &'static str, title: &'static str, wrap: fn(Arc<dyn Service>) -> Arc<dyn Service>) -> Mutant {
    Mutant { id, title, backend: BackendKind::Fake, fault: Fault::Service(wrap) }
}

pub(super) const MUTANTS: &[Mutant] = &[
    service("SR14", "sessions are read as whoever has them", |right| Arc::new(Broken(Confused(right)))),
    service("SR21", "reading consumes", |right| Arc::new(Broken(Consuming { right, consumed: Mutex::default() }))),
    service("SR22", "a cursor past the end is an empty answer", |right| {
        Arc::new(Broken(Lenient { right, kind: ErrorKind::InvalidArgument }))
    }),
    service("SR24", "half a character is new output", |right| Arc::new(Broken(Hasty(right)))),
    service("SR41", "one read at a time", |right| Arc::new(Broken(OneAtATime { right, turn: Turnstile::default() }))),
    service("SR51", "a read that stops early is done when the process is", |right| Arc::new(Broken(Eager(right)))),
    service("SR61", "an unknown session has an empty answer", |right| {
        Arc::new(Broken(Lenient { right, kind: ErrorKind::NotFound }))
    }),
];

/// A read that found nothing.
fn nothing(at: Cursor) -> Read {
    let slice = Slice { start: at, next: at, end: at, lost: 0, bytes: Bytes::new(), ended: None };
    Read { slice, fired: Fired::Deadline }
}

struct Confused(Arc<dyn Service>);

#[async_trait]
impl Faulty for Confused {
    fn right(&self) -> &dyn Service {
        &*self.0
    }

    async fn read_session(&self, cx: &Call, request: ReadSession) -> Result<Read> {
        let owner = Owner::new(OWNER, cx.owner.access().clone());
        self.0.read_session(&Call { owner, ..cx.clone() }, request).await
    }
}

struct Consuming {
    right: Arc<dyn Service>,
    consumed: Mutex<Cursor>,
}

#[async_trait]
impl Faulty for Consuming {
    fn right(&self) -> &dyn Service {
        &*self.right
    }

    async fn read_session(&self, cx: &Call, mut request: ReadSession) -> Result<Read> {
        request.cursor = request.cursor.max(*self.consumed.lock().unwrap_or_else(PoisonError::into_inner));
        let read = self.right.read_session(cx, request).await?;
        *self.consumed.lock().unwrap_or_else(PoisonError::into_inner) = read.slice.next;
        Ok(read)
    }
}

struct Lenient {
    right: Arc<dyn Service>,
    kind: ErrorKind,
}

#[async_trait]
impl Faulty for Lenient {
    fn right(&self) -> &dyn Service {
        &*self.right
    }

    async fn read_session(&self, cx: &Call, request: ReadSession) -> Result<Read> {
        let cursor = request.cursor;
        match self.right.read_session(cx, request).await {
            Err(error) if error.kind() == self.kind => Ok(nothing(cursor)),
            answer => answer,
        }
    }
}

struct Hasty(Arc<dyn Service>);

#[async_trait]
impl Faulty for Hasty {
    fn right(&self) -> &dyn Service {
        &*self.0
    }

    async fn read_session(&self, cx: &Call, request: ReadSession) -> Result<Read> {
        let soon = ReadSession {
            wait: Wait { time: std::time::Duration::from_millis(100), ..Wait::default() },
            ..request.clone()
        };
        let read = self.0.read_session(cx, soon).await?;
        if read.slice.end > read.slice.next {
            return Ok(read);
        }
        self.0.read_session(cx, request).await
    }
}

struct OneAtATime {
    right: Arc<dyn Service>,
    turn: Turnstile<()>,
}

#[async_trait]
impl Faulty for OneAtATime {
    fn right(&self) -> &dyn Service {
        &*self.right
    }

    async fn read_session(&self, cx: &Call, request: ReadSession) -> Result<Read> {
        let _turn = self.turn.lock().await;
        self.right.read_session(cx, request).await
    }
}

struct Eager(Arc<dyn Service>);

#[async_trait]
impl Faulty for Eager {
    fn right(&self) -> &dyn Service {
        &*self.0
    }

    async fn read_session(&self, cx: &Call, request: ReadSession) -> Result<Read> {
        let whole = ReadSession { wait: Wait::default(), ..request.clone() };
        let mut read = self.0.read_session(cx, request).await?;
        if read.slice.ended.is_none() {
            read.slice.ended = self.0.read_session(cx, whole).await?.slice.ended;
        }
        Ok(read)
    }
}
