//! One connection to a host, with its keys checked and somebody logged in.
//!
//! 1. `dial` makes the first leg; `wire` carries its bytes and can be cut.
//! 2. `open` takes each hop of the way in turn: `algorithms` says what is offered, `watcher` has the host's key judged and
//!    sees what the protocol's task sees, and the login follows (`auth`). What one hop forwards carries the next.
//! 3. [`Link`] opens channels, and says that it is lost when it is: `loss`. `fault` and `say` find the words.
//!
//! The protocol runs in a task that the library spawns, one for each hop. It ends with its wire, and a wire is cut when
//! its link is dropped: nothing outlives a link, nor a call that is dropped while it opens one.

mod algorithms;
mod dial;
mod fault;
mod hop;
pub(crate) mod loss;
mod open;
pub(crate) mod say;
pub(crate) mod watcher;
mod wire;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::SystemTime;

use russh::client::Msg;
use russh::{Channel, ChannelOpenFailure};
use sessiond_core::{Call, Error, Result, TaskKind, Tasks};
use tokio::sync::oneshot;

use self::hop::Hop;
use crate::known_hosts::Trusted;
use crate::route::Route;

/// A channel being opened, and closed again when nobody takes it.
const OPEN: TaskKind = TaskKind("ssh channel open");

/// What is known of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LinkFacts {
    /// The account.
    pub(crate) user: String,
    /// The address that was dialled, as it was named.
    pub(crate) host: String,
    /// The port.
    pub(crate) port: u16,
    /// What the server says of itself: `OpenSSH_9.2p1 Debian-2` and the like.
    pub(crate) server_version: String,
    /// The cipher of both directions.
    pub(crate) cipher: String,
    /// The host's key, and what vouches for it.
    pub(crate) host_key: Trusted,
    /// The methods that let us in, with commas between them.
    pub(crate) auth_method: String,
    /// The hosts in between, in the order of the way, as `user@host:port`.
    pub(crate) hops: Vec<String>,
    /// Since when it stands.
    pub(crate) since: SystemTime,
}

/// Why a channel was not opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The host opens no further channel on this connection, which goes on as before (`MaxSessions`). A host that
    /// opens none at all says the same.
    Full(String),
    /// The connection is lost: why.
    Lost(String),
    /// Another reason, in the host's words.
    Other(String),
}

/// A connection to a host.
pub(crate) struct Link {
    hop: Hop,
    /// What carries it, from the first hop on.
    carriers: Vec<Hop>,
    facts: LinkFacts,
    tasks: Tasks,
}

impl Link {
    /// Connects along a route and logs in, within the call's deadline and the route's own time. A call that is dropped
    /// or taken back leaves nothing.
    ///
    /// # Errors
    /// `permission_denied` when a host's key or our login is refused, `unavailable` when a host cannot be reached or
    /// the route's time is up, `timed_out` when the call's is, `unsupported` when we have no algorithm in common.
    pub(crate) async fn open(route: &Route, cx: &Call, tasks: &Tasks) -> Result<Arc<Self>> {
        open::open(route, cx, tasks).await.map(Arc::new)
    }

    /// What is known of it.
    pub(crate) fn facts(&self) -> &LinkFacts {
        &self.facts
    }

    /// Why it is lost, in words that continue a sentence about it; `None` while it stands.
    pub(crate) fn loss(&self) -> Option<String> {
        self.hop.loss.get().map(|why| self.because(why))
    }

    /// Waits until it is lost.
    pub(crate) async fn lost(&self) -> String {
        let why = self.hop.loss.wait().await;
        self.because(why)
    }

    /// A hop in between that is lost takes with it what it carries, and knows why.
    fn because(&self, why: String) -> String {
        let carrier = self.carriers.iter().find_map(|carrier| carrier.loss.get().map(|why| (carrier, why)));
        match carrier {
            Some((carrier, why)) => format!("its hop {} was lost ({why})", carrier.name),
            None => why,
        }
    }

    /// Opens a session channel. A call that is dropped leaves no channel.
    ///
    /// # Errors
    /// See [`Refusal`]. None but [`Refusal::Lost`] harms the connection.
    pub(crate) async fn open_channel(&self) -> Result<Channel<Msg>, Refusal> {
        let (answer, answered) = oneshot::channel();
        let (handle, tasks) = (Arc::clone(&self.hop.handle), self.tasks.clone());
        // In a task, since an opening that is given up half way would leave its channel open on the host.
        self.tasks.spawn(OPEN, async move {
            let opened = handle.channel_open_session().await;
            let _ = answer.send(opened.map(|channel| Unclaimed { channel: Some(channel), tasks }));
        });
        match answered.await {
            Ok(Ok(unclaimed)) => unclaimed.claim().ok_or_else(|| Refusal::Other("the channel is gone".to_owned())),
            Ok(Err(russh::Error::ChannelOpenFailure(reason))) => Err(self.refusal(&reason)),
            // The task of the protocol has ended, and tells why as it ends.
            Ok(Err(_)) | Err(_) => Err(Refusal::Lost(self.lost().await)),
        }
    }

    fn refusal(&self, reason: &ChannelOpenFailure) -> Refusal {
        let said = watcher::refused(reason, &self.hop.seen);
        match reason {
            // RFC 4254 has a code for it, and OpenSSH sends another: "connect failed: open failed" for a session too
            // many, "administratively prohibited" for one that is not allowed.
            ChannelOpenFailure::ResourceShortage
            | ChannelOpenFailure::ConnectFailed
            | ChannelOpenFailure::AdministrativelyProhibited => Refusal::Full(said),
            _ => Refusal::Other(said),
        }
    }

    /// Asks the host for an answer: what was sent before has been processed by then.
    ///
    /// # Errors
    /// `unavailable` when the connection is lost before.
    pub(crate) async fn round_trip(&self) -> Result<()> {
        let asked = self.hop.handle.send_ping().await;
        let why = match (asked, self.loss()) {
            (Ok(()), None) => return Ok(()),
            (Ok(()), Some(why)) => why,
            (Err(_), _) => self.lost().await,
        };
        Err(Error::unavailable(format!("the connection was lost: {why}; try again")))
    }

    /// Ends the connection, and waits for its end. Safe to call twice, and to drop.
    pub(crate) async fn close(&self) {
        self.hop.close().await;
        for carrier in self.carriers.iter().rev() {
            carrier.close().await;
        }
    }
}

/// A channel that somebody may have stopped waiting for.
struct Unclaimed {
    channel: Option<Channel<Msg>>,
    tasks: Tasks,
}

impl Unclaimed {
    fn claim(mut self) -> Option<Channel<Msg>> {
        self.channel.take()
    }
}

impl Drop for Unclaimed {
    fn drop(&mut self) {
        if let Some(channel) = self.channel.take() {
            self.tasks.spawn(OPEN, async move {
                // A connection that is gone has taken the channel with it.
                let _ = channel.close().await;
            });
        }
    }
}
