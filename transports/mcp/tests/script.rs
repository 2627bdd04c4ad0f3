//! A service that says what a test tells it to about hosts and platforms, and remembers what it was asked.

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use serde_json::{Map, Value};
use sessiond_core::{
    Agent, AgentRun, AgentSessionDetail, AgentSessionPage, Call, Cause, CheckCommand, CommandInfo, CommandLines,
    CommandResult, CommandRun, CommandStatus, CommandSummary, CompleteManualTask, ConnectHost, Connection,
    ControlAgentSession, ControlOutcome, ControlSession, DescribeAgentSession, DescribeManualTask, DisconnectHost, End,
    Error, ExecuteCommand, Exit, Handle, HostConnected, HostDisconnected, HostList, KillCommand, KillOutcome,
    LineFacts, ListAgentSessions, ListAgents, ListCommands, ListConnections, ListSessions, ListTargets, ManualTask,
    Owner, PlatformInfo, PlatformList, Read, ReadCommand, ReadCommandOutput, ReadSession, Result, RunCommand, Service,
    SessionPage, StartAgent, StartSession, Started, StopOutcome, StopSession, Target, TargetInfo, TaskCompletion,
    TokenUsage, WriteOutcome, WriteSession,
};
use sessiond_mcp::{Family, Handler, TextStyle};

use crate::support::{Client, Era, Reply, Server, management, refusal, target};

macro_rules! script {
    (
        told { $($told:ident($request:ty) -> $answer:ty as $variant:ident;)* }
        refused { $($refused:ident($refused_request:ty) -> $refused_answer:ty;)* }
    ) => {
        /// A verb that was called, with its request.
        #[derive(Clone, Debug, PartialEq)]
        pub(crate) enum Asked {
            Hosts,
            Clear,
            $($variant($request),)*
        }

        /// What the next call of a verb is answered with.
        #[derive(Clone, Debug)]
        pub(crate) enum Say {
            Hosts(HostList),
            Clear(usize),
            Fail(Error),
            $($variant($answer),)*
        }

        #[async_trait]
        impl Service for Script {
            $(
                async fn $told(&self, _: &Call, request: $request) -> Result<$answer> {
                    match self.turn(Asked::$variant(request))? {
                        Say::$variant(answer) => Ok(answer),
                        other => panic!("the script says {other:?}"),
                    }
                }
            )*
            $(
                async fn $refused(&self, _: &Call, _: $refused_request) -> Result<$refused_answer> {
                    panic!("the script has no sessions")
                }
            )*

            async fn list_hosts(&self, _: &Call) -> Result<HostList> {
                match self.turn(Asked::Hosts)? {
                    Say::Hosts(hosts) => Ok(hosts),
                    other => panic!("the script says {other:?}"),
                }
            }

            async fn list_platforms(&self, _: &Call) -> Result<PlatformList> {
                Ok(self.platforms.lock().unwrap().clone())
            }

            async fn clear_commands(&self, _: &Call) -> Result<usize> {
                match self.turn(Asked::Clear)? {
                    Say::Clear(count) => Ok(count),
                    other => panic!("the script says {other:?}"),
                }
            }
        }
    };
}

script! {
    told {
        connect_host(ConnectHost) -> HostConnected as Connect;
        list_connections(ListConnections) -> Vec<Connection> as Connections;
        disconnect_host(DisconnectHost) -> HostDisconnected as Disconnect;
        run_command(RunCommand) -> CommandRun as Run;
        check_command(CheckCommand) -> Option<CommandInfo> as Check;
        read_command(ReadCommand) -> CommandLines as Lines;
        kill_command(KillCommand) -> KillOutcome as Kill;
        list_commands(ListCommands) -> Vec<CommandSummary> as History;
        list_agent_sessions(ListAgentSessions) -> AgentSessionPage as AgentSessions;
        describe_agent_session(DescribeAgentSession) -> AgentSessionDetail as AgentSession;
        agent_token_usage(DescribeAgentSession) -> TokenUsage as Usage;
        list_agents(ListAgents) -> Vec<Agent> as Agents;
        start_agent(StartAgent) -> AgentRun as StartAgent;
        control_agent_session(ControlAgentSession) -> AgentRun as Steer;
        describe_manual_task(DescribeManualTask) -> ManualTask as Task;
        complete_manual_task(CompleteManualTask) -> TaskCompletion as Complete;
    }
    refused {
        list_targets(ListTargets) -> Vec<Target>;
        execute_command(ExecuteCommand) -> CommandResult;
        start_session(StartSession) -> Started;
        read_session(ReadSession) -> Read;
        read_command_output(ReadCommandOutput) -> Read;
        write_session(WriteSession) -> WriteOutcome;
        control_session(ControlSession) -> ControlOutcome;
        stop_session(StopSession) -> StopOutcome;
        list_sessions(ListSessions) -> SessionPage;
    }
}

/// The service: its next answer, and what it was asked for it.
#[derive(Default)]
pub(crate) struct Script {
    next: Mutex<Option<Say>>,
    asked: Mutex<Option<Asked>>,
    /// Told as often as somebody asks: it costs nothing.
    platforms: Mutex<PlatformList>,
}

impl Script {
    fn turn(&self, asked: Asked) -> Result<Say> {
        *self.asked.lock().unwrap() = Some(asked);
        match self.next.lock().unwrap().take().expect("the script says what comes next") {
            Say::Fail(error) => Err(error),
            say => Ok(say),
        }
    }
}

/// A client of a scripted service.
pub(crate) struct Stage {
    script: Arc<Script>,
    pub(crate) client: Client,
    /// Serves the client.
    _server: Server,
}

impl Stage {
    pub(crate) async fn new() -> Self {
        Self::of(management()).await
    }

    pub(crate) async fn of(owner: Owner) -> Self {
        Self::telling(owner, TextStyle::Short).await
    }

    pub(crate) async fn telling(owner: Owner, style: TextStyle) -> Self {
        let (script, mut server) = (Arc::new(Script::default()), Server::new());
        let pipe = server.connect(Handler::new(script.clone(), owner, &Family::ALL, style));
        Self { client: Client::connect(pipe, Era::legacy()).await, script, _server: server }
    }

    /// From now on there are these platforms, each with what it speaks.
    pub(crate) fn platforms<const N: usize>(&self, platforms: [(&str, &str); N]) {
        let platforms = platforms.map(|(name, dialect)| {
            let platform = Some(PlatformInfo { dialect: dialect.to_owned() });
            TargetInfo { platform, ..TargetInfo::new(target(name), "agent-platform") }
        });
        *self.script.platforms.lock().unwrap() = PlatformList { platforms: platforms.into() };
    }

    /// What a call is answered with when the service says this.
    pub(crate) async fn answer(&self, say: Say, tool: &str, arguments: Value) -> Reply {
        *self.script.next.lock().unwrap() = Some(say);
        let reply = self.client.call(tool, arguments).await;
        assert!(self.script.next.lock().unwrap().is_none(), "the service was not asked: {reply:?}");
        reply
    }

    /// What a call asks of the service.
    pub(crate) async fn asked(&self, tool: &str, arguments: Value) -> Asked {
        self.answer(Say::Fail(Error::unavailable("scripted")), tool, arguments).await;
        self.script.asked.lock().unwrap().take().unwrap()
    }

    /// What a call is refused with that the service never sees.
    pub(crate) async fn refused(&self, tool: &str, arguments: Value) -> String {
        self.script.asked.lock().unwrap().take();
        let reply = self.client.call(tool, arguments).await;
        let (kind, text) = refusal(&reply);
        assert_eq!(*self.script.asked.lock().unwrap(), None, "{tool}");
        format!("{kind}: {text}")
    }
}

/// When [`info`] started and ended, as it is written.
pub(crate) const STARTED: &str = "1970-01-01T00:00:10.000Z";
pub(crate) const ENDED: &str = "1970-01-01T00:00:12.500Z";

fn at(millis: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(millis)
}

pub(crate) fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Command 77 on `box` as it stands.
pub(crate) fn info(status: CommandStatus, exit: Option<Exit>, cause: Cause) -> CommandInfo {
    let ended_at = exit.as_ref().map(|_| at(12_500));
    CommandInfo {
        handle: Handle(77),
        target: target("box"),
        command: "make".into(),
        cwd: None,
        status,
        end: exit.map(|exit| End { exit, cause }),
        pid: Some(4711),
        started_at: at(10_000),
        ended_at,
        stdout: LineFacts { total: 2, dropped: 0 },
        stderr: LineFacts { total: 1, dropped: 0 },
    }
}

pub(crate) fn running() -> CommandInfo {
    info(CommandStatus::Running, None, Cause::Own)
}

pub(crate) fn exited(code: i32) -> CommandInfo {
    info(CommandStatus::Completed, Some(Exit::Exited(code)), Cause::Own)
}

pub(crate) fn lost() -> CommandInfo {
    info(CommandStatus::Lost, Some(Exit::Lost("the connection broke".into())), Cause::Own)
}

pub(crate) fn object(value: Value) -> Map<String, Value> {
    let Value::Object(map) = value else { panic!("an object") };
    map
}
