//! Secrets: where they come from, and a type that does not print them.

use std::fmt;
use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use sessiond_core::{Error, Result, TaskKind, Tasks};
use zeroize::{Zeroize, Zeroizing};

use crate::local::{self, Line};
use crate::surroundings::Surroundings;

/// A secret that neither prints nor stays in memory once it has been dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Keeps a secret.
    pub fn new(secret: String) -> Self {
        Self(Zeroizing::new(secret))
    }

    /// The secret itself, for whoever hands it to the one place that it is meant for.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// Where a secret is read from, each time it is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretSource {
    /// The first line of a file, which nobody but its owner may read or write, and whose owner is this server's user
    /// or root.
    File(PathBuf),
    /// A variable of the environment. Whoever reads the environment fills it in: the adapter never does.
    Environment {
        /// The variable's name, for messages.
        name: String,
        /// Its value; `None` where it is not set.
        value: Option<Secret>,
    },
    /// The first line that a command prints to standard output. It is run by `sh`, with nothing to read and 30 s of
    /// time. What it says on standard error is not shown: it may be the secret.
    Command(String),
}

/// A command that prints a secret.
const COMMAND: TaskKind = TaskKind("ssh secret command");
/// A file with a secret being read.
const FILE: TaskKind = TaskKind("ssh secret file");
/// How long a command may take: long enough to ask a vault over a network.
const COMMAND_LIMIT: Duration = Duration::from_secs(30);
/// Longer than any password or passphrase, in bytes.
const LONGEST: u64 = 64 * 1024;

impl SecretSource {
    /// Reads the secret. A command finds these surroundings.
    ///
    /// # Errors
    /// `failed_precondition` when there is none, `permission_denied` when others can read the file as well. The
    /// message names the source and never quotes it.
    pub async fn read(&self, surroundings: &Surroundings, tasks: &Tasks) -> Result<Secret> {
        match self {
            Self::File(path) => {
                let path = path.clone();
                local::blocking(tasks, FILE, move || from_file(&path)).await?
            }
            Self::Environment { name, value } => value
                .clone()
                .ok_or_else(|| Error::failed_precondition(format!("the variable {name} is not set: set it"))),
            Self::Command(line) => from_command(line, surroundings, tasks).await,
        }
    }
}

fn from_file(path: &Path) -> Result<Secret> {
    let shown = path.display();
    let unreadable =
        |error: std::io::Error| Error::failed_precondition(format!("the secret in {shown} cannot be read: {error}"));
    // Without O_NONBLOCK a named pipe would be waited for.
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(nonblocking).open(path).map_err(unreadable)?;
    let found = file.metadata().map_err(unreadable)?;
    if !found.is_file() {
        return Err(Error::failed_precondition(format!("{shown} is no file: name one with the secret in it")));
    }
    let own = rustix::process::geteuid().as_raw();
    if found.uid() != own && found.uid() != 0 {
        return Err(Error::permission_denied(format!(
            "{shown} belongs to another user, who can change the secret in it: make it this server's own"
        )));
    }
    if found.mode() & 0o077 != 0 {
        return Err(Error::permission_denied(format!(
            "others than its owner have access to {shown} (mode {:04o}): chmod 600 it",
            found.mode() & 0o7777
        )));
    }
    let mut bytes = Zeroizing::new(Vec::with_capacity(256));
    file.take(LONGEST).read_to_end(&mut bytes).map_err(unreadable)?;
    first_line(&bytes, &shown)
}

async fn from_command(text: &str, surroundings: &Surroundings, tasks: &Tasks) -> Result<Secret> {
    let what = "the secret's command";
    let line = Line { shell: "/bin/sh".as_ref(), text, surroundings };
    let printed = local::output(line, LONGEST, COMMAND_LIMIT, COMMAND, tasks).await;
    let printed = printed.map_err(|error| Error::failed_precondition(format!("{what} {error}")))?;
    first_line(&printed, &what)
}

/// The first line, without its end.
fn first_line(bytes: &[u8], whence: &dyn fmt::Display) -> Result<Secret> {
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    match String::from_utf8(line.to_vec()) {
        Ok(text) if !text.is_empty() => Ok(Secret::new(text)),
        Ok(_) => Err(Error::failed_precondition(format!("{whence} has an empty first line: the secret stands there"))),
        Err(wrong) => {
            wrong.into_bytes().zeroize();
            Err(Error::failed_precondition(format!("{whence} has a first line that is not UTF-8")))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn file(content: &[u8], mode: u32) -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("secret");
        std::fs::write(&path, content).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        (directory, path)
    }

    #[test]
    fn the_secret_of_a_file_is_its_first_line() {
        for content in [&b"s3cret"[..], b"s3cret\n", b"s3cret\r\n", b"s3cret\nand more\n"] {
            let (_kept, path) = file(content, 0o600);
            assert_eq!(from_file(&path), Ok(Secret::new("s3cret".into())));
        }
        let (_kept, path) = file(b" with blanks \n", 0o400);
        assert_eq!(from_file(&path), Ok(Secret::new(" with blanks ".into())));
    }

    #[test]
    fn a_file_that_others_can_read_is_refused() {
        for mode in [0o640, 0o604, 0o620, 0o601] {
            let (_kept, path) = file(b"s3cret\n", mode);
            let refused = from_file(&path).unwrap_err();
            let shown = path.display();
            assert_eq!(
                refused,
                Error::permission_denied(format!(
                    "others than its owner have access to {shown} (mode {mode:04o}): chmod 600 it"
                ))
            );
        }
    }

    #[test]
    fn what_is_no_secret_says_so_without_quoting_it() {
        let (_kept, path) = file(b"\nlater", 0o600);
        let shown = path.display();
        let message = |path: &Path| from_file(path).unwrap_err().message().to_owned();
        assert_eq!(message(&path), format!("{shown} has an empty first line: the secret stands there"));
        let (_kept, path) = file(b"s3cret\xff\n", 0o600);
        let shown = path.display();
        assert_eq!(message(&path), format!("{shown} has a first line that is not UTF-8"));
        let (kept, path) = file(b"", 0o600);
        std::fs::remove_file(&path).unwrap();
        assert!(message(&path).starts_with(&format!("the secret in {} cannot be read: ", path.display())));
        let shown = kept.path().display();
        assert_eq!(message(kept.path()), format!("{shown} is no file: name one with the secret in it"));
    }

    #[test]
    fn a_secret_does_not_print() {
        let source = SecretSource::Environment { name: "PASS".into(), value: Some(Secret::new("s3cret".into())) };
        assert_eq!(format!("{source:?}"), "Environment { name: \"PASS\", value: Some(Secret) }");
    }

    #[tokio::test]
    async fn a_variable_gives_what_was_read_from_it() {
        let tasks = Tasks::new();
        let source = |value| SecretSource::Environment { name: "PASS".into(), value };
        assert_eq!(
            source(None).read(&Surroundings::default(), &tasks).await,
            Err(Error::failed_precondition("the variable PASS is not set: set it"))
        );
        let secret = Secret::new("s3cret".into());
        assert_eq!(source(Some(secret.clone())).read(&Surroundings::default(), &tasks).await, Ok(secret));
    }

    #[tokio::test]
    async fn the_secret_of_a_command_is_the_first_line_that_it_prints() {
        let tasks = Tasks::new();
        let surroundings = Surroundings::new(vec![("ONE".into(), "s3cret".into())]);
        let read = async |line: &str| SecretSource::Command(line.into()).read(&surroundings, &tasks).await;
        assert_eq!(read("echo $ONE; echo more").await, Ok(Secret::new("s3cret".into())));
        assert_eq!(
            read("echo s3cret; echo leaked >&2; exit 3").await,
            Err(Error::failed_precondition("the secret's command ended with exit status 3"))
        );
        assert_eq!(
            read("kill -KILL $$").await,
            Err(Error::failed_precondition("the secret's command was ended by signal 9"))
        );
        assert_eq!(
            read("cat; true").await,
            Err(Error::failed_precondition("the secret's command has an empty first line: the secret stands there"))
        );
        assert!(tasks.shutdown(Duration::from_secs(5)).await);
    }
}
