//! What each kind of key may do, as MCP shows it.

use serde_json::{Value, json};

use crate::rig::Rig;

/// The required inputs of a tool in a caller's list; `None` when it is not in there.
async fn required(caller: &crate::rig::Caller, tool: &str) -> Option<Value> {
    let list = caller.modern("tools/list", json!({})).await.json();
    let tools = list["result"]["tools"].as_array().unwrap().clone();
    let found = tools.into_iter().find(|listed| listed["name"] == tool)?;
    Some(found["inputSchema"]["required"].clone())
}

#[tokio::test]
async fn a_device_key_has_one_target_and_need_not_name_it() {
    let rig = Rig::new().await;
    assert_eq!(required(&rig.alice, "session_read").await, Some(json!(["session_id", "client_token"])));
    assert_eq!(required(&rig.device, "session_read").await, Some(json!(["session_id"])));

    let started = rig.device.run("session_start", json!({ "command": "echo hello" })).await;
    let session = started["structuredContent"]["session_id"].clone();
    let wait = json!({ "session_id": session, "wait_ms": 20_000, "until": { "end": true } });
    let read = rig.device.run("session_read", wait).await;
    assert_eq!(read["structuredContent"]["output"], "hello\r\n", "{read}");

    let elsewhere = json!({ "session_id": session, "client_token": "other" });
    let elsewhere = rig.device.run("session_read", elsewhere).await;
    let unknown = rig.device.run("session_read", json!({ "session_id": "0".repeat(26) })).await;
    assert_eq!(elsewhere["_meta"]["sessiond/error"], "not_found");
    assert_eq!(elsewhere["content"], unknown["content"]);
    let missing = rig.alice.run("session_read", json!({ "session_id": session })).await;
    assert_eq!(missing["_meta"]["sessiond/error"], "invalid_argument");
}

#[tokio::test]
async fn a_read_only_key_neither_sees_nor_uses_what_changes_something() {
    let rig = Rig::new().await;
    assert!(required(&rig.reader, "session_read").await.is_some());
    assert_eq!(required(&rig.reader, "session_start").await, None);
    let refused = rig.reader.run("session_start", json!({ "command": "echo no", "client_token": "fake" })).await;
    assert_eq!(refused["_meta"]["sessiond/error"], "permission_denied", "{refused}");
}

#[tokio::test]
async fn the_numbers_are_for_management_keys() {
    let rig = Rig::new().await;
    for (caller, status) in [(&rig.alice, 200), (&rig.device, 403)] {
        let bearer = caller.bearer();
        let headers = [("host", "localhost"), ("authorization", bearer.as_str())];
        assert_eq!(rig.ask("GET", "/metrics", &headers, "").await.status, status);
    }
    assert_eq!(rig.ask("GET", "/metrics", &[("host", "localhost")], "").await.status, 401);
}
