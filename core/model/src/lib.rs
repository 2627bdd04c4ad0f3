//! The core once more, with tokio's channels replaced by ones whose every step a scheduler chooses.
//!
//! - `build.rs` copies the core's sources as they are and plants faults beside some of their lines
//! - `plants` says which fault grows; without one, the copy does what the core does
//! - [`doors`] opens what the core keeps to itself and a check needs
//! - `tests/` checks that no order of steps loses a wakeup, an end or a reason, and that each planted fault is found
//!
//! What is under the scheduler: the log's level, its subscriptions and wakeups. Not so: time, which stands still here.

#![allow(warnings, clippy::all, clippy::unwrap_used, reason = "the sources are linted where they stand")]

include!(concat!(env!("OUT_DIR"), "/core/lib.rs"));

pub mod plants;

/// What only the registry may do, for a check that stands in its place.
pub mod doors {
    use std::sync::Arc;

    use crate::output::Reason;
    use crate::{LogKind, OutputLog, Retention};

    /// A session's log with a hook that must have run before anybody sees the end.
    pub fn hooked(hook: impl FnOnce(usize) + Send + Sync + 'static) -> Arc<OutputLog> {
        OutputLog::with_end_hook(LogKind::Command, Retention::Newest(64), Arc::default(), hook)
    }

    /// A caller's stop begins.
    pub fn begin_stop(log: &OutputLog) {
        log.begin_stop(Reason::Stop);
    }

    /// The outcome of the stop is known.
    pub fn conclude_stop(log: &OutputLog, confirmed: bool) {
        log.conclude_stop(confirmed);
    }
}
