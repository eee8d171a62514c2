//! Numbers as people read them: thousands separated, the unit named, what is estimated marked.

/// What stands where a number could not be had. Never 0.
pub const NONE: &str = "—";

/// `1234567` as `1,234,567`.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// An estimated number: `≈ 1,234`.
pub fn estimated(number: u64) -> String {
    format!("≈ {}", thousands(number))
}

/// A change: `+164`, `−7` (with a minus sign as wide as the plus), `0`.
pub fn signed(change: i64) -> String {
    let size = thousands(change.unsigned_abs());
    match change {
        1.. => format!("+{size}"),
        0 => size,
        _ => format!("−{size}"),
    }
}

/// Bytes in a sentence: exact while the number is short, `829 KB` (1,000) after that.
pub fn bytes(number: u64) -> String {
    if number < 100_000 {
        format!("{} B", thousands(number))
    } else {
        format!("{} KB", thousands(number.saturating_add(500) / 1_000))
    }
}

/// A share in per mille as a percentage: one decimal below 10 %, none above; `< 0.1 %` for what is
/// there but would round away, [`NONE`] for a share of nothing.
pub fn share(part: u64, whole: u64) -> String {
    if whole == 0 {
        return NONE.to_owned();
    }
    let scaled = |factor: u128| (u128::from(part) * factor * 2 + u128::from(whole)) / (u128::from(whole) * 2);
    let (tenths, percent) = (scaled(1_000), scaled(100));
    if part > 0 && tenths == 0 {
        "< 0.1 %".to_owned()
    } else if tenths < 100 {
        format!("{}.{} %", tenths / 10, tenths % 10)
    } else {
        format!("{percent} %")
    }
}

/// `1 tool`, `3 tools`.
pub fn count(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", thousands(number), if number == 1 { one } else { many })
}

/// A time in seconds, to the tenth below ten: `0.4 s`, `12 s`.
pub fn seconds(time: std::time::Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 9.95 { format!("{seconds:.1} s") } else { format!("{seconds:.0} s") }
}

/// A bar of `part` of `whole` in at most `columns` columns; what is not nothing is at least half a column.
pub fn bar(part: u64, whole: u64, columns: usize) -> String {
    if whole == 0 || part == 0 || columns == 0 {
        return String::new();
    }
    let halves =
        (u128::from(part.min(whole)) * columns as u128 * 2 + u128::from(whole) / 2) / u128::from(whole);
    let halves = usize::try_from(halves).unwrap_or(columns * 2).max(1);
    let mut out = "▇".repeat(halves / 2);
    if halves % 2 == 1 {
        out.push('▌');
    }
    out
}

/// A number of tokens as a person writes it: `200000`, `200,000`, `200_000`, `200k`, `1M`.
pub fn parse_tokens(text: &str) -> Result<u64, String> {
    let refused = || format!("`{text}` is not a number of tokens; write it as 200000, 200k or 1M");
    let plain = text.replace([',', '_', ' '], "");
    let (digits, factor) = match plain.to_ascii_lowercase() {
        lower if lower.ends_with('k') => (lower[..lower.len() - 1].to_owned(), 1_000),
        lower if lower.ends_with('m') => (lower[..lower.len() - 1].to_owned(), 1_000_000),
        lower => (lower, 1),
    };
    let number: u64 = digits.parse().map_err(|_| refused())?;
    number.checked_mul(factor).filter(|&tokens| tokens > 0).ok_or_else(refused)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn thousands_are_separated() {
        assert_eq!(thousands(0), "0");
        assert_eq!(thousands(999), "999");
        assert_eq!(thousands(1_000), "1,000");
        assert_eq!(thousands(12_345_678), "12,345,678");
        assert_eq!(thousands(u64::MAX), "18,446,744,073,709,551,615");
    }

    #[test]
    fn shares_lose_their_decimal_at_ten() {
        assert_eq!(share(1, 3), "33 %");
        assert_eq!(share(1, 16), "6.3 %");
        assert_eq!(share(9_996, 100_000), "10 %");
        assert_eq!(share(1, 100_000), "< 0.1 %");
        assert_eq!(share(0, 5), "0.0 %");
        assert_eq!(share(5, 5), "100 %");
        assert_eq!(share(0, 0), "—");
        assert_eq!(share(u64::MAX, u64::MAX), "100 %");
    }

    #[test]
    fn bytes_name_their_unit() {
        assert_eq!(bytes(3_434), "3,434 B");
        assert_eq!(bytes(99_999), "99,999 B");
        assert_eq!(bytes(829_499), "829 KB");
        assert_eq!(bytes(50_000_000), "50,000 KB");
    }

    #[test]
    fn changes_have_a_sign() {
        assert_eq!(signed(1_164), "+1,164");
        assert_eq!(signed(-7), "−7");
        assert_eq!(signed(0), "0");
        assert_eq!(signed(i64::MIN), "−9,223,372,036,854,775,808");
    }

    #[test]
    fn bars_never_hide_what_is_there() {
        assert_eq!(bar(10, 10, 4), "▇▇▇▇");
        assert_eq!(bar(5, 10, 3), "▇▌");
        assert_eq!(bar(1, 1_000_000, 8), "▌");
        assert_eq!(bar(0, 10, 4), "");
        assert_eq!(bar(20, 10, 4), "▇▇▇▇");
    }

    #[test]
    fn token_numbers_are_read_as_written() {
        assert_eq!(parse_tokens("200k"), Ok(200_000));
        assert_eq!(parse_tokens("1M"), Ok(1_000_000));
        assert_eq!(parse_tokens("1,048,576"), Ok(1_048_576));
        for refused in ["", "k", "0", "-1", "1.5k", "many", "99999999999999999999"] {
            assert!(parse_tokens(refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn times_are_short() {
        assert_eq!(seconds(Duration::from_millis(412)), "0.4 s");
        assert_eq!(seconds(Duration::from_millis(12_400)), "12 s");
    }
}
