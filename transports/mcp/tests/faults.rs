//! A service that misbehaves: a call that panics is answered, and the next one works.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use serde_json::json;
use sessiond_core::{
    Agent, AgentRun, AgentSessionDetail, AgentSessionPage, Call, CheckCommand, CommandInfo, CommandLines,
    CommandResult, CommandRun, CommandSummary, CompleteManualTask, ConnectHost, Connection, ControlAgentSession,
    ControlOutcome, ControlSession, DescribeAgentSession, DescribeManualTask, DisconnectHost, ExecuteCommand,
    HostConnected, HostDisconnected, HostList, KillCommand, KillOutcome, ListAgentSessions, ListAgents, ListCommands,
    ListConnections, ListSessions, ListTargets, ManualTask, PlatformList, Read, ReadCommand, ReadCommandOutput,
    ReadSession, Registry, Result, RunCommand, Service, SessionPage, StartAgent, StartSession, Started, StopOutcome,
    StopSession, Target, TaskCompletion, TokenUsage, WriteOutcome, WriteSession,
};
use sessiond_mcp::{Family, Handler, TextStyle};
use tokio::io::split;

use crate::support::{Server, Wire, management};

/// The registry, but for what is said at each verb.
pub(crate) struct Double {
    registry: Arc<Registry>,
    /// How many reads there were.
    pub(crate) reads: AtomicUsize,
}

impl Double {
    pub(crate) fn over(registry: Arc<Registry>) -> Self {
        Self { registry, reads: AtomicUsize::new(0) }
    }
}

#[async_trait]
impl Service for Double {
    async fn list_targets(&self, cx: &Call, request: ListTargets) -> Result<Vec<Target>> {
        self.registry.list_targets(cx, request).await
    }

    /// Panics after the first wait.
    async fn execute_command(&self, _: &Call, _: ExecuteCommand) -> Result<CommandResult> {
        tokio::task::yield_now().await;
        panic!("a fault in the middle of a command")
    }

    async fn start_session(&self, cx: &Call, request: StartSession) -> Result<Started> {
        self.registry.start_session(cx, request).await
    }

    /// Counts.
    async fn read_session(&self, cx: &Call, request: ReadSession) -> Result<Read> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.registry.read_session(cx, request).await
    }

    async fn write_session(&self, cx: &Call, request: WriteSession) -> Result<WriteOutcome> {
        self.registry.write_session(cx, request).await
    }

    async fn control_session(&self, cx: &Call, request: ControlSession) -> Result<ControlOutcome> {
        self.registry.control_session(cx, request).await
    }

    async fn stop_session(&self, cx: &Call, request: StopSession) -> Result<StopOutcome> {
        self.registry.stop_session(cx, request).await
    }

    /// Panics at once.
    async fn list_sessions(&self, _: &Call, _: ListSessions) -> Result<SessionPage> {
        panic!("a fault in a list")
    }

    async fn list_hosts(&self, cx: &Call) -> Result<HostList> {
        self.registry.list_hosts(cx).await
    }

    async fn connect_host(&self, cx: &Call, request: ConnectHost) -> Result<HostConnected> {
        self.registry.connect_host(cx, request).await
    }

    async fn list_connections(&self, cx: &Call, request: ListConnections) -> Result<Vec<Connection>> {
        self.registry.list_connections(cx, request).await
    }

    async fn disconnect_host(&self, cx: &Call, request: DisconnectHost) -> Result<HostDisconnected> {
        self.registry.disconnect_host(cx, request).await
    }

    async fn run_command(&self, cx: &Call, request: RunCommand) -> Result<CommandRun> {
        self.registry.run_command(cx, request).await
    }

    async fn check_command(&self, cx: &Call, request: CheckCommand) -> Result<Option<CommandInfo>> {
        self.registry.check_command(cx, request).await
    }

    async fn read_command(&self, cx: &Call, request: ReadCommand) -> Result<CommandLines> {
        self.registry.read_command(cx, request).await
    }

    async fn read_command_output(&self, cx: &Call, request: ReadCommandOutput) -> Result<Read> {
        self.registry.read_command_output(cx, request).await
    }

    async fn kill_command(&self, cx: &Call, request: KillCommand) -> Result<KillOutcome> {
        self.registry.kill_command(cx, request).await
    }

    async fn list_commands(&self, cx: &Call, request: ListCommands) -> Result<Vec<CommandSummary>> {
        self.registry.list_commands(cx, request).await
    }

    async fn clear_commands(&self, cx: &Call) -> Result<usize> {
        self.registry.clear_commands(cx).await
    }

    async fn list_platforms(&self, cx: &Call) -> Result<PlatformList> {
        self.registry.list_platforms(cx).await
    }

    async fn list_agent_sessions(&self, cx: &Call, request: ListAgentSessions) -> Result<AgentSessionPage> {
        self.registry.list_agent_sessions(cx, request).await
    }

    async fn describe_agent_session(&self, cx: &Call, request: DescribeAgentSession) -> Result<AgentSessionDetail> {
        self.registry.describe_agent_session(cx, request).await
    }

    async fn agent_token_usage(&self, cx: &Call, request: DescribeAgentSession) -> Result<TokenUsage> {
        self.registry.agent_token_usage(cx, request).await
    }

    async fn list_agents(&self, cx: &Call, request: ListAgents) -> Result<Vec<Agent>> {
        self.registry.list_agents(cx, request).await
    }

    async fn start_agent(&self, cx: &Call, request: StartAgent) -> Result<AgentRun> {
        self.registry.start_agent(cx, request).await
    }

    async fn control_agent_session(&self, cx: &Call, request: ControlAgentSession) -> Result<AgentRun> {
        self.registry.control_agent_session(cx, request).await
    }

    async fn describe_manual_task(&self, cx: &Call, request: DescribeManualTask) -> Result<ManualTask> {
        self.registry.describe_manual_task(cx, request).await
    }

    async fn complete_manual_task(&self, cx: &Call, request: CompleteManualTask) -> Result<TaskCompletion> {
        self.registry.complete_manual_task(cx, request).await
    }
}

#[tokio::test]
async fn a_call_that_panics_is_answered_and_the_next_one_works() {
    let mut server = Server::new();
    let double = Arc::new(Double::over(server.registry.clone()));
    let handler = Handler::new(double, management(), &[Family::Session], TextStyle::Short);
    let (output, input) = split(server.connect(handler));
    let mut wire = Wire::over(output, input);
    wire.initialize("2025-11-25").await;
    let said = "the call has broken off by a fault of sessiond, whose log says where: please report it; what the call was \
                to do may be done or not, and other calls are not affected";
    for (id, tool, arguments) in [(1, "execute_command", json!({"command": "true"})), (2, "session_list", json!({}))] {
        wire.tool(id, tool, arguments).await;
        let answer = wire.receive().await.unwrap();
        let expected = json!({
            "content": [{"type": "text", "text": said}], "isError": true, "_meta": {"sessiond/error": "internal"},
        });
        assert_eq!((&answer["id"], &answer["result"]), (&json!(id), &expected));
    }
    wire.tool(3, "list_clients", json!({})).await;
    assert_eq!(wire.receive().await.unwrap()["result"]["isError"], false);
}
