//! The registry: it knows every session and command, whose they are, how many there may be, and how long they stay.
//!
//! It implements [`Service`]. Nobody else compares owners, applies limits, decides why a process ended, or stops one.
//!
//! - `table`, `shelf`: every owner's records, in order and within bounds
//! - `record`, `handle`, `run`: what is kept of a session, of a command under a handle, and of anything that runs
//! - `launch`: starting a session or a command, and its time limit
//! - `execute`: a one-shot command to its end
//! - `act`: writing to a session, steering it and stopping it
//! - `commands`, `kill`, `history`: commands under a handle
//! - `list`: sessions by page; `targets`: targets and how they do; `hosts`: hosts and the connections to them
//! - `agents`, `events`, `manual`: agent platforms, the turns of their sessions, and what waits for a person
//! - `limits`: the bounds; `census`: how much runs and passes, for whoever watches the server

mod act;
mod agents;
mod census;
mod commands;
mod events;
mod execute;
mod handle;
mod history;
mod hosts;
mod kill;
mod launch;
mod limits;
mod list;
mod manual;
mod record;
mod run;
mod shelf;
mod table;
mod targets;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::join_all;
use tokio_util::sync::CancellationToken;

use census::Tallies;
pub use census::{Census, Traffic};
pub use limits::Limits;

use crate::agent::{Agent, AgentRun, AgentSessionDetail, AgentSessionPage, ManualTask, TokenUsage};
use crate::backend::Targets;
use crate::call::Call;
use crate::error::Result;
use crate::id::{SessionId, TargetName};
use crate::output::{Cursor, Stream};
use crate::owner::not_found;
use crate::service::{
    CheckCommand, CommandInfo, CommandLines, CommandResult, CommandRun, CommandSummary, CompleteManualTask,
    ConnectHost, Connection, ControlAgentSession, ControlOutcome, ControlSession, DescribeAgentSession,
    DescribeManualTask, DisconnectHost, ExecuteCommand, HostConnected, HostDisconnected, HostList, KillCommand,
    KillOutcome, ListAgentSessions, ListAgents, ListCommands, ListConnections, ListSessions, ListTargets, PlatformList,
    Read, ReadCommand, ReadCommandOutput, ReadSession, RunCommand, Service, SessionPage, StartAgent, StartSession,
    Started, StopOutcome, StopSession, Target, TaskCompletion, Wait, WriteOutcome, WriteSession,
};
use crate::task::{TaskKind, Tasks};
use hosts::UsedHosts;
use record::Record;
use table::Table;

/// Forgets finished records as their time comes.
const EXPIRY: TaskKind = TaskKind("registry.expiry");

/// How much longer than the stop's grace the end of the server may take.
const SHUTDOWN_SLACK: Duration = Duration::from_secs(5);

/// Keeps every session and command. See the module's documentation.
pub struct Registry {
    targets: Arc<dyn Targets>,
    limits: Limits,
    table: Arc<Table>,
    used_hosts: UsedHosts,
    tallies: Tallies,
    tasks: Tasks,
    /// Fires when the server begins to end: whatever is just being started is given up.
    closing: CancellationToken,
}

impl Registry {
    /// An empty registry over these targets. Needs a tokio runtime to be running.
    pub fn new(targets: Arc<dyn Targets>, limits: Limits) -> Arc<Self> {
        let table = Table::new(limits.clone());
        let tasks = Tasks::new();
        let (expiring, cancelled) = (table.clone(), tasks.cancelled());
        tasks.spawn(EXPIRY, async move {
            tokio::select! {
                () = expiring.keep_expiring() => {}
                () = cancelled => {}
            }
        });
        let (used_hosts, tallies) = (UsedHosts::default(), Tallies::default());
        Arc::new(Self { targets, limits, table, used_hosts, tallies, tasks, closing: CancellationToken::new() })
    }

    /// Ends the server's work: nothing starts any more, every session and command gets the stop ladder, whatever they
    /// left behind is ended too, and so are all tasks. What was only attached to goes on without us. Takes little more
    /// than the stop's grace.
    pub async fn shutdown(&self) {
        let grace = self.limits.stop_grace;
        self.closing.cancel();
        let runs = self.table.close();
        let stops = runs.iter().filter_map(|run| run.end_with_server(grace, &self.tasks));
        let stops = stops.map(|mut stop| async move { run::outcome(&mut stop).await });
        // What was left behind by those that ended earlier gets its grace at the same time. A target that does not
        // answer must not keep the server from ending.
        let end = async { tokio::join!(join_all(stops), self.targets.shutdown(grace)) };
        let _ = tokio::time::timeout(grace.saturating_add(SHUTDOWN_SLACK), end).await;
        self.tasks.shutdown(SHUTDOWN_SLACK).await;
    }

    /// The caller's session. Every way of not being there gets the same answer (SR14).
    fn find(&self, cx: &Call, session: SessionId, named: Option<&TargetName>) -> Result<Arc<Record>> {
        let target = cx.owner.select(named)?;
        self.table.session(&cx.owner, session).filter(|record| record.run.target.name == target).ok_or_else(not_found)
    }

    /// Reads from a session's one stream as the request says.
    async fn read(&self, cx: &Call, record: &Record, from: Cursor, wait: &Wait) -> Result<Read> {
        wait.check()?;
        let max_bytes = wait.max_bytes.or(self.limits.default_max_bytes);
        let wait = Wait { max_bytes, ..wait.clone() };
        record.run.log.read_when(cx, Stream::Stdout, from, &wait).await
    }

    /// Reads what came since `from`, when the caller asked to wait for it (SF07). What was done is told in any case,
    /// so a read that fails is left out rather than put in its place.
    async fn read_if_asked(&self, cx: &Call, record: &Record, from: Cursor, wait: &Wait) -> Option<Read> {
        if wait.is_asked() { self.read(cx, record, from, wait).await.ok() } else { None }
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        self.tasks.token().cancel();
    }
}

#[async_trait]
impl Service for Registry {
    async fn list_targets(&self, cx: &Call, request: ListTargets) -> Result<Vec<Target>> {
        targets::list(self.targets.as_ref(), cx, request).await
    }

    async fn execute_command(&self, cx: &Call, request: ExecuteCommand) -> Result<CommandResult> {
        self.execute(cx, request).await
    }

    async fn start_session(&self, cx: &Call, request: StartSession) -> Result<Started> {
        request.wait.check()?;
        let wait = request.wait.clone();
        let record = self.launch_session(cx, request).await?;
        let read = self.read_if_asked(cx, &record, Cursor::START, &wait).await;
        Ok(Started { session: record.id, read })
    }

    async fn read_session(&self, cx: &Call, request: ReadSession) -> Result<Read> {
        let record = self.find(cx, request.session, request.target.as_ref())?;
        self.read(cx, &record, request.cursor, &request.wait).await
    }

    async fn write_session(&self, cx: &Call, request: WriteSession) -> Result<WriteOutcome> {
        let record = self.find(cx, request.session, request.target.as_ref())?;
        self.write(cx, &record, request.input, &request.wait).await
    }

    async fn control_session(&self, cx: &Call, request: ControlSession) -> Result<ControlOutcome> {
        let record = self.find(cx, request.session, request.target.as_ref())?;
        self.control(cx, &record, request.action, &request.wait).await
    }

    async fn stop_session(&self, cx: &Call, request: StopSession) -> Result<StopOutcome> {
        let record = self.find(cx, request.session, request.target.as_ref())?;
        self.stop(cx, &record, request.wait).await
    }

    async fn list_sessions(&self, cx: &Call, request: ListSessions) -> Result<SessionPage> {
        let named = request.target.as_ref().or(cx.owner.only());
        let only = named.map(|name| cx.owner.select(Some(name))).transpose()?;
        list::page(&self.table, cx, only.as_ref(), request).await
    }

    async fn list_hosts(&self, cx: &Call) -> Result<HostList> {
        Ok(self.hosts(cx))
    }

    async fn connect_host(&self, cx: &Call, request: ConnectHost) -> Result<HostConnected> {
        self.connect(cx, request).await
    }

    async fn list_connections(&self, cx: &Call, request: ListConnections) -> Result<Vec<Connection>> {
        self.connections(cx, request).await
    }

    async fn disconnect_host(&self, cx: &Call, request: DisconnectHost) -> Result<HostDisconnected> {
        self.disconnect(cx, request).await
    }

    async fn run_command(&self, cx: &Call, request: RunCommand) -> Result<CommandRun> {
        self.run(cx, request).await
    }

    async fn check_command(&self, cx: &Call, request: CheckCommand) -> Result<Option<CommandInfo>> {
        self.check(cx, request).await
    }

    async fn read_command(&self, cx: &Call, request: ReadCommand) -> Result<CommandLines> {
        self.read_lines(cx, &request)
    }

    async fn read_command_output(&self, cx: &Call, request: ReadCommandOutput) -> Result<Read> {
        self.read_output(cx, &request).await
    }

    async fn kill_command(&self, cx: &Call, request: KillCommand) -> Result<KillOutcome> {
        self.kill(cx, request).await
    }

    async fn list_commands(&self, cx: &Call, request: ListCommands) -> Result<Vec<CommandSummary>> {
        self.history(cx, request).await
    }

    async fn clear_commands(&self, cx: &Call) -> Result<usize> {
        self.clear(cx)
    }

    async fn list_platforms(&self, cx: &Call) -> Result<PlatformList> {
        Ok(self.platforms(cx))
    }

    async fn list_agent_sessions(&self, cx: &Call, request: ListAgentSessions) -> Result<AgentSessionPage> {
        self.platform_sessions(cx, request).await
    }

    async fn describe_agent_session(&self, cx: &Call, request: DescribeAgentSession) -> Result<AgentSessionDetail> {
        self.platform_session(cx, request).await
    }

    async fn agent_token_usage(&self, cx: &Call, request: DescribeAgentSession) -> Result<TokenUsage> {
        self.platform_usage(cx, request).await
    }

    async fn list_agents(&self, cx: &Call, request: ListAgents) -> Result<Vec<Agent>> {
        self.platform_agents(cx, request).await
    }

    async fn start_agent(&self, cx: &Call, request: StartAgent) -> Result<AgentRun> {
        self.start_on_platform(cx, request).await
    }

    async fn control_agent_session(&self, cx: &Call, request: ControlAgentSession) -> Result<AgentRun> {
        self.control_on_platform(cx, request).await
    }

    async fn describe_manual_task(&self, cx: &Call, request: DescribeManualTask) -> Result<ManualTask> {
        self.manual_task(cx, request).await
    }

    async fn complete_manual_task(&self, cx: &Call, request: CompleteManualTask) -> Result<TaskCompletion> {
        self.complete_task(cx, request).await
    }
}
