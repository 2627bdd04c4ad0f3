//! A small MCP client, nothing hidden: lines of JSON over a reader and a writer, or a request of HTTP for each message.
//!
//! - `http`: the messages as requests of HTTP

pub mod http;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value, json};
use sessiond_core::TargetName;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{Mutex as Turnstile, oneshot};
use tokio::task::AbortHandle;

use self::http::Endpoint;
use super::mutant::Fault;

/// How long an answer may take.
const LONG: Duration = Duration::from_secs(60);

/// The protocol version that is asked for with `initialize`.
pub const VERSION: &str = "2025-11-25";

/// A connected client. A clone is the same client.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
    /// The target that its calls leave out where they mean it.
    omits: Option<TargetName>,
}

/// Where messages go.
enum Link {
    Lines(Turnstile<Option<Box<dyn AsyncWrite + Send + Unpin>>>),
    Http(Box<Endpoint>),
}

struct Inner {
    link: Link,
    next: AtomicU64,
    state: Mutex<State>,
    initialized: Mutex<Value>,
    fault: Option<Fault>,
}

#[derive(Default)]
struct State {
    waiting: HashMap<u64, oneshot::Sender<Value>>,
    /// The requests of HTTP that are under way.
    requests: HashMap<u64, AbortHandle>,
    lines: Vec<String>,
    notifications: Vec<Value>,
    closed: bool,
}

/// What a tool answered, as it came.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolResult {
    /// `structuredContent`.
    pub structured: Option<Value>,
    /// The text blocks, joined.
    pub text: String,
    /// `isError`.
    pub is_error: bool,
    /// `_meta`.
    pub meta: Map<String, Value>,
}

impl ToolResult {
    /// The kind of an error, as `_meta` gives it.
    pub fn kind(&self) -> Option<&str> {
        self.meta.get("sessiond/error").and_then(Value::as_str)
    }

    /// The structured content; null when there is none.
    pub fn whole(&self) -> Value {
        self.structured.clone().unwrap_or_default()
    }

    /// What each item of a list in the structured content says.
    pub fn each<T>(&self, list: &str, read: impl Fn(&Value) -> T) -> Vec<T> {
        self.get(list).as_array().into_iter().flatten().map(read).collect()
    }

    /// A field of the structured content; null when it is not there.
    pub fn get(&self, field: &str) -> &Value {
        self.structured.as_ref().and_then(|all| all.get(field)).unwrap_or(&Value::Null)
    }
}

impl Client {
    /// Connects and initializes. A fault changes what the server seems to say.
    pub async fn connect(
        input: impl AsyncRead + Send + Unpin + 'static,
        output: impl AsyncWrite + Send + Unpin + 'static,
        fault: Option<Fault>,
    ) -> Self {
        let client = Self::new(Link::Lines(Turnstile::new(Some(Box::new(output)))), fault);
        let reader = client.clone();
        tokio::task::spawn(async move { reader.read(BufReader::new(input)).await });
        let info = json!({ "name": "conformance", "version": "1" });
        let hello = json!({ "protocolVersion": VERSION, "capabilities": {}, "clientInfo": info });
        let initialized = client.request("initialize", hello).await.unwrap();
        *client.inner.initialized.lock().unwrap_or_else(PoisonError::into_inner) = initialized;
        client.notify("notifications/initialized", json!({})).await;
        client
    }

    /// A client of the era without a handshake: each message carries what it needs.
    pub(crate) fn over_http(endpoint: Endpoint) -> Self {
        Self::new(Link::Http(Box::new(endpoint)), None)
    }

    fn new(link: Link, fault: Option<Fault>) -> Self {
        let (state, initialized) = (Mutex::default(), Mutex::default());
        let inner = Arc::new(Inner { link, next: AtomicU64::new(1), state, initialized, fault });
        Self { inner, omits: None }
    }

    /// The same client, whose calls leave out `client_token` where it names this target: its owner has no other.
    pub(crate) fn omitting(&self, target: TargetName) -> Self {
        Self { inner: self.inner.clone(), omits: Some(target) }
    }

    /// What the server said of itself; null where nobody shakes hands.
    pub fn initialized(&self) -> Value {
        self.inner.initialized.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Asks and waits for the answer: the result, or the protocol error.
    ///
    /// # Errors
    /// The JSON-RPC error object, or a string when the connection ended first.
    pub async fn request(&self, method: &str, params: Value) -> Result<Value, Value> {
        let (_, answer) = self.begin(method, params).await;
        answer.await
    }

    /// Asks; the id and the answer on its way.
    pub async fn begin(
        &self,
        method: &str,
        params: Value,
    ) -> (u64, impl Future<Output = Result<Value, Value>> + Send + use<>) {
        let id = self.inner.next.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        self.state(|state| {
            if !state.closed {
                state.waiting.insert(id, answer);
            }
        });
        let mut message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.omit(&mut message);
        if let Some(Fault::Request(change)) = self.inner.fault {
            change(&mut message);
        }
        match &self.inner.link {
            Link::Lines(_) => self.send(&message).await,
            Link::Http(_) => self.ask(id, message),
        }
        let answer = async move {
            match tokio::time::timeout(LONG, answered).await {
                Ok(Ok(mut message)) => match message.get_mut("error") {
                    Some(error) => Err(error.take()),
                    None => Ok(message.get_mut("result").map_or(Value::Null, Value::take)),
                },
                Ok(Err(_)) => Err(json!("the connection ended before the answer")),
                Err(_) => Err(json!("no answer in a minute")),
            }
        };
        (id, answer)
    }

    /// Says something that has no answer.
    async fn notify(&self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params })).await;
    }

    /// Takes a request back: says so, or closes it where it is a request of HTTP.
    pub async fn cancel(&self, id: u64) {
        match &self.inner.link {
            Link::Lines(_) => self.notify("notifications/cancelled", json!({ "requestId": id })).await,
            Link::Http(_) => self.end(id),
        }
    }

    /// Calls a tool.
    ///
    /// # Errors
    /// As [`request`](Self::request).
    pub async fn call(&self, tool: &str, arguments: Value) -> Result<ToolResult, Value> {
        self.request("tools/call", json!({ "name": tool, "arguments": arguments })).await.map(tool_result)
    }

    /// The tools as they are listed.
    pub async fn tools(&self) -> Vec<Value> {
        let mut list = self.request("tools/list", json!({})).await.unwrap();
        match list.get_mut("tools").map(Value::take) {
            Some(Value::Array(tools)) => tools,
            other => panic!("no list of tools: {other:?}"),
        }
    }

    /// Closes the server's input, and every request of HTTP.
    pub async fn close(&self) {
        if let Link::Lines(output) = &self.inner.link {
            let output = output.lock().await.take();
            if let Some(mut output) = output {
                let _ = output.shutdown().await;
            }
        } else {
            self.closed();
        }
    }

    /// Every message that the server has sent, as it came.
    pub fn lines(&self) -> Vec<String> {
        self.state(|state| state.lines.clone())
    }

    /// Every notification that the server has sent.
    pub fn notifications(&self) -> Vec<Value> {
        self.state(|state| state.notifications.clone())
    }

    async fn send(&self, message: &Value) {
        let Link::Lines(output) = &self.inner.link else { return };
        if let Some(output) = output.lock().await.as_mut() {
            // A server that has gone is noticed where its answer is waited for.
            let _ = output.write_all(format!("{message}\n").as_bytes()).await;
            let _ = output.flush().await;
        }
    }

    async fn read(&self, mut input: BufReader<impl AsyncRead + Unpin>) {
        let mut line = String::new();
        while input.read_line(&mut line).await.is_ok_and(|read| read > 0) {
            self.take(std::mem::take(&mut line));
        }
        self.closed();
    }

    /// Asks by a request of HTTP, in a task of its own; what comes back is taken as it comes.
    fn ask(&self, id: u64, message: Value) {
        let client = self.clone();
        let task = tokio::task::spawn(async move {
            if let Link::Http(endpoint) = &client.inner.link {
                // What ends too early is noticed where the answer is waited for.
                let _ = endpoint.ask(message, |message| client.take(message)).await;
            }
            client.end(id);
        });
        let task = task.abort_handle();
        let late = self.state(|state| {
            // It may be over already.
            let is_awaited = state.waiting.contains_key(&id);
            if is_awaited {
                state.requests.insert(id, task.clone());
            }
            state.closed
        });
        if late {
            task.abort();
        }
    }

    /// Nobody waits for this answer any more.
    fn end(&self, id: u64) {
        self.state(|state| {
            state.waiting.remove(&id);
            if let Some(task) = state.requests.remove(&id) {
                task.abort();
            }
        });
    }

    /// No answer comes any more.
    fn closed(&self) {
        self.state(|state| {
            state.closed = true;
            state.waiting.clear();
            state.requests.drain().for_each(|(_, task)| task.abort());
        });
    }

    /// Leaves the target out of a call where its owner has no other.
    fn omit(&self, message: &mut Value) {
        let arguments = message.pointer_mut("/params/arguments").and_then(Value::as_object_mut);
        if let (Some(own), Some(arguments)) = (&self.omits, arguments)
            && arguments.get("client_token").is_some_and(|token| token == own.as_str())
        {
            arguments.remove("client_token");
        }
    }

    fn take(&self, line: String) {
        let mut message: Value = serde_json::from_str(&line).unwrap_or_default();
        if let Some(Fault::Message(change)) = self.inner.fault {
            change(&mut message);
        }
        self.state(|state| {
            if let Some(Fault::Line(stray)) = self.inner.fault {
                state.lines.push(stray.to_owned());
            }
            state.lines.push(line);
            match message.get("id").and_then(Value::as_u64) {
                Some(id) => {
                    if let Some(waiting) = state.waiting.remove(&id) {
                        let _ = waiting.send(message);
                    }
                }
                None => state.notifications.push(message),
            }
        });
    }

    fn state<R>(&self, act: impl FnOnce(&mut State) -> R) -> R {
        act(&mut self.inner.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A tool's result out of the answer to `tools/call`.
pub fn tool_result(mut answer: Value) -> ToolResult {
    let blocks = answer.get("content").and_then(Value::as_array).cloned().unwrap_or_default();
    let texts: Vec<&str> = blocks.iter().filter_map(|block| block.get("text")?.as_str()).collect();
    ToolResult {
        text: texts.join("\n"),
        is_error: answer.get("isError").and_then(Value::as_bool).unwrap_or(false),
        meta: answer.get("_meta").and_then(Value::as_object).cloned().unwrap_or_default(),
        structured: answer.get_mut("structuredContent").map(Value::take),
    }
}
