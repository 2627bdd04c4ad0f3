//! The bridge: sessions that outlive it, one server however many look for it, and what it does without one.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use crate::support::{Place, Server, read_pipe, stderr, stdout};

/// A place whose bridges find their server, which is ended with it.
struct Bridged(Place);

impl Bridged {
    fn new() -> Self {
        let place = Place::new();
        let beside = std::path::Path::new(env!("CARGO_BIN_EXE_sessiond-mcp-stdio")).with_file_name("sessiond-grpc");
        assert!(beside.exists(), "{} is missing: run `cargo build --package sessiond-grpc`", beside.display());
        Self(place)
    }

    fn bridge(&self) -> Server {
        Server::start(self.0.command(&["--connect", "auto"]))
    }
}

impl Drop for Bridged {
    fn drop(&mut self) {
        self.0.end_upstreams();
    }
}

/// The ids of all sessions.
fn sessions(server: &mut Server) -> Vec<Value> {
    let listed = server.call("session_list", json!({}));
    listed["sessions"].as_array().unwrap().iter().map(|session| session["session_id"].clone()).collect()
}

fn refusal(server: &mut Server, tool: &str, arguments: Value) -> (String, String) {
    let answer = server.request("tools/call", json!({"name": tool, "arguments": arguments}));
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    (text(&answer["result"]["_meta"]["sessiond/error"]), text(&answer["result"]["content"][0]["text"]))
}

#[test]
fn a_bridge_that_is_killed_leaves_its_sessions_to_the_next_one() {
    let place = Bridged::new();
    let mut first = place.bridge();
    let session = first.start_session("echo ready; read -r line; echo got $line; exec cat");
    first.signal(Signal::KILL);
    let _ = first.end();

    let mut second = place.bridge();
    assert_eq!(sessions(&mut second), [json!(session)]);
    let named = json!({"session_id": session, "client_token": "local"});
    assert_eq!(second.call("session_read", named.clone())["output"], "ready\r\n");
    let mut written = named;
    let until = json!({"input": "two\n", "wait_ms": 20000, "until": {"pattern": "got two"}});
    written.as_object_mut().unwrap().extend(until.as_object().unwrap().clone());
    assert_eq!(second.call("session_write", written)["accepted"], true);
    for end in ["stdin", "signal"] {
        let mut bridge = place.bridge();
        assert_eq!(sessions(&mut bridge).len(), 1);
        match end {
            "stdin" => bridge.close(),
            _ => bridge.signal(Signal::TERM),
        }
        assert!(bridge.end().0.success(), "{end}");
    }
    assert_eq!(sessions(&mut second), [json!(session)]);
    second.close();
    assert!(second.end().0.success());
}

#[test]
fn bridges_that_start_at_the_same_time_end_up_with_one_server() {
    let place = Bridged::new();
    let mut bridges: Vec<_> = std::thread::scope(|scope| {
        let starting: Vec<_> = (0..4).map(|_| scope.spawn(|| place.bridge())).collect();
        starting.into_iter().map(|bridge| bridge.join().unwrap()).collect()
    });
    let mut started: Vec<_> = bridges.iter_mut().map(|bridge| json!(bridge.start_session("echo ready; cat"))).collect();
    started.sort_by_key(ToString::to_string);
    for mut bridge in bridges {
        let mut seen = sessions(&mut bridge);
        seen.sort_by_key(ToString::to_string);
        assert_eq!(seen, started);
        bridge.close();
        assert!(bridge.end().0.success());
    }
    assert_eq!(place.0.upstreams().len(), 1);
}

#[test]
fn a_server_that_was_killed_is_unavailable_and_one_that_came_back_is_found_and_knows_nothing() {
    let place = Bridged::new();
    let mut bridge = place.bridge();
    let session = bridge.start_session("echo ready; cat");
    let read = json!({"session_id": session, "client_token": "local"});
    let [upstream] = place.0.upstreams()[..] else { panic!("one server runs") };
    kill_process(upstream, Signal::KILL).unwrap();
    let waiting = json!({"session_id": session, "client_token": "local", "cursor": 7, "wait_ms": 20000});
    assert_eq!(refusal(&mut bridge, "session_read", waiting).0, "unavailable");
    let (kind, message) = refusal(&mut bridge, "session_read", read.clone());
    assert_eq!(kind, "unavailable");
    assert!(message.ends_with("start sessiond-grpc, then call again"), "{message}");

    let other = place.bridge();
    assert_eq!(refusal(&mut bridge, "session_read", read).0, "not_found");
    for mut bridge in [bridge, other] {
        assert_eq!(sessions(&mut bridge), [] as [Value; 0]);
        bridge.close();
        assert!(bridge.end().0.success());
    }
}

#[test]
fn a_call_that_is_taken_back_is_taken_back_upstream() {
    let place = Bridged::new();
    let pipe = place.0.pipe("under-way");
    let mut bridge = place.bridge();
    let pipe_name = pipe.display();
    let command =
        format!("trap 'echo stopped > {pipe_name}; exit' HUP TERM; echo under way > {pipe_name}; sleep 1000 & wait");
    let params = json!({"name": "execute_command", "arguments": {"command": command, "client_token": "local"}});
    let id = bridge.ask("tools/call", params);
    assert_eq!(read_pipe(&pipe), "under way\n");
    bridge.notify("notifications/cancelled", json!({"requestId": id}));
    assert_eq!(read_pipe(&pipe), "stopped\n");
    bridge.close();
    assert!(bridge.end().0.success());
}

#[test]
fn a_session_that_one_call_starts_is_there_for_the_next() {
    let place = Bridged::new();
    let call = |tool: &str, arguments: Value| {
        let mut command = place.0.command(&["call", tool, &arguments.to_string()]);
        let output = command.env("SESSIOND_CONNECT", "auto").output().unwrap();
        assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""), "{output:?}");
        serde_json::from_str::<Value>(stdout(&output)).unwrap()
    };
    let started = call("session_start", json!({"command": "exec cat", "client_token": "local"}));
    let listed = call("session_list", json!({}));
    assert_eq!(listed["sessions"][0]["session_id"], started["session_id"]);
    assert_eq!(call("execute_command", json!({"command": "echo hi", "client_token": "local"}))["stdout"], "hi\n");
}

#[test]
fn check_starts_nothing_and_shows_the_targets_of_the_server() {
    let place = Bridged::new();
    let socket = place.0.path("sessiond.sock");
    let check = |expected: &str| {
        let output = place.0.run(&["check", "--connect", "auto"], "");
        let expected = format!("\nthe server on unix:{} {expected}", socket.display());
        assert!(stdout(&output).contains(&expected), "{}", stdout(&output));
        assert!(stdout(&output).ends_with("\neverything is in order\n"), "{}", stdout(&output));
    };
    check("is not there yet: a bridge starts it\n");
    assert!(!socket.exists());
    let mut bridge = place.bridge();
    check("answers: sessions are its own, and so are these targets\ntarget local (pty) is online");
    bridge.close();
    assert!(bridge.end().0.success());
    let elsewhere = place.0.run(&["check", "--connect", "unix:nobody"], "");
    assert_eq!(elsewhere.status.code(), Some(1));
    assert!(stdout(&elsewhere).ends_with("\n1 thing is wrong\n"), "{}", stdout(&elsewhere));
}

#[test]
fn without_a_server_calls_are_unavailable() {
    let place = Place::new();
    let address = format!("unix:{}", place.path("nobody").display());
    let mut server = Server::start(place.command(&["--connect", &address, "--log", "off"]));
    let (kind, message) = refusal(&mut server, "list_clients", json!({}));
    assert_eq!(kind, "unavailable");
    assert!(message.starts_with("no sessiond answers: "), "{message}");
    server.close();
    assert!(server.end().0.success());
}

#[test]
fn a_server_that_cannot_be_started_is_said_to_be() {
    // The binary in a folder where no server is beside it: a second name, since a copy that is executed while another
    // thread's child still holds it open for writing is refused as busy.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let alone = folder.path().join("sessiond-mcp-stdio");
    std::fs::hard_link(env!("CARGO_BIN_EXE_sessiond-mcp-stdio"), &alone).unwrap();
    let mut bridge = std::process::Command::new(&alone);
    bridge.args(["--connect", "auto"]).env_clear().env("XDG_RUNTIME_DIR", folder.path());
    let output = bridge.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("neither beside this program nor on the path"), "{}", stderr(&output));

    std::os::unix::fs::symlink("/bin/false", folder.path().join("sessiond-grpc")).unwrap();
    let output = bridge.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let log = folder.path().join("sessiond.log");
    let said = format!("error: sessiond-grpc did not start; {} says why", log.display());
    assert!(stderr(&output).starts_with(&said), "{}", stderr(&output));
}

#[test]
fn an_address_is_checked_wherever_it_comes_from() {
    let place = Place::new();
    let flag = place.run(&["--connect", "nowhere"], "");
    assert!(stderr(&flag).contains("is no address: give unix:PATH, IP:PORT"), "{}", stderr(&flag));
    let variable = place.command(&[]).env("SESSIOND_CONNECT", "nowhere").output().unwrap();
    assert!(
        stderr(&variable).starts_with("error: SESSIOND_CONNECT: \"nowhere\" is no address"),
        "{}",
        stderr(&variable)
    );
}

/// A server on a port of this machine, which asks for a key.
struct Asking {
    child: Child,
    address: String,
    key: String,
}

impl Asking {
    fn start(place: &Place) -> Self {
        let program = Path::new(env!("CARGO_BIN_EXE_sessiond-mcp-stdio")).with_file_name("sessiond-grpc");
        let made = Command::new(&program).args(["key", "new", "bridge", "--role", "full"]).output().unwrap();
        let text = stdout(&made);
        let key = text.lines().map(str::trim).find(|line| line.starts_with("sdk_")).unwrap().to_owned();
        let keys = private(place, "keys.toml", &text[text.find("[keys.bridge]").unwrap()..]);
        let mut server = Command::new(&program);
        server.args(["--listen", "127.0.0.1:0"]).env("SESSIOND_NETWORK__KEYS_FILE", keys);
        let mut child = server.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on ").expect("it listens").to_owned();
        Self { child, address, key }
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        // It may have ended by itself, and has nothing running.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A file that only its owner can read.
fn private(place: &Place, name: &str, text: &str) -> PathBuf {
    let path = place.path(name);
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    path
}

#[test]
fn a_bridge_to_a_server_that_asks_shows_its_key() {
    let place = Place::new();
    let upstream = Asking::start(&place);
    let bridge = |variables: &[(&str, &str)]| {
        let mut command = place.command(&["--connect", &upstream.address]);
        command.envs(variables.iter().copied());
        Server::start(command)
    };
    let file = private(&place, "key", &upstream.key).display().to_string();
    let command = format!("cat {file}");
    for way in [
        ("SESSIOND_CONNECT_KEY", upstream.key.as_str()),
        ("SESSIOND_CONNECT__KEY_FILE", &file),
        ("SESSIOND_CONNECT__KEY_COMMAND", &command),
    ] {
        let mut server = bridge(&[way]);
        let clients = server.call("list_clients", json!({}));
        assert_eq!(clients["clients"][0]["client_token"], "local", "{}", way.0);
        server.close();
        assert!(server.end().0.success());
    }
    let mut server = bridge(&[]);
    let (kind, message) = refusal(&mut server, "list_clients", json!({}));
    assert_eq!(kind, "permission_denied");
    assert!(message.starts_with("a credential is missing"), "{message}");
    server.close();
    assert!(server.end().0.success());
}
