//! The verbs of `Service`: each encodes its request, makes one call, and decodes its answer.

use async_trait::async_trait;
use sessiond_core::{
    Agent, AgentRun, AgentSessionDetail, AgentSessionPage, Call, CheckCommand, CommandInfo, CommandLines,
    CommandResult, CommandRun, CommandSummary, CompleteManualTask, ConnectHost, Connection, ControlAgentSession,
    ControlOutcome, ControlSession, DescribeAgentSession, DescribeManualTask, DisconnectHost, ExecuteCommand,
    HostConnected, HostDisconnected, HostList, KillCommand, KillOutcome, ListAgentSessions, ListAgents, ListCommands,
    ListConnections, ListSessions, ListTargets, ManualTask, PlatformList, Read, ReadCommand, ReadCommandOutput,
    ReadSession, Result, RunCommand, Service, SessionPage, StartAgent, StartSession, Started, StopOutcome, StopSession,
    Target, TaskCompletion, TokenUsage, WriteOutcome, WriteSession,
};

use super::{GrpcClient, Wire, answer, request, understood};
use crate::convert::Encode;
use crate::proto;
use crate::proto::agent_service_client::AgentServiceClient;
use crate::proto::command_service_client::CommandServiceClient;
use crate::proto::host_service_client::HostServiceClient;
use crate::proto::session_service_client::SessionServiceClient;
use crate::proto::target_service_client::TargetServiceClient;

impl GrpcClient {
    /// The server is the caller's own, so an answer may be as long as its limits allow.
    pub(super) fn sessions(&self) -> SessionServiceClient<Wire> {
        SessionServiceClient::new(self.wire()).max_decoding_message_size(usize::MAX)
    }

    pub(super) fn commands(&self) -> CommandServiceClient<Wire> {
        CommandServiceClient::new(self.wire()).max_decoding_message_size(usize::MAX)
    }

    fn targets(&self) -> TargetServiceClient<Wire> {
        TargetServiceClient::new(self.wire()).max_decoding_message_size(usize::MAX)
    }

    fn hosts(&self) -> HostServiceClient<Wire> {
        HostServiceClient::new(self.wire()).max_decoding_message_size(usize::MAX)
    }

    fn agents(&self) -> AgentServiceClient<Wire> {
        AgentServiceClient::new(self.wire()).max_decoding_message_size(usize::MAX)
    }
}

/// Implements the verbs: each line a verb, its request, its answer and the client that has it. `as` names the message of
/// a request that has another one too; `+` marks a verb that has no request but a message.
macro_rules! verbs {
    (
        $($verb:ident($asked:ty $(as $alias:ident)?) -> $answered:ty, $client:ident;)*
        $(+ $bare:ident($message:ident) -> $told:ty, $bare_client:ident;)*
    ) => {
        #[async_trait]
        impl Service for GrpcClient {
            $(
                async fn $verb(&self, cx: &Call, asked: $asked) -> Result<$answered> {
                    let message = asked.encode();
                    $(let message = proto::$alias::from(message);)?
                    let request = request(cx, message)?;
                    understood(answer(cx, self.$client().$verb(request)).await?)
                }
            )*
            $(
                async fn $bare(&self, cx: &Call) -> Result<$told> {
                    let request = request(cx, proto::$message {})?;
                    understood(answer(cx, self.$bare_client().$bare(request)).await?)
                }
            )*
        }
    };
}

verbs! {
    list_targets(ListTargets) -> Vec<Target>, targets;
    start_session(StartSession) -> Started, sessions;
    read_session(ReadSession) -> Read, sessions;
    write_session(WriteSession) -> WriteOutcome, sessions;
    control_session(ControlSession) -> ControlOutcome, sessions;
    stop_session(StopSession) -> StopOutcome, sessions;
    list_sessions(ListSessions) -> SessionPage, sessions;
    execute_command(ExecuteCommand) -> CommandResult, commands;
    run_command(RunCommand) -> CommandRun, commands;
    check_command(CheckCommand) -> Option<CommandInfo>, commands;
    read_command(ReadCommand) -> CommandLines, commands;
    read_command_output(ReadCommandOutput) -> Read, commands;
    kill_command(KillCommand) -> KillOutcome, commands;
    list_commands(ListCommands) -> Vec<CommandSummary>, commands;
    connect_host(ConnectHost) -> HostConnected, hosts;
    list_connections(ListConnections) -> Vec<Connection>, hosts;
    disconnect_host(DisconnectHost) -> HostDisconnected, hosts;
    list_agent_sessions(ListAgentSessions) -> AgentSessionPage, agents;
    describe_agent_session(DescribeAgentSession) -> AgentSessionDetail, agents;
    agent_token_usage(DescribeAgentSession as AgentTokenUsageRequest) -> TokenUsage, agents;
    list_agents(ListAgents) -> Vec<Agent>, agents;
    start_agent(StartAgent) -> AgentRun, agents;
    control_agent_session(ControlAgentSession) -> AgentRun, agents;
    describe_manual_task(DescribeManualTask) -> ManualTask, agents;
    complete_manual_task(CompleteManualTask) -> TaskCompletion, agents;
    + list_hosts(ListHostsRequest) -> HostList, hosts;
    + clear_commands(ClearCommandsRequest) -> usize, commands;
    + list_platforms(ListPlatformsRequest) -> PlatformList, agents;
}
