//! `session_list`: the caller's sessions.

use serde_json::Value;
use sessiond_core::{DEFAULT_PAGE, InputState, ListSessions, MAX_PAGE, Result, SessionSummary, Status, Verb};

use super::{CANCELED, ERROR, EXIT_CODE, TIMED_OUT, target_filter};
use crate::answer::Answer;
use crate::contract::{Family, Hints, Request, Tool};
use crate::render::{Fields, beginning, counted, end_line, listing, one_line};
use crate::schema::{Field, Kind, Object};
use crate::time::rfc3339;

pub(super) const TOOL: Tool = Tool {
    name: "session_list",
    title: "List sessions",
    summary: "Lists your sessions, running ones first, with where their output stands",
    about: "Lists your sessions on all targets: running ones first, then the newest. Use it to find a session_id again \
            after losing context, to see what still runs, and how finished ones ended. Finished sessions stay listed \
            for 30 minutes; commands of execute_command are not shown. Changes nothing.\n\
            output_start_cursor to output_end_cursor is what session_read can still read; to follow only what comes \
            next, read from output_end_cursor. When next_page_token is there, give it as page_token with the same \
            filters to go on.\n\
            Errors: invalid_argument for a page_token that was not handed out.",
    hints: Hints::LOOK,
    family: Family::Session,
    verb: Verb::ListSessions,
    input: Object::closed(&[
        Field::optional("client_token", Kind::TEXT, "Show only sessions on this target."),
        Field::optional("client_id", Kind::TEXT, "Show only sessions on this device."),
        Field::optional("status", Kind::Choice(&STATUSES), "Show only sessions in this state."),
        Field::optional(
            "limit",
            Kind::within(1, MAX_PAGE as u64).default(DEFAULT_PAGE as u64),
            "Most sessions to return.",
        ),
        Field::optional("page_token", Kind::TEXT, "next_page_token of the page before."),
    ]),
    output: Object::open(&[
        Field::required("sessions", Kind::Many(&Kind::Object(&SESSION)), "The sessions of this page."),
        Field::optional("next_page_token", Kind::TEXT, "Where to go on; absent on the last page."),
    ]),
    run: |request| Box::pin(run(request)),
};

const STATUSES: [&str; 4] = ["running", "stopping", "finished", "lost"];

const SESSION: Object = Object::open(&[
    Field::required("session_id", Kind::TEXT, "Id of the session."),
    Field::required("client_token", Kind::TEXT, "Target that it runs on."),
    Field::required("backend", Kind::TEXT, "How the target is reached: pty (this machine), ssh, agent-platform."),
    Field::optional("label", Kind::TEXT, "The name it was given at its start."),
    Field::required("command", Kind::TEXT, "What it runs; of more than 1,024 characters the first, then an ellipsis."),
    Field::required("started_at", Kind::TEXT, "When it started, RFC 3339 in UTC."),
    Field::optional("ended_at", Kind::TEXT, "When it ended, RFC 3339 in UTC."),
    Field::required(
        "status",
        Kind::Choice(&STATUSES),
        "stopping: a stop is not confirmed yet; lost: nobody knows how it ended.",
    ),
    Field { about: "Only when ended: exit code; -1 when it has none.", ..EXIT_CODE },
    Field { about: "Only when ended: whether the time limit ended it.", ..TIMED_OUT },
    Field { about: "Only when ended: whether a confirmed stop, or its platform, cancelled it.", ..CANCELED },
    ERROR,
    Field::required("output_start_cursor", Kind::NATURAL, "Cursor of the earliest byte of output still kept."),
    Field::required("output_end_cursor", Kind::NATURAL, "Cursor just after the last byte of output so far."),
    Field::optional("descendants", Kind::NATURAL, "Processes that live on after it ended; session_stop ends them."),
    Field::optional("input_state", Kind::Object(&INPUT_STATE), "While it runs, where that can be told."),
    Field::optional("native_id", Kind::TEXT, "The target's own id for it."),
]);

const INPUT_STATE: Object = Object::open(&[
    Field::required("waiting", Kind::BOOLEAN, "Whether it seems to wait for somebody's input."),
    Field::required("evidence", Kind::TEXT, "What shows that."),
]);

async fn run(Request { service, cx, mut args, style }: Request<'_>) -> Result<Answer> {
    let request = ListSessions {
        target: target_filter(&mut args, &cx.owner)?,
        client_id: args.text("client_id"),
        status: args.text("status").and_then(|name| parse_status(&name)),
        limit: args.natural("limit").and_then(|limit| usize::try_from(limit).ok()),
        page_token: args.text("page_token"),
    };
    let page = service.list_sessions(cx, request).await?;
    let lines: Vec<String> = page.sessions.iter().map(line).collect();
    let more = if page.next_page_token.is_some() { ", and more on the next page" } else { "" };
    let heading = format!("{}{more}", counted(page.sessions.len(), "session"));
    let mut fields = Fields::default();
    fields.put("sessions", page.sessions.into_iter().map(summary).collect::<Vec<Value>>());
    fields.put_some("next_page_token", page.next_page_token);
    Ok(Answer::new(fields.0, listing(heading, &lines, style)))
}

fn parse_status(name: &str) -> Option<Status> {
    [Status::Running, Status::Stopping, Status::Finished, Status::Lost].into_iter().find(|s| status(*s) == name)
}

fn status(status: Status) -> &'static str {
    match status {
        Status::Running => "running",
        Status::Stopping => "stopping",
        Status::Finished => "finished",
        Status::Lost => "lost",
    }
}

fn line(session: &SessionSummary) -> String {
    let name = one_line(session.label.as_ref().unwrap_or(&session.command));
    let end = session.end.as_ref().map(|end| format!(", {}", end_line(end))).unwrap_or_default();
    let waits = session.input_state.as_ref().filter(|state| state.waiting);
    let waits = waits.map(|state| format!(", waits: {}", one_line(&state.evidence))).unwrap_or_default();
    format!("{} on {} {}{end}{waits}: {name}", session.session, session.target, status(session.status))
}

fn input_state(InputState { waiting, evidence }: InputState) -> Value {
    let mut fields = Fields::default();
    fields.put("waiting", waiting);
    fields.put("evidence", evidence);
    Value::Object(fields.0)
}

fn summary(session: SessionSummary) -> Value {
    let mut fields = Fields::default();
    fields.put("session_id", session.session.to_string());
    fields.put("client_token", session.target.as_str());
    fields.put("backend", session.backend);
    fields.put_some("label", session.label.as_deref());
    fields.put("command", beginning(&session.command));
    fields.put("started_at", rfc3339(session.started_at));
    fields.put_some("ended_at", session.ended_at.map(rfc3339));
    fields.put("status", status(session.status));
    if let Some(end) = &session.end {
        fields.put_end(end);
    }
    fields.put("output_start_cursor", session.output_start.0);
    fields.put("output_end_cursor", session.output_end.0);
    fields.put_some("descendants", (session.descendants > 0).then_some(session.descendants));
    fields.put_some("input_state", session.input_state.map(input_state));
    fields.put_some("native_id", session.native_id.map(|native| native.0));
    Value::Object(fields.0)
}
