//! A session as rmcp's service loop sees it: what comes in, and where to put what goes out.

use std::convert::Infallible;
use std::future::{pending, ready};
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use http::request::Parts;
use rmcp::RoleServer;
use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientJsonRpcMessage, ClientNotification, GetExtensions,
    RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use sessiond_bootstrap::identity::Identity;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until};

use super::Session;

/// A message on its way to the service.
pub(super) struct Incoming {
    message: ClientJsonRpcMessage,
    watch: Option<Watch>,
}

/// Ends with the request whose identity has ended before its answer was there.
type Watch = BoxFuture<'static, Option<RequestId>>;

impl From<ClientJsonRpcMessage> for Incoming {
    fn from(message: ClientJsonRpcMessage) -> Self {
        Self { message, watch: None }
    }
}

impl Incoming {
    /// A request that is to end with the identity that it came from; and what is to be dropped with its answer.
    pub(super) fn request(message: ClientJsonRpcMessage) -> (Self, Option<oneshot::Sender<()>>) {
        let (answered, has_answer) = oneshot::channel();
        match watch(&message, has_answer) {
            Some(watch) => (Self { message, watch: Some(watch) }, Some(answered)),
            None => (Self::from(message), None),
        }
    }
}

fn watch(message: &ClientJsonRpcMessage, has_answer: oneshot::Receiver<()>) -> Option<Watch> {
    let ClientJsonRpcMessage::Request(request) = message else { return None };
    let head: &Parts = request.request.extensions().get()?;
    let identity = head.extensions.get::<Identity>().filter(|identity| identity.can_end())?.clone();
    let id = request.id.clone();
    Some(Box::pin(async move {
        tokio::select! {
            biased;
            _ = has_answer => None,
            () = identity.ended() => Some(id),
        }
    }))
}

/// The service's end of a session.
pub(crate) struct Link {
    session: Arc<Session>,
    messages: mpsc::Receiver<Incoming>,
    /// Watches over the identities of the requests that have no answer.
    watches: FuturesUnordered<Watch>,
    /// How long nobody may be there before it ends.
    idle: Duration,
}

impl Link {
    pub(super) fn new(session: Arc<Session>, messages: mpsc::Receiver<Incoming>, idle: Duration) -> Self {
        Self { session, messages, watches: FuturesUnordered::new(), idle }
    }

    /// When there is something to do though nothing has come: answers to forget, or the end.
    fn due(&self) -> Option<Instant> {
        let end = self.session.idle_since().map(|since| since + self.idle);
        let forget = self.session.routes().due();
        [end, forget].into_iter().flatten().min()
    }

    /// Ends a request as if its client did not want the answer any more.
    fn take_back(&self, id: RequestId) -> Option<ClientJsonRpcMessage> {
        self.session.routes().close(&id);
        Some(taken_back(id))
    }

    /// Does it. Returns whether the session has ended.
    fn act(&self) -> bool {
        self.session.routes().forget();
        let moment = Instant::now().checked_sub(self.idle);
        moment.is_some_and(|moment| self.session.end_if_idle_since(moment))
    }
}

impl Transport<RoleServer> for Link {
    type Error = Infallible;

    /// Never waits: the streams are logs.
    fn send(&mut self, message: ServerJsonRpcMessage) -> impl Future<Output = Result<(), Infallible>> + Send + 'static {
        self.session.publish(message);
        ready(Ok(()))
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        let mut activity = self.session.activity.subscribe();
        loop {
            if activity.borrow_and_update().ended {
                return None;
            }
            let due = self.due();
            tokio::select! {
                biased;
                // Before what else has come: nothing more is done in it. Its calls end first, whoever has made them.
                () = self.session.opener.revoked() => {
                    let open = self.session.routes().any_open();
                    if open.is_none() {
                        tracing::debug!("whoever has opened an MCP session is known no more: it ends");
                    }
                    return self.take_back(open?);
                }
                Some(ended) = self.watches.next(), if !self.watches.is_empty() => {
                    if let Some(id) = ended {
                        return self.take_back(id);
                    }
                }
                incoming = self.messages.recv() => {
                    let Incoming { message, watch } = incoming?;
                    self.watches.extend(watch);
                    return Some(message);
                }
                changed = activity.changed() => changed.ok()?,
                () = until(due) => {
                    if self.act() {
                        tracing::debug!("an MCP session has been idle for long enough: it ends");
                        return None;
                    }
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), Infallible> {
        self.session.end();
        Ok(())
    }
}

impl Drop for Link {
    /// However the service loop ends, nobody waits for it in vain.
    fn drop(&mut self) {
        self.session.end();
    }
}

/// What a client says that does not want an answer any more.
fn taken_back(id: RequestId) -> ClientJsonRpcMessage {
    let reason = Some("its credential holds no more".to_owned());
    let cancelled = CancelledNotification::new(CancelledNotificationParam::new(Some(id), reason));
    ClientJsonRpcMessage::notification(ClientNotification::CancelledNotification(cancelled))
}

async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => pending().await,
    }
}
