//! The span of each call of a tool, where there are traces: part of the caller's, which `_meta` of the call names
//! (SEP-414), or the variable `TRACEPARENT` of a command line.

use std::sync::Arc;
use std::time::Duration;

use sessiond_bootstrap::telemetry;
use sessiond_mcp::{Handler, Observer, Proof};
use tracing::Span;

/// The variable by which programs that start others hand their trace on.
const VARIABLE: &str = "TRACEPARENT";

/// The same handler, whose calls are traced where anything is.
pub(crate) fn traced(handler: Handler) -> Handler {
    if telemetry::is_on() { handler.observed(Arc::new(Calls)) } else { handler }
}

/// The span of the one call of a command line.
pub(crate) fn of_command_line() -> Span {
    let sent = std::env::var(VARIABLE).ok();
    telemetry::call("command-line", || "tools/call".to_owned(), sent.as_deref())
}

struct Calls;

impl Observer for Calls {
    fn span(&self, tool: &'static str, _: &Proof<'_>, traceparent: Option<&str>) -> Span {
        telemetry::call("mcp-stdio", || format!("tools/call {tool}"), traceparent)
    }

    fn answered(&self, _: &'static str, outcome: &'static str, _: Duration) {
        telemetry::answered_here(outcome);
    }
}
