//! A server over a scripted backend, and two clients: one that speaks MCP, and one that writes lines.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use jsonschema::Validator;
use rmcp::ClientHandler;
use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, ClientConfig, ContentBlock, Implementation, ProgressNotificationParam,
    ProtocolVersion, Tool,
};
use rmcp::service::{
    ClientLifecycleMode, NotificationContext, RoleClient, RunningService, ServiceError, serve_client_with_lifecycle,
};
use serde_json::{Map, Value, json};
use sessiond_core::fake::{Fake, FakePlatform};
use sessiond_core::{Backend, FixedTargets, Limits, Owner, Registry, TargetName};
use sessiond_mcp::{Family, Handler, Owners, TextStyle, serve, tool_table};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf, duplex, split};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Large enough that no test waits for room in the pipe.
const PIPE: usize = 4 << 20;

/// A registry with the targets `local` and `other`, both scripted, and where every tool is served the platform `flow`,
/// scripted too.
pub(crate) struct Server {
    pub(crate) registry: Arc<Registry>,
    pub(crate) local: Arc<Fake>,
    pub(crate) flow: Arc<FakePlatform>,
    pub(crate) shutdown: CancellationToken,
    families: Vec<Family>,
    connections: JoinSet<std::io::Result<()>>,
}

pub(crate) fn target(name: &str) -> TargetName {
    TargetName::new(name).unwrap()
}

pub(crate) fn management() -> Owner {
    Owner::management("ada")
}

impl Server {
    /// One that has no hosts.
    pub(crate) fn new() -> Self {
        Self::of(&[Family::Session])
    }

    /// One with the tools for hosts too.
    pub(crate) fn with_hosts() -> Self {
        Self::of(&[Family::Session, Family::Ssh])
    }

    /// One with every tool there is.
    pub(crate) fn with_all() -> Self {
        Self::of(&Family::ALL)
    }

    fn of(families: &[Family]) -> Self {
        let (local, other, flow) = (Fake::new(), Fake::new(), FakePlatform::new());
        let pair = |name, fake: &Arc<Fake>| (Fake::info(target(name)), fake.clone() as Arc<dyn Backend>);
        let mut targets = vec![pair("local", &local), pair("other", &other)];
        if families.contains(&Family::Agent) {
            targets.push((FakePlatform::info(target("flow")), flow.clone()));
        }
        let registry = Registry::new(Arc::new(FixedTargets::new(targets)), Limits::default());
        let families = families.to_vec();
        Self { registry, local, flow, shutdown: CancellationToken::new(), families, connections: JoinSet::new() }
    }

    pub(crate) fn handler(&self, owners: impl Owners, style: TextStyle) -> Handler {
        Handler::new(self.registry.clone(), owners, &self.families, style)
    }

    /// Serves one end of a pipe and returns the other.
    pub(crate) fn connect(&mut self, handler: Handler) -> DuplexStream {
        self.connect_over(PIPE, handler)
    }

    /// The same over a pipe that holds so many bytes.
    pub(crate) fn connect_over(&mut self, pipe: usize, handler: Handler) -> DuplexStream {
        let (near, far) = duplex(pipe);
        let (input, output) = split(far);
        self.connections.spawn(serve(handler, input, output, self.shutdown.clone()));
        near
    }

    /// Waits for one connection's end.
    pub(crate) async fn disconnected(&mut self) -> std::io::Result<()> {
        self.connections.join_next().await.unwrap().unwrap()
    }

    /// A client who reaches every target, as most do.
    pub(crate) async fn client(&mut self) -> Client {
        self.client_of(management(), TextStyle::Short, Era::legacy()).await
    }

    pub(crate) async fn client_of(&mut self, owner: Owner, style: TextStyle, era: Era) -> Client {
        let pipe = self.connect(self.handler(owner, style));
        Client::connect(pipe, era).await
    }

    pub(crate) fn wire(&mut self) -> Wire {
        let (output, input) = split(self.connect(self.handler(management(), TextStyle::Short)));
        Wire::over(output, input)
    }
}

/// How a client begins.
#[derive(Clone)]
pub(crate) struct Era {
    pub(crate) lifecycle: ClientLifecycleMode,
    pub(crate) version: ProtocolVersion,
}

impl Era {
    /// With `initialize`.
    pub(crate) fn legacy() -> Self {
        Self::initialize(ProtocolVersion::V_2025_11_25)
    }

    /// With `initialize` and this version.
    pub(crate) fn initialize(version: ProtocolVersion) -> Self {
        Self { lifecycle: ClientLifecycleMode::Initialize, version }
    }

    /// Without a state, each request on its own.
    pub(crate) fn modern() -> Self {
        let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
        Self { lifecycle: ClientLifecycleMode::Discover { preferred_versions }, version: ProtocolVersion::V_2026_07_28 }
    }
}

/// Gathers the progress that it is told.
#[derive(Clone)]
pub(crate) struct Listener {
    version: ProtocolVersion,
    pub(crate) reports: Arc<Mutex<Vec<(f64, String)>>>,
}

impl ClientHandler for Listener {
    fn get_info(&self) -> ClientConfig {
        ClientConfig::new(ClientCapabilities::default(), Implementation::new("test", "1"))
            .with_protocol_version(self.version.clone())
    }

    async fn on_progress(&self, report: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.reports.lock().unwrap().push((report.progress, report.message.unwrap_or_default()));
    }
}

/// A client that holds every result against the schema that its tool publishes (SR05).
pub(crate) struct Client {
    pub(crate) service: RunningService<RoleClient, Listener>,
    pub(crate) reports: Arc<Mutex<Vec<(f64, String)>>>,
    pub(crate) tools: Vec<Tool>,
    schemas: HashMap<String, Validator>,
}

/// What came back.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reply {
    pub(crate) is_error: bool,
    pub(crate) structured: Value,
    pub(crate) text: String,
    pub(crate) meta: Value,
}

impl Client {
    pub(crate) async fn connect(pipe: DuplexStream, era: Era) -> Self {
        let reports = Arc::default();
        let listener = Listener { version: era.version, reports: Arc::clone(&reports) };
        let service = serve_client_with_lifecycle(listener, pipe, era.lifecycle).await.unwrap();
        let tools = service.list_all_tools().await.unwrap();
        let schema = |tool: &Tool| {
            let schema = Value::Object(tool.output_schema.as_deref().unwrap().clone());
            (tool.name.to_string(), jsonschema::draft202012::new(&schema).unwrap())
        };
        let schemas = tools.iter().map(schema).collect();
        Self { service, reports, tools, schemas }
    }

    pub(crate) async fn try_call(&self, tool: &str, arguments: Value) -> Result<Reply, ServiceError> {
        let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
        let request = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let result = self.service.call_tool(request).await?;
        let [ContentBlock::Text(text)] = result.content.as_slice() else { panic!("one text") };
        let reply = Reply {
            is_error: result.is_error.unwrap(),
            structured: result.structured_content.unwrap_or_default(),
            text: text.text.clone(),
            meta: result.meta.map_or(Value::Null, |meta| Value::Object(meta.0)),
        };
        self.check(tool, &reply);
        Ok(reply)
    }

    /// Structured content fits the schema; an error has none, and its kind in `_meta`.
    fn check(&self, tool: &str, reply: &Reply) {
        if reply.structured.is_null() {
            assert!(reply.is_error && reply.meta["sessiond/error"].is_string(), "{reply:?}");
        } else {
            let faults: Vec<_> = self.schemas[tool].iter_errors(&reply.structured).map(|e| e.to_string()).collect();
            assert_eq!(faults, [""; 0], "{reply:?}");
        }
    }

    /// Calls a tool; one of sessions and commands on the target `local`.
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Reply {
        self.try_call(tool, placed(tool, arguments)).await.unwrap()
    }

    /// Starts a session on the target `local` and returns its id.
    pub(crate) async fn start(&self, command: &str) -> String {
        let reply = self.call("session_start", json!({"command": command})).await;
        reply.structured["session_id"].as_str().unwrap_or_else(|| panic!("{reply:?}")).to_owned()
    }

    /// Waits for a session's end and returns the last read.
    pub(crate) async fn end_of(&self, session: &str) -> Value {
        let arguments = json!({"session_id": session, "wait_ms": 20000, "until": {"end": true}});
        self.call("session_read", arguments).await.structured
    }
}

/// On the target `local`, where the tool is one of sessions and commands.
pub(crate) fn placed(tool: &str, arguments: Value) -> Value {
    let of_sessions = tool_table(&[Family::Session]).iter().any(|row| row.name == tool);
    if of_sessions { on_local(arguments) } else { arguments }
}

pub(crate) fn on_local(mut arguments: Value) -> Value {
    arguments.as_object_mut().unwrap().entry("client_token").or_insert_with(|| json!("local"));
    arguments
}

/// The kind and the text of a refusal.
pub(crate) fn refusal(reply: &Reply) -> (&str, &str) {
    assert!(reply.is_error && reply.structured.is_null(), "{reply:?}");
    (reply.meta["sessiond/error"].as_str().unwrap(), &reply.text)
}

/// A client that writes and reads lines itself.
pub(crate) struct Wire {
    output: Lines<BufReader<ReadHalf<DuplexStream>>>,
    input: WriteHalf<DuplexStream>,
}

impl Wire {
    pub(crate) fn over(output: ReadHalf<DuplexStream>, input: WriteHalf<DuplexStream>) -> Self {
        Self { output: BufReader::new(output).lines(), input }
    }

    pub(crate) async fn send_line(&mut self, line: &str) {
        self.send_bytes(format!("{line}\n").as_bytes()).await;
    }

    pub(crate) async fn send_bytes(&mut self, bytes: &[u8]) {
        self.input.write_all(bytes).await.unwrap();
    }

    pub(crate) async fn send(&mut self, message: Value) {
        self.send_line(&message.to_string()).await;
    }

    pub(crate) async fn request(&mut self, id: u64, method: &str, params: Value) {
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
    }

    pub(crate) async fn tool(&mut self, id: u64, tool: &str, arguments: Value) {
        self.request(id, "tools/call", json!({"name": tool, "arguments": on_local(arguments)})).await;
    }

    /// The next line; `None` when the server has closed.
    pub(crate) async fn receive(&mut self) -> Option<Value> {
        let line = self.output.next_line().await.unwrap()?;
        Some(serde_json::from_str(&line).unwrap())
    }

    /// Ends the server's input.
    pub(crate) async fn close_input(&mut self) {
        self.input.shutdown().await.unwrap();
    }

    /// Says hello as clients of the first era do; returns the server's answer.
    pub(crate) async fn initialize(&mut self, version: &str) -> Value {
        let client = json!({"name": "wire", "version": "1"});
        let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": client});
        self.request(0, "initialize", params).await;
        let answer = self.receive().await.unwrap();
        self.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        answer["result"].clone()
    }
}

/// The same value with every object's keys in order, so that no snapshot depends on how maps are kept.
pub(crate) fn sorted(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut pairs: Vec<_> = map.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            pairs.sort_by(|left, right| left.0.cmp(&right.0));
            Value::Object(Map::from_iter(pairs))
        }
        Value::Array(list) => list.into_iter().map(sorted).collect(),
        other => other,
    }
}
