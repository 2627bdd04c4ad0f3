//! Requests that are too much: too large, too slow, too many.

use std::time::Duration;

use serde_json::json;
use sessiond_mcp_http::Settings;

use crate::rig::{LEGACY, Rig, call, settings};
use crate::wire::Wire;

/// The head of a request up to its length.
fn head(bearer: &str, length: &str) -> String {
    format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\nauthorization: {bearer}\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\n{length}\r\n\r\n"
    )
}

#[tokio::test]
async fn a_body_of_100_mb_is_refused_before_it_is_read() {
    let rig = Rig::new().await;
    let mut wire = Wire::to(rig.address).await;
    wire.send(head(&rig.alice.bearer(), "content-length: 104857600").as_bytes()).await;
    let reply = wire.reply().await;
    assert_eq!(reply.status, 413);
    assert_eq!(reply.message(), "the request is too large: at most 4194304 bytes are taken");
}

#[tokio::test]
async fn a_body_of_100_mb_that_does_not_say_so_is_refused_at_the_limit() {
    let rig = Rig::new().await;
    let mut wire = Wire::to(rig.address).await;
    wire.send(head(&rig.alice.bearer(), "transfer-encoding: chunked").as_bytes()).await;
    let mut chunk = b"100000\r\n".to_vec();
    chunk.extend(vec![b' '; 1 << 20]);
    chunk.extend(b"\r\n");
    for _ in 0..100 {
        wire.send(&chunk).await;
    }
    // The server may be gone before it has been read: it does not listen to the rest.
    if let Some(reply) = wire.head().await {
        assert_eq!(reply.status, 413);
    }
    rig.alice.run("list_clients", json!({})).await;
}

#[tokio::test]
async fn who_has_no_key_uploads_nothing() {
    let rig = Rig::new().await;
    let mut wire = Wire::to(rig.address).await;
    wire.send(head("Bearer sdk_nobody", "content-length: 1000000").as_bytes()).await;
    assert_eq!(wire.reply().await.status, 401);
}

#[tokio::test]
async fn a_head_that_comes_slowly_is_not_waited_for() {
    let rig = Rig::with(settings(), "header_timeout_ms = 300").await;
    let mut silent = Wire::to(rig.address).await;
    let mut preface = Wire::to(rig.address).await;
    preface.send(b"PRI * HTTP/2.0\r\n").await;
    let mut slow = Wire::to(rig.address).await;
    slow.send(b"POST /mcp HTTP/1.1\r\nhost: localhost\r\nx-slow: and so on").await;
    for wire in [&mut silent, &mut preface, &mut slow] {
        assert!(wire.is_closed().await);
    }
    rig.alice.run("list_clients", json!({})).await;
}

#[tokio::test]
async fn a_body_that_comes_slowly_is_not_waited_for() {
    let settings = Settings { body_time: Duration::from_millis(300), ..settings() };
    let rig = Rig::with(settings, "").await;
    let mut wire = Wire::to(rig.address).await;
    wire.send(format!("{}{{", head(&rig.alice.bearer(), "content-length: 100")).as_bytes()).await;
    let reply = wire.reply().await;
    assert_eq!(reply.status, 408);
    assert_eq!(reply.message(), "the request did not come whole within 300ms");
}

#[tokio::test]
async fn an_identity_has_so_many_requests_at_one_time() {
    let rig = Rig::with(Settings { concurrent: 2, ..settings() }, "").await;
    let running = rig.alice.start("cat").await;
    let wait = json!({ "session_id": running, "client_token": "fake", "wait_ms": 20_000 });
    let session = rig.alice.open().await;
    let mut waits = Vec::new();
    for id in 3..5 {
        let mut wait = rig.alice.begin(Some(&session), &call(id, "session_read", wait.clone())).await;
        assert_eq!(wait.head().await.unwrap().status, 200);
        waits.push(wait);
    }
    let refused = rig.alice.post(Some(&session), &call(9, "list_clients", json!({}))).await;
    assert_eq!((refused.status, refused.header("retry-after")), (429, "1"));
    assert_eq!(refused.message(), "too many requests are being answered at one time: wait for some of them");
    rig.bob.run("list_clients", json!({})).await;
    // A client that goes away does not make room: its call goes on.
    drop(waits.pop());
    assert_eq!(rig.alice.post(Some(&session), &call(9, "list_clients", json!({}))).await.status, 429);
}

#[tokio::test]
async fn an_identity_has_so_many_requests_in_a_second() {
    let rig = Rig::with(Settings { per_second: 5, ..settings() }, "").await;
    let mut statuses = Vec::new();
    for _ in 0..8 {
        statuses.push(rig.alice.modern("tools/list", json!({})).await.status);
    }
    assert_eq!(statuses[..5], [200; 5]);
    assert!(statuses[5..].contains(&429), "{statuses:?}");
    rig.bob.run("list_clients", json!({})).await;
}

#[tokio::test]
async fn a_body_that_was_held_back_until_its_key_was_taken_back_does_nothing() {
    // Each time, whatever the server happens to look at first.
    for _ in 0..10 {
        let rig = Rig::new().await;
        let twin = rig.alice.another("twin", "owner = 'alice'\nrole = 'full'");
        rig.keep(&[&rig.alice, &twin]);
        // Of a key that stays: it goes on.
        let session = rig.alice.open().await;
        let running = rig.alice.start("cat").await;
        let typed = json!({ "session_id": running, "client_token": "fake", "input": "typed\n" });
        let body = call(3, "session_write", typed).to_string();
        let more = format!(
            "content-length: {}\r\nmcp-session-id: {session}\r\nmcp-protocol-version: {LEGACY}\r\n\
             expect: 100-continue",
            body.len()
        );
        let mut wire = Wire::to(rig.address).await;
        wire.send(head(&twin.bearer(), &more).as_bytes()).await;
        assert_eq!(wire.head().await.unwrap().status, 100, "it is let in");
        rig.keep(&[&rig.alice]);
        wire.send(body.as_bytes()).await;
        assert_eq!(wire.reply().await.status, 401);
        // Behind it in the same session: what had got in has been done.
        rig.alice.call(&session, "list_clients", json!({})).await;
        let read = json!({ "session_id": running, "client_token": "fake" });
        assert_eq!(rig.alice.run("session_read", read).await["structuredContent"]["output"], "");
    }
}
