//! The published structures, as they stand in `contracts/`, and how ours are compared with them.

use serde_json::Value;

/// `session_read` as Agenterm publishes it.
pub fn session_read() -> Value {
    parse(include_str!("../../contracts/session_read.json"))
}

/// `ssh_cmd_output` as cygnus-ssh-mcp publishes it.
pub fn ssh_cmd_output() -> Value {
    parse(include_str!("../../contracts/ssh_cmd_output.json"))
}

/// `describe_session` as Itential publishes it.
pub fn describe_session() -> Value {
    parse(include_str!("../../contracts/describe_session.json"))
}

fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("a published structure is no JSON: {error}"))
}

/// Leaves out of a listed tool what no published structure has: descriptions, titles, the dialect, and the optional
/// inputs that we have added.
pub fn strip(tool: &mut Value, added: &[&str]) {
    if let Some(inputs) = tool.pointer_mut("/inputSchema/properties").and_then(Value::as_object_mut) {
        inputs.retain(|name, _| !added.contains(&name.as_str()));
    }
    for schema in ["/inputSchema", "/outputSchema"] {
        if let Some(schema) = tool.pointer_mut(schema) {
            plain(schema);
        }
    }
}

/// Removes descriptions, titles and dialects, however deep; a property of such a name stays.
fn plain(schema: &mut Value) {
    let Some(all) = schema.as_object_mut() else { return };
    for name in ["description", "title", "$schema"] {
        if all.get(name).is_some_and(Value::is_string) {
            all.remove(name);
        }
    }
    if let Some(properties) = all.get_mut("properties").and_then(Value::as_object_mut) {
        properties.values_mut().for_each(plain);
    }
    if let Some(items) = all.get_mut("items") {
        plain(items);
    }
    all.get_mut("anyOf").and_then(Value::as_array_mut).into_iter().flatten().for_each(plain);
}

/// The properties of a schema, however deep, that have no description.
pub fn undescribed(schema: &Value) -> Vec<String> {
    let mut missing = Vec::new();
    look("", schema, &mut missing);
    missing
}

fn look(path: &str, schema: &Value, missing: &mut Vec<String>) {
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}/{name}");
        if property["description"].as_str().is_none_or(str::is_empty) {
            missing.push(path.clone());
        }
        look(&path, property, missing);
        for alternative in property["anyOf"].as_array().into_iter().flatten().chain([property]) {
            look(&path, &alternative["items"], missing);
        }
    }
}
