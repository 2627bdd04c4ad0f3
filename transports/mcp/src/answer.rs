//! What a tool answers: structured content, a short text, and what stands beside them.

use serde_json::{Map, Value};
use sessiond_core::{Error, Fired};

/// Where an error's kind stands in [`Answer::meta`] (AL03).
pub const META_ERROR: &str = "sessiond/error";
/// Where the condition that ended a wait stands in [`Answer::meta`] (EX01).
pub const META_FIRED: &str = "sessiond/fired";

/// The answer to one call of a tool.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// An object that fits the tool's output schema; `None` for an error, which has no structured content (SR05).
    pub structured: Option<Value>,
    /// For whoever reads text alone.
    pub text: String,
    /// Whether the call failed, or the command that it ran did.
    pub is_error: bool,
    /// Facts beside the result: [`META_ERROR`], [`META_FIRED`].
    pub meta: Map<String, Value>,
}

impl Answer {
    /// A result.
    pub(crate) fn new(structured: Map<String, Value>, text: String) -> Self {
        Self { structured: Some(Value::Object(structured)), text, ..Self::default() }
    }

    /// The same, saying what ended the wait when the caller asked for something particular.
    pub(crate) fn fired(mut self, fired: Option<Fired>) -> Self {
        if let Some(fired) = fired {
            self.meta.insert(META_FIRED.to_owned(), Value::from(fired.as_str()));
        }
        self
    }
}

impl From<Error> for Answer {
    fn from(error: Error) -> Self {
        let meta = Map::from_iter([(META_ERROR.to_owned(), Value::from(error.kind().as_str()))]);
        Self { structured: None, text: error.message().to_owned(), is_error: true, meta }
    }
}

/// How much output the text of an answer repeats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TextStyle {
    /// Output of at most 1 KiB; of more, only where it stands in the structured content.
    #[default]
    Short,
    /// All of it, for clients that show their model nothing but text. Every byte is then sent twice.
    Full,
}
