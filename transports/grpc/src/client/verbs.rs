//! The verbs of `Service`: each encodes its request, makes one call, and decodes its answer.

use async_trait::async_trait;
use sessiond_core::{
    Call, CheckCommand, CommandInfo, CommandLines, CommandResult, CommandRun, CommandSummary, ConnectHost, Connection,
    ControlOutcome, ControlSession, DisconnectHost, ExecuteCommand, HostConnected, HostDisconnected, HostList,
    KillCommand, KillOutcome, ListCommands, ListConnections, ListSessions, ListTargets, Read, ReadCommand,
    ReadCommandOutput, ReadSession, Result, RunCommand, Service, SessionPage, StartSession, Started, StopOutcome,
    StopSession, Target, WriteOutcome, WriteSession,
};
use tonic::transport::Channel;

use super::{GrpcClient, answer, request, understood};
use crate::convert::Encode;
use crate::proto;
use crate::proto::command_service_client::CommandServiceClient;
use crate::proto::host_service_client::HostServiceClient;
use crate::proto::session_service_client::SessionServiceClient;
use crate::proto::target_service_client::TargetServiceClient;

impl GrpcClient {
    /// The server is the caller's own, so an answer may be as long as its limits allow.
    pub(super) fn sessions(&self) -> SessionServiceClient<Channel> {
        SessionServiceClient::new(self.channel.clone()).max_decoding_message_size(usize::MAX)
    }

    pub(super) fn commands(&self) -> CommandServiceClient<Channel> {
        CommandServiceClient::new(self.channel.clone()).max_decoding_message_size(usize::MAX)
    }

    fn targets(&self) -> TargetServiceClient<Channel> {
        TargetServiceClient::new(self.channel.clone()).max_decoding_message_size(usize::MAX)
    }

    fn hosts(&self) -> HostServiceClient<Channel> {
        HostServiceClient::new(self.channel.clone()).max_decoding_message_size(usize::MAX)
    }
}

/// Implements the verbs: each line a verb, its request, its answer and the client that has it;
/// `+` marks a verb that has no request but a message.
macro_rules! verbs {
    (
        $($verb:ident($asked:ty) -> $answered:ty, $client:ident;)*
        $(+ $bare:ident($message:ident) -> $told:ty, $bare_client:ident;)*
    ) => {
        #[async_trait]
        impl Service for GrpcClient {
            $(
                async fn $verb(&self, cx: &Call, asked: $asked) -> Result<$answered> {
                    let request = request(cx, asked.encode())?;
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
    + list_hosts(ListHostsRequest) -> HostList, hosts;
    + clear_commands(ClearCommandsRequest) -> usize, commands;
}
