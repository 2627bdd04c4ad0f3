//! Who may do what: management and scoped access, and one answer for everything that is not there (SR12 to SR14).

use serde_json::{Map, Value, json};
use sessiond_core::{Call, Owner};
use sessiond_mcp::{Handler, Owners, Proof, TextStyle};

use crate::support::{Client, Era, Server, management, refusal, target};

async fn scoped(server: &mut Server) -> Client {
    server.client_of(Owner::scoped("device", target("local")), TextStyle::Short, Era::legacy()).await
}

#[tokio::test]
async fn management_access_must_name_the_target() {
    let mut server = Server::new();
    let client = server.client().await;
    let session = client.start("cat").await;
    for (tool, arguments) in [
        ("execute_command", json!({"command": "true"})),
        ("session_start", json!({"command": "true"})),
        ("session_read", json!({"session_id": session})),
        ("session_read", json!({"session_id": "no id at all"})),
        ("session_write", json!({"session_id": session, "input": "x"})),
        ("session_control", json!({"session_id": session, "action": "eof"})),
        ("session_stop", json!({"session_id": session})),
    ] {
        let reply = client.try_call(tool, arguments).await.unwrap();
        let expected = "client_token is missing: it names the target, and list_clients shows each";
        assert_eq!(refusal(&reply), ("invalid_argument", expected), "{tool}");
    }
}

#[tokio::test]
async fn whatever_is_not_there_gets_one_answer() {
    let mut server = Server::new();
    let mine = server.client().await;
    let theirs = server.client_of(Owner::management("eve"), TextStyle::Short, Era::legacy()).await;
    let session = mine.start("cat").await;
    let unknown = "0".repeat(26);
    for (tool, rest) in [
        ("session_read", json!({})),
        ("session_write", json!({"input": "x"})),
        ("session_control", json!({"action": "interrupt"})),
        ("session_stop", json!({})),
    ] {
        let mut answers = Vec::new();
        for (client, id, token) in [
            (&theirs, session.as_str(), "local"),
            (&mine, &unknown, "local"),
            (&mine, "", "local"),
            (&mine, "; rm -rf /", "local"),
            (&mine, &session, "other"),
            (&mine, &session, "nowhere"),
            (&mine, &session, ""),
        ] {
            let mut arguments = rest.clone();
            arguments["session_id"] = json!(id);
            arguments["client_token"] = json!(token);
            answers.push(client.try_call(tool, arguments).await.unwrap());
        }
        assert_eq!(refusal(&answers[0]).0, "not_found");
        assert!(answers.iter().all(|answer| *answer == answers[0]), "{tool}: {answers:#?}");
    }
}

#[tokio::test]
async fn scoped_access_needs_no_token_and_has_no_other() {
    let mut server = Server::new();
    let client = scoped(&mut server).await;
    let call = async |tool: &str, arguments: Value| client.try_call(tool, arguments).await.unwrap();

    let started = call("session_start", json!({"command": "echo hi"})).await;
    let session = started.structured["session_id"].clone();
    let wait = json!({"session_id": session, "wait_ms": 20000, "until": {"end": true}});
    let own = call("session_read", wait).await;
    assert_eq!(own.structured["output"], "hi\r\n");
    let named = call("session_read", json!({"session_id": session, "client_token": "local"})).await;
    assert_eq!(named.structured, own.structured);

    let missing = call("session_read", json!({"session_id": "0".repeat(26)})).await;
    let foreign_calls = [
        ("session_read", json!({"session_id": session, "client_token": "other"})),
        ("session_start", json!({"command": "true", "client_token": "other"})),
        ("execute_command", json!({"command": "true", "client_token": "other"})),
        ("execute_command", json!({"command": "true", "client_token": ""})),
        ("list_clients", json!({"client_token": "other"})),
        ("session_list", json!({"client_token": "other"})),
    ];
    for (tool, arguments) in foreign_calls {
        assert_eq!(call(tool, arguments).await, missing, "{tool}");
    }
}

#[tokio::test]
async fn scoped_access_sees_its_target_alone_and_no_token() {
    let mut server = Server::new();
    let reply = scoped(&mut server).await.try_call("list_clients", json!({})).await.unwrap();
    let expected = json!({"clients": [{
        "client_id": "local", "name": "local", "backend": "fake", "status": "online", "client_info": {"os": "fake"},
    }]});
    assert_eq!(reply.structured, expected);
    let all = server.client().await.try_call("list_clients", json!({})).await.unwrap();
    let tokens: Vec<_> = all.structured["clients"].as_array().unwrap().iter().map(|c| &c["client_token"]).collect();
    assert_eq!(tokens, ["local", "other"]);
    assert_eq!(all.text, "2 targets\nlocal (fake) online\nother (fake) online");
}

/// A transport that lets people in without knowing them.
struct Nobody;

impl Owners for Nobody {
    fn owner(&self, request: &Proof<'_>) -> Option<Owner> {
        request.get::<Owner>().cloned()
    }
}

#[tokio::test]
async fn without_an_owner_nothing_is_done() {
    let mut server = Server::new();
    let handler = server.handler(Nobody, TextStyle::Short);
    let (output, input) = tokio::io::split(server.connect(handler));
    let mut wire = crate::support::Wire::over(output, input);
    wire.initialize("2025-11-25").await;
    wire.tool(1, "execute_command", json!({"command": "true"})).await;
    let answer = wire.receive().await.unwrap();
    assert_eq!(answer["error"], json!({"code": -32603, "message": "nobody has proven who asks"}));
}

#[tokio::test]
async fn a_tool_can_be_called_without_a_transport() {
    let server = Server::new();
    let handler: Handler = server.handler(management(), TextStyle::Short);
    let cx = Call::new(management());
    let arguments =
        Map::from_iter([("command".to_owned(), json!("exit 3")), ("client_token".to_owned(), json!("local"))]);
    let answer = handler.call("execute_command", arguments, &cx).await.unwrap();
    assert!(answer.is_error);
    assert_eq!(answer.structured.unwrap()["exit_code"], 3);
    assert_eq!(answer.text, "exit code 3");
    let unknown = handler.call("exec_command", Map::new(), &cx).await.unwrap_err();
    assert_eq!(unknown.message(), "unknown tool exec_command: the nearest is execute_command; tools/list shows all");
}
