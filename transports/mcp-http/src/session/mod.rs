//! MCP sessions of the protocol's earlier era, up to revision 2025-11-25.
//!
//! rmcp has sessions of its own, but they belong to nobody, have no limit, end while a call runs, and one stream that
//! nobody reads stops the others. So these are ours:
//!
//! 1. `manager`: what one request may do; its identity reaches its own sessions and no other
//! 2. `table`: all sessions, with the limit for each identity
//! 3. a [`Session`]: a way in (the inbox) and its streams (`routes`, each a `stream`), from which readers (`reader`)
//!    follow what the server says; it ends when it has been idle for long
//! 4. `link`: the session as rmcp's service loop sees it

mod link;
mod manager;
mod reader;
mod routes;
mod stream;
mod table;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::model::ServerJsonRpcMessage;
use sessiond_bootstrap::identity::Identity;
use sessiond_core::Owner;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use self::link::Incoming;
pub(crate) use self::manager::{Manager, Outcome, Refusal};
use self::routes::Routes;
pub(crate) use self::table::{SessionLimits, Sessions};

/// Messages on their way to the service loop, which takes them at once.
const INBOX: usize = 16;

/// One MCP session.
struct Session {
    id: Arc<str>,
    /// Who has opened it. It ends when that is taken back; other credentials of the same owner may use it, when they let
    /// one reach and do the same.
    opener: Identity,
    inbox: mpsc::Sender<Incoming>,
    routes: Mutex<Routes>,
    activity: watch::Sender<Activity>,
}

/// Whether anybody is there. The fields move together.
#[derive(Clone, Copy, Debug)]
struct Activity {
    /// Requests without an answer, and readers.
    busy: usize,
    /// Since when it is as it is.
    since: Instant,
    /// For good.
    ended: bool,
}

impl Session {
    /// A session, and what its way in leads to.
    fn new(id: Arc<str>, opener: Identity, retry: Option<Duration>) -> (Arc<Self>, mpsc::Receiver<Incoming>) {
        let (inbox, messages) = mpsc::channel(INBOX);
        let activity = Activity { busy: 0, since: Instant::now(), ended: false };
        let routes = Mutex::new(Routes::new(retry));
        (Arc::new(Self { id, opener, inbox, routes, activity: watch::Sender::new(activity) }), messages)
    }

    /// Whether it is the one that this identity means by its id: no other owner finds it, and nobody does any more once the
    /// identity that has opened it is taken back, whoever may have its name by then.
    fn is_for(&self, identity: &Identity) -> bool {
        self.is_of(&identity.owner) && !self.opener.is_revoked()
    }

    /// Whether it was opened by this owner, who could reach and do then what this one can. A key with another role is
    /// somebody else here, though it has the same name: what answers are kept was said to whoever may hear it.
    fn is_of(&self, owner: &Owner) -> bool {
        self.opener.owner == *owner
    }

    /// Says that somebody is there, for as long as the result lives; `None` when the session has ended.
    fn busy(self: &Arc<Self>) -> Option<Busy> {
        let lives = self.activity.send_if_modified(|activity| {
            if !activity.ended {
                activity.busy += 1;
            }
            !activity.ended
        });
        lives.then(|| Busy(self.clone()))
    }

    /// Since when nobody is there.
    fn idle_since(&self) -> Option<Instant> {
        let activity = *self.activity.borrow();
        (activity.busy == 0 && !activity.ended).then_some(activity.since)
    }

    /// Ends the session unless somebody is there, or was after this moment. Returns whether it has ended.
    fn end_if_idle_since(&self, moment: Instant) -> bool {
        self.activity.send_if_modified(|activity| {
            let idle = activity.busy == 0 && activity.since <= moment;
            activity.ended |= idle;
            idle
        });
        let ended = self.activity.borrow().ended;
        if ended {
            self.routes().end();
        }
        ended
    }

    /// Ends the session, whoever is there.
    fn end(&self) {
        self.activity.send_modify(|activity| activity.ended = true);
        self.routes().end();
    }

    /// Puts a message of the server on its stream.
    fn publish(&self, message: ServerJsonRpcMessage) {
        let weight = weight(&message);
        self.routes().publish(message, weight);
    }

    /// A panic leaves nothing half done here that a reader could stumble over.
    fn routes(&self) -> MutexGuard<'_, Routes> {
        self.routes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Somebody is there.
struct Busy(Arc<Session>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.activity.send_modify(|activity| {
            activity.busy -= 1;
            activity.since = Instant::now();
        });
    }
}

/// The bytes of a message as JSON, counted without making them.
fn weight(message: &ServerJsonRpcMessage) -> usize {
    struct Count(usize);
    impl std::io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // What cannot be written weighs what could.
    let _ = serde_json::to_writer(&mut count, message);
    count.0
}

#[cfg(test)]
mod tests {
    use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
    use rmcp::transport::Transport;
    use serde_json::json;
    use sessiond_bootstrap::identity::Kind;
    use tokio::time::sleep;

    use super::routes::Held;
    use super::*;

    const IDLE: Duration = Duration::from_secs(600);

    fn sessions() -> Sessions {
        Sessions::new(SessionLimits { per_identity: 2, idle: IDLE, retry: Duration::from_secs(1) })
    }

    fn alice() -> Identity {
        Identity::proven(Owner::management("alice"), Kind::Key)
    }

    fn message<T: serde::de::DeserializeOwned>(value: serde_json::Value) -> T {
        serde_json::from_value(value).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_ends_when_nobody_has_been_there_for_long_enough() {
        let (session, mut link) = sessions().open(&alice()).unwrap();
        let begun = Instant::now();
        assert!(link.receive().await.is_none());
        assert_eq!(begun.elapsed(), IDLE);
        assert!(session.busy().is_none(), "and nobody gets in any more");
    }

    #[tokio::test(start_paused = true)]
    async fn a_running_call_keeps_its_session() {
        let (session, mut link) = sessions().open(&alice()).unwrap();
        let busy = session.busy().unwrap();
        let place = session.routes().open(message(json!(1)), None, Held::default(), busy).unwrap();
        tokio::select! {
            _ = link.receive() => panic!("it ended while a call ran"),
            () = sleep(10 * IDLE) => {}
        }
        let answer: ServerJsonRpcMessage = message(json!({ "jsonrpc": "2.0", "id": 1, "result": {} }));
        session.publish(answer);
        assert!(session.routes().last(place.stream).is_some());
        let begun = Instant::now();
        assert!(link.receive().await.is_none());
        assert_eq!(begun.elapsed(), IDLE);
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_nobody_fetches_is_kept_for_a_minute() {
        let (session, mut link) = sessions().open(&alice()).unwrap();
        let place = session.routes().open(message(json!(1)), None, Held::default(), session.busy().unwrap()).unwrap();
        session.publish(message(json!({ "jsonrpc": "2.0", "id": 1, "result": {} })));
        let kept = || session.routes().last(place.stream).is_some();
        tokio::select! {
            _ = link.receive() => panic!("it ended"),
            () = sleep(Duration::from_secs(59)) => assert!(kept()),
        }
        tokio::select! {
            _ = link.receive() => panic!("it ended"),
            () = sleep(Duration::from_secs(2)) => assert!(!kept()),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn answers_that_nobody_fetches_are_no_more_than_their_limit() {
        let (session, _link) = sessions().open(&alice()).unwrap();
        let text = "x".repeat(300 << 10);
        let mut places = Vec::new();
        for id in 0..10 {
            places.push(
                session.routes().open(message(json!(id)), None, Held::default(), session.busy().unwrap()).unwrap(),
            );
            session.publish(message(json!({ "jsonrpc": "2.0", "id": id, "result": { "text": text } })));
        }
        let kept: Vec<_> = places.iter().map(|place| session.routes().last(place.stream).is_some()).collect();
        assert_eq!(kept, [false, false, false, false, false, false, false, true, true, true]);
    }

    #[tokio::test(start_paused = true)]
    async fn what_comes_in_reaches_the_service_and_an_ended_session_takes_nothing() {
        let (session, mut link) = sessions().open(&alice()).unwrap();
        let ping =
            Incoming::from(message::<ClientJsonRpcMessage>(json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" })));
        session.inbox.send(ping).await.unwrap();
        assert!(link.receive().await.is_some());
        session.end();
        assert!(link.receive().await.is_none());
        assert!(session.busy().is_none());
    }
}
