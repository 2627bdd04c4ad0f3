//! What holds for all tools and all transports (AL01 to AL05).

use std::time::{Duration, Instant};

use futures_util::FutureExt;
use serde_json::{Value, json};
use sessiond_core::{Cause, ErrorKind, Limits, Wait, decode};

use super::family::{alive, sleeper};
use crate::suite::client::ToolResult;
use crate::suite::client::http::Reception;
use crate::suite::house::{BackendKind, House, Settings};
use crate::suite::published::undescribed;
use crate::suite::scenario::{Need, Scenario, host, session};
use crate::suite::stage::{LONG, Stage, end, for_output, target, until};

pub(super) const SCENARIOS: &[Scenario] = &[
    session("AL01", "a whole life reads the same on every transport", |house| transcript(house).boxed()),
    host("AL01", "a whole life on a host reads the same on every transport", |house| host_transcript(house).boxed()),
    session("AL02", "every tool is described whole", |house| described(house).boxed()),
    session("AL02", "a family is listed when it has a target, and no other is", |house| families(house).boxed()),
    session("AL02", "local tools take at most 30 KB, all of them 90 KB, and none 5 KB", |house| small(house).boxed()),
    session("AL03", "errors are of the closed set, with advice and without structure", |house| errors(house).boxed()),
    host("AL03", "errors of hosts and commands are too", |house| host_errors(house).boxed()),
    host("AL03", "a host that must be named is asked for", |house| unnamed_host(house).boxed())
        .needing(&[Need::Backend(sessiond_core::Capability::Connections), Need::Management]),
    session("AL03", "who has no key, or an unknown one, is told so before there is a call", |house| {
        unauthorized(house).boxed()
    })
    .needing(&[Need::Keys]),
    session("AL04", "every line is a message, at the chattiest log level", |house| lines(house).boxed())
        .needing(&[Need::Lines]),
    session("AL04", "children inherit no descriptor, and the original limit", |house| inherited(house).boxed())
        .needing(&[Need::Process]),
    session("AL05", "the end of the server ends every session", |house| ended(house).boxed()),
    host("AL05", "the end of the server ends every command on a host", |house| host_ended(house).boxed()),
];

/// One life of a session and a command, as its results and nothing of the moment.
async fn life(stage: &Stage) -> Vec<Value> {
    let session = stage.start_until("echo ready; read line; echo got $line; exit 3", "ready\r\n").await;
    let on = |more: Value| {
        let mut all = json!({ "session_id": session.to_string(), "client_token": "local" });
        if let (Some(all), Value::Object(more)) = (all.as_object_mut(), more) {
            all.extend(more);
        }
        all
    };
    stage.write(session, "x\r", Wait::default()).await.unwrap();
    stage.read(session, 0, until(LONG, end())).await;
    let calls = [
        ("session_read", on(json!({ "max_bytes": 4 }))),
        ("session_read", on(json!({ "cursor": 4, "until": { "pattern": "x" } }))),
        ("session_read", on(json!({ "cursor": 10_000 }))),
        ("session_write", on(json!({ "input": "late" }))),
        ("session_control", on(json!({ "action": "interrupt" }))),
        ("session_stop", on(json!({}))),
        ("execute_command", json!({ "command": "echo out; echo err >&2; exit 4", "client_token": "local" })),
        ("session_start", json!({ "command": "", "client_token": "local" })),
        ("session_start", json!({ "command": "true", "client_token": "nowhere" })),
    ];
    let mut said = Vec::new();
    for (name, arguments) in calls {
        let ToolResult { structured, text, is_error, meta } = stage.tool(name, arguments).await;
        let told = format!("{} {text} {is_error} {meta:?}", structured.unwrap_or_default());
        said.push(Value::from(told.replace(&session.to_string(), "SESSION")));
    }
    said
}

async fn transcript(house: House) {
    let stage = house.open().await;
    let expected = life(&house.in_process().open().await).await;
    assert_eq!(life(&stage).await, expected);
}

/// What differs from one life to the next and stands in an answer under these names.
const OF_THE_MOMENT: [&str; 9] =
    ["id", "handle_id", "pid", "start_time", "end_time", "timestamp", "waited_seconds", "since", "channels"];

/// The same value without what is of the moment.
fn lasting(value: Value) -> Value {
    match value {
        Value::Object(all) => all
            .into_iter()
            .map(|(name, value)| {
                let value = if OF_THE_MOMENT.contains(&name.as_str()) { json!("MOMENT") } else { lasting(value) };
                (name, value)
            })
            .collect(),
        Value::Array(all) => all.into_iter().map(lasting).collect(),
        other => other,
    }
}

/// One life of a host and of commands on it, as its results and nothing of the moment.
async fn host_life(stage: &Stage) -> Vec<Value> {
    let name = target().to_string();
    let on = |command: &str| json!({ "command": command, "host_name": name });
    let first = stage.tool("ssh_cmd_run", on("echo out; echo err >&2; exit 4")).await;
    let handle = first.get("handle_id").clone();
    let of = |more: Value| {
        let mut all = json!({ "handle_id": handle });
        if let (Some(all), Value::Object(more)) = (all.as_object_mut(), more) {
            all.extend(more);
        }
        all
    };
    let mut said = vec![first];
    for (tool, arguments) in [
        ("ssh_host_list", json!({})),
        ("ssh_conn_connect", json!({ "host_name": name })),
        ("ssh_conn_status", json!({})),
        ("ssh_cmd_check_status", of(json!({}))),
        ("ssh_cmd_check_status", json!({ "handle_id": 1 })),
        ("ssh_cmd_output", of(json!({}))),
        ("ssh_cmd_output", of(json!({ "stream": "stderr", "lines": 1 }))),
        ("ssh_cmd_output", of(json!({ "start_line": 0 }))),
        ("ssh_cmd_output", json!({ "handle_id": 1 })),
        ("ssh_cmd_kill", of(json!({}))),
        ("ssh_cmd_kill", json!({ "handle_id": 1 })),
        ("ssh_cmd_history", json!({ "include_output": true })),
        ("ssh_cmd_clear_history", json!({})),
        ("ssh_cmd_run", json!({ "command": "true", "cwd": "/missing/directory" })),
        ("ssh_cmd_run", json!({ "command": "true", "host_name": "nowhere" })),
        ("ssh_host_disconnect", json!({})),
        ("ssh_host_disconnect", json!({})),
    ] {
        said.push(stage.tool(tool, arguments).await);
    }
    let told = said.into_iter().map(|ToolResult { structured, is_error, text, meta }| {
        // The text of a success tells what the structure does, with numbers of the moment in it.
        let text = if structured.is_some() { String::new() } else { text };
        json!([lasting(structured.unwrap_or_default()), is_error, text, meta])
    });
    told.collect()
}

async fn host_transcript(house: House) {
    let stage = house.open().await;
    let expected = host_life(&house.in_process().open().await).await;
    assert_eq!(host_life(&stage).await, expected);
}

/// The tools that need no host.
const SESSIONS: [&str; 8] = [
    "list_clients",
    "execute_command",
    "session_start",
    "session_read",
    "session_write",
    "session_control",
    "session_stop",
    "session_list",
];

/// The tools of agent platforms.
const AGENTS: [&str; 8] = [
    "get_sessions",
    "describe_session",
    "describe_session_token_usage",
    "get_agents",
    "start_agent",
    "control_session",
    "describe_manual_task",
    "complete_manual_task",
];

/// The tools of hosts.
const HOSTS: [&str; 10] = [
    "ssh_host_list",
    "ssh_conn_connect",
    "ssh_conn_status",
    "ssh_host_disconnect",
    "ssh_cmd_run",
    "ssh_cmd_check_status",
    "ssh_cmd_output",
    "ssh_cmd_kill",
    "ssh_cmd_history",
    "ssh_cmd_clear_history",
];

async fn families(house: House) {
    let names = async |stage: Stage| -> Vec<String> {
        stage.client.tools().await.iter().filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect()
    };
    assert_eq!(names(house.over(BackendKind::Pty).open().await).await, SESSIONS, "this machine is no host");
    let with_hosts = names(house.over(BackendKind::Fake).open().await).await;
    assert_eq!(with_hosts, [&SESSIONS[..], &HOSTS[..]].concat());
    let with_agents = names(house.over(BackendKind::AgentPlatform).open().await).await;
    assert_eq!(with_agents, [&SESSIONS[..], &AGENTS[..]].concat());
}

async fn described(house: House) {
    let more = vec![("agents", BackendKind::AgentPlatform)];
    let stage = house.open_with(Settings { more, ..Settings::default() }).await;
    let tools = stage.client.tools().await;
    for tool in &tools {
        let name = &tool["name"];
        assert!(tool["title"].as_str().is_some_and(|title| !title.is_empty()), "{name} has a title");
        assert!(tool["description"].as_str().is_some_and(|about| about.len() > 100), "{name} is described");
        for hint in ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] {
            assert!(tool["annotations"][hint].is_boolean(), "{name} has {hint}");
        }
        for schema in ["inputSchema", "outputSchema"] {
            assert_eq!(undescribed(&tool[schema]), Vec::<String>::new(), "{name} {schema}");
        }
    }
}

async fn small(house: House) {
    let agents = ("agents", BackendKind::AgentPlatform);
    for (backend, more, most) in [(BackendKind::Pty, vec![], 30), (BackendKind::Fake, vec![agents], 90)] {
        let stage = house.over(backend).open_with(Settings { more, ..Settings::default() }).await;
        let tools = stage.client.tools().await;
        for tool in &tools {
            assert!(tool.to_string().len() <= 5 * 1024, "{} has {} bytes", tool["name"], tool.to_string().len());
        }
        let all = Value::from(tools).to_string().len();
        assert!(all <= most * 1024, "the list over {} has {all} bytes", backend.as_str());
    }
}

async fn errors(house: House) {
    let stage = house.open().await;
    let session = stage.start("exit 0").await;
    stage.to_end(session).await;
    let on = json!({ "session_id": session.to_string(), "client_token": "local", "input": "x" });
    for (name, arguments, kind) in [
        ("session_read", json!({ "session_id": "x", "client_token": "local" }), ErrorKind::NotFound),
        ("session_read", json!({ "client_token": "local" }), ErrorKind::InvalidArgument),
        ("session_start", json!({ "command": "true", "client_token": "nowhere" }), ErrorKind::NotFound),
        ("session_start", json!({ "native_id": "x", "client_token": "local" }), ErrorKind::Unsupported),
        ("session_write", on, ErrorKind::FailedPrecondition),
    ] {
        refused(&stage, name, arguments, kind).await;
    }
    let unknown = stage.client.call("session_reed", json!({})).await.unwrap_err();
    assert!(unknown.to_string().contains("session_read"), "an unknown tool is answered with the nearest: {unknown}");
}

/// A call that earns an error of this kind, well told.
pub(super) async fn refused(stage: &Stage, name: &str, arguments: Value, kind: ErrorKind) {
    let result = stage.tool(name, arguments).await;
    assert_eq!((result.is_error, result.kind()), (true, Some(kind.as_str())), "{name}: {}", result.text);
    assert!(result.structured.is_none() && result.text.len() > 20, "{name}: {}", result.text);
    assert!(!result.text.contains("src/") && !result.text.contains("panicked"), "{name}: {}", result.text);
}

async fn host_errors(house: House) {
    let limits = Limits { running_per_owner: 1, ..Limits::default() };
    let stage = house.open_with(Settings { limits, ..Settings::default() }).await;
    let name = target().to_string();
    stage.launch("sleep 1000").await;
    for (tool, arguments, kind) in [
        ("ssh_conn_connect", json!({ "host_name": "nowhere" }), ErrorKind::NotFound),
        ("ssh_conn_status", json!({ "host_name": "nowhere" }), ErrorKind::NotFound),
        ("ssh_host_disconnect", json!({ "host_name": "nowhere" }), ErrorKind::NotFound),
        ("ssh_cmd_run", json!({ "host_name": name }), ErrorKind::InvalidArgument),
        ("ssh_cmd_run", json!({ "command": "", "host_name": name }), ErrorKind::InvalidArgument),
        ("ssh_cmd_run", json!({ "command": "true", "host_name": "nowhere" }), ErrorKind::NotFound),
        ("ssh_cmd_run", json!({ "command": "true", "use_sudo": true }), ErrorKind::Unsupported),
        ("ssh_cmd_run", json!({ "command": "true", "host_name": name }), ErrorKind::LimitExceeded),
        ("ssh_cmd_run", json!({ "command": "true", "io_timeout": -1 }), ErrorKind::InvalidArgument),
        ("ssh_cmd_check_status", json!({ "handle_id": 1, "wait_seconds": 51 }), ErrorKind::InvalidArgument),
        ("ssh_cmd_output", json!({ "handle_id": 1 }), ErrorKind::NotFound),
        ("ssh_cmd_kill", json!({ "handle_id": 1 }), ErrorKind::NotFound),
        ("ssh_cmd_kill", json!({ "handle_id": 1, "signal": "NOPE" }), ErrorKind::InvalidArgument),
        ("ssh_cmd_history", json!({ "pattern": "(" }), ErrorKind::InvalidArgument),
    ] {
        refused(&stage, tool, arguments, kind).await;
    }
}

async fn unauthorized(house: House) {
    let stage = house.open().await;
    for key in [None, Some("nobody's")] {
        let Reception { status, challenge, body } = stage.received(key).await;
        assert_eq!(status, 401, "{key:?}: {body}");
        assert!(challenge.is_some_and(|challenge| challenge.starts_with("Bearer")), "{key:?} is told what to bring");
        assert!(!body.contains("session_read"), "{key:?}: {body}");
    }
}

async fn lines(house: House) {
    let mut stage = house.open().await;
    let session = stage.start_until("echo ready; cat", "ready").await;
    stage.write(session, "x\r", for_output(LONG)).await.unwrap();
    stage.tool("session_read", json!({ "broken": true })).await;
    stage.stop(session, LONG).await;
    host_life(&stage).await;
    stage.close().await;
    for line in stage.client.lines() {
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("no message: {line:?}"));
        assert_eq!(message["jsonrpc"], "2.0", "{line:?}");
    }
}

async fn inherited(house: House) {
    // Only a real shell can look.
    let stage = house.over(BackendKind::Pty).open().await;
    let result = stage.execute("ls /proc/$$/fd; ulimit -Sn").await;
    let said = decode(&result.stdout);
    let mut lines: Vec<&str> = said.lines().collect();
    let limit = lines.pop().unwrap_or_default();
    assert_eq!(lines, ["0", "1", "2"], "its own three, and nothing of the server's");
    let own = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let own = own.lines().find(|line| line.starts_with("Max open files")).unwrap_or_default();
    assert!(
        own.split_whitespace().any(|word| word == limit),
        "{limit} is the limit that the server was started with: {own}"
    );
}

async fn ended(house: House) {
    let mut stage = house.open().await;
    let sessions =
        futures_util::future::join_all((0..5).map(|_| stage.start_until("echo ready; sleep 1000", "ready"))).await;
    let began = Instant::now();
    let children = stage.pid().map(children);
    let code = stage.close().await;
    assert!(began.elapsed() < Duration::from_secs(20));
    match children {
        Some(children) => {
            assert_eq!(code, Some(0), "a clean end");
            let alive: Vec<u32> = children.into_iter().filter(|pid| lives(*pid)).collect();
            assert_eq!(alive, Vec::<u32>::new(), "no process is left behind");
        }
        None => {
            for session in sessions {
                let ended = stage.to_end(session).await.1;
                assert_eq!(ended.cause, Cause::Shutdown { confirmed: true });
            }
        }
    }
}

async fn host_ended(house: House) {
    let mut stage = house.open().await;
    let time = sleeper();
    let runs = stage.launch_until(&format!("echo ready; sleep {time}"), "ready").await;
    let code = stage.close().await;
    match stage.pid() {
        Some(_) => assert_eq!(code, Some(0), "a clean end"),
        None => {
            let info = stage.check(runs, 0).await.unwrap();
            assert_eq!(info.end.unwrap().cause, Cause::Shutdown { confirmed: true });
        }
    }
    if house.has(Need::Shell) {
        assert_eq!(alive(&house.open().await, &time).await, 0, "nothing is left on the host");
    }
}

async fn unnamed_host(house: House) {
    let stage = house.open().await;
    refused(&stage, "ssh_cmd_run", json!({ "command": "true" }), ErrorKind::FailedPrecondition).await;
    refused(&stage, "ssh_conn_connect", json!({}), ErrorKind::InvalidArgument).await;
}

/// The children of a process.
fn children(pid: u32) -> Vec<u32> {
    let listed = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    listed.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

fn lives(pid: u32) -> bool {
    std::path::Path::new(&format!("/proc/{pid}")).exists()
}
