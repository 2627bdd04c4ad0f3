//! The binary as its operator has it: how it refuses, how it serves, how it ends.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};

use serde_json::json;
use tempfile::TempDir;

use crate::rig::modern;
use crate::wire::Wire;

const SERVER: &str = env!("CARGO_BIN_EXE_sessiond-mcp-http");

/// The binary with a home of its own.
fn server(home: &TempDir, args: &[&str]) -> Command {
    let mut command = Command::new(SERVER);
    let home = home.path();
    command.args(args).env_clear().env("HOME", home).env("PATH", "/usr/bin:/bin").env("SHELL", "/bin/sh");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run(args: &[&str]) -> (i32, String, String) {
    let home = tempfile::tempdir().unwrap();
    let Output { status, stdout, stderr } = server(&home, args).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code().unwrap(), text(stdout), text(stderr))
}

#[test]
fn it_does_not_listen_where_nobody_would_get_in() {
    let (code, out, err) = run(&[]);
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(err.starts_with("error: 127.0.0.1:7110 lets nobody in: network.keys_file names no key."), "{err}");
}

#[test]
fn it_does_not_let_everybody_in_from_elsewhere() {
    let (code, _, err) = run(&["--no-password", "--listen", "0.0.0.0:0"]);
    assert_eq!(code, 1);
    assert!(err.contains("--no-password would let all of them in"), "{err}");
}

#[test]
fn a_subcommand_takes_nothing_that_is_for_serving() {
    let (code, _, err) = run(&["--no-password", "check"]);
    assert_eq!(code, 1);
    assert!(err.contains("are for serving"), "{err}");
}

#[test]
fn help_teaches() {
    let (code, out, _) = run(&["--help"]);
    assert_eq!(code, 0);
    for word in [
        "key new alice",
        "mkdir -p ~/.config/sessiond",
        "SESSIOND_NETWORK__KEYS_FILE=",
        "claude mcp add --transport http",
        "curl",
        "SIGHUP",
        "/metrics",
    ] {
        assert!(out.contains(word), "{word}: {out}");
    }
}

#[test]
fn a_check_says_what_is_missing() {
    let (code, out, _) = run(&["check"]);
    assert_eq!(code, 1);
    for line in [
        "it would listen on 127.0.0.1:7110",
        "nobody would be let in: make a key with `sessiond-mcp-http key new NAME --role full`",
        "1 thing is wrong",
    ] {
        assert!(out.lines().any(|found| found == line), "{line}: {out}");
    }
}

/// A server that is told where to listen by the system, and the address that it prints.
fn start(home: &TempDir, args: &[&str]) -> (Child, std::net::SocketAddr) {
    let mut child = server(home, args).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("listening on http://").and_then(|rest| rest.strip_suffix("/mcp"));
    (child, address.unwrap_or_else(|| panic!("{line}")).parse().unwrap())
}

#[tokio::test]
async fn a_key_that_was_just_made_lets_its_holder_in_and_sigterm_leaves_no_process() {
    let home = tempfile::tempdir().unwrap();
    let made = server(&home, &["key", "new", "alice", "--role", "full"]).output().unwrap();
    let made = String::from_utf8(made.stdout).unwrap();
    let key = made.lines().map(str::trim).find(|line| line.starts_with("sdk_")).unwrap();
    let entry = &made[made.find("[keys.alice]").unwrap()..];
    let keys = home.path().join("keys.toml");
    std::fs::write(&keys, entry).unwrap();
    std::fs::set_permissions(&keys, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let config = home.path().join("config.toml");
    std::fs::write(&config, format!("[network]\nkeys_file = {keys:?}\n[http]\nlisten = '127.0.0.1:0'\n")).unwrap();
    let (mut child, address) = start(&home, &["--config", config.to_str().unwrap()]);

    let bearer = format!("Bearer {key}");
    let call = |tool: &str, arguments: serde_json::Value| {
        let headers = [
            ("host", "localhost".to_owned()),
            ("authorization", bearer.clone()),
            ("content-type", "application/json".to_owned()),
            ("accept", "application/json, text/event-stream".to_owned()),
            ("mcp-protocol-version", "2026-07-28".to_owned()),
            ("mcp-method", "tools/call".to_owned()),
            ("mcp-name", tool.to_owned()),
        ];
        let body = modern("tools/call", json!({ "name": tool, "arguments": arguments })).to_string();
        async move {
            let mut wire = Wire::to(address).await;
            let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
            wire.ask("POST", "/mcp", &headers, &body).await;
            wire.reply().await.json()["result"]["structuredContent"].clone()
        }
    };
    let left = json!({ "command": "(setsid sleep 1000 & echo $!); cat", "client_token": "local", "wait_ms": 20_000 });
    let started = call("session_start", left).await;
    let left: u32 = started["output"].as_str().unwrap().trim().parse().unwrap();
    let pid = child.id();
    assert!(Command::new("kill").arg(pid.to_string()).status().unwrap().success());
    assert!(child.wait().unwrap().success());
    assert!(!std::path::Path::new(&format!("/proc/{left}")).exists(), "the child that left its session is gone too");
}
