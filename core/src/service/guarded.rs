//! Lets a call through only when its owner's role permits it.

use std::sync::Arc;

use async_trait::async_trait;

use super::*;

/// A service behind which nobody does what its role does not permit ([`Owner::may`](crate::Owner::may)).
///
/// A refusal comes before anything is looked at, so it tells nothing of what is there.
pub struct Guarded(Arc<dyn Service>);

impl Guarded {
    /// Guards this.
    pub fn new(inner: Arc<dyn Service>) -> Arc<Self> {
        Arc::new(Self(inner))
    }
}

/// Guards the methods: each line a method, what it takes, what it answers, and the verb that must be permitted.
macro_rules! guarded {
    ($($method:ident($($request:ident: $asked:ty)?) -> $answer:ty, $verb:ident;)*) => {
        #[async_trait]
        impl Service for Guarded {
            $(
                async fn $method(&self, cx: &Call $(, $request: $asked)?) -> Result<$answer> {
                    cx.owner.permit(Verb::$verb)?;
                    self.0.$method(cx $(, $request)?).await
                }
            )*
        }
    };
}

guarded! {
    list_targets(request: ListTargets) -> Vec<Target>, ListTargets;
    execute_command(request: ExecuteCommand) -> CommandResult, ExecuteCommand;
    start_session(request: StartSession) -> Started, StartSession;
    read_session(request: ReadSession) -> Read, ReadSession;
    write_session(request: WriteSession) -> WriteOutcome, WriteSession;
    control_session(request: ControlSession) -> ControlOutcome, ControlSession;
    stop_session(request: StopSession) -> StopOutcome, StopSession;
    list_sessions(request: ListSessions) -> SessionPage, ListSessions;
    list_hosts() -> HostList, ListHosts;
    connect_host(request: ConnectHost) -> HostConnected, ConnectHost;
    list_connections(request: ListConnections) -> Vec<Connection>, ListConnections;
    disconnect_host(request: DisconnectHost) -> HostDisconnected, DisconnectHost;
    run_command(request: RunCommand) -> CommandRun, RunCommand;
    check_command(request: CheckCommand) -> Option<CommandInfo>, CheckCommand;
    read_command(request: ReadCommand) -> CommandLines, ReadCommand;
    read_command_output(request: ReadCommandOutput) -> Read, ReadCommandOutput;
    kill_command(request: KillCommand) -> KillOutcome, KillCommand;
    list_commands(request: ListCommands) -> Vec<CommandSummary>, ListCommands;
    clear_commands() -> usize, ClearCommands;
    list_platforms() -> PlatformList, ListPlatforms;
    list_agent_sessions(request: ListAgentSessions) -> AgentSessionPage, ListAgentSessions;
    describe_agent_session(request: DescribeAgentSession) -> AgentSessionDetail, DescribeAgentSession;
    agent_token_usage(request: DescribeAgentSession) -> TokenUsage, AgentTokenUsage;
    list_agents(request: ListAgents) -> Vec<Agent>, ListAgents;
    start_agent(request: StartAgent) -> AgentRun, StartAgent;
    control_agent_session(request: ControlAgentSession) -> AgentRun, ControlAgentSession;
    describe_manual_task(request: DescribeManualTask) -> ManualTask, DescribeManualTask;
    complete_manual_task(request: CompleteManualTask) -> TaskCompletion, CompleteManualTask;
}
