//! From what the files say to a host that is trusted, or to an error that says what to do.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use russh::keys::{Algorithm, PublicKey, PublicKeyOrCertificate};
use sessiond_core::{Error, Result, shown};

use super::{CertificateVerdict, HostNames, KnownHosts, KnownKey, Place, Verdict, fingerprint, learn};
use crate::config::HostKeyPolicy;
use crate::route::Route;

/// How many known keys a message lists. A host has one of each type; only a pattern of many hosts has more.
const LISTED: usize = 6;

/// A host's key that is trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trusted {
    /// The name of its type: `ssh-ed25519` and the like.
    pub(crate) kind: String,
    /// `SHA256:` and the digest in base 64 without padding.
    pub(crate) fingerprint: String,
    /// What vouches for it: the file and the line.
    pub(crate) verified_by: String,
}

/// What decides about the key that a host shows.
#[derive(Clone, Debug)]
pub(crate) struct HostKeys {
    /// The host as the caller names it.
    name: String,
    /// How the host would be dialled by hand.
    port: u16,
    known: KnownHosts,
    policy: HostKeyPolicy,
    learn_into: Option<PathBuf>,
    hash: bool,
}

impl HostKeys {
    /// Reads what is known of the host at the end of a route. `address` is where it was dialled, where that is known.
    ///
    /// It reads files, which are small.
    ///
    /// # Errors
    /// `permission_denied` or `unavailable` when a file is there and cannot be read.
    pub(crate) fn read(route: &Route, address: Option<IpAddr>) -> Result<Self> {
        Ok(Self {
            name: route.name.clone(),
            port: route.port,
            known: KnownHosts::read(&route.known_hosts, route.revoked_keys.as_deref(), HostNames::of(route, address))?,
            policy: route.policy,
            learn_into: route.learn_into.clone(),
            hash: route.hash_known_hosts,
        })
    }

    /// The algorithms in an order in which the host first shows a key that is known.
    pub(crate) fn order(&self, algorithms: &[Algorithm]) -> Vec<Algorithm> {
        self.known.order(algorithms)
    }

    /// Whether certificates are of any use: an authority is trusted to vouch for the host.
    pub(crate) fn has_authority(&self) -> bool {
        self.known.has_authority()
    }

    /// Decides about what the host shows. A new key is written down where the policy is to accept it.
    ///
    /// # Errors
    /// `permission_denied` when it is not to be trusted, with fingerprints and what to do; `unavailable` when a new
    /// key cannot be written down.
    pub(crate) fn verify(&self, shown: &PublicKeyOrCertificate) -> Result<Trusted> {
        match shown.certificate() {
            None => self.verify_key(&shown.public_key(), None),
            Some(certificate) => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
                let key = shown.public_key();
                match self.known.check_certificate(certificate, now) {
                    CertificateVerdict::Trusted(place) => Ok(trusted(&key, format!("certificate authority {place}"))),
                    CertificateVerdict::Revoked(place) => Err(self.revoked(&key, &place)),
                    // As OpenSSH does: the key in it may be known by itself.
                    CertificateVerdict::Worthless(flaw) => self.verify_key(&key, Some(&flaw)),
                }
            }
        }
    }

    fn verify_key(&self, key: &PublicKey, flaw: Option<&str>) -> Result<Trusted> {
        let verdict = match (self.known.check(key), self.policy) {
            (Verdict::Unknown, HostKeyPolicy::AcceptNew) => match &self.learn_into {
                Some(file) => learn::learn(file, self.known.names(), key, self.hash)?,
                None => return Ok(trusted(key, "nothing: a new key, and no file to keep it in".to_owned())),
            },
            (verdict, _) => verdict,
        };
        match verdict {
            Verdict::Known(place) => Ok(trusted(key, place.to_string())),
            Verdict::Changed(known) => Err(self.changed(key, &known)),
            Verdict::Revoked(place) => Err(self.revoked(key, &place)),
            Verdict::Unknown => Err(self.unknown(key, flaw)),
        }
    }

    fn changed(&self, key: &PublicKey, known: &[KnownKey]) -> Error {
        let listed: Vec<String> =
            known.iter().take(LISTED).map(|key| format!("{} {} ({})", key.kind, key.fingerprint, key.place)).collect();
        let (name, shows, listed) = (shown(&self.name), describe(key), listed.join(", "));
        let subject = self.known.names().full();
        let file = known.first().map(|key| key.place.file.display().to_string()).unwrap_or_default();
        let same_type = known.iter().any(|known| known.kind == kind(key));
        Error::permission_denied(if same_type {
            format!(
                "the host key of {name} has changed: it shows {shows}, known is {listed}; somebody may be intercepting \
                 the connection, so ask whoever runs the host, and if the change is theirs remove the old key with \
                 ssh-keygen -R '{subject}' -f '{file}'"
            )
        } else {
            format!(
                "{name} shows a host key of a type that is not known for it: it shows {shows}, known is {listed}; \
                 compare the fingerprint with the host's own, then add the key to {file} by hand under the name {subject}"
            )
        })
    }

    fn unknown(&self, key: &PublicKey, flaw: Option<&str>) -> Error {
        let (name, shows, subject) = (shown(&self.name), describe(key), self.known.names().full());
        let flaw = flaw.map(|flaw| format!(" (its certificate counts for nothing: {flaw})")).unwrap_or_default();
        let file = self.learn_into.as_ref().map(|file| format!(" to {}", file.display())).unwrap_or_default();
        let port = if self.port == 22 { String::new() } else { format!("-p {} ", self.port) };
        Error::permission_denied(format!(
            "the host key of {name} is not known: it shows {shows}{flaw}; compare the fingerprint with the host's own, \
             then connect once by hand (ssh {port}{name}), or add the key{file} under the name {subject}, or let new \
             keys be learnt with StrictHostKeyChecking accept-new for this host"
        ))
    }

    fn revoked(&self, key: &PublicKey, place: &Place) -> Error {
        Error::permission_denied(format!(
            "the host key of {} is revoked: it shows {}, and {place} forbids that key or its authority; the host needs \
             a new key before anybody may connect to it",
            shown(&self.name),
            describe(key)
        ))
    }
}

fn trusted(key: &PublicKey, verified_by: String) -> Trusted {
    Trusted { kind: kind(key), fingerprint: print(key), verified_by }
}

fn kind(key: &PublicKey) -> String {
    super::key_type(&key.algorithm()).to_owned()
}

fn print(key: &PublicKey) -> String {
    key.to_bytes().map(|blob| fingerprint(&blob)).unwrap_or_default()
}

fn describe(key: &PublicKey) -> String {
    format!("{} {}", kind(key), print(key))
}
