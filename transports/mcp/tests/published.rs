//! What is published of a tool is its declaration, and ours agree: `session_read` (SR01, SR02), `ssh_cmd_output` (CO01),
//! `describe_session` (DS01).

use serde_json::{Value, json};
use sessiond_core::Owner;
use sessiond_mcp::TextStyle;

use crate::support::{Client, Era, Server, sorted, target};

const PUBLISHED: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../conformance/contracts/session_read.json"));

/// The optional inputs that we have added to the published ones (SR04).
const ADDED: [&str; 2] = ["max_bytes", "until"];

fn session_read(client: &Client) -> Value {
    serde_json::to_value(client.tools.iter().find(|tool| tool.name == "session_read").unwrap()).unwrap()
}

/// The schema without what may differ: descriptions, and inputs of our own.
fn bare(mut schema: Value) -> Value {
    let properties = schema["properties"].as_object_mut().unwrap();
    for added in ADDED {
        properties.remove(added);
    }
    for property in properties.values_mut() {
        property.as_object_mut().unwrap().remove("description").expect("every property has a description");
    }
    sorted(schema)
}

#[tokio::test]
async fn session_read_is_what_was_published() {
    let mut server = Server::new();
    let tool = session_read(&server.client().await);
    let published: Value = serde_json::from_str(PUBLISHED).unwrap();
    assert_eq!(tool["name"], published["tool"]);
    assert_eq!(bare(tool["inputSchema"].clone()), sorted(strip(&published["inputSchema"])));
    assert_eq!(bare(tool["outputSchema"].clone()), sorted(strip(&published["outputSchema"])));
    let mut annotations = tool["annotations"].clone();
    assert_eq!(annotations.as_object_mut().unwrap().remove("openWorldHint"), Some(json!(false)));
    assert_eq!(sorted(annotations), sorted(published["annotations"].clone()));
}

#[tokio::test]
async fn under_scoped_access_only_the_id_is_required() {
    let owner = Owner::scoped("device", target("local"));
    let mut server = Server::new();
    let client = server.client_of(owner, TextStyle::Short, Era::legacy()).await;
    let mut published: Value = serde_json::from_str(PUBLISHED).unwrap();
    published["inputSchema"]["required"] = json!(["session_id"]);
    assert_eq!(bare(session_read(&client)["inputSchema"].clone()), sorted(published["inputSchema"].clone()));
}

#[tokio::test]
async fn what_we_have_added_may_be_left_out() {
    let mut server = Server::new();
    let schema = session_read(&server.client().await)["inputSchema"].clone();
    for added in ADDED {
        assert!(schema["properties"][added].is_object());
        assert!(!schema["required"].as_array().unwrap().contains(&json!(added)));
    }
}

fn strip(schema: &Value) -> Value {
    let mut schema = schema.clone();
    for property in schema["properties"].as_object_mut().unwrap().values_mut() {
        property.as_object_mut().unwrap().remove("description");
    }
    schema
}

const SSH_CMD_OUTPUT: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../conformance/contracts/ssh_cmd_output.json"));

#[tokio::test]
async fn ssh_cmd_output_is_what_was_published() {
    let client = Server::with_hosts().client().await;
    let tool = client.tools.iter().find(|tool| tool.name == "ssh_cmd_output").unwrap();
    let tool = serde_json::to_value(tool).unwrap();
    let published: Value = serde_json::from_str(SSH_CMD_OUTPUT).unwrap();
    assert_eq!(bare(tool["inputSchema"].clone()), sorted(published["inputSchema"].clone()));
    assert_eq!(bare(tool["outputSchema"].clone()), sorted(published["outputSchema"].clone()));
    // None are published; ours are all four.
    let hints = json!({"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false});
    assert_eq!((sorted(tool["annotations"].clone()), published["annotations"].clone()), (sorted(hints), Value::Null));
}

const DESCRIBE_SESSION: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../conformance/contracts/describe_session.json"));

/// The schema without descriptions and titles, however deep. Every property must have had a description.
fn undescribed(mut schema: Value) -> Value {
    let all = schema.as_object_mut().unwrap();
    all.remove("title");
    all.remove("description");
    for property in
        all.get_mut("properties").and_then(Value::as_object_mut).into_iter().flat_map(|all| all.values_mut())
    {
        *property = undescribed(property.take());
    }
    for nested in all.get_mut("anyOf").and_then(Value::as_array_mut).into_iter().flatten() {
        *nested = undescribed(nested.take());
    }
    if let Some(items) = all.get_mut("items") {
        *items = undescribed(items.take());
    }
    sorted(schema)
}

#[tokio::test]
async fn describe_session_is_what_was_published_for_whoever_asks() {
    let published: Value = serde_json::from_str(DESCRIBE_SESSION).unwrap();
    for owner in [crate::support::management(), Owner::scoped("device", target("local"))] {
        let client = Server::with_all().client_of(owner, TextStyle::Short, Era::legacy()).await;
        let tool = client.tools.iter().find(|tool| tool.name == "describe_session").unwrap();
        let mut tool = serde_json::to_value(tool).unwrap();
        let added = tool["inputSchema"]["properties"].as_object_mut().unwrap().remove("client_token");
        assert!(added.is_some());
        assert_eq!((&tool["name"], &tool["title"]), (&published["tool"], &published["title"]));
        for schema in ["inputSchema", "outputSchema"] {
            assert_eq!(undescribed(tool[schema].take()), undescribed(published[schema].clone()), "{schema}");
        }
        let mut annotations = tool["annotations"].take();
        // What is published leaves this one open; ours are all four.
        assert_eq!(annotations.as_object_mut().unwrap().remove("destructiveHint"), Some(json!(false)));
        assert_eq!(sorted(annotations), sorted(published["annotations"].clone()));
    }
}
