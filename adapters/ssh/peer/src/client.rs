//! OpenSSH's client: a second opinion on a server, the baseline of benches, and configuration files for whoever reads
//! them.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use tempfile::TempDir;

use crate::program;
use crate::server::Server;

/// A client with a configuration and a known_hosts of its own, gone with the value.
#[derive(Debug)]
pub struct Client {
    dir: TempDir,
}

impl Client {
    /// A client that knows no host.
    ///
    /// # Errors
    /// Its directory cannot be made.
    pub fn new() -> Result<Self> {
        let dir =
            tempfile::Builder::new().prefix("sessiond-client-").tempdir().context("making a client's directory")?;
        let client = Self { dir };
        File::create(client.config_path())?;
        File::create(client.known_hosts_path())?;
        Ok(client)
    }

    /// Where the client's files are.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// The configuration: blocks as ssh_config(5) has them.
    pub fn config_path(&self) -> PathBuf {
        self.dir.path().join("config")
    }

    /// The keys of the hosts that are known.
    pub fn known_hosts_path(&self) -> PathBuf {
        self.dir.path().join("known_hosts")
    }

    /// Adds a `Host` block for a server, whose keys are known from then on. Further lines of the block, such as
    /// `IdentityFile PATH`, follow as they are. Hosts that nobody knows are refused.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn host(&self, alias: &str, server: &Server, user: &str, lines: &[&str]) -> Result<()> {
        let (address, known) = (server.address(), self.known_hosts_path());
        let mut block = format!(
            "Host {alias}\n  HostName {}\n  Port {}\n  User {user}\n  UserKnownHostsFile {}\n  \
             GlobalKnownHostsFile /dev/null\n  StrictHostKeyChecking yes\n  IdentitiesOnly yes\n",
            address.ip(),
            address.port(),
            known.display(),
        );
        for line in lines {
            block.push_str(&format!("  {line}\n"));
        }
        append(&self.config_path(), &block)?;
        append(&known, &server.known_hosts_lines()?)
    }

    /// An `ssh` with this configuration, which asks nobody anything.
    ///
    /// # Errors
    /// There is no `ssh`.
    pub fn ssh<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Result<Command> {
        let mut command = program::command(&program::find("ssh", "openssh-client")?);
        command.arg("-F").arg(self.config_path()).args(["-o", "BatchMode=yes"]).args(args).stdin(Stdio::null());
        Ok(command)
    }

    /// An `ssh` with this configuration, which gets this answer to whatever it asks.
    ///
    /// # Errors
    /// There is no `ssh`, or the answer cannot be kept.
    pub fn ssh_answering<S: AsRef<OsStr>>(&self, answer: &str, args: impl IntoIterator<Item = S>) -> Result<Answering> {
        let askpass = Askpass::new(answer)?;
        let mut command = program::command(&program::find("ssh", "openssh-client")?);
        command.arg("-F").arg(self.config_path()).args(args).stdin(Stdio::null());
        askpass.answer(&mut command);
        Ok(Answering { command, _askpass: askpass })
    }
}

/// A command whose questions are answered as long as this is kept.
#[derive(Debug)]
pub struct Answering {
    /// The command.
    pub command: Command,
    _askpass: Askpass,
}

fn append(path: &Path, text: &str) -> Result<()> {
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    file.write_all(text.as_bytes()).with_context(|| format!("writing {}", path.display()))
}

/// A program that answers the questions of `ssh` and `ssh-add`, as SSH_ASKPASS does.
#[derive(Debug)]
pub(crate) struct Askpass {
    dir: TempDir,
}

impl Askpass {
    pub(crate) fn new(answer: &str) -> Result<Self> {
        let dir = tempfile::Builder::new().prefix("sessiond-askpass-").tempdir()?;
        fs::write(dir.path().join("answer"), format!("{answer}\n"))?;
        let program = dir.path().join("askpass");
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o700).open(&program)?;
        file.write_all(b"#!/bin/sh\nexec cat \"${0%/*}/answer\"\n").context("writing an askpass program")?;
        Ok(Self { dir })
    }

    /// Has a command ask this program.
    pub(crate) fn answer(&self, command: &mut Command) {
        command.env("SSH_ASKPASS", self.dir.path().join("askpass")).env("SSH_ASKPASS_REQUIRE", "force");
    }
}
