//! What a tool answers: structured content, a short text, and what stands beside them.

use serde_json::{Map, Value};
use sessiond_core::{Error, Fired};

/// Where an error's kind stands in [`Answer::meta`] (AL03).
pub const META_ERROR: &str = "sessiond/error";
/// Where the condition that ended a wait stands in [`Answer::meta`] (EX01).
pub const META_FIRED: &str = "sessiond/fired";
/// Where a description says how many of its oldest events it leaves out (DS45), in [`Answer::meta`].
pub const META_DROPPED_EVENTS: &str = "sessiond/dropped_events";
/// Where a description says what its platform speaks, in [`Answer::meta`].
pub const META_DIALECT: &str = "sessiond/dialect";

/// The answer to one call of a tool.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// An object that fits the tool's output schema; `None` for an error, which has no structured content (SR05).
    pub structured: Option<Value>,
    /// For whoever reads text alone.
    pub text: String,
    /// Whether the call failed, or the command that it ran did.
    pub is_error: bool,
    /// Facts beside the result: [`META_ERROR`], [`META_FIRED`], [`META_DROPPED_EVENTS`], [`META_DIALECT`].
    pub meta: Map<String, Value>,
}

impl Answer {
    /// A result.
    pub(crate) fn new(structured: Map<String, Value>, text: String) -> Self {
        Self { structured: Some(Value::Object(structured)), text, ..Self::default() }
    }

    /// About how many bytes it takes to be sent.
    pub(crate) fn weight(&self) -> u64 {
        self.structured.as_ref().map_or(0, weight) + self.text.len() as u64
    }

    /// The same, saying what ended the wait when the caller asked for something particular.
    pub(crate) fn fired(mut self, fired: Option<Fired>) -> Self {
        if let Some(fired) = fired {
            self.meta.insert(META_FIRED.to_owned(), Value::from(fired.as_str()));
        }
        self
    }
}

/// About how many bytes a value takes as JSON.
fn weight(value: &Value) -> u64 {
    match value {
        Value::String(text) => text.len() as u64,
        Value::Array(list) => list.iter().map(weight).sum(),
        Value::Object(map) => map.iter().map(|(name, value)| name.len() as u64 + weight(value)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
    }
}

impl From<Error> for Answer {
    fn from(error: Error) -> Self {
        let meta = Map::from_iter([(META_ERROR.to_owned(), Value::from(error.kind().as_str()))]);
        Self { structured: None, text: bounded(error.message()), is_error: true, meta }
    }
}

/// A message of the usual length. Those of other crates may repeat what a caller wrote.
fn bounded(message: &str) -> String {
    const MAX: usize = 1024;
    match message.char_indices().nth(MAX) {
        Some((end, _)) => format!("{}...", message.get(..end).unwrap_or_default()),
        None => message.to_owned(),
    }
}

/// How much output the text of an answer repeats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TextStyle {
    /// Output of at most 4 KiB; of more, only where it stands in the structured content.
    #[default]
    Short,
    /// All of it, for clients that show their model nothing but text. Every byte is then sent twice.
    Full,
}
