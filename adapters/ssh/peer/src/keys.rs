//! Keys and certificates, made by the real `ssh-keygen`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use crate::program;

/// A kind of key, as `ssh-keygen -t` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// Ed25519.
    Ed25519,
    /// RSA with 2048 bits: as large as today's servers ask for, and quickly made.
    Rsa,
    /// ECDSA on the curve P-256.
    Ecdsa,
}

impl KeyKind {
    fn args(self) -> [&'static str; 4] {
        match self {
            Self::Ed25519 => ["-t", "ed25519", "-b", "256"],
            Self::Rsa => ["-t", "rsa", "-b", "2048"],
            Self::Ecdsa => ["-t", "ecdsa", "-b", "256"],
        }
    }

    /// The kind of a public key by its line.
    pub(crate) fn of_line(line: &str) -> Result<Self> {
        match line.split(' ').next() {
            Some("ssh-ed25519") => Ok(Self::Ed25519),
            Some("ssh-rsa") => Ok(Self::Rsa),
            Some("ecdsa-sha2-nistp256") => Ok(Self::Ecdsa),
            other => bail!("no key is made here of the type {other:?}"),
        }
    }
}

/// When a certificate is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validity {
    /// For ever.
    Always,
    /// Until yesterday.
    Expired,
    /// From tomorrow on.
    NotYet,
}

impl Validity {
    /// As `ssh-keygen -V` takes it.
    fn interval(self) -> &'static str {
        match self {
            Self::Always => "always:forever",
            Self::Expired => "-2d:-1d",
            Self::NotYet => "+1d:+2d",
        }
    }
}

/// A key in two files, the public half beside the private one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    path: PathBuf,
}

impl Key {
    /// A key whose private half is in a file and whose public half is beside it, in `FILE.pub`.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// The private half.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The public half.
    pub fn public_path(&self) -> PathBuf {
        self.beside(".pub")
    }

    /// The certificate that was signed last for this key, whether there is one or not.
    pub fn certificate_path(&self) -> PathBuf {
        self.beside("-cert.pub")
    }

    fn beside(&self, suffix: &str) -> PathBuf {
        let mut path = self.path.clone().into_os_string();
        path.push(suffix);
        path.into()
    }

    /// The public half in a line: type, base64 and comment.
    ///
    /// # Errors
    /// The file is gone.
    pub fn public_line(&self) -> Result<String> {
        let path = self.public_path();
        let line = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        Ok(line.trim_end().to_owned())
    }

    /// The fingerprint as OpenSSH prints it: `SHA256:` and base64.
    ///
    /// # Errors
    /// `ssh-keygen` is missing or fails.
    pub fn fingerprint(&self) -> Result<String> {
        let path = self.public_path();
        let line = program::run("ssh-keygen", "openssh-client", ["-l".as_ref(), "-f".as_ref(), path.as_os_str()])?;
        let fingerprint = line.split(' ').nth(1).with_context(|| format!("ssh-keygen printed {line:?}"))?;
        Ok(fingerprint.to_owned())
    }

    /// Signs another's public half as a user's key, which makes its certificate.
    ///
    /// # Errors
    /// `ssh-keygen` is missing or fails.
    pub fn certify_user(&self, key: &Self, principals: &[&str], validity: Validity) -> Result<PathBuf> {
        self.certify(key, &[], principals, validity)
    }

    /// Signs another's public half as a host's key, which makes its certificate.
    ///
    /// # Errors
    /// `ssh-keygen` is missing or fails.
    pub fn certify_host(&self, key: &Self, principals: &[&str], validity: Validity) -> Result<PathBuf> {
        self.certify(key, &["-h"], principals, validity)
    }

    fn certify(&self, key: &Self, kind: &[&str], principals: &[&str], validity: Validity) -> Result<PathBuf> {
        let (authority, public) = (self.path.to_string_lossy(), key.public_path());
        let mut args = vec!["-q", "-s", &authority, "-I", "made for a test", "-V", validity.interval()];
        args.extend(kind);
        let principals = principals.join(",");
        if !principals.is_empty() {
            args.extend(["-n", &principals]);
        }
        let public = public.to_string_lossy();
        args.push(&public);
        program::run("ssh-keygen", "openssh-client", args)?;
        Ok(key.certificate_path())
    }
}

/// A directory of keys, gone with the value.
#[derive(Debug)]
pub struct Keys {
    dir: TempDir,
}

impl Keys {
    /// An empty directory that only this user can look into.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn new() -> Result<Self> {
        let dir = tempfile::Builder::new().prefix("sessiond-keys-").tempdir().context("making a directory for keys")?;
        Ok(Self { dir })
    }

    /// Where the keys are.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// An Ed25519 key without a passphrase, in a file of this name.
    ///
    /// # Errors
    /// `ssh-keygen` is missing or fails.
    pub fn ed25519(&self, name: &str) -> Result<Key> {
        self.make(name, KeyKind::Ed25519, "")
    }

    /// A key in a file of this name, encrypted unless the passphrase is empty.
    ///
    /// # Errors
    /// `ssh-keygen` is missing or fails.
    pub fn make(&self, name: &str, kind: KeyKind, passphrase: &str) -> Result<Key> {
        make(self.dir.path().join(name), kind, passphrase)
    }
}

/// Makes a key.
pub(crate) fn make(path: PathBuf, kind: KeyKind, passphrase: &str) -> Result<Key> {
    let file = path.to_string_lossy();
    let comment = path.file_name().unwrap_or_default().to_string_lossy();
    // OpenSSH's default of 16 rounds of its key derivation takes a good part of a second; one proves as much.
    let tail = ["-a", "1", "-N", passphrase, "-C", &comment, "-f", &file];
    program::run("ssh-keygen", "openssh-client", ["-q"].iter().chain(&kind.args()).chain(&tail))?;
    Ok(Key::at(path))
}
