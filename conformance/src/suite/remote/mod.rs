//! The verbs of `Service` over MCP messages: the abstract caller of the suite, for every transport that speaks MCP.
//!
//! - `arguments`: requests as the arguments of tools
//! - `fields`: the fields of a result, typed
//! - `session`, `ssh`, `agent`: the answers of a family's tools

mod agent;
mod arguments;
mod fields;
mod session;
mod ssh;

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use sessiond_core::{
    Agent, AgentRun, AgentSessionDetail, AgentSessionPage, Call, CheckCommand, CommandInfo, CommandLines,
    CommandResult, CommandRun, CommandSummary, CompleteManualTask, ConnectHost, Connection, ControlAgentSession,
    ControlOutcome, ControlSession, Cursor, DescribeAgentSession, DescribeManualTask, DisconnectHost, Error,
    ExecuteCommand, HostConnected, HostDisconnected, HostList, KillCommand, KillOutcome, Launch, ListAgentSessions,
    ListAgents, ListCommands, ListConnections, ListSessions, ListTargets, ManualTask, Owner, PlatformList, Read,
    ReadCommand, ReadCommandOutput, ReadSession, Result, RunCommand, Service, SessionPage, StartAgent, StartSession,
    Started, StopOutcome, StopSession, StopStatus, Target, TaskCompletion, TokenUsage, WriteOutcome, WriteSession,
};

use super::client::{Client, ToolResult, tool_result};
use arguments::{action, arguments, environment, host, input, milliseconds, seconds, token, waiting};
use fields::{Fields, error_kind};
use session::{status_name, summary, target};

/// A sessiond behind an MCP connection.
pub struct Remote {
    client: Client,
    /// What others are connected by, where there are some.
    others: Vec<(Owner, Client)>,
}

impl Remote {
    /// Over a connected client.
    pub fn new(client: Client) -> Self {
        Self { client, others: Vec::new() }
    }

    /// The same, where a call of one of these owners goes over that owner's client.
    pub(crate) fn with(self, others: Vec<(Owner, Client)>) -> Self {
        Self { others, ..self }
    }

    /// The client of whoever calls.
    fn client(&self, cx: &Call) -> &Client {
        let other = self.others.iter().find(|(owner, _)| *owner == cx.owner);
        other.map_or(&self.client, |(_, client)| client)
    }

    /// Calls a tool; a call that is taken back is taken back there too.
    async fn call(&self, cx: &Call, tool: &str, arguments: Map<String, Value>) -> Result<ToolResult> {
        let (params, client) = (json!({ "name": tool, "arguments": arguments }), self.client(cx));
        let (id, answer) = client.begin("tools/call", params).await;
        let answer = tokio::select! {
            answer = answer => answer,
            () = cx.cancel.cancelled() => {
                client.cancel(id).await;
                return Err(Error::unavailable("the call was taken back"));
            }
        };
        let result = answer.map(tool_result).map_err(|error| Error::internal(error.to_string()))?;
        match result.kind() {
            Some(kind) => Err(Error::new(error_kind(kind), result.text)),
            None => Ok(result),
        }
    }
}

#[async_trait]
impl Service for Remote {
    async fn list_targets(&self, cx: &Call, request: ListTargets) -> Result<Vec<Target>> {
        let all = arguments([token(request.target), ("wait_ms", milliseconds(request.wait))]);
        let result = self.call(cx, "list_clients", all).await?;
        Ok(result.each("clients", target))
    }

    async fn execute_command(&self, cx: &Call, request: ExecuteCommand) -> Result<CommandResult> {
        let all = arguments([
            token(request.target),
            ("client_id", request.client_id.map(Value::from)),
            ("command", Some(json!(request.invocation.command))),
            ("cwd", request.invocation.cwd.map(Value::from)),
            ("env", environment(&request.invocation.env)),
            ("stdin", input(&request.stdin)),
            ("timeout_ms", Some(json!(request.time_limit.unwrap_or_default().as_millis() as u64))),
        ]);
        let result = self.call(cx, "execute_command", all).await?;
        let structured = result.whole();
        let fields = Fields(&structured);
        Ok(CommandResult {
            stdout: fields.text("stdout").into(),
            stderr: fields.text("stderr").into(),
            truncated: fields.flag("truncated"),
            end: fields.end().unwrap_or_else(|| panic!("a command without an end: {structured}")),
            // Their pids stand in the text, for people.
            descendants: Vec::new(),
        })
    }

    async fn start_session(&self, cx: &Call, request: StartSession) -> Result<Started> {
        let (invocation, native) = match request.what {
            Launch::Start(invocation) => (Some(invocation), None),
            Launch::Attach(native) => (None, Some(native.0)),
        };
        let all = arguments([
            token(request.target),
            ("client_id", request.client_id.map(Value::from)),
            ("command", invocation.as_ref().map(|invocation| json!(invocation.command))),
            ("cwd", invocation.as_ref().and_then(|invocation| invocation.cwd.clone()).map(Value::from)),
            ("env", invocation.as_ref().and_then(|invocation| environment(&invocation.env))),
            ("native_id", native.map(Value::from)),
            ("timeout_ms", request.time_limit.map(|limit| json!(limit.as_millis() as u64))),
            ("cols", Some(json!(request.size.cols()))),
            ("rows", Some(json!(request.size.rows()))),
            ("label", request.label.map(Value::from)),
            ("login", request.login.then_some(json!(true))),
        ]);
        let result = self.call(cx, "session_start", waiting(all, &request.wait)).await?;
        let structured = result.whole();
        let fields = Fields(&structured);
        let session = fields.text("session_id").parse().unwrap_or_else(|_| panic!("no session id in {structured}"));
        Ok(Started { session, read: fields.read(&result, Cursor::START) })
    }

    async fn read_session(&self, cx: &Call, request: ReadSession) -> Result<Read> {
        let all = arguments([
            ("session_id", Some(json!(request.session.to_string()))),
            token(request.target),
            ("cursor", Some(json!(request.cursor.0))),
        ]);
        let result = self.call(cx, "session_read", waiting(all, &request.wait)).await?;
        let structured = result.whole();
        let read = Fields(&structured).read(&result, request.cursor);
        Ok(read.unwrap_or_else(|| panic!("a read without output: {structured}")))
    }

    async fn write_session(&self, cx: &Call, request: WriteSession) -> Result<WriteOutcome> {
        let all = arguments([
            ("session_id", Some(json!(request.session.to_string()))),
            token(request.target),
            ("input", Some(json!(String::from_utf8_lossy(&request.input)))),
        ]);
        let result = self.call(cx, "session_write", waiting(all, &request.wait)).await?;
        let structured = result.whole();
        let fields = Fields(&structured);
        let stalled = (!fields.flag("accepted")).then(|| fields.text("detail"));
        Ok(WriteOutcome { bytes: fields.number("bytes"), stalled, read: fields.read(&result, Cursor::START) })
    }

    async fn control_session(&self, cx: &Call, request: ControlSession) -> Result<ControlOutcome> {
        let mut all = arguments([("session_id", Some(json!(request.session.to_string()))), token(request.target)]);
        all.extend(action(&request.action));
        let result = self.call(cx, "session_control", waiting(all, &request.wait)).await?;
        let structured = result.whole();
        let fields = Fields(&structured);
        Ok(ControlOutcome {
            accepted: fields.flag("accepted"),
            detail: fields.maybe_text("detail"),
            read: fields.read(&result, Cursor::START),
        })
    }

    async fn stop_session(&self, cx: &Call, request: StopSession) -> Result<StopOutcome> {
        let all = arguments([
            ("session_id", Some(json!(request.session.to_string()))),
            token(request.target),
            ("wait_ms", Some(json!(request.wait.as_millis() as u64))),
        ]);
        let result = self.call(cx, "session_stop", all).await?;
        let structured = result.whole();
        let fields = Fields(&structured);
        let status = match fields.text("status").as_str() {
            "stopping" => StopStatus::Stopping,
            "stopped" => StopStatus::Stopped,
            "finished" => StopStatus::Finished,
            other => panic!("no such status: {other}"),
        };
        assert_eq!(fields.flag("done"), fields.is("exit_code"), "done and the terminal fields belong together");
        Ok(StopOutcome {
            accepted: fields.flag("accepted"),
            already_done: fields.flag("already_done"),
            status,
            end: fields.end(),
            survivors: Vec::new(),
        })
    }

    async fn list_sessions(&self, cx: &Call, request: ListSessions) -> Result<SessionPage> {
        let all = arguments([
            token(request.target),
            ("client_id", request.client_id.map(Value::from)),
            ("status", request.status.map(|status| json!(status_name(status)))),
            ("limit", request.limit.map(|limit| json!(limit))),
            ("page_token", request.page_token.map(Value::from)),
        ]);
        let result = self.call(cx, "session_list", all).await?;
        Ok(SessionPage {
            sessions: result.each("sessions", summary),
            next_page_token: result.get("next_page_token").as_str().map(str::to_owned),
        })
    }

    async fn list_hosts(&self, cx: &Call) -> Result<HostList> {
        let result = self.call(cx, "ssh_host_list", Map::new()).await?;
        Ok(HostList { hosts: result.each("hosts", ssh::host) })
    }

    async fn connect_host(&self, cx: &Call, request: ConnectHost) -> Result<HostConnected> {
        let result = self.call(cx, "ssh_conn_connect", arguments([host(request.target)])).await?;
        Ok(ssh::connected(&result.whole()))
    }

    async fn list_connections(&self, cx: &Call, request: ListConnections) -> Result<Vec<Connection>> {
        let result = self.call(cx, "ssh_conn_status", arguments([host(request.target)])).await?;
        Ok(result.each("connections", ssh::connection))
    }

    async fn disconnect_host(&self, cx: &Call, request: DisconnectHost) -> Result<HostDisconnected> {
        let result = self.call(cx, "ssh_host_disconnect", arguments([host(request.target)])).await?;
        Ok(ssh::disconnected(&result.whole()))
    }

    async fn run_command(&self, cx: &Call, request: RunCommand) -> Result<CommandRun> {
        let all = arguments([
            host(request.target),
            ("command", Some(json!(request.invocation.command))),
            ("cwd", request.invocation.cwd.map(Value::from)),
            ("env", environment(&request.invocation.env)),
            ("stdin", input(&request.stdin)),
            ("io_timeout", Some(seconds(request.silence))),
            ("wait_timeout", request.wait.map(seconds)),
            ("runtime_timeout", request.time_limit.map(seconds)),
        ]);
        let result = self.call(cx, "ssh_cmd_run", all).await?;
        Ok(ssh::run(&result.whole()))
    }

    async fn check_command(&self, cx: &Call, request: CheckCommand) -> Result<Option<CommandInfo>> {
        let all =
            arguments([("handle_id", Some(json!(request.handle.0))), ("wait_seconds", Some(seconds(request.wait)))]);
        let result = self.call(cx, "ssh_cmd_check_status", all).await?;
        Ok(ssh::checked(&result.whole()))
    }

    async fn read_command(&self, cx: &Call, request: ReadCommand) -> Result<CommandLines> {
        let all = arguments([
            ("handle_id", Some(json!(request.handle.0))),
            ("stream", Some(json!(ssh::stream_name(request.stream)))),
            ("lines", request.lines.map(Value::from)),
            ("start_line", request.start_line.map(Value::from)),
        ]);
        let result = self.call(cx, "ssh_cmd_output", all).await?;
        // The number of the first line is on the wire only where the caller gave it.
        Ok(CommandLines { first: request.start_line.unwrap_or_default(), lines: ssh::lines(result.get("result")) })
    }

    /// The tools know a command's output by its lines only.
    async fn read_command_output(&self, _: &Call, _: ReadCommandOutput) -> Result<Read> {
        Err(Error::unsupported("over MCP a command's output is read by lines"))
    }

    async fn kill_command(&self, cx: &Call, request: KillCommand) -> Result<KillOutcome> {
        let all = arguments([
            ("handle_id", Some(json!(request.handle.0))),
            ("signal", Some(json!(request.signal.name()))),
            ("force", Some(json!(request.force))),
            ("wait_seconds", Some(seconds(request.wait))),
        ]);
        let result = self.call(cx, "ssh_cmd_kill", all).await?;
        Ok(ssh::killed(&result.whole(), request.signal))
    }

    async fn list_commands(&self, cx: &Call, request: ListCommands) -> Result<Vec<CommandSummary>> {
        let all = arguments([
            host(request.target),
            ("limit", request.limit.map(Value::from)),
            ("include_output", Some(json!(request.output_lines.is_some()))),
            ("output_lines", request.output_lines.map(Value::from)),
            ("reverse", Some(json!(request.reverse))),
            ("pattern", request.pattern.map(|pattern| json!(pattern.as_str()))),
        ]);
        let result = self.call(cx, "ssh_cmd_history", all).await?;
        Ok(result.each("result", ssh::listed))
    }

    async fn clear_commands(&self, cx: &Call) -> Result<usize> {
        let result = self.call(cx, "ssh_cmd_clear_history", Map::new()).await?;
        Ok(Fields(&result.whole()).number("cleared_entries") as usize)
    }

    /// No tool lists platforms: they are targets like any other.
    async fn list_platforms(&self, cx: &Call) -> Result<PlatformList> {
        let targets = self.list_targets(cx, ListTargets::default()).await?;
        let platforms = targets.into_iter().map(|target| target.info).filter(|info| info.platform.is_some());
        Ok(PlatformList { platforms: platforms.collect() })
    }

    async fn list_agent_sessions(&self, cx: &Call, request: ListAgentSessions) -> Result<AgentSessionPage> {
        Ok(agent::page(&self.call(cx, "get_sessions", agent::list(request)).await?))
    }

    async fn describe_agent_session(&self, cx: &Call, request: DescribeAgentSession) -> Result<AgentSessionDetail> {
        Ok(agent::described(&self.call(cx, "describe_session", agent::about(request)).await?))
    }

    async fn agent_token_usage(&self, cx: &Call, request: DescribeAgentSession) -> Result<TokenUsage> {
        Ok(agent::usage(&self.call(cx, "describe_session_token_usage", agent::about(request)).await?))
    }

    async fn list_agents(&self, cx: &Call, request: ListAgents) -> Result<Vec<Agent>> {
        let result = self.call(cx, "get_agents", arguments([token(request.target)])).await?;
        Ok(result.each("result", agent::agent))
    }

    async fn start_agent(&self, cx: &Call, request: StartAgent) -> Result<AgentRun> {
        Ok(agent::run(&self.call(cx, "start_agent", agent::start(request)).await?))
    }

    async fn control_agent_session(&self, cx: &Call, request: ControlAgentSession) -> Result<AgentRun> {
        Ok(agent::run(&self.call(cx, "control_session", agent::control(request)).await?))
    }

    async fn describe_manual_task(&self, cx: &Call, request: DescribeManualTask) -> Result<ManualTask> {
        let all = arguments([token(request.target), ("work_item_id", Some(json!(request.work_item)))]);
        Ok(agent::task(&self.call(cx, "describe_manual_task", all).await?))
    }

    async fn complete_manual_task(&self, cx: &Call, request: CompleteManualTask) -> Result<TaskCompletion> {
        Ok(agent::completion(&self.call(cx, "complete_manual_task", agent::complete(request)).await?))
    }
}
