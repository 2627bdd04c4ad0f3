//! All MCP sessions. Each belongs to one identity, and an identity has so many of them at most: an owner with what it
//! may reach and do, so that keys of one owner with different roles have nothing of each other's.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sessiond_bootstrap::identity::Identity;
use sessiond_core::{Error, Owner, Result, SessionId};

use super::Session;
use super::link::Link;

/// How many sessions there may be, and for how long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SessionLimits {
    /// For each identity. When one more is opened, the one that has been idle for longest ends.
    pub(crate) per_identity: usize,
    /// How long nobody may be there before a session ends.
    pub(crate) idle: Duration,
    /// How long a client should wait before it comes back to a broken stream.
    pub(crate) retry: Duration,
}

/// The sessions. The lock is short; a session's own locks are taken inside it, never the other way round.
pub(crate) struct Sessions {
    limits: SessionLimits,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    by_id: HashMap<Arc<str>, Arc<Session>>,
    by_owner: HashMap<Owner, Vec<Arc<Session>>>,
}

impl Sessions {
    pub(crate) fn new(limits: SessionLimits) -> Self {
        Self { limits, table: Mutex::default() }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.table().by_id.len()
    }

    /// Opens one for this identity.
    ///
    /// # Errors
    /// `limit_exceeded` when it has as many as it may have, with somebody in each; `internal` without randomness.
    pub(super) fn open(&self, opener: &Identity) -> Result<(Arc<Session>, Link)> {
        let owner = &opener.owner;
        let id: Arc<str> = SessionId::random()?.to_string().into();
        let mut table = self.table();
        let own = table.by_owner.get(owner).map_or(&[][..], Vec::as_slice);
        if own.len() >= self.limits.per_identity {
            let ended = longest_idle(own).ok_or_else(|| self.full())?;
            table.remove(&ended);
        }
        let (session, messages) = Session::new(id.clone(), opener.clone(), Some(self.limits.retry));
        table.by_id.insert(id, session.clone());
        table.by_owner.entry(owner.clone()).or_default().push(session.clone());
        Ok((session.clone(), Link::new(session, messages, self.limits.idle)))
    }

    fn full(&self) -> Error {
        Error::limit_exceeded(format!(
            "you have {} MCP sessions, all of them in use: end one with DELETE, or wait",
            self.limits.per_identity
        ))
    }

    /// The session of this id, when it is this identity's.
    pub(super) fn get(&self, identity: &Identity, id: &str) -> Option<Arc<Session>> {
        self.table().by_id.get(id).filter(|session| session.is_for(identity)).cloned()
    }

    /// Ends the session of this id, when it is this owner's.
    pub(super) fn close(&self, owner: &Owner, id: &str) {
        let mut table = self.table();
        let is_own = table.by_id.get(id).is_some_and(|session| session.is_of(owner));
        let removed = if is_own { table.remove(id) } else { None };
        drop(table);
        if let Some(session) = removed {
            session.end();
        }
    }

    /// A panic leaves nothing half done here: both maps are changed at the end of what can fail.
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    fn remove(&mut self, id: &str) -> Option<Arc<Session>> {
        let session = self.by_id.remove(id)?;
        if let Some(own) = self.by_owner.get_mut(&session.opener.owner) {
            own.retain(|other| !Arc::ptr_eq(other, &session));
            if own.is_empty() {
                self.by_owner.remove(&session.opener.owner);
            }
        }
        Some(session)
    }
}

/// Ends the session that has been idle for longest; its id. `None` when somebody is in each.
fn longest_idle(sessions: &[Arc<Session>]) -> Option<Arc<str>> {
    loop {
        let idle = sessions.iter().filter_map(|session| Some((session.idle_since()?, session)));
        let (since, session) = idle.min_by_key(|(since, _)| *since)?;
        // Unless somebody has come in between.
        if session.end_if_idle_since(since) {
            return Some(session.id.clone());
        }
    }
}
