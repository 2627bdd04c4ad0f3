//! What callers see, as it is recorded; and the differ that judges a change of it.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test stops at the first surprise")]

mod changelogs;
mod laws;
mod recorded;
mod schemas;
mod snapshots;
mod verdicts;
