//! MCP sessions belong to the identity that has opened them, there are so many of them at most, and they end.

use serde_json::json;
use sessiond_mcp_http::Settings;

use crate::rig::{Caller, Rig, call, initialize, settings};
use crate::wire::Wire;

#[tokio::test]
async fn another_identity_finds_no_such_session() {
    let rig = Rig::new().await;
    let session = rig.alice.open().await;
    let never = "0".repeat(26);
    for id in [&session, &never] {
        let post = rig.bob.post(Some(id), &call(2, "list_clients", json!({}))).await;
        let get = rig.bob.bare("GET", id, None).await.reply().await;
        let resume = rig.bob.bare("GET", id, Some(("last-event-id", "1-0"))).await.reply().await;
        let delete = rig.bob.bare("DELETE", id, None).await.reply().await;
        let initialized = rig.bob.post(Some(id), &initialize()).await;
        let notified = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 2 } });
        let notified = rig.bob.post(Some(id), &notified).await;
        let answered = rig.bob.post(Some(id), &json!({ "jsonrpc": "2.0", "id": 1, "result": {} })).await;
        for reply in [post, get, resume, delete, initialized, notified, answered] {
            assert_eq!(reply.status, 404, "{reply:?}");
            let said =
                "no such MCP session here: it never was, has ended, or is another's; begin a new one with initialize";
            assert_eq!(reply.message(), said);
        }
    }
    assert_eq!(rig.alice.call(&session, "list_clients", json!({})).await["isError"], false);
}

/// Every way into an MCP session.
async fn is_hidden_from(caller: &Caller, session: &str, event: &str) {
    let post = caller.post(Some(session), &call(2, "list_clients", json!({}))).await;
    let mut stream = caller.bare("GET", session, None).await;
    let mut resumed = caller.bare("GET", session, Some(("last-event-id", event))).await;
    for status in [post.status, stream.head().await.unwrap().status, resumed.head().await.unwrap().status] {
        assert_eq!(status, 404);
    }
    assert_eq!(caller.bare("DELETE", session, None).await.reply().await.status, 404);
}

#[tokio::test]
async fn a_key_of_the_same_owner_that_may_do_something_else_finds_no_such_session() {
    let rig = Rig::new().await;
    let one_target = rig.alice.another("one-target", "owner = 'alice'\ntarget = 'fake'");
    let targets = rig.alice.another("targets", "owner = 'alice'\ntargets = ['fake']");
    let reader = rig.alice.another("auditor", "owner = 'alice'\nrole = 'read-only'");
    let tools = rig.alice.another("tools", "owner = 'alice'\ntools = ['list_clients', 'session_read']");
    let twin = rig.alice.another("twin", "owner = 'alice'\nrole = 'full'");
    rig.keep(&[&rig.alice, &one_target, &targets, &reader, &tools, &twin]);

    let session = rig.alice.open().await;
    let elsewhere = json!({ "command": "cat", "client_token": "other" });
    let running = rig.alice.run("session_start", elsewhere).await["structuredContent"]["session_id"].clone();
    let wait = json!({ "session_id": running, "client_token": "other", "wait_ms": 20_000 });
    let mut waiting = rig.alice.begin(Some(&session), &call(3, "session_read", wait)).await;
    waiting.head().await.unwrap();
    let priming = waiting.chunk().await.unwrap();
    let event = priming.lines().find_map(|line| line.strip_prefix("id: ")).unwrap().to_owned();
    for caller in [&one_target, &targets, &reader, &tools] {
        is_hidden_from(caller, &session, &event).await;
        // And the other way round: more than the session was opened with is none of its business either.
        let own = caller.open().await;
        is_hidden_from(&rig.alice, &own, "0-0").await;
        caller.call(&own, "list_clients", json!({})).await;
    }

    // Whoever may do the same comes back for what the other key has asked, which nobody has cut off meanwhile.
    let mut resumed = twin.bare("GET", &session, Some(("last-event-id", &event))).await;
    assert_eq!(resumed.head().await.unwrap().status, 200);
    let write = json!({ "session_id": running, "client_token": "other", "input": "secret\n" });
    rig.alice.run("session_write", write).await;
    let answer = resumed.message().await.unwrap();
    assert!(answer["result"]["structuredContent"]["output"].as_str().unwrap().starts_with("secret"), "{answer}");
    assert_eq!(twin.bare("DELETE", &session, None).await.reply().await.status, 204);
}

#[tokio::test]
async fn a_key_that_may_do_less_from_now_on_leaves_the_sessions_that_it_shared() {
    let rig = Rig::new().await;
    let twin = rig.alice.another("twin", "owner = 'alice'\nrole = 'full'");
    rig.keep(&[&rig.alice, &twin]);
    let (hers, its) = (rig.alice.open().await, twin.open().await);
    let mut shared = twin.bare("GET", &hers, None).await;
    assert_eq!(shared.head().await.unwrap().status, 200);
    let mut own = twin.bare("GET", &its, None).await;
    assert_eq!(own.head().await.unwrap().status, 200);

    let narrowed = twin.but("owner = 'alice'\ntarget = 'fake'");
    rig.keep(&[&rig.alice, &narrowed]);
    assert_eq!(shared.message().await, None);
    assert_eq!(own.message().await, None);
    for session in [&hers, &its] {
        is_hidden_from(&narrowed, session, "0-0").await;
    }
    // Nor has anybody else what it had opened.
    is_hidden_from(&rig.alice, &its, "0-0").await;
    rig.alice.call(&hers, "list_clients", json!({})).await;
    let fresh = narrowed.open().await;
    narrowed.call(&fresh, "list_clients", json!({})).await;
}

#[tokio::test]
async fn a_key_with_a_role_of_its_own_ends_no_session_of_another_by_opening_many() {
    let rig = Rig::with(Settings { sessions: 2, ..settings() }, "").await;
    let reader = rig.alice.another("auditor", "owner = 'alice'\nrole = 'read-only'");
    rig.keep(&[&rig.alice, &reader]);
    let session = rig.alice.open().await;
    for _ in 0..3 {
        reader.open().await;
    }
    rig.alice.call(&session, "list_clients", json!({})).await;
}

#[tokio::test]
async fn another_identity_finds_nothing_that_was_started() {
    let rig = Rig::new().await;
    let session = rig.alice.start("echo secret").await;
    let never = "0".repeat(26);
    let text = |result: &serde_json::Value| result["content"][0]["text"].as_str().unwrap().to_owned();
    for tool in ["session_read", "session_stop"] {
        let foreign = rig.bob.run(tool, json!({ "session_id": session, "client_token": "fake" })).await;
        let unknown = rig.bob.run(tool, json!({ "session_id": never, "client_token": "fake" })).await;
        assert_eq!(foreign["_meta"]["sessiond/error"], "not_found", "{foreign}");
        assert_eq!(text(&foreign), text(&unknown));
    }
    assert_eq!(rig.bob.run("session_list", json!({})).await["structuredContent"]["sessions"], json!([]));

    let ran = rig.alice.run("ssh_cmd_run", json!({ "command": "echo secret", "host_name": "fake" })).await;
    let handle = ran["structuredContent"]["handle_id"].clone();
    let foreign = rig.bob.run("ssh_cmd_output", json!({ "handle_id": handle })).await;
    let unknown = rig.bob.run("ssh_cmd_output", json!({ "handle_id": 1 })).await;
    assert_eq!(foreign["_meta"]["sessiond/error"], "not_found", "{foreign}");
    assert_eq!(text(&foreign), text(&unknown));
    let own = rig.alice.run("ssh_cmd_output", json!({ "handle_id": handle })).await;
    assert_eq!(own["structuredContent"]["result"], json!(["secret"]));
}

#[tokio::test]
async fn a_session_that_is_deleted_is_gone_with_what_waits_in_it() {
    let rig = Rig::new().await;
    let session = rig.alice.open().await;
    let running = rig.alice.start("cat").await;
    let wait = json!({ "session_id": running, "client_token": "fake", "wait_ms": 20_000 });
    let mut waiting = rig.alice.begin(Some(&session), &call(3, "session_read", wait)).await;
    assert_eq!(waiting.head().await.unwrap().status, 200);
    assert_eq!(rig.alice.bare("DELETE", &session, None).await.reply().await.status, 204);
    assert_eq!(waiting.message().await, None);
    let reply = rig.alice.post(Some(&session), &call(4, "list_clients", json!({}))).await;
    assert_eq!(reply.status, 404);
    assert_eq!(rig.alice.bare("DELETE", &session, None).await.reply().await.status, 404);
    // What runs is no part of it.
    let read = json!({ "session_id": running, "client_token": "fake" });
    assert_eq!(rig.alice.run("session_read", read).await["structuredContent"]["done"], false);
}

#[tokio::test]
async fn one_more_session_ends_the_one_that_has_been_idle_for_longest() {
    let rig = Rig::with(Settings { sessions: 3, ..settings() }, "").await;
    let sessions = [rig.alice.open().await, rig.alice.open().await, rig.alice.open().await];
    let bobs = rig.bob.open().await;
    rig.alice.call(&sessions[0], "list_clients", json!({})).await;
    let fourth = rig.alice.open().await;
    let gone = rig.alice.post(Some(&sessions[1]), &call(2, "list_clients", json!({}))).await;
    assert_eq!(gone.status, 404);
    for session in [&sessions[0], &sessions[2], &fourth] {
        rig.alice.call(session, "list_clients", json!({})).await;
    }
    rig.bob.call(&bobs, "list_clients", json!({})).await;
}

#[tokio::test]
async fn sessions_with_somebody_in_each_are_not_ended_for_another() {
    let rig = Rig::with(Settings { sessions: 2, ..settings() }, "").await;
    let sessions = [rig.alice.open().await, rig.alice.open().await];
    let mut streams = Vec::new();
    for session in &sessions {
        let mut stream = rig.alice.bare("GET", session, None).await;
        assert_eq!(stream.head().await.unwrap().status, 200);
        streams.push(stream);
    }
    let refused = rig.alice.post(None, &initialize()).await;
    assert_eq!((refused.status, refused.header("retry-after")), (429, "1"));
    let said = "you have 2 MCP sessions, all of them in use: end one with DELETE, or wait";
    assert_eq!(refused.message(), said);
    rig.bob.open().await;
    drop(streams.pop());
    // The server sees at its next look that the stream is gone.
    loop {
        match rig.alice.post(None, &initialize()).await.status {
            200 => break,
            429 => tokio::task::yield_now().await,
            other => panic!("{other}"),
        }
    }
    rig.alice.call(&sessions[0], "list_clients", json!({})).await;
}

#[tokio::test]
async fn ten_thousand_abandoned_sessions_leave_no_more_than_the_limit() {
    let rig = Rig::with(Settings { per_second: 1_000_000, ..settings() }, "").await;
    let first = rig.bob.open().await;
    let (mut wire, bearer) = (Wire::to(rig.address).await, rig.alice.bearer());
    let body = initialize().to_string();
    for _ in 0..10_000 {
        wire.ask("POST", "/mcp", &rig.alice.headers(&bearer, None), &body).await;
        assert_eq!(wire.reply().await.status, 200);
    }
    let metrics = [("host", "localhost"), ("authorization", bearer.as_str())];
    let metrics = rig.ask("GET", "/metrics", &metrics, "").await.body;
    assert!(metrics.contains("\nsessiond_mcp_sessions 257\n"), "{metrics}");
    rig.bob.call(&first, "list_clients", json!({})).await;
}
