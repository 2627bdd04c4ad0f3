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

/// What a server logs at a level through a session, a command and a few mistakes.
fn log_at(level: &str) -> String {
    let place = Place::new();
    let mut server = Server::start(place.command(&["--log", level]));
    server.collect_stderr();
    let session = server.start_session("echo ready; read line");
    let about = json!({"session_id": session, "client_token": "local"});
    server.request(
        "tools/call",
        json!({"name": "execute_command", "arguments": {"command": "hunter2", "client_token": "local"}}),
    );
    server.request("tools/call", json!({"name": "execute_command", "arguments": {"cwd": "hunter2"}}));
    server.request("tools/call", json!({"name": "hunter2", "arguments": {}}));
    server.request(&"hunter2".repeat(1000), json!({}));
    server.call("session_stop", about);
    server.close();
    server.end().2
}

#[test]
fn mistakes_of_the_client_are_no_warnings() {
    assert_eq!(log_at("warn"), "");
}

#[test]
fn starts_and_ends_are_information_and_calls_are_for_debugging() {
    let info = log_at("info");
    for said in ["serving on stdin and stdout", "a session has started session=", "a session was told to stop session="]
    {
        assert!(info.contains(said), "{said}: {info}");
    }
    assert!(!info.contains("called") && !info.contains("hunter2"), "{info}");
    let debug = log_at("debug");
    for said in [
        "called tool=\"session_start\" outcome=\"ok\" milliseconds=",
        "called tool=\"execute_command\" outcome=\"failed\" milliseconds=",
        "called tool=\"execute_command\" outcome=\"invalid_argument\" milliseconds=",
    ] {
        assert!(debug.contains(said), "{said}: {debug}");
    }
    let lines: Vec<_> = debug.lines().filter(|line| line.contains("called tool=")).collect();
    assert!(lines.iter().all(|line| !line.contains("hunter2")), "{lines:?}");
}
