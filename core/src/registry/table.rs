//! What every owner has: running and finished records, in order, within bounds.
//!
//! An owner's records are found only through the owner, so nobody can reach another's (SR14).
//! The table's lock may be taken while a log's is held, never the other way round.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use tokio::sync::watch;
use tokio::time::Instant;

use super::limits::Limits;
use super::record::Record;
use super::run::Run;
use crate::call::after;
use crate::error::{Error, Result};
use crate::id::SessionId;
use crate::owner::Owner;

/// The number of a record, in the order of starting. Never used twice.
pub(super) type Seq = u64;

/// The records of all owners.
pub(super) struct Table {
    limits: Limits,
    state: Mutex<State>,
    /// Moves whenever the next expiry may have come closer.
    expiry: watch::Sender<()>,
}

#[derive(Default)]
struct State {
    closed: bool,
    next: Seq,
    owners: HashMap<Arc<str>, Owned>,
}

/// The records of one owner.
#[derive(Default)]
struct Owned {
    starting: usize,
    commands: HashMap<Seq, Arc<Run>>,
    running: BTreeMap<Seq, Arc<Record>>,
    finished: BTreeMap<Seq, Finished>,
    /// The finished ones in the order of ending.
    ended: VecDeque<(Instant, Seq)>,
    kept: usize,
    by_id: HashMap<SessionId, Seq>,
}

struct Finished {
    record: Arc<Record>,
    kept: usize,
}

/// A place among an owner's running ones, given back when it is dropped unused.
pub(super) struct Slot {
    table: Arc<Table>,
    owner: Arc<str>,
    pub(super) seq: Seq,
    filled: bool,
}

/// Whether what has just started may stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Welcome {
    /// It may.
    Stays,
    /// The server is ending: it must be stopped.
    Closed,
}

/// Where in an owner's list to go on: running ones first, then finished ones, the newest first in both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Position {
    /// Running ones before this one.
    Running(Seq),
    /// Finished ones before this one.
    Finished(Seq),
}

impl Table {
    pub(super) fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Self { limits, state: Mutex::default(), expiry: watch::Sender::new(()) })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a place among the owner's running ones.
    pub(super) fn reserve(self: &Arc<Self>, owner: &Owner) -> Result<Slot> {
        let mut state = self.lock();
        if state.closed {
            return Err(Error::unavailable("the server is ending and starts nothing any more"));
        }
        let seq = state.next;
        let owned = state.owners.entry(owner.name().clone()).or_default();
        let limit = self.limits.running_per_owner;
        if owned.starting + owned.commands.len() + owned.running.len() >= limit {
            return Err(Error::limit_exceeded(format!(
                "the limit of {limit} running sessions and commands is reached (running_per_owner): stop one with \
                 session_stop first; session_list shows them"
            )));
        }
        owned.starting += 1;
        state.next += 1;
        Ok(Slot { table: self.clone(), owner: owner.name().clone(), seq, filled: false })
    }

    /// The owner's session of this id.
    pub(super) fn find(&self, owner: &Owner, id: SessionId) -> Option<Arc<Record>> {
        let state = self.lock();
        let owned = state.owners.get(owner.name())?;
        let seq = owned.by_id.get(&id)?;
        owned.running.get(seq).or_else(|| owned.finished.get(seq).map(|finished| &finished.record)).cloned()
    }

    /// At most `limit` of the owner's sessions from a position on, each with the position behind it.
    pub(super) fn page(&self, owner: &Owner, from: Option<Position>, limit: usize) -> Vec<(Position, Arc<Record>)> {
        let state = self.lock();
        let Some(owned) = state.owners.get(owner.name()) else { return Vec::new() };
        let (running_before, finished_before) = match from {
            None => (Seq::MAX, Seq::MAX),
            Some(Position::Running(seq)) => (seq, Seq::MAX),
            Some(Position::Finished(seq)) => (0, seq),
        };
        let running = owned.running.range(..running_before).rev();
        let finished = owned.finished.range(..finished_before).rev();
        running
            .map(|(seq, record)| (Position::Running(*seq), record.clone()))
            .chain(finished.map(|(seq, finished)| (Position::Finished(*seq), finished.record.clone())))
            .take(limit)
            .collect()
    }

    /// A session has ended; its slot is free from here on.
    pub(super) fn session_ended(&self, owner: &Arc<str>, seq: Seq, kept: usize) {
        let mut gone = Vec::new();
        let mut state = self.lock();
        let Some(owned) = state.owners.get_mut(owner) else { return };
        let Some(record) = owned.running.remove(&seq) else { return };
        record.note_end(SystemTime::now());
        owned.finished.insert(seq, Finished { record, kept });
        owned.ended.push_back((Instant::now(), seq));
        owned.kept += kept;
        while owned.finished.len() > self.limits.finished_per_owner || owned.kept > self.limits.finished_bytes_per_owner
        {
            match owned.forget_oldest() {
                Some(record) => gone.push(record),
                None => break,
            }
        }
        drop(state);
        self.expiry.send_replace(());
    }

    /// A command has ended; its slot is free from here on.
    pub(super) fn command_ended(&self, owner: &Arc<str>, seq: Seq) {
        let mut state = self.lock();
        let run = state.owners.get_mut(owner).and_then(|owned| owned.commands.remove(&seq));
        state.tidy(owner);
        drop(state);
        drop(run);
    }

    /// Everything that runs, of all owners, and no start from here on.
    pub(super) fn close(&self) -> Vec<Arc<Run>> {
        let mut state = self.lock();
        state.closed = true;
        let owners = state.owners.values();
        owners
            .flat_map(|owned| {
                owned.running.values().map(|record| record.run.clone()).chain(owned.commands.values().cloned())
            })
            .collect()
    }

    /// Forgets what has been finished for long enough. Returns when to look again.
    fn expire(&self, now: Instant) -> Option<Instant> {
        let mut gone = Vec::new();
        let mut state = self.lock();
        let mut next: Option<Instant> = None;
        for owned in state.owners.values_mut() {
            while let Some((ended, _)) = owned.ended.front() {
                let expiry = after(*ended, self.limits.finished_ttl);
                if expiry > now {
                    next = Some(next.map_or(expiry, |next| next.min(expiry)));
                    break;
                }
                gone.extend(owned.forget_oldest());
            }
        }
        state.owners.retain(|_, owned| !owned.is_empty());
        drop(state);
        drop(gone);
        next
    }

    /// Forgets finished records as their time comes, until it is dropped.
    pub(super) async fn keep_expiring(self: Arc<Self>) {
        let mut changed = self.expiry.subscribe();
        loop {
            changed.borrow_and_update();
            let next = self.expire(Instant::now());
            let time = async {
                match next {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = time => {}
                _ = changed.changed(), if next.is_none() => {}
            }
        }
    }
}

impl State {
    fn tidy(&mut self, owner: &Arc<str>) {
        if self.owners.get(owner).is_some_and(Owned::is_empty) {
            self.owners.remove(owner);
        }
    }
}

impl Owned {
    fn is_empty(&self) -> bool {
        self.starting == 0 && self.commands.is_empty() && self.running.is_empty() && self.finished.is_empty()
    }

    /// Forgets the record that ended first.
    fn forget_oldest(&mut self) -> Option<Arc<Record>> {
        let (_, seq) = self.ended.pop_front()?;
        let finished = self.finished.remove(&seq)?;
        self.kept -= finished.kept;
        self.by_id.remove(&finished.record.id);
        Some(finished.record)
    }
}

impl Slot {
    /// Whose place it is.
    pub(super) fn owner(&self) -> &Arc<str> {
        &self.owner
    }

    /// The session has started and takes the place.
    pub(super) fn fill_with_session(self, record: Arc<Record>) -> Welcome {
        let seq = self.seq;
        self.fill(|owned| {
            owned.by_id.insert(record.id, seq);
            owned.running.insert(seq, record);
        })
    }

    /// The command has started and takes the place.
    pub(super) fn fill_with_command(self, run: Arc<Run>) -> Welcome {
        let seq = self.seq;
        self.fill(|owned| {
            owned.commands.insert(seq, run);
        })
    }

    /// From starting to running in one step, so that nothing counts twice or not at all.
    fn fill(mut self, put: impl FnOnce(&mut Owned)) -> Welcome {
        self.filled = true;
        let mut state = self.table.lock();
        let owned = state.owners.entry(self.owner.clone()).or_default();
        owned.starting -= 1;
        put(owned);
        if state.closed { Welcome::Closed } else { Welcome::Stays }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if self.filled {
            return;
        }
        let mut state = self.table.lock();
        if let Some(owned) = state.owners.get_mut(&self.owner) {
            owned.starting -= 1;
        }
        state.tidy(&self.owner);
    }
}
