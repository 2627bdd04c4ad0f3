//! What can go wrong, as a closed set of kinds that every transport maps one to one.

use std::fmt;

/// The kind of an [`Error`]: what a caller can branch on.
///
/// The set is closed: MCP carries the kind's name in `_meta`, gRPC maps it to a status code.
/// Failed credentials and a call cancelled by its caller are no kinds; transports answer those themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ErrorKind {
    /// The request itself is wrong; the same request can never succeed.
    InvalidArgument,
    /// No such thing for this caller. A foreign thing looks exactly the same.
    NotFound,
    /// The request is right, but the state of its subject forbids it now.
    FailedPrecondition,
    /// A limit is reached; the message names it.
    LimitExceeded,
    /// The target cannot do this at all.
    Unsupported,
    /// The target or the server cannot be reached now; trying again may succeed.
    Unavailable,
    /// The deadline came first.
    TimedOut,
    /// The operating system or the target refused access.
    PermissionDenied,
    /// A fault of ours.
    Internal,
}

impl ErrorKind {
    /// Every kind, in the order of the documentation.
    pub const ALL: [Self; 9] = [
        Self::InvalidArgument,
        Self::NotFound,
        Self::FailedPrecondition,
        Self::LimitExceeded,
        Self::Unsupported,
        Self::Unavailable,
        Self::TimedOut,
        Self::PermissionDenied,
        Self::Internal,
    ];

    /// The kind's name on every wire, in snake case.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidArgument => "invalid_argument",
            Self::NotFound => "not_found",
            Self::FailedPrecondition => "failed_precondition",
            Self::LimitExceeded => "limit_exceeded",
            Self::Unsupported => "unsupported",
            Self::Unavailable => "unavailable",
            Self::TimedOut => "timed_out",
            Self::PermissionDenied => "permission_denied",
            Self::Internal => "internal",
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A refusal: a kind to branch on and a message for whoever reads it.
///
/// The message is lower-case, without a full stop, says what to do next, and never holds a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    reason: Option<Reason>,
}

/// What lies behind an error, where a caller may treat it apart from others of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The working directory does not exist on the target; nothing was started.
    NoSuchDirectory,
}

/// The result of every fallible operation of the core.
pub type Result<T, E = Error> = std::result::Result<T, E>;

macro_rules! constructors {
    ($($name:ident => $kind:ident),* $(,)?) => {
        $(
            #[doc = concat!("An error of kind [`ErrorKind::", stringify!($kind), "`].")]
            pub fn $name(message: impl Into<String>) -> Self {
                Self::new(ErrorKind::$kind, message)
            }
        )*
    };
}

impl Error {
    /// An error of any kind; the named constructors read better where the kind is known.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), reason: None }
    }

    constructors! {
        invalid_argument => InvalidArgument,
        not_found => NotFound,
        failed_precondition => FailedPrecondition,
        limit_exceeded => LimitExceeded,
        unsupported => Unsupported,
        unavailable => Unavailable,
        timed_out => TimedOut,
        permission_denied => PermissionDenied,
        internal => Internal,
    }

    /// The same error with what lies behind it.
    pub fn because(mut self, reason: Reason) -> Self {
        self.reason = Some(reason);
        self
    }

    /// What lies behind it, where that is told apart.
    pub fn reason(&self) -> Option<Reason> {
        self.reason
    }

    /// What a caller branches on.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// What a person or a model reads.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// What a caller wrote, as it may stand in a message: its first 64 characters, with control characters escaped.
///
/// A message must not grow with the request that it refuses, and must not steer the terminal that shows it.
pub fn shown(text: &str) -> String {
    const MAX: usize = 64;
    let mut rest = text.chars();
    let mut short = String::new();
    for char in rest.by_ref().take(MAX) {
        match char {
            '\'' => short.push(char),
            _ => short.extend(char.escape_debug()),
        }
    }
    if rest.next().is_some() {
        short.push_str("...");
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_caller_wrote_is_cut_and_escaped() {
        assert_eq!(shown("it's é"), "it's é");
        assert_eq!(shown("a\n\u{1b}[31m\u{202e}\"\0"), "a\\n\\u{1b}[31m\\u{202e}\\\"\\0");
        assert_eq!(shown(&"é".repeat(64)), "é".repeat(64));
        assert_eq!(shown(&"é".repeat(65)), format!("{}...", "é".repeat(64)));
    }
}
