//! What can go wrong on a route.

use std::time::Duration;

/// Stands in every body and header of a failure: whoever hands it on has told what is not to be told.
pub const LEAK: &str = "detail-of-the-platform";

/// What goes wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// This status, with a body that says why. Nothing is done. A 401 does not end the login.
    Status(u16),
    /// 429 or 503 with this in `Retry-After`: seconds or an HTTP date.
    RetryAfter(u16, String),
    /// The right answer, this many bytes at a time with a pause before each piece.
    Drip {
        /// The bytes of a piece, at least 1.
        bytes: usize,
        /// The pause before each.
        pause: Duration,
    },
    /// The first half of the right answer; then the connection is closed.
    Truncated,
    /// The connection is closed without an answer. What was asked for has been done.
    HangUp,
    /// No answer, ever.
    Never,
    /// 200 with a body that is no JSON.
    Garbage,
    /// 200 with an empty body.
    Empty,
    /// 200 with JSON of quite another form.
    Other(&'static str),
    /// 302 to this address.
    Redirect(String),
}

/// A fault on a route, and how often it still is to happen.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    pub(crate) fault: Fault,
    /// `None`: until it is taken back.
    pub(crate) times: Option<usize>,
}
