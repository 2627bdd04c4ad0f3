//! What the server says of itself and its tools: the lists for both kinds of access, and their size (AL02).

use rmcp::model::Tool;
use serde_json::Value;
use sessiond_core::Owner;
use sessiond_mcp::{Family, TextStyle, tool_table};

use crate::support::{Era, Server, sorted, target};

fn values(tools: &[Tool]) -> Vec<Value> {
    tools.iter().map(|tool| sorted(serde_json::to_value(tool).unwrap())).collect()
}

#[tokio::test]
async fn the_list_under_management_access() {
    let mut server = Server::new();
    insta::assert_json_snapshot!("tools_management", values(&server.client().await.tools));
}

#[tokio::test]
async fn the_list_under_scoped_access_differs_only_in_what_is_required() {
    let mut server = Server::new();
    let owner = Owner::scoped("device", target("local"));
    let scoped = values(&server.client_of(owner, TextStyle::Short, Era::legacy()).await.tools);
    insta::assert_json_snapshot!("tools_scoped", scoped);
    let mut management = values(&server.client().await.tools);
    for tool in &mut management {
        let schema = tool["inputSchema"].as_object_mut().unwrap();
        let required = schema.get_mut("required").and_then(Value::as_array_mut);
        if let Some(required) = required {
            required.retain(|name| name != "client_token");
            if required.is_empty() {
                schema.remove("required");
            }
        }
    }
    assert_eq!(scoped, management);
}

#[tokio::test]
async fn the_list_is_small() {
    let mut server = Server::new();
    let tools = server.client().await.tools;
    assert!(serde_json::to_string(&tools).unwrap().len() <= 30 * 1024);
    for tool in &tools {
        let size = serde_json::to_string(tool).unwrap().len();
        assert!(size <= 5 * 1024, "{} has {size} bytes", tool.name);
    }
}

#[tokio::test]
async fn every_tool_is_described_in_full() {
    let mut server = Server::new();
    for tool in &server.client().await.tools {
        let hints = tool.annotations.as_ref().unwrap();
        let all = [hints.read_only_hint, hints.destructive_hint, hints.idempotent_hint, hints.open_world_hint];
        assert!(all.iter().all(Option::is_some), "{}", tool.name);
        assert!(tool.title.is_some() && tool.description.is_some());
        described(&Value::Object((*tool.input_schema).clone()), true);
        described(&Value::Object((**tool.output_schema.as_ref().unwrap()).clone()), false);
    }
}

/// Every property has a description, inputs are closed, and nothing in the schema is hard on hosts.
fn described(schema: &Value, input: bool) {
    let text = schema.to_string();
    for hard in ["$ref", "$defs", "anyOf", "oneOf", "\"format\""] {
        assert!(!text.contains(hard), "{hard} in {text}");
    }
    for (name, property) in schema["properties"].as_object().unwrap() {
        assert!(property["description"].as_str().is_some_and(|text| !text.is_empty()), "{name}");
        for nested in [property, &property["items"]] {
            if nested["properties"].is_object() {
                described(nested, input);
            }
        }
    }
    if input {
        assert_eq!(schema["additionalProperties"], false, "{text}");
    }
}

#[tokio::test]
async fn the_server_says_what_it_is() {
    let mut server = Server::new();
    let mut answer = server.wire().initialize("2025-11-25").await;
    answer["serverInfo"]["version"] = "[version]".into();
    insta::assert_json_snapshot!("initialize", sorted(answer));
}

#[test]
fn the_table_for_people_has_every_tool() {
    let names: Vec<_> = tool_table(&[Family::Session]).into_iter().map(|row| row.name).collect();
    assert_eq!(
        names,
        [
            "list_clients",
            "execute_command",
            "session_start",
            "session_read",
            "session_write",
            "session_control",
            "session_stop",
            "session_list"
        ]
    );
    assert!(tool_table(&[]).is_empty());
    for row in tool_table(&[Family::Session]) {
        assert!(!row.summary.ends_with('.') && row.summary.len() < 120, "{}", row.summary);
    }
    let read = tool_table(&[Family::Session]).swap_remove(3);
    let inputs: Vec<_> = read.inputs.iter().map(|input| (input.name, input.required)).collect();
    assert_eq!(
        inputs,
        [
            ("session_id", true),
            ("client_token", true),
            ("cursor", false),
            ("wait_ms", false),
            ("until", false),
            ("max_bytes", false)
        ]
    );
}
