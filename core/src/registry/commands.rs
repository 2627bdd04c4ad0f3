//! Commands under a handle: running one, waiting for it as long as told, looking at it and reading what it printed.

use std::sync::Arc;

use tokio::time::{Instant, sleep_until};

use super::Registry;
use super::execute::{gave_up, report};
use super::handle::CommandRecord;
use crate::call::{Call, after};
use crate::error::{self, Error, Result};
use crate::id::{Handle, TargetName};
use crate::output::{Cause, End, Exit, Reason, Stream};
use crate::owner::no_such_command;
use crate::service::{
    CheckCommand, CommandInfo, CommandLines, CommandRun, DEFAULT_LINES, MAX_CHECK_WAIT, MAX_INLINE, MAX_RUN_WAIT, Read,
    ReadCommand, ReadCommandOutput, RunCommand, RunStatus, Tail, Wait,
};
use crate::spec::CommandSpec;
use crate::wait::{Patience, Settled};

impl Registry {
    /// Runs a command and waits for it. However the waiting ends, nothing but the time limit stops the command.
    pub(super) async fn run(&self, cx: &Call, request: RunCommand) -> Result<CommandRun> {
        let begun = Instant::now();
        let target = self.host(cx, request.target.as_ref()).await?;
        let name = target.info.name.clone();
        let spec = CommandSpec { invocation: request.invocation, stdin: request.stdin };
        let record = match self.launch_kept(cx, target, spec, request.time_limit).await {
            Err(error) if error.reason() == Some(error::Reason::NoSuchDirectory) => {
                return Ok(nowhere_to_run(name, &error));
            }
            launched => launched?,
        };
        self.forget_outdated(cx, &name, record.period);
        // The call's own time counts from its arrival, silence from the command's start.
        let wait = request.wait.unwrap_or(MAX_RUN_WAIT).min(MAX_RUN_WAIT);
        let patience = Patience { until: after(begun, wait).min(cx.deadline), silence: Some(request.silence) };
        let settled = tokio::select! {
            settled = record.run.log.settled(patience, report(cx)) => settled,
            () = cx.cancel.cancelled() => Settled::Late,
        };
        let capped = request.wait.is_none_or(|wait| wait > MAX_RUN_WAIT);
        Ok(self.told(cx, &record, settled, capped).await)
    }

    /// What a caller is told whose waiting has ended.
    async fn told(&self, cx: &Call, record: &CommandRecord, settled: Settled, capped: bool) -> CommandRun {
        let info = record.info();
        // Whatever has ended the waiting, an end is the better answer.
        let settled = info.end.clone().map_or(settled, Settled::Ended);
        let (status, error) = match settled {
            Settled::Ended(end) => (run_status(&end), end.error()),
            Settled::GaveUp(reason) => {
                let status = match reason {
                    Reason::TimeLimit(_) => RunStatus::RuntimeTimeout,
                    Reason::Stop | Reason::Shutdown => RunStatus::Error,
                };
                (status, gave_up(&record.run, reason).error())
            }
            Settled::Silent => (RunStatus::IoTimeout, None),
            Settled::Late => (RunStatus::WaitTimeout { capped }, None),
        };
        let descendants = match &info.end {
            Some(end) if !end.lost() => tokio::select! {
                descendants = record.run.descendants() => descendants,
                () = sleep_until(cx.deadline) => Vec::new(),
                () = cx.cancel.cancelled() => Vec::new(),
            },
            _ => Vec::new(),
        };
        let tail = |stream| record.run.log.tail(stream, MAX_INLINE);
        CommandRun {
            status,
            target: info.target.clone(),
            stdout: tail(Stream::Stdout),
            stderr: tail(Stream::Stderr),
            command: Some(info),
            descendants,
            error,
        }
    }

    /// How a command stands, at its end or when the wait is up.
    pub(super) async fn check(&self, cx: &Call, request: CheckCommand) -> Result<Option<CommandInfo>> {
        if request.wait > MAX_CHECK_WAIT {
            return Err(Error::invalid_argument(format!("wait_seconds must be 0 to {}", MAX_CHECK_WAIT.as_secs())));
        }
        let Some(record) = self.find_command(cx, request.handle) else { return Ok(None) };
        tokio::select! {
            _ = record.run.log.ended() => {}
            () = sleep_until(after(Instant::now(), request.wait).min(cx.deadline)) => {}
            () = cx.cancel.cancelled() => {}
        }
        Ok(Some(record.info()).filter(|_| !record.is_outdated(&cx.owner)))
    }

    /// Lines of a command's output.
    pub(super) fn read_lines(&self, cx: &Call, request: &ReadCommand) -> Result<CommandLines> {
        if request.lines == Some(0) {
            return Err(Error::invalid_argument("lines must be at least 1"));
        }
        if request.start_line == Some(0) {
            return Err(Error::invalid_argument("start_line must be at least 1: the first line is 1"));
        }
        let record = self.find_command(cx, request.handle).ok_or_else(no_such_command)?;
        let (log, stream) = (&record.run.log, request.stream);
        let count = request.lines.unwrap_or(DEFAULT_LINES);
        let Some(line) = request.start_line else { return Ok(log.newest_lines(stream, count)) };
        log.lines_from(stream, line, count).map_err(|dropped| {
            Error::invalid_argument(format!(
                "line {line} has been dropped: the first line still there is {first}, so start_line {first} works; to \
                 keep all output of a command, let it write to a file, such as `command > file`",
                first = dropped.first
            ))
        })
    }

    /// Bytes of a command's output from a cursor on, like those of a session.
    pub(super) async fn read_output(&self, cx: &Call, request: &ReadCommandOutput) -> Result<Read> {
        request.wait.check()?;
        let record = self.find_command(cx, request.handle).ok_or_else(no_such_command)?;
        let max_bytes = request.wait.max_bytes.or(self.limits.default_max_bytes);
        let wait = Wait { max_bytes, ..request.wait.clone() };
        record.run.log.read_when(cx, request.stream, request.cursor, &wait).await
    }

    /// The caller's command. Every way of not being there is the same (CO32).
    pub(super) fn find_command(&self, cx: &Call, handle: Handle) -> Option<Arc<CommandRecord>> {
        let record = self.table.command(&cx.owner, handle)?;
        if record.is_outdated(&cx.owner) {
            self.forget_outdated(cx, &record.run.target.name, record.latest_period(&cx.owner));
            return None;
        }
        Some(record).filter(|record| cx.owner.reaches(&record.run.target.name))
    }
}

/// The status of a run that has ended.
fn run_status(end: &End) -> RunStatus {
    match (&end.exit, &end.cause) {
        (Exit::Lost(_) | Exit::Failed(_), _) => RunStatus::Error,
        (_, Cause::TimeLimit { .. }) => RunStatus::RuntimeTimeout,
        (Exit::Exited(0), Cause::Own) => RunStatus::Success,
        _ => RunStatus::CommandFailed,
    }
}

/// Nothing was started, because its directory is not there.
fn nowhere_to_run(target: TargetName, error: &Error) -> CommandRun {
    CommandRun {
        status: RunStatus::CwdNotFound,
        target,
        command: None,
        stdout: Tail::default(),
        stderr: Tail::default(),
        descendants: Vec::new(),
        error: Some(error.message().to_owned()),
    }
}
