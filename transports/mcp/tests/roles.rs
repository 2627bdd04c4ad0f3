//! What an owner's role permits: only that is listed, and anything else is refused.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::json;
use sessiond_core::{Access, Owner, Permissions, Verb};
use sessiond_mcp::TextStyle;

use crate::script::{Asked, Stage};
use crate::support::{Client, Era, Server, management, refusal, target};

async fn client_of(server: &mut Server, owner: Owner) -> Client {
    server.client_of(owner, TextStyle::Short, Era::legacy()).await
}

fn names(client: &Client) -> Vec<&str> {
    client.tools.iter().map(|tool| tool.name.as_ref()).collect()
}

#[tokio::test]
async fn a_read_only_owner_sees_the_tools_that_only_look() {
    let mut server = Server::with_all();
    let owner = management().with_permissions(Permissions::read_only());
    let client = client_of(&mut server, owner).await;
    let expected = [
        "list_clients",
        "session_read",
        "session_list",
        "ssh_host_list",
        "ssh_conn_status",
        "ssh_cmd_check_status",
        "ssh_cmd_output",
        "ssh_cmd_history",
        "get_sessions",
        "describe_session",
        "describe_session_token_usage",
        "get_agents",
        "describe_manual_task",
    ];
    assert_eq!(names(&client), expected);
    // What a tool says of itself and what its verb does are the same.
    let all = client_of(&mut server, management()).await;
    for tool in &all.tools {
        let read_only = tool.annotations.as_ref().unwrap().read_only_hint.unwrap();
        assert_eq!(read_only, expected.contains(&tool.name.as_ref()), "{}", tool.name);
    }
}

#[tokio::test]
async fn a_call_that_a_role_does_not_permit_is_refused_before_it_is_looked_at() {
    let mut server = Server::new();
    let owner = management().with_permissions(Permissions::of(&[Verb::ReadSession, Verb::ListSessions]));
    let client = client_of(&mut server, owner).await;
    assert_eq!(names(&client), ["session_read", "session_list"]);
    let said = "your role does not permit session_start: do without it, or ask whoever runs this server for another role; \
                tools/list shows what it permits";
    // Checked with the schemas of one who sees them.
    let whole = server.client().await;
    for arguments in [json!({"command": "echo hi", "client_token": "local"}), json!({"no": "such"}), json!({})] {
        let reply = client.try_call("session_start", arguments).await.unwrap();
        assert_eq!(refusal(&reply), ("permission_denied", said));
    }
    let sessions = whole.call("session_list", json!({})).await;
    assert_eq!(sessions.structured, json!({"sessions": []}), "nothing was started");
    let permitted = client.try_call("session_list", json!({})).await.unwrap();
    assert_eq!(permitted.structured, json!({"sessions": []}));
}

#[tokio::test]
async fn an_owner_who_may_do_nothing_sees_nothing() {
    let mut server = Server::with_all();
    let client = client_of(&mut server, management().with_permissions(Permissions::NONE)).await;
    assert_eq!(names(&client), [""; 0]);
}

#[tokio::test]
async fn each_owner_of_one_server_sees_a_list_of_its_own() {
    let mut server = Server::with_all();
    let handler_of = |owner: Owner| server.handler(owner, TextStyle::Short);
    let (all, reader) = (handler_of(management()), handler_of(management().with_permissions(Permissions::read_only())));
    let (all, reader) = (server.connect(all), server.connect(reader));
    let (all, reader) = (Client::connect(all, Era::legacy()).await, Client::connect(reader, Era::legacy()).await);
    assert_eq!((all.tools.len(), reader.tools.len()), (26, 13));
}

fn of_targets(names: &[&str]) -> Owner {
    let targets: BTreeSet<_> = names.iter().map(|name| target(name)).collect();
    Owner::new("some", Access::Targets(Arc::new(targets)))
}

#[tokio::test]
async fn an_owner_of_several_targets_names_one_and_an_owner_of_one_need_not() {
    let mut server = Server::new();
    for (owner, named) in [(of_targets(&["local", "other"]), true), (of_targets(&["local"]), false)] {
        let client = client_of(&mut server, owner).await;
        let read = client.tools.iter().find(|tool| tool.name == "session_read").unwrap();
        let required = if named { json!(["session_id", "client_token"]) } else { json!(["session_id"]) };
        assert_eq!(read.input_schema["required"], required);
        let clients = client.try_call("list_clients", json!({})).await.unwrap().structured;
        let tokens: Vec<_> = clients["clients"].as_array().unwrap().iter().map(|it| it.get("client_token")).collect();
        let expected: Vec<_> = if named { vec![Some(json!("local")), Some(json!("other"))] } else { vec![None] };
        assert_eq!(tokens, expected.iter().map(Option::as_ref).collect::<Vec<_>>());
        let reply = client.try_call("execute_command", json!({"command": "true"})).await.unwrap();
        assert_eq!(reply.is_error, named, "{reply:?}");
    }
    let client = client_of(&mut server, of_targets(&["local", "other"])).await;
    let missing = client.try_call("session_read", json!({"session_id": "0".repeat(26), "client_token": "local"})).await;
    for foreign in ["third", ""] {
        let reply = client.try_call("session_start", json!({"command": "true", "client_token": foreign})).await;
        assert_eq!(reply.unwrap(), *missing.as_ref().unwrap(), "{foreign:?}");
    }
}

#[tokio::test]
async fn a_host_is_named_by_whoever_has_several_targets() {
    let stage = Stage::of(of_targets(&["box", "web"])).await;
    let refused = stage.refused("ssh_conn_connect", json!({})).await;
    assert!(refused.starts_with("invalid_argument: host_name is missing"), "{refused}");
    let stage = Stage::of(of_targets(&["box"])).await;
    let Asked::Connect(request) = stage.asked("ssh_conn_connect", json!({})).await else { panic!("a connect") };
    assert_eq!(request.target, None);
}
