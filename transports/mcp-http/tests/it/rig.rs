//! A server in this process over the scripted backend, with a keys file, and callers who have keys in it.

use std::fmt::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use sessiond_bootstrap::identity::NewKey;
use sessiond_bootstrap::network::{Door, Network};
use sessiond_bootstrap::{Args, Bootstrap, Environment};
use sessiond_core::fake::Fake;
use sessiond_core::{FixedTargets, Guarded, Limits, Registry, Service, TargetName, TaskKind, Tasks};
use sessiond_mcp::{Family, Handler, TextStyle};
use sessiond_mcp_http::{Admission, Asking, Server, Settings};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::wire::{Reply, Wire};

const SERVER: TaskKind = TaskKind("test.server");

/// The revision with sessions.
pub(crate) const LEGACY: &str = "2025-11-25";
/// The one without.
pub(crate) const MODERN: &str = "2026-07-28";

pub(crate) struct Rig {
    pub(crate) address: SocketAddr,
    pub(crate) network: Network,
    pub(crate) alice: Caller,
    pub(crate) bob: Caller,
    /// Reaches the target `fake` only.
    pub(crate) device: Caller,
    /// Changes nothing.
    pub(crate) reader: Caller,
    ending: CancellationToken,
    tasks: Tasks,
    place: TempDir,
}

/// As they are by default, but that nobody waits long for the stream of a call that waits.
pub(crate) fn settings() -> Settings {
    Settings { patience: Duration::from_millis(50), ..Settings::default() }
}

/// Somebody with a key.
#[derive(Clone)]
pub(crate) struct Caller {
    address: SocketAddr,
    name: &'static str,
    role: &'static str,
    key: Arc<NewKey>,
    /// What is shown in place of the key.
    token: Option<String>,
}

impl Rig {
    pub(crate) async fn new() -> Self {
        Self::with(settings(), "").await
    }

    /// With these settings, and these lines in the part `[network]` of the configuration.
    pub(crate) async fn with(settings: Settings, network: &str) -> Self {
        let place = tempfile::tempdir().unwrap();
        let keys = place.path().join("keys.toml");
        let caller = |name, role| {
            let (key, address) = (Arc::new(NewKey::random().unwrap()), SocketAddr::from(([127, 0, 0, 1], 0)));
            Caller { address, name, role, key, token: None }
        };
        let mut callers = [
            caller("alice", "role = 'full'"),
            caller("bob", "role = 'full'"),
            caller("device", "target = 'fake'"),
            caller("reader", "role = 'read-only'"),
        ];
        write_keys(&keys, &callers);
        let file = place.path().join("config.toml");
        std::fs::write(&file, format!("[network]\nkeys_file = {keys:?}\n{network}\n")).unwrap();
        let args = Args { config: Some(file), log: None };
        let bootstrap = Bootstrap::load(&args, Environment::of([("HOME", place.path())])).unwrap();
        let tasks = Tasks::new();
        let network = bootstrap.network(&["h2", "http/1.1"], &tasks).unwrap();
        let listener = network.listen(callers[0].address, Door::Asked).unwrap();
        let address = listener.address().unwrap();
        callers.iter_mut().for_each(|caller| caller.address = address);

        let targets = ["fake", "other"].map(|name| {
            let name = TargetName::new(name).unwrap();
            (Fake::info(name), Fake::new() as _)
        });
        let registry = Registry::new(Arc::new(FixedTargets::new(targets.to_vec())), Limits::default());
        let service: Arc<dyn Service> = Guarded::new(registry.clone());
        let admission = Admission::Known(network.identities.clone());
        let server = Server::new(&registry, service.clone(), admission, settings).unwrap();
        let ending = CancellationToken::new();
        let handler = Handler::new(service, Asking, &[Family::Session, Family::Ssh], TextStyle::Short)
            .observed(server.observer())
            .until(ending.clone());
        let (ends, head) = (ending.clone(), network.header_timeout());
        tasks.spawn(SERVER, async move {
            server.serve(handler, listener, head, ends, async { registry.shutdown().await }).await;
        });
        let [alice, bob, device, reader] = callers;
        Self { address, network, alice, bob, device, reader, ending, tasks, place }
    }

    /// Takes every key back but these, and lets in whoever is new among them.
    pub(crate) fn keep(&self, callers: &[&Caller]) {
        let callers: Vec<_> = callers.iter().map(|caller| (*caller).clone()).collect();
        write_keys(&self.place.path().join("keys.toml"), &callers);
        self.network.reload();
    }

    /// Gives somebody a key in place of theirs, of the same name.
    pub(crate) fn renew(&self, caller: &Caller) -> Caller {
        let renewed = caller.with_new_key();
        self.keep(&[&renewed]);
        renewed
    }

    /// An answer to a request without a credential.
    pub(crate) async fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        let mut wire = Wire::to(self.address).await;
        wire.ask(method, path, headers, body).await;
        wire.reply().await
    }

    /// Ends the server as a signal would, and waits until it has.
    pub(crate) async fn end(&self) {
        self.ending.cancel();
        assert!(self.tasks.shutdown(Duration::from_secs(20)).await, "the server does not end");
    }
}

/// The line of an entry that holds for this many seconds more.
pub(crate) fn expires_in(seconds: u64) -> String {
    let date = format!("--date={seconds} seconds");
    let written = std::process::Command::new("date").args(["-u", &date, "+%Y-%m-%dT%H:%M:%S.%NZ"]).output().unwrap();
    assert!(written.status.success(), "{written:?}");
    format!("expires = {}", String::from_utf8(written.stdout).unwrap().trim_end())
}

fn write_keys(file: &std::path::Path, callers: &[Caller]) {
    let mut text = "[scopes.work]\nrole = 'full'\n".to_owned();
    for Caller { name, role, key, .. } in callers {
        writeln!(text, "[keys.{name}]\nsha256 = '{}'\n{role}\n", key.digest()).unwrap();
    }
    std::fs::write(file, text).unwrap();
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(file, private).unwrap();
}

impl Caller {
    /// Somebody with a key of their own, for [`Rig::keep`] to let in.
    pub(crate) fn another(&self, name: &'static str, role: &'static str) -> Self {
        Self { name, role, ..self.with_new_key() }
    }

    /// The same key, with which one may do something else.
    pub(crate) fn but(&self, role: &'static str) -> Self {
        Self { role, ..self.clone() }
    }

    fn with_new_key(&self) -> Self {
        Self { key: Arc::new(NewKey::random().unwrap()), ..self.clone() }
    }

    /// Whoever has this token of an identity provider.
    pub(crate) fn with_token(&self, token: String) -> Self {
        Self { token: Some(token), ..self.clone() }
    }

    /// The value of the header that says who asks.
    pub(crate) fn bearer(&self) -> String {
        format!("Bearer {}", self.token.as_deref().unwrap_or(self.key.expose()))
    }

    /// The headers of a request in the era with sessions.
    pub(crate) fn headers<'a>(&self, bearer: &'a str, session: Option<&'a str>) -> Vec<(&'a str, &'a str)> {
        let mut headers = vec![
            ("host", "localhost"),
            ("authorization", bearer),
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
        ];
        if let Some(session) = session {
            headers.extend([("mcp-session-id", session), ("mcp-protocol-version", LEGACY)]);
        }
        headers
    }

    /// Sends a message, on a connection of its own.
    pub(crate) async fn begin(&self, session: Option<&str>, message: &Value) -> Wire {
        let (mut wire, bearer) = (Wire::to(self.address).await, self.bearer());
        wire.ask("POST", "/mcp", &self.headers(&bearer, session), &message.to_string()).await;
        wire
    }

    /// Sends a message and returns the answer.
    pub(crate) async fn post(&self, session: Option<&str>, message: &Value) -> Reply {
        self.begin(session, message).await.reply().await
    }

    /// A request without a body, with one more header.
    pub(crate) async fn bare(&self, method: &str, session: &str, more: Option<(&str, &str)>) -> Wire {
        let (mut wire, bearer) = (Wire::to(self.address).await, self.bearer());
        let mut headers = self.headers(&bearer, Some(session));
        headers.extend(more);
        wire.ask(method, "/mcp", &headers, "").await;
        wire
    }

    /// Opens an MCP session; its id.
    pub(crate) async fn open(&self) -> String {
        let reply = self.post(None, &initialize()).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        let session = reply.header("mcp-session-id").to_owned();
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(self.post(Some(&session), &initialized).await.status, 202);
        session
    }

    /// Calls a tool in the era with sessions; the result.
    pub(crate) async fn call(&self, session: &str, tool: &str, arguments: Value) -> Value {
        let reply = self.post(Some(session), &call(2, tool, arguments)).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        reply.json()["result"].clone()
    }

    /// Sends a request in the era without sessions.
    pub(crate) async fn begin_modern(&self, method: &str, params: Value) -> Wire {
        let (mut wire, bearer) = (Wire::to(self.address).await, self.bearer());
        let mut headers = self.headers(&bearer, None);
        let name = params["name"].as_str().unwrap_or_default().to_owned();
        headers.extend([("mcp-protocol-version", MODERN), ("mcp-method", method)]);
        if !name.is_empty() {
            headers.push(("mcp-name", &name));
        }
        wire.ask("POST", "/mcp", &headers, &modern(method, params).to_string()).await;
        wire
    }

    /// The same; the answer.
    pub(crate) async fn modern(&self, method: &str, params: Value) -> Reply {
        self.begin_modern(method, params).await.reply().await
    }

    /// Calls a tool in the era without sessions; the result.
    pub(crate) async fn run(&self, tool: &str, arguments: Value) -> Value {
        let reply = self.modern("tools/call", json!({ "name": tool, "arguments": arguments })).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        reply.json()["result"].clone()
    }

    /// Starts a session on the target `fake`; its id.
    pub(crate) async fn start(&self, command: &str) -> String {
        let started = self.run("session_start", json!({ "command": command, "client_token": "fake" })).await;
        started["structuredContent"]["session_id"].as_str().unwrap_or_else(|| panic!("{started}")).to_owned()
    }
}

pub(crate) fn initialize() -> Value {
    let params = json!({
        "protocolVersion": LEGACY, "capabilities": {}, "clientInfo": { "name": "test", "version": "0" },
    });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params })
}

pub(crate) fn call(id: u64, tool: &str, arguments: Value) -> Value {
    let params = json!({ "name": tool, "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
}

/// A request that carries its own protocol metadata.
pub(crate) fn modern(method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "0" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}
