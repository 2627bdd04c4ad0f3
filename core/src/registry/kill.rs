//! Ending a command: asking with a signal, and after a while by force, verified.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

use super::Registry;
use super::run::{Run, Signalling, outcome};
use crate::backend::{SignalTarget, Stopped};
use crate::call::{Call, after};
use crate::capability::{Capabilities, Capability};
use crate::error::{Error, ErrorKind, Result};
use crate::output::{Cause, End, Reason};
use crate::owner::no_such_command;
use crate::service::{KillCommand, KillOutcome, KillResult, MAX_CHECK_WAIT};
use crate::task::{TaskKind, Tasks};

/// Carries out one kill, whoever still waits for it.
const KILL: TaskKind = TaskKind("registry.kill");

/// How long a target may take for a signal.
const SIGNAL: Duration = Duration::from_secs(10);

/// How long the end of a process that is gone for certain may take to arrive.
const END: Duration = Duration::from_secs(5);

impl Registry {
    /// Ends a command and all that it started. The kill goes on when its caller does not wait for it any more.
    pub(super) async fn kill(&self, cx: &Call, request: KillCommand) -> Result<KillOutcome> {
        if request.wait > MAX_CHECK_WAIT {
            return Err(Error::invalid_argument(format!("wait_seconds must be 0 to {}", MAX_CHECK_WAIT.as_secs())));
        }
        let record = self.find_command(cx, request.handle).ok_or_else(no_such_command)?;
        let kill = Kill {
            run: record.run.clone(),
            capabilities: record.capabilities(),
            call: Call { deadline: Instant::now() + SIGNAL, ..Call::new(cx.owner.clone()) },
            request,
            tasks: self.tasks.clone(),
        };
        let (done, verdict) = oneshot::channel();
        self.tasks.spawn(KILL, async move {
            // Nobody may be listening any more.
            let _ = done.send(kill.carry_out().await);
        });
        tokio::select! {
            verdict = verdict => {
                verdict.unwrap_or_else(|_| Err(Error::internal("the kill has broken off: try again")))
            }
            () = sleep_until(cx.deadline) => {
                Err(Error::timed_out("the kill is still under way: ssh_cmd_check_status tells when the command has ended"))
            }
            () = cx.cancel.cancelled() => Err(Error::unavailable("the call was taken back: the kill goes on")),
        }
    }
}

/// One kill.
struct Kill {
    run: Arc<Run>,
    capabilities: Capabilities,
    call: Call,
    request: KillCommand,
    tasks: Tasks,
}

/// What came of a kill, beside what it was asked.
struct Verdict {
    result: KillResult,
    force_used: bool,
    survivors: Vec<u32>,
}

impl Verdict {
    fn of(result: KillResult) -> Self {
        Self { result, force_used: false, survivors: Vec::new() }
    }

    fn failed(survivors: Vec<u32>) -> Self {
        Self { survivors, ..Self::of(KillResult::FailedToKill) }
    }
}

impl Kill {
    async fn carry_out(self) -> Result<KillOutcome> {
        let Verdict { result, force_used, survivors } = self.verdict().await?;
        let KillCommand { handle, signal, .. } = self.request;
        let pid = self.run.process().facts().pid;
        Ok(KillOutcome { handle, pid, result, signal, force_used, survivors })
    }

    async fn verdict(&self) -> Result<Verdict> {
        match self.run.log.end() {
            Some(end) if end.lost() => return Err(self.lost()),
            Some(_) => return Ok(Verdict::of(KillResult::NotRunning)),
            None => {}
        }
        if let Some(mut stop) = self.run.stop_to_join() {
            return self.judged(outcome(&mut stop).await).await;
        }
        let until = after(Instant::now(), self.request.wait);
        if !self.capabilities.has(Capability::Signals) {
            if !self.request.force {
                return Err(Error::unsupported(
                    "this target takes no signals: let force be true, which stops the command",
                ));
            }
            let mut stop = self.run.begin_stop(Reason::Stop, self.request.wait, &self.tasks);
            return self.judged(outcome(&mut stop).await).await;
        }
        let signalling = self.run.begin_signal();
        match self.signal().await {
            Err(error) if error.kind() == ErrorKind::FailedPrecondition => {
                drop(signalling);
                return self.too_late().await;
            }
            sent => sent?,
        }
        let gone = self.run.log.gone(until).await;
        if self.request.force {
            self.force(signalling, gone, until).await
        } else {
            self.look(signalling, gone, until).await
        }
    }

    async fn signal(&self) -> Result<()> {
        let signal = self.run.process().signal(&self.call, self.request.signal, SignalTarget::Foreground);
        let late = || Error::unavailable("the target has not taken the signal in time: try again");
        timeout_at(self.call.deadline, signal).await.map_err(|_| late())?
    }

    /// Nobody was there to receive the signal any more.
    async fn too_late(&self) -> Result<Verdict> {
        let stopped = self.end().await?.is_some_and(|end| end.cause != Cause::Own);
        Ok(Verdict::of(if stopped { KillResult::Killed } else { KillResult::AlreadyExited }))
    }

    /// Kills what the signal has left. Also where it has left nothing, which only a stop can verify.
    async fn force(&self, signalling: Signalling, gone: bool, until: Instant) -> Result<Verdict> {
        let clean = gone && self.run.descendants().await.is_empty();
        let rest = until.saturating_duration_since(Instant::now());
        let began = Instant::now();
        let mut stop = self.run.begin_stop(Reason::Stop, rest, &self.tasks);
        let stopped = outcome(&mut stop).await;
        drop(signalling);
        let force_used = !gone || !clean && began.elapsed() >= rest;
        Ok(Verdict { force_used, ..self.judged(stopped).await? })
    }

    /// Looks what the signal has left, at once and once more when the wait is up.
    async fn look(&self, signalling: Signalling, gone: bool, until: Instant) -> Result<Verdict> {
        if !gone {
            return Ok(Verdict::failed(self.run.process().facts().pid.into_iter().collect()));
        }
        let mut left = self.run.descendants().await;
        if !left.is_empty() && Instant::now() < until {
            sleep_until(until).await;
            left = self.run.descendants().await;
        }
        signalling.conclude(left.is_empty());
        self.end().await?;
        Ok(if left.is_empty() { Verdict::of(KillResult::Killed) } else { Verdict::failed(left) })
    }

    /// What a stop's outcome says of the kill.
    async fn judged(&self, stopped: Option<Result<Stopped>>) -> Result<Verdict> {
        match stopped {
            Some(Ok(Stopped::Confirmed)) => {
                self.end().await?;
                Ok(Verdict::of(KillResult::Killed))
            }
            Some(Ok(Stopped::Unconfirmed { pids })) => Ok(Verdict::failed(pids)),
            Some(Err(error)) => Err(error),
            None => Err(Error::internal("the stop has broken off: try again")),
        }
    }

    /// The end of a process that is gone, so that who hears of it sees it.
    ///
    /// # Errors
    /// `unavailable` when it was lost: a kill does not say of anything that it is gone when nobody can know.
    async fn end(&self) -> Result<Option<End>> {
        let end = timeout(END, self.run.log.ended()).await.ok();
        match end {
            Some(end) if end.lost() => Err(self.lost()),
            end => Ok(end),
        }
    }

    fn lost(&self) -> Error {
        let process = self.run.process().facts().pid.map_or("the process".to_owned(), |pid| format!("process {pid}"));
        Error::unavailable(format!(
            "the connection that it ran on was lost, and nobody can say whether {process} still runs: look for it with \
             ssh_cmd_run, which connects again"
        ))
    }
}
