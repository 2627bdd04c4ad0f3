//! The end of the server: what ends it, and that nothing of it is left.

use std::io::{BufRead, BufReader};
use std::process::ChildStdout;
use std::time::{Duration, Instant};

use rustix::process::{Signal, kill_process};
use serde_json::json;

use crate::support::{Place, Server, read_pipe};

#[test]
fn stdin_that_ends_in_the_middle_of_a_call_ends_everything() {
    let place = Place::new();
    let pipe = place.pipe("under-way");
    let mut server = Server::start(place.command(&[]));
    server.start_session("setsid sleep 1000 & echo ready; wait");
    let command = format!("echo under way > {}; sleep 1000 & wait", pipe.display());
    server.ask(
        "tools/call",
        json!({"name": "execute_command", "arguments": {"command": command, "client_token": "local"}}),
    );
    assert_eq!(read_pipe(&pipe), "under way\n");

    server.close();
    let (status, _, _) = server.end();
    assert!(status.success(), "{status}");
    assert_eq!(place.alive(), []);
}

#[test]
fn stdin_that_ends_before_a_word_ends_the_server() {
    let place = Place::new();
    let output = place.run(&[], "");
    assert!(output.status.success(), "{output:?}");
    assert!(output.stdout.is_empty());
}

#[test]
fn a_person_at_a_terminal_ends_it_by_ctrl_c_and_by_ctrl_d() {
    for key in ["ctrl-c", "ctrl-d"] {
        let place = Place::new();
        let inner = format!("exec {:?}", place.command(&[]).get_program());
        let mut server = Server::start(place.command(&[]));
        let until = json!({"pattern": "--help says more"});
        let at_work = json!({"command": inner, "client_token": "local", "wait_ms": 20000, "until": until});
        let started = server.call("session_start", at_work);
        let key = json!({
            "session_id": started["session_id"], "client_token": "local", "action": "keys", "keys": [key],
            "wait_ms": 20000, "until": {"end": true},
        });
        let ended = server.call("session_control", key);
        assert_eq!((&ended["done"], &ended["exit_code"]), (&json!(true), &json!(0)), "{ended}");
        server.close();
        assert!(server.end().0.success());
    }
}

#[test]
fn a_signal_ends_a_hundred_sessions_with_their_children() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let place = Place::new();
        let mut command = place.command(&[]);
        command.env("SESSIOND_LIMITS__RUNNING_PER_OWNER", "100");
        let mut server = Server::start(command);
        // A child that waits without an exec: in the middle of one its mark could not be read.
        let child = format!("(echo ready; : < {}) & wait", place.pipe("never").display());
        for _ in 0..100 {
            server.start_session(&child);
        }
        // The server itself carries the mark too.
        assert_eq!(place.alive().len(), 201);

        server.signal(signal);
        let began = Instant::now();
        let (status, _, _) = server.end();
        assert!(status.success(), "{status}");
        assert_eq!(place.alive(), []);
        // Nobody ignores the request to end, so no grace has to pass; the rest is a machine's bad day.
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    }
}

#[test]
fn who_ignores_every_request_to_end_is_killed_after_the_grace() {
    let place = Place::new();
    let mut command = place.command(&[]);
    command.env("SESSIOND_LIMITS__STOP_GRACE_MS", "100");
    let mut server = Server::start(command);
    server.start_session("trap '' HUP INT TERM; sleep 1000 & echo ready; while :; do wait; done");
    server.signal(Signal::TERM);
    let (status, _, _) = server.end();
    assert!(status.success(), "{status}");
    assert_eq!(place.alive(), []);
}

#[test]
fn a_second_signal_ends_the_server_at_once() {
    let place = Place::new();
    let mut command = place.command(&["--log", "info"]);
    command.env("SESSIOND_LIMITS__STOP_GRACE_MS", "600000");
    let mut server = Server::start(command);
    server.start_session("trap '' HUP INT TERM; echo ready; exec sleep 1000");
    let stderr = server.take_stderr();
    server.signal(Signal::TERM);
    let heard = stderr.lines().map_while(Result::ok).any(|line| line.contains("a second one ends at once"));
    assert!(heard);
    server.signal(Signal::TERM);
    let (status, _, _) = server.end();
    assert_eq!(status.code(), Some(128 + 15));
    for pid in place.alive() {
        let _ = kill_process(pid, Signal::KILL);
    }
}

/// A server with a session whose output fills the pipe when it is read, and nobody who reads that.
fn unread(place: &Place) -> (Server, BufReader<ChildStdout>) {
    // The answers to initialize and session_start.
    let (mut server, reader) = Server::start_read(place.command(&[]), 2);
    let session = server.start_session("head -c 300000 /dev/zero | tr '\\0' x; echo ready; exec sleep 1000");
    for _ in 0..50 {
        let arguments = json!({"session_id": session, "client_token": "local"});
        server.ask("tools/call", json!({"name": "session_read", "arguments": arguments}));
    }
    (server, reader.join().unwrap())
}

#[test]
fn answers_that_nobody_reads_do_not_keep_the_server_from_ending() {
    let ends: [fn(&mut Server); 2] = [Server::close, |server| server.signal(Signal::TERM)];
    for end in ends {
        let place = Place::new();
        let (mut server, output) = unread(&place);
        end(&mut server);
        let status = server.end_unread();
        assert!(status.success(), "{status}");
        assert_eq!(place.alive(), []);
        drop(output);
    }
}

#[test]
fn a_client_that_closes_stdout_ends_the_server_with_its_next_answer() {
    let place = Place::new();
    let (mut server, reader) = Server::start_read(place.command(&[]), 2);
    server.start_session("echo ready; exec sleep 1000");
    drop(reader.join().unwrap());
    server.ask("ping", json!({}));
    let status = server.end_unread();
    assert!(status.success(), "{status}");
    assert_eq!(place.alive(), []);
}
