//! Arguments that are wrong: a clear refusal each, of a known kind, at once, and never a panic.

use std::fmt::Write as _;

use serde_json::{Value, json};
use sessiond_core::{AgentSessionDetail, ManualTask};

use crate::support::{Server, placed, refusal};

/// A call about a session.
fn about_session(tool: &'static str, rest: Value) -> (&'static str, Value) {
    let mut arguments = json!({"session_id": "0".repeat(26)});
    arguments.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    (tool, arguments)
}

/// Reads that are refused for their arguments alone.
fn refused_reads() -> Vec<(&'static str, Value)> {
    let read = |rest| about_session("session_read", rest);
    vec![
        read(json!({"crusor": 1})),
        read(json!({"timeout": 1, "wait_ms": 1})),
        read(json!({"until": {"patern": "x"}})),
        ("list_clients", json!({"session_id": "x"})),
        ("session_read", json!({})),
        ("execute_command", json!({})),
        read(json!({"session_id": null})),
        read(json!({"session_id": 5})),
        read(json!({"client_token": true})),
        read(json!({"wait_ms": 20001})),
        read(json!({"wait_ms": -1})),
        read(json!({"wait_ms": 1.5})),
        read(json!({"wait_ms": "5"})),
        read(json!({"wait_ms": [5]})),
        read(json!({"cursor": -1})),
        read(json!({"cursor": 0.5})),
        read(json!({"cursor": 1e300})),
        read(json!({"cursor": 18_446_744_073_709_551_616_f64})),
        read(json!({"cursor": {}})),
        read(json!({"max_bytes": 3})),
        read(json!({"max_bytes": 1_048_577})),
        read(json!({"until": "x"})),
        read(json!({"until": {}})),
        read(json!({"until": {"end": false}})),
        read(json!({"until": {"end": "yes"}})),
        read(json!({"until": {"quiet_ms": 0}})),
        read(json!({"until": {"pattern": "("}})),
        read(json!({"until": {"pattern": ""}})),
        read(json!({"until": {"pattern": "(a{1000}){1000}"}})),
        read(json!({})),
    ]
}

/// Starts that are refused for their arguments alone.
fn refused_starts() -> Vec<(&'static str, Value)> {
    vec![
        ("execute_command", json!({"command": ""})),
        ("execute_command", json!({"command": "echo \0"})),
        ("execute_command", json!({"command": "true", "env": {"A": 1}})),
        ("execute_command", json!({"command": "true", "env": ["A=1"]})),
        ("execute_command", json!({"command": "true", "env": {"A=B": "1"}})),
        ("execute_command", json!({"command": "true", "timeout_ms": 86_400_001})),
        ("execute_command", json!({"command": "true", "client_token": ""})),
        ("execute_command", json!({"command": "true", "client_token": "nowhere"})),
        ("execute_command", json!({"command": "true", "client_id": "nowhere"})),
        ("session_start", json!({})),
        ("session_start", json!({"command": "true", "native_id": "1"})),
        ("session_start", json!({"native_id": "1", "cwd": "/"})),
        ("session_start", json!({"native_id": "1"})),
        ("session_start", json!({"command": "true", "cols": 0})),
        ("session_start", json!({"command": "true", "rows": 1001})),
        ("session_start", json!({"command": "true", "label": "x".repeat(257)})),
        ("session_start", json!({"command": "true", "login": "no"})),
        ("session_start", json!({"command": ":fail no shell there"})),
    ]
}

/// Other calls that are refused for their arguments alone.
fn other_refused() -> Vec<(&'static str, Value)> {
    let write = |rest| about_session("session_write", rest);
    let control = |rest| about_session("session_control", rest);
    vec![
        write(json!({})),
        write(json!({"input": "x", "input_base64": "eA=="})),
        write(json!({"input_base64": "not base64!"})),
        control(json!({})),
        control(json!({"action": "interupt"})),
        control(json!({"action": "signal"})),
        control(json!({"action": "signal", "signal": "NOPE"})),
        control(json!({"action": "resize", "cols": 100})),
        control(json!({"action": "eof", "keys": ["enter"]})),
        control(json!({"action": "keys", "keys": []})),
        control(json!({"action": "keys", "keys": ["C-c"]})),
        control(json!({"action": "keys", "keys": ["enter", 5]})),
        control(json!({"action": "keys", "keys": vec!["a"; 257]})),
        ("session_list", json!({"limit": 0})),
        ("session_list", json!({"limit": 501})),
        ("session_list", json!({"status": "gone"})),
        ("session_list", json!({"page_token": "nonsense"})),
    ]
}

#[tokio::test]
async fn the_catalogue_of_refusals() {
    let mut server = Server::new();
    let client = server.client().await;
    let mut catalogue = String::new();
    for (tool, arguments) in [refused_reads(), refused_starts(), other_refused()].concat() {
        let reply = client.call(tool, arguments.clone()).await;
        let (kind, text) = refusal(&reply);
        let arguments = arguments.to_string();
        let shown = if arguments.len() > 160 { format!("{} bytes of arguments", arguments.len()) } else { arguments };
        writeln!(catalogue, "{tool} {shown}\n  {kind}: {text}").unwrap();
    }
    insta::assert_snapshot!("refusals", catalogue);
}

#[tokio::test]
async fn an_explicit_null_is_the_same_as_left_out() {
    let mut server = Server::new();
    let client = server.client().await;
    let session = client.start("echo hi").await;
    let plain = client.end_of(&session).await;
    let nulls = json!({"session_id": session, "cursor": null, "wait_ms": null, "max_bytes": null, "until": null});
    assert_eq!(client.call("session_read", nulls).await.structured, plain);
    let inner = json!({"session_id": session, "until": {"end": true, "pattern": null, "quiet_ms": null}});
    assert_eq!(client.call("session_read", inner).await.structured, plain);
}

#[tokio::test]
async fn a_whole_number_may_be_written_with_a_point() {
    let mut server = Server::new();
    let client = server.client().await;
    let session = client.start("echo hi").await;
    client.end_of(&session).await;
    let reply = client.call("session_read", json!({"session_id": session, "cursor": 2.0, "wait_ms": 0.0})).await;
    assert_eq!((&reply.structured["output"], &reply.structured["next_cursor"]), (&json!("\r\n"), &json!(4)));
}

#[tokio::test]
async fn the_ends_of_every_range_are_taken() {
    let mut server = Server::new();
    let client = server.client().await;
    let session = client.start("echo hi").await;
    client.end_of(&session).await;
    for (name, value) in [("wait_ms", 0), ("wait_ms", 1), ("wait_ms", 20_000), ("max_bytes", 4), ("max_bytes", 1 << 20)]
    {
        let reply = client.call("session_read", json!({"session_id": session, name: value})).await;
        assert_eq!(reply.structured["output"], "hi\r\n", "{name} {value}");
    }
}

#[tokio::test]
async fn a_cursor_past_the_end_names_the_end() {
    let mut server = Server::new();
    let client = server.client().await;
    let session = client.start("echo hi").await;
    client.end_of(&session).await;
    for cursor in [5, u64::MAX] {
        let reply = client.call("session_read", json!({"session_id": session, "cursor": cursor})).await;
        let (kind, text) = refusal(&reply);
        assert!(kind == "invalid_argument" && text.contains('4'), "{text}");
    }
    let at_end = client.call("session_read", json!({"session_id": session, "cursor": 4})).await;
    assert_eq!(at_end.structured["done"], true);
}

#[tokio::test]
async fn an_unknown_tool_is_a_protocol_error_that_names_the_nearest() {
    let mut server = Server::new();
    let client = server.client().await;
    let error = client.try_call("session_reed", json!({})).await.unwrap_err();
    let rmcp::ServiceError::McpError(error) = error else { panic!("{error}") };
    assert_eq!(error.code.0, -32602);
    assert_eq!(error.message, "unknown tool session_reed: the nearest is session_read; tools/list shows all");
}

#[tokio::test]
async fn an_unknown_tool_like_no_other_gets_the_names_of_all() {
    let mut server = Server::new();
    let client = server.client().await;
    let error = client.try_call("kill", json!({})).await.unwrap_err();
    let rmcp::ServiceError::McpError(error) = error else { panic!("{error}") };
    let known = "list_clients, execute_command, session_start, session_read, session_write, session_control, \
                 session_stop, session_list";
    assert_eq!(error.message, format!("unknown tool kill: known are {known}; tools/list shows all"));
}

#[tokio::test]
async fn a_refusal_does_not_grow_with_what_it_refuses() {
    let mut server = Server::new();
    let client = server.client().await;
    let long = "z=".repeat(500_000);
    let session = client.start("sleep 100").await;
    for (tool, arguments) in [
        ("execute_command", json!({"command": "true", "env": {&long: "v"}})),
        ("execute_command", json!({"command": "true", "env": {"z".repeat(500_000): "\0"}})),
        ("execute_command", json!({"command": "true", "env": {&long: 1}})),
        ("execute_command", json!({"command": "true", &long: 1})),
        ("execute_command", json!({"command": "true", "client_token": "z".repeat(250)})),
        ("execute_command", json!({"command": "true", "client_id": long})),
        ("session_start", json!({"command": format!(":fail {long}")})),
        ("session_control", json!({"session_id": session, "action": long})),
        ("session_control", json!({"session_id": session, "action": "signal", "signal": long})),
        ("session_control", json!({"session_id": session, "action": "keys", "keys": [long]})),
        ("session_list", json!({"page_token": long})),
    ] {
        let reply = client.call(tool, arguments).await;
        assert!(refusal(&reply).1.len() < 1100, "{tool}: {} bytes", reply.text.len());
    }
    let error = client.try_call(&long, json!({})).await.unwrap_err().to_string();
    assert!(error.len() < 400, "{} bytes", error.len());
    let mut wire = server.wire();
    wire.initialize("2025-11-25").await;
    wire.request(1, &long, json!({})).await;
    let error = wire.receive().await.unwrap()["error"].to_string();
    assert!(error.len() < 400, "{} bytes", error.len());
}

/// Values that nobody should send.
fn odd_values() -> Vec<Value> {
    vec![
        Value::Null,
        json!(true),
        json!(0),
        json!(-1),
        json!(i64::MIN),
        json!(u64::MAX),
        json!(1.5),
        json!(-0.0),
        json!(1e300),
        json!(""),
        json!("x"),
        json!("\u{0}\u{1b}[31m\u{202e}é"),
        json!("y".repeat(100_000)),
        json!([]),
        json!(["x", 1, null]),
        json!({}),
        json!({"pattern": "x{2}{3}{4}"}),
        json!({"": null, "a": {"b": []}}),
    ]
}

#[tokio::test(start_paused = true)]
async fn no_argument_makes_the_server_panic() {
    let mut server = Server::with_all();
    let client = server.client().await;
    let session = client.start("cat").await;
    server.flow.put_session(AgentSessionDetail {
        session_id: "s1".to_owned(),
        status: "RUNNING".to_owned(),
        ..AgentSessionDetail::default()
    });
    server.flow.put_task(ManualTask { work_item_id: "w1".to_owned(), pending: true, ..ManualTask::default() });
    let base = |tool: &str| match tool {
        "execute_command" | "session_start" => json!({"command": "true"}),
        "session_read" | "session_stop" => json!({"session_id": session}),
        "session_write" => json!({"session_id": session, "input": "x"}),
        "session_control" => json!({"session_id": session, "action": "interrupt"}),
        "ssh_cmd_run" => json!({"command": "true", "host_name": "local"}),
        "ssh_cmd_check_status" | "ssh_cmd_output" | "ssh_cmd_kill" => json!({"handle_id": 1}),
        "describe_session" | "describe_session_token_usage" => json!({"session_id": "s1"}),
        "start_agent" => json!({"agent": "echo"}),
        "control_session" => json!({"session_id": "s1", "action": "resume"}),
        "describe_manual_task" => json!({"work_item_id": "w1"}),
        "complete_manual_task" => json!({"work_item_id": "w1", "finish_state": "success"}),
        _ => json!({}),
    };
    for tool in &client.tools {
        let properties = tool.input_schema["properties"].as_object().unwrap();
        for name in properties.keys().map(String::as_str).chain(["nonsense", ""]) {
            for value in odd_values() {
                let mut arguments = base(&tool.name);
                arguments[name] = value.clone();
                // The client checks each answer: a result that fits its schema, or an error with its kind.
                let reply = client.try_call(&tool.name, placed(&tool.name, arguments)).await;
                let reply = reply.unwrap_or_else(|error| panic!("{} {name} {value}: {error}", tool.name));
                assert_ne!(reply.meta["sessiond/error"], "internal", "{} {name} {value}", tool.name);
            }
        }
    }
}
