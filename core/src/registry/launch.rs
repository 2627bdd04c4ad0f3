//! Starting a session or a command: everything is checked first, and a start that fails leaves nothing.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::Registry;
use super::record::{NewRecord, Record};
use super::run::{Kind, Run};
use super::table::Welcome;
use crate::backend::ResolvedTarget;
use crate::call::{Call, after};
use crate::capability::Capability;
use crate::error::{Error, Result};
use crate::id::{SessionId, TargetName};
use crate::output::{LogKind, OutputLog, OutputSink, Reason, Retention};
use crate::service::{ExecuteCommand, Launch, MAX_LABEL, MAX_TIME_LIMIT, StartSession};
use crate::spec::{CommandSpec, SessionSpec};
use crate::task::TaskKind;

/// Stops a process when its time limit is reached.
const TIME_LIMIT: TaskKind = TaskKind("registry.time_limit");

impl Registry {
    /// Starts a session and keeps its record.
    pub(super) async fn launch_session(&self, cx: &Call, request: StartSession) -> Result<Arc<Record>> {
        check_session(&request)?;
        let target = self.resolve(cx, request.target.as_ref(), request.client_id.as_deref()).await?;
        let capabilities = target.backend.capabilities();
        capabilities.require(match &request.what {
            Launch::Start(_) => Capability::Sessions,
            Launch::Attach(_) => Capability::Attach,
        })?;
        let slot = self.table.reserve(&cx.owner)?;
        let id = SessionId::random()?;
        let (owner, seq, table) = (slot.owner().clone(), slot.seq, Arc::downgrade(&self.table));
        let hook = {
            let owner = owner.clone();
            move |kept| {
                if let Some(table) = table.upgrade() {
                    table.session_ended(&owner, seq, kept);
                }
            }
        };
        let kind = LogKind::Session(request.size);
        let log = OutputLog::with_end_hook(kind, Retention::Newest(self.limits.session_output), hook);
        let out = OutputSink::new(log.clone());
        let (command, session) = match request.what {
            Launch::Start(invocation) => {
                let command = invocation.command.clone();
                let spec = SessionSpec { invocation, size: request.size, login: request.login };
                (command, self.within_launch(cx, target.backend.start_session(cx, spec, out)).await?)
            }
            Launch::Attach(native) => {
                (String::new(), self.within_launch(cx, target.backend.attach_session(cx, &native, out)).await?)
            }
        };
        let run = Run::new(log, Kind::Session(session));
        let record =
            Record::new(NewRecord { id, target: target.info, capabilities, run, label: request.label, command });
        let welcome = slot.fill_with_session(record.clone());
        self.stop_unless(welcome, &record.run);
        if record.run.log.end().is_some() {
            // It ended before it had its place, so the hook found nobody to move.
            self.table.session_ended(&owner, seq, record.run.log.kept());
        }
        self.limit_time(&record.run, request.time_limit);
        Ok(record)
    }

    /// Starts a one-shot command.
    pub(super) async fn launch_command(&self, cx: &Call, request: ExecuteCommand) -> Result<Arc<Run>> {
        check_time_limit(request.time_limit)?;
        request.invocation.check()?;
        let target = self.resolve(cx, request.target.as_ref(), request.client_id.as_deref()).await?;
        target.backend.capabilities().require(Capability::Commands)?;
        let slot = self.table.reserve(&cx.owner)?;
        let (owner, seq, table) = (slot.owner().clone(), slot.seq, Arc::downgrade(&self.table));
        let hook = {
            let owner = owner.clone();
            move |_| {
                if let Some(table) = table.upgrade() {
                    table.command_ended(&owner, seq);
                }
            }
        };
        let log = OutputLog::with_end_hook(LogKind::Command, Retention::Oldest(self.limits.command_output), hook);
        let out = OutputSink::new(log.clone());
        let spec = CommandSpec { invocation: request.invocation, stdin: request.stdin };
        let command = self.within_launch(cx, target.backend.run_command(cx, spec, out)).await?;
        let run = Arc::new(Run::new(log, Kind::Command(command)));
        let welcome = slot.fill_with_command(run.clone());
        self.stop_unless(welcome, &run);
        if run.log.end().is_some() {
            self.table.command_ended(&owner, seq);
        }
        self.limit_time(&run, request.time_limit);
        Ok(run)
    }

    /// The target that a call means, when it is there for the caller and has the named device.
    async fn resolve(&self, cx: &Call, named: Option<&TargetName>, client_id: Option<&str>) -> Result<ResolvedTarget> {
        let target = self.targets.resolve(&cx.owner.select(named)?).await?;
        match client_id {
            Some(id) if id != target.info.client_id => Err(Error::not_found(format!(
                "{} has no device with this client_id: list_clients shows it",
                target.info.name
            ))),
            _ => Ok(target),
        }
    }

    /// A start within the call's time and the launch limit. When it does not make it, dropping it leaves nothing.
    async fn within_launch<T>(&self, cx: &Call, start: impl Future<Output = Result<T>>) -> Result<T> {
        let limit = after(Instant::now(), self.limits.launch);
        tokio::select! {
            started = start => started,
            () = sleep_until(limit.min(cx.deadline)) => {
                Err(Error::timed_out("the target did not start it in time: nothing was left running; try again"))
            }
            () = cx.cancel.cancelled() => Err(Error::unavailable("the call was taken back: nothing was started")),
            () = self.closing.cancelled() => Err(Error::unavailable("the server is ending: nothing was started")),
        }
    }

    /// Stops what has started while the server was ending.
    fn stop_unless(&self, welcome: Welcome, run: &Arc<Run>) {
        if welcome == Welcome::Closed {
            run.begin_stop(Reason::Shutdown, self.limits.stop_grace, &self.tasks);
        }
    }

    /// The one timer of a process's time limit.
    fn limit_time(&self, run: &Arc<Run>, limit: Option<Duration>) {
        let Some(limit) = limit else { return };
        let at = after(Instant::now(), limit);
        let (run, tasks, grace) = (run.clone(), self.tasks.clone(), self.limits.stop_grace);
        self.tasks.spawn(TIME_LIMIT, async move {
            tokio::select! {
                // Who has ended is not stopped, also when both come at once.
                biased;
                _ = run.log.ended() => {}
                () = tasks.cancelled() => {}
                () = sleep_until(at) => {
                    run.begin_stop(Reason::TimeLimit(limit), grace, &tasks);
                }
            }
        });
    }
}

fn check_session(request: &StartSession) -> Result<()> {
    check_time_limit(request.time_limit)?;
    if request.label.as_ref().is_some_and(|label| label.len() > MAX_LABEL) {
        return Err(Error::invalid_argument(format!("label has more than {MAX_LABEL} bytes: take a shorter one")));
    }
    match &request.what {
        Launch::Start(invocation) => invocation.check(),
        Launch::Attach(_) => Ok(()),
    }
}

fn check_time_limit(limit: Option<Duration>) -> Result<()> {
    if limit.is_some_and(|limit| limit > MAX_TIME_LIMIT) {
        return Err(Error::invalid_argument(format!("timeout_ms must be 0 to {}", MAX_TIME_LIMIT.as_millis())));
    }
    Ok(())
}
