//! A house: private namespaces in which a server runs, and which end with their owner.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tempfile::TempDir;

use crate::log::Log;
use crate::program;

const INIT: &str = include_str!("init.sh");

/// What a house is made of.
pub(crate) struct Plan<'a> {
    /// Shell text that prepares the namespaces, by the house's first process.
    pub(crate) setup: &'a str,
    /// Whether the house has a network of its own.
    pub(crate) network: bool,
    /// The server and its arguments.
    pub(crate) server: &'a [String],
}

/// The pipes to the first process. One order at a time.
#[derive(Debug)]
struct Orders {
    /// `None` once the house is being pulled down.
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

/// Namespaces with a first process, and what runs in them. Ends with the value, or with this process.
#[derive(Debug)]
pub(crate) struct House {
    /// `unshare`, which ends after the first process and everything else in the house.
    outside: Child,
    /// The first process, as this process sees it.
    first: Pid,
    handle: OwnedFd,
    network: bool,
    orders: Mutex<Orders>,
    log: Log,
    /// Last: nothing in the house needs it any more when it goes.
    state: TempDir,
}

/// A directory for what a house needs, only root's.
pub(crate) fn state() -> Result<TempDir> {
    tempfile::Builder::new().prefix("sessiond-peer-").tempdir().context("making a directory for a server")
}

impl House {
    /// Makes the namespaces and prepares them. The server is not started yet.
    ///
    /// # Errors
    /// This is not root, a program is missing, or the preparation failed: with what it said.
    pub(crate) fn build(state: TempDir, plan: &Plan<'_>) -> Result<Self> {
        if !rustix::process::geteuid().is_root() {
            bail!("a server for tests needs root, for its namespaces and accounts: run the tests as root");
        }
        let bash = program::find("bash", "bash")?;
        let mut command = program::command(&program::find("unshare", "util-linux")?);
        command.args(["--mount", "--propagation", "private", "--pid", "--fork", "--kill-child=KILL"]);
        if plan.network {
            command.arg("--net");
        }
        command.arg("--").arg(bash).args(["-c", INIT, "sessiond-ssh-peer", plan.setup]).args(plan.server);
        command.env("SESSIOND_PEER_STATE", state.path());
        let (mut outside, orders, log) = spawn(command)?;
        match first_process(&orders) {
            Ok((first, handle)) => Ok(Self { outside, first, handle, network: plan.network, orders, log, state }),
            Err(error) => {
                drop(orders);
                outside.wait().context("waiting for unshare")?;
                let mut log = log;
                log.join();
                Err(error.context(format!("preparing a house for a server: {}", log.text())))
            }
        }
    }

    /// Gives an order to the first process and waits until it is done.
    pub(crate) fn order(&self, word: &str) -> Result<()> {
        let mut orders = self.orders();
        let stdin = orders.stdin.as_mut().context("the house is being pulled down")?;
        stdin.write_all(format!("{word}\n").as_bytes()).context("giving an order to the house")?;
        match answer(&mut orders.stdout)?.split_once(' ') {
            Some(("done", done)) if done == word => Ok(()),
            other => bail!("the house answered {other:?} to {word:?}; its log:\n{}", self.log.text()),
        }
    }

    fn orders(&self) -> MutexGuard<'_, Orders> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn log(&self) -> &Log {
        &self.log
    }

    pub(crate) fn state(&self) -> &Path {
        self.state.path()
    }

    /// The network that the house is in.
    pub(crate) fn network(&self) -> Result<File> {
        let path = self.network_path();
        File::open(&path).with_context(|| format!("opening {}", path.display()))
    }

    /// The same, for programs that take a path.
    pub(crate) fn network_path(&self) -> PathBuf {
        format!("/proc/{}/ns/net", self.first).into()
    }

    pub(crate) fn has_own_network(&self) -> bool {
        self.network
    }

    /// A command that runs `sh -c script` in the house, as root.
    pub(crate) fn inside(&self, script: &str) -> Result<Command> {
        let mut command = program::command(&program::find("nsenter", "util-linux")?);
        command.arg("--target").arg(self.first.to_string()).args(["--mount", "--pid", "--net"]);
        command.args(["--", "sh", "-c", script]).stdin(Stdio::null());
        Ok(command)
    }
}

impl Drop for House {
    /// Ends everything in the house and waits until the kernel has.
    fn drop(&mut self) {
        self.orders().stdin = None;
        // The first process may have gone by itself since; nothing is lost by asking again.
        pidfd_send_signal(&self.handle, Signal::KILL).ok();
        drop(self.outside.wait());
        self.log.join();
    }
}

fn spawn(mut command: Command) -> Result<(Child, Mutex<Orders>, Log)> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("starting unshare")?;
    let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (Some(stdin), Some(stdout), Some(stderr)) = pipes else { bail!("unshare was started without its pipes") };
    let orders = Orders { stdin: Some(stdin), stdout: BufReader::new(stdout) };
    Ok((child, Mutex::new(orders), Log::of(stderr)))
}

/// Waits until the house is prepared.
fn first_process(orders: &Mutex<Orders>) -> Result<(Pid, OwnedFd)> {
    let mut orders = orders.lock().unwrap_or_else(PoisonError::into_inner);
    let ready = answer(&mut orders.stdout)?;
    let pid = ready.strip_prefix("ready ").and_then(|pid| pid.parse().ok()).and_then(Pid::from_raw);
    let pid = pid.with_context(|| format!("the first process said {ready:?}"))?;
    let handle = pidfd_open(pid, PidfdFlags::empty()).context("opening a handle on the first process")?;
    Ok((pid, handle))
}

fn answer(stdout: &mut impl BufRead) -> Result<String> {
    let mut line = String::new();
    if stdout.read_line(&mut line).context("reading from the house")? == 0 {
        bail!("the first process has ended");
    }
    line.truncate(line.trim_end().len());
    Ok(line)
}
