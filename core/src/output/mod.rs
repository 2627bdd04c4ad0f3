//! The output log: what a process printed, bounded, with absolute positions, and its end as the last item.
//!
//! A byte goes from an adapter's [`OutputSink`] into the [`OutputLog`], and from there in a [`Slice`] to any number
//! of readers. Reads never consume: the same read again gives the same bytes, less what retention has dropped
//! meanwhile, and that loss is a number in the slice.
//!
//! - `log`: the log itself, its lifecycle, and what readers may ask of it
//! - `stream`: one stream's kept bytes, its gaps and its retention
//! - `lines`: line numbers over the same bytes
//! - `excerpt`: lines by their numbers, and the newest output
//! - `sink`: the writing end
//! - `demand`: whether somebody wants output
//! - `end`: how a process ended
//! - `utf8`: characters at the edges of a cut
//! - `tally`: how many bytes pass, over all logs of a kind of backend
//! - `modes`: what the program has told the terminal, as far as keys depend on it

mod demand;
mod end;
mod excerpt;
mod lines;
mod log;
mod modes;
mod sink;
mod stream;
mod tally;
mod utf8;

pub use demand::Demand;
pub use end::{Cause, End, Exit};
pub(crate) use log::{Life, Reason, State, past_end};
pub use log::{LogKind, OutputLog, Retention, Status};
pub use sink::OutputSink;
pub(crate) use tally::Tally;
pub use utf8::decode;

use bytes::Bytes;

/// An absolute byte offset into one stream of an output log, counted from the first byte ever printed.
///
/// Never reset and never reused. A cursor stands before the byte that it numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cursor(pub u64);

impl Cursor {
    /// Before the first byte.
    pub const START: Self = Self(0);
}

impl std::fmt::Display for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// Which of a process's output streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stream {
    /// A command's standard output; for a session its one combined stream.
    Stdout,
    /// A command's standard error. A session has none of its own.
    Stderr,
}

/// One piece of output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice {
    /// Where `bytes` begin: the asked cursor, or later by what was lost.
    pub start: Cursor,
    /// Where to go on reading: behind `bytes`.
    pub next: Cursor,
    /// Behind the last byte that the log has of this stream, a held-back incomplete character included.
    pub end: Cursor,
    /// How many bytes at the asked cursor are no longer, or never were, in the log.
    pub lost: u64,
    /// The bytes from `start` to `next`; they never end inside a character of a stream that goes on.
    pub bytes: Bytes,
    /// How the process ended; only in the slice that reaches its last byte.
    pub ended: Option<End>,
}
