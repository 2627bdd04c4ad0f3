//! Times in the forms that platforms send.

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970.
pub(crate) fn millis(time: SystemTime) -> u64 {
    u64::try_from(time.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
}

/// ISO 8601 in UTC, with milliseconds where they are wanted.
pub(crate) fn iso(millis: u64, with_millis: bool) -> String {
    let (seconds, rest) = (millis / 1000, millis % 1000);
    let (year, month, day) = date(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    let fraction = if with_millis { format!(".{rest:03}") } else { String::new() };
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}Z")
}

/// The date that many days after 1970-01-01.
fn date(mut days: u64) -> (u64, u64, u64) {
    let mut year = 1970;
    while days >= days_of(year) {
        days -= days_of(year);
        year += 1;
    }
    let february = if days_of(year) == 366 { 29 } else { 28 };
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    (year, month, days + 1)
}

fn days_of(year: u64) -> u64 {
    if year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400) { 366 } else { 365 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_dates() {
        assert_eq!(iso(0, false), "1970-01-01T00:00:00Z");
        assert_eq!(iso(951_782_400_000, true), "2000-02-29T00:00:00.000Z");
        assert_eq!(iso(1_748_779_203_123, true), "2025-06-01T12:00:03.123Z");
        assert_eq!(iso(4_102_444_799_999, false), "2099-12-31T23:59:59Z");
    }
}
