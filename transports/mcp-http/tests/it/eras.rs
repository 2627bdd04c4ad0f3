//! Both eras of the protocol through the same endpoint.

use serde_json::json;

use crate::rig::{LEGACY, MODERN, Rig, call, initialize};

#[tokio::test]
async fn the_era_with_sessions_begins_with_a_handshake() {
    let rig = Rig::new().await;
    let reply = rig.alice.post(None, &initialize()).await;
    assert_eq!(reply.json()["result"]["protocolVersion"], LEGACY);
    assert_eq!(reply.header("mcp-session-id").len(), 26);
    let session = rig.alice.open().await;
    let ping = json!({ "jsonrpc": "2.0", "id": 5, "method": "ping" });
    assert_eq!(rig.alice.post(Some(&session), &ping).await.json(), json!({ "jsonrpc": "2.0", "id": 5, "result": {} }));
    let without = rig.alice.post(None, &call(2, "list_clients", json!({}))).await;
    assert_eq!(without.status, 400);
}

#[tokio::test]
async fn the_era_without_sessions_needs_no_handshake_and_gives_no_session() {
    let rig = Rig::new().await;
    let reply = rig.alice.modern("server/discover", json!({})).await;
    assert!(reply.json()["result"]["supportedVersions"].as_array().unwrap().contains(&json!(MODERN)), "{reply:?}");
    let listed = rig.alice.modern("tools/list", json!({})).await;
    assert_eq!(listed.header("content-type"), "application/json");
    assert_eq!(listed.header("mcp-session-id"), "");
}

#[tokio::test]
async fn a_client_that_goes_away_takes_its_wait_back() {
    let rig = Rig::new().await;
    let running = rig.alice.start("cat").await;
    let wait = json!({ "session_id": running, "client_token": "fake", "wait_ms": 20_000 });
    drop(rig.alice.begin_modern("tools/call", json!({ "name": "session_read", "arguments": wait })).await);
    let bearer = rig.alice.bearer();
    // Until it has been counted: long before the wait's own end.
    loop {
        let headers = [("host", "localhost"), ("authorization", bearer.as_str())];
        let numbers = rig.ask("GET", "/metrics", &headers, "").await.body;
        if numbers.contains("sessiond_tool_calls_total{tool=\"session_read\",outcome=\"ok\"} 1") {
            break;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn there_is_nothing_elsewhere() {
    let rig = Rig::new().await;
    let reply = rig.ask("GET", "/", &[("host", "localhost")], "").await;
    assert_eq!((reply.status, reply.message().as_str()), (404, "there is nothing here: MCP is served at /mcp"));
}
