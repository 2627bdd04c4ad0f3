//! `call`: one call of one tool, from the command line.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Context;
use serde_json::{Map, Value};
use sessiond_bootstrap::{Bootstrap, end_on_signals, exit::FAILURE, stdout};
use sessiond_core::{Call, Tasks};
use sessiond_mcp::{Answer, META_ERROR};
use tracing::Instrument;

use crate::follow;
use crate::serve::{TASKS_END, handler, owner};
use crate::trace::of_command_line;

/// Calls a tool, prints its result, and ends whatever it has started.
///
/// # Errors
/// A target cannot be made, or stdout cannot be written to.
pub(crate) async fn call(
    mut bootstrap: Bootstrap,
    tool: String,
    arguments: Map<String, Value>,
) -> anyhow::Result<ExitCode> {
    let tasks = Tasks::new();
    let ending = end_on_signals(&tasks).context("listening for signals")?;
    let kept = &mut bootstrap.configuration.limits.session_output;
    *kept = follow::SLACK.max(*kept);
    bootstrap.export_traces(&tasks)?;
    let assembly = bootstrap.assemble()?;
    let cx = Call { cancel: ending.clone(), ..Call::new(owner()) };
    let target = arguments.get("client_token").and_then(Value::as_str).map(str::to_owned);
    let called = handler(&bootstrap, &assembly).call(&tool, arguments, &cx).instrument(of_command_line()).await;
    let answer = called.unwrap_or_else(Answer::from);
    let ended = match started(&tool, &answer) {
        Some(session) => follow::follow(assembly.registry.as_ref(), session, target, &ending).await,
        None => print(&answer),
    };
    assembly.shutdown().await;
    tasks.shutdown(TASKS_END).await;
    ended
}

/// The session that a call has started.
fn started<'a>(tool: &str, answer: &'a Answer) -> Option<&'a str> {
    let structured = answer.structured.as_ref().filter(|_| tool == "session_start")?;
    structured.get("session_id").and_then(Value::as_str)
}

/// A result goes to stdout; an error has none, and its message goes to stderr.
///
/// # Errors
/// stdout cannot be written to.
pub(crate) fn print(answer: &Answer) -> anyhow::Result<ExitCode> {
    match &answer.structured {
        Some(result) => stdout::print(&serde_json::to_string_pretty(result)?)?,
        None => {
            let kind = answer.meta.get(META_ERROR).and_then(Value::as_str).unwrap_or("error");
            let _ = writeln!(std::io::stderr(), "{kind}: {}", answer.text);
        }
    }
    Ok(if answer.is_error { ExitCode::from(FAILURE) } else { ExitCode::SUCCESS })
}
