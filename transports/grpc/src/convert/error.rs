//! Errors as status codes with details: `google.rpc.ErrorInfo`, whose reason is the kind (AL03).

use std::collections::HashMap;

use sessiond_core::{Error, ErrorKind, Reason};
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt};

/// Whose reasons they are.
const DOMAIN: &str = "sessiond.v1";

/// The metadata that says what lies behind an error, where that is told apart from others of its kind.
const BEHIND: &str = "behind";

/// The words of [`BEHIND`].
const REASONS: [(Reason, &str); 1] = [(Reason::NoSuchDirectory, "no_such_directory")];

/// The code of a kind, one to one.
const fn code(kind: ErrorKind) -> Code {
    match kind {
        ErrorKind::InvalidArgument => Code::InvalidArgument,
        ErrorKind::NotFound => Code::NotFound,
        ErrorKind::FailedPrecondition => Code::FailedPrecondition,
        ErrorKind::LimitExceeded => Code::ResourceExhausted,
        ErrorKind::Unsupported => Code::Unimplemented,
        ErrorKind::Unavailable => Code::Unavailable,
        ErrorKind::TimedOut => Code::DeadlineExceeded,
        ErrorKind::PermissionDenied => Code::PermissionDenied,
        ErrorKind::Internal => Code::Internal,
    }
}

/// The word for how a call went that ended with this code, as all transports have it in their traces.
#[cfg(feature = "server")]
pub(crate) fn outcome(code: Code) -> &'static str {
    match code {
        Code::Ok => "ok",
        Code::Cancelled => "cancelled",
        Code::Unauthenticated => "unauthenticated",
        _ => ErrorKind::ALL.into_iter().find(|kind| self::code(*kind) == code).map_or("unknown", ErrorKind::as_str),
    }
}

/// The status of an error.
pub(crate) fn status(error: &Error) -> Status {
    let reason = error.kind().as_str().to_ascii_uppercase();
    let behind = REASONS.iter().find(|(behind, _)| error.reason() == Some(*behind));
    let metadata: HashMap<_, _> = behind.map(|(_, word)| (BEHIND.to_owned(), (*word).to_owned())).into_iter().collect();
    let details = ErrorDetails::with_error_info(reason, DOMAIN, metadata);
    Status::with_error_details(code(error.kind()), error.message(), details)
}

/// The error of a status: a sessiond's own as it was there, anything else as what it means here.
#[cfg(feature = "client")]
pub(crate) fn error(status: &Status) -> Error {
    let info = status.get_details_error_info().filter(|info| info.domain == DOMAIN);
    let Some((kind, info)) = info.and_then(|info| Some((kind(&info.reason)?, info))) else { return foreign(status) };
    let behind = REASONS.iter().find(|(_, word)| info.metadata.get(BEHIND).is_some_and(|said| said == word));
    let error = Error::new(kind, status.message());
    match behind {
        Some((reason, _)) => error.because(*reason),
        None => error,
    }
}

#[cfg(feature = "client")]
fn kind(reason: &str) -> Option<ErrorKind> {
    ErrorKind::ALL.into_iter().find(|kind| kind.as_str().eq_ignore_ascii_case(reason))
}

/// What did not come from a sessiond but from the way to it.
#[cfg(feature = "client")]
fn foreign(status: &Status) -> Error {
    match status.code() {
        Code::DeadlineExceeded => Error::timed_out("the server did not answer in time: try again"),
        Code::Cancelled => Error::unavailable("the server has broken the call off: try again"),
        Code::Unimplemented => {
            Error::unsupported("the server does not know this call: it is older than this client, or no sessiond")
        }
        Code::OutOfRange | Code::ResourceExhausted => Error::limit_exceeded(status.message()),
        Code::PermissionDenied | Code::Unauthenticated => Error::permission_denied(status.message()),
        _ if has_not_connected(status) => Error::unavailable(format!(
            "no sessiond answers: {}: start sessiond-grpc, then call again",
            status.message()
        )),
        _ => Error::unavailable(format!(
            "the server was lost before it answered ({}), so what the call was to do may be done or not: the next call \
             reaches for the server anew",
            status.message()
        )),
    }
}

/// Whether the call was never sent.
#[cfg(feature = "client")]
fn has_not_connected(status: &Status) -> bool {
    let first = std::error::Error::source(status);
    std::iter::successors(first, |error| error.source()).any(|error| error.is::<tonic::ConnectError>())
}

#[cfg(all(test, feature = "client"))]
mod tests {
    use super::*;

    #[test]
    fn every_kind_comes_back_as_it_went() {
        for kind in ErrorKind::ALL {
            let sent = Error::new(kind, "what to do");
            assert_eq!(error(&status(&sent)), sent);
        }
        for (reason, _) in REASONS {
            let sent = Error::failed_precondition("what to do").because(reason);
            assert_eq!(error(&status(&sent)), sent);
        }
    }

    #[test]
    fn a_status_of_the_way_is_none_of_the_servers() {
        assert_eq!(error(&Status::not_found("x")).kind(), ErrorKind::Unavailable);
        assert_eq!(error(&Status::deadline_exceeded("x")).kind(), ErrorKind::TimedOut);
    }
}
