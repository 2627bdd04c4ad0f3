//! Both eras of the protocol on one handler: with `initialize`, and stateless.

use rmcp::model::{CacheScope, ProtocolVersion};
use serde_json::json;
use sessiond_mcp::TextStyle;

use crate::support::{Era, Server, management, sorted};

#[tokio::test]
async fn a_session_goes_through_either_era() {
    for era in [Era::legacy(), Era::initialize(ProtocolVersion::V_2025_06_18), Era::modern()] {
        let mut server = Server::new();
        let client = server.client_of(management(), TextStyle::Short, era.clone()).await;
        assert_eq!(client.service.peer_info().unwrap().protocol_version, era.version);
        let session = client.start("echo hi").await;
        let end = client.end_of(&session).await;
        let expected = json!({
            "session_id": session, "output": "hi\r\n", "next_cursor": 4, "truncated": false, "done": true,
            "exit_code": 0, "timed_out": false, "canceled": false,
        });
        assert_eq!(end, expected);
    }
}

#[tokio::test]
async fn one_server_serves_both_eras_at_once() {
    let mut server = Server::new();
    let old = server.client().await;
    let new = server.client_of(management(), TextStyle::Short, Era::modern()).await;
    let session = old.start("echo hi").await;
    assert_eq!(old.end_of(&session).await, new.end_of(&session).await);
}

#[tokio::test]
async fn discovery_names_the_server_and_every_version() {
    let mut server = Server::new();
    let client = server.client_of(management(), TextStyle::Short, Era::modern()).await;
    let info = client.service.peer_info().unwrap();
    let named = info.server_info.as_ref().unwrap();
    assert_eq!((named.name.as_str(), named.title.as_deref()), ("sessiond", Some("sessiond")));
    assert!(info.instructions.as_ref().unwrap().contains("bash -i"));
    let mut wire = server.wire();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    wire.request(1, "server/discover", json!({"_meta": meta})).await;
    let mut answer = wire.receive().await.unwrap()["result"].take();
    answer["_meta"]["io.modelcontextprotocol/serverInfo"]["version"] = "[version]".into();
    insta::assert_json_snapshot!("discover", sorted(answer));
}

#[tokio::test]
async fn nobody_may_keep_a_list_of_tools_for_others() {
    let mut server = Server::new();
    let client = server.client_of(management(), TextStyle::Short, Era::modern()).await;
    let list = client.service.list_tools(None).await.unwrap();
    assert_eq!((list.ttl_ms, list.cache_scope), (Some(0), Some(CacheScope::Private)));
}
