//! When a platform that takes no request now wants to be asked again (RFC 9110 section 10.2.3).

use std::time::{Duration, SystemTime};

use reqwest::StatusCode;
use reqwest::header::{HeaderMap, RETRY_AFTER};

/// A platform that says "at once" is not asked in a loop.
const SHORTEST: Duration = Duration::from_millis(100);

/// How long to wait before asking again; `None` when the answer is not of that kind, or does not say.
pub(super) fn after(status: StatusCode, headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    if !matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
        return None;
    }
    let said = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let wait = match said.parse::<u64>() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => httpdate::parse_http_date(said).ok()?.duration_since(now).unwrap_or_default(),
    };
    Some(wait.max(SHORTEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_and_dates_are_understood() {
        let now = httpdate::parse_http_date("Mon, 30 Nov 2026 21:00:00 GMT").unwrap();
        let wait = |code, said: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, said.parse().unwrap());
            after(StatusCode::from_u16(code).unwrap(), &headers, now)
        };
        let seconds = |n| Some(Duration::from_secs(n));
        assert_eq!(wait(429, "7"), seconds(7));
        assert_eq!(wait(503, " 120 "), seconds(120));
        assert_eq!(wait(503, "Mon, 30 Nov 2026 21:00:09 GMT"), seconds(9));
        assert_eq!(wait(503, "Mon, 30 Nov 2026 20:00:00 GMT"), Some(SHORTEST));
        assert_eq!(wait(429, "0"), Some(SHORTEST));
        for nonsense in ["soon", "-1", "1.5", ""] {
            assert_eq!(wait(429, nonsense), None, "{nonsense:?}");
        }
        assert_eq!(wait(500, "7"), None);
        assert_eq!(after(StatusCode::TOO_MANY_REQUESTS, &HeaderMap::new(), now), None);
    }
}
