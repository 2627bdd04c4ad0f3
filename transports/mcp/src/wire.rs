//! JSON-RPC messages as lines over a reader and a writer.
//!
//! rmcp brings a transport of this kind. This one exists because a call of a tool, which is nearly all that ever
//! comes, is parsed in one pass here, where rmcp gathers it into a tree and tries one kind of message after the other;
//! and because it knows when the input has ended, and answers a bad request under its own id.

use std::io;
use std::sync::Arc;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientJsonRpcMessage, ClientRequest, ErrorData, JsonRpcVersion2_0,
    RequestId, ServerJsonRpcMessage,
};
use rmcp::service::RoleServer;
use rmcp::transport::Transport;
use serde::Deserialize;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

/// The longest line that is taken, in bytes.
const MAX_LINE: usize = 16 << 20;

/// What a buffer may keep between messages, in bytes.
const MAX_IDLE: usize = 64 << 10;

/// The transport. Its reads can be cancelled at any point: what has been read so far stays.
pub(crate) struct Lines<R, W> {
    input: BufReader<R>,
    line: Vec<u8>,
    /// A line was too long, and its rest is still to come.
    skipping: bool,
    /// What a line that was no request is answered with.
    refusal: Option<ServerJsonRpcMessage>,
    /// A refusal has been handed to the output, and may not be out yet.
    unflushed: bool,
    output: Arc<Mutex<Option<Output<W>>>>,
    /// Fires when the input has ended.
    ended: CancellationToken,
}

impl<R: AsyncRead, W> Lines<R, W> {
    pub(crate) fn new(input: R, output: W, ended: CancellationToken) -> Self {
        Self {
            input: BufReader::new(input),
            line: Vec::new(),
            skipping: false,
            refusal: None,
            unflushed: false,
            output: Arc::new(Mutex::new(Some(Output { writer: output, buffer: Vec::new(), written: 0 }))),
            ended,
        }
    }
}

impl<R, W> Transport<RoleServer> for Lines<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(&mut self, message: ServerJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let output = self.output.clone();
        async move {
            let mut output = output.lock().await;
            let output = output.as_mut().ok_or(io::ErrorKind::NotConnected)?;
            output.push(&message)?;
            output.flush().await
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            if self.refusal.is_some() || self.unflushed {
                let mut output = self.output.lock().await;
                let output = output.as_mut()?;
                if let Some(refusal) = self.refusal.take() {
                    output.push(&refusal).ok()?;
                    self.unflushed = true;
                }
                output.flush().await.ok()?;
                self.unflushed = false;
            }
            if !self.read_line().await {
                self.ended.cancel();
                return None;
            }
            let parsed = parse(&self.line);
            self.line.clear();
            self.line.shrink_to(MAX_IDLE);
            match parsed {
                Parsed::Message(message) => return Some(message),
                Parsed::Refused(refusal) => self.refusal = Some(refusal),
                Parsed::Nothing => {}
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        drop(self.output.lock().await.take());
        Ok(())
    }
}

impl<R: AsyncRead + Unpin, W> Lines<R, W> {
    /// Reads on until a line is whole, without its end. Returns whether there is one.
    async fn read_line(&mut self) -> bool {
        loop {
            let available = match self.input.fill_buf().await {
                Ok(available) if !available.is_empty() => available,
                _ => return false,
            };
            let end = memchr::memchr(b'\n', available);
            let piece = available.get(..end.unwrap_or(available.len())).unwrap_or_default();
            if !self.skipping {
                if self.line.len() + piece.len() > MAX_LINE {
                    self.skipping = true;
                    self.line = Vec::new();
                    self.refusal = Some(refusal("a line of more than 16 MiB is not taken: send less at once", None));
                } else {
                    self.line.extend_from_slice(piece);
                }
            }
            let consumed = piece.len() + usize::from(end.is_some());
            self.input.consume(consumed);
            if end.is_some() {
                self.skipping = false;
                return true;
            }
        }
    }
}

/// What is to be written. A flush that is cancelled goes on where it was.
struct Output<W> {
    writer: W,
    buffer: Vec<u8>,
    written: usize,
}

impl<W: AsyncWrite + Unpin> Output<W> {
    fn push(&mut self, message: &ServerJsonRpcMessage) -> io::Result<()> {
        let before = self.buffer.len();
        serde_json::to_writer(&mut self.buffer, message).inspect_err(|_| self.buffer.truncate(before))?;
        self.buffer.push(b'\n');
        Ok(())
    }

    async fn flush(&mut self) -> io::Result<()> {
        while let Some(rest) = self.buffer.get(self.written..).filter(|rest| !rest.is_empty()) {
            match self.writer.write(rest).await? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                written => self.written += written,
            }
        }
        self.buffer.clear();
        self.buffer.shrink_to(MAX_IDLE);
        self.written = 0;
        self.writer.flush().await
    }
}

/// A call of a tool, as a line.
#[derive(Deserialize)]
struct CallLine {
    jsonrpc: JsonRpcVersion2_0,
    id: RequestId,
    method: CallMethod,
    params: CallToolRequestParams,
}

#[derive(Deserialize)]
enum CallMethod {
    #[serde(rename = "tools/call")]
    Call,
}

/// What a line holds.
enum Parsed {
    Message(ClientJsonRpcMessage),
    /// No message; the answer says so.
    Refused(ServerJsonRpcMessage),
    /// No message, and nobody who waits for an answer.
    Nothing,
}

fn parse(line: &[u8]) -> Parsed {
    let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
    if let Ok(CallLine { jsonrpc: JsonRpcVersion2_0, id, method: CallMethod::Call, mut params }) =
        serde_json::from_slice(line)
    {
        let meta = params.meta.take();
        let mut request = CallToolRequest::new(params);
        if let Some(meta) = meta {
            request.extensions.insert(meta);
        }
        return Parsed::Message(ClientJsonRpcMessage::request(ClientRequest::CallToolRequest(request), id));
    }
    serde_json::from_slice(line).map_or_else(|_| refuse(line), Parsed::Message)
}

/// JSON that does not parse is not answered, since it does not say who waits for an answer; nor is a notification.
fn refuse(line: &[u8]) -> Parsed {
    let Ok(message) = serde_json::from_slice::<Value>(line) else { return Parsed::Nothing };
    let id = message.get("id");
    if message.get("method").is_some() && id.is_none() {
        return Parsed::Nothing;
    }
    let id = id.and_then(|id| serde_json::from_value(id.clone()).ok());
    Parsed::Refused(refusal("this is no request of the protocol: check method and params", id))
}

fn refusal(message: &'static str, id: Option<RequestId>) -> ServerJsonRpcMessage {
    ServerJsonRpcMessage::error(ErrorData::invalid_request(message, None), id)
}
