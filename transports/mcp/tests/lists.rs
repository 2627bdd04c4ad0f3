//! What the server says of itself and its tools: the lists for both kinds of access, and their size (AL02).

use rmcp::model::Tool;
use serde_json::{Value, json};
use sessiond_core::Owner;
use sessiond_mcp::{Family, TextStyle, tool_table};

use crate::support::{Client, Era, Server, sorted, target};

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

/// A connection of ours writes the list as text; any other transport gets it as values.
#[tokio::test]
async fn a_transport_of_rmcps_own_gets_the_same_list() {
    for owner in [Owner::management("ada"), Owner::scoped("device", target("local"))] {
        for era in [Era::legacy(), Era::modern()] {
            let mut server = Server::with_all();
            let ours = server.client_of(owner.clone(), TextStyle::Short, era.clone()).await.tools;
            let (near, far) = tokio::io::duplex(1 << 20);
            let handler = server.handler(owner.clone(), TextStyle::Short);
            let serving = async { rmcp::serve_server(handler, far).await.unwrap().waiting().await.unwrap() };
            let asking = async { values(&Client::connect(near, era).await.tools) };
            let (_, theirs) = tokio::join!(serving, asking);
            assert_eq!(values(&ours), theirs);
        }
    }
}

/// The tools that are listed only when there is a host.
fn added(with_hosts: &[Value], without: &[Value]) -> Vec<Value> {
    let (before, added) = with_hosts.split_at(without.len());
    assert_eq!(before, without, "what is there in any case stands first and as it is");
    added.to_vec()
}

#[tokio::test]
async fn where_there_is_a_host_its_tools_are_listed_too() {
    let without = values(&Server::new().client().await.tools);
    let with_hosts = values(&Server::with_hosts().client().await.tools);
    insta::assert_json_snapshot!("tools_of_hosts", added(&with_hosts, &without));
}

#[tokio::test]
async fn of_the_tools_of_hosts_one_differs_under_scoped_access() {
    let owner = Owner::scoped("device", target("local"));
    let scoped = values(&Server::with_hosts().client_of(owner, TextStyle::Short, Era::legacy()).await.tools);
    let management = values(&Server::with_hosts().client().await.tools);
    let differing: Vec<_> = scoped.iter().zip(&management).filter(|(scoped, other)| scoped != other).collect();
    let names: Vec<_> = differing.iter().filter_map(|(tool, _)| tool["name"].as_str()).collect();
    let required = |tool: &Value| tool["inputSchema"]["required"].clone();
    assert!(names.contains(&"ssh_conn_connect"), "{names:?}");
    assert_eq!(names.iter().filter(|name| name.starts_with("ssh_")).count(), 1, "{names:?}");
    let connect = differing.iter().find(|(tool, _)| tool["name"] == "ssh_conn_connect").unwrap();
    assert_eq!((required(connect.0), required(connect.1)), (Value::Null, json!(["host_name"])));
}

#[tokio::test]
async fn where_there_is_a_platform_its_tools_are_listed_too_and_are_the_same_for_everybody() {
    let without = values(&Server::with_hosts().client().await.tools);
    let with_all = values(&Server::with_all().client().await.tools);
    let management = added(&with_all, &without);
    insta::assert_json_snapshot!("tools_of_agents", management);
    let owner = Owner::scoped("device", target("local"));
    let scoped = values(&Server::with_all().client_of(owner, TextStyle::Short, Era::legacy()).await.tools);
    assert_eq!(scoped.get(without.len()..), Some(management.as_slice()));
}

#[tokio::test]
async fn the_list_is_small() {
    for (mut server, most) in [(Server::new(), 30), (Server::with_all(), 90)] {
        let tools = server.client().await.tools;
        let size = serde_json::to_string(&tools).unwrap().len();
        assert!(size <= most * 1024, "{size} bytes");
    }
}

#[tokio::test]
async fn no_tool_is_big() {
    for tool in &Server::with_all().client().await.tools {
        let size = serde_json::to_string(tool).unwrap().len();
        assert!(size <= 5 * 1024, "{} has {size} bytes", tool.name);
    }
}

#[tokio::test]
async fn every_tool_is_described_in_full() {
    for tool in &Server::with_all().client().await.tools {
        let hints = tool.annotations.as_ref().unwrap();
        let all = [hints.read_only_hint, hints.destructive_hint, hints.idempotent_hint, hints.open_world_hint];
        assert!(all.iter().all(Option::is_some), "{}", tool.name);
        assert!(tool.title.is_some() && tool.description.is_some());
        let (input, output) = (&*tool.input_schema, &**tool.output_schema.as_ref().unwrap());
        described(&Value::Object(input.clone()), true);
        described(&Value::Object(output.clone()), false);
        // What is published with alternatives is declared so.
        if !["ssh_cmd_output", "describe_session"].contains(&&*tool.name) {
            flat(input);
            flat(output);
        }
    }
}

/// Nothing in the schema is hard on hosts.
fn flat(schema: &serde_json::Map<String, Value>) {
    let text = serde_json::to_string(schema).unwrap();
    for hard in ["$ref", "$defs", "anyOf", "oneOf", "\"format\""] {
        assert!(!text.contains(hard), "{hard} in {text}");
    }
}

/// Every property has a description, and inputs are closed.
fn described(schema: &Value, input: bool) {
    for (name, property) in schema["properties"].as_object().unwrap() {
        assert!(property["description"].as_str().is_some_and(|text| !text.is_empty()), "{name}");
        for nested in [property, &property["items"], &property["anyOf"][0]["items"]] {
            if nested["properties"].is_object() {
                described(nested, input);
            }
        }
    }
    if input {
        assert_eq!(schema["additionalProperties"], false, "{schema}");
    }
}

#[tokio::test]
async fn the_server_says_what_it_is() {
    let mut server = Server::new();
    let mut answer = server.wire().initialize("2025-11-25").await;
    answer["serverInfo"]["version"] = "[version]".into();
    insta::assert_json_snapshot!("initialize", sorted(answer));
}

#[tokio::test]
async fn where_there_is_a_host_the_server_says_how_to_use_it() {
    let instructions = |answer: Value| answer["instructions"].as_str().unwrap().to_owned();
    let without = instructions(Server::new().wire().initialize("2025-11-25").await);
    let with_hosts = instructions(Server::with_hosts().wire().initialize("2025-11-25").await);
    assert!(!without.contains("ssh_"), "{without}");
    insta::assert_snapshot!("instructions_of_hosts", with_hosts.strip_prefix(&without).unwrap());
}

#[tokio::test]
async fn where_there_is_a_platform_the_server_says_how_to_use_it() {
    let instructions = |answer: Value| answer["instructions"].as_str().unwrap().to_owned();
    let without = instructions(Server::with_hosts().wire().initialize("2025-11-25").await);
    let with_all = instructions(Server::with_all().wire().initialize("2025-11-25").await);
    assert!(!without.contains("get_agents"), "{without}");
    insta::assert_snapshot!("instructions_of_agents", with_all.strip_prefix(&without).unwrap());
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
    assert_eq!(tool_table(&Family::ALL).len(), 26);
    for row in tool_table(&Family::ALL) {
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
