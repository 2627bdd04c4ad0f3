//! Fields of a tool's result, each of which must be of its type.

use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;
use sessiond_core::{Cause, Cursor, End, ErrorKind, Exit, Fired, Read, Slice};

use crate::suite::client::ToolResult;

pub(super) fn error_kind(name: &str) -> ErrorKind {
    ErrorKind::ALL.into_iter().find(|kind| kind.as_str() == name).unwrap_or_else(|| panic!("no such kind: {name}"))
}

/// Reads the fields of a result, each of which must be of its type.
pub(super) struct Fields<'a>(pub(super) &'a Value);

impl Fields<'_> {
    pub(super) fn text(&self, name: &str) -> String {
        self.maybe_text(name).unwrap_or_else(|| panic!("{name} is no string in {}", self.0))
    }

    pub(super) fn maybe_text(&self, name: &str) -> Option<String> {
        self.0.get(name).and_then(Value::as_str).map(str::to_owned)
    }

    pub(super) fn number(&self, name: &str) -> u64 {
        self.0.get(name).and_then(Value::as_u64).unwrap_or_else(|| panic!("{name} is no number in {}", self.0))
    }

    pub(super) fn flag(&self, name: &str) -> bool {
        self.0.get(name).and_then(Value::as_bool).unwrap_or_else(|| panic!("{name} is no boolean in {}", self.0))
    }

    /// What is there, of its type or null.
    pub(super) fn nullable<'v, T>(&'v self, name: &str, read: impl FnOnce(&'v Value) -> Option<T>) -> Option<T> {
        let value = self.0.get(name).unwrap_or_else(|| panic!("{name} is not there in {}", self.0));
        if value.is_null() {
            return None;
        }
        Some(read(value).unwrap_or_else(|| panic!("{name} is neither null nor of its type in {}", self.0)))
    }

    pub(super) fn nullable_text(&self, name: &str) -> Option<String> {
        self.nullable(name, Value::as_str).map(str::to_owned)
    }

    pub(super) fn is(&self, name: &str) -> bool {
        self.0.get(name).is_some()
    }

    /// The end, where the terminal fields are there.
    pub(super) fn end(&self) -> Option<End> {
        let code = self.0.get("exit_code").and_then(Value::as_i64)?;
        let code = i32::try_from(code).unwrap_or_else(|_| panic!("exit_code is out of range in {}", self.0));
        Some(end(code, self.flag("timed_out"), self.flag("canceled"), self.maybe_text("error")))
    }

    /// The output that a waiting call brought.
    pub(super) fn read(&self, result: &ToolResult, from: Cursor) -> Option<Read> {
        let output = self.maybe_text("output")?;
        let next = self.number("next_cursor");
        let bytes = Bytes::from(output);
        // The wire tells that something was lost, not how much.
        let lost = u64::from(self.flag("truncated"));
        let ended = if self.flag("done") { self.end() } else { None };
        let slice = Slice { start: from, next: Cursor(next), end: Cursor(next), lost, bytes, ended };
        let fired = result.meta.get("sessiond/fired").and_then(Value::as_str).map_or(Fired::Output, fired);
        Some(Read { slice, fired })
    }
}

fn fired(name: &str) -> Fired {
    let all = [Fired::Output, Fired::Pattern, Fired::Quiet, Fired::End, Fired::Full, Fired::Deadline];
    all.into_iter().find(|fired| fired.as_str() == name).unwrap_or_else(|| panic!("no such condition: {name}"))
}

/// An end that says the same as the terminal fields.
fn end(code: i32, timed_out: bool, canceled: bool, error: Option<String>) -> End {
    let error = error.unwrap_or_default();
    let (how, why) =
        error.split_once(": its time limit of ").map_or((error.as_str(), None), |(how, why)| (how, Some(why)));
    let limit =
        why.or_else(|| error.strip_prefix("its time limit of ")).and_then(|why| why.split(' ').next()?.parse().ok());
    let cause = match (timed_out, canceled) {
        (true, _) => Cause::TimeLimit { limit: Duration::from_millis(limit.unwrap_or_default()), confirmed: true },
        (false, true) => Cause::Stop { confirmed: true },
        (false, false) => Cause::Own,
    };
    let exit = if let Some(name) = how.strip_prefix("ended by signal ") {
        Exit::Signaled(name.to_owned())
    } else if let Some(how) = how.strip_prefix("lost: ") {
        Exit::Lost(how.to_owned())
    } else if code == -1 && canceled && how.is_empty() {
        Exit::Canceled
    } else if code == -1 {
        Exit::Failed(how.to_owned())
    } else {
        Exit::Exited(code)
    };
    End { exit, cause }
}
