//! A service whose verbs are spans.

use std::sync::Arc;

use async_trait::async_trait;
use sessiond_core::*;
use tracing::field::Empty;
use tracing::{Span, info_span};

use super::spans::{TARGET, within};

/// The decorator. `kind` is the kind of span: `internal`, or `client` where the service is another server.
struct Traced {
    inner: Arc<dyn Service>,
    kind: &'static str,
}

/// Puts a span around each verb.
pub(super) fn traced(inner: Arc<dyn Service>, kind: &'static str) -> Arc<dyn Service> {
    Arc::new(Traced { inner, kind })
}

impl Traced {
    fn span(&self, cx: &Call, verb: Verb) -> Span {
        info_span!(
            target: TARGET,
            "verb",
            otel.name = verb.as_str(),
            otel.kind = self.kind,
            otel.status_code = Empty,
            sessiond.verb = verb.as_str(),
            sessiond.owner = &**cx.owner.name(),
            sessiond.target = Empty,
            sessiond.outcome = Empty,
        )
    }
}

/// Wraps the methods: each line a method, what it takes, what it answers, the verb, and whether its request can name a
/// target.
///
/// The target is said of a verb that did what it should. In any other the name is only what the caller wrote, which may
/// be anything, a secret in the wrong place included.
macro_rules! traced {
    ($($method:ident($($request:ident: $asked:ty)?) -> $answer:ty, $verb:ident, $names:tt;)*) => {
        #[async_trait]
        impl Service for Traced {
            $(
                async fn $method(&self, cx: &Call $(, $request: $asked)?) -> Result<$answer> {
                    let target: Option<TargetName> = traced!(@ $names $($request)?);
                    let target = target.or_else(|| cx.owner.only().cloned());
                    let done = |span: &Span| {
                        if let Some(target) = &target {
                            span.record("sessiond.target", target.as_str());
                        }
                    };
                    within(|| self.span(cx, Verb::$verb), self.inner.$method(cx $(, $request)?), done).await
                }
            )*
        }
    };
    (@ target $request:ident) => { $request.target.clone() };
    (@ - $($request:ident)?) => { None };
}

traced! {
    list_targets(request: ListTargets) -> Vec<Target>, ListTargets, target;
    execute_command(request: ExecuteCommand) -> CommandResult, ExecuteCommand, target;
    start_session(request: StartSession) -> Started, StartSession, target;
    read_session(request: ReadSession) -> Read, ReadSession, target;
    write_session(request: WriteSession) -> WriteOutcome, WriteSession, target;
    control_session(request: ControlSession) -> ControlOutcome, ControlSession, target;
    stop_session(request: StopSession) -> StopOutcome, StopSession, target;
    list_sessions(request: ListSessions) -> SessionPage, ListSessions, target;
    list_hosts() -> HostList, ListHosts, -;
    connect_host(request: ConnectHost) -> HostConnected, ConnectHost, target;
    list_connections(request: ListConnections) -> Vec<Connection>, ListConnections, target;
    disconnect_host(request: DisconnectHost) -> HostDisconnected, DisconnectHost, target;
    run_command(request: RunCommand) -> CommandRun, RunCommand, target;
    check_command(request: CheckCommand) -> Option<CommandInfo>, CheckCommand, -;
    read_command(request: ReadCommand) -> CommandLines, ReadCommand, -;
    read_command_output(request: ReadCommandOutput) -> Read, ReadCommandOutput, -;
    kill_command(request: KillCommand) -> KillOutcome, KillCommand, -;
    list_commands(request: ListCommands) -> Vec<CommandSummary>, ListCommands, target;
    clear_commands() -> usize, ClearCommands, -;
    list_platforms() -> PlatformList, ListPlatforms, -;
    list_agent_sessions(request: ListAgentSessions) -> AgentSessionPage, ListAgentSessions, target;
    describe_agent_session(request: DescribeAgentSession) -> AgentSessionDetail, DescribeAgentSession, target;
    agent_token_usage(request: DescribeAgentSession) -> TokenUsage, AgentTokenUsage, target;
    list_agents(request: ListAgents) -> Vec<Agent>, ListAgents, target;
    start_agent(request: StartAgent) -> AgentRun, StartAgent, target;
    control_agent_session(request: ControlAgentSession) -> AgentRun, ControlAgentSession, target;
    describe_manual_task(request: DescribeManualTask) -> ManualTask, DescribeManualTask, target;
    complete_manual_task(request: CompleteManualTask) -> TaskCompletion, CompleteManualTask, target;
}
