//! The verbs of `Service`, listed once, and what the suite derives from the list: hooks around each verb, and services
//! with one verb that is wrong.

use std::sync::Arc;

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

/// Each line: a verb, its request, its answer, and the names of the hooks before and after it.
macro_rules! verbs {
    ($($verb:ident($($request:ident: $asked:ty)?) -> $answer:ty, $before:ident, $after:ident;)*) => {
        /// Changes of what goes into a verb and of what comes out of it.
        #[derive(Clone, Copy)]
        pub struct Hooks {
            $(
                #[doc = concat!("Before [`Service::", stringify!($verb), "`].")]
                pub $before: fn($(&mut $asked)?),
                #[doc = concat!("After [`Service::", stringify!($verb), "`].")]
                pub $after: fn(&mut Result<$answer>),
            )*
        }

        impl Hooks {
            /// No change.
            pub const NONE: Self = Self { $($before: |$(_: &mut $asked)?| (), $after: |_| (),)* };
        }

        #[async_trait]
        impl Service for Hooked {
            $(
                async fn $verb(&self, cx: &Call $(, mut $request: $asked)?) -> Result<$answer> {
                    (self.hooks.$before)($(&mut $request)?);
                    let mut answer = self.right.$verb(cx $(, $request)?).await;
                    (self.hooks.$after)(&mut answer);
                    answer
                }
            )*
        }

        /// A service with one verb that is wrong; every other goes through.
        #[async_trait]
        pub trait Faulty: Send + Sync {
            /// The right service.
            fn right(&self) -> &dyn Service;

            $(
                #[doc = concat!("See [`Service::", stringify!($verb), "`].")]
                ///
                /// # Errors
                /// As there.
                async fn $verb(&self, cx: &Call $(, $request: $asked)?) -> Result<$answer> {
                    self.right().$verb(cx $(, $request)?).await
                }
            )*
        }

        #[async_trait]
        impl<F: Faulty> Service for Broken<F> {
            $(
                async fn $verb(&self, cx: &Call $(, $request: $asked)?) -> Result<$answer> {
                    self.0.$verb(cx $(, $request)?).await
                }
            )*
        }
    };
}

verbs! {
    list_targets(request: ListTargets) -> Vec<Target>, targets_in, targets_out;
    execute_command(request: ExecuteCommand) -> CommandResult, execute_in, execute_out;
    start_session(request: StartSession) -> Started, start_in, start_out;
    read_session(request: ReadSession) -> Read, read_in, read_out;
    write_session(request: WriteSession) -> WriteOutcome, write_in, write_out;
    control_session(request: ControlSession) -> ControlOutcome, control_in, control_out;
    stop_session(request: StopSession) -> StopOutcome, stop_in, stop_out;
    list_sessions(request: ListSessions) -> SessionPage, list_in, list_out;
    list_hosts() -> HostList, hosts_in, hosts_out;
    connect_host(request: ConnectHost) -> HostConnected, connect_in, connect_out;
    list_connections(request: ListConnections) -> Vec<Connection>, connections_in, connections_out;
    disconnect_host(request: DisconnectHost) -> HostDisconnected, disconnect_in, disconnect_out;
    run_command(request: RunCommand) -> CommandRun, run_in, run_out;
    check_command(request: CheckCommand) -> Option<CommandInfo>, check_in, check_out;
    read_command(request: ReadCommand) -> CommandLines, lines_in, lines_out;
    read_command_output(request: ReadCommandOutput) -> Read, bytes_in, bytes_out;
    kill_command(request: KillCommand) -> KillOutcome, kill_in, kill_out;
    list_commands(request: ListCommands) -> Vec<CommandSummary>, history_in, history_out;
    clear_commands() -> usize, clear_in, clear_out;
    list_platforms() -> PlatformList, platforms_in, platforms_out;
    list_agent_sessions(request: ListAgentSessions) -> AgentSessionPage, records_in, records_out;
    describe_agent_session(request: DescribeAgentSession) -> AgentSessionDetail, describe_in, describe_out;
    agent_token_usage(request: DescribeAgentSession) -> TokenUsage, usage_in, usage_out;
    list_agents(request: ListAgents) -> Vec<Agent>, agents_in, agents_out;
    start_agent(request: StartAgent) -> AgentRun, agent_start_in, agent_start_out;
    control_agent_session(request: ControlAgentSession) -> AgentRun, agent_control_in, agent_control_out;
    describe_manual_task(request: DescribeManualTask) -> ManualTask, task_in, task_out;
    complete_manual_task(request: CompleteManualTask) -> TaskCompletion, complete_in, complete_out;
}

/// A service whose verbs are hooked.
pub(crate) struct Hooked {
    pub(crate) right: Arc<dyn Service>,
    pub(crate) hooks: Hooks,
}

/// Makes a [`Service`] of a faulty one.
pub struct Broken<F>(pub F);
