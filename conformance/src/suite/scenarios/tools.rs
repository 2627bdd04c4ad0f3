//! How tools are listed and what arguments they take (SR01 to SR05, SR10 to SR12).

use futures_util::FutureExt;
use serde_json::{Map, Value, json};
use sessiond_core::{Owner, Service};

use crate::suite::client::ToolResult;
use crate::suite::house::House;
use crate::suite::published;
use crate::suite::scenario::{Need, Scenario, host, session};
use crate::suite::stage::{OWNER, Stage, target};

pub(super) const SCENARIOS: &[Scenario] = &[
    session("SR01", "session_read is what was published", |house| as_published(house).boxed()),
    session("SR02", "management access must give client_token, and every property is described", |house| {
        management(house).boxed()
    })
    .needing(&[Need::Management]),
    session("SR02", "the scoped list differs in nothing but that the target need not be named", |house| {
        scoped(house).boxed()
    })
    .needing(&[Need::Owners]),
    session("SR03", "an unknown property is refused with the nearest known one", |house| unknown(house).boxed()),
    session("SR04", "max_bytes and until are there and view is not", |house| added(house).boxed()),
    session("SR04", "max_bytes is 4 to 1048576 and counts raw bytes", |house| max_bytes(house).boxed()),
    session("SR05", "results fit their schema, errors have no structured content", |house| fits(house).boxed()),
    host("SR05", "results of hosts and commands fit theirs", |house| hosts_fit(house).boxed()),
    session("SR10", "wait_ms takes 0, 1 and 20000, and refuses the rest by its range", |house| wait_ms(house).boxed()),
    session("SR11", "a cursor is a whole number from 0 on", |house| cursor(house).boxed()),
    session("SR12", "a missing client_token is an error for every tool that takes one", |house| {
        missing_token(house).boxed()
    })
    .needing(&[Need::Management]),
];

/// The tools that must name a target under management access.
const NAMING: [&str; 6] =
    ["execute_command", "session_start", "session_read", "session_write", "session_control", "session_stop"];

pub(super) async fn tool(stage: &Stage, name: &str) -> Value {
    let tools = stage.client.tools().await;
    tools.into_iter().find(|tool| tool["name"] == name).unwrap_or_else(|| panic!("{name} is listed"))
}

/// A read with these arguments besides the session and its target.
async fn read(stage: &Stage, session: &str, more: Value) -> ToolResult {
    let mut arguments = json!({ "session_id": session, "client_token": "local" });
    if let (Some(all), Value::Object(more)) = (arguments.as_object_mut(), more) {
        all.extend(more);
    }
    stage.tool("session_read", arguments).await
}

fn refused(result: &ToolResult, words: &[&str]) {
    assert_eq!((result.is_error, result.kind()), (true, Some("invalid_argument")), "{}", result.text);
    for word in words {
        assert!(result.text.contains(word), "{word:?} stands in {:?}", result.text);
    }
}

async fn as_published(house: House) {
    let stage = house.open().await;
    let mut listed = tool(&stage, "session_read").await;
    let mut published = published::session_read();
    if !house.has(Need::Management) {
        // SR02: nothing else differs.
        without_target(&mut published);
    }
    let added = ["max_bytes", "until"];
    published::strip(&mut listed, &added);
    for part in ["annotations", "inputSchema", "outputSchema"] {
        let ours = listed[part].clone();
        match part {
            // Ours are all four; the published three are among them.
            "annotations" => {
                for (name, value) in published[part].as_object().unwrap() {
                    assert_eq!(ours[name], *value, "{name}");
                }
            }
            _ => assert_eq!(ours, published[part], "{part}"),
        }
    }
}

async fn management(house: House) {
    let stage = house.open().await;
    let listed = tool(&stage, "session_read").await;
    assert_eq!(listed["inputSchema"]["required"], json!(["session_id", "client_token"]));
    assert_eq!(published::undescribed(&listed["inputSchema"]), Vec::<String>::new());
    for (name, default) in [("cursor", 0), ("wait_ms", 0)] {
        assert_eq!(listed["inputSchema"]["properties"][name]["default"], default, "{name}");
    }
    for name in NAMING {
        let required = tool(&stage, name).await["inputSchema"]["required"].clone();
        assert!(required.as_array().unwrap().contains(&json!("client_token")), "{name} requires it");
    }
}

async fn scoped(house: House) {
    let stage = house.open().await;
    let ours = stage.client_as(Owner::management(OWNER)).await.tools().await;
    let theirs = stage.client_as(Owner::scoped(OWNER, target())).await.tools().await;
    let read = theirs.iter().find(|tool| tool["name"] == "session_read").unwrap();
    assert_eq!(read["inputSchema"]["required"], json!(["session_id"]));
    assert_eq!(ours.len(), theirs.len());
    for (mut ours, mut theirs) in ours.into_iter().zip(theirs) {
        without_target(&mut ours);
        without_target(&mut theirs);
        assert_eq!(ours, theirs);
    }
}

/// Leaves the target's names out of what is required; a list of nothing is the same as none.
fn without_target(tool: &mut Value) {
    let Some(schema) = tool["inputSchema"].as_object_mut() else { return };
    let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) else { return };
    required.retain(|name| name != "client_token" && name != "host_name");
    if required.is_empty() {
        schema.remove("required");
    }
}

async fn unknown(house: House) {
    let stage = house.open().await;
    let session = stage.start("sleep 1000").await.to_string();
    refused(&read(&stage, &session, json!({ "curser": 0 })).await, &["curser", "cursor"]);
    refused(&read(&stage, &session, json!({ "wait": 5 })).await, &["wait", "wait_ms"]);
    let nested = json!({ "until": { "patern": "x" } });
    refused(&read(&stage, &session, nested).await, &["patern", "pattern"]);
}

async fn added(house: House) {
    let stage = house.open().await;
    let schema = tool(&stage, "session_read").await["inputSchema"].clone();
    let properties = schema["properties"].as_object().unwrap();
    let mut names: Vec<&str> = properties.keys().map(String::as_str).collect();
    names.sort_unstable();
    assert_eq!(names, ["client_token", "cursor", "max_bytes", "session_id", "until", "wait_ms"]);
    assert_eq!(
        (&properties["max_bytes"]["minimum"], &properties["max_bytes"]["maximum"]),
        (&json!(4), &json!(1_048_576))
    );
}

async fn max_bytes(house: House) {
    let stage = house.open().await;
    let session = stage.start_until("printf 'a€€'; sleep 1000", "a€€").await.to_string();
    for bytes in [3, 1_048_577, 0] {
        refused(&read(&stage, &session, json!({ "max_bytes": bytes })).await, &["max_bytes", "4", "1048576"]);
    }
    let four = read(&stage, &session, json!({ "max_bytes": 4 })).await;
    assert_eq!((four.get("output"), four.get("next_cursor")), (&json!("a€"), &json!(4)));
    let all = read(&stage, &session, json!({})).await;
    assert_eq!(all.get("output"), &json!("a€€"), "left out: all that is kept");
}

/// What in a value does not fit a flat schema: types, required properties, unknown ones where none may be.
fn misfits(value: &Value, schema: &Value, path: &str, found: &mut Vec<String>) {
    let fits = |name: &str| match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        _ => false,
    };
    if let Some(alternatives) = schema["anyOf"].as_array() {
        let misfits_of = |schema| {
            let mut found = Vec::new();
            misfits(value, schema, path, &mut found);
            found
        };
        let best = alternatives.iter().map(misfits_of).min_by_key(Vec::len).unwrap_or_default();
        found.extend(best);
        return;
    }
    let types: Vec<&str> = match &schema["type"] {
        Value::String(name) => vec![name],
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if !types.iter().any(|name| fits(name)) {
        found.push(format!("{path} is none of {types:?}"));
    }
    let empty = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&empty);
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if value.is_object() && value.get(name).is_none() {
            found.push(format!("{path}/{name} is missing"));
        }
    }
    for (name, value) in value.as_object().into_iter().flatten() {
        match properties.get(name) {
            Some(schema) => misfits(value, schema, &format!("{path}/{name}"), found),
            None if schema["additionalProperties"] == false => found.push(format!("{path}/{name} is not known")),
            None => {}
        }
    }
    for item in value.as_array().into_iter().flatten() {
        misfits(item, &schema["items"], &format!("{path}/items"), found);
    }
}

/// Calls a tool and holds what it answers against its schema.
pub(super) async fn fit(stage: &Stage, name: &str, arguments: Value) -> Value {
    let schema = tool(stage, name).await["outputSchema"].clone();
    let result = stage.tool(name, arguments).await;
    let structured = result.structured.unwrap_or_else(|| panic!("{name} has a result: {}", result.text));
    let mut found = Vec::new();
    misfits(&structured, &schema, name, &mut found);
    assert_eq!(found, Vec::<String>::new(), "{structured}");
    structured
}

async fn hosts_fit(house: House) {
    let stage = house.open().await;
    let name = target().to_string();
    let on = |command: &str| json!({ "command": command, "host_name": name });
    fit(&stage, "ssh_conn_connect", json!({ "host_name": name })).await;
    let handle = fit(&stage, "ssh_cmd_run", on("echo out; echo err >&2; exit 3")).await["handle_id"].clone();
    fit(&stage, "ssh_cmd_run", on("seq 1 20000")).await;
    fit(&stage, "ssh_cmd_run", on("kill -TERM $$")).await;
    let waiting = json!({ "command": "sleep 1000", "wait_timeout": 0.1 });
    let runs = fit(&stage, "ssh_cmd_run", waiting).await["handle_id"].clone();
    for (name, arguments) in [
        ("ssh_cmd_run", json!({ "command": "true", "cwd": "/missing/directory" })),
        ("ssh_host_list", json!({})),
        ("ssh_conn_status", json!({})),
        ("ssh_cmd_check_status", json!({ "handle_id": handle })),
        ("ssh_cmd_check_status", json!({ "handle_id": runs, "wait_seconds": 0 })),
        ("ssh_cmd_check_status", json!({ "handle_id": 1 })),
        ("ssh_cmd_output", json!({ "handle_id": handle })),
        ("ssh_cmd_output", json!({ "handle_id": runs })),
        ("ssh_cmd_kill", json!({ "handle_id": runs })),
        ("ssh_cmd_kill", json!({ "handle_id": handle })),
        ("ssh_cmd_history", json!({ "include_output": true })),
        ("ssh_cmd_clear_history", json!({})),
        ("ssh_host_disconnect", json!({})),
        ("ssh_host_disconnect", json!({})),
    ] {
        fit(&stage, name, arguments).await;
    }
}

async fn fits(house: House) {
    let stage = house.open().await;
    let session = stage.start_until("printf ready; read line; exit 3", "ready").await.to_string();
    let on = json!({ "session_id": session, "client_token": "local" });
    let with = |more: Value| {
        let mut all = on.clone();
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        all
    };
    let until_end = json!({ "wait_ms": 20_000, "until": { "end": true } });
    for (name, arguments) in [
        ("list_clients", json!({})),
        ("execute_command", json!({ "command": "echo out; exit 3", "client_token": "local" })),
        ("session_start", json!({ "command": "sleep 1000", "client_token": "local" })),
        ("session_start", json!({ "command": "exit 0", "client_token": "local", "wait_ms": 20_000 })),
        ("session_read", on.clone()),
        ("session_list", json!({})),
        ("session_control", with(json!({ "action": "resize", "cols": 100, "rows": 30 }))),
        ("session_write", with(json!({ "input": "\r" }))),
        ("session_read", with(until_end)),
        ("session_stop", on.clone()),
        ("session_list", json!({ "status": "finished" })),
    ] {
        fit(&stage, name, arguments).await;
    }
    let error = stage.tool("session_read", with(json!({ "cursor": -1 }))).await;
    assert!(error.is_error && error.structured.is_none() && error.kind().is_some() && !error.text.is_empty());
}

async fn wait_ms(house: House) {
    let stage = house.open().await;
    let session = stage.start_until("printf ready; sleep 1000", "ready").await.to_string();
    for taken in [0, 1, 20_000] {
        assert!(!read(&stage, &session, json!({ "wait_ms": taken })).await.is_error, "{taken}");
    }
    for broken in [json!(20_001), json!(-1), json!(1.5), json!("1"), json!(1e300)] {
        refused(&read(&stage, &session, json!({ "wait_ms": broken })).await, &["wait_ms", "20000"]);
    }
}

async fn cursor(house: House) {
    let stage = house.open().await;
    let session = stage.start_until("printf ready; sleep 1000", "ready").await.to_string();
    for broken in [json!(-1), json!(0.5), json!("0"), json!(true), json!(1e300), json!([])] {
        refused(&read(&stage, &session, json!({ "cursor": broken })).await, &["cursor"]);
    }
    assert_eq!(read(&stage, &session, json!({ "cursor": 0 })).await.get("output"), &json!("ready"));
}

async fn missing_token(house: House) {
    let stage = house.open().await;
    let session = stage.start("sleep 1000").await.to_string();
    for name in NAMING {
        let arguments = match name {
            "execute_command" | "session_start" => json!({ "command": "true" }),
            "session_write" => json!({ "session_id": session, "input": "x" }),
            "session_control" => json!({ "session_id": session, "action": "interrupt" }),
            _ => json!({ "session_id": session }),
        };
        refused(&stage.tool(name, arguments).await, &["client_token"]);
    }
    assert!(!stage.tool("list_clients", json!({})).await.is_error, "list_clients needs none and names it");
    let service: &dyn Service = &*stage.service;
    assert_eq!(service.list_targets(&stage.call(), Default::default()).await.unwrap()[0].info.name, target());
}
