//! The servers of MCP over HTTP under measurement, and a client that adds as little as it can: prepared requests on kept
//! connections of HTTP/1.1, all of them on one thread.
//!
//! Requests are of the era without sessions (revision 2026-07-28) and answered by JSON: the form that the help of
//! `sessiond-mcp-http` shows. [`Ask::in_session`] makes one of the era before.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::pin::Pin;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{Connection, SendRequest, handshake};
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;

use crate::setup::Setup;
use crate::usage::Usage;

const MODERN: HeaderValue = HeaderValue::from_static("2026-07-28");
const LEGACY: HeaderValue = HeaderValue::from_static("2025-11-25");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// A server on a port of its own.
pub(crate) struct Http {
    server: Child,
    address: SocketAddr,
    runtime: Runtime,
}

impl Http {
    /// Starts `sessiond-mcp-http` for whoever comes, with a limit of requests in a second that nobody reaches.
    ///
    /// # Errors
    /// It does not start.
    pub(crate) fn sessiond(setup: &Setup) -> Result<Self> {
        let mut command = Command::new(setup.beside("sessiond-mcp-http")?);
        command.args(["--no-password", "--listen", "127.0.0.1:0"]);
        command.env_clear().env("SESSIOND_HTTP__REQUESTS_PER_SECOND", "1000000").env("SHELL", "/bin/sh");
        // The warning about the missing password is for a person.
        command.stderr(Stdio::null());
        Self::start(command)
    }

    /// Starts the empty server.
    ///
    /// # Errors
    /// It does not start.
    pub(crate) fn empty(setup: &Setup) -> Result<Self> {
        let mut command = Command::new(setup.beside("sessiond-bench-http-empty")?);
        command.env_clear();
        Self::start(command)
    }

    fn start(mut command: Command) -> Result<Self> {
        let name = Path::new(command.get_program()).display().to_string();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        // A folder without a configuration.
        command.env("HOME", "/nonexistent").stdin(Stdio::null()).stdout(Stdio::piped());
        let mut server = command.spawn().with_context(|| format!("starting {name}"))?;
        let mut line = String::new();
        BufReader::new(server.stdout.as_mut().context("no stdout")?).read_line(&mut line)?;
        let address = line.trim().strip_prefix("listening on http://").and_then(|url| url.strip_suffix("/mcp"));
        let address = address.with_context(|| format!("{name} said {line:?}"))?.parse()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Self { server, address, runtime })
    }

    /// Runs something on the client's thread.
    ///
    /// # Errors
    /// What it fails with.
    pub(crate) fn run<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        self.runtime.block_on(work)
    }

    /// Opens a connection.
    ///
    /// # Errors
    /// The server is gone, or there are as many open files as there may be.
    pub(crate) async fn open(&self) -> Result<Line> {
        let stream = TcpStream::connect(self.address).await.context("connecting (each connection is an open file)")?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        Ok(Line { sender, connection: Box::pin(connection) })
    }

    /// What the server takes.
    ///
    /// # Errors
    /// It is gone.
    pub(crate) fn usage(&self) -> Result<Usage> {
        Usage::of(self.server.id())
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// A request that may be sent again and again.
#[derive(Clone)]
pub(crate) struct Ask {
    headers: HeaderMap,
    body: Bytes,
}

impl Ask {
    /// A call of a tool.
    pub(crate) fn new(tool: &'static str, arguments: &Value) -> Self {
        let about = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "sessiond-bench", "version": env!("CARGO_PKG_VERSION")},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let mut ask = Self::message("tools/call", &json!({"name": tool, "arguments": arguments, "_meta": about}));
        ask.headers.insert(VERSION, MODERN);
        ask.headers.insert(METHOD, HeaderValue::from_static("tools/call"));
        ask.headers.insert(NAME, HeaderValue::from_static(tool));
        ask
    }

    /// The same in a session of the era before.
    pub(crate) fn in_session(session: HeaderValue, tool: &str, arguments: &Value) -> Self {
        Self::message("tools/call", &json!({"name": tool, "arguments": arguments})).of(session)
    }

    fn message(method: &str, params: &Value) -> Self {
        Self::body(&json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
    }

    fn body(message: &Value) -> Self {
        let headers =
            [(HOST, "localhost"), (CONTENT_TYPE, "application/json"), (ACCEPT, "application/json, text/event-stream")];
        let headers = headers.map(|(name, value)| (name, HeaderValue::from_static(value)));
        Self { headers: headers.into_iter().collect(), body: message.to_string().into() }
    }

    fn of(mut self, session: HeaderValue) -> Self {
        self.headers.insert(SESSION, session);
        self.headers.insert(VERSION, LEGACY);
        self
    }
}

/// A connection, for one request at a time.
pub(crate) struct Line {
    sender: SendRequest<Full<Bytes>>,
    connection: Pin<Box<Connection<TokioIo<TcpStream>, Full<Bytes>>>>,
}

impl Line {
    /// Sends a request and waits for the answer.
    ///
    /// # Errors
    /// The connection ends.
    pub(crate) async fn ask(&mut self, ask: &Ask) -> Result<Response<Bytes>> {
        let mut request = Request::post("/mcp").body(Full::new(ask.body.clone()))?;
        *request.headers_mut() = ask.headers.clone();
        let Self { sender, connection } = self;
        let answered = async {
            sender.ready().await?;
            let (head, body) = sender.send_request(request).await?.into_parts();
            anyhow::Ok(Response::from_parts(head, body.collect().await?.to_bytes()))
        };
        tokio::select! {
            biased;
            answer = answered => answer,
            ended = connection => bail!("the server has closed the connection: {ended:?}"),
        }
    }

    /// Calls a tool, whose answer must hold `mark`.
    ///
    /// # Errors
    /// The server refuses, or answers something else.
    pub(crate) async fn call(&mut self, ask: &Ask, mark: &str) -> Result<()> {
        let answer = self.ask(ask).await?;
        ensure!(answered(&answer, mark), "{} {:?}", answer.status(), answer.body());
        Ok(())
    }

    /// Calls a tool and returns its structured content.
    ///
    /// # Errors
    /// The server refuses, or the tool fails.
    pub(crate) async fn result(&mut self, ask: &Ask) -> Result<Value> {
        let answer = self.ask(ask).await?;
        let mut message: Value = serde_json::from_slice(answer.body())?;
        match message.pointer_mut("/result/structuredContent") {
            Some(content) => Ok(content.take()),
            None => bail!("{} {message}", answer.status()),
        }
    }

    /// Opens a session of the era before; its id.
    ///
    /// # Errors
    /// The server refuses.
    pub(crate) async fn begin(&mut self) -> Result<HeaderValue> {
        let hello = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "sessiond-bench", "version": env!("CARGO_PKG_VERSION")},
        });
        let answer = self.ask(&Ask::message("initialize", &hello)).await?;
        let session = answer.headers().get(SESSION).context("initialize gave no session")?.clone();
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let answer = self.ask(&Ask::body(&ready).of(session.clone())).await?;
        ensure!(answer.status() == StatusCode::ACCEPTED, "{} {:?}", answer.status(), answer.body());
        Ok(session)
    }
}

/// Whether a call has gone well and its answer holds `mark`.
pub(crate) fn answered(answer: &Response<Bytes>, mark: &str) -> bool {
    answer.status() == StatusCode::OK && str::from_utf8(answer.body()).is_ok_and(|text| text.contains(mark))
}
