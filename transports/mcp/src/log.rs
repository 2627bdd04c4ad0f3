//! What the log says of calls: which tool, how it went, how long it took. Never arguments, never output.

use serde_json::{Map, Value};
use sessiond_core::ErrorKind;
use tokio::time::Instant;

use crate::answer::{Answer, META_ERROR};
use crate::observer::Observer;

/// A call that is to be logged.
pub(crate) struct Called {
    tool: &'static str,
    began: Instant,
    /// The session that it is to stop.
    stops: Option<String>,
}

impl Called {
    /// A call that begins now.
    pub(crate) fn new(tool: &'static str, arguments: &Map<String, Value>) -> Self {
        let stops = (tool == "session_stop").then(|| arguments.get("session_id")).flatten().and_then(Value::as_str);
        Self { tool, began: Instant::now(), stops: stops.map(str::to_owned) }
    }

    /// Logs how it went, and the start or the stop of a session that came of it; tells who watches.
    pub(crate) fn answered(self, answer: &Answer, observer: Option<&dyn Observer>) {
        // The clock is looked at only where somebody wants to know.
        let milliseconds = || self.began.elapsed().as_millis() as u64;
        tracing::debug!(tool = self.tool, outcome = outcome(answer), milliseconds = milliseconds(), "called");
        if let Some(observer) = observer {
            observer.answered(self.tool, outcome(answer), self.began.elapsed());
        }
        let Some(result) = &answer.structured else { return };
        let text = |name| result.get(name).and_then(Value::as_str).unwrap_or_default();
        if self.tool == "session_start" {
            tracing::info!(session = text("session_id"), "a session has started");
        } else if let Some(session) = self.stops {
            tracing::info!(session, status = text("status"), "a session was told to stop");
        }
    }
}

/// The kind of an error, or in a word what came.
fn outcome(answer: &Answer) -> &'static str {
    let named = answer.meta.get(META_ERROR).and_then(Value::as_str);
    let kind = ErrorKind::ALL.into_iter().map(ErrorKind::as_str).find(|kind| Some(*kind) == named);
    kind.unwrap_or(if answer.is_error { "failed" } else { "ok" })
}
