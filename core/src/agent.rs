//! Records of an agent platform: plain values, as every transport tells them.
//!
//! What the platform leaves out, or sends in a form that nobody can read, is `None`: one odd field never spoils the
//! rest of a record.

use std::fmt;
use std::time::SystemTime;

use crate::error::{Error, Result, shown};

/// A JSON value as text. Whoever makes one has seen that it parses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Json(String);

impl Json {
    /// Text that is one JSON value.
    pub fn from_checked(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is an object with nothing nested in it.
    ///
    /// Brackets and braces of JSON stand in texts, where they mean nothing, or open what is nested.
    pub fn is_flat_object(&self) -> bool {
        let Some(inside) = self.0.trim_start().strip_prefix('{') else { return false };
        let (mut in_text, mut escaped) = (false, false);
        inside.bytes().all(|byte| {
            if in_text {
                in_text = escaped || byte != b'"';
                escaped = !escaped && byte == b'\\';
                return true;
            }
            in_text = byte == b'"';
            !matches!(byte, b'{' | b'[')
        })
    }
}

/// A platform's own id of something, fit to be one segment of a path (DS41).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PlatformId(String);

impl PlatformId {
    /// The longest id, in bytes.
    pub const MAX_LEN: usize = 256;

    /// Checks and takes an id. `what` names it in the refusal: `session_id`, `work_item_id`.
    ///
    /// # Errors
    /// `invalid_argument` when it is empty, `.`, `..`, longer than [`MAX_LEN`](Self::MAX_LEN), or has a slash, a
    /// backslash, a control character or a percent-encoded byte.
    pub fn new(what: &str, id: impl Into<String>) -> Result<Self> {
        let id = id.into();
        let why = if id.is_empty() {
            "is empty"
        } else if id.len() > Self::MAX_LEN {
            "is longer than 256 bytes"
        } else if matches!(id.as_str(), "." | "..") || id.contains(['/', '\\']) {
            "is a path"
        } else if id.chars().any(char::is_control) {
            "has a control character"
        } else if is_percent_encoded(&id) {
            "is percent-encoded"
        } else {
            return Ok(Self(id));
        };
        let id = shown(&id);
        Err(Error::invalid_argument(format!("{what} \"{id}\" {why}: give the id as the platform's list shows it")))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PlatformId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether a `%` with two hexadecimal digits behind it is in the text.
fn is_percent_encoded(text: &str) -> bool {
    text.as_bytes()
        .windows(3)
        .any(|window| matches!(window, [b'%', high, low] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit()))
}

/// Which sessions of a platform to list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentSessionQuery {
    /// Only those of the agent of exactly this name.
    pub agent_name: Option<String>,
    /// Only those of exactly this status, as the platform writes it.
    pub status: Option<String>,
    /// Only those that started then or later.
    pub started_after: Option<SystemTime>,
    /// Only those that started then or earlier.
    pub started_before: Option<SystemTime>,
    /// How many, at least 1.
    pub limit: usize,
    /// Where the page before ended, as the platform's adapter wrote it.
    pub page_token: Option<String>,
}

/// One page of a platform's sessions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentSessionPage {
    /// The sessions, in the platform's order.
    pub sessions: Vec<AgentSession>,
    /// Where to go on, when there may be more.
    pub next_page_token: Option<String>,
}

/// A session of an agent, as it is listed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentSession {
    /// The platform's id of it.
    pub session_id: String,
    /// The platform's word for how it stands, verbatim (DS44); empty when it sends none.
    pub status: String,
    /// The agent's name.
    pub agent_name: Option<String>,
    /// When it started: ISO 8601 (DS20).
    pub started_at: Option<String>,
    /// When it ended: ISO 8601.
    pub end_time: Option<String>,
    /// How long it took, in milliseconds, as the platform says; never computed.
    pub duration_ms: Option<i64>,
    /// The tokens it was given, as the platform counts them.
    pub total_input_tokens: Option<u64>,
    /// The tokens it produced.
    pub total_output_tokens: Option<u64>,
}

/// A session of an agent with what it said (`describe_session`).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentSessionDetail {
    /// The platform's id of it.
    pub session_id: String,
    /// The platform's word for how it stands, verbatim.
    pub status: String,
    /// The agent's name.
    pub agent_name: Option<String>,
    /// The text of the last completed turn, once the session is over (DS12).
    pub output: Option<String>,
    /// When it started: ISO 8601.
    pub started_at: Option<String>,
    /// When it ended: ISO 8601.
    pub end_time: Option<String>,
    /// How long it took, in milliseconds.
    pub duration_ms: Option<i64>,
    /// The completed turns, in order (DS10, DS11).
    pub reasoning_events: Vec<ReasoningEvent>,
    /// What waits for a person: `Some` and empty when nothing does, `None` when that could not be learnt (DS30).
    pub pending_manual_tasks: Option<Vec<ManualTaskSummary>>,
    /// How many of the oldest events were left out to keep the answer within its size (DS45).
    pub dropped_events: u64,
}

/// A completed turn of an agent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReasoningEvent {
    /// The platform's id of it.
    pub event_id: Option<String>,
    /// Its place among the platform's events.
    pub sequence_number: Option<i64>,
    /// When it was: ISO 8601.
    pub timestamp: Option<String>,
    /// What the agent said.
    pub text: Option<String>,
}

impl ReasoningEvent {
    /// How many bytes this is as a compact JSON object with its four fields, `null` written out.
    ///
    /// The core writes no JSON; this is what bounds an answer that others write (DS45).
    pub fn json_len(&self) -> usize {
        const FRAME: usize = r#"{"event_id":,"sequence_number":,"timestamp":,"text":}"#.len();
        const NULL: usize = "null".len();
        let text = |text: &Option<String>| text.as_deref().map_or(NULL, json_string_len);
        let number = self.sequence_number.map_or(NULL, integer_len);
        FRAME + text(&self.event_id) + number + text(&self.timestamp) + text(&self.text)
    }
}

/// How many bytes a text is as a JSON string, with nothing escaped that need not be (RFC 8259, section 7).
fn json_string_len(text: &str) -> usize {
    const QUOTES: usize = 2;
    let byte_len = |byte: u8| match byte {
        b'"' | b'\\' | 0x08 | b'\t' | b'\n' | 0x0c | b'\r' => r"\n".len(),
        0x00..=0x1f => r"\u0000".len(),
        _ => 1,
    };
    QUOTES + text.bytes().map(byte_len).sum::<usize>()
}

/// How many bytes an integer is in decimal.
fn integer_len(number: i64) -> usize {
    let digits = number.unsigned_abs().checked_ilog10().map_or(1, |log| log as usize + 1);
    digits + usize::from(number < 0)
}

/// Something that waits for a person, as a session's description names it (DS31).
#[derive(Clone, Debug, PartialEq)]
pub struct ManualTaskSummary {
    /// The platform's id of it.
    pub work_item_id: String,
    /// Its title, verbatim.
    pub title: Option<String>,
    /// How the platform shows it.
    pub view_type: Option<String>,
    /// For how many whole seconds it has waited.
    pub waiting_age_seconds: Option<u64>,
    /// Whether `complete_manual_task` can complete it.
    pub completion_supported: bool,
}

/// Something that waits for a person, with all that it says (`describe_manual_task`).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ManualTask {
    /// The platform's id of it.
    pub work_item_id: String,
    /// The platform's word for how it stands, verbatim.
    pub status: String,
    /// Whether it still waits to be completed.
    pub pending: bool,
    /// Its title.
    pub title: Option<String>,
    /// How the platform shows it.
    pub view_type: Option<String>,
    /// What stands above it.
    pub header: Option<String>,
    /// What it asks.
    pub message: Option<String>,
    /// What stands in it; a value that is no text is its JSON.
    pub body: Option<String>,
    /// The words on the button for `success`.
    pub btn_success: Option<String>,
    /// The words on the button for `failure`; without one it cannot fail.
    pub btn_failure: Option<String>,
    /// For how many whole seconds it has waited.
    pub waiting_age_seconds: Option<u64>,
    /// Whether `complete_manual_task` can complete it.
    pub completion_supported: bool,
}

/// How a manual task is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FinishState {
    /// As its first button would.
    Success,
    /// As its second button would, where it has one.
    Failure,
}

impl FinishState {
    /// The name on every wire, and towards a platform.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
        }
    }
}

/// What a session cost, turn by turn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TokenUsage {
    /// All turns together.
    pub summary: TokenSummary,
    /// The turns, in order.
    pub turns: Vec<TokenTurn>,
}

/// What a session cost. What a turn leaves out counts nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TokenSummary {
    /// The platform's id of the session.
    pub session_id: String,
    /// How many turns there are.
    pub turn_count: u64,
    /// How long they took together, in milliseconds.
    pub total_duration_ms: u64,
    /// The tokens given to them.
    pub total_input_tokens: u64,
    /// The tokens they produced.
    pub total_output_tokens: u64,
    /// Both together, or what the platform says it was.
    pub total_tokens: u64,
}

/// What one turn cost.
#[derive(Clone, Debug, PartialEq)]
pub struct TokenTurn {
    /// Its place among the platform's events.
    pub sequence_number: Option<i64>,
    /// When it was: ISO 8601.
    pub timestamp: Option<String>,
    /// Whether the model answered.
    pub succeeded: bool,
    /// How long it took, in milliseconds.
    pub duration_ms: Option<u64>,
    /// What it cost; `None` when the platform says nothing of it.
    pub token_usage: Option<TokenCounts>,
    /// Why it failed.
    pub error: Option<String>,
}

/// Tokens of one turn, as far as the platform counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenCounts {
    /// Tokens given to the model.
    pub input_tokens: Option<u64>,
    /// Tokens that it produced.
    pub output_tokens: Option<u64>,
    /// Tokens that it read from its cache.
    pub cache_read_tokens: Option<u64>,
    /// Tokens that it put into its cache.
    pub cache_creation_tokens: Option<u64>,
    /// All of them: what the platform says, else input and output together.
    pub total_tokens: Option<u64>,
}

/// An agent that can be started.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Agent {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// The platform's id of it.
    pub agent_id: Option<String>,
    /// The name under which it is triggered, where the platform has such names.
    pub route_name: Option<String>,
    /// The JSON Schema of its inputs.
    pub input_schema: Option<Json>,
    /// When it last ran: ISO 8601.
    pub last_executed: Option<String>,
}

/// A session of a platform and how it stands, after something was done to it.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentRun {
    /// The platform's id of it.
    pub session_id: String,
    /// The platform's word for how it stands, verbatim.
    pub status: String,
}

/// What can be done to a session of a platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AgentAction {
    /// End it.
    Cancel,
    /// Let it rest.
    Pause,
    /// Let it go on, with input where the platform takes some.
    Resume,
}

impl AgentAction {
    /// The name on every wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cancel => "cancel",
            Self::Pause => "pause",
            Self::Resume => "resume",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_flat_when_nothing_is_nested_in_it() {
        for flat in ["{}", " {\n}", r#"{"a": 1, "b": "x", "c": null, "d": true}"#, r#"{"{[": "}]{[", "q": "\"{\\"}"#] {
            assert!(Json::from_checked(flat).is_flat_object(), "{flat}");
        }
        for other in ["null", "7", "\"{}\"", "[]", r#"{"a": {}}"#, r#"{"a": []}"#, r#"{"a\\": "\\", "b": [1]}"#] {
            assert!(!Json::from_checked(other).is_flat_object(), "{other}");
        }
    }

    #[test]
    fn an_id_is_one_segment_of_a_path() {
        for id in ["a", "65f1c9e2b7", "0191-a b", "é", "100%", "%zz", &"x".repeat(256)] {
            assert_eq!(PlatformId::new("session_id", id).unwrap().as_str(), id);
        }
        let why = |id: &str| PlatformId::new("session_id", id).unwrap_err().message().to_owned();
        for (id, said) in [
            ("", "session_id \"\" is empty"),
            (".", "\".\" is a path"),
            ("..", "\"..\" is a path"),
            ("../../whoami", "\"../../whoami\" is a path"),
            ("a\\b", "is a path"),
            ("a%2fb", "is percent-encoded"),
            ("%2E%2e", "is percent-encoded"),
            ("a\nb", "has a control character"),
            (&"x".repeat(257), "is longer than 256 bytes"),
        ] {
            assert!(why(id).contains(said), "{id:?}: {}", why(id));
        }
        assert!(why(&"x".repeat(10_000)).len() < 300);
    }
}
