//! Faults in what goes over the wire: a server that lists, takes or says the wrong thing.

use serde_json::{Value, json};

use crate::suite::house::BackendKind;
use crate::suite::mutant::{Fault, Mutant};

pub(super) const fn says(id: &'static str, title: &'static str, change: fn(&mut Value)) -> Mutant {
    Mutant { id, title, backend: BackendKind::Fake, fault: Fault::Message(change) }
}

const fn takes(id: &'static str, title: &'static str, change: fn(&mut Value)) -> Mutant {
    Mutant { id, title, backend: BackendKind::Fake, fault: Fault::Request(change) }
}

pub(super) const MUTANTS: &[Mutant] = &[
    says("SR01", "session_read is said to change something", |message| {
        set(message, "session_read", "/annotations/readOnlyHint", json!(false));
    }),
    says("SR02", "client_token is not required", |message| {
        set(message, "session_read", "/inputSchema/required", json!(["session_id"]));
    }),
    says("SR02", "a device must name its target too", |message| {
        set(message, "session_read", "/inputSchema/required", json!(["session_id", "client_token"]));
    }),
    takes("SR03", "an unknown property is passed over", |message| remove(message, &["curser", "wait"])),
    says("SR04", "there is a view already", |message| {
        set(message, "session_read", "/inputSchema/properties/until/description", json!("x"));
        if let Some(all) = tool(message, "session_read").and_then(|tool| tool.pointer_mut("/inputSchema/properties")) {
            all["view"] = json!({ "type": "string", "description": "x" });
        }
    }),
    says("SR05", "an error has structured content", |message| {
        if message.pointer("/result/isError") == Some(&json!(true)) {
            message["result"]["structuredContent"] = json!({});
        }
    }),
    takes("SR10", "wait_ms is clamped", |message| {
        if let Some(wait) = argument(message, "wait_ms") {
            *wait = json!(wait.as_f64().unwrap_or(1.0).clamp(0.0, 20_000.0) as u64);
        }
    }),
    takes("SR11", "a negative cursor is 0", |message| {
        if let Some(cursor) = argument(message, "cursor").filter(|cursor| cursor.as_i64().is_some_and(|at| at < 0)) {
            *cursor = json!(0);
        }
    }),
    takes("SR12", "a missing client_token is the only target's", |message| {
        if let Some(all) = message.pointer_mut("/params/arguments").and_then(Value::as_object_mut) {
            all.entry("client_token").or_insert(json!("local"));
        }
    }),
    says("SR50", "a running session has an exit code", |message| {
        if let Some(all) = message.pointer_mut("/result/structuredContent")
            && all.get("done") == Some(&json!(false))
        {
            all["exit_code"] = json!(0);
        }
    }),
    says("AL01", "a word of the text differs", |message| {
        if let Some(text) = message.pointer_mut("/result/content/0/text") {
            *text = json!(format!("well, {}", text.as_str().unwrap_or_default()));
        }
    }),
    says("AL02", "a property has no description", |message| {
        set(
            message,
            "session_list",
            "/outputSchema/properties/sessions/items/properties/command/description",
            json!(""),
        );
    }),
    says("AL03", "an error does not say its kind", |message| {
        if let Some(result) = message.pointer_mut("/result").and_then(Value::as_object_mut) {
            result.remove("_meta");
        }
    }),
    Mutant {
        id: "AL04",
        title: "a line of the log goes to stdout",
        backend: BackendKind::Fake,
        fault: Fault::Line("INFO started\n"),
    },
    Mutant { id: "AL05", title: "the end of the server ends nothing", backend: BackendKind::Fake, fault: Fault::NoEnd },
];

/// A listed tool in a list of tools.
fn tool<'a>(message: &'a mut Value, name: &str) -> Option<&'a mut Value> {
    let tools = message.pointer_mut("/result/tools")?.as_array_mut()?;
    tools.iter_mut().find(|tool| tool["name"] == name)
}

/// Changes a place in a listed tool.
pub(super) fn set(message: &mut Value, name: &str, place: &str, value: Value) {
    if let Some(found) = tool(message, name).and_then(|tool| tool.pointer_mut(place)) {
        *found = value;
    }
}

/// Changes an input of a listed tool.
pub(super) fn set_input(message: &mut Value, name: &str, input: &str, value: Value) {
    set(message, name, &format!("/inputSchema/properties{input}"), value);
}

/// An argument of a call.
fn argument<'a>(message: &'a mut Value, name: &str) -> Option<&'a mut Value> {
    message.pointer_mut("/params/arguments")?.get_mut(name)
}

/// Removes arguments of a call.
fn remove(message: &mut Value, names: &[&str]) {
    if let Some(all) = message.pointer_mut("/params/arguments").and_then(Value::as_object_mut) {
        all.retain(|name, _| !names.contains(&name.as_str()));
    }
}
