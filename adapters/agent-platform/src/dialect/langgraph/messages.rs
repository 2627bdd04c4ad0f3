//! Messages in a graph's state: which of them an agent said, what it said, and what that cost.

use serde_json::Value;
use sessiond_core::TokenCounts;

use crate::json::{Field, record};

record! {
    /// A message, in either of the two forms in which LangChain and OpenAI write them.
    Message {
        id: "id",
        kind: "type",
        role: "role",
        content: "content",
        tool_calls: "tool_calls",
        usage: "usage_metadata",
    }
}

record! {
    /// What a node adds to the state, where the state has messages.
    Update { messages: "messages" }
}

record! {
    /// What a message cost.
    Usage { input: "input_tokens", output: "output_tokens", total: "total_tokens", input_details: "input_token_details" }
}

record! {
    /// Of the tokens that a model was given.
    InputDetails { cache_read: "cache_read", cache_creation: "cache_creation" }
}

/// What a node's update says.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Said {
    /// A completed turn: a message's id, where it has one, and its text.
    Message(Option<String>, String),
    /// A change of a state that is no conversation: its JSON.
    State(String),
}

/// What a node's update says to whoever reads along; `None` when that is nothing.
///
/// With messages, it is the last one that an agent said, unless that one calls tools: then the turn goes on, as a
/// `tool_use` does elsewhere. Without, it is the update itself.
pub(super) fn said(update: Field<'_>) -> Option<Said> {
    let Some(messages) = messages(update) else {
        return is_something(update).then(|| update.shown().map(Said::State)).flatten();
    };
    let last = messages.iter().rfind(|message| message.is_said())?;
    let text = last.text().filter(|_| !last.calls_tools())?;
    Some(Said::Message(last.id.word(), text))
}

/// The messages of a node's update that an agent said; none where it has no messages.
pub(super) fn of_agent(update: Field<'_>) -> Vec<Message<'_>> {
    messages(update).unwrap_or_default().into_iter().filter(Message::is_said).collect()
}

fn messages(update: Field<'_>) -> Option<Vec<Message<'_>>> {
    let messages = update.record::<Update<'_>>().messages;
    if messages.is_object() {
        return Some(vec![messages.record()]);
    }
    messages.is_some().then(|| messages.list())
}

fn is_something(update: Field<'_>) -> bool {
    update.json().is_some_and(|json| !matches!(json, "{}" | "[]" | "\"\""))
        && (!update.is_object() || update.is_filled())
}

impl Message<'_> {
    /// Whether an agent said it.
    fn is_said(&self) -> bool {
        matches!(self.kind.str().as_deref(), Some("ai" | "AIMessageChunk"))
            || self.role.str().as_deref() == Some("assistant")
    }

    fn calls_tools(&self) -> bool {
        self.tool_calls.json().is_some_and(|calls| calls != "[]")
    }

    /// Its text: the content, or the text blocks of it one after the other.
    fn text(&self) -> Option<String> {
        let text = match self.content.text() {
            Some(text) => text,
            None => blocks(self.content.json()?)?,
        };
        Some(text).filter(|text| !text.trim().is_empty())
    }

    /// What it cost, where it says so.
    pub(super) fn counts(&self) -> Option<TokenCounts> {
        if !self.usage.is_filled() {
            return None;
        }
        let usage: Usage<'_> = self.usage.record();
        let details: InputDetails<'_> = usage.input_details.record();
        let (input, output) = (usage.input.count(), usage.output.count());
        let sum = (input.is_some() || output.is_some())
            .then(|| input.unwrap_or_default().saturating_add(output.unwrap_or_default()));
        Some(TokenCounts {
            input_tokens: input,
            output_tokens: output,
            cache_read_tokens: details.cache_read.count(),
            cache_creation_tokens: details.cache_creation.count(),
            total_tokens: usage.total.count().or(sum),
        })
    }
}

fn blocks(content: &str) -> Option<String> {
    let Value::Array(blocks) = serde_json::from_str(content).ok()? else { return None };
    let text = blocks.iter().filter_map(|block| match block {
        Value::String(text) => Some(text.as_str()),
        Value::Object(block) if block.get("type").is_none_or(|kind| kind == "text") => block.get("text")?.as_str(),
        _ => None,
    });
    Some(text.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Lenient;

    record! {
        /// Holds an update.
        Holder { update: "update" }
    }

    fn with<T>(update: &str, ask: impl FnOnce(Field<'_>) -> T) -> T {
        let json = format!("{{\"update\": {update}}}");
        let holder = serde_json::from_str::<Lenient<Holder<'_>>>(&json).unwrap().0.unwrap();
        ask(holder.update)
    }

    fn message(id: Option<&str>, text: &str) -> Option<Said> {
        Some(Said::Message(id.map(str::to_owned), text.to_owned()))
    }

    #[test]
    fn a_turn_is_the_last_message_of_an_agent() {
        let two = r#"{"messages": [{"type": "ai", "id": "a", "content": "one"}, {"type": "ai", "id": "b", "content": "two"},
            {"type": "tool", "content": "x"}]}"#;
        assert_eq!(with(two, said), message(Some("b"), "two"));
        assert_eq!(with(r#"{"messages": {"role": "assistant", "content": "alone"}}"#, said), message(None, "alone"));
        let blocks = r#"{"messages": [{"type": "ai", "content": ["a", {"type": "text", "text": "b"}, {"type": "image"},
            {"type": "reasoning", "text": "hidden"}, 7]}]}"#;
        assert_eq!(with(blocks, said), message(None, "ab"));
    }

    #[test]
    fn a_message_that_goes_on_or_says_nothing_is_no_turn() {
        for update in [
            r#"{"messages": [{"type": "ai", "content": "let me look", "tool_calls": [{"name": "look"}]}]}"#,
            r#"{"messages": [{"type": "ai", "content": " \n"}]}"#,
            r#"{"messages": [{"type": "human", "content": "hi"}]}"#,
            r#"{"messages": [{"type": "tool", "content": "42"}], "n": 1}"#,
            r#"{"messages": []}"#,
            r#"{"messages": "odd"}"#,
            r#"{"messages": [{"type": "ai", "content": {"odd": 1}}, null, 7]}"#,
        ] {
            assert_eq!(with(update, said), None, "{update}");
        }
    }

    #[test]
    fn a_state_without_messages_speaks_for_itself() {
        let state = |text: &str| Some(Said::State(text.to_owned()));
        assert_eq!(with(r#"{"total":6,"log":["added"]}"#, said), state(r#"{"total":6,"log":["added"]}"#));
        assert_eq!(with("\"done\"", said), state("done"));
        assert_eq!(with("[1,2]", said), state("[1,2]"));
        assert_eq!(with(r#"{"messages": null, "n": 1}"#, said), state(r#"{"messages": null, "n": 1}"#));
        for nothing in ["null", "{}", "{ }", "[]", "\"\""] {
            assert_eq!(with(nothing, said), None, "{nothing}");
        }
    }

    #[test]
    fn what_a_message_cost_is_read_as_far_as_it_says() {
        let counts = |usage: &str| {
            let update = format!(r#"{{"messages": [{{"type": "ai", "usage_metadata": {usage}}}]}}"#);
            with(&update, |update| of_agent(update).first().and_then(Message::counts))
        };
        assert_eq!(counts("null"), None);
        assert_eq!(counts("{}"), None);
        assert_eq!(
            counts(r#"{"input_tokens": 10, "output_tokens": 2, "input_token_details": {"cache_read": 3}}"#),
            Some(TokenCounts {
                input_tokens: Some(10),
                output_tokens: Some(2),
                cache_read_tokens: Some(3),
                cache_creation_tokens: None,
                total_tokens: Some(12)
            })
        );
        assert_eq!(
            counts(r#"{"total_tokens": 7, "input_tokens": -1}"#),
            Some(TokenCounts { total_tokens: Some(7), ..TokenCounts::default() })
        );
    }
}
