//! What every owner has: running and finished records, in order, within bounds.
//!
//! An owner's records are found only through the owner, so nobody can reach another's (SR14).
//! The table's lock may be taken while a log's is held, never the other way round.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use tokio::time::Instant;

use super::handle::CommandRecord;
use super::limits::Limits;
use super::record::Record;
use super::run::Run;
use super::shelf::{Kept, Position, Seq, Shelf};
use crate::call::after;
use crate::error::{Error, Result};
use crate::id::{Handle, SessionId, TargetName};
use crate::owner::Owner;

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
    /// The next number; `None` before the first.
    next: Option<Seq>,
    owners: HashMap<Arc<str>, Owned>,
}

/// The records of one owner.
#[derive(Default)]
struct Owned {
    starting: usize,
    /// Commands that nobody can come back to.
    passing: HashMap<Seq, Arc<Run>>,
    sessions: Shelf<Record>,
    /// Commands under a handle, which is their number.
    commands: Shelf<CommandRecord>,
    /// The finished ones of both kinds in the order of ending.
    ended: VecDeque<(Instant, Seq)>,
    /// The bytes that the finished ones keep.
    kept: usize,
    by_id: HashMap<SessionId, Seq>,
}

/// A record that has been taken out, to be dropped when nothing is locked.
type Gone = Arc<dyn Kept>;

/// A place among an owner's running ones, given back when it is dropped unused.
pub(super) struct Slot {
    table: Arc<Table>,
    at: At,
    filled: bool,
}

/// Whose place it is, and which.
#[derive(Clone)]
pub(super) struct At {
    owner: Arc<str>,
    pub(super) seq: Seq,
}

/// Whether what has just started may stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Welcome {
    /// It may.
    Stays,
    /// The server is ending: it must be stopped.
    Closed,
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
        let seq = match state.next {
            Some(seq) => seq,
            None => first_seq()?,
        };
        let owned = state.owners.entry(owner.name().clone()).or_default();
        let limit = self.limits.running_per_owner;
        if owned.busy() >= limit {
            // Who has nothing under a handle may not even have the tools for it.
            let (stop, list) = match owned.commands.running().len() {
                0 => ("session_stop", "session_list shows them"),
                _ => ("session_stop or ssh_cmd_kill", "session_list and ssh_cmd_history show them"),
            };
            return Err(Error::limit_exceeded(format!(
                "the limit of {limit} running sessions and commands is reached (running_per_owner): stop one with \
                 {stop} first; {list}"
            )));
        }
        owned.starting += 1;
        state.next = Some(seq + 1);
        let at = At { owner: owner.name().clone(), seq };
        Ok(Slot { table: self.clone(), at, filled: false })
    }

    /// The owner's session of this id.
    pub(super) fn session(&self, owner: &Owner, id: SessionId) -> Option<Arc<Record>> {
        let state = self.lock();
        let owned = state.owners.get(owner.name())?;
        owned.sessions.get(*owned.by_id.get(&id)?).cloned()
    }

    /// The owner's command of this handle.
    pub(super) fn command(&self, owner: &Owner, handle: Handle) -> Option<Arc<CommandRecord>> {
        self.lock().owners.get(owner.name())?.commands.get(handle.0).cloned()
    }

    /// At most `limit` of the owner's sessions from a position on, each with the position behind it.
    pub(super) fn page(&self, owner: &Owner, from: Option<Position>, limit: usize) -> Vec<(Position, Arc<Record>)> {
        let state = self.lock();
        state.owners.get(owner.name()).map(|owned| owned.sessions.page(from, limit)).unwrap_or_default()
    }

    /// The owner's commands under a handle, in the order of starting.
    pub(super) fn commands(&self, owner: &Owner) -> Vec<Arc<CommandRecord>> {
        let state = self.lock();
        state.owners.get(owner.name()).map(|owned| owned.commands.in_order()).unwrap_or_default()
    }

    /// The first that was started of the owner's finished commands on a target.
    pub(super) fn first_finished(&self, owner: &Owner, target: &TargetName) -> Option<Arc<CommandRecord>> {
        let state = self.lock();
        let owned = state.owners.get(owner.name())?;
        owned.commands.finished().find(|record| record.run.target.name == *target).cloned()
    }

    /// Whatever the owner has running on a target.
    pub(super) fn running_on(&self, owner: &Owner, target: &TargetName) -> Vec<Arc<Run>> {
        let state = self.lock();
        let runs = state.owners.get(owner.name()).into_iter().flat_map(Owned::runs);
        runs.filter(|run| run.target.name == *target).cloned().collect()
    }

    /// Something has ended and keeps so many bytes of output; its slot is free from here on.
    pub(super) fn ended(&self, At { owner, seq }: &At, output: usize) {
        let seq = *seq;
        let mut gone = Vec::new();
        let mut state = self.lock();
        let Some(owned) = state.owners.get_mut(owner) else { return };
        if let Some(run) = owned.passing.remove(&seq) {
            state.tidy(owner);
            drop(state);
            drop(run);
            return;
        }
        let kept = owned.sessions.finish(seq, output).or_else(|| owned.commands.finish(seq, output));
        let Some(kept) = kept else { return };
        owned.ended.push_back((Instant::now(), seq));
        owned.kept += kept;
        while owned.ended.len() > self.limits.finished_per_owner || owned.kept > self.limits.finished_bytes_per_owner {
            match owned.forget_oldest() {
                Some(record) => gone.push(record),
                None => break,
            }
        }
        drop(state);
        self.expiry.send_replace(());
    }

    /// Forgets those of the owner's finished commands that are meant. Returns how many.
    pub(super) fn forget_commands(&self, owner: &Owner, meant: impl Fn(&CommandRecord) -> bool) -> usize {
        let mut state = self.lock();
        let Some(owned) = state.owners.get_mut(owner.name()) else { return 0 };
        let seqs = owned.commands.finished_that(meant);
        let gone: Vec<_> = seqs.into_iter().filter_map(|seq| owned.forget(seq)).collect();
        if !gone.is_empty() {
            let (sessions, commands) = (&owned.sessions, &owned.commands);
            owned.ended.retain(|(_, seq)| sessions.has_finished(*seq) || commands.has_finished(*seq));
        }
        state.tidy(owner.name());
        drop(state);
        gone.len()
    }

    /// Everything that runs, of all owners.
    pub(super) fn running(&self) -> Vec<Arc<Run>> {
        self.lock().owners.values().flat_map(Owned::runs).cloned().collect()
    }

    /// Everything that runs, of all owners, and no start from here on.
    pub(super) fn close(&self) -> Vec<Arc<Run>> {
        let mut state = self.lock();
        state.closed = true;
        state.owners.values().flat_map(Owned::runs).cloned().collect()
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

/// The number of the first record of this life: random, so that a handle of an earlier life meets nothing (CO32), and
/// small enough to be copied without a mistake and to grow for ever below 2^53.
fn first_seq() -> Result<Seq> {
    const BITS: u32 = 40;
    let random = getrandom::u64()
        .map_err(|error| Error::internal(format!("no randomness from the operating system: {error}")))?;
    Ok(1 + (random >> (u64::BITS - BITS)))
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
        self.starting == 0 && self.passing.is_empty() && self.sessions.is_empty() && self.commands.is_empty()
    }

    /// How many run or are about to.
    fn busy(&self) -> usize {
        self.starting + self.passing.len() + self.sessions.running().len() + self.commands.running().len()
    }

    /// Everything that runs.
    fn runs(&self) -> impl Iterator<Item = &Arc<Run>> {
        let sessions = self.sessions.running().map(|record| record.run());
        let commands = self.commands.running().map(|record| record.run());
        sessions.chain(commands).chain(self.passing.values())
    }

    /// Forgets the record that ended first.
    fn forget_oldest(&mut self) -> Option<Gone> {
        let (_, seq) = self.ended.pop_front()?;
        self.forget(seq)
    }

    /// Forgets a finished record, which the caller takes from the order of ending.
    fn forget(&mut self, seq: Seq) -> Option<Gone> {
        let (gone, kept): (Gone, usize) = match self.sessions.forget(seq) {
            Some((record, kept)) => {
                self.by_id.remove(&record.id);
                (record, kept)
            }
            None => self.commands.forget(seq).map(|(record, kept)| (record as Gone, kept))?,
        };
        self.kept -= kept;
        Some(gone)
    }
}

impl Slot {
    /// Which place it is.
    pub(super) fn at(&self) -> At {
        self.at.clone()
    }

    /// The session has started and takes the place.
    pub(super) fn fill_with_session(self, record: Arc<Record>) -> Welcome {
        let seq = self.at.seq;
        self.fill(|owned| {
            owned.by_id.insert(record.id, seq);
            owned.sessions.put(seq, record);
        })
    }

    /// The command under a handle has started and takes the place.
    pub(super) fn fill_with_command(self, record: Arc<CommandRecord>) -> Welcome {
        let seq = self.at.seq;
        self.fill(|owned| owned.commands.put(seq, record))
    }

    /// The command that nobody can come back to has started and takes the place.
    pub(super) fn fill_in_passing(self, run: Arc<Run>) -> Welcome {
        let seq = self.at.seq;
        self.fill(|owned| {
            owned.passing.insert(seq, run);
        })
    }

    /// From starting to running in one step, so that nothing counts twice or not at all.
    fn fill(mut self, put: impl FnOnce(&mut Owned)) -> Welcome {
        self.filled = true;
        let mut state = self.table.lock();
        let owned = state.owners.entry(self.at.owner.clone()).or_default();
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
        if let Some(owned) = state.owners.get_mut(&self.at.owner) {
            owned.starting -= 1;
        }
        state.tidy(&self.at.owner);
    }
}
