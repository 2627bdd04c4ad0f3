//! The verbs of `Service` over MCP messages: the abstract caller of the suite, for every transport that speaks MCP.

use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use bytes::Bytes;
use serde_json::{Map, Value, json};
use sessiond_core::{
    Action, Availability, Call, Cause, CommandResult, ControlOutcome, ControlSession, Cursor, End, Error, ErrorKind,
    ExecuteCommand, Exit, Fired, Launch, ListSessions, ListTargets, Machine, Read, ReadSession, Result, Service,
    SessionPage, SessionSummary, Slice, StartSession, Started, Status, StopOutcome, StopSession, StopStatus, Target,
    TargetInfo, TargetName, TargetStatus, Wait, WriteOutcome, WriteSession,
};

use super::client::{Client, ToolResult, tool_result};

/// A sessiond behind an MCP connection.
pub struct Remote {
    client: Client,
}

impl Remote {
    /// Over a connected client.
    pub fn new(client: Client) -> Self {
        Self { client }
    }

    /// Calls a tool; a call that is taken back is taken back there too.
    async fn call(&self, cx: &Call, tool: &str, arguments: Map<String, Value>) -> Result<ToolResult> {
        let params = json!({ "name": tool, "arguments": arguments });
        let (id, answer) = self.client.begin("tools/call", params).await;
        let answer = tokio::select! {
            answer = answer => answer,
            () = cx.cancel.cancelled() => {
                self.client.cancel(id).await;
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

/// Arguments, with what is `None` left out.
fn arguments(all: impl IntoIterator<Item = (&'static str, Option<Value>)>) -> Map<String, Value> {
    all.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

fn token(target: Option<TargetName>) -> (&'static str, Option<Value>) {
    ("client_token", target.map(|name| json!(name.as_str())))
}

fn milliseconds(time: Duration) -> Option<Value> {
    (!time.is_zero()).then(|| json!(time.as_millis() as u64))
}

fn waiting(mut all: Map<String, Value>, wait: &Wait) -> Map<String, Value> {
    let until = wait.until.as_ref().map(|until| {
        let mut all = arguments([
            ("pattern", until.pattern.as_ref().map(|pattern| json!(pattern.as_str()))),
            ("quiet_ms", until.quiet.map(|quiet| json!(quiet.as_millis() as u64))),
        ]);
        if until.end {
            all.insert("end".to_owned(), json!(true));
        }
        Value::Object(all)
    });
    let rest = [
        ("wait_ms", milliseconds(wait.time)),
        ("until", until),
        ("max_bytes", wait.max_bytes.map(|bytes| json!(bytes))),
    ];
    all.extend(arguments(rest));
    all
}

fn environment(env: &[(String, String)]) -> Option<Value> {
    let map: Map<String, Value> = env.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    (!map.is_empty()).then_some(Value::Object(map))
}

fn error_kind(name: &str) -> ErrorKind {
    ErrorKind::ALL.into_iter().find(|kind| kind.as_str() == name).unwrap_or_else(|| panic!("no such kind: {name}"))
}

/// Reads the fields of a result, each of which must be of its type.
struct Fields<'a>(&'a Value);

impl Fields<'_> {
    fn text(&self, name: &str) -> String {
        self.maybe_text(name).unwrap_or_else(|| panic!("{name} is no string in {}", self.0))
    }

    fn maybe_text(&self, name: &str) -> Option<String> {
        self.0.get(name).and_then(Value::as_str).map(str::to_owned)
    }

    fn number(&self, name: &str) -> u64 {
        self.0.get(name).and_then(Value::as_u64).unwrap_or_else(|| panic!("{name} is no number in {}", self.0))
    }

    fn flag(&self, name: &str) -> bool {
        self.0.get(name).and_then(Value::as_bool).unwrap_or_else(|| panic!("{name} is no boolean in {}", self.0))
    }

    fn is(&self, name: &str) -> bool {
        self.0.get(name).is_some()
    }

    /// The end, where the terminal fields are there.
    fn end(&self) -> Option<End> {
        let code = self.0.get("exit_code").and_then(Value::as_i64)?;
        let code = i32::try_from(code).unwrap_or_else(|_| panic!("exit_code is out of range in {}", self.0));
        Some(end(code, self.flag("timed_out"), self.flag("canceled"), self.maybe_text("error")))
    }

    /// The output that a waiting call brought.
    fn read(&self, result: &ToolResult, from: Cursor) -> Option<Read> {
        let output = self.maybe_text("output")?;
        let next = self.number("next_cursor");
        let bytes = Bytes::from(output);
        // The wire tells that something was lost, not how much.
        let lost = u64::from(self.flag("truncated"));
        let ended = if self.flag("done") { self.end() } else { None };
        let slice = Slice { start: from, next: Cursor(next), end: Cursor(next), lost, bytes, ended };
        let fired = result.meta.get("sessiond/fired").and_then(Value::as_str).map_or(Fired::Output, fired);
        Some(Read { slice, fired })
    }
}

fn fired(name: &str) -> Fired {
    let all = [Fired::Output, Fired::Pattern, Fired::Quiet, Fired::End, Fired::Full, Fired::Deadline];
    all.into_iter().find(|fired| fired.as_str() == name).unwrap_or_else(|| panic!("no such condition: {name}"))
}

/// An end that says the same as the terminal fields.
fn end(code: i32, timed_out: bool, canceled: bool, error: Option<String>) -> End {
    let error = error.unwrap_or_default();
    let (how, why) =
        error.split_once(": its time limit of ").map_or((error.as_str(), None), |(how, why)| (how, Some(why)));
    let limit =
        why.or_else(|| error.strip_prefix("its time limit of ")).and_then(|why| why.split(' ').next()?.parse().ok());
    let cause = match (timed_out, canceled) {
        (true, _) => Cause::TimeLimit { limit: Duration::from_millis(limit.unwrap_or_default()), confirmed: true },
        (false, true) => Cause::Stop { confirmed: true },
        (false, false) => Cause::Own,
    };
    let exit = if let Some(name) = how.strip_prefix("ended by signal ") {
        Exit::Signaled(name.to_owned())
    } else if let Some(how) = how.strip_prefix("lost: ") {
        Exit::Lost(how.to_owned())
    } else if code == -1 {
        Exit::Failed(how.to_owned())
    } else {
        Exit::Exited(code)
    };
    End { exit, cause }
}

#[async_trait]
impl Service for Remote {
    async fn list_targets(&self, cx: &Call, request: ListTargets) -> Result<Vec<Target>> {
        let all = arguments([token(request.target), ("wait_ms", milliseconds(request.wait))]);
        let result = self.call(cx, "list_clients", all).await?;
        let clients = result.get("clients").as_array().cloned().unwrap_or_default();
        Ok(clients.iter().map(target).collect())
    }

    async fn execute_command(&self, cx: &Call, request: ExecuteCommand) -> Result<CommandResult> {
        let stdin = (!request.stdin.is_empty()).then(|| json!(String::from_utf8_lossy(&request.stdin)));
        let all = arguments([
            token(request.target),
            ("client_id", request.client_id.map(Value::from)),
            ("command", Some(json!(request.invocation.command))),
            ("cwd", request.invocation.cwd.map(Value::from)),
            ("env", environment(&request.invocation.env)),
            ("stdin", stdin),
            ("timeout_ms", Some(json!(request.time_limit.unwrap_or_default().as_millis() as u64))),
        ]);
        let result = self.call(cx, "execute_command", all).await?;
        let structured = result.structured.clone().unwrap_or_default();
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
        let structured = result.structured.clone().unwrap_or_default();
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
        let structured = result.structured.clone().unwrap_or_default();
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
        let structured = result.structured.clone().unwrap_or_default();
        let fields = Fields(&structured);
        let stalled = (!fields.flag("accepted")).then(|| fields.text("detail"));
        Ok(WriteOutcome { bytes: fields.number("bytes"), stalled, read: fields.read(&result, Cursor::START) })
    }

    async fn control_session(&self, cx: &Call, request: ControlSession) -> Result<ControlOutcome> {
        let mut all = arguments([("session_id", Some(json!(request.session.to_string()))), token(request.target)]);
        all.extend(action(&request.action));
        let result = self.call(cx, "session_control", waiting(all, &request.wait)).await?;
        let structured = result.structured.clone().unwrap_or_default();
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
        let structured = result.structured.clone().unwrap_or_default();
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
        let sessions = result.get("sessions").as_array().cloned().unwrap_or_default();
        Ok(SessionPage {
            sessions: sessions.iter().map(summary).collect(),
            next_page_token: result.get("next_page_token").as_str().map(str::to_owned),
        })
    }
}

fn action(action: &Action) -> Map<String, Value> {
    let name = match action {
        Action::Interrupt => "interrupt",
        Action::Eof => "eof",
        Action::Stop => "stop",
        Action::Signal(_) => "signal",
        Action::Resize(_) => "resize",
        Action::Keys(_) => "keys",
    };
    let mut all = arguments([("action", Some(json!(name)))]);
    match action {
        Action::Signal(signal) => all.extend(arguments([("signal", Some(json!(signal.name())))])),
        Action::Resize(size) => {
            all.extend(arguments([("cols", Some(json!(size.cols()))), ("rows", Some(json!(size.rows())))]));
        }
        Action::Keys(keys) => {
            let names: Vec<String> = keys.iter().map(ToString::to_string).collect();
            all.extend(arguments([("keys", Some(json!(names)))]));
        }
        Action::Interrupt | Action::Eof | Action::Stop => {}
    }
    all
}

const STATUSES: [(Status, &str); 4] = [
    (Status::Running, "running"),
    (Status::Stopping, "stopping"),
    (Status::Finished, "finished"),
    (Status::Lost, "lost"),
];

fn status_name(status: Status) -> &'static str {
    STATUSES.iter().find(|(known, _)| *known == status).map_or("", |(_, name)| name)
}

/// The kinds of backend that a summary may name.
fn backend(name: &str) -> &'static str {
    super::house::BackendKind::ALL.iter().map(|kind| kind.as_str()).find(|known| *known == name).unwrap_or("unknown")
}

fn target(client: &Value) -> Target {
    let fields = Fields(client);
    let name = TargetName::new(fields.text("name")).unwrap_or_else(|error| panic!("{error}"));
    let availability = match fields.text("status").as_str() {
        "online" => Availability::Online,
        "offline" => Availability::Offline,
        "unknown" => Availability::Unknown,
        other => panic!("no such status: {other}"),
    };
    let machine = client.get("client_info").map(|info| {
        let fields = Fields(info);
        let text = |name| fields.maybe_text(name);
        Machine { os: text("os"), arch: text("arch"), hostname: text("hostname"), shell: text("shell") }
    });
    Target {
        info: TargetInfo { name, client_id: fields.text("client_id"), backend: backend(&fields.text("backend")) },
        status: TargetStatus { availability, detail: fields.maybe_text("detail"), machine },
    }
}

fn summary(session: &Value) -> SessionSummary {
    let fields = Fields(session);
    let status = fields.text("status");
    let known = STATUSES.iter().find(|(_, name)| *name == status);
    SessionSummary {
        session: fields.text("session_id").parse().unwrap_or_else(|_| panic!("no session id in {session}")),
        target: TargetName::new(fields.text("client_token")).unwrap_or_else(|error| panic!("{error}")),
        backend: backend(&fields.text("backend")),
        label: fields.maybe_text("label").map(Into::into),
        command: fields.text("command").into(),
        // Only that there is a time can be compared across transports.
        started_at: SystemTime::UNIX_EPOCH,
        ended_at: fields.maybe_text("ended_at").map(|_| SystemTime::UNIX_EPOCH),
        status: known.unwrap_or_else(|| panic!("no such status: {status}")).0,
        end: fields.end(),
        output_start: Cursor(fields.number("output_start_cursor")),
        output_end: Cursor(fields.number("output_end_cursor")),
        descendants: if fields.is("descendants") { fields.number("descendants") as usize } else { 0 },
        native_id: fields.maybe_text("native_id").map(sessiond_core::NativeId),
    }
}
