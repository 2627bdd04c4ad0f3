//! `call`: one tool from the command line.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::support::{Place, stderr, stdout};

fn result(text: &str) -> Value {
    serde_json::from_str(text).expect("the result is JSON")
}

#[test]
fn a_result_is_json_on_stdout() {
    let place = Place::new();
    let output = place
        .run(&["call", "execute_command", r#"{"command": "echo out; echo err >&2", "client_token": "local"}"#], "");
    assert_eq!(stderr(&output), "");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(
        result(stdout(&output)),
        json!({"stdout": "out\n", "stderr": "err\n", "exit_code": 0, "timed_out": false, "canceled": false, "truncated": false})
    );
}

#[test]
fn a_command_that_fails_has_its_result_and_exit_code_1() {
    let place = Place::new();
    let output = place.run(&["call", "execute_command", r#"{"command": "exit 7", "client_token": "local"}"#], "");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(result(stdout(&output))["exit_code"], 7);
}

#[test]
fn an_error_is_told_on_stderr_with_exit_code_1() {
    let place = Place::new();
    let output = place.run(&["call", "execute_command", r#"{"command": "true", "client_token": "nowhere"}"#], "");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(stdout(&output), "");
    assert!(stderr(&output).starts_with("not_found: "), "{output:?}");

    let output = place.run(&["call", "session_strat"], "");
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).starts_with("invalid_argument: "), "{output:?}");
    assert!(stderr(&output).contains("session_start"), "{output:?}");
}

#[test]
fn arguments_come_from_stdin_too_and_must_be_an_object() {
    let place = Place::new();
    let output = place.run(&["call", "execute_command", "-"], r#"{"command": "echo in", "client_token": "local"}"#);
    assert_eq!(result(stdout(&output))["stdout"], "in\n");

    let output = place.run(&["call", "list_clients", "[]"], "");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(stderr(&output), "error: the arguments are no JSON object, such as {\"client_token\": \"local\"}\n");
    let output = place.run(&["call", "list_clients", "{command: ls}"], "");
    assert_eq!(stderr(&output), "error: the arguments are no JSON: key must be a string at line 1 column 2\n");
}

#[test]
fn a_session_is_followed_to_its_end_and_gives_its_exit_code() {
    let place = Place::new();
    let output =
        place.run(&["call", "session_start", r#"{"command": "seq 1 1000000; exit 7", "client_token": "local"}"#], "");
    let expected: String = (1..=1_000_000).map(|line| format!("{line}\r\n")).collect();
    assert_eq!(output.status.code(), Some(7));
    assert!(stdout(&output) == expected, "all of the output, once and in order");
    assert_eq!(stderr(&output), "");
}

#[test]
fn a_session_that_a_signal_ends_gives_the_shells_exit_code_for_it() {
    let place = Place::new();
    let output = place.run(&["call", "session_start", r#"{"command": "kill -KILL $$", "client_token": "local"}"#], "");
    assert_eq!(output.status.code(), Some(128 + 9));
    assert!(stderr(&output).contains("ended by signal KILL"), "{output:?}");
}

#[test]
fn an_interrupt_stops_the_session_that_is_followed() {
    let place = Place::new();
    let command = r#"{"command": "trap '' TERM; trap 'echo bye; exit 5' HUP; setsid sleep 1000 & echo ready; while :; do wait; done", "client_token": "local"}"#;
    let mut child = place
        .command(&["call", "session_start", command])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert_eq!(lines.next().as_deref(), Some("ready"));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let rest: Vec<_> = lines.collect();
    let status = child.wait().unwrap();
    assert_eq!((status.code(), rest.as_slice()), (Some(5), &["bye".to_owned()][..]));
    assert_eq!(place.alive(), []);
}

#[test]
fn an_interrupt_takes_a_call_back() {
    let place = Place::new();
    let pipe = place.pipe("under-way");
    let arguments =
        json!({"command": format!("echo under way > {}; sleep 1000", pipe.display()), "client_token": "local"});
    let child = place
        .command(&["call", "execute_command", &arguments.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    assert_eq!(crate::support::read_pipe(&pipe), "under way\n");
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(result(stdout(&output))["canceled"], true);
    assert_eq!(place.alive(), []);
}

#[test]
fn a_reader_that_goes_away_ends_the_session() {
    let place = Place::new();
    let mut child = place
        .command(&["call", "session_start", r#"{"command": "yes", "client_token": "local"}"#])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 3];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    assert_eq!(&first, b"y\r\n");
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), stderr(&output)), (Some(1), ""));
    assert_eq!(place.alive(), []);
}
