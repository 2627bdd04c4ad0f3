//! How many wrong credentials an address may send: a key is too long to guess, but every guess costs work.
//!
//! Each address has a bucket of tries that fills up again with time; a wrong credential takes one. Who has shown a right
//! one from an address goes on being judged there when the bucket is empty, so that a stale client behind the same
//! proxy locks nobody out.

use std::collections::{HashMap, HashSet, VecDeque};
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::key::Digest;
use crate::network::subnet;

/// Wrong credentials that an address may send at once.
const TRIES: u32 = 20;

/// After which time it may send one more.
const REFILL: Duration = Duration::from_secs(6);

/// Addresses that are remembered. All beyond share one bucket: an attacker with many addresses limits newcomers, and the
/// memory stays what it is.
const ADDRESSES: usize = 16_384;

/// Right credentials that are remembered, over all addresses; the oldest go.
const WELCOME: usize = 4_096;

/// The limit.
#[derive(Default)]
pub(crate) struct Guesses(Mutex<State>);

#[derive(Default)]
struct State {
    buckets: HashMap<IpAddr, Bucket>,
    overflow: Bucket,
    welcome: HashSet<(IpAddr, Digest)>,
    /// The same, the oldest first.
    order: VecDeque<(IpAddr, Digest)>,
}

/// Tries that are spent, as of a moment.
#[derive(Clone, Copy, Default)]
struct Bucket {
    spent: u32,
    /// From when on the spent ones come back, one each [`REFILL`].
    since: Option<Instant>,
}

impl Bucket {
    fn refill(&mut self, now: Instant) {
        let Some(since) = self.since else { return };
        let back = now.saturating_duration_since(since).as_nanos() / REFILL.as_nanos();
        let back = u32::try_from(back).unwrap_or(u32::MAX).min(self.spent);
        self.spent -= back;
        self.since = (self.spent > 0).then(|| since + REFILL * back);
    }

    /// How long until one more try is there; `None` while there is one.
    fn wait(&mut self, now: Instant) -> Option<Duration> {
        self.refill(now);
        let since = self.since.filter(|_| self.spent >= TRIES)?;
        Some((since + REFILL).saturating_duration_since(now))
    }

    fn spend(&mut self, now: Instant) {
        self.refill(now);
        self.spent = (self.spent + 1).min(TRIES);
        self.since.get_or_insert(now);
    }
}

impl Guesses {
    /// Whether a credential from there is judged at all.
    ///
    /// # Errors
    /// How long to wait until it is.
    pub(crate) fn admit(&self, from: IpAddr, credential: &Digest) -> Result<(), Duration> {
        let (from, now) = (subnet(from), Instant::now());
        let mut state = self.state();
        let State { buckets, overflow, welcome, .. } = &mut *state;
        let is_full = buckets.len() >= ADDRESSES;
        let wait = match buckets.get_mut(&from) {
            Some(bucket) => bucket.wait(now),
            None if is_full => overflow.wait(now),
            None => None,
        };
        match wait {
            Some(wait) if !welcome.contains(&(from, *credential)) => Err(wait),
            _ => Ok(()),
        }
    }

    /// A wrong credential has come from there.
    pub(crate) fn wrong(&self, from: IpAddr) {
        let (from, now) = (subnet(from), Instant::now());
        let mut state = self.state();
        if !state.buckets.contains_key(&from) && state.buckets.len() >= ADDRESSES {
            state.buckets.retain(|_, bucket| {
                bucket.refill(now);
                bucket.spent > 0
            });
        }
        let full = state.buckets.len() >= ADDRESSES;
        match state.buckets.get_mut(&from) {
            Some(bucket) => bucket.spend(now),
            None if full => state.overflow.spend(now),
            None => state.buckets.entry(from).or_default().spend(now),
        }
    }

    /// A right one has come from there.
    pub(crate) fn right(&self, from: IpAddr, credential: &Digest) {
        let shown = (subnet(from), *credential);
        let mut state = self.state();
        if !state.welcome.insert(shown) {
            return;
        }
        state.order.push_back(shown);
        if state.order.len() > WELCOME
            && let Some(oldest) = state.order.pop_front()
        {
            state.welcome.remove(&oldest);
        }
    }

    /// A panic leaves nothing half done here.
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
