//! MCP messages as requests of HTTP, in the era without sessions: each message is a request, and its answer the response.

use bytes::Bytes;
use futures_util::TryStreamExt;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE};
use hyper::http::request::Builder;
use hyper::{Request, Response, StatusCode};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};

/// The protocol version of each message.
const VERSION: &str = "2026-07-28";

/// Why a request came to nothing.
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// A server's endpoint, and the key that its caller has.
#[derive(Clone)]
pub(crate) struct Endpoint {
    http: legacy::Client<HttpConnector, Full<Bytes>>,
    url: String,
    bearer: Option<String>,
}

/// How a server receives somebody.
#[derive(Debug, PartialEq, Eq)]
pub struct Reception {
    /// The status.
    pub status: u16,
    /// What it asks for (RFC 6750, section 3).
    pub challenge: Option<String>,
    /// The body.
    pub body: String,
}

impl Endpoint {
    /// The endpoint at this address, for whoever has this key; without one, for nobody in particular.
    pub(crate) fn new(url: String, bearer: Option<String>) -> Self {
        Self { http: legacy::Client::builder(TokioExecutor::new()).build_http(), url, bearer }
    }

    /// The same endpoint with another key.
    pub(crate) fn with(&self, bearer: Option<String>) -> Self {
        Self { bearer, ..self.clone() }
    }

    /// Asks for something; `take` gets each message of the response.
    ///
    /// # Errors
    /// The response ended before it was whole.
    pub(super) async fn ask(&self, message: Value, take: impl Fn(String)) -> Result<(), Failure> {
        let id = message.get("id").cloned().unwrap_or_default();
        let response = self.post(message).await?;
        if response.status() != StatusCode::OK {
            take(refusal(id, response).await?);
        } else if is_stream(&response) {
            events(response.into_body(), take).await?;
        } else {
            take(text(response.into_body()).await?);
        }
        Ok(())
    }

    /// How it receives somebody who asks for the tools.
    pub(crate) async fn knock(&self) -> Reception {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} });
        let received = async {
            let response = self.post(message).await?;
            let challenge = response.headers().get(WWW_AUTHENTICATE).map(|value| value.to_str().map(str::to_owned));
            let (status, challenge) = (response.status().as_u16(), challenge.transpose()?);
            Ok::<_, Failure>(Reception { status, challenge, body: text(response.into_body()).await? })
        };
        received.await.unwrap_or_else(|error| panic!("nobody answers: {error}"))
    }

    async fn post(&self, mut message: Value) -> Result<Response<Incoming>, Failure> {
        let method = message["method"].as_str().unwrap_or_default().to_owned();
        let mut request = Request::post(&self.url)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream")
            .header("mcp-protocol-version", VERSION)
            .header("mcp-method", &method);
        let name = message.pointer("/params/name").and_then(Value::as_str).map(str::to_owned);
        request = with(request, "mcp-name", name);
        request = with(request, AUTHORIZATION.as_str(), self.bearer.as_ref().map(|key| format!("Bearer {key}")));
        message["params"]["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": VERSION,
            "io.modelcontextprotocol/clientInfo": { "name": "conformance", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        Ok(self.http.request(request.body(message.to_string().into())?).await?)
    }
}

fn with(request: Builder, name: &str, value: Option<String>) -> Builder {
    match value {
        Some(value) => request.header(name, value),
        None => request,
    }
}

fn is_stream(response: &Response<Incoming>) -> bool {
    response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
}

async fn text(body: Incoming) -> Result<String, Failure> {
    Ok(String::from_utf8(body.collect().await?.to_bytes().into())?)
}

/// The messages of an event stream. JSON has no line break of its own, so that each is a line.
async fn events(body: Incoming, take: impl Fn(String)) -> Result<(), Failure> {
    let mut data = body.into_data_stream();
    let mut rest = Vec::new();
    while let Some(chunk) = data.try_next().await? {
        rest.extend_from_slice(&chunk);
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = rest.drain(..=end).collect();
            if let Some(message) = String::from_utf8(line)?.trim_end().strip_prefix("data: ") {
                take(message.to_owned());
            }
        }
    }
    Ok(())
}

/// What is refused before it is a call, as the answer to its request: an error with the status in it.
async fn refusal(id: Value, response: Response<Incoming>) -> Result<String, Failure> {
    let status = response.status().as_u16();
    let body = text(response.into_body()).await?;
    let mut message: Value = serde_json::from_str(&body).unwrap_or_default();
    let error = match message.get_mut("error") {
        Some(error) => error.take(),
        None => json!({ "code": status, "message": body }),
    };
    Ok(json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string())
}
