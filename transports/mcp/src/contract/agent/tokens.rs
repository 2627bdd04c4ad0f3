//! `describe_session_token_usage`: what a session of an agent platform cost, turn by turn.

use serde_json::Value;
use sessiond_core::{DescribeAgentSession, Result, TokenCounts, TokenSummary, TokenTurn, TokenUsage, Verb};

use super::{CLIENT_TOKEN, RUN_ID, SESSION_ID, nullable, platform};
use crate::answer::Answer;
use crate::contract::{Family, Hints, Request, Tool};
use crate::render::{Fields, counted, identifier};
use crate::schema::{Field, Kind, Object};

pub(super) const TOOL: Tool = Tool {
    name: "describe_session_token_usage",
    title: "Describe Session Token Usage",
    summary: "Tells what one session of an agent cost in tokens, turn by turn",
    about: "Tells what one session of an agent cost: tokens and time of every turn of its model, succeeded and failed, and \
            all of them together. For what the agent said use describe_session; the totals that the platform keeps of \
            many sessions are in get_sessions.\n\
            summary adds up the turns, where what a turn leaves out counts 0; the platform's own totals count otherwise \
            and can differ much. Null means that the platform says nothing of it. A failed turn has its reason in \
            error.\n\
            Changes nothing. Errors: not_found for a session that the platform does not know; invalid_argument for what \
            cannot be an id; failed_precondition when several platforms are configured and client_token is left out; \
            unsupported when the platform counts no tokens; unavailable, timed_out or permission_denied when it cannot \
            be asked.",
    hints: Hints::LOOK,
    family: Family::Agent,
    verb: Verb::AgentTokenUsage,
    input: Object::closed(&[SESSION_ID, CLIENT_TOKEN]),
    output: Object::open(&[
        Field::required("summary", Kind::Object(&SUMMARY), "All turns together."),
        Field::required("turns", Kind::Many(&Kind::Object(&TURN)), "The turns, in order."),
    ]),
    run: |request| Box::pin(run(request)),
};

const SUMMARY: Object = Object::open(&[
    RUN_ID,
    Field::required("turn_count", Kind::NATURAL, "How many turns there are."),
    Field::required("total_duration_ms", Kind::NATURAL, "How long they took together, in milliseconds."),
    Field::required("total_input_tokens", Kind::NATURAL, "Tokens given to the model."),
    Field::required("total_output_tokens", Kind::NATURAL, "Tokens that it produced."),
    Field::required("total_tokens", Kind::NATURAL, "All tokens."),
]);

const TURN: Object = Object::open(&[
    nullable("sequence_number", &Kind::Integer, "Its place among the platform's events."),
    nullable("timestamp", &Kind::TEXT, "When it was, ISO 8601."),
    Field::required("event_type", Kind::Choice(&[SUCCEEDED, FAILED]), "Whether the model answered."),
    nullable("duration_ms", &Kind::NATURAL, "How long it took, in milliseconds."),
    nullable("token_usage", &Kind::Object(&COUNTS), "What it cost."),
    nullable("error", &Kind::TEXT, "Why it failed."),
]);

const SUCCEEDED: &str = "succeeded";
const FAILED: &str = "failed";

const COUNTS: Object = Object::open(&[
    nullable("input_tokens", &Kind::NATURAL, "Tokens given to the model."),
    nullable("output_tokens", &Kind::NATURAL, "Tokens that it produced."),
    nullable("cache_read_tokens", &Kind::NATURAL, "Tokens that it read from its cache."),
    nullable("cache_creation_tokens", &Kind::NATURAL, "Tokens that it put into its cache."),
    nullable("total_tokens", &Kind::NATURAL, "All tokens."),
]);

async fn run(Request { service, cx, mut args, .. }: Request<'_>) -> Result<Answer> {
    let request = DescribeAgentSession {
        target: platform(&mut args, &cx.owner)?,
        session: args.text(SESSION_ID.name).unwrap_or_default(),
    };
    let TokenUsage { summary, turns } = service.agent_token_usage(cx, request).await?;
    let text = line(&summary, &turns);
    let mut fields = Fields::default();
    fields.put("summary", totals(summary));
    fields.put("turns", turns.into_iter().map(turn).collect::<Vec<Value>>());
    Ok(Answer::new(fields.0, text))
}

fn line(summary: &TokenSummary, turns: &[TokenTurn]) -> String {
    let failed = turns.iter().filter(|turn| !turn.succeeded).count();
    let failed = if failed > 0 { format!(", {failed} of them failed") } else { String::new() };
    format!(
        "session {}: {} tokens ({} in, {} out) in {}{failed}",
        identifier(&summary.session_id),
        summary.total_tokens,
        summary.total_input_tokens,
        summary.total_output_tokens,
        counted(usize::try_from(summary.turn_count).unwrap_or(usize::MAX), "turn"),
    )
}

fn totals(summary: TokenSummary) -> Value {
    let mut fields = Fields::default();
    fields.put("session_id", summary.session_id);
    fields.put("turn_count", summary.turn_count);
    fields.put("total_duration_ms", summary.total_duration_ms);
    fields.put("total_input_tokens", summary.total_input_tokens);
    fields.put("total_output_tokens", summary.total_output_tokens);
    fields.put("total_tokens", summary.total_tokens);
    Value::Object(fields.0)
}

fn turn(turn: TokenTurn) -> Value {
    let mut fields = Fields::default();
    fields.put("sequence_number", turn.sequence_number);
    fields.put("timestamp", turn.timestamp);
    fields.put("event_type", if turn.succeeded { SUCCEEDED } else { FAILED });
    fields.put("duration_ms", turn.duration_ms);
    fields.put("token_usage", turn.token_usage.map(counts));
    fields.put("error", turn.error);
    Value::Object(fields.0)
}

fn counts(counts: TokenCounts) -> Value {
    let mut fields = Fields::default();
    fields.put("input_tokens", counts.input_tokens);
    fields.put("output_tokens", counts.output_tokens);
    fields.put("cache_read_tokens", counts.cache_read_tokens);
    fields.put("cache_creation_tokens", counts.cache_creation_tokens);
    fields.put("total_tokens", counts.total_tokens);
    Value::Object(fields.0)
}
