//! How many wrong credentials an address may send: a key is too long to guess, but every guess costs work.
//!
//! Each address has a bucket of tries that fills up again with time; a wrong credential takes one. Who has shown a right
//! one from an address goes on being judged there when the bucket is empty, so that a stale client behind the same
//! proxy locks nobody out. What counts as an address is a network of IPv6, and the larger one that it is part of has a
//! bucket as well: whoever has many small ones gets no more out of it.

use std::collections::{HashMap, HashSet, VecDeque};
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::key::Digest;
use crate::network::{site, subnet};

/// Wrong credentials that an address may send at once.
const TRIES: u32 = 20;

/// After which time it may send one more.
const REFILL: Duration = Duration::from_secs(6);

/// Wrong credentials that a site may send at once: all the networks that one customer of a provider has.
const TRIES_OF_SITE: u32 = 20 * TRIES;

/// How often buckets that are full again are looked for, when there are as many as there may be.
const SWEEP: Duration = Duration::from_secs(1);

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
    /// Of IPv6 networks together, by the larger one that they are part of.
    sites: HashMap<IpAddr, Bucket>,
    overflow: Bucket,
    swept: Option<Instant>,
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
    fn refill(&mut self, refill: Duration, now: Instant) {
        let Some(since) = self.since else { return };
        let back = now.saturating_duration_since(since).as_nanos() / refill.as_nanos();
        let back = u32::try_from(back).unwrap_or(u32::MAX).min(self.spent);
        self.spent -= back;
        self.since = (self.spent > 0).then(|| since + refill * back);
    }

    /// How long until one more of so many tries is there; `None` while there is one.
    fn wait(&mut self, tries: u32, now: Instant) -> Option<Duration> {
        let refill = refill(tries);
        self.refill(refill, now);
        let since = self.since.filter(|_| self.spent >= tries)?;
        Some((since + refill).saturating_duration_since(now))
    }

    fn spend(&mut self, tries: u32, now: Instant) {
        self.refill(refill(tries), now);
        self.spent = (self.spent + 1).min(tries);
        self.since.get_or_insert(now);
    }
}

/// After which time one of so many tries comes back.
fn refill(tries: u32) -> Duration {
    REFILL * TRIES / tries
}

/// The buckets of one kind, as many as are remembered, and the one of all beyond.
fn wait(
    buckets: &mut HashMap<IpAddr, Bucket>,
    overflow: &mut Bucket,
    (from, tries): (IpAddr, u32),
    now: Instant,
) -> Option<Duration> {
    let is_full = buckets.len() >= ADDRESSES;
    match buckets.get_mut(&from) {
        Some(bucket) => bucket.wait(tries, now),
        None if is_full => overflow.wait(TRIES, now),
        None => None,
    }
}

fn spend(buckets: &mut HashMap<IpAddr, Bucket>, overflow: &mut Bucket, (from, tries): (IpAddr, u32), now: Instant) {
    let is_full = buckets.len() >= ADDRESSES;
    match buckets.get_mut(&from) {
        Some(bucket) => bucket.spend(tries, now),
        None if is_full => overflow.spend(TRIES, now),
        None => buckets.entry(from).or_default().spend(tries, now),
    }
}

impl State {
    /// Forgets the buckets that are full again, when there is no room for another one. It takes a while, so whoever sends
    /// wrong credentials from ever new addresses is not to have it done each time.
    fn sweep(&mut self, now: Instant) {
        let is_full = self.buckets.len() >= ADDRESSES || self.sites.len() >= ADDRESSES;
        if !is_full || self.swept.is_some_and(|swept| now < swept + SWEEP) {
            return;
        }
        self.swept = Some(now);
        for (buckets, tries) in [(&mut self.buckets, TRIES), (&mut self.sites, TRIES_OF_SITE)] {
            buckets.retain(|_, bucket| {
                bucket.refill(refill(tries), now);
                bucket.spent > 0
            });
        }
    }
}

impl Guesses {
    /// Whether a credential from there is judged at all.
    ///
    /// # Errors
    /// How long to wait until it is.
    pub(crate) fn admit(&self, from: IpAddr, credential: &Digest) -> Result<(), Duration> {
        let (site, from, now) = (site(from), subnet(from), Instant::now());
        let mut state = self.state();
        let State { buckets, sites, overflow, welcome, .. } = &mut *state;
        let of_site = site.and_then(|site| wait(sites, overflow, (site, TRIES_OF_SITE), now));
        match of_site.max(wait(buckets, overflow, (from, TRIES), now)) {
            Some(wait) if !welcome.contains(&(from, *credential)) => Err(wait),
            _ => Ok(()),
        }
    }

    /// A wrong credential has come from there.
    pub(crate) fn wrong(&self, from: IpAddr) {
        let (site, from, now) = (site(from), subnet(from), Instant::now());
        let mut state = self.state();
        state.sweep(now);
        let State { buckets, sites, overflow, .. } = &mut *state;
        if let Some(site) = site {
            spend(sites, overflow, (site, TRIES_OF_SITE), now);
        }
        spend(buckets, overflow, (from, TRIES), now);
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

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_million_addresses_take_no_more_room_than_there_is() {
        let (guesses, guess) = (Guesses::default(), Digest::of("x"));
        for number in 0..500_000_u32 {
            let v4 = IpAddr::V4(Ipv4Addr::from_bits(0x0b00_0000 + number));
            // Each a site of its own.
            let v6 = IpAddr::V6(Ipv6Addr::from_bits(0x2001_u128 << 112 | u128::from(number) << 80));
            for from in [v4, v6] {
                if guesses.admit(from, &guess).is_ok() {
                    guesses.wrong(from);
                }
            }
        }
        for number in 0..10_000_u32 {
            guesses.right(IpAddr::V4(Ipv4Addr::from_bits(number)), &Digest::of(&number.to_string()));
        }
        {
            let state = guesses.state();
            assert_eq!((state.buckets.len(), state.sites.len() <= ADDRESSES), (ADDRESSES, true));
            assert_eq!((state.welcome.len(), state.order.len()), (WELCOME, WELCOME));
        }

        // Time makes room again.
        tokio::time::advance(REFILL * TRIES).await;
        let newcomer = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
        assert_eq!(guesses.admit(newcomer, &guess), Ok(()));
        guesses.wrong(newcomer);
        let state = guesses.state();
        assert_eq!((state.buckets.len(), state.sites.len()), (1, 0));
    }
}
