//! What a transport adds to a handler: who watches its calls, and when they are taken back.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rmcp::service::serve_server;
use serde_json::json;
use sessiond_mcp::{Observer, Proof, TextStyle};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::Span;

use crate::support::{Client, Era, Server, Wire, management};

/// Writes down what it hears.
#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

impl Observer for Notes {
    fn span(&self, tool: &'static str, _: &Proof<'_>, traceparent: Option<&str>) -> Span {
        self.0.lock().unwrap().push(format!("{tool} begins, {}", traceparent.unwrap_or("no trace")));
        Span::none()
    }

    fn answered(&self, tool: &'static str, outcome: &'static str, _: Duration) {
        self.0.lock().unwrap().push(format!("{tool}: {outcome}"));
    }
}

impl Notes {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

#[tokio::test]
async fn every_call_of_a_tool_is_heard_of_with_its_outcome() {
    let mut server = Server::new();
    let notes = Arc::new(Notes::default());
    let handler = server.handler(management(), TextStyle::Short).observed(notes.clone());
    let pipe = server.connect(handler);
    let client = Client::connect(pipe, Era::legacy()).await;
    for (tool, arguments, outcome) in [
        ("list_clients", json!({}), "ok"),
        ("execute_command", json!({"command": "exit 3"}), "failed"),
        ("session_read", json!({"session_id": "nobody's"}), "not_found"),
        ("session_read", json!({}), "invalid_argument"),
    ] {
        client.call(tool, arguments).await;
        assert_eq!(notes.take(), [format!("{tool} begins, no trace"), format!("{tool}: {outcome}")]);
    }
    client.try_call("no_such_tool", json!({})).await.unwrap_err();
    assert_eq!(notes.take(), [""; 0]);
}

#[tokio::test]
async fn a_call_is_joined_to_the_trace_of_its_caller() {
    let mut server = Server::new();
    let notes = Arc::new(Notes::default());
    let handler = server.handler(management(), TextStyle::Short).observed(notes.clone());
    let (output, input) = tokio::io::split(server.connect(handler));
    let mut wire = Wire::over(output, input);
    wire.initialize("2025-11-25").await;
    let trace = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01";
    let params = json!({"name": "list_clients", "arguments": {}, "_meta": {"traceparent": trace}});
    wire.request(1, "tools/call", params).await;
    wire.receive().await.unwrap();
    assert_eq!(notes.take(), [format!("list_clients begins, {trace}"), "list_clients: ok".to_owned()]);
}

/// As a transport does that has no connection of ours: a handler of its own, served by the protocol alone.
#[tokio::test(start_paused = true)]
async fn calls_that_wait_are_answered_when_the_server_ends() {
    let server = Server::new();
    let closing = CancellationToken::new();
    let handler = server.handler(management(), TextStyle::Short).until(closing.clone());
    let (near, far) = tokio::io::duplex(1 << 16);
    let (served, client) = tokio::join!(serve_server(handler, far), Client::connect(near, Era::legacy()));
    let session = client.start("cat").await;
    let began = Instant::now();
    let read = client.call("session_read", json!({"session_id": session, "wait_ms": 20000}));
    let (read, ()) = tokio::join!(read, async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        closing.cancel();
    });
    let expected = json!({
        "session_id": session, "output": "", "next_cursor": 0, "truncated": false, "done": false,
    });
    assert_eq!((read.is_error, read.structured), (false, expected));
    assert_eq!(began.elapsed().as_secs(), 5);
    drop(served);
}
