//! Money and prices as integers.

use std::fmt;
use std::iter::Sum;
use std::ops::Add;

/// An amount of US dollars (ESTIMATED), in trillionths, so that a price times tokens is exact. Sums saturate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Money(u128);

/// How many of the smallest unit are a billionth of a dollar.
const PICO_IN_NANO: u128 = 1_000;

impl Money {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// So many trillionths of a dollar.
    #[must_use]
    pub const fn from_pico(pico: u128) -> Self {
        Self(pico)
    }

    /// In trillionths of a dollar: exact.
    #[must_use]
    pub const fn pico(self) -> u128 {
        self.0
    }

    /// In billionths of a dollar, rounded to the nearest; [`u64::MAX`] for more than that holds.
    #[must_use]
    pub fn nano(self) -> u64 {
        u64::try_from(self.0.saturating_add(PICO_IN_NANO / 2) / PICO_IN_NANO).unwrap_or(u64::MAX)
    }

    /// What is left of it; nothing when `other` is more.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// `numerator / denominator` of it, rounded down.
    #[must_use]
    pub(crate) fn times(self, numerator: u64, denominator: u64) -> Self {
        Self(self.0.saturating_mul(u128::from(numerator)) / u128::from(denominator.max(1)))
    }
}

impl Add for Money {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sum for Money {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::ZERO, Add::add)
    }
}

/// As dollars: cents from one dollar on, below that as many digits as show two that count.
impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DOLLAR: u128 = 1_000_000_000_000;
        if self.0 == 0 {
            return f.write_str("$0");
        }
        let mut digits = 2;
        while digits < 12 && self.0.saturating_mul(10_u128.pow(digits)) < 10 * DOLLAR {
            digits += 1;
        }
        let digits = if self.0 >= DOLLAR { 2 } else { digits };
        let unit = 10_u128.pow(12 - digits);
        let rounded = self.0.saturating_add(unit / 2) / unit;
        let whole = 10_u128.pow(digits);
        write!(f, "${}.{:0width$}", rounded / whole, rounded % whole, width = digits as usize)
    }
}

/// The price of a token, in micro-dollars for a million of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

impl Rate {
    /// So many micro-dollars for a million tokens: `2_500_000` are $2.50.
    #[must_use]
    pub const fn micro_usd_per_million(micro: u64) -> Self {
        Self(micro)
    }

    /// In micro-dollars for a million tokens.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Reads dollars for a million tokens, as in `"2.50"`: digits with at most six after the point.
    ///
    /// # Errors
    /// The text is anything else, or more than a million dollars.
    pub fn from_usd_per_million(text: &str) -> Result<Self, RateError> {
        let error = || RateError { text: text.chars().take(64).collect() };
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        let written = !whole.is_empty() && whole.len() <= 7 && fraction.len() <= 6;
        if !written || !digits(whole) || !digits(fraction) || text.ends_with('.') {
            return Err(error());
        }
        let micro: u64 = format!("{whole}{fraction:0<6}").parse().map_err(|_| error())?;
        if micro > 1_000_000_000_000 { Err(error()) } else { Ok(Self(micro)) }
    }

    /// What so many tokens cost.
    #[must_use]
    pub const fn of(self, tokens: u64) -> Money {
        Money((self.0 as u128) * (tokens as u128))
    }

    /// `thousandths / 1000` of it; exact for every price in the book.
    #[must_use]
    pub const fn times(self, thousandths: u64) -> Self {
        Self(self.0 * thousandths / 1_000)
    }
}

/// A text is not a price.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a price: write US dollars for a million tokens, such as \"2.50\"")]
pub struct RateError {
    /// What stood there, cut at 64 characters.
    pub text: String,
}

#[cfg(test)]
mod tests {
    use super::{Money, Rate};

    #[test]
    fn money_is_shown_with_the_digits_that_count() {
        let shown = |pico| Money::from_pico(pico).to_string();
        assert_eq!(shown(0), "$0");
        assert_eq!(shown(1_120_000_000_000), "$1.12");
        assert_eq!(shown(12_345_678_000_000_000), "$12345.68");
        assert_eq!(shown(420_000_000_000), "$0.42");
        assert_eq!(shown(4_200_000_000), "$0.0042");
        assert_eq!(shown(999_999_000_000), "$1.00");
        assert_eq!(shown(1), "$0.000000000001");
        assert_eq!(Money::from_pico(1_499).nano(), 1);
        assert_eq!(Money::from_pico(1_500).nano(), 2);
        assert_eq!(Money::from_pico(u128::MAX).nano(), u64::MAX);
    }

    #[test]
    fn prices_are_read_exactly() {
        let rate = |text| Rate::from_usd_per_million(text).map(Rate::get);
        assert_eq!(rate("2.50"), Ok(2_500_000));
        assert_eq!(rate("0.0125"), Ok(12_500));
        assert_eq!(rate("15"), Ok(15_000_000));
        assert_eq!(rate("0"), Ok(0));
        for wrong in
            ["", ".5", "5.", "-1", "1e3", "$2", "2,50", " 2", "0.1234567", "99999999", "1000000.1", "٣"]
        {
            assert!(rate(wrong).is_err(), "{wrong}");
        }
    }
}
