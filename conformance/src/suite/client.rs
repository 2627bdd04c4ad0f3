//! A small MCP client: lines of JSON over a reader and a writer, nothing hidden.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{Mutex as Turnstile, oneshot};

use super::mutant::Fault;

/// How long an answer may take.
const LONG: Duration = Duration::from_secs(60);

/// The protocol version that is asked for with `initialize`.
pub const VERSION: &str = "2025-11-25";

/// A connected client. A clone is the same client.
#[derive(Clone)]
pub struct Client(Arc<Inner>);

struct Inner {
    output: Turnstile<Option<Box<dyn AsyncWrite + Send + Unpin>>>,
    next: AtomicU64,
    state: Mutex<State>,
    initialized: Mutex<Value>,
    fault: Option<Fault>,
}

#[derive(Default)]
struct State {
    waiting: HashMap<u64, oneshot::Sender<Value>>,
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
        let client = Self(Arc::new(Inner {
            output: Turnstile::new(Some(Box::new(output))),
            next: AtomicU64::new(1),
            state: Mutex::default(),
            initialized: Mutex::default(),
            fault,
        }));
        let reader = client.clone();
        tokio::task::spawn(async move { reader.read(BufReader::new(input)).await });
        let info = json!({ "name": "conformance", "version": "1" });
        let hello = json!({ "protocolVersion": VERSION, "capabilities": {}, "clientInfo": info });
        let initialized = client.request("initialize", hello).await.unwrap();
        *client.0.initialized.lock().unwrap_or_else(PoisonError::into_inner) = initialized;
        client.notify("notifications/initialized", json!({})).await;
        client
    }

    /// What the server said of itself.
    pub fn initialized(&self) -> Value {
        self.0.initialized.lock().unwrap_or_else(PoisonError::into_inner).clone()
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
        let id = self.0.next.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        self.state(|state| {
            if !state.closed {
                state.waiting.insert(id, answer);
            }
        });
        let mut message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        if let Some(Fault::Request(change)) = self.0.fault {
            change(&mut message);
        }
        self.send(&message).await;
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
    pub async fn notify(&self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params })).await;
    }

    /// Takes a request back.
    pub async fn cancel(&self, id: u64) {
        self.notify("notifications/cancelled", json!({ "requestId": id })).await;
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

    /// Closes the server's input.
    pub async fn close(&self) {
        let output = self.0.output.lock().await.take();
        if let Some(mut output) = output {
            let _ = output.shutdown().await;
        }
    }

    /// Every line that the server has written, as it came.
    pub fn lines(&self) -> Vec<String> {
        self.state(|state| state.lines.clone())
    }

    /// Every notification that the server has sent.
    pub fn notifications(&self) -> Vec<Value> {
        self.state(|state| state.notifications.clone())
    }

    async fn send(&self, message: &Value) {
        if let Some(output) = self.0.output.lock().await.as_mut() {
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
        self.state(|state| {
            state.closed = true;
            state.waiting.clear();
        });
    }

    fn take(&self, line: String) {
        let mut message: Value = serde_json::from_str(&line).unwrap_or_default();
        if let Some(Fault::Message(change)) = self.0.fault {
            change(&mut message);
        }
        self.state(|state| {
            if let Some(Fault::Line(stray)) = self.0.fault {
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
        act(&mut self.0.state.lock().unwrap_or_else(PoisonError::into_inner))
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
