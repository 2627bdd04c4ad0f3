//! From a request to a [`Call`]: who asks, until when, and how the caller takes it back.

use std::time::Duration;

use sessiond_core::Call;
use tokio::time::Instant;
use tokio_util::sync::DropGuard;
use tonic::metadata::MetadataMap;
use tonic::{Request, Status};

use super::gate::Caller;

/// What is kept of a caller's time for the way of the answer: a tenth, and at most this.
const RESERVE: Duration = Duration::from_millis(250);

/// A call that has begun. Whoever drops it takes the call back: tonic does when the caller has gone away.
pub(super) struct Begun<M> {
    pub(super) cx: Call,
    pub(super) message: M,
    pub(super) guard: DropGuard,
}

/// Begins a call.
///
/// # Errors
/// `UNAUTHENTICATED` when nobody has said whom it belongs to.
pub(super) fn begin<M>(request: Request<M>) -> Result<Begun<M>, Status> {
    let arrived = Instant::now();
    let (metadata, extensions, message) = request.into_parts();
    let Some(Caller(identity)) = extensions.get() else {
        return Err(Status::unauthenticated("nobody has said whom this call belongs to"));
    };
    let mut cx = Call::new(identity.owner.clone());
    if let Some(time) = timeout(&metadata) {
        cx.deadline = arrived + time.saturating_sub(RESERVE.min(time / 10)).min(Call::LONGEST);
    }
    let guard = cx.cancel.clone().drop_guard();
    Ok(Begun { cx, message, guard })
}

/// How long the caller listens: `grpc-timeout`, at most eight digits and a unit ("PROTOCOL-HTTP2" of gRPC). What is
/// none is no limit, as tonic has it.
fn timeout(metadata: &MetadataMap) -> Option<Duration> {
    let text = metadata.get("grpc-timeout")?.to_str().ok()?;
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if digits.is_empty() || digits.len() > 8 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number: u64 = digits.parse().ok()?;
    Some(match unit {
        "H" => Duration::from_secs(number * 3600),
        "M" => Duration::from_secs(number * 60),
        "S" => Duration::from_secs(number),
        "m" => Duration::from_millis(number),
        "u" => Duration::from_micros(number),
        "n" => Duration::from_nanos(number),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_is_eight_digits_and_a_unit() {
        let read = |text: &str| {
            let mut metadata = MetadataMap::new();
            metadata.insert("grpc-timeout", text.parse().unwrap());
            timeout(&metadata)
        };
        for (text, expected) in [
            ("1H", Some(Duration::from_secs(3600))),
            ("2M", Some(Duration::from_secs(120))),
            ("3S", Some(Duration::from_secs(3))),
            ("4m", Some(Duration::from_millis(4))),
            ("5u", Some(Duration::from_micros(5))),
            ("99999999n", Some(Duration::from_nanos(99_999_999))),
            ("99999999H", Some(Duration::from_secs(99_999_999 * 3600))),
            ("", None),
            ("S", None),
            ("1", None),
            ("1s", None),
            ("+1S", None),
            ("999999999n", None),
        ] {
            assert_eq!(read(text), expected, "{text:?}");
        }
        assert_eq!(timeout(&MetadataMap::new()), None);
    }
}
