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
    // Nobody waits for an answer to these.
    for line in ["", "\r", "  \t", "\u{feff}", "{\"method\":\"no/such/thing\"}"] {
        wire.send_line(line).await;
    }
    let no_request = "this is no request of the protocol: check jsonrpc, method and params";
    let bad_id = "id must be a string or an integer of at most 64 bits: give each request one of its own";
    for (line, id, said) in [
        ("{\"jsonrpc\":\"2.0\"}", json!(null), no_request),
        ("{\"id\":\"a\"}", json!("a"), no_request),
        ("[]", json!(null), "a batch is not taken: send each message on a line of its own"),
        ("null", json!(null), "this is no request of the protocol: send a JSON object"),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, json!(null), bad_id),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, json!(null), bad_id),
        (r#"{"jsonrpc":"2.0","id":[1],"method":"tools/call","params":{"name":"list_clients"}}"#, json!(null), bad_id),
        (r#"{"id":{},"result":{}}"#, json!(null), bad_id),
    ] {
        wire.send_line(line).await;
        let answer = wire.receive().await.unwrap();
        assert_eq!((&answer["id"], &answer["error"]), (&id, &json!({"code": -32600, "message": said})), "{line}");
    }
    wire.request(7, "tools/call", json!({"name": "list_clients", "arguments": [1]})).await;
    let answer = wire.receive().await.unwrap();
    let expected = json!({"code": -32602, "message": "name must be a string and arguments an object"});
    assert_eq!((&answer["id"], &answer["error"]), (&json!(7), &expected));
    wire.request(8, "no/such/method", json!({})).await;
    let said =
        "there is no method no/such/method: there are tools/list, tools/call, ping, initialize and server/discover";
    assert_eq!(wire.receive().await.unwrap()["error"], json!({"code": -32601, "message": said}));
    wire.request(9, "ping", json!({})).await;
    assert_eq!(wire.receive().await.unwrap()["result"], json!({}));
}

#[tokio::test]
async fn a_request_that_is_broken_json_is_answered_under_its_id() {
    let mut server = Server::new();
    let mut wire = server.wire();
    wire.initialize("2025-11-25").await;
    let command = |text: &[u8]| {
        let begin = br#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"execute_command","arguments":"#;
        [&begin[..], br#"{"client_token":"local","command":"echo "#, text, br#""}}}"#].concat()
    };
    let deep =
        format!(r#"{{"jsonrpc":"2.0","method":"ping","params":{}{},"id":5}}"#, "[".repeat(9999), "]".repeat(9999));
    for (line, id, said) in [
        (command(br"\ud800"), json!(5), "unexpected end of hex escape"),
        (command(br"\udead"), json!(5), "lone leading surrogate in hex escape"),
        (command(b"\xff"), json!(5), "invalid unicode code point"),
        (command(b"\0"), json!(5), "control character"),
        (deep.into_bytes(), json!(5), "recursion limit exceeded"),
        (br#"{"jsonrpc":"2.0","id":"a","method":"pi"#.to_vec(), json!("a"), "EOF while parsing"),
        (br#"{"id":1e999}"#.to_vec(), json!(null), "number out of range"),
        (b"nonsense".to_vec(), json!(null), "expected ident"),
        (b"{".to_vec(), json!(null), "EOF while parsing"),
    ] {
        wire.send_bytes(&[&line, &b"\n"[..]].concat()).await;
        let answer = wire.receive().await.unwrap();
        let error = (&answer["id"], &answer["error"]["code"]);
        assert_eq!(error, (&id, &json!(-32700)), "{}", String::from_utf8_lossy(&line));
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.starts_with(&format!("this line is not valid JSON: {said}")), "{message}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_id_that_is_in_use_is_refused_and_the_first_request_stays_what_it_was() {
    let mut server = Server::new();
    let mut wire = server.wire();
    wire.initialize("2025-11-25").await;
    wire.tool(5, "execute_command", json!({"command": "sleep 1; echo first"})).await;
    wire.tool(5, "execute_command", json!({"command": "echo second"})).await;
    let refusal = wire.receive().await.unwrap();
    let said = "id 5 is in use by a request that has not ended yet, so this one was not taken";
    assert_eq!((&refusal["id"], &refusal["error"]), (&json!(null), &json!({"code": -32600, "message": said})));
    let answer = wire.receive().await.unwrap();
    assert_eq!((&answer["id"], &answer["result"]["structuredContent"]["stdout"]), (&json!(5), &json!("first\n")));

    // Once it is answered the id is free; when it is taken back, once it has ended.
    wire.tool(5, "execute_command", json!({"command": "sleep 1000", "timeout_ms": 0})).await;
    let params = json!({"requestId": 5});
    wire.send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})).await;
    wire.tool(5, "execute_command", json!({"command": "echo third"})).await;
    assert_eq!(wire.receive().await.unwrap()["error"]["message"], said);
    // Time is paused: this is over once nothing else has anything to do.
    tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    assert_eq!(server.local.running(), 0);
    wire.tool(5, "execute_command", json!({"command": "echo fourth"})).await;
    assert_eq!(wire.receive().await.unwrap()["result"]["structuredContent"]["stdout"], "fourth\n");

    // One that is taken back before it has begun has ended too. The two lines come at once.
    let call = json!({"jsonrpc": "2.0", "id": 6, "method": "tools/call", "params": {"name": "no_such_tool"}});
    let taken_back = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 6}});
    wire.send_line(&format!("{call}\n{taken_back}")).await;
    tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    wire.tool(6, "execute_command", json!({"command": "echo fifth"})).await;
    assert_eq!(wire.receive().await.unwrap()["result"]["structuredContent"]["stdout"], "fifth\n");
}

#[tokio::test]
async fn the_last_line_needs_no_line_end() {
    let mut server = Server::new();
    let mut wire = server.wire();
    wire.initialize("2025-11-25").await;
    wire.send_bytes(br#"{"jsonrpc":"2.0","id":77,"method":"ping"}"#).await;
    wire.close_input().await;
    assert_eq!(wire.receive().await.unwrap(), json!({"jsonrpc": "2.0", "id": 77, "result": {}}));
    server.disconnected().await.unwrap();
}

#[tokio::test]
async fn who_asks_before_initialize_is_told_to_and_may_go_on() {
    let mut server = Server::new();
    let mut wire = server.wire();
    // Neither notifications nor answers to nothing have to do with how a connection begins.
    wire.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    wire.send(json!({"jsonrpc": "2.0", "id": 0, "result": {}})).await;
    wire.tool(1, "list_clients", json!({})).await;
    let said = "initialize first: this connection begins with the request initialize, or else each request carries the \
                _meta of protocol version 2026-07-28";
    let refusal = wire.receive().await.unwrap();
    assert_eq!((&refusal["id"], &refusal["error"]), (&json!(1), &json!({"code": -32600, "message": said})));
    wire.request(2, "initialize", json!({"protocolVersion": 5})).await;
    let said = "initialize cannot be read: its params must have protocolVersion, capabilities and clientInfo";
    let refusal = wire.receive().await.unwrap();
    assert_eq!((&refusal["id"], &refusal["error"]), (&json!(2), &json!({"code": -32600, "message": said})));
    wire.request(3, "ping", json!({})).await;
    assert_eq!(wire.receive().await.unwrap()["result"], json!({}));
    assert_eq!(wire.initialize("2025-11-25").await["protocolVersion"], "2025-11-25");
    wire.tool(4, "list_clients", json!({})).await;
    assert_eq!(wire.receive().await.unwrap()["id"], 4);
}

#[tokio::test]
async fn a_line_that_is_too_long_is_refused_and_the_next_one_taken() {
    let mut server = Server::new();
    let mut wire = server.wire();
    wire.initialize("2025-11-25").await;
    let expected = json!({"code": -32600, "message": "a line of more than 16 MiB is not taken: send less at once"});
    for (begin, id) in [("", json!(null)), (r#"{"jsonrpc":"2.0","id":6,"x":""#, json!(6))] {
        wire.send_line(&format!("{begin}{}", "x".repeat(17 << 20))).await;
        let answer = wire.receive().await.unwrap();
        assert_eq!((&answer["id"], &answer["error"]), (&id, &expected));
    }
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
