//! Agent platforms: requests as the arguments of their tools, and the answers of these tools.
//!
//! What may be null must be there all the same: a result that leaves it out is no result.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value, json};
use sessiond_core::{
    Agent, AgentRun, AgentSession, AgentSessionDetail, AgentSessionPage, CompleteManualTask, ControlAgentSession,
    DescribeAgentSession, FinishState, Json, ListAgentSessions, ManualTask, ManualTaskSummary, ReasoningEvent,
    StartAgent, TaskCompletion, TokenCounts, TokenSummary, TokenTurn, TokenUsage,
};

use super::arguments::{arguments, token};
use super::fields::Fields;
use crate::suite::client::ToolResult;

pub(super) fn list(request: ListAgentSessions) -> Map<String, Value> {
    let query = request.query;
    arguments([
        token(request.target),
        ("agent_name", query.agent_name.map(Value::from)),
        ("status", query.status.map(Value::from)),
        ("started_after", query.started_after.map(|time| json!(rfc3339(time)))),
        ("started_before", query.started_before.map(|time| json!(rfc3339(time)))),
        ("limit", Some(json!(query.limit))),
        ("page_token", query.page_token.map(Value::from)),
    ])
}

pub(super) fn about(request: DescribeAgentSession) -> Map<String, Value> {
    arguments([token(request.target), ("session_id", Some(json!(request.session)))])
}

pub(super) fn start(request: StartAgent) -> Map<String, Value> {
    arguments([token(request.target), ("agent", Some(json!(request.agent))), ("inputs", request.inputs.map(value))])
}

pub(super) fn control(request: ControlAgentSession) -> Map<String, Value> {
    arguments([
        token(request.target),
        ("session_id", Some(json!(request.session))),
        ("action", Some(json!(request.action.as_str()))),
        ("input", request.input.map(value)),
    ])
}

pub(super) fn complete(request: CompleteManualTask) -> Map<String, Value> {
    arguments([
        token(request.target),
        ("work_item_id", Some(json!(request.work_item))),
        ("finish_state", Some(json!(request.finish_state.as_str()))),
        ("confirm", Some(json!(request.confirm))),
        ("variables", request.variables.map(value)),
    ])
}

fn value(text: Json) -> Value {
    serde_json::from_str(text.as_str()).unwrap_or_else(|error| panic!("{}: {error}", text.as_str()))
}

/// A time as the tools take it, to the millisecond.
fn rfc3339(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, seconds) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    let (mut year, mut day) = (1970, days);
    let length = |year: u64| {
        if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) { 366 } else { 365 }
    };
    while day >= length(year) {
        day -= length(year);
        year += 1;
    }
    let february = length(year) - 337;
    let mut month = 1;
    for days in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if day < days {
            break;
        }
        day -= days;
        month += 1;
    }
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", day + 1, since.subsec_millis())
}

pub(super) fn page(result: &ToolResult) -> AgentSessionPage {
    AgentSessionPage {
        sessions: result.each("result", session),
        next_page_token: result.get("next_page_token").as_str().map(str::to_owned),
    }
}

fn session(record: &Value) -> AgentSession {
    let fields = Fields(record);
    AgentSession {
        session_id: fields.text("session_id"),
        status: fields.text("status"),
        agent_name: fields.nullable_text("agent_name"),
        started_at: fields.nullable_text("started_at"),
        end_time: fields.nullable_text("end_time"),
        duration_ms: fields.nullable("duration_ms", Value::as_i64),
        total_input_tokens: fields.nullable("total_input_tokens", Value::as_u64),
        total_output_tokens: fields.nullable("total_output_tokens", Value::as_u64),
    }
}

pub(super) fn described(result: &ToolResult) -> AgentSessionDetail {
    let whole = result.whole();
    let fields = Fields(&whole);
    let tasks = fields.nullable("pending_manual_tasks", Value::as_array);
    AgentSessionDetail {
        session_id: fields.text("session_id"),
        status: fields.text("status"),
        agent_name: fields.nullable_text("agent_name"),
        output: fields.nullable_text("output"),
        started_at: fields.nullable_text("started_at"),
        end_time: fields.nullable_text("end_time"),
        duration_ms: fields.nullable("duration_ms", Value::as_i64),
        reasoning_events: result.each("reasoning_events", event),
        pending_manual_tasks: tasks.map(|tasks| tasks.iter().map(waiting).collect()),
        dropped_events: result.meta.get("sessiond/dropped_events").and_then(Value::as_u64).unwrap_or_default(),
    }
}

fn event(record: &Value) -> ReasoningEvent {
    let fields = Fields(record);
    ReasoningEvent {
        event_id: fields.nullable_text("event_id"),
        sequence_number: fields.nullable("sequence_number", Value::as_i64),
        timestamp: fields.nullable_text("timestamp"),
        text: fields.nullable_text("text"),
    }
}

fn waiting(record: &Value) -> ManualTaskSummary {
    let fields = Fields(record);
    ManualTaskSummary {
        work_item_id: fields.text("work_item_id"),
        title: fields.nullable_text("title"),
        view_type: fields.nullable_text("view_type"),
        waiting_age_seconds: fields.nullable("waiting_age_seconds", Value::as_u64),
        completion_supported: fields.flag("completion_supported"),
    }
}

pub(super) fn usage(result: &ToolResult) -> TokenUsage {
    let fields = Fields(result.get("summary"));
    TokenUsage {
        summary: TokenSummary {
            session_id: fields.text("session_id"),
            turn_count: fields.number("turn_count"),
            total_duration_ms: fields.number("total_duration_ms"),
            total_input_tokens: fields.number("total_input_tokens"),
            total_output_tokens: fields.number("total_output_tokens"),
            total_tokens: fields.number("total_tokens"),
        },
        turns: result.each("turns", turn),
    }
}

fn turn(record: &Value) -> TokenTurn {
    let fields = Fields(record);
    TokenTurn {
        sequence_number: fields.nullable("sequence_number", Value::as_i64),
        timestamp: fields.nullable_text("timestamp"),
        succeeded: match fields.text("event_type").as_str() {
            "succeeded" => true,
            "failed" => false,
            other => panic!("no such event_type: {other}"),
        },
        duration_ms: fields.nullable("duration_ms", Value::as_u64),
        token_usage: fields.nullable("token_usage", |usage| usage.is_object().then(|| counts(usage))),
        error: fields.nullable_text("error"),
    }
}

fn counts(usage: &Value) -> TokenCounts {
    let count = |name| Fields(usage).nullable(name, Value::as_u64);
    TokenCounts {
        input_tokens: count("input_tokens"),
        output_tokens: count("output_tokens"),
        cache_read_tokens: count("cache_read_tokens"),
        cache_creation_tokens: count("cache_creation_tokens"),
        total_tokens: count("total_tokens"),
    }
}

pub(super) fn agent(record: &Value) -> Agent {
    let fields = Fields(record);
    let object = |value: &Value| value.is_object().then(|| Json::from_checked(value.to_string()));
    Agent {
        name: fields.text("name"),
        description: fields.nullable_text("description"),
        agent_id: fields.nullable_text("agent_id"),
        route_name: fields.nullable_text("route_name"),
        input_schema: fields.nullable("input_schema", object),
        last_executed: fields.nullable_text("last_executed"),
    }
}

pub(super) fn run(result: &ToolResult) -> AgentRun {
    let whole = result.whole();
    let fields = Fields(&whole);
    AgentRun { session_id: fields.text("session_id"), status: fields.text("status") }
}

pub(super) fn task(result: &ToolResult) -> ManualTask {
    let whole = result.whole();
    let fields = Fields(&whole);
    let status = fields.text("status");
    ManualTask {
        work_item_id: fields.text("work_item_id"),
        // The wire has the platform's word alone.
        pending: status == "pending",
        status,
        title: fields.nullable_text("title"),
        view_type: fields.nullable_text("view_type"),
        header: fields.nullable_text("header"),
        message: fields.nullable_text("message"),
        body: fields.nullable_text("body"),
        btn_success: fields.nullable_text("btn_success"),
        btn_failure: fields.nullable_text("btn_failure"),
        waiting_age_seconds: fields.nullable("waiting_age_seconds", Value::as_u64),
        completion_supported: fields.flag("completion_supported"),
    }
}

pub(super) fn completion(result: &ToolResult) -> TaskCompletion {
    let whole = result.whole();
    let fields = Fields(&whole);
    TaskCompletion {
        work_item_id: fields.text("work_item_id"),
        title: fields.nullable_text("title"),
        finish_state: match fields.text("finish_state").as_str() {
            "success" => FinishState::Success,
            "failure" => FinishState::Failure,
            other => panic!("no such finish_state: {other}"),
        },
        completed: fields.flag("completed"),
        warnings: result.each("warnings", |warning| warning.as_str().unwrap_or_default().to_owned()),
    }
}
