//! What a response's counters cost.

use crate::entry::{Entry, Rates};
use crate::money::Money;
use deadweight_wire::usage::Counters;

/// Under which terms a response was served, as it says itself. They change its price.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Terms<'a> {
    /// The tier: `service_tier`.
    pub tier: Option<&'a str>,
    /// Anthropic's `speed`.
    pub speed: Option<&'a str>,
    /// Anthropic's `inference_geo`.
    pub region: Option<&'a str>,
}

impl Terms<'_> {
    /// The factor on all prices, as a fraction; `None` where it is not known.
    fn factor(&self, entry: &Entry) -> Option<(u64, u64)> {
        let (mut up, mut down) = (1, 1);
        match self.tier.map(str::to_ascii_lowercase).as_deref() {
            None | Some("" | "standard" | "standard_only" | "default" | "auto" | "on_demand") => {}
            Some("batch" | "flex") => down *= 2,
            Some(_) => return None,
        }
        match self.speed {
            None | Some("" | "standard") => {}
            Some("fast") => up *= entry.fast?,
            Some(_) => return None,
        }
        match self.region {
            None | Some("" | "global" | "not_available") => {}
            Some(_) if entry.regional => (up, down) = (up * 11, down * 10),
            Some(_) => {}
        }
        Some((up, down))
    }
}

/// What a request and its answer cost, part by part (ESTIMATED).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cost {
    /// The part of the prompt that the cache had no part in.
    pub uncached: Money,
    /// What was read from the cache.
    pub read: Money,
    /// What was written to it for five minutes, or for a time that was not said.
    pub write_5m: Money,
    /// What was written to it for an hour.
    pub write_1h: Money,
    /// The answer, thinking included; `None` where its tokens were not said.
    pub output: Option<Money>,
    /// How many tokens at the full input price the prompt comes to, rounded to the nearest. `None` where input is free.
    pub equivalents: Option<u64>,
    /// What the prompt had cost without any cache.
    pub without_cache: Money,
}

impl Cost {
    /// The prompt.
    #[must_use]
    pub fn input(&self) -> Money {
        self.uncached + self.read + self.write_5m + self.write_1h
    }

    /// Prompt and, as far as it is known, answer.
    #[must_use]
    pub fn total(&self) -> Money {
        self.input() + self.output.unwrap_or_default()
    }
}

/// What counters cost at the prices of `entry`.
///
/// A prompt whose cached part was not sent counts as uncached as far as it can be ([`Counters::input_uncached_at_most`]).
/// `None` when the prompt was not counted, or the prices for a prompt of that length or for these terms are not known.
#[must_use]
pub fn cost(entry: &Entry, counters: &Counters, terms: &Terms<'_>) -> Option<Cost> {
    let extra = counters.tool_prompt.unwrap_or(0);
    let uncached = counters.input_uncached_at_most()?.saturating_add(extra);
    let read = counters.cache_read.unwrap_or(0);
    let write_5m =
        counters.cache_write_5m.unwrap_or(0).saturating_add(counters.cache_write_unspecified.unwrap_or(0));
    let write_1h = counters.cache_write_1h.unwrap_or(0);
    let parts = [uncached, read, write_5m, write_1h];
    let prompt = parts.into_iter().fold(0, u64::saturating_add);
    let rates = entry.rates_for(prompt)?;
    let (up, down) = terms.factor(entry)?;
    let money = |money: Money| money.times(up, down);
    let mut out = Cost {
        uncached: money(rates.input.of(uncached)),
        read: money(rates.read.of(read)),
        write_5m: money(rates.write_5m.of(write_5m)),
        write_1h: money(rates.write_1h.of(write_1h)),
        output: counters.output.map(|output| money(rates.output.of(output))),
        equivalents: None,
        without_cache: money(rates.input.of(prompt)),
    };
    out.equivalents = equivalents(rates, parts);
    Some(out)
}

/// Tokens at the full input price: what a price list makes of a prompt. Factors on all prices fall out of it.
fn equivalents(rates: &Rates, [uncached, read, write_5m, write_1h]: [u64; 4]) -> Option<u64> {
    let input = u128::from(rates.input.get());
    let all = [
        rates.input.of(uncached),
        rates.read.of(read),
        rates.write_5m.of(write_5m),
        rates.write_1h.of(write_1h),
    ];
    let all = all.into_iter().sum::<Money>().pico();
    let rounded = all.saturating_add(input / 2).checked_div(input)?;
    Some(u64::try_from(rounded).unwrap_or(u64::MAX))
}
