//! Money.

use crate::number::thousands;

/// Nano-dollars as people read them: `$1,204.50`, `$1.12`, `$0.0031`, `< $0.0001`. Four decimals below a dime, two above.
#[must_use]
pub fn usd(nano: u64) -> String {
    const DOLLAR: u64 = 1_000_000_000;
    if nano == 0 {
        return "$0".to_owned();
    }
    if nano < DOLLAR / 10 {
        let parts = (nano + 50_000) / 100_000;
        return match parts {
            0 => "< $0.0001".to_owned(),
            1_000.. => "$0.10".to_owned(),
            parts => format!("$0.{parts:04}"),
        };
    }
    let cents = u128::from(nano).saturating_add(5_000_000) / 10_000_000;
    let dollars = u64::try_from(cents / 100).unwrap_or(u64::MAX);
    format!("${}.{:02}", thousands(dollars), cents % 100)
}

/// The same, marked as an estimate: `≈ $1.12`.
#[must_use]
pub fn estimated_usd(nano: u64) -> String {
    format!("≈ {}", usd(nano))
}

#[cfg(test)]
mod tests {
    use super::usd;

    #[test]
    fn money_is_as_exact_as_it_is_large() {
        for (nano, text) in [
            (0, "$0"),
            (1, "< $0.0001"),
            (49_999, "< $0.0001"),
            (50_000, "$0.0001"),
            (3_100_000, "$0.0031"),
            (99_960_000, "$0.10"),
            (99_940_000, "$0.0999"),
            (100_000_000, "$0.10"),
            (1_124_999_999, "$1.12"),
            (1_125_000_000, "$1.13"),
            (1_204_500_000_000, "$1,204.50"),
        ] {
            assert_eq!(usd(nano), text, "{nano}");
        }
        assert!(usd(u64::MAX).starts_with("$18,446,744,073"));
    }
}
