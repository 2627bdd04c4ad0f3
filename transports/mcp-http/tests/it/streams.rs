//! Event streams: each on its own, and to be had again.

use serde_json::json;

use crate::rig::{Rig, call};

#[tokio::test]
async fn an_answer_that_was_not_received_is_there_when_its_client_comes_back() {
    let rig = Rig::new().await;
    let session = rig.alice.open().await;
    let running = rig.alice.start("cat").await;
    let wait = json!({ "session_id": running, "client_token": "fake", "wait_ms": 20_000 });
    let mut broken = rig.alice.begin(Some(&session), &call(3, "session_read", wait)).await;
    assert_eq!(broken.head().await.unwrap().status, 200);
    let priming = broken.chunk().await.unwrap();
    let id = priming.lines().find_map(|line| line.strip_prefix("id: ")).unwrap().to_owned();
    assert!(priming.contains("retry: 1000"), "{priming}");
    drop(broken);

    let write = json!({ "session_id": running, "client_token": "fake", "input": "hello\n" });
    rig.alice.run("session_write", write).await;
    let mut again = rig.alice.bare("GET", &session, Some(("last-event-id", &id))).await;
    assert_eq!(again.head().await.unwrap().status, 200);
    let answer = again.message().await.unwrap();
    assert_eq!(answer["id"], 3);
    assert!(answer["result"]["structuredContent"]["output"].as_str().unwrap().starts_with("hello"), "{answer}");
    assert_eq!(again.message().await, None, "the stream ends with the answer");

    let mut third = rig.alice.bare("GET", &session, Some(("last-event-id", &id))).await;
    third.head().await.unwrap();
    assert_eq!(third.message().await.unwrap(), answer);
}

#[tokio::test]
async fn the_id_of_an_event_means_nothing_in_another_session() {
    let rig = Rig::new().await;
    let (one, other) = (rig.alice.open().await, rig.alice.open().await);
    let running = rig.alice.start("cat").await;
    let wait = json!({ "session_id": running, "client_token": "fake", "wait_ms": 20_000 });
    let mut waiting = rig.alice.begin(Some(&one), &call(3, "session_read", wait)).await;
    waiting.head().await.unwrap();
    let priming = waiting.chunk().await.unwrap();
    let id = priming.lines().find_map(|line| line.strip_prefix("id: ")).unwrap().to_owned();
    let mut stream = rig.alice.bare("GET", &other, Some(("last-event-id", &id))).await;
    stream.head().await.unwrap();
    assert_eq!(stream.message().await, None);
}

#[tokio::test]
async fn an_answer_that_is_soon_there_is_no_stream_however_long_it_is() {
    let rig = Rig::with(sessiond_mcp_http::Settings::default(), "").await;
    let session = rig.alice.open().await;
    let started = rig.alice.start("sleep 1; head -c 1048576 /dev/zero").await;
    let end = json!({ "session_id": started, "client_token": "fake", "wait_ms": 20_000, "until": { "end": true } });
    let reply = rig.alice.post(Some(&session), &call(7, "session_read", end)).await;
    assert_eq!((reply.status, reply.header("content-type")), (200, "application/json"));
    let answer = reply.json();
    assert_eq!(answer["id"], 7);
    assert_eq!(answer["result"]["structuredContent"]["output"].as_str().unwrap().len(), 1 << 20);
    // Nobody has an event to come back from, so nothing is kept.
    let mut again = rig.alice.bare("GET", &session, Some(("last-event-id", "2-0"))).await;
    again.head().await.unwrap();
    assert_eq!(again.message().await, None);
}

#[tokio::test]
async fn a_stream_that_nobody_reads_delays_no_other() {
    let rig = Rig::new().await;
    let session = rig.alice.open().await;
    let full = rig.alice.start("head -c 1048576 /dev/zero").await;
    let end = json!({ "session_id": full, "client_token": "fake", "wait_ms": 20_000, "until": { "end": true } });
    rig.alice.run("session_read", end).await;
    let read = json!({ "session_id": full, "client_token": "fake" });
    let mut unread = Vec::new();
    for id in 0..40 {
        // Far more than a connection holds.
        unread.push(rig.alice.begin(Some(&session), &call(100 + id, "session_read", read.clone())).await);
    }
    let mut standalone = rig.alice.bare("GET", &session, None).await;
    standalone.head().await.unwrap();
    for _ in 0..20 {
        rig.alice.call(&session, "list_clients", json!({})).await;
    }
    let mut last = unread.pop().unwrap();
    assert_eq!(last.reply().await.json()["id"], 139);
}

#[tokio::test]
async fn a_request_that_is_taken_back_ends_its_wait_and_its_stream() {
    let rig = Rig::new().await;
    let session = rig.alice.open().await;
    let running = rig.alice.start("cat").await;
    let wait = json!({ "session_id": running, "client_token": "fake", "wait_ms": 20_000 });
    let mut waiting = rig.alice.begin(Some(&session), &call(3, "session_read", wait.clone())).await;
    waiting.head().await.unwrap();
    let twice = rig.alice.post(Some(&session), &call(3, "session_read", wait)).await;
    assert_eq!(twice.status, 400, "its id is in use: {twice:?}");
    let params = json!({ "requestId": 3, "reason": "changed my mind" });
    let cancelled = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
    assert_eq!(rig.alice.post(Some(&session), &cancelled).await.status, 202);
    assert_eq!(waiting.message().await, None);
}
