//! Reading files that say who is let in, or that prove who we are: nobody else may have written them or read them.

use std::fs::{File, Metadata, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use crate::problem::Problem;

/// A file's text, at most `largest` bytes of it, when its owner is this server's user or root, nobody else may write it
/// and nobody beyond its group may read it. `what` says what it is.
///
/// # Errors
/// It cannot be read, is no such file, or is no text. The message never quotes it.
pub(crate) fn text(path: &Path, what: &str, largest: u64) -> Result<String, Problem> {
    let says = |why: String| Problem::new(format!("{}: {what} {why}", path.display()));
    let unreadable = |error: std::io::Error| says(format!("cannot be read: {}", error.to_string().to_lowercase()));
    // Without O_NONBLOCK a named pipe would be waited for.
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(nonblocking).open(path).map_err(unreadable)?;
    // What is looked at is what is read: the path may lead elsewhere by now.
    exposed(&file.metadata().map_err(unreadable)?).map_or(Ok(()), |why| Err(says(why)))?;
    whole(file, largest).map_err(unreadable)?.ok_or_else(|| says(format!("is larger than {largest} bytes")))
}

/// Why a file is not its owner's alone.
fn exposed(found: &Metadata) -> Option<String> {
    let own = rustix::process::geteuid().as_raw();
    if !found.is_file() {
        return Some("is no file".to_owned());
    }
    if found.uid() != own && found.uid() != 0 {
        return Some(format!(
            "belongs to uid {}, who can change it: make it this server's own, or root's",
            found.uid()
        ));
    }
    // A group may read it: that is how root hands a file to a server's account.
    (found.mode() & 0o027 != 0)
        .then(|| format!("can be written or read by others (mode {:04o}): chmod 600 it, or 640", found.mode() & 0o7777))
}

fn whole(file: File, largest: u64) -> std::io::Result<Option<String>> {
    let mut text = String::new();
    file.take(largest + 1).read_to_string(&mut text)?;
    Ok((text.len() as u64 <= largest).then_some(text))
}
