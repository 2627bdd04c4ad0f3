//! `get_sessions`: the sessions of an agent platform.

use serde_json::Value;
use sessiond_core::{
    AgentSession, AgentSessionQuery, DEFAULT_AGENT_PAGE, ListAgentSessions, MAX_AGENT_PAGE, Result, Verb,
};

use super::{
    AGENT_NAME, CLIENT_TOKEN, DURATION_MS, END_TIME, RUN_ID, STARTED_AT, STATUS, nullable, platform, run_line,
};
use crate::answer::Answer;
use crate::contract::{Family, Hints, Request, Tool};
use crate::render::{Fields, counted, listing, one_line};
use crate::schema::{Field, Kind, Object};

pub(super) const TOOL: Tool = Tool {
    name: "get_sessions",
    title: "Get Sessions",
    summary: "Lists the sessions of an agent platform, whoever started them",
    about: "Lists sessions of agents on an agent platform, whoever started them, with how they stand, when they ran and \
            what they cost. Use it to find a session_id; describe_session then tells what the agent said. The \
            terminals and commands of this server are in session_list, and so are the runs that session_start follows.\n\
            Filters are exact: agent_name is the whole name, in the same case; status is the platform's word \
            (Itential: PENDING, RUNNING, PAUSING, PAUSED, COMPLETE, FAILED, CANCELING, CANCELED; LangGraph: idle, busy, \
            interrupted, error). Both ends of a time window are included. A page has up to limit sessions; when \
            next_page_token is there, give it as page_token with the same filters to go on, even where a page came \
            back short or empty.\n\
            Changes nothing. Errors: invalid_argument for a time without an offset or a page_token that was not handed \
            out; failed_precondition when several platforms are configured and client_token is left out; unavailable, \
            timed_out or permission_denied when the platform cannot be asked.",
    hints: Hints::LOOK,
    family: Family::Agent,
    verb: Verb::ListAgentSessions,
    input: Object::closed(&[
        Field::optional("agent_name", Kind::TEXT, "Only sessions of the agent of exactly this name."),
        Field::optional("status", Kind::TEXT, "Only sessions of exactly this status, in the platform's word."),
        Field::optional(
            "started_after",
            Kind::TEXT,
            "Only sessions that started then or later: RFC 3339 with its offset, such as 2026-11-30T15:00:00Z.",
        ),
        Field::optional(
            "started_before",
            Kind::TEXT,
            "Only sessions that started then or earlier: RFC 3339 with its offset.",
        ),
        Field::optional(
            "limit",
            Kind::within(1, MAX_AGENT_PAGE as u64).default(DEFAULT_AGENT_PAGE as u64),
            "Most sessions to return.",
        ),
        Field::optional("page_token", Kind::TEXT, "next_page_token of the page before."),
        CLIENT_TOKEN,
    ]),
    output: Object::open(&[
        Field::required("result", Kind::Many(&Kind::Object(&SESSION)), "The sessions, in the platform's order."),
        Field::optional("next_page_token", Kind::TEXT, "Where to go on; absent on the last page."),
    ]),
    run: |request| Box::pin(run(request)),
};

const SESSION: Object = Object::open(&[
    RUN_ID,
    STATUS,
    nullable("agent_name", &Kind::TEXT, AGENT_NAME),
    nullable("started_at", &Kind::TEXT, STARTED_AT),
    nullable("end_time", &Kind::TEXT, END_TIME),
    nullable("duration_ms", &Kind::Integer, DURATION_MS),
    nullable("total_input_tokens", &Kind::NATURAL, "Tokens given to the model, as the platform counts."),
    nullable("total_output_tokens", &Kind::NATURAL, "Tokens that the model produced."),
]);

async fn run(Request { service, cx, mut args, style }: Request<'_>) -> Result<Answer> {
    let request = ListAgentSessions {
        target: platform(&mut args, &cx.owner)?,
        query: AgentSessionQuery {
            agent_name: args.text("agent_name"),
            status: args.text("status"),
            started_after: args.time("started_after")?,
            started_before: args.time("started_before")?,
            limit: args.natural("limit").and_then(|limit| usize::try_from(limit).ok()).unwrap_or(DEFAULT_AGENT_PAGE),
            page_token: args.text("page_token"),
        },
    };
    let page = service.list_agent_sessions(cx, request).await?;
    let lines: Vec<String> = page.sessions.iter().map(line).collect();
    let more = if page.next_page_token.is_some() { ", and more on the next page" } else { "" };
    let heading = format!("{}{more}", counted(page.sessions.len(), "session"));
    let mut fields = Fields::default();
    fields.put("result", page.sessions.into_iter().map(session).collect::<Vec<Value>>());
    fields.put_some("next_page_token", page.next_page_token);
    Ok(Answer::new(fields.0, listing(heading, &lines, style)))
}

fn line(session: &AgentSession) -> String {
    let said = [("", &session.agent_name), ("started ", &session.started_at)];
    let said = said.into_iter().filter_map(|(what, said)| Some(format!(", {what}{}", one_line(said.as_ref()?))));
    format!("{}{}", run_line(&session.session_id, &session.status), said.collect::<String>())
}

fn session(session: AgentSession) -> Value {
    let mut fields = Fields::default();
    fields.put("session_id", session.session_id);
    fields.put("status", session.status);
    fields.put("agent_name", session.agent_name);
    fields.put("started_at", session.started_at);
    fields.put("end_time", session.end_time);
    fields.put("duration_ms", session.duration_ms);
    fields.put("total_input_tokens", session.total_input_tokens);
    fields.put("total_output_tokens", session.total_output_tokens);
    Value::Object(fields.0)
}
