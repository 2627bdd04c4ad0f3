//! Times as platforms send them (DS20): ISO 8601 as text, milliseconds as a number, seconds with a fraction.

use std::time::SystemTime;

/// A time that could be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    /// ISO 8601: the platform's own text, or RFC 3339 in UTC with milliseconds where it sent a number.
    pub(crate) text: String,
    /// Microseconds since 1970. A time without a zone is one of UTC.
    pub(crate) micros: i64,
}

impl Moment {
    /// Whole seconds from then until `now`, never negative.
    pub(crate) fn age(&self, now: SystemTime) -> u64 {
        u64::try_from((micros(now) - self.micros) / SECOND).unwrap_or(0)
    }
}

/// Microseconds since 1970.
pub(crate) fn micros(time: SystemTime) -> i64 {
    let whole = |duration: std::time::Duration| i64::try_from(duration.as_micros()).unwrap_or(i64::MAX);
    match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) => whole(since),
        Err(before) => -whole(before.duration()),
    }
}

const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;
/// 0001-01-01 and 10000-01-01: what RFC 3339 can write.
const WRITABLE: std::ops::Range<i64> = -62_135_596_800 * SECOND..253_402_300_800 * SECOND;
/// A number with a fraction is one of seconds below this: as milliseconds it would lie before 1973.
const SECONDS_BELOW: f64 = 1e11;

/// Reads a time from its JSON. A number without a fraction is one of milliseconds.
pub(crate) fn read(json: &str) -> Option<Moment> {
    if json.starts_with('"') {
        let text: String = serde_json::from_str(json).ok()?;
        let micros = iso(&text)?;
        return Some(Moment { text, micros });
    }
    let micros = if json.contains(['.', 'e', 'E']) {
        let number: f64 = serde_json::from_str(json).ok()?;
        let scale = if number.abs() < SECONDS_BELOW { 1e6 } else { 1e3 };
        // The range is checked below; what is outside of it saturates.
        #[allow(clippy::cast_possible_truncation, reason = "the range is checked below")]
        let micros = (number * scale).round() as i64;
        micros
    } else {
        serde_json::from_str::<i64>(json).ok()?.checked_mul(1000)?
    };
    WRITABLE.contains(&micros).then(|| Moment { text: written(micros), micros })
}

/// RFC 3339 in UTC, with milliseconds.
fn written(micros: i64) -> String {
    // Half a millisecond more, so that a float that is a hair below one is that one.
    let micros = (micros + 500).min(WRITABLE.end - 1);
    let (year, month, day) = date(micros.div_euclid(DAY));
    let millis = micros.rem_euclid(DAY) / 1000;
    let (seconds, rest) = (millis / 1000, millis % 1000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{rest:03}Z")
}

/// The date so many days after 1970-01-01, by eras of 400 years that begin in March, so that the leap day is the last.
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// The days from 1970-01-01 to a date.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let shifted = if month > 2 { month - 3 } else { month + 9 };
    let day_of_year = (153 * shifted + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// The microseconds since 1970 of an ISO 8601 date, or of a date and time with or without a zone.
pub(crate) fn iso(text: &str) -> Option<i64> {
    let mut rest = Digits(text.as_bytes());
    let year = rest.number(4)?;
    let dashed = rest.takes(b'-');
    let month = rest.number(2)?;
    if dashed && !rest.takes(b'-') {
        return None;
    }
    let day = rest.number(2)?;
    let last = if month == 12 { 31 } else { days(year, month + 1, 1) - days(year, month, 1) };
    if !(1..=12).contains(&month) || !(1..=last).contains(&day) {
        return None;
    }
    let midnight = days(year, month, day) * DAY;
    if rest.0.is_empty() {
        // Eight digits alone are rather a number.
        return dashed.then_some(midnight);
    }
    if !(rest.takes(b'T') || rest.takes(b't') || rest.takes(b' ')) {
        return None;
    }
    let (of_day, offset) = (rest.time_of_day()?, rest.zone()?);
    rest.0.is_empty().then_some(midnight + of_day - offset)
}

/// What is left of a text that is being read.
struct Digits<'a>(&'a [u8]);

impl Digits<'_> {
    fn takes(&mut self, byte: u8) -> bool {
        let rest = self.0.strip_prefix(&[byte]);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn number(&mut self, digits: usize) -> Option<i64> {
        let (number, rest) = self.0.split_at_checked(digits)?;
        self.0 = rest;
        number.iter().try_fold(0, |sum, byte| byte.is_ascii_digit().then(|| sum * 10 + i64::from(byte - b'0')))
    }

    /// A number behind a colon, or, in the form without colons, straight away.
    fn part(&mut self, colons: bool) -> Option<i64> {
        if colons && !self.takes(b':') { None } else { self.number(2) }
    }

    /// Microseconds since midnight.
    fn time_of_day(&mut self) -> Option<i64> {
        let hour = self.number(2)?;
        let colons = self.0.starts_with(b":");
        let minute = self.part(colons)?;
        let has_seconds = self.0.first().is_some_and(|byte| if colons { *byte == b':' } else { byte.is_ascii_digit() });
        let second = if has_seconds { self.part(colons)? } else { 0 };
        if hour > 23 || minute > 59 || second > 60 {
            return None;
        }
        Some((hour * 3600 + minute * 60 + second) * SECOND + self.fraction()?)
    }

    /// Microseconds behind a point or a comma.
    fn fraction(&mut self) -> Option<i64> {
        if !(self.takes(b'.') || self.takes(b',')) {
            return Some(0);
        }
        let digits = self.0.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (fraction, rest) = self.0.split_at_checked(digits)?;
        self.0 = rest;
        let six = fraction.iter().chain([b'0'; 6].iter()).take(6);
        (digits > 0).then(|| six.fold(0, |sum, byte| sum * 10 + i64::from(byte - b'0')))
    }

    /// Microseconds that the zone is ahead of UTC; none is UTC.
    fn zone(&mut self) -> Option<i64> {
        if self.0.is_empty() || self.takes(b'Z') || self.takes(b'z') {
            return Some(0);
        }
        let sign = if self.takes(b'-') { -1 } else { i64::from(self.takes(b'+')) };
        let hour = self.number(2)?;
        let minute = if self.0.is_empty() {
            0
        } else {
            let colon = self.0.starts_with(b":");
            self.part(colon)?
        };
        (sign != 0 && hour < 24 && minute < 60).then_some(sign * (hour * 3600 + minute * 60) * SECOND)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    fn text(json: &str) -> Option<String> {
        read(json).map(|moment| moment.text)
    }

    #[test]
    fn iso_text_passes_as_it_is() {
        for (iso, micros) in [
            ("2025-06-01T12:00:03Z", 1_748_779_203_000_000),
            ("2025-06-01T12:00:03.123Z", 1_748_779_203_123_000),
            ("2025-06-01T12:00:03.123456789Z", 1_748_779_203_123_456),
            ("2025-06-01T14:00:03+02:00", 1_748_779_203_000_000),
            ("2025-06-01T07:00:03-0500", 1_748_779_203_000_000),
            ("2025-06-01T12:00:03", 1_748_779_203_000_000),
            ("2025-06-01 12:00:03", 1_748_779_203_000_000),
            ("20250601T120003Z", 1_748_779_203_000_000),
            ("2025-06-01T12:00Z", 1_748_779_200_000_000),
            ("2024-02-29", 1_709_164_800_000_000),
            ("1969-12-31T23:59:59Z", -1_000_000),
        ] {
            let moment = read(&format!("\"{iso}\"")).unwrap_or_else(|| panic!("{iso}"));
            assert_eq!((moment.text.as_str(), moment.micros), (iso, micros));
        }
    }

    #[test]
    fn numbers_are_written_in_utc_with_milliseconds() {
        let written = |json| text(json).unwrap_or_else(|| panic!("{json}"));
        assert_eq!(written("1748779203123"), "2025-06-01T12:00:03.123Z");
        assert_eq!(written("1748779203123.0"), "2025-06-01T12:00:03.123Z");
        assert_eq!(written("1748779203123.7"), "2025-06-01T12:00:03.124Z");
        assert_eq!(written("1748779203.123"), "2025-06-01T12:00:03.123Z");
        assert_eq!(written("1748779203.0"), "2025-06-01T12:00:03.000Z");
        assert_eq!(written("1.748779203123e12"), "2025-06-01T12:00:03.123Z");
        assert_eq!(written("0"), "1970-01-01T00:00:00.000Z");
        assert_eq!(written("1000"), "1970-01-01T00:00:01.000Z");
        assert_eq!(written("-1"), "1969-12-31T23:59:59.999Z");
        assert_eq!(written("99999999999.9"), "5138-11-16T09:46:39.900Z");
        assert_eq!(written("100000000000.0"), "1973-03-03T09:46:40.000Z");
        assert_eq!(written("951782400000"), "2000-02-29T00:00:00.000Z");
        assert_eq!(written("253402300799999"), "9999-12-31T23:59:59.999Z");
    }

    #[test]
    fn what_cannot_be_read_is_nothing() {
        for odd in [
            "null",
            "true",
            "{}",
            "[]",
            "\"\"",
            "\"the day before yesterday\"",
            "\"1748779203123\"",
            "\"20250601\"",
            "\"2025-13-01T00:00:00Z\"",
            "\"2025-02-29\"",
            "\"2025-06-01T24:00:00Z\"",
            "\"2025-06-01T12:00:03+25:00\"",
            "\"2025-06-01T12:00:03.Z\"",
            "\"2025-06-01T12:00:03Zx\"",
            "\"2025-06-01T\"",
            "\"2025-0601\"",
            "253402300800000",
            "1e300",
            "-1e300",
            "123456789012345678901234567890",
            "1e999",
        ] {
            assert_eq!(text(odd), None, "{odd}");
        }
    }

    #[test]
    fn an_age_is_whole_and_never_negative() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_millis(1_748_779_203_999);
        let age = |json| read(json).unwrap().age(now);
        assert_eq!(age("1748779203000"), 0);
        assert_eq!(age("1748779200000"), 3);
        assert_eq!(age("\"2025-06-01T13:00:00Z\""), 0);
    }

    proptest! {
        #[test]
        fn what_is_written_reads_as_the_same_moment(millis in -62_135_596_800_000_i64..253_402_300_800_000) {
            let moment = read(&millis.to_string()).unwrap();
            prop_assert_eq!(moment.micros, millis * 1000);
            prop_assert_eq!(iso(&moment.text), Some(millis * 1000));
        }

        #[test]
        fn every_day_has_one_date(day in -719_162_i64..2_932_897) {
            let (year, month, day_of_month) = date(day);
            prop_assert_eq!(days(year, month, day_of_month), day);
            prop_assert!((1..=12).contains(&month) && (1..=31).contains(&day_of_month));
        }

        #[test]
        fn no_text_is_too_odd(odd in ".*") {
            let _ = read(&odd);
            let _ = iso(&odd);
        }
    }
}
