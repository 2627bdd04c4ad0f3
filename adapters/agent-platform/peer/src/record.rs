//! Sessions of agents and their messages, as records.

use std::collections::HashMap;
use std::time::{Instant, SystemTime};

use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::agent::Agent;
use crate::forms::{Forms, Snapshot};
use crate::script::Play;
use crate::time::millis;

/// The statuses after which nothing comes.
pub(crate) const OVER: [&str; 3] = ["COMPLETE", "FAILED", "CANCELED"];

/// A session and what it has said.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) id: String,
    pub(crate) record: Map<String, Value>,
    pub(crate) messages: Vec<Value>,
    pub(crate) play: Option<Play>,
    /// When a cancellation will have come about.
    pub(crate) canceling: Option<Instant>,
    /// Pages that have been told already, by their query; forgotten with every new message.
    pub(crate) pages: HashMap<String, Bytes>,
    /// The next sequence number.
    sequence: u64,
    began: u64,
}

impl Run {
    /// A session of an agent that begins now.
    pub(crate) fn new(id: &str, agent: &Agent, status: &str, forms: &Forms) -> Self {
        let now = millis(SystemTime::now());
        let record = json!({
            "sessionId": id, "agentDefinitionId": agent.id, "status": status, "sessionType": "root",
            "createdAt": forms.times.write(now), "startedAt": forms.times.write(now), "createdBy": "peer",
            "provider": "none", "modelVersion": "none", "trigger": { "type": "endpoint", "name": agent.name },
            "iterationCount": 0,
        });
        let mut run = Self { began: now, ..Self::of(id, record.as_object().cloned().unwrap_or_default()) };
        match forms.snapshot {
            Snapshot::Whole => {
                let namespace = json!({ "name": "peer" });
                run.set("agentSnapshot", json!({ "_id": agent.id, "name": agent.name, "namespace": namespace }));
            }
            Snapshot::Null => run.set("agentSnapshot", Value::Null),
            Snapshot::Absent => {}
        }
        run
    }

    /// A session with this record, whatever stands in it.
    pub(crate) fn of(id: &str, record: Map<String, Value>) -> Self {
        Self {
            id: id.to_owned(),
            record,
            messages: Vec::new(),
            play: None,
            canceling: None,
            pages: HashMap::new(),
            sequence: 0,
            began: millis(SystemTime::now()),
        }
    }

    pub(crate) fn status(&self) -> &str {
        self.record.get("status").and_then(Value::as_str).unwrap_or_default()
    }

    pub(crate) fn is_over(&self) -> bool {
        OVER.contains(&self.status())
    }

    pub(crate) fn set(&mut self, field: &str, value: Value) {
        self.record.insert(field.to_owned(), value);
    }

    /// Ends it, once.
    pub(crate) fn end(&mut self, status: &str, error: Option<&str>, forms: &Forms) {
        if self.is_over() {
            return;
        }
        let now = millis(SystemTime::now());
        (self.play, self.canceling) = (None, None);
        self.set("status", json!(status));
        self.set("endTime", forms.times.write(now));
        self.set("durationMs", json!(now.saturating_sub(self.began)));
        let turns = self.messages.iter().filter(|message| message["category"] == "AGENT_REASONING").count();
        self.set("totalInputTokens", json!(150 * turns));
        self.set("totalOutputTokens", json!(75 * turns));
        if let Some(error) = error {
            self.set("errorMessage", json!(error));
            self.set("errorCategory", json!("AGENT"));
        }
    }

    /// Puts a message behind the others.
    pub(crate) fn put(&mut self, message: Value) {
        self.pages.clear();
        self.messages.push(message);
    }

    /// A message of a form that platforms have; the number is that of the event.
    pub(crate) fn add(&mut self, number: u64, kind: &Kind<'_>, forms: &Forms) -> String {
        let event = format!("event-{number:08}");
        let (type_, category, text, data) = kind.fields();
        let is_reasoning = category == "AGENT_REASONING";
        self.sequence += u64::from(is_reasoning);
        let sequence = if is_reasoning { json!(self.sequence) } else { Value::Null };
        self.put(json!({
            "sessionId": self.id, "eventId": event, "timestamp": forms.times.write(millis(SystemTime::now())),
            "type": type_, "category": category, "sequenceNumber": sequence, "text": text, "data": data,
        }));
        event
    }
}

/// What a message tells.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind<'a> {
    /// The model has been asked.
    Pending,
    /// The model has answered and stopped for this reason.
    Answered(&'a str, &'a str),
    /// The model has failed.
    Failed(&'a str),
    /// A tool has been called.
    Tool(&'a str),
    /// The session itself: `paused`, `resumed`.
    Status(&'a str),
}

impl<'a> Kind<'a> {
    /// Type, category, text and data.
    fn fields(self) -> (String, &'static str, Option<&'a str>, Value) {
        match self {
            Self::Pending => ("inference-pending".to_owned(), "AGENT_REASONING", None, Value::Null),
            Self::Answered(text, stop) => {
                let usage = json!({
                    "inputTokens": 150, "outputTokens": 75, "cacheReadTokens": 120, "cacheCreationTokens": 40,
                });
                let data = json!({ "durationMs": 1200, "stopReason": stop, "tokenUsage": usage });
                ("inference-succeeded".to_owned(), "AGENT_REASONING", Some(text), data)
            }
            Self::Failed(why) => {
                ("inference-failed".to_owned(), "AGENT_REASONING", Some(why), json!({ "durationMs": 300 }))
            }
            Self::Tool(name) => {
                let data = json!({
                    "toolCallId": "call", "toolName": name, "toolType": "native", "input": { "device": "r1" },
                    "isInputTruncated": false, "output": "interface GigabitEthernet0/1 is up, line protocol is up",
                    "isOutputTruncated": false, "durationMs": 40, "status": "succeeded",
                });
                ("tool-execution".to_owned(), "TOOL_CALLED", None, data)
            }
            Self::Status(word) => (format!("agent-session-{word}"), "AGENT_STATUS", None, Value::Null),
        }
    }
}
