//! Requests as the arguments of tools.

use std::time::Duration;

use serde_json::{Map, Value, json};
use sessiond_core::{Action, TargetName, Wait};

/// Arguments, with what is `None` left out.
pub(super) fn arguments(all: impl IntoIterator<Item = (&'static str, Option<Value>)>) -> Map<String, Value> {
    all.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

pub(super) fn token(target: Option<TargetName>) -> (&'static str, Option<Value>) {
    ("client_token", target.map(|name| json!(name.as_str())))
}

/// The host of a tool of the ssh family.
pub(super) fn host(target: Option<TargetName>) -> (&'static str, Option<Value>) {
    ("host_name", target.map(|name| json!(name.as_str())))
}

/// Standard input as text, where there is any.
pub(super) fn input(stdin: &[u8]) -> Option<Value> {
    (!stdin.is_empty()).then(|| json!(String::from_utf8_lossy(stdin)))
}

/// Seconds, as a whole number where they are one.
pub(super) fn seconds(time: Duration) -> Value {
    if time.subsec_nanos() == 0 { json!(time.as_secs()) } else { json!(time.as_secs_f64()) }
}

pub(super) fn milliseconds(time: Duration) -> Option<Value> {
    (!time.is_zero()).then(|| json!(time.as_millis() as u64))
}

pub(super) fn waiting(mut all: Map<String, Value>, wait: &Wait) -> Map<String, Value> {
    let until = wait.until.as_ref().map(|until| {
        let mut all = arguments([
            ("pattern", until.pattern.as_ref().map(|pattern| json!(pattern.as_str()))),
            ("quiet_ms", until.quiet.map(|quiet| json!(quiet.as_millis() as u64))),
        ]);
        if until.end {
            all.insert("end".to_owned(), json!(true));
        }
        Value::Object(all)
    });
    let rest = [
        ("wait_ms", milliseconds(wait.time)),
        ("until", until),
        ("max_bytes", wait.max_bytes.map(|bytes| json!(bytes))),
    ];
    all.extend(arguments(rest));
    all
}

pub(super) fn environment(env: &[(String, String)]) -> Option<Value> {
    let map: Map<String, Value> = env.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    (!map.is_empty()).then_some(Value::Object(map))
}

pub(super) fn action(action: &Action) -> Map<String, Value> {
    let name = match action {
        Action::Interrupt => "interrupt",
        Action::Eof => "eof",
        Action::Stop => "stop",
        Action::Signal(_) => "signal",
        Action::Resize(_) => "resize",
        Action::Keys(_) => "keys",
    };
    let mut all = arguments([("action", Some(json!(name)))]);
    match action {
        Action::Signal(signal) => all.extend(arguments([("signal", Some(json!(signal.name())))])),
        Action::Resize(size) => {
            all.extend(arguments([("cols", Some(json!(size.cols()))), ("rows", Some(json!(size.rows())))]));
        }
        Action::Keys(keys) => {
            let names: Vec<String> = keys.iter().map(ToString::to_string).collect();
            all.extend(arguments([("keys", Some(json!(names)))]));
        }
        Action::Interrupt | Action::Eof | Action::Stop => {}
    }
    all
}
