//! Why somebody is not let in, and what each protocol answers.

use std::fmt;
use std::time::Duration;

/// Why somebody is not let in. Nothing in it tells a guesser how near the guess was: a key that never was, one that has
/// been revoked and a token that somebody else has signed are all [`Unknown`](Self::Unknown).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denied {
    /// There is no credential at all.
    Missing,
    /// What is given cannot be a credential: another scheme than `Bearer`, or text that no key and no token has.
    Malformed,
    /// It proves nobody: no such key, no such certificate, a signature that does not hold.
    Unknown,
    /// It proves somebody, but its time is over or has not come yet.
    Expired,
    /// It proves somebody, but no scope of theirs lets them do anything here.
    Scope,
    /// Too many wrong ones have come from there.
    TooMany {
        /// How long to leave it be.
        retry_after: Duration,
    },
    /// The keys of the identity provider cannot be had just now, so nobody can tell.
    Unavailable,
}

impl Denied {
    /// The status of an HTTP answer (RFC 6750, section 3.1; RFC 6585, section 4).
    pub fn status(self) -> u16 {
        match self {
            Self::Missing | Self::Unknown | Self::Expired => 401,
            Self::Malformed => 400,
            Self::Scope => 403,
            Self::TooMany { .. } => 429,
            Self::Unavailable => 503,
        }
    }

    /// The `error` of a `WWW-Authenticate: Bearer` header (RFC 6750, section 3.1); `None` where none is to be said: a
    /// request without a credential is only told which scheme there is.
    pub fn error(self) -> Option<&'static str> {
        match self {
            Self::Malformed => Some("invalid_request"),
            Self::Unknown | Self::Expired => Some("invalid_token"),
            Self::Scope => Some("insufficient_scope"),
            Self::Missing | Self::TooMany { .. } | Self::Unavailable => None,
        }
    }

    /// How long to wait before another try, where that helps.
    pub fn retry_after(self) -> Option<Duration> {
        match self {
            Self::TooMany { retry_after } => Some(retry_after),
            Self::Unavailable => Some(Duration::from_secs(1)),
            _ => None,
        }
    }

    /// What happened and what to do, without a word of what was given. ASCII, without quotes: it fits into a header.
    pub fn message(self) -> &'static str {
        match self {
            Self::Missing => "a credential is missing: send authorization: Bearer and a key of this server",
            Self::Malformed => "this is no credential: send authorization: Bearer and a key of this server",
            Self::Unknown => "this credential is not known here, or not any more: ask the operator for a key",
            Self::Expired => "this credential has expired or is not valid yet: get a new one",
            Self::Scope => "this token is valid, but none of its scopes lets you in: ask for one that does",
            Self::TooMany { .. } => {
                "too many wrong credentials have come from your address: wait, then send a right one"
            }
            Self::Unavailable => "the identity provider cannot be asked just now: try again",
        }
    }
}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

impl std::error::Error for Denied {}
