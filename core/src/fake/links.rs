//! The fake's connections: every owner has one of its own, and whatever runs on it watches it as a level.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use tokio::sync::watch;

use crate::backend::{ConnectionFacts, ConnectionStatus, HostKey};
use crate::owner::Owner;

/// What the fake says of itself as a host.
const HOST: &str = "fake.example";
const USER: &str = "fake";
const PORT: u16 = 22;

/// One connection; its level says how it was lost, once it was.
#[derive(Clone)]
pub(super) struct Link {
    pub(super) period: u64,
    since: SystemTime,
    loss: watch::Sender<Option<Loss>>,
}

/// Why a connection is no more.
#[derive(Clone, Debug)]
pub(super) enum Loss {
    /// Its owner wanted it.
    Closed,
    /// Nobody did.
    Cut,
}

impl Loss {
    pub(super) fn as_str(&self) -> &'static str {
        match self {
            Self::Closed => "the connection was closed",
            Self::Cut => "the connection was cut",
        }
    }
}

impl Link {
    /// Ends whatever runs on it as lost.
    pub(super) fn end(&self, loss: Loss) {
        self.loss.send_replace(Some(loss));
    }

    /// What something that runs on it watches; as long as it does, it counts as a channel.
    pub(super) fn channel(&self) -> watch::Receiver<Option<Loss>> {
        self.loss.subscribe()
    }

    fn stands(&self) -> bool {
        self.loss.borrow().is_none()
    }
}

/// The connections of all owners.
#[derive(Default)]
pub(super) struct Links {
    periods: AtomicU64,
    owners: Mutex<HashMap<Arc<str>, Known>>,
}

/// What is known of an owner's connection.
#[derive(Default)]
struct Known {
    latest: Option<Link>,
    /// Why the latest attempt to connect has failed.
    failure: Option<String>,
}

impl Links {
    fn owners(&self) -> MutexGuard<'_, HashMap<Arc<str>, Known>> {
        self.owners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The owner's connection, which is made where none stands.
    pub(super) fn open(&self, owner: &Owner) -> Link {
        let mut owners = self.owners();
        let known = owners.entry(owner.name().clone()).or_default();
        if let Some(link) = known.latest.as_ref().filter(|link| link.stands()) {
            return link.clone();
        }
        let period = self.periods.fetch_add(1, Ordering::Relaxed) + 1;
        let link = Link { period, since: SystemTime::now(), loss: watch::Sender::new(None) };
        *known = Known { latest: Some(link.clone()), failure: None };
        link
    }

    /// An attempt to connect has failed.
    pub(super) fn note_failure(&self, owner: &Owner, why: &str) {
        self.owners().entry(owner.name().clone()).or_default().failure = Some(why.to_owned());
    }

    /// Ends the owner's connection. Returns whether one stood.
    pub(super) fn end(&self, owner: &Owner, loss: Loss) -> bool {
        let latest = self.owners().get(owner.name()).and_then(|known| known.latest.clone());
        // What runs on it hears of it when nothing is locked.
        match latest.filter(Link::stands) {
            Some(link) => {
                link.end(loss);
                true
            }
            None => false,
        }
    }

    pub(super) fn period(&self, owner: &Owner) -> Option<u64> {
        self.owners().get(owner.name())?.latest.as_ref().map(|link| link.period)
    }

    pub(super) fn status(&self, owner: &Owner) -> Option<ConnectionStatus> {
        let owners = self.owners();
        let known = owners.get(owner.name())?;
        let standing = known.latest.as_ref().filter(|link| link.stands());
        let cut = known.latest.as_ref().is_some_and(|link| matches!(*link.loss.borrow(), Some(Loss::Cut)));
        let lost = cut.then(|| Loss::Cut.as_str().to_owned());
        Some(ConnectionStatus {
            host: HOST.to_owned(),
            user: Some(USER.to_owned()),
            port: Some(PORT),
            connected: standing.is_some(),
            since: standing.map(|link| link.since),
            channels: standing.map_or(0, |link| link.loss.receiver_count()),
            last_error: known.failure.clone().or(lost),
        })
    }
}

/// What is known of a connection of anybody's.
pub(super) fn facts() -> ConnectionFacts {
    ConnectionFacts {
        host: HOST.to_owned(),
        user: USER.to_owned(),
        port: PORT,
        os: Some("fake".to_owned()),
        server_version: "fake".to_owned(),
        host_key: HostKey {
            kind: "ssh-ed25519".to_owned(),
            fingerprint: "SHA256:ZmFrZWZha2VmYWtlZmFrZWZha2VmYWtlZmFrZWZha2U".to_owned(),
            verified_by: "the fake itself".to_owned(),
        },
        auth_method: "none".to_owned(),
        hops: Vec::new(),
    }
}
