//! stdout belongs to the protocol.

use serde_json::{Value, json};

use crate::support::{Place, Server};

#[test]
fn every_line_of_stdout_is_a_message_through_a_whole_session_at_the_loudest_level() {
    let place = Place::new();
    let mut server = Server::start(place.command(&["--log", "trace"]));
    server.collect_stderr();

    let tools = server.request("tools/list", json!({}));
    assert_eq!(tools["result"]["tools"].as_array().unwrap().len(), 8);
    let session = server.start_session("echo ready; read line; echo got $line; exit 3");
    let of = |more: Value| {
        let mut arguments = json!({"session_id": session, "client_token": "local"});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        arguments
    };
    assert_eq!(server.call("session_write", of(json!({"input": "hunter2\n"})))["accepted"], true);
    let read = server.call("session_read", of(json!({"wait_ms": 20000, "until": {"end": true}})));
    assert_eq!((&read["done"], &read["exit_code"]), (&json!(true), &json!(3)));
    server.call("session_list", json!({"client_token": "local"}));
    server.call("session_stop", of(json!({})));
    server.call("execute_command", json!({"command": "echo a; echo b >&2; exit 1", "client_token": "local"}));
    server.request("tools/call", json!({"name": "no_such_tool", "arguments": {}}));
    server.request("no/such/method", json!({}));

    server.close();
    let (status, lines, errors) = server.end();
    assert!(status.success(), "{status}");
    for line in lines {
        let message: Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
    }
    assert!(errors.contains(" DEBUG "), "the log is loud: {errors}");
    assert!(!errors.contains("hunter2"), "what is typed is not logged");
}

#[test]
fn the_log_can_be_json() {
    let place = Place::new();
    let mut command = place.command(&["--log", "info"]);
    command.env("SESSIOND_LOG__FORMAT", "json");
    let mut server = Server::start(command);
    server.collect_stderr();
    server.close();
    let (_, _, errors) = server.end();
    assert!(!errors.is_empty());
    for line in errors.lines() {
        let event: Value = serde_json::from_str(line).expect("JSON");
        assert!(event["level"].is_string(), "{line}");
    }
}

#[test]
fn a_server_inside_a_session_of_another_works() {
    let place = Place::new();
    let mut server = Server::start(place.command(&[]));
    let inner = place.command(&[]);
    let command = format!(
        "test -n \"$SESSIOND_SESSION\" && {:?} call execute_command '{{\"command\": \"echo inner\", \"client_token\": \"local\"}}'",
        inner.get_program()
    );
    let result = server.call("execute_command", json!({"command": command, "client_token": "local"}));
    assert_eq!((&result["exit_code"], &result["stderr"]), (&json!(0), &json!("")));
    let inner: Value = serde_json::from_str(result["stdout"].as_str().unwrap()).unwrap();
    assert_eq!(inner["stdout"], "inner\n");
    server.close();
    assert!(server.end().0.success());
}
