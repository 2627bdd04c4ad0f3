//! The catalogue of errors: for each kind a call that brings it about, and the answer as it goes over the wire.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use sessiond_core::{Error, ErrorKind, Limits};

use super::collect::ask;
use crate::suite::house::{BackendKind, House, Servers, Settings, TransportKind};
use crate::suite::mutant::Fault;
use crate::suite::stage::Stage;
use crate::suite::verbs::Hooks;

/// The id of a session that nobody has started.
const NOBODYS: &str = "00000000000000000000000000";

/// A tool's answer for every kind of error, by kind.
///
/// # Errors
/// Which kind could not be brought about, and what came instead.
pub(super) async fn catalogue() -> Result<BTreeMap<String, Value>, String> {
    let mut catalogue = BTreeMap::new();
    for kind in ErrorKind::ALL {
        let answer = provoke(kind).await?;
        let error = answer.get("_meta").and_then(|meta| meta.get("sessiond/error"));
        if error.and_then(Value::as_str) != Some(kind.as_str()) {
            return Err(format!("{kind} could not be brought about; there came {answer}"));
        }
        catalogue.insert(kind.to_string(), answer);
    }
    Ok(catalogue)
}

async fn provoke(kind: ErrorKind) -> Result<Value, String> {
    let mut stage = house(kind).open_with(settings(kind)).await;
    let answer = call_wrongly(kind, &stage).await;
    stage.close().await;
    answer
}

/// The call that earns this kind of error.
async fn call_wrongly(kind: ErrorKind, stage: &Stage) -> Result<Value, String> {
    let (tool, arguments) = match kind {
        ErrorKind::InvalidArgument => ("session_read", json!({ "session_id": NOBODYS, "wait_ms": 20_001 })),
        ErrorKind::NotFound => ("session_read", json!({ "session_id": NOBODYS })),
        ErrorKind::FailedPrecondition => {
            let until_end = json!({ "command": "exit 0", "wait_ms": 20_000, "until": { "end": true } });
            let ended = call(stage, "session_start", until_end).await?;
            let session = ended.pointer("/structuredContent/session_id").cloned();
            ("session_write", json!({ "session_id": session, "input": "x" }))
        }
        ErrorKind::LimitExceeded => {
            call(stage, "session_start", json!({ "command": "cat" })).await?;
            ("session_start", json!({ "command": "cat" }))
        }
        ErrorKind::Unsupported => ("session_start", json!({ "native_id": "1" })),
        ErrorKind::Unavailable => {
            ("session_start", json!({ "command": ":fail the target does not answer: try again" }))
        }
        ErrorKind::TimedOut => ("session_start", json!({ "command": ":hang" })),
        ErrorKind::PermissionDenied | ErrorKind::Internal => ("execute_command", json!({ "command": "true" })),
    };
    call(stage, tool, arguments).await
}

/// Calls a tool on the one target there is.
async fn call(stage: &Stage, tool: &str, mut arguments: Value) -> Result<Value, String> {
    if let Some(arguments) = arguments.as_object_mut() {
        arguments.insert("client_token".to_owned(), "local".into());
    }
    ask(&stage.client, "tools/call", json!({ "name": tool, "arguments": arguments })).await
}

fn settings(kind: ErrorKind) -> Settings {
    let limits = match kind {
        ErrorKind::LimitExceeded => Limits { running_per_owner: 1, ..Limits::default() },
        ErrorKind::TimedOut => Limits { launch: Duration::from_millis(1), ..Limits::default() },
        _ => Limits::default(),
    };
    Settings { limits, ..Settings::default() }
}

/// The scripted backend refuses nobody and has no fault of its own. What the catalogue records of these two is how
/// they are carried, with a message such as a real target gives.
fn house(kind: ErrorKind) -> House {
    let refusing = |execute_out| Fault::Hooks(Hooks { execute_out, ..Hooks::NONE });
    let fault = match kind {
        ErrorKind::PermissionDenied => refusing(|answer| {
            *answer = Err(Error::permission_denied("directory /locked may not be entered: name another in cwd"));
        }),
        ErrorKind::Internal => refusing(|answer| {
            *answer = Err(Error::internal("a session's record holds no session"));
        }),
        _ => return House::new(BackendKind::Fake, TransportKind::InProcess, Servers::default()),
    };
    House::faulty(BackendKind::Fake, fault, Servers::default())
}
