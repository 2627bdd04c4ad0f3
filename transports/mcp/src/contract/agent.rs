//! The family of agent platforms: the tools, and what they have in common.

mod agents;
mod complete;
mod control;
mod describe;
mod sessions;
mod start;
mod task;
mod tokens;

use serde_json::Value;
use sessiond_core::{AgentRun, Json, ManualTaskSummary, Owner, Result, TargetName};

use super::Tool;
use crate::args::Args;
use crate::render::{Fields, identifier, one_line};
use crate::schema::{Field, Kind};

/// The tools, in the order in which an agent meets them.
pub(super) const TOOLS: [&Tool; 8] = [
    &sessions::TOOL,
    &describe::TOOL,
    &tokens::TOOL,
    &agents::TOOL,
    &start::TOOL,
    &control::TOOL,
    &task::TOOL,
    &complete::TOOL,
];

// Inputs.

const CLIENT_TOKEN: Field = Field::optional(
    "client_token",
    Kind::TEXT,
    "Platform to ask: a client_token from list_clients. Needed only where several are configured.",
);
const SESSION_ID: Field = Field::required(
    "session_id",
    Kind::TEXT,
    "Id of the session: the platform's, from get_sessions, or that of a session_start on the platform.",
);
const WORK_ITEM_ID: Field = Field::required(
    "work_item_id",
    Kind::TEXT,
    "Id of the manual task, from pending_manual_tasks of describe_session.",
);

// Results.

const RUN_ID: Field = Field::required("session_id", Kind::TEXT, "The platform's id of the session.");
const STATUS: Field =
    Field::required("status", Kind::TEXT, "How the session stands, in the platform's own word; may be empty.");
const AGENT_NAME: &str = "Name of the agent, as far as the platform tells it.";
const STARTED_AT: &str = "When it started, ISO 8601.";
const END_TIME: &str = "When it ended, ISO 8601; null while it runs.";
const DURATION_MS: &str = "How long it took in milliseconds, as the platform counts.";

/// A property that is always there, and null where the platform says nothing that can be read.
const fn nullable(name: &'static str, kind: &'static Kind, about: &'static str) -> Field {
    Field::required(name, Kind::OrNull(kind), about)
}

/// The same in a published result, where it need not be there.
const fn published(name: &'static str, kind: &'static Kind, about: &'static str) -> Field {
    Field::optional(name, Kind::NullByDefault(kind), about)
}

/// The platform that a call names.
///
/// # Errors
/// For what cannot be a target's name, as for sessions.
fn platform(args: &mut Args, owner: &Owner) -> Result<Option<TargetName>> {
    super::session::target_filter(args, owner)
}

/// A JSON value as structured content; null where the text is not such an object as was promised.
fn object_or_null(json: Option<Json>) -> Value {
    let parsed = json.and_then(|json| serde_json::from_str::<Value>(json.as_str()).ok());
    parsed.filter(Value::is_object).unwrap_or_default()
}

/// What is answered of a session that something was done to.
fn put_run(fields: &mut Fields, run: &AgentRun) {
    fields.put("session_id", run.session_id.as_str());
    fields.put("status", run.status.as_str());
}

/// A session and how it stands, in a few words.
fn run_line(session: &str, status: &str) -> String {
    format!("session {} {}", identifier(session), status_word(status))
}

/// The platform's word; some word where it has none.
fn status_word(status: &str) -> String {
    if status.is_empty() { "without a status".to_owned() } else { one_line(status) }
}

/// A manual task, on one line.
fn task_line(task: &ManualTaskSummary) -> String {
    let mut line = format!("waits for a person: {}", identifier(&task.work_item_id));
    if let Some(title) = &task.title {
        line.push_str(&format!(" \"{}\"", one_line(title)));
    }
    let age = task.waiting_age_seconds.map(|seconds| format!("{seconds} s"));
    let facts: Vec<String> = task.view_type.as_deref().map(one_line).into_iter().chain(age).collect();
    if !facts.is_empty() {
        line.push_str(&format!(" ({})", facts.join(", ")));
    }
    line
}
