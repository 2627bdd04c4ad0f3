//! Reading files that say who is let in, whom to trust, or that prove who we are: nobody else may have written them or
//! put others in their place, and nobody may have read those that are secret.

use std::fs::{File, Metadata, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use crate::problem::Problem;

/// Who may read a file, besides its owner.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Readers {
    /// Its group: that is how root hands a file to a server's account.
    Group,
    /// Everybody.
    All,
}

/// A secret file's text, at most `largest` bytes of it, when its owner is this server's user or root, nobody else may
/// write or replace it and nobody beyond its group may read it. `what` says what it is.
///
/// # Errors
/// It cannot be read, is no such file, or is no text. The message never quotes it.
pub(crate) fn text(path: &Path, what: &str, largest: u64) -> Result<String, Problem> {
    let bytes = read(path, what, largest, Readers::Group)?;
    String::from_utf8(bytes).map_err(|_| Problem::new(format!("{}: {what} is no text", path.display())))
}

/// A file that is no secret but is trusted, such as certificates of authorities: as for [`text`], but everybody may read
/// it.
///
/// # Errors
/// It cannot be read, or is no such file.
pub(crate) fn trusted(path: &Path, what: &str, largest: u64) -> Result<Vec<u8>, Problem> {
    read(path, what, largest, Readers::All)
}

fn read(path: &Path, what: &str, largest: u64, readers: Readers) -> Result<Vec<u8>, Problem> {
    let says = |why: String| Problem::new(format!("{}: {what} {why}", path.display()));
    let unreadable = |error: std::io::Error| says(format!("cannot be read: {}", error.to_string().to_lowercase()));
    // Without O_NONBLOCK a named pipe would be waited for.
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(nonblocking).open(path).map_err(unreadable)?;
    // What is looked at is what is read: the path may lead elsewhere by now.
    exposed(&file.metadata().map_err(unreadable)?, readers).map_or(Ok(()), |why| Err(says(why)))?;
    replaceable(path).map_err(unreadable)?.map_or(Ok(()), |why| Err(says(why)))?;
    whole(file, largest).map_err(unreadable)?.ok_or_else(|| says(format!("is larger than {largest} bytes")))
}

/// Why a file is not its owner's alone.
fn exposed(found: &Metadata, readers: Readers) -> Option<String> {
    if !found.is_file() {
        return Some("is no file".to_owned());
    }
    if !is_ours(found) {
        return Some(format!(
            "belongs to uid {}, who can change it: make it this server's own, or root's",
            found.uid()
        ));
    }
    let mode = found.mode() & 0o7777;
    match readers {
        Readers::Group if mode & 0o027 != 0 => {
            Some(format!("can be written or read by others (mode {mode:04o}): chmod 600 it, or 640"))
        }
        Readers::All if mode & 0o022 != 0 => Some(format!("can be written by others (mode {mode:04o}): chmod go-w it")),
        _ => None,
    }
}

/// Who could put another file in a file's place, such as an earlier version of it in which somebody is let in who is not
/// any more: whoever may write to a directory on the way to it, the ways through links included.
fn replaceable(path: &Path) -> std::io::Result<Option<String>> {
    let (written, real) = (std::path::absolute(path)?, path.canonicalize()?);
    for place in written.ancestors().chain(real.ancestors().skip(1)) {
        let found = place.symlink_metadata()?;
        // Of a sticky directory nobody can take what is another's (sticky(7)).
        let is_open = found.is_dir() && found.mode() & 0o022 != 0 && found.mode() & 0o1000 == 0;
        if is_open || !is_ours(&found) {
            return Ok(Some(format!(
                "can be replaced by others through {} (uid {}, mode {:04o}): chmod go-w that, and make it this server's \
                 own, or root's",
                place.display(),
                found.uid(),
                found.mode() & 0o7777
            )));
        }
    }
    Ok(None)
}

fn is_ours(found: &Metadata) -> bool {
    found.uid() == rustix::process::geteuid().as_raw() || found.uid() == 0
}

fn whole(file: File, largest: u64) -> std::io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    file.take(largest + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= largest).then_some(bytes))
}
