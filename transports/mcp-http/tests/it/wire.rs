//! HTTP by hand: what is sent is what stands in the test, and what comes back is looked at as it came.

use std::collections::HashMap;
use std::net::SocketAddr;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

/// An answer, as far as it is wanted.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: String,
}

impl Reply {
    /// A header's value.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    /// The body as JSON; of an event stream the last message.
    pub(crate) fn json(&self) -> Value {
        let text = match self.header("content-type") {
            "text/event-stream" => self.body.lines().filter_map(|line| line.strip_prefix("data: ")).next_back(),
            _ => Some(self.body.as_str()),
        };
        serde_json::from_str(text.unwrap_or_default()).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// What an error says.
    pub(crate) fn message(&self) -> String {
        self.json()["error"]["message"].as_str().unwrap_or_else(|| panic!("no error: {self:?}")).to_owned()
    }
}

/// A connection.
pub(crate) struct Wire {
    stream: BufReader<TcpStream>,
}

impl Wire {
    pub(crate) async fn to(address: SocketAddr) -> Self {
        Self { stream: BufReader::new(TcpStream::connect(address).await.unwrap()) }
    }

    /// Sends these bytes. A server that has closed the connection already takes none, which the answer shows.
    pub(crate) async fn send(&mut self, bytes: &[u8]) {
        let _ = self.stream.get_mut().write_all(bytes).await;
    }

    /// Sends a request.
    pub(crate) async fn ask(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) {
        let mut text = format!("{method} {path} HTTP/1.1\r\ncontent-length: {}\r\n", body.len());
        for (name, value) in headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        self.send(format!("{text}\r\n{body}").as_bytes()).await;
    }

    /// The status and the headers of an answer, whose body is still to be read; `None` when the connection was closed
    /// without one.
    pub(crate) async fn head(&mut self) -> Option<Reply> {
        let line = self.line().await?;
        let status = line.split(' ').nth(1).unwrap().parse().unwrap();
        let mut headers = HashMap::new();
        loop {
            let line = self.line().await.expect("the head is whole");
            let Some((name, value)) = line.split_once(": ") else { break };
            headers.insert(name.to_ascii_lowercase(), value.to_owned());
        }
        Some(Reply { status, headers, body: String::new() })
    }

    /// A whole answer.
    pub(crate) async fn reply(&mut self) -> Reply {
        let mut reply = self.head().await.expect("an answer");
        let mut body = Vec::new();
        if reply.header("transfer-encoding") == "chunked" {
            while let Some(chunk) = self.chunk().await {
                body.extend_from_slice(chunk.as_bytes());
            }
        } else {
            body = vec![0; reply.header("content-length").parse().unwrap_or(0)];
            self.stream.read_exact(&mut body).await.unwrap();
        }
        reply.body = String::from_utf8(body).unwrap();
        reply
    }

    /// One chunk of a body; `None` at its end, or when the connection is cut.
    pub(crate) async fn chunk(&mut self) -> Option<String> {
        let size = usize::from_str_radix(&self.line().await?, 16).unwrap();
        let mut bytes = vec![0; size + 2];
        self.stream.read_exact(&mut bytes).await.ok()?;
        bytes.truncate(size);
        (size > 0).then(|| String::from_utf8(bytes).unwrap())
    }

    /// The rest of an event stream until an event carries a message, as that message; `None` when the stream ends before.
    pub(crate) async fn message(&mut self) -> Option<Value> {
        while let Some(event) = self.chunk().await {
            let data = event.lines().find_map(|line| line.strip_prefix("data: "));
            if let Some(message) = data.and_then(|data| serde_json::from_str(data).ok()) {
                return Some(message);
            }
        }
        None
    }

    /// Whether the server has closed the connection.
    pub(crate) async fn is_closed(&mut self) -> bool {
        matches!(self.stream.fill_buf().await, Ok([]) | Err(_))
    }

    async fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = self.stream.read_line(&mut line).await.ok()?;
        (read > 0).then(|| line.trim_end().to_owned())
    }
}
