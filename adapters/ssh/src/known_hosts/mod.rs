//! Which keys a host may have: the known_hosts files of OpenSSH (sshd(8), "SSH_KNOWN_HOSTS FILE FORMAT").
//!
//! 1. `line` takes a line apart, `pattern` says whether it speaks of a host.
//! 2. [`KnownHosts`] keeps what all files say of one host and judges a key or a certificate: a [`Verdict`].
//! 3. `verify` makes of a verdict what a connection needs: a key that is trusted, with its reason, or an error that
//!    says what to do. A key that is new is learnt where the host's policy allows it (`learn`).
//!
//! Everything fails closed. What cannot be read is an error; what cannot be understood vouches for nobody.

mod certificate;
mod learn;
mod line;
mod pattern;
mod verify;

use std::fmt;
use std::io::ErrorKind;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use russh::keys::{Algorithm, Certificate, PublicKey};
use sessiond_core::{Error, Result};

use crate::route::Route;
use line::{Key, Line, Marker};

pub(crate) use verify::{HostKeys, Trusted};

/// The names under which a host's key may stand in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostNames {
    /// Its name alone, in lower case: what a certificate must name.
    bare: String,
    /// The name with its port: `[host]:port`, or the name alone on port 22 and for an alias.
    full: String,
    /// Its address in the same form, where that is to be checked too.
    address: Option<String>,
}

impl HostNames {
    /// The names of a host at the end of a route. `address` is where it was dialled, if that is known: it counts
    /// where the route says so (`CheckHostIP`).
    pub(crate) fn of(route: &Route, address: Option<IpAddr>) -> Self {
        let Some(alias) = &route.key_alias else {
            let bare = route.host.to_lowercase();
            let full = with_port(&bare, route.port);
            let address = address.filter(|_| route.check_address).map(|ip| with_port(&ip.to_string(), route.port));
            return Self { address: address.filter(|address| *address != full), bare, full };
        };
        // An alias names the key, wherever it is met: neither port nor address belongs to it.
        let bare = alias.to_lowercase();
        Self { full: bare.clone(), bare, address: None }
    }

    /// The name by which tools and files know the host's key: what `ssh-keygen -R` takes.
    pub(crate) fn full(&self) -> &str {
        &self.full
    }
}

/// How OpenSSH writes a host and its port.
fn with_port(host: &str, port: u16) -> String {
    if port == 22 { host.to_owned() } else { format!("[{host}]:{port}") }
}

/// A line of a file, as messages name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The file.
    pub(crate) file: Arc<Path>,
    /// The line, from 1.
    pub(crate) line: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file.display(), self.line)
    }
}

/// A key that a file knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KnownKey {
    /// The name of its type: `ssh-ed25519` and the like.
    pub(crate) kind: String,
    /// `SHA256:` and the digest in base 64 without padding.
    pub(crate) fingerprint: String,
    /// Where it stands.
    pub(crate) place: Place,
}

/// What the files say of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// This is the host's key.
    Known(Place),
    /// The host has these keys, and this is none of them. They may all be of another type: whoever intercepts a
    /// connection can choose the type of the key that he shows, so that makes no difference.
    Changed(Vec<KnownKey>),
    /// Nothing is known of the host.
    Unknown,
    /// The key, or the authority that vouches for it, must not be used.
    Revoked(Place),
}

/// What the files say of a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CertificateVerdict {
    /// An authority that the files trust for this host vouches for it.
    Trusted(Place),
    /// The key, or the authority that vouches for it, must not be used.
    Revoked(Place),
    /// It vouches for nothing; the key in it is still judged as any other. With the reason.
    Worthless(String),
}

/// How a binary list of revoked keys begins (OpenSSH's `PROTOCOL.krl`).
const REVOCATION_LIST: &[u8] = b"SSHKRL\n\0";

/// What all files say of one host.
#[derive(Clone, Debug)]
pub(crate) struct KnownHosts {
    names: HostNames,
    entries: Vec<Entry>,
}

/// A line that speaks of the host.
#[derive(Clone, Debug)]
struct Entry {
    subject: Subject,
    marker: Marker,
    key: Key,
    place: Place,
}

/// By which of its names a line speaks of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
struct Subject {
    full: bool,
    bare: bool,
    address: bool,
}

impl KnownHosts {
    /// Reads what the files say of a host; one that is not there says nothing. `revoked` is a list of keys that must
    /// not be used, which has to be there.
    ///
    /// # Errors
    /// `permission_denied` or `unavailable` when a file is there and cannot be read: it might revoke a key.
    pub(crate) fn read(files: &[PathBuf], revoked: Option<&Path>, names: HostNames) -> Result<Self> {
        let mut known = Self { names, entries: Vec::new() };
        for file in files {
            known.add(file)?;
        }
        if let Some(file) = revoked {
            known.add_revoked(file)?;
        }
        Ok(known)
    }

    fn add_revoked(&mut self, path: &Path) -> Result<()> {
        let content = std::fs::read(path).map_err(|error| unreadable(path, &error))?;
        if content.starts_with(REVOCATION_LIST) {
            let file = path.display();
            return Err(Error::unsupported(format!(
                "{file} (RevokedHostKeys) is a binary revocation list, which is not understood: name a text file with \
                 one public key a line, or write the keys into a known_hosts file as @revoked"
            )));
        }
        let file: Arc<Path> = Arc::from(path);
        for (index, bytes) in content.split(|byte| *byte == b'\n').enumerate() {
            let text = String::from_utf8_lossy(bytes);
            let text = text.trim();
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            // It may revoke the very key that is shown.
            let key = Key::parse(text).ok_or_else(|| {
                Error::unsupported(format!(
                    "{} (RevokedHostKeys) has no public key in line {}: correct it, or make it a comment with #",
                    path.display(),
                    index + 1
                ))
            })?;
            let subject = Subject { full: true, ..Subject::default() };
            let place = Place { file: Arc::clone(&file), line: index + 1 };
            self.entries.push(Entry { subject, marker: Marker::Revoked, key, place });
        }
        Ok(())
    }

    fn add(&mut self, file: &Path) -> Result<()> {
        match std::fs::read(file) {
            Ok(content) => {
                self.add_content(&Arc::from(file), &content);
                Ok(())
            }
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(()),
            Err(error) => Err(unreadable(file, &error)),
        }
    }

    fn add_content(&mut self, file: &Arc<Path>, content: &[u8]) {
        for (index, bytes) in content.split(|byte| *byte == b'\n').enumerate() {
            let text = String::from_utf8_lossy(bytes);
            let Some(line) = Line::parse(&text) else { continue };
            let subject = self.subject(line.hosts);
            if subject == Subject::default() {
                continue;
            }
            // A line that names the host but holds no key vouches for nobody.
            let Some(key) = Key::parse(line.key) else { continue };
            let place = Place { file: Arc::clone(file), line: index + 1 };
            self.entries.push(Entry { subject, marker: line.marker, key, place });
        }
    }

    fn subject(&self, hosts: &str) -> Subject {
        let full = pattern::matches(hosts, &self.names.full);
        Subject {
            full,
            bare: if self.names.bare == self.names.full { full } else { pattern::matches(hosts, &self.names.bare) },
            address: self.names.address.as_deref().is_some_and(|address| pattern::matches(hosts, address)),
        }
    }

    /// The host that this is about.
    pub(crate) fn names(&self) -> &HostNames {
        &self.names
    }

    /// What the files say of a key.
    pub(crate) fn check(&self, key: &PublicKey) -> Verdict {
        let Ok(blob) = key.to_bytes() else { return Verdict::Unknown };
        if let Some(place) = self.revoked(&blob) {
            return Verdict::Revoked(place);
        }
        match self.look(&blob, |subject| subject.full) {
            Verdict::Known(place) => match self.look(&blob, |subject| subject.address) {
                changed @ Verdict::Changed(_) => changed,
                _ => Verdict::Known(place),
            },
            // As OpenSSH does: a key that is known for the host on no particular port is its key on any. Another key
            // there proves nothing, since each port has a server of its own.
            Verdict::Unknown => match self.look(&blob, |subject| subject.bare) {
                Verdict::Known(place) => Verdict::Known(place),
                _ => Verdict::Unknown,
            },
            other => other,
        }
    }

    /// What the files say of a certificate at a time, in seconds since 1970.
    pub(crate) fn check_certificate(&self, certificate: &Certificate, now: u64) -> CertificateVerdict {
        let key = PublicKey::from(certificate.public_key().clone());
        let authority = PublicKey::from(certificate.signature_key().clone());
        let (Ok(key), Ok(authority)) = (key.to_bytes(), authority.to_bytes()) else {
            return CertificateVerdict::Worthless("its keys cannot be read".to_owned());
        };
        if let Some(place) = self.revoked(&key).or_else(|| self.revoked(&authority)) {
            return CertificateVerdict::Revoked(place);
        }
        let trusted = |entry: &&Entry| entry.marker == Marker::Authority && entry.key.blob == authority;
        let Some(place) = self.entries.iter().filter(|entry| entry.subject.full || entry.subject.bare).find(trusted)
        else {
            let authority = fingerprint(&authority);
            return CertificateVerdict::Worthless(format!("no @cert-authority line has its authority {authority}"));
        };
        match certificate::flaw(certificate, &self.names.bare, now) {
            None => CertificateVerdict::Trusted(place.place.clone()),
            Some(flaw) => CertificateVerdict::Worthless(flaw),
        }
    }

    /// Whether an authority is trusted to vouch for the host.
    pub(crate) fn has_authority(&self) -> bool {
        self.entries.iter().any(|entry| entry.marker == Marker::Authority)
    }

    /// The algorithms in an order in which a host first shows a key that is known; otherwise as they stand.
    pub(crate) fn order(&self, algorithms: &[Algorithm]) -> Vec<Algorithm> {
        let own = |subject: Subject| subject.full;
        let bare = |subject: Subject| subject.bare;
        let known: Vec<&str> = if self.keys(own).next().is_some() { self.kinds(own) } else { self.kinds(bare) };
        let mut ordered = algorithms.to_vec();
        ordered.sort_by_key(|algorithm| !known.contains(&key_type(algorithm)));
        ordered
    }

    fn keys(&self, about: impl Fn(Subject) -> bool) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(move |entry| entry.marker == Marker::None && about(entry.subject))
    }

    fn kinds(&self, about: impl Fn(Subject) -> bool) -> Vec<&str> {
        self.keys(about).map(|entry| entry.key.kind.as_str()).collect()
    }

    fn revoked(&self, blob: &[u8]) -> Option<Place> {
        let found = self.entries.iter().find(|entry| entry.marker == Marker::Revoked && entry.key.blob == blob);
        found.map(|entry| entry.place.clone())
    }

    fn look(&self, blob: &[u8], about: impl Fn(Subject) -> bool) -> Verdict {
        let keys: Vec<&Entry> = self.keys(about).collect();
        if let Some(same) = keys.iter().find(|entry| entry.key.blob == blob) {
            return Verdict::Known(same.place.clone());
        }
        if keys.is_empty() { Verdict::Unknown } else { Verdict::Changed(keys.into_iter().map(Entry::known).collect()) }
    }
}

impl Entry {
    fn known(&self) -> KnownKey {
        KnownKey { kind: self.key.kind.clone(), fingerprint: fingerprint(&self.key.blob), place: self.place.clone() }
    }
}

/// The type of key that an algorithm signs with, as files name it: for RSA the hash makes no difference.
fn key_type(algorithm: &Algorithm) -> &str {
    match algorithm {
        Algorithm::Rsa { .. } => "ssh-rsa",
        other => other.as_str(),
    }
}

/// A key's fingerprint, as every tool of OpenSSH shows it.
fn fingerprint(blob: &[u8]) -> String {
    use sha2::{Digest, Sha256};

    format!("SHA256:{}", data_encoding::BASE64_NOPAD.encode(&Sha256::digest(blob)))
}

fn unreadable(file: &Path, error: &std::io::Error) -> Error {
    let file = file.display();
    let message = format!("{file} cannot be read ({error}), so no host key can be checked: repair its permissions");
    match error.kind() {
        ErrorKind::PermissionDenied => Error::permission_denied(message),
        _ => Error::unavailable(message),
    }
}

#[cfg(test)]
mod tests;
