//! What one request may do with MCP sessions: those of its identity are there for it, and no others.
//!
//! rmcp asks a session manager without saying for whom. So each request gets a manager of its own, which knows.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use futures_util::Stream;
use futures_util::future::Either;
use futures_util::stream::empty;
use rmcp::model::{ClientJsonRpcMessage, ClientNotification, GetMeta, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::{ServerSseMessage, SessionId, SessionManager};
use sessiond_bootstrap::identity::Identity;
use sessiond_core::Error;
use tokio::time::timeout;

use super::link::{Incoming, Link};
use super::reader::{only, read};
use super::routes::{Held, STANDALONE_START};
use super::stream::Place;
use super::{Session, Sessions};
use crate::limits::Permit;

/// Why a request got nothing: what rmcp would turn into a server error is told apart here.
#[derive(Clone, Debug)]
pub(crate) enum Refusal {
    /// No such session here: it never was, has ended, or is another's.
    NotFound,
    /// Its id is that of a request which is still being answered.
    Duplicate,
    /// There is no room for another session.
    Full(Error),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound => f.write_str(
                "no such MCP session here: it never was, has ended, or is another's; begin a new one with initialize",
            ),
            Self::Duplicate => {
                f.write_str("a request with this id is still being answered: give each request an id of its own")
            }
            Self::Full(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Refusal {}

/// The sessions as one request sees them.
pub(crate) struct Manager {
    sessions: Arc<Sessions>,
    identity: Identity,
    /// How long an answer is waited for before there is a stream of events for it.
    patience: Duration,
    /// Counts the request among its identity's; a call that outlives the request takes it along.
    permit: Mutex<Option<Permit>>,
    outcome: OnceLock<Outcome>,
}

/// What has come of a request, where rmcp's own answer is not the one to give.
#[derive(Clone)]
pub(crate) enum Outcome {
    /// It got nothing.
    Refused(Refusal),
    /// This is all there is to say.
    Answered(Arc<ServerJsonRpcMessage>),
}

impl Manager {
    /// For a request of this identity.
    pub(crate) fn new(sessions: Arc<Sessions>, identity: Identity, patience: Duration, permit: Permit) -> Arc<Self> {
        let permit = Mutex::new(Some(permit));
        Arc::new(Self { sessions, identity, patience, permit, outcome: OnceLock::new() })
    }

    /// What has come of the request, when that is for the sessions to say. The request is over with that.
    pub(crate) fn finish(&self) -> Option<Outcome> {
        *self.permit() = None;
        self.outcome.get().cloned()
    }

    fn permit(&self) -> MutexGuard<'_, Option<Permit>> {
        self.permit.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn session(&self, id: &str) -> Result<Arc<Session>, Refusal> {
        self.sessions.get(&self.identity, id).ok_or_else(|| self.refuse(Refusal::NotFound))
    }

    fn refuse(&self, refusal: Refusal) -> Refusal {
        // The first one counts.
        let _ = self.outcome.set(Outcome::Refused(refusal.clone()));
        refusal
    }

    /// Hands a request to a session; the place of its stream.
    async fn ask(&self, session: &Arc<Session>, message: ClientJsonRpcMessage) -> Result<Place, Refusal> {
        let gone = || self.refuse(Refusal::NotFound);
        let ClientJsonRpcMessage::Request(request) = &message else { return Err(gone()) };
        let progress = request.request.get_meta().get_progress_token().map(|token| token.0);
        let busy = session.busy().ok_or_else(gone)?;
        let id = request.id.clone();
        let (incoming, answered) = Incoming::request(message);
        let held = Held::new(self.permit().clone(), answered);
        let place = session.routes().open(id, progress, held, busy);
        let place = place.ok_or_else(|| self.refuse(Refusal::Duplicate))?;
        session.inbox.send(incoming).await.map_err(|_| gone())?;
        Ok(place)
    }
}

impl SessionManager for Manager {
    type Error = Refusal;
    type Transport = Link;

    async fn create_session(&self) -> Result<(SessionId, Link), Refusal> {
        let opened = self.sessions.open(&self.identity);
        let (session, link) = opened.map_err(|error| self.refuse(Refusal::Full(error)))?;
        Ok((session.id.clone(), link))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Refusal> {
        let session = self.session(id)?;
        let place = self.ask(&session, message).await?;
        let events = read(&session, place).ok_or_else(|| self.refuse(Refusal::NotFound))?;
        // To the end of the stream: the answer is its last event.
        futures_util::StreamExt::for_each(events, |_| std::future::ready(())).await;
        let answer = session.routes().last(place.stream);
        answer.map(Arc::unwrap_or_clone).ok_or_else(|| self.refuse(Refusal::NotFound))
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Refusal> {
        Ok(self.session(id).is_ok())
    }

    /// By DELETE, which is refused where there is none; or because the service loop has ended: then it is mostly closed
    /// already, and the request that began it is long gone.
    async fn close_session(&self, id: &SessionId) -> Result<(), Refusal> {
        // Who does not find it any more because the key that opened it is gone may still put it away.
        let _ = self.session(id);
        self.sessions.close(&self.identity.owner, id);
        Ok(())
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Refusal> {
        let session = self.session(id)?;
        let place = self.ask(&session, message).await?;
        // An answer that is soon there, and alone, needs no stream: it is said at once, and however long it is. The events
        // of a stream may be no longer than 1 MiB for some clients, and a read of all that is kept is more.
        if let Ok(Some(answer)) = timeout(self.patience, only(&session, place)).await {
            let _ = self.outcome.set(Outcome::Answered(answer));
            return Ok(Either::Left(empty()));
        }
        read(&session, place).map(Either::Right).ok_or_else(|| self.refuse(Refusal::NotFound))
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), Refusal> {
        let session = self.session(id)?;
        // For as long as it takes; and no message reaches a session that ends.
        let _busy = session.busy().ok_or_else(|| self.refuse(Refusal::NotFound))?;
        if let ClientJsonRpcMessage::Notification(notification) = &message
            && let ClientNotification::CancelledNotification(cancelled) = &notification.notification
            && let Some(request) = &cancelled.params.request_id
        {
            session.routes().close(request);
        }
        session.inbox.send(message.into()).await.map_err(|_| self.refuse(Refusal::NotFound))
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Refusal> {
        let session = self.session(id)?;
        read(&session, STANDALONE_START).ok_or_else(|| self.refuse(Refusal::NotFound))
    }

    /// A place that is not there (any more) is no refusal: rmcp answers with an empty stream, because clients would try
    /// the same again for ever.
    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Refusal> {
        let session = self.session(id)?;
        let place = Place::behind(&last_event_id).ok_or(Refusal::NotFound)?;
        read(&session, place).ok_or(Refusal::NotFound)
    }
}
