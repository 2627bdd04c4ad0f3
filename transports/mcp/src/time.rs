//! Writes times as RFC 3339, and reads them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A time as RFC 3339 in UTC with milliseconds. A clock before 1970 reads as 1970.
pub(crate) fn rfc3339(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, seconds) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", since.subsec_millis())
}

/// The date that many days after 1970-01-01, in the proleptic Gregorian calendar.
///
/// Counts from 1 March of year 0, so that the leap day is the last of its year: 146,097 days are 400 years.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

/// The time that a text of RFC 3339 (section 5.6) names; `None` when it names none. The offset must be there: a time
/// without one is another time everywhere.
///
/// A leap second reads as the second after it, since [`SystemTime`] counts none.
pub(crate) fn parse_rfc3339(text: &str) -> Option<SystemTime> {
    let (date, rest) = text.split_once(['T', 't', ' '])?;
    let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
    let (clock, rest) = rest.split_at_checked(8)?;
    let [hour, minute, second] = numbers(clock, ':', [2, 2, 2])?;
    let (nanos, offset) = fraction(rest)?;
    let offset = offset_seconds(offset)?;
    let is_time = (1..=12).contains(&month)
        && (1..=days_in(year, month)).contains(&day)
        && hour < 24
        && minute < 60
        && (second < 60 || second == 60 && minute == 59);
    if !is_time {
        return None;
    }
    let seconds = days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset;
    let whole = Duration::from_secs(seconds.unsigned_abs());
    let time = if seconds < 0 { UNIX_EPOCH.checked_sub(whole) } else { UNIX_EPOCH.checked_add(whole) };
    time?.checked_add(Duration::from_nanos(nanos))
}

/// Three numbers of so many digits each.
fn numbers(text: &str, between: char, digits: [usize; 3]) -> Option<[i64; 3]> {
    let mut parts = text.split(between);
    let mut all = [0; 3];
    for (number, digits) in all.iter_mut().zip(digits) {
        *number = number_of(parts.next()?, digits)?;
    }
    parts.next().is_none().then_some(all)
}

fn number_of(text: &str, digits: usize) -> Option<i64> {
    let is_number = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { text.parse().ok() } else { None }
}

/// Nanoseconds, and what stands behind them. Digits beyond the ninth count nothing.
fn fraction(text: &str) -> Option<(u64, &str)> {
    let Some(text) = text.strip_prefix('.') else { return Some((0, text)) };
    let end = text.find(|char: char| !char.is_ascii_digit())?;
    let (digits, rest) = text.split_at_checked(end)?;
    let nanos: u64 = format!("{digits:0<9}").get(..9)?.parse().ok()?;
    (!digits.is_empty()).then_some((nanos, rest))
}

/// How far an offset is east of UTC, in seconds.
fn offset_seconds(text: &str) -> Option<i64> {
    if matches!(text, "Z" | "z") {
        return Some(0);
    }
    let (sign, rest) = match text.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let (hours, minutes) = rest.split_once(':')?;
    let (hours, minutes) = (number_of(hours, 2)?, number_of(minutes, 2)?);
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// How many days after 1970-01-01 a date is; the inverse of [`civil`].
fn days(year: i64, month: i64, day: i64) -> i64 {
    let shifted_year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (shifted_year.div_euclid(400), shifted_year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_everybody_writes_them() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (951_868_799, "2000-02-29T23:59:59.000Z"),
            (1_709_164_800, "2024-02-29T00:00:00.000Z"),
            (1_735_689_599, "2024-12-31T23:59:59.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(rfc3339(UNIX_EPOCH + Duration::from_secs(seconds)), text);
        }
        assert_eq!(rfc3339(UNIX_EPOCH + Duration::from_millis(1_796_050_800_042)), "2026-11-30T15:00:00.042Z");
        assert_eq!(rfc3339(UNIX_EPOCH - Duration::from_secs(1)), "1970-01-01T00:00:00.000Z");
    }

    #[test]
    fn what_is_written_is_read_as_the_same_time() {
        for day in 0..146_097 {
            let time = UNIX_EPOCH + Duration::from_millis(day * 86_400_000 + day * 7919 % 86_400_000);
            assert_eq!(parse_rfc3339(&rfc3339(time)), Some(time));
        }
    }

    #[test]
    fn times_are_read_in_every_form_of_the_standard() {
        let utc = |seconds: u64, nanos| Some(UNIX_EPOCH + Duration::new(seconds, nanos));
        for (text, time) in [
            ("1970-01-01T00:00:00Z", utc(0, 0)),
            ("2026-11-30T15:00:00Z", utc(1_796_050_800, 0)),
            ("2026-11-30t16:00:00+01:00", utc(1_796_050_800, 0)),
            ("2026-11-30 09:30:00.5-05:30", utc(1_796_050_800, 500_000_000)),
            ("2026-11-30T15:00:00.123456789999z", utc(1_796_050_800, 123_456_789)),
            ("2016-12-31T23:59:60Z", utc(1_483_228_800, 0)),
            ("2000-02-29T00:00:00Z", utc(951_782_400, 0)),
            ("1969-12-31T23:59:59.250Z", Some(UNIX_EPOCH - Duration::from_millis(750))),
            ("0000-01-01T00:00:00Z", Some(UNIX_EPOCH - Duration::from_secs(62_167_219_200))),
        ] {
            assert_eq!(parse_rfc3339(text), time, "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_not_read() {
        for text in [
            "",
            "now",
            "2026-11-30",
            "2026-11-30T15:00:00",
            "2026-11-30T15:00Z",
            "2026-11-30T15:00:00.Z",
            "2026-11-30T15:00:00.5",
            "2026-11-30T15:00:00+0100",
            "2026-11-30T15:00:00+1:00",
            "2026-11-30T15:00:00+24:00",
            "2026-11-30T15:00:00ZZ",
            "2026-11-30T15:00:00+01:00Z",
            "2026-1-30T15:00:00Z",
            "2026-13-30T15:00:00Z",
            "2026-00-30T15:00:00Z",
            "2026-02-29T15:00:00Z",
            "1900-02-29T15:00:00Z",
            "2026-04-31T15:00:00Z",
            "2026-11-00T15:00:00Z",
            "2026-11-30T24:00:00Z",
            "2026-11-30T15:60:00Z",
            "2026-11-30T15:00:60Z",
            "2026-11-30T15:59:61Z",
            "+026-11-30T15:00:00Z",
            "12026-11-30T15:00:00Z",
            "2026-11-30T15:00:0é",
            "2026-11-30T１５:00:00Z",
            "1796050800",
        ] {
            assert_eq!(parse_rfc3339(text), None, "{text}");
        }
    }
}
