//! Moments as TOML writes them (RFC 3339), on the clock of the system.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use toml_datetime::{Date, Datetime, Offset};

const DAY: i64 = 86_400;

/// The moment; of a date alone its first one in UTC. `None` for a time without an offset, which is no moment, and for
/// years before 1970.
pub(super) fn of(written: &Datetime) -> Option<SystemTime> {
    let date = written.date?;
    let (in_day, offset, nanos) = match (&written.time, written.offset) {
        (None, None) => (0, 0, 0),
        (Some(time), Some(offset)) => {
            let in_day =
                i64::from(time.hour) * 3600 + i64::from(time.minute) * 60 + i64::from(time.second.unwrap_or(0));
            let minutes = match offset {
                Offset::Z => 0,
                Offset::Custom { minutes } => i64::from(minutes),
            };
            (in_day, minutes * 60, time.nanosecond.unwrap_or(0))
        }
        _ => return None,
    };
    let seconds = u64::try_from(days(date) * DAY + in_day - offset).ok()?;
    UNIX_EPOCH.checked_add(Duration::new(seconds, nanos))
}

/// Days from 1 January 1970 in the Gregorian calendar: whole years before this one with their leap days, counted from
/// March so that the leap day is a year's last, then the months, then the days.
fn days(date: Date) -> i64 {
    let (year, month, day) = (i64::from(date.year), i64::from(date.month), i64::from(date.day));
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    // From March on, months have 31, 30, 31, 30, 31 days, again and again.
    let in_year = (153 * month + 2) / 5 + day - 1;
    // 719,468 days lie between 1 March of the year 0 and 1 January 1970.
    365 * year + leap_days + in_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(text: &str) -> Option<u64> {
        let moment = of(&text.parse().unwrap())?;
        Some(moment.duration_since(UNIX_EPOCH).unwrap().as_secs())
    }

    #[test]
    fn a_moment_is_what_date_prints_for_it() {
        // `date -u -d ... +%s`
        for (text, expected) in [
            ("1970-01-01", 0),
            ("2000-02-29", 951_782_400),
            ("2000-03-01", 951_868_800),
            ("2027-01-01", 1_798_761_600),
            ("2100-02-28", 4_107_456_000),
            ("2100-03-01", 4_107_542_400),
            ("2027-01-01T12:30:15Z", 1_798_806_615),
            ("2027-01-01T00:00:00+02:00", 1_798_754_400),
            ("2026-12-31T22:00:00-02:00", 1_798_761_600),
        ] {
            assert_eq!(seconds(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn a_time_without_an_offset_is_no_moment() {
        for text in ["2027-01-01T12:00:00", "12:00:00", "1969-12-31"] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }
}
