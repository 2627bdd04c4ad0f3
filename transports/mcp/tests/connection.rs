//! The connection itself: its end in the middle of a call, cancellation, progress, and lines that are no requests.

use serde_json::json;
use sessiond_mcp::TextStyle;

use crate::support::{Era, Server, management};

#[tokio::test(start_paused = true)]
async fn calls_that_wait_are_answered_when_the_input_ends() {
    let mut server = Server::new();
    let mut wire = server.wire();
    wire.initialize("2025-11-25").await;
    wire.tool(1, "session_start", json!({"command": "echo hi; sleep 100"})).await;
    let session = wire.receive().await.unwrap()["result"]["structuredContent"]["session_id"].clone();
    let arguments = json!({"session_id": session, "cursor": 4, "wait_ms": 20000});
    wire.tool(2, "session_read", arguments).await;
    wire.tool(3, "execute_command", json!({"command": "echo begun; sleep 100"})).await;
    wire.close_input().await;
    let begin = tokio::time::Instant::now();
    let mut answers = [wire.receive().await.unwrap(), wire.receive().await.unwrap()];
    answers.sort_by_key(|answer| answer["id"].as_u64());
    assert_eq!(answers[0]["result"]["structuredContent"]["done"], false);
    let command = &answers[1]["result"]["structuredContent"];
    assert_eq!((&command["stdout"], &command["canceled"]), (&json!("begun\n"), &json!(true)));
    assert_eq!(wire.receive().await, None);
    server.disconnected().await.unwrap();
    assert!(begin.elapsed().as_millis() < 1000);
}

#[tokio::test(start_paused = true)]
async fn requests_that_are_piped_in_are_answered_before_the_server_ends() {
    let mut server = Server::new();
    let mut wire = server.wire();
    wire.initialize("2025-11-25").await;
    wire.tool(1, "execute_command", json!({"command": "sleep 0.3; echo hi"})).await;
    wire.close_input().await;
    assert_eq!(wire.receive().await.unwrap()["result"]["structuredContent"]["stdout"], "hi\n");
    server.disconnected().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_answers_what_is_pending_and_ends() {
    let mut server = Server::new();
    let mut wire = server.wire();
    wire.initialize("2025-11-25").await;
    wire.tool(1, "session_start", json!({"command": "sleep 100"})).await;
    let session = wire.receive().await.unwrap()["result"]["structuredContent"]["session_id"].clone();
    wire.tool(2, "session_read", json!({"session_id": session, "wait_ms": 20000})).await;
    wire.request(3, "ping", json!({})).await;
    assert_eq!(wire.receive().await.unwrap()["id"], 3);
    server.shutdown.cancel();
    assert_eq!(wire.receive().await.unwrap()["result"]["structuredContent"]["done"], false);
    assert_eq!(wire.receive().await, None);
    server.disconnected().await.unwrap();
}

#[tokio::test]
async fn a_caller_who_leaves_before_saying_anything_is_no_error() {
    let mut server = Server::new();
    server.wire().close_input().await;
    server.disconnected().await.unwrap();
    let wire = server.wire();
    server.shutdown.cancel();
    server.disconnected().await.unwrap();
    drop(wire);
}

#[tokio::test(start_paused = true)]
async fn cancelling_a_request_stops_its_command_and_no_session() {
    let mut server = Server::new();
    let mut wire = server.wire();
    wire.initialize("2025-11-25").await;
    wire.tool(1, "session_start", json!({"command": "sleep 1000"})).await;
    let session = wire.receive().await.unwrap()["result"]["structuredContent"]["session_id"].clone();
    wire.tool(2, "execute_command", json!({"command": "sleep 1000", "timeout_ms": 0})).await;
    wire.tool(3, "session_read", json!({"session_id": session, "wait_ms": 20000})).await;
    wire.request(4, "ping", json!({})).await;
    assert_eq!(wire.receive().await.unwrap()["id"], 4);
    assert_eq!(server.local.running(), 2);
    for id in [2, 3] {
        let params = json!({"requestId": id, "reason": "changed my mind"});
        wire.send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})).await;
    }
    // Time is paused: this is over once nothing else has anything to do.
    tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    assert_eq!(server.local.running(), 1);
    wire.tool(5, "session_read", json!({"session_id": session})).await;
    let answer = wire.receive().await.unwrap();
    assert_eq!((&answer["id"], &answer["result"]["structuredContent"]["done"]), (&json!(5), &json!(false)));
}

#[tokio::test(start_paused = true)]
async fn a_long_call_reports_every_ten_seconds() {
    let mut server = Server::new();
    let client = server.client_of(management(), TextStyle::Short, Era::legacy()).await;
    client.call("execute_command", json!({"command": "echo hi; sleep 35"})).await;
    let expected = [10, 20, 30].map(|seconds| (f64::from(seconds), format!("{seconds} s, 3 bytes of output")));
    assert_eq!(*client.reports.lock().unwrap(), expected);
    client.reports.lock().unwrap().clear();
    client.call("execute_command", json!({"command": "sleep 9"})).await;
    let session = client.start("sleep 100").await;
    let arguments = json!({"session_id": session, "wait_ms": 15000, "until": {"quiet_ms": 12000}});
    client.call("session_read", arguments).await;
    assert_eq!(*client.reports.lock().unwrap(), [(10.0, "10 s, 0 bytes of output".to_owned())]);
}

#[tokio::test(start_paused = true)]
async fn progress_is_reported_in_the_stateless_era_too() {
    let mut server = Server::new();
    let client = server.client_of(management(), TextStyle::Short, Era::modern()).await;
    client.call("execute_command", json!({"command": "sleep 15"})).await;
    assert_eq!(*client.reports.lock().unwrap(), [(10.0, "10 s, 0 bytes of output".to_owned())]);
}

#[tokio::test(start_paused = true)]
async fn who_asks_for_no_progress_gets_none() {
    let mut server = Server::new();
    let mut wire = server.wire();
    wire.initialize("2025-11-25").await;
    wire.tool(1, "execute_command", json!({"command": "sleep 35"})).await;
    assert_eq!(wire.receive().await.unwrap()["id"], 1);
}

#[tokio::test]
async fn lines_that_are_no_requests_do_not_end_the_connection() {
    let mut server = Server::new();
    let mut wire = server.wire();
    wire.initialize("2025-11-25").await;
    for line in ["", "\r", "nonsense", "{", "\u{feff}", "{\"id\":1e999}", "{\"method\":\"no/such/thing\"}"] {
        wire.send_line(line).await;
    }
    let refused = json!({"code": -32600, "message": "this is no request of the protocol: check method and params"});
    for (line, id) in [("[]", json!(null)), ("{\"jsonrpc\":\"2.0\"}", json!(null)), ("{\"id\":\"a\"}", json!("a"))] {
        wire.send_line(line).await;
        let answer = wire.receive().await.unwrap();
        assert_eq!((&answer["id"], &answer["error"]), (&id, &refused), "{line}");
    }
    wire.request(7, "tools/call", json!({"name": "list_clients", "arguments": [1]})).await;
    let answer = wire.receive().await.unwrap();
    let expected = json!({"code": -32602, "message": "name must be a string and arguments an object"});
    assert_eq!((&answer["id"], &answer["error"]), (&json!(7), &expected));
    wire.request(8, "no/such/method", json!({})).await;
    assert_eq!(wire.receive().await.unwrap()["error"]["code"], -32601);
    wire.request(9, "ping", json!({})).await;
    assert_eq!(wire.receive().await.unwrap()["result"], json!({}));
}

#[tokio::test]
async fn a_line_that_is_too_long_is_refused_and_the_next_one_taken() {
    let mut server = Server::new();
    let mut wire = server.wire();
    wire.initialize("2025-11-25").await;
    wire.send_line(&"x".repeat(17 << 20)).await;
    let expected = json!({"code": -32600, "message": "a line of more than 16 MiB is not taken: send less at once"});
    assert_eq!(wire.receive().await.unwrap()["error"], expected);
    wire.tool(1, "execute_command", json!({"command": "cat", "stdin": "y".repeat(3 << 20)})).await;
    assert_eq!(wire.receive().await.unwrap()["result"]["structuredContent"]["truncated"], true);
}

#[tokio::test]
async fn calls_at_once_are_answered_each_under_its_own_id() {
    let mut server = Server::new();
    let mut wire = server.wire();
    wire.initialize("2025-11-25").await;
    for id in 1..=50 {
        wire.tool(id, "execute_command", json!({"command": format!("exit {id}")})).await;
    }
    let mut answers = Vec::new();
    for _ in 1..=50 {
        let answer = wire.receive().await.unwrap();
        answers.push((answer["id"].as_u64(), answer["result"]["structuredContent"]["exit_code"].as_u64()));
    }
    answers.sort_unstable();
    assert_eq!(answers, (1..=50).map(|id| (Some(id), Some(id))).collect::<Vec<_>>());
}
