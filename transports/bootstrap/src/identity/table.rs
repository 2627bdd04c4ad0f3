//! The keys file in memory, and looking somebody up in it.

use std::sync::Arc;
use std::time::SystemTime;

use sessiond_core::Owner;
use subtle::{Choice, ConditionallySelectable};
use tokio_util::sync::CancellationToken;

use super::certificate::Certificate;
use super::key::Digest;
use super::role::Grant;
use super::token::Verified;
use super::{Denied, Identity, Kind};

/// Everybody of the keys file.
#[derive(Default)]
pub(super) struct Table {
    pub(super) keys: Vec<(Digest, Entry)>,
    pub(super) certificates: Vec<(Named, Entry)>,
    /// In the order of the file: the first one that a token has counts.
    pub(super) scopes: Vec<(String, Entry)>,
}

/// Which certificate is meant.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Named {
    /// The one with this subject.
    Subject(String),
    /// One with this alternative name.
    Alternative(String),
}

impl Named {
    fn is(&self, certificate: &Certificate) -> bool {
        match self {
            Self::Subject(subject) => certificate.subject() == subject,
            Self::Alternative(name) => certificate.names().contains(name),
        }
    }
}

/// Somebody, or those who have a scope.
pub(super) struct Entry {
    owner: Arc<str>,
    grant: Grant,
    expires: Option<SystemTime>,
    /// Fires when the entry is gone from the file or says something else.
    revoked: CancellationToken,
}

impl Entry {
    pub(super) fn new(owner: String, grant: Grant, expires: Option<SystemTime>) -> Self {
        Self { owner: owner.into(), grant, expires, revoked: CancellationToken::new() }
    }

    /// The identity of whoever the entry is about.
    ///
    /// # Errors
    /// [`Denied::Expired`].
    pub(super) fn identity(&self, kind: Kind) -> Result<Identity, Denied> {
        let owner = self.grant.owner(self.owner.clone());
        let (revoked, trust) = (self.revoked.clone(), CancellationToken::new());
        let identity = Identity { owner, kind, until: self.expires, revoked, trust };
        if identity.has_ended() { Err(Denied::Expired) } else { Ok(identity) }
    }

    /// The identity of somebody whose token has this scope.
    pub(super) fn identity_of(&self, token: Verified) -> Result<Identity, Denied> {
        let owner: Owner = self.grant.owner(token.owner.into());
        let until = self.expires.map_or(token.until, |expires| expires.min(token.until));
        let (revoked, trust) = (self.revoked.clone(), token.trust);
        let identity = Identity { owner, kind: Kind::Token, until: Some(until), revoked, trust };
        if identity.has_ended() { Err(Denied::Expired) } else { Ok(identity) }
    }

    fn says_the_same(&self, other: &Self) -> bool {
        self.owner == other.owner && self.grant == other.grant && self.expires == other.expires
    }
}

impl Table {
    /// Adds a key.
    ///
    /// # Errors
    /// Another entry has the same one.
    pub(super) fn add_key(&mut self, digest: Digest, entry: Entry) -> Result<(), String> {
        if self.keys.iter().any(|(known, _)| *known == digest) {
            return Err("has the key of another entry: `key new` makes one".to_owned());
        }
        self.keys.push((digest, entry));
        Ok(())
    }

    /// Adds a certificate.
    ///
    /// # Errors
    /// Another entry has the same one.
    pub(super) fn add_certificate(&mut self, named: Named, entry: Entry) -> Result<(), String> {
        if self.certificates.iter().any(|(known, _)| *known == named) {
            return Err("names the certificate of another entry".to_owned());
        }
        self.certificates.push((named, entry));
        Ok(())
    }

    /// Whose key has this hash. Every entry is compared, each in constant time, whether one has been found or not, so
    /// that the time tells neither whether there is such a key nor where it stands.
    pub(super) fn key(&self, digest: &Digest) -> Option<&Entry> {
        // Places are counted from 1; 0 is nowhere.
        let mut place = 0_u64;
        for (at, (known, _)) in (1_u64..).zip(&self.keys) {
            let same: Choice = known.same(digest);
            place.conditional_assign(&at, same);
        }
        let place = usize::try_from(place).ok()?.checked_sub(1)?;
        self.keys.get(place).map(|(_, entry)| entry)
    }

    /// Whose certificate this is.
    pub(super) fn certificate(&self, certificate: &Certificate) -> Option<&Entry> {
        self.certificates.iter().find(|(named, _)| named.is(certificate)).map(|(_, entry)| entry)
    }

    /// What the first scope of the file that is among these lets somebody do.
    pub(super) fn scope(&self, scopes: &[String]) -> Option<&Entry> {
        self.scopes.iter().find(|(scope, _)| scopes.contains(scope)).map(|(_, entry)| entry)
    }

    /// Takes the place of another table: an entry that says the same as before lives on, and all others of the old one
    /// end.
    pub(super) fn take_over(&mut self, old: &Self) {
        take_over(&mut self.keys, &old.keys, Finding::One);
        take_over(&mut self.certificates, &old.certificates, Finding::First);
        take_over(&mut self.scopes, &old.scopes, Finding::First);
    }
}

/// How somebody's entry is found.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Finding {
    /// There is one at most.
    One,
    /// It is the first of those that fit. Whoever it let in may fit one that has come to stand before it, which counts now.
    First,
}

fn take_over<K: PartialEq>(new: &mut [(K, Entry)], old: &[(K, Entry)], finding: Finding) {
    for (place, (key, before)) in old.iter().enumerate() {
        let stood_before = |other: &K| old.iter().take(place).any(|(known, _)| known == other);
        let at = new.iter().position(|(known, entry)| known == key && entry.says_the_same(before));
        let at = at.filter(|at| finding == Finding::One || new.iter().take(*at).all(|(other, _)| stood_before(other)));
        match at.and_then(|at| new.get_mut(at)) {
            Some((_, entry)) => entry.revoked = before.revoked.clone(),
            None => before.revoked.cancel(),
        }
    }
}
