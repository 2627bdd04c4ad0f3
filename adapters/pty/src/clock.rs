//! Moments to come, also those that are too far away to be named.

use std::time::Duration;

use tokio::time::Instant;

/// As good as never.
const FAR: Duration = Duration::from_secs(30 * 365 * 24 * 3600);

/// The moment so long after now.
pub(crate) fn after(time: Duration) -> Instant {
    Instant::now() + time.min(FAR)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_time_is_too_long() {
        assert!(after(Duration::MAX) > after(Duration::from_secs(1000)));
    }
}
