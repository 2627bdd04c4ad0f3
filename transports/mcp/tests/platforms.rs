//! Agent platforms from end to end: the registry and a scripted platform behind the tools.

use serde_json::{Value, json};
use sessiond_core::{
    AgentSessionDetail, Error, Exit, InputState, ManualTask, ManualTaskSummary, Owner, ReasoningEvent,
};
use sessiond_mcp::TextStyle;

use crate::support::{Client, Era, Reply, Server, refusal, target};

/// A session of the platform that is over.
fn over(id: &str) -> AgentSessionDetail {
    AgentSessionDetail {
        session_id: id.to_owned(),
        status: "COMPLETE".to_owned(),
        agent_name: Some("Triage".to_owned()),
        output: Some("Done.".to_owned()),
        reasoning_events: vec![ReasoningEvent { text: Some("Done.".to_owned()), ..ReasoningEvent::default() }],
        pending_manual_tasks: Some(Vec::new()),
        ..AgentSessionDetail::default()
    }
}

async fn call(client: &Client, tool: &str, arguments: Value) -> Reply {
    client.try_call(tool, arguments).await.unwrap()
}

/// The result of a call that goes well.
async fn result(client: &Client, tool: &str, arguments: Value) -> Value {
    let reply = call(client, tool, arguments).await;
    assert!(!reply.is_error, "{reply:?}");
    reply.structured
}

/// The ids of a page, and where to go on.
fn page(page: &Value) -> (Vec<&str>, Option<&str>) {
    let ids = page["result"].as_array().unwrap().iter().map(|session| session["session_id"].as_str().unwrap());
    (ids.collect(), page["next_page_token"].as_str())
}

#[tokio::test]
async fn a_platform_is_a_target_that_says_what_it_speaks() {
    let mut server = Server::with_all();
    let client = server.client().await;
    let listed = result(&client, "list_clients", json!({"client_token": "flow"})).await;
    let expected = json!({"clients": [{
        "client_id": "flow", "client_token": "flow", "name": "flow", "backend": "fake", "status": "online",
        "dialect": "fake",
    }]});
    assert_eq!(listed, expected);
}

#[tokio::test]
async fn sessions_are_listed_page_by_page() {
    let mut server = Server::with_all();
    for id in ["s1", "s2", "s3"] {
        server.flow.put_session(over(id));
    }
    let client = server.client().await;
    let first = result(&client, "get_sessions", json!({"limit": 2})).await;
    assert_eq!(page(&first), (vec!["s1", "s2"], Some("2")));
    let second = result(&client, "get_sessions", json!({"limit": 2, "page_token": "2"})).await;
    assert_eq!(page(&second), (vec!["s3"], None));
    let none = result(&client, "get_sessions", json!({"agent_name": "triage", "client_token": "flow"})).await;
    assert_eq!(page(&none), (Vec::new(), None));
    let reply = call(&client, "get_sessions", json!({"page_token": "nonsense"})).await;
    assert_eq!(refusal(&reply).0, "invalid_argument");
}

#[tokio::test]
async fn a_run_is_a_session_like_any_other() {
    let mut server = Server::with_all();
    let client = server.client().await;
    let start = json!({"client_token": "flow", "command": "echo {\"n\": 1}"});
    let session = result(&client, "session_start", start).await["session_id"].as_str().unwrap().to_owned();
    let named = json!({"session_id": session, "client_token": "flow"});
    server.flow.turn("run-1", "Looking.");
    let evidence = "manual task \"Approve change\" waits".to_owned();
    server.flow.input("run-1", Some(InputState { waiting: true, evidence: evidence.clone() }));
    let read = result(&client, "session_read", named.clone()).await;
    assert_eq!((&read["output"], &read["done"]), (&json!("Looking.\n"), &json!(false)));

    let listed = call(&client, "session_list", json!({"client_token": "flow"})).await;
    let shown = &listed.structured["sessions"][0];
    assert_eq!(shown["native_id"], "run-1");
    assert_eq!(shown["input_state"], json!({"waiting": true, "evidence": evidence}));
    let line = format!("{session} on flow running, waits: {evidence}: echo {{\"n\": 1}}");
    assert_eq!(listed.text, format!("1 session\n{line}"));

    // Either id means the same session of the platform.
    let by_theirs = result(&client, "describe_session", json!({"session_id": "run-1"})).await;
    let by_ours = call(&client, "describe_session", json!({"session_id": session})).await;
    assert_eq!((&by_ours.structured, &by_theirs["session_id"]), (&by_theirs, &json!("run-1")));
    assert_eq!(by_ours.meta, json!({"sessiond/dialect": "fake"}));

    let stopped = result(&client, "session_stop", named.clone()).await;
    assert_eq!((&stopped["status"], &stopped["canceled"]), (&json!("stopped"), &json!(true)));
    let read = result(&client, "session_read", named).await;
    let expected = json!({
        "session_id": session, "output": "Looking.\n", "next_cursor": 9, "truncated": false, "done": true,
        "exit_code": -1, "timed_out": false, "canceled": true,
    });
    assert_eq!(read, expected);
}

#[tokio::test]
async fn a_run_that_goes_on_already_is_attached_by_its_id() {
    let mut server = Server::with_all();
    let client = server.client().await;
    let started = result(&client, "start_agent", json!({"agent": "echo", "inputs": {"n": 1}})).await;
    assert_eq!(started, json!({"session_id": "run-1", "status": "RUNNING"}));
    server.flow.turn("run-1", "One.");
    let wait = json!({"client_token": "flow", "native_id": "run-1", "wait_ms": 20000, "until": {"pattern": "One"}});
    let attached = result(&client, "session_start", wait).await;
    assert_eq!(attached["output"], "One");
    server.flow.end("run-1", Exit::Canceled);
    let end =
        json!({"session_id": attached["session_id"], "client_token": "flow", "wait_ms": 20000, "until": {"end": true}});
    let read = result(&client, "session_read", end).await;
    let facts = [&read["exit_code"], &read["canceled"], &read["timed_out"], &read["error"]];
    assert_eq!(facts, [&json!(-1), &json!(true), &json!(false), &Value::Null]);
}

#[tokio::test]
async fn a_session_is_paused_resumed_and_cancelled_once() {
    let mut server = Server::with_all();
    let client = server.client().await;
    result(&client, "start_agent", json!({"agent": "echo"})).await;
    let steer = |action: &str| json!({"session_id": "run-1", "action": action});
    for (action, status) in [("pause", "PAUSED"), ("resume", "RUNNING"), ("cancel", "CANCELED")] {
        let steered = result(&client, "control_session", steer(action)).await;
        assert_eq!(steered, json!({"session_id": "run-1", "status": status}), "{action}");
    }
    let reply = call(&client, "control_session", steer("resume")).await;
    assert_eq!(refusal(&reply).0, "failed_precondition");
}

#[tokio::test]
async fn a_manual_task_is_looked_at_previewed_and_completed() {
    let mut server = Server::with_all();
    server.flow.put_session(AgentSessionDetail {
        status: "RUNNING".to_owned(),
        output: None,
        pending_manual_tasks: Some(vec![ManualTaskSummary {
            work_item_id: "w1".to_owned(),
            title: Some("Approve".to_owned()),
            view_type: Some("ViewData".to_owned()),
            waiting_age_seconds: Some(5),
            completion_supported: true,
        }]),
        ..over("s1")
    });
    server.flow.put_task(ManualTask {
        work_item_id: "w1".to_owned(),
        status: "pending".to_owned(),
        pending: true,
        title: Some("Approve".to_owned()),
        view_type: Some("ViewData".to_owned()),
        btn_success: Some("Yes".to_owned()),
        completion_supported: true,
        ..ManualTask::default()
    });
    let client = server.client().await;
    let described = result(&client, "describe_session", json!({"session_id": "s1"})).await;
    let task = described["pending_manual_tasks"][0]["work_item_id"].clone();
    let shown = result(&client, "describe_manual_task", json!({"work_item_id": task})).await;
    assert_eq!((&shown["btn_success"], &shown["btn_failure"]), (&json!("Yes"), &Value::Null));
    let finish = |state: &str, confirm: bool| json!({"work_item_id": "w1", "finish_state": state, "confirm": confirm});
    let preview = result(&client, "complete_manual_task", finish("success", false)).await;
    assert_eq!((&preview["completed"], &preview["title"]), (&json!(false), &json!("Approve")));
    assert_eq!(server.flow.asked().iter().filter(|asked| asked.starts_with("finish")).count(), 0);
    let reply = call(&client, "complete_manual_task", finish("failure", true)).await;
    assert_eq!(refusal(&reply).0, "failed_precondition", "it has no button for that");
    let done = result(&client, "complete_manual_task", finish("success", true)).await;
    assert_eq!(done["completed"], true);
    let reply = call(&client, "complete_manual_task", finish("success", true)).await;
    assert_eq!(refusal(&reply).0, "failed_precondition", "it waits no more");
}

#[tokio::test]
async fn what_is_no_id_never_reaches_a_platform() {
    let mut server = Server::with_all();
    let client = server.client().await;
    for id in ["", ".", "..", "../../whoami", "a%2fb", "a\u{0}b", &"x".repeat(10_000)] {
        for (tool, arguments) in [
            ("describe_session", json!({"session_id": id})),
            ("describe_session_token_usage", json!({"session_id": id})),
            ("control_session", json!({"session_id": id, "action": "cancel"})),
            ("describe_manual_task", json!({"work_item_id": id})),
            ("complete_manual_task", json!({"work_item_id": id, "finish_state": "success", "confirm": true})),
        ] {
            let reply = call(&client, tool, arguments).await;
            let (kind, text) = refusal(&reply);
            assert!(kind == "invalid_argument" && text.len() < 300, "{tool} {id:?}: {text}");
        }
    }
    assert_eq!(server.flow.asked(), [""; 0]);
}

#[tokio::test]
async fn what_a_platform_fails_with_is_told_and_says_what_to_do() {
    let mut server = Server::with_all();
    let client = server.client().await;
    let reply = call(&client, "describe_session", json!({"session_id": "nobody"})).await;
    let (kind, text) = refusal(&reply);
    assert!(kind == "not_found" && text.contains("\"nobody\"") && text.contains("get_sessions"), "{text}");
    let reply = call(&client, "get_agents", json!({"client_token": "local"})).await;
    assert_eq!(refusal(&reply).0, "unsupported");
    server.flow.fail(Some(Error::unavailable("the platform does not answer: try again")));
    for (tool, arguments) in [
        ("get_sessions", json!({})),
        ("get_agents", json!({})),
        ("describe_session", json!({"session_id": "s1"})),
        ("describe_session_token_usage", json!({"session_id": "s1"})),
        ("start_agent", json!({"agent": "echo"})),
        ("control_session", json!({"session_id": "s1", "action": "cancel"})),
        ("describe_manual_task", json!({"work_item_id": "w1"})),
        ("complete_manual_task", json!({"work_item_id": "w1", "finish_state": "success"})),
    ] {
        let reply = call(&client, tool, arguments).await;
        assert_eq!(refusal(&reply), ("unavailable", "the platform does not answer: try again"), "{tool}");
    }
}

#[tokio::test]
async fn a_platform_of_ones_own_need_not_be_named_and_no_other_is_there() {
    let mut server = Server::with_all();
    server.flow.put_session(over("s1"));
    let own = server.client_of(Owner::scoped("device", target("flow")), TextStyle::Short, Era::legacy()).await;
    let described = result(&own, "describe_session", json!({"session_id": "s1"})).await;
    assert_eq!(described["output"], "Done.");
    for named in ["flow", "local", "nowhere"] {
        let reply = call(&own, "describe_session", json!({"session_id": "s1", "client_token": named})).await;
        match named {
            "flow" => assert!(!reply.is_error, "{reply:?}"),
            _ => assert_eq!(refusal(&reply).0, "not_found", "{named}"),
        }
    }
    let other = server.client_of(Owner::scoped("device", target("local")), TextStyle::Short, Era::legacy()).await;
    let reply = call(&other, "describe_session", json!({"session_id": "s1"})).await;
    assert_eq!(refusal(&reply).0, "unsupported");
}
