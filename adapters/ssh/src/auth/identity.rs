//! The keys that a route names: what their files hold, as far as that can be told without a passphrase.

use std::ffi::OsString;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use russh::keys::{self, Certificate, PrivateKey, PublicKey};
use zeroize::Zeroizing;

/// Longer than any key, in bytes.
const LONGEST: u64 = 256 * 1024;

/// A key that a route names.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    /// Its file.
    pub(crate) path: PathBuf,
    /// The public half.
    pub(crate) public: PublicKey,
    /// The private half.
    pub(crate) private: Private,
    /// Certificates of it, those of the route first.
    pub(crate) certificates: Vec<Certificate>,
}

/// What a file has of a private key.
#[derive(Clone, Debug)]
pub(crate) enum Private {
    /// Nothing: it is with the agent, or not here at all.
    Absent,
    /// The key under a passphrase: the file's text.
    Locked(Arc<Zeroizing<String>>),
    /// The key.
    Open(Arc<PrivateKey>),
}

/// What the files of a route hold.
#[derive(Clone, Debug, Default)]
pub(crate) struct Identities {
    /// The keys, in the route's order.
    pub(crate) keys: Vec<Identity>,
    /// Certificates of keys that no file holds; an agent may.
    pub(crate) spare: Vec<Certificate>,
    /// Why a file that is there is of no use.
    pub(crate) notes: Vec<String>,
}

impl Identities {
    /// Reads the files. A key's file that is not there says nothing: ssh(1) names files that may exist.
    pub(crate) fn read(keys: &[PathBuf], certificates: &[PathBuf]) -> Self {
        let mut all = Self::default();
        let named: Vec<Certificate> = certificates.iter().filter_map(|path| all.certificate(path, true)).collect();
        for path in keys {
            let Some((public, private)) = all.key(path) else { continue };
            let is_own = |certificate: &Certificate| certificate.public_key() == public.key_data();
            let mut own: Vec<Certificate> = named.iter().filter(|named| is_own(named)).cloned().collect();
            let beside = all.certificate(&beside(path, "-cert.pub"), false);
            own.extend(beside.filter(|beside| is_own(beside) && !own.contains(beside)));
            all.keys.push(Identity { path: path.clone(), public, private, certificates: own });
        }
        let has_key = |certificate: &Certificate| {
            all.keys.iter().any(|identity| identity.public.key_data() == certificate.public_key())
        };
        all.spare = named.into_iter().filter(|certificate| !has_key(certificate)).collect();
        all
    }

    fn key(&mut self, path: &Path) -> Option<(PublicKey, Private)> {
        match read_key(path) {
            Ok(found) => found,
            Err(note) => {
                self.notes.push(format!("{} {note}", path.display()));
                None
            }
        }
    }

    fn certificate(&mut self, path: &Path, is_named: bool) -> Option<Certificate> {
        let text = match read(path) {
            Ok((text, _)) => text,
            Err(error) if !is_named && error.kind() == ErrorKind::NotFound => return None,
            Err(error) => {
                self.notes.push(format!("{} cannot be read ({error})", path.display()));
                return None;
            }
        };
        match Certificate::from_openssh(text.trim()) {
            Ok(mut certificate) => {
                // It is no part of it, and an agent knows none.
                certificate.set_comment("");
                Some(certificate)
            }
            Err(_) => {
                self.notes.push(format!("{} holds no certificate", path.display()));
                None
            }
        }
    }
}

/// A key's file, else the file of its public half beside it; nothing where neither is there.
fn read_key(path: &Path) -> Result<Option<(PublicKey, Private)>, String> {
    let (text, found) = match read(path) {
        Ok(read) => read,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Ok(public_beside(path).map(|public| (public, Private::Absent)));
        }
        Err(error) => return Err(format!("cannot be read ({error})")),
    };
    // A public key in its own right selects a key of the agent.
    if let Ok(public) = PublicKey::from_openssh(text.trim()) {
        return Ok(Some((public, Private::Absent)));
    }
    // As ssh(1) has it: whoever is not the owner was given access on purpose.
    if found.uid() == rustix::process::getuid().as_raw() && found.mode() & 0o077 != 0 {
        let mode = found.mode() & 0o7777;
        return Err(format!("is not used, as others have access to it (mode {mode:04o}: chmod 600 it)"));
    }
    match keys::decode_secret_key(&text, None) {
        Ok(key) => Ok(Some((key.public_key().clone(), Private::Open(Arc::new(key))))),
        Err(error) => locked(path, text, &error).map(Some),
    }
}

/// A key under a passphrase, whose public half stands in the file or beside it.
fn locked(path: &Path, text: Zeroizing<String>, error: &keys::Error) -> Result<(PublicKey, Private), String> {
    let in_file = PrivateKey::from_openssh(text.as_bytes()).ok().filter(PrivateKey::is_encrypted);
    let is_encrypted = in_file.is_some() || text.contains("ENCRYPTED");
    let public = in_file.map(|key| key.public_key().clone()).or_else(|| public_beside(path));
    match public {
        Some(public) if is_encrypted => Ok((public, Private::Locked(Arc::new(text)))),
        _ if is_encrypted => {
            Err("is encrypted in a format that does not say which key it is (put its public key beside it, as .pub)"
                .to_owned())
        }
        _ => Err(format!("holds no key that can be used ({error})")),
    }
}

fn public_beside(path: &Path) -> Option<PublicKey> {
    let (text, _) = read(&beside(path, ".pub")).ok()?;
    PublicKey::from_openssh(text.trim()).ok()
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    name.into()
}

fn read(path: &Path) -> std::io::Result<(Zeroizing<String>, std::fs::Metadata)> {
    let file = File::open(path)?;
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(std::io::Error::other("it is no file"));
    }
    let mut text = Zeroizing::new(String::with_capacity(8 * 1024));
    file.take(LONGEST).read_to_string(&mut text)?;
    Ok((text, found))
}
