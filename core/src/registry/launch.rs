//! Starting a session or a command: everything is checked first, and a start that fails leaves nothing.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::Registry;
use super::handle::CommandRecord;
use super::record::{NewRecord, Record};
use super::run::{Kind, Run};
use super::table::{At, Slot, Welcome};
use crate::backend::ResolvedTarget;
use crate::call::{Call, after};
use crate::capability::Capability;
use crate::error::{Error, Result};
use crate::id::{Handle, SessionId, TargetName};
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
        self.used_hosts.note(&cx.owner, &target);
        let id = SessionId::random()?;
        let log = self.new_log(
            &slot,
            target.info.backend,
            LogKind::Session(request.size),
            Retention::Newest(self.limits.session_output),
        );
        let out = OutputSink::new(log.clone());
        let (command, kind) = match request.what {
            Launch::Start(invocation) => {
                let command = invocation.command.clone();
                let spec = SessionSpec { invocation, size: request.size, login: request.login };
                (command, Kind::Session(self.within_launch(cx, target.backend.start_session(cx, spec, out)).await?))
            }
            Launch::Attach(native) => {
                let attached = self.within_launch(cx, target.backend.attach_session(cx, &native, out)).await?;
                (String::new(), Kind::Attached(attached))
            }
        };
        let run = Run::new(target.info, log, kind);
        let record = Record::new(NewRecord { id, capabilities, run: run.clone(), label: request.label, command });
        let at = slot.at();
        self.admit(&at, slot.fill_with_session(record.clone()), &run, request.time_limit);
        Ok(record)
    }

    /// Starts a one-shot command that nobody can come back to.
    pub(super) async fn launch_passing(&self, cx: &Call, request: ExecuteCommand) -> Result<Arc<Run>> {
        check_time_limit(request.time_limit)?;
        request.invocation.check()?;
        let target = self.resolve(cx, request.target.as_ref(), request.client_id.as_deref()).await?;
        target.backend.capabilities().require(Capability::Commands)?;
        let slot = self.table.reserve(&cx.owner)?;
        self.used_hosts.note(&cx.owner, &target);
        let spec = CommandSpec { invocation: request.invocation, stdin: request.stdin };
        let retention = Retention::Oldest(self.limits.command_output);
        let run = self.start_command(cx, &slot, &target, spec, retention).await?;
        let at = slot.at();
        self.admit(&at, slot.fill_in_passing(run.clone()), &run, request.time_limit);
        Ok(run)
    }

    /// Starts a command on a host and keeps it under a handle.
    pub(super) async fn launch_kept(
        &self,
        cx: &Call,
        target: ResolvedTarget,
        spec: CommandSpec,
        time_limit: Option<Duration>,
    ) -> Result<Arc<CommandRecord>> {
        check_run_limit(time_limit)?;
        spec.invocation.check()?;
        target.backend.capabilities().require(Capability::Commands)?;
        let slot = self.table.reserve(&cx.owner)?;
        self.used_hosts.note(&cx.owner, &target);
        let (command, cwd) = (spec.invocation.command.clone(), spec.invocation.cwd.clone());
        let retention = Retention::Newest(self.limits.handle_output);
        let run = self.start_command(cx, &slot, &target, spec, retention).await?;
        let at = slot.at();
        let record = CommandRecord::new(Handle(at.seq), target.backend, run.clone(), command, cwd);
        self.admit(&at, slot.fill_with_command(record.clone()), &run, time_limit);
        Ok(record)
    }

    async fn start_command(
        &self,
        cx: &Call,
        slot: &Slot,
        target: &ResolvedTarget,
        spec: CommandSpec,
        retention: Retention,
    ) -> Result<Arc<Run>> {
        let log = self.new_log(slot, target.info.backend, LogKind::Command, retention);
        let out = OutputSink::new(log.clone());
        let input = spec.stdin.len() as u64;
        let command = self.within_launch(cx, target.backend.run_command(cx, spec, out)).await?;
        log.took(input);
        Ok(Run::new(target.info.clone(), log, Kind::Command(command)))
    }

    /// A log whose end frees its place before anybody can see it.
    fn new_log(&self, slot: &Slot, backend: &'static str, kind: LogKind, retention: Retention) -> Arc<OutputLog> {
        let tally = self.tallies.of(backend);
        let (at, table) = (slot.at(), Arc::downgrade(&self.table));
        OutputLog::with_end_hook(kind, retention, tally, move |kept| {
            if let Some(table) = table.upgrade() {
                table.ended(&at, kept);
            }
        })
    }

    /// What has just taken its place gets what is due to it.
    fn admit(&self, at: &At, welcome: Welcome, run: &Arc<Run>, time_limit: Option<Duration>) {
        if welcome == Welcome::Closed {
            run.end_with_server(self.limits.stop_grace, &self.tasks);
        }
        if run.log.end().is_some() {
            // It ended before it had its place, so the hook found nobody to move.
            self.table.ended(at, run.log.kept());
        }
        self.limit_time(run, time_limit);
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
        const LATE: &str = "the target did not start it in time: nothing was left running; try again";
        self.within_limit(cx, start, LATE, "nothing was started").await
    }

    /// What asks a target for something new, within the call's time and the launch limit. `late` is said when the time
    /// is up, `nothing` when somebody does not want it any more.
    pub(super) async fn within_limit<T>(
        &self,
        cx: &Call,
        work: impl Future<Output = Result<T>>,
        late: &str,
        nothing: &str,
    ) -> Result<T> {
        let limit = after(Instant::now(), self.limits.launch);
        self.until(cx, limit.min(cx.deadline), work, late, nothing).await
    }

    /// What comes of some work that nobody waits for any longer than this.
    pub(super) async fn until<T>(
        &self,
        cx: &Call,
        until: Instant,
        work: impl Future<Output = Result<T>>,
        late: &str,
        nothing: &str,
    ) -> Result<T> {
        tokio::select! {
            done = work => done,
            () = sleep_until(until) => Err(Error::timed_out(late)),
            () = cx.cancel.cancelled() => Err(Error::unavailable(format!("the call was taken back: {nothing}"))),
            () = self.closing.cancelled() => Err(Error::unavailable(format!("the server is ending: {nothing}"))),
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

fn check_run_limit(limit: Option<Duration>) -> Result<()> {
    if limit.is_some_and(|limit| limit > MAX_TIME_LIMIT) {
        return Err(Error::invalid_argument(format!("runtime_timeout must be at most {} s", MAX_TIME_LIMIT.as_secs())));
    }
    Ok(())
}
