//! Writing a new host's key down, as OpenSSH does it under `accept-new`.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use russh::keys::PublicKey;
use sessiond_core::{Error, Result};

use super::{HostNames, KnownHosts, Verdict, pattern};

/// One writer at a time in this process; other processes are kept away by a lock on the file.
static WRITER: Mutex<()> = Mutex::new(());

/// Appends a host's first key to a file, and returns what the file says of it then: [`Verdict::Known`], unless
/// somebody else has written down another key of the host meanwhile.
///
/// The name is hashed when `hash` says so or when the file's other names are.
///
/// # Errors
/// `permission_denied` or `unavailable` when the file cannot be written: a key that cannot be remembered is not
/// accepted.
pub(super) fn learn(file: &Path, names: &HostNames, key: &PublicKey, hash: bool) -> Result<Verdict> {
    let _writer = WRITER.lock().unwrap_or_else(PoisonError::into_inner);
    write(file, names, key, hash).map_err(|error| {
        let message = format!("the host key cannot be remembered in {}: {error}; make it writable", file.display());
        match error.kind() {
            io::ErrorKind::PermissionDenied => Error::permission_denied(message),
            _ => Error::unavailable(message),
        }
    })
}

fn write(path: &Path, names: &HostNames, key: &PublicKey, hash: bool) -> io::Result<Verdict> {
    if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    }
    let mut file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)?;
    lock(&file)?;
    let mut content = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.read_to_end(&mut content)?;
    let known = |content: &[u8]| {
        let mut known = KnownHosts { names: names.clone(), entries: Vec::new() };
        known.add_content(&Arc::from(path), content);
        known.check(key)
    };
    match known(&content) {
        Verdict::Unknown => {}
        other => return Ok(other),
    }
    let line = line(names, key, hash || is_hashed(&content))?;
    let start = if content.last().is_some_and(|last| *last != b'\n') { "\n" } else { "" };
    let addition = format!("{start}{line}\n");
    // One write to a file that only grows: readers see all of it or nothing.
    file.write_all(addition.as_bytes())?;
    content.extend_from_slice(addition.as_bytes());
    Ok(known(&content))
}

/// Keeps other processes of ours away. A file system without locks has appending writes at least.
fn lock(file: &File) -> io::Result<()> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(io::Error::other("another process is writing to it, try again")),
        Ok(()) | Err(TryLockError::Error(_)) => Ok(()),
    }
}

fn line(names: &HostNames, key: &PublicKey, hash: bool) -> io::Result<String> {
    let mut bare = key.clone();
    // What a comment says is the server's own word.
    bare.set_comment("");
    let key = bare.to_openssh().map_err(io::Error::other)?;
    let name = if hash { hashed(&names.full)? } else { names.full.clone() };
    Ok(format!("{name} {}", key.trim_end()))
}

fn hashed(name: &str) -> io::Result<String> {
    let mut salt = [0; 20];
    getrandom::fill(&mut salt).map_err(io::Error::other)?;
    pattern::hashed(&salt, name).ok_or_else(|| io::Error::other("its name cannot be hashed"))
}

/// Whether a file's names are hashed: its first host says it.
fn is_hashed(content: &[u8]) -> bool {
    let text = String::from_utf8_lossy(content);
    text.lines().find_map(super::Line::parse).is_some_and(|line| line.hosts.starts_with('|'))
}
