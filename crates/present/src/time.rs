//! Times. Days and hours are those of UTC: a report reads the same on every machine.

const DAY_MS: u64 = 86_400_000;

/// A point in time, broken down (UTC).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Civil {
    /// The year.
    pub year: u64,
    /// The month, from 1.
    pub month: u64,
    /// The day of the month, from 1.
    pub day: u64,
    /// The hour.
    pub hour: u64,
    /// The minute.
    pub minute: u64,
    /// The second.
    pub second: u64,
}

/// Milliseconds since 1970 as a date and a time of day.
#[must_use]
pub const fn civil(ms: u64) -> Civil {
    // Days are counted from a first of March, so that the leap day is the last of its year.
    let days = ms / DAY_MS + 719_468;
    let era = days / 146_097;
    let of_era = days % 146_097;
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let seconds = ms % DAY_MS / 1_000;
    Civil {
        year: era * 400 + year_of_era + if month <= 2 { 1 } else { 0 },
        month,
        day: of_year - (153 * shifted + 2) / 5 + 1,
        hour: seconds / 3_600,
        minute: seconds / 60 % 60,
        second: seconds % 60,
    }
}

/// `2026-12-01 00:41:07 UTC`.
#[must_use]
pub fn stamp(ms: u64) -> String {
    let Civil { hour, minute, second, .. } = civil(ms);
    format!("{} {hour:02}:{minute:02}:{second:02} UTC", date(ms))
}

/// `2026-12-01T00:41:07Z`, for programs.
#[must_use]
pub fn iso(ms: u64) -> String {
    let Civil { hour, minute, second, .. } = civil(ms);
    format!("{}T{hour:02}:{minute:02}:{second:02}Z", date(ms))
}

/// `2026-12-01`.
#[must_use]
pub fn date(ms: u64) -> String {
    let Civil { year, month, day, .. } = civil(ms);
    format!("{year:04}-{month:02}-{day:02}")
}

/// `2026-12-01 00:41`.
#[must_use]
pub fn minute(ms: u64) -> String {
    let Civil { hour, minute, .. } = civil(ms);
    format!("{} {hour:02}:{minute:02}", date(ms))
}

/// `00:41:07`.
#[must_use]
pub fn clock(ms: u64) -> String {
    let Civil { hour, minute, second, .. } = civil(ms);
    format!("{hour:02}:{minute:02}:{second:02}")
}

/// A length of time in its largest unit that says something: `0.4 s`, `12 s`, `22 min`, `3 h`, `5 d`.
#[must_use]
pub fn span(ms: u64) -> String {
    match ms {
        0..9_950 => format!("{}.{} s", (ms + 50) / 1_000, (ms + 50) % 1_000 / 100),
        9_950..119_500 => format!("{} s", (ms + 500) / 1_000),
        119_500..7_170_000 => format!("{} min", (ms + 30_000) / 60_000),
        7_170_000..172_000_000 => format!("{} h", (ms + 1_800_000) / 3_600_000),
        _ => format!("{} d", (ms.saturating_add(DAY_MS / 2)) / DAY_MS),
    }
}

/// How long ago it was at `now_ms`: `just now`, `22 min ago`.
#[must_use]
pub fn ago(ms: u64, now_ms: u64) -> String {
    match now_ms.saturating_sub(ms) {
        0..10_000 => "just now".to_owned(),
        age => format!("{} ago", span(age)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        assert_eq!(stamp(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(stamp(951_782_400_000), "2000-02-29 00:00:00 UTC");
        assert_eq!(iso(1_796_085_667_999), "2026-12-01T00:41:07Z");
        assert_eq!(date(4_107_542_400_000), "2100-03-01");
        assert_eq!(date(4_107_542_399_999), "2100-02-28");
        assert_eq!(date(1_735_689_599_999), "2024-12-31");
        for (ms, expected) in [
            (0, "1970-01-01 00:00"),
            (951_868_799_999, "2000-02-29 23:59"),
            (951_868_800_000, "2000-03-01 00:00"),
            (1_796_075_940_000, "2026-11-30 21:59"),
        ] {
            assert_eq!(minute(ms), expected);
        }
    }

    #[test]
    fn lengths_have_the_unit_that_says_something() {
        for (ms, text) in [
            (0, "0.0 s"),
            (412, "0.4 s"),
            (9_949, "9.9 s"),
            (9_950, "10 s"),
            (12_400, "12 s"),
            (1_320_000, "22 min"),
            (10_800_000, "3 h"),
            (432_000_000, "5 d"),
        ] {
            assert_eq!(span(ms), text, "{ms}");
        }
        assert_eq!(ago(5_000, 9_000), "just now");
        assert_eq!(ago(0, 60_000), "60 s ago");
        assert_eq!(ago(9, 1), "just now");
        assert!(!span(u64::MAX).is_empty());
    }
}
