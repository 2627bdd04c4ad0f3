//! What is done on this machine on the way to a host: programs that are run, and work that blocks.

use std::ffi::OsStr;
use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use sessiond_core::{Error, Result, TaskKind, Tasks};
use tokio::io::AsyncReadExt;
use tokio::process::{Child, Command};
use tokio::sync::oneshot;
use zeroize::Zeroizing;

use crate::surroundings::Surroundings;

/// How long a program that has been hung up on may take to leave.
const GRACE: Duration = Duration::from_secs(1);

/// Runs what blocks on a thread that may be blocked, and waits for its result. A caller that goes away does not end
/// the work.
///
/// # Errors
/// `internal` when the work is lost: it has panicked, or the runtime ends.
pub(crate) async fn blocking<T: Send + 'static>(
    tasks: &Tasks,
    kind: TaskKind,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T> {
    let (answer, answered) = oneshot::channel();
    tasks.spawn_blocking(kind, move || {
        let _ = answer.send(work());
    });
    answered.await.map_err(|_| Error::internal(format!("the {} was lost: try again", kind.0)))
}

/// What a shell is to run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'a> {
    /// The shell.
    pub(crate) shell: &'a OsStr,
    /// What it is to run.
    pub(crate) text: &'a str,
    /// What it finds there.
    pub(crate) surroundings: &'a Surroundings,
}

/// A program of this machine and all of its process group. Dropped before its end, all of it is killed.
pub(crate) struct Program {
    child: Child,
    group: Option<Pid>,
    // Its exit is ours to collect, as long as this is kept.
    _custody: Box<dyn Send + Sync>,
}

impl Program {
    /// Starts `SHELL -c LINE` in these surroundings, as [`start`](Self::start) does.
    ///
    /// # Errors
    /// As there, or there is no such shell.
    pub(crate) fn line(line: Line<'_>, stdin: Stdio, stderr: Stdio) -> io::Result<Self> {
        let mut command = Command::new(line.shell);
        command.arg("-c").arg(line.text).stdin(stdin).stdout(Stdio::piped()).stderr(stderr);
        Self::start(command, line.surroundings)
    }

    /// Starts a program in these surroundings, in a process group of its own, in the server's session and directory.
    ///
    /// # Errors
    /// The operating system refuses, or there is no such program.
    pub(crate) fn start(mut command: Command, surroundings: &Surroundings) -> io::Result<Self> {
        command.process_group(0).env_clear().envs(surroundings.variables());
        let mut started = None;
        let custody = surroundings.start(&mut || {
            let child = command.spawn()?;
            let pid = child.id().ok_or_else(|| io::Error::other("the program has no process id"))?;
            started = Some(child);
            Ok(pid)
        })?;
        let child = started.ok_or_else(|| io::Error::other("the program was not started"))?;
        let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        Ok(Self { child, group, _custody: custody })
    }

    /// The child, for its pipes.
    pub(crate) fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Waits for the program's end. Safe to drop.
    pub(crate) async fn ended(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Makes an end of the program and its group: hangs up, waits a second, kills.
    pub(crate) async fn end(mut self) {
        // A child that has been waited for has no id any more, and its group may be another's.
        if self.child.id().is_none() {
            return;
        }
        self.signal(Signal::HUP);
        if tokio::time::timeout(GRACE, self.child.wait()).await.is_err() {
            self.signal(Signal::KILL);
            // Nobody survives this signal, so this wait is short.
            let _ = self.child.wait().await;
        }
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            // It has gone already: nothing is left to do.
            let _ = kill_process_group(group, signal);
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // A child that has been waited for has no id any more, and its group may be another's.
        if self.child.id().is_some() {
            self.signal(Signal::KILL);
        }
    }
}

/// What a line prints to standard output, at most `max` bytes of it, within `limit`.
///
/// # Errors
/// Why there is nothing: words that continue a sentence about the program.
pub(crate) async fn output(
    line: Line<'_>,
    max: u64,
    limit: Duration,
    kind: TaskKind,
    tasks: &Tasks,
) -> Result<Zeroizing<Vec<u8>>, String> {
    let mut program =
        Program::line(line, Stdio::null(), Stdio::null()).map_err(|error| format!("cannot be started: {error}"))?;
    let (mut answer, answered) = oneshot::channel();
    let shutdown = tasks.cancelled();
    // The program is ended also when nobody waits for it any more.
    tasks.spawn(kind, async move {
        let printed = tokio::select! {
            printed = collect(&mut program, max) => Some(printed),
            () = tokio::time::sleep(limit) => Some(Err(format!("is not done after {} s", limit.as_secs()))),
            () = answer.closed() => None,
            () = shutdown => None,
        };
        program.end().await;
        if let Some(printed) = printed {
            let _ = answer.send(printed);
        }
    });
    answered.await.unwrap_or_else(|_| Err("was ended with this server".to_owned()))
}

async fn collect(program: &mut Program, max: u64) -> Result<Zeroizing<Vec<u8>>, String> {
    let mut printed = Zeroizing::new(Vec::with_capacity(256));
    if let Some(stdout) = program.child().stdout.take() {
        let read = stdout.take(max).read_to_end(&mut printed).await;
        read.map_err(|error| format!("cannot be read from: {error}"))?;
    }
    let status = program.ended().await.map_err(|error| format!("cannot be waited for: {error}"))?;
    if status.success() { Ok(printed) } else { Err(said(status)) }
}

/// How a program ended, as words that continue a sentence about it.
pub(crate) fn said(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;

    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with exit status {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}
