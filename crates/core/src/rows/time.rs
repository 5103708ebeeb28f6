//! Parses dates and times in the notations of logs and tables.

use time::{Date, Month, OffsetDateTime};

/// Seconds since 1970 in UTC, or since midnight for times of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moment {
    pub seconds: i64,
    /// Whether there is a date.
    pub dated: bool,
}

/// The notations that [`parse`] accepts, for messages.
pub(crate) const EXPECTED: &str = "a time: seconds or milliseconds since 1970, 2026-11-15T14:07:00Z, 2026-11-15 14:07:00, \
     20261115140700 or 14:07:00";

/// Parses `text`; without a time zone it is UTC.
pub(crate) fn parse(text: &str) -> Option<Moment> {
    let text = text.trim();
    let dated = |seconds: i64| Moment { seconds, dated: true };
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return number(text).map(dated);
    }
    if let Some((whole, part)) = text.split_once('.')
        && [whole, part].iter().all(|s| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit()))
    {
        return number(whole).map(dated);
    }
    let date_ends = text.find(['T', ' ', 't']).unwrap_or(text.len());
    let (date, rest) = text.split_at(date_ends);
    if !date.contains(['-', '/']) {
        let (seconds, rest) = clock(text)?;
        return rest.is_empty().then_some(Moment { seconds, dated: false });
    }
    let days = date_of(date)?;
    if rest.is_empty() {
        return Some(dated(days * 86_400));
    }
    let (seconds, zone) = clock(rest[1..].trim_start())?;
    Some(dated(days * 86_400 + seconds - offset(zone.trim_start())?))
}

/// A number of seconds, milliseconds or microseconds, or a date in digits.
fn number(text: &str) -> Option<i64> {
    // As numbers of seconds these would lie in 1970, 1976 or the year 2600: they are dates.
    if matches!(text.len(), 8 | 12 | 14) && (text.starts_with("19") || text.starts_with("20")) {
        let days = days(&text[..4], &text[4..6], &text[6..8])?;
        let two = |at: usize| text.get(at..at + 2).map_or(Some(0), |digits| digits.parse().ok());
        let (hours, minutes, seconds): (i64, i64, i64) = (two(8)?, two(10)?, two(12)?);
        let sound = hours < 24 && minutes < 60 && seconds <= 60;
        return sound.then_some(days * 86_400 + hours * 3600 + minutes * 60 + seconds);
    }
    let number: i64 = text.parse().ok()?;
    // Up to the year 5138 in each unit.
    match number {
        0..100_000_000_000 => Some(number),
        100_000_000_000..100_000_000_000_000 => Some(number / 1000),
        100_000_000_000_000..100_000_000_000_000_000 => Some(number / 1_000_000),
        _ => None,
    }
}

/// Days since 1970 of `2026-11-15` or `2026/11/15`.
fn date_of(text: &str) -> Option<i64> {
    let mut parts = text.split(['-', '/']);
    let date = days(parts.next()?, parts.next()?, parts.next()?)?;
    parts.next().is_none().then_some(date)
}

fn days(year: &str, month: &str, day: &str) -> Option<i64> {
    let digits = |text: &str, most: usize| {
        let plain = (1..=most).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
        plain.then(|| text.parse::<i64>().ok()).flatten()
    };
    let (year, month, day) = (digits(year, 4)?, digits(month, 2)?, digits(day, 2)?);
    let month = Month::try_from(month as u8).ok()?;
    let date = Date::from_calendar_date(year as i32, month, day as u8).ok()?;
    let epoch = OffsetDateTime::UNIX_EPOCH.date();
    (year >= 1000).then(|| i64::from(date.to_julian_day() - epoch.to_julian_day()))
}

/// The seconds of `14:07`, `14:07:00` or `14:07:00.250`, and what follows.
fn clock(text: &str) -> Option<(i64, &str)> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || matches!(c, ':' | '.' | ',')));
    let (clock, rest) = text.split_at(end.unwrap_or(text.len()));
    let clock = clock.split(['.', ',']).next()?;
    let mut parts =
        clock.split(':').map(|part| part.parse::<i64>().ok().filter(|_| part.len() <= 2));
    let (hours, minutes) = (parts.next()??, parts.next()??);
    let seconds = parts.next().unwrap_or(Some(0))?;
    let sound = hours < 24 && minutes < 60 && seconds <= 60 && parts.next().is_none();
    sound.then_some((hours * 3600 + minutes * 60 + seconds, rest))
}

/// The seconds that a time zone (`Z`, `+02:00`, `-0500`, or nothing) is ahead of UTC.
fn offset(zone: &str) -> Option<i64> {
    if matches!(zone, "" | "Z" | "z" | "UTC" | "GMT") {
        return Some(0);
    }
    let sign = match zone.as_bytes()[0] {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let digits = zone[1..].replace(':', "");
    if !digits.bytes().all(|b| b.is_ascii_digit()) || !matches!(digits.len(), 2 | 4) {
        return None;
    }
    let hours: i64 = digits[..2].parse().ok()?;
    let minutes: i64 =
        digits.get(2..).filter(|m| !m.is_empty()).map_or(Some(0), |m| m.parse().ok())?;
    Some(sign * (hours * 3600 + minutes * 60))
}

/// Formats a date and time, or a time of day if not `dated`.
pub(crate) fn show(seconds: i64, dated: bool) -> String {
    let Ok(moment) = OffsetDateTime::from_unix_timestamp(seconds) else {
        return format!("{seconds} s");
    };
    let (hour, minute, second) = moment.to_hms();
    let clock = format!("{hour:02}:{minute:02}:{second:02}");
    if !dated {
        return clock;
    }
    let (year, month, day) = moment.to_calendar_date();
    format!("{year:04}-{:02}-{day:02} {clock}", u8::from(month))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ways_in_which_logs_write_a_moment() {
        // `date -u -d '2026-11-15 14:07:09' +%s`
        let seconds = 1_794_751_629;
        for text in [
            "1794751629",
            "1794751629.25",
            "1794751629123",
            "1794751629123456",
            "2026-11-15T14:07:09Z",
            "2026-11-15T14:07:09.123Z",
            " 2026-11-15 14:07:09 ",
            "2026/11/15 14:07:09",
            "2026-11-15T16:07:09+02:00",
            "2026-11-15T09:07:09 -0500",
            "20261115140709",
        ] {
            assert_eq!(parse(text), Some(Moment { seconds, dated: true }), "{text}");
        }
        let midnight = seconds - 14 * 3600 - 7 * 60 - 9;
        for text in ["2026-11-15", "20261115", "2026-11-15T00:00", "202611150000"] {
            assert_eq!(parse(text), Some(Moment { seconds: midnight, dated: true }), "{text}");
        }
        assert_eq!(parse("00:01:05"), Some(Moment { seconds: 65, dated: false }));
        assert_eq!(parse("2000-02-29").unwrap().seconds, 951_782_400);
    }

    #[test]
    fn what_is_no_moment_is_refused() {
        for text in [
            "",
            "now",
            "-5",
            "2026-13-01",
            "2026-02-29",
            "2026-11-15T25:00:00",
            "12:61",
            "1e9",
            "2026-11-15T14:07:09+2",
            "2026-11-15x",
            "99999999999999999999",
            "1.2.3",
            "Ｔ12:00",
            "2026-11-15T14:07:09+é0",
            "20261315140700",
            "20261341",
            "202613151407",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn moments_are_shown_as_they_are_read() {
        for text in ["1970-01-01 00:00:00", "2000-02-29 23:59:59", "2026-11-15 14:07:09"] {
            assert_eq!(show(parse(text).unwrap().seconds, true), text);
        }
        assert_eq!(show(65, false), "00:01:05");
    }
}
