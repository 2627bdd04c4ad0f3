//! What a session's turns cost.

use sessiond_core::{ErrorKind, PlatformId, Result, TokenCounts, TokenSummary, TokenTurn, TokenUsage};

use super::messages::{self, Message, Placed};
use super::sessions;
use crate::http::Http;
use crate::json::{Field, record};
use crate::request::Request;

record! {
    /// What a turn of a model has besides its text.
    Turn { duration_ms: "durationMs", token_usage: "tokenUsage" }
}

record! {
    /// Counts of tokens, under the names that models' vendors give them.
    Counts {
        input: "inputTokens", input_snake: "input_tokens", prompt: "promptTokens", prompt_snake: "prompt_tokens",
        output: "outputTokens", output_snake: "output_tokens",
        completion: "completionTokens", completion_snake: "completion_tokens",
        cache_read: "cacheReadTokens", cache_read_snake: "cache_read_tokens",
        cache_creation: "cacheCreationTokens", cache_creation_snake: "cache_creation_tokens",
        total: "totalTokens", total_snake: "total_tokens",
    }
}

/// The turns of a session in order, and their sum.
pub(super) async fn usage(http: &Http, cx: &Request, id: &PlatformId) -> Result<TokenUsage> {
    let turns = match messages::each(http, cx, id, turn).await {
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        turns => messages::sorted(turns?),
    };
    if turns.is_empty() {
        // A session without turns and one that is not there look the same up to here.
        sessions::state(http, cx, id).await?;
    }
    Ok(TokenUsage { summary: summary(id, &turns), turns })
}

fn turn(message: &Message<'_>) -> Option<Placed<TokenTurn>> {
    let succeeded = match message.type_.str().as_deref() {
        Some("inference-succeeded") => true,
        Some("inference-failed") => false,
        _ => return None,
    };
    let data: Turn<'_> = message.data.record();
    let moment = message.timestamp.moment();
    let micros = moment.as_ref().map(|moment| moment.micros);
    let event = TokenTurn {
        sequence_number: message.sequence_number.integer(),
        timestamp: moment.map(|moment| moment.text),
        succeeded,
        duration_ms: data.duration_ms.count(),
        token_usage: data.token_usage.is_filled().then(|| counts(&data.token_usage.record())),
        error: if succeeded { None } else { message.text.text() },
    };
    Some(Placed { sequence_number: event.sequence_number, micros, event })
}

fn counts(said: &Counts<'_>) -> TokenCounts {
    let first = |fields: &[Field<'_>]| fields.iter().find_map(|field| field.count());
    let input_tokens = first(&[said.input, said.input_snake, said.prompt, said.prompt_snake]);
    let output_tokens = first(&[said.output, said.output_snake, said.completion, said.completion_snake]);
    let sum = || match (input_tokens, output_tokens) {
        (None, None) => None,
        (input, output) => Some(input.unwrap_or(0).saturating_add(output.unwrap_or(0))),
    };
    TokenCounts {
        input_tokens,
        output_tokens,
        cache_read_tokens: first(&[said.cache_read, said.cache_read_snake]),
        cache_creation_tokens: first(&[said.cache_creation, said.cache_creation_snake]),
        total_tokens: first(&[said.total, said.total_snake]).or_else(sum),
    }
}

fn summary(id: &PlatformId, turns: &[TokenTurn]) -> TokenSummary {
    let sum = |count: fn(&TokenTurn) -> Option<u64>| turns.iter().filter_map(count).fold(0, u64::saturating_add);
    TokenSummary {
        session_id: id.as_str().to_owned(),
        turn_count: u64::try_from(turns.len()).unwrap_or(u64::MAX),
        total_duration_ms: sum(|turn| turn.duration_ms),
        total_input_tokens: sum(|turn| turn.token_usage?.input_tokens),
        total_output_tokens: sum(|turn| turn.token_usage?.output_tokens),
        total_tokens: sum(|turn| turn.token_usage?.total_tokens),
    }
}
