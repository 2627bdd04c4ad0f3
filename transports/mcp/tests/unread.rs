//! Clients who do not read what they are answered: no memory without bound, and no server that never ends.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::Duration;

use serde_json::json;
use sessiond_mcp::{Family, Handler, TextStyle, serve};
use tokio::io::{AsyncWrite, AsyncWriteExt, duplex, split};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::faults::Double;
use crate::support::{Server, Wire, management};

/// A pipe that is full soon.
const SMALL: usize = 4096;

/// Longer than anything here may take, and no time at all, since it is paused.
const PATIENCE: Duration = Duration::from_secs(60);

/// A client over a small pipe, and a session that has printed this many bytes.
async fn with_output(server: &mut Server, bytes: usize) -> (Wire, serde_json::Value) {
    let handler = server.handler(management(), TextStyle::Short);
    let (output, input) = split(server.connect_over(SMALL, handler));
    let mut wire = Wire::over(output, input);
    wire.initialize("2025-11-25").await;
    let command = format!("echo {}; sleep 1000", "x".repeat(bytes - 2));
    wire.tool(1, "session_start", json!({"command": command})).await;
    let session = wire.receive().await.unwrap()["result"]["structuredContent"]["session_id"].clone();
    (wire, session)
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_input_ends_a_connection_whose_answers_nobody_reads() {
    // Few answers that wait in the pipe, and so many that no more requests are taken on.
    for (requests, bytes) in [(10, 5000), (100, 500_000)] {
        let mut server = Server::new();
        let (mut wire, session) = with_output(&mut server, bytes).await;
        for id in 10..10 + requests {
            wire.tool(id, "session_read", json!({"session_id": session})).await;
        }
        wire.close_input().await;
        timeout(PATIENCE, server.disconnected()).await.expect("it ends").unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_ends_a_connection_whose_answers_nobody_reads() {
    for (requests, bytes) in [(10, 5000), (100, 500_000)] {
        let mut server = Server::new();
        let (mut wire, session) = with_output(&mut server, bytes).await;
        for id in 10..10 + requests {
            wire.tool(id, "session_read", json!({"session_id": session})).await;
        }
        server.shutdown.cancel();
        timeout(PATIENCE, server.disconnected()).await.expect("it ends").unwrap();
        drop(wire);
    }
}

#[tokio::test(start_paused = true)]
async fn who_reads_slowly_still_gets_every_answer_after_the_end_of_the_input() {
    let mut server = Server::new();
    let (mut wire, session) = with_output(&mut server, 50_000).await;
    for id in 10..20 {
        wire.tool(id, "session_read", json!({"session_id": session})).await;
    }
    wire.close_input().await;
    for _ in 10..20 {
        sleep(Duration::from_millis(100)).await;
        assert_eq!(wire.receive().await.unwrap()["result"]["structuredContent"]["next_cursor"], 50_000);
    }
    assert_eq!(wire.receive().await, None);
    server.disconnected().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn calls_wait_while_more_than_eight_mebibytes_of_answers_are_unread() {
    let mut server = Server::new();
    let double = Arc::new(Double::over(server.registry.clone()));
    let handler = Handler::new(double.clone(), management(), &[Family::Session], TextStyle::Short);
    let (output, input) = split(server.connect_over(SMALL, handler));
    let mut wire = Wire::over(output, input);
    wire.initialize("2025-11-25").await;
    wire.tool(1, "session_start", json!({"command": format!("echo {}; sleep 1000", "x".repeat(1 << 19))})).await;
    let session = wire.receive().await.unwrap()["result"]["structuredContent"]["session_id"].clone();
    for id in 10..70 {
        wire.tool(id, "session_read", json!({"session_id": session})).await;
    }
    // Time is paused: this is over once nothing else has anything to do.
    sleep(Duration::from_millis(1)).await;
    assert_eq!(double.reads.load(Ordering::Relaxed), 16, "answers of half a mebibyte");
    // A call that waits for room is taken back like any other.
    let params = json!({"requestId": 69});
    wire.send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})).await;
    let mut answered = Vec::new();
    for _ in 10..69 {
        let answer = wire.receive().await.unwrap();
        assert_eq!(answer["result"]["structuredContent"]["next_cursor"], (1 << 19) + 2);
        answered.push(answer["id"].as_u64().unwrap());
    }
    answered.sort_unstable();
    assert_eq!(answered, (10..69).collect::<Vec<_>>());
    wire.request(70, "ping", json!({})).await;
    assert_eq!(wire.receive().await.unwrap()["id"], 70);
}

const PING: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";

#[tokio::test(start_paused = true)]
async fn a_reader_who_has_gone_ends_the_connection_though_the_input_goes_on() {
    let server = Server::new();
    let handler = server.handler(management(), TextStyle::Short);
    let ((mut requests, input), (answers, output)) = (duplex(SMALL), duplex(SMALL));
    drop(answers);
    requests.write_all(PING).await.unwrap();
    let served = timeout(PATIENCE, serve(handler, input, output, CancellationToken::new())).await;
    served.expect("it ends").unwrap();
}

/// Takes nothing.
struct Full;

impl AsyncWrite for Full {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, _: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(Err(io::ErrorKind::StorageFull.into()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[tokio::test(start_paused = true)]
async fn an_output_that_fails_ends_the_connection_with_the_reason() {
    let server = Server::new();
    let handler = server.handler(management(), TextStyle::Short);
    let (mut requests, input) = duplex(SMALL);
    requests.write_all(PING).await.unwrap();
    let served = timeout(PATIENCE, serve(handler, input, Full, CancellationToken::new())).await;
    assert_eq!(served.expect("it ends").unwrap_err().kind(), io::ErrorKind::StorageFull);
}
