//! From what a platform or the way to it says to an error that says what to do next.
//!
//! No address, header or body of a platform gets into a message: what it says of an error may hold anything.

use reqwest::StatusCode;
use sessiond_core::{Error, ErrorKind, Result};

/// Nothing for an answer that says that all is well.
///
/// # Errors
/// The kind that fits the status. 401 is here that of a login that has just been renewed.
pub(super) fn judge(status: StatusCode) -> Result<()> {
    if status.is_success() {
        return Ok(());
    }
    let code = status.as_u16();
    let (kind, says) = match code {
        300..=399 => return Err(redirected()),
        400 | 413 | 414 | 415 | 422 => {
            (ErrorKind::InvalidArgument, "takes the request for wrong: check what was given")
        }
        401 => return Err(refused()),
        403 => (ErrorKind::PermissionDenied, "does not let this server's account do that: allow it there"),
        404 | 410 => (ErrorKind::NotFound, "knows no such thing: look it up in its lists"),
        405 | 501 => (ErrorKind::Unsupported, "has no such function: it may be too old, or another kind of platform"),
        408 => (ErrorKind::Unavailable, "gave up waiting for the request: try again"),
        409 | 412 | 423 | 424 => {
            (ErrorKind::FailedPrecondition, "says that its state forbids that now: look at it again")
        }
        429 => (ErrorKind::Unavailable, "takes no more requests now: try again later"),
        400..=499 => (ErrorKind::FailedPrecondition, "refuses the request: check the target's settings"),
        503 => (ErrorKind::Unavailable, "cannot answer now: try again later"),
        _ => (ErrorKind::Unavailable, "failed to answer: try again, and look at its own log if it goes on"),
    };
    Err(Error::new(kind, format!("the platform {says} (status {code})")))
}

/// A login that is not let in.
pub(super) fn refused() -> Error {
    Error::permission_denied("the platform refuses this server's login: check the target's auth and its secrets")
}

/// A platform that is somewhere else, or sends something that cannot be sent again to another address.
pub(super) fn redirected() -> Error {
    Error::failed_precondition(
        "the platform redirects elsewhere, where no request or credential of ours is sent: set the target's url to \
         where it is now",
    )
}

/// The time for the answer is over, or nobody wants it any more.
pub(super) fn timed_out() -> Error {
    Error::timed_out("the platform has not answered in time: try again, or raise the target's timeout_ms")
}

/// An answer that is not what was asked for.
pub(crate) fn malformed() -> Error {
    Error::unavailable("the platform's answer cannot be read: try again, and check the target's url and dialect")
}

/// An answer that takes too much memory.
pub(super) fn too_large(limit: usize) -> Error {
    let limit = limit >> 20;
    Error::unavailable(format!("the platform's answer is larger than {limit} MiB: ask for less"))
}

/// A request that got no answer, or only a part of one.
pub(super) fn broken(error: reqwest::Error) -> Error {
    let error = error.without_url();
    let cause = deepest(&error);
    tracing::debug!(%cause, "a request to an agent platform failed");
    if cause.contains("certificate") {
        Error::unavailable("the platform's certificate is not trusted: name who vouches for it in the target's ca_file")
    } else if error.is_connect() {
        Error::unavailable("the platform cannot be reached: check the target's url, and whether it runs")
    } else if error.is_timeout() {
        timed_out()
    } else {
        broken_off()
    }
}

fn broken_off() -> Error {
    Error::unavailable("the connection to the platform broke off: try again")
}

/// The same of a request that changes something: without an answer it may have been done, and is not to be repeated
/// unseen.
pub(super) fn left_open(error: Error) -> Error {
    let what = if error == timed_out() {
        "has not answered in time"
    } else if error == broken_off() {
        "broke off the connection"
    } else {
        return error;
    };
    let says = format!("the platform {what}, and may have done what it was asked: look there before asking again");
    Error::new(error.kind(), says)
}

/// What lies at the bottom of an error.
fn deepest(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(below) = cause.source() {
        cause = below;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_told_to_repeat_what_may_have_been_done() {
        let end = ", and may have done what it was asked: look there before asking again";
        let late = Error::timed_out(format!("the platform has not answered in time{end}"));
        assert_eq!(left_open(timed_out()), late);
        assert_eq!(left_open(broken_off()), Error::unavailable(format!("the platform broke off the connection{end}")));
        assert_eq!(left_open(redirected()), redirected());
    }

    #[test]
    fn every_status_is_of_one_kind() {
        let kind = |code| judge(StatusCode::from_u16(code).unwrap()).map_err(|error| error.kind());
        assert_eq!(kind(200), Ok(()));
        assert_eq!(kind(204), Ok(()));
        for (codes, expected) in [
            (&[400, 422, 413][..], ErrorKind::InvalidArgument),
            (&[401, 403], ErrorKind::PermissionDenied),
            (&[404, 410], ErrorKind::NotFound),
            (&[405, 501], ErrorKind::Unsupported),
            (&[302, 308, 409, 412, 418], ErrorKind::FailedPrecondition),
            (&[408, 429, 500, 502, 503, 504, 599], ErrorKind::Unavailable),
        ] {
            for code in codes {
                assert_eq!(kind(*code), Err(expected), "{code}");
            }
        }
    }
}
