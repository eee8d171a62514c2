//! Gemini. Cached input is what the implicit cache reads; what explicit caches cost to keep is not in here.

use super::{rate, row};
use crate::book::Day;
use crate::entry::{Entry, Long, Rates};

const PAGE: &str = "https://github.com/api-evangelist/deepmind/blob/main/plans/deepmind-plans-pricing.yml (quotes the pricing page)";
const GEMINI_4: &str = "https://github.com/iyulab/TokenMeter/releases/tag/v0.17.0 (quotes the pricing page)";
const MAP: &str = "https://github.com/Wei-Shaw/model-price-repo (a mirror of litellm's model_prices_and_context_window.json)";
const PROMOTION: &str =
    "https://github.com/uttamdeb/agent-telemetry/releases/tag/v1.6.6 (quotes the pricing page)";
const FLASH: &str = "https://github.com/BerriAI/litellm/discussions/39357 (quotes the pricing page)";

/// A cache write costs what any input costs.
const fn rates(input: u64, read: u64, output: u64) -> Rates {
    Rates {
        input: rate(input),
        read: rate(read),
        write_5m: rate(input),
        write_1h: rate(input),
        output: rate(output),
    }
}

const fn gemini(
    model: &'static str,
    rates: Rates,
    minimum: Option<u64>,
    date: &'static str,
    source: &'static str,
) -> Entry {
    let mut entry = row(model, rates, date, source);
    entry.context = Some(1_048_576);
    entry.cache_minimum = minimum;
    entry
}

const fn from(mut entry: Entry, day: Day) -> Entry {
    entry.from = day;
    entry
}

const fn long(mut entry: Entry, rates: Rates) -> Entry {
    entry.long = Long::Other { over: 200_000, rates };
    entry
}

/// Half price through 2026, whole from 2027 on.
const HALF: Rates = rates(750_000, 75_000, 3_750_000);
const WHOLE: Rates = rates(1_500_000, 150_000, 7_500_000);
const NEW_YEAR: Day = Day::ymd(2027, 1, 1);

const PRO: Rates = rates(2_000_000, 200_000, 12_000_000);
const PRO_LONG: Rates = rates(4_000_000, 400_000, 18_000_000);

/// The least prompt that the implicit cache takes: of Gemini 3, and of 2.5.
const MINIMUM: Option<u64> = Some(4_096);
const LEAST: Option<u64> = Some(2_048);

pub(super) const ROWS: &[Entry] = &[
    gemini("gemini-4-neon", rates(3_000_000, 150_000, 15_000_000), None, "2026-11-30", GEMINI_4),
    gemini("gemini-4-hydrogen", rates(1_500_000, 75_000, 7_500_000), None, "2026-11-30", GEMINI_4),
    gemini("gemini-3.8-flash", HALF, MINIMUM, "2026-10-07", FLASH),
    from(gemini("gemini-3.8-flash", WHOLE, MINIMUM, "2026-10-07", PAGE), NEW_YEAR),
    gemini("gemini-3.7-flash", HALF, MINIMUM, "2026-09-30", PROMOTION),
    from(gemini("gemini-3.7-flash", WHOLE, MINIMUM, "2026-09-30", PROMOTION), NEW_YEAR),
    gemini("gemini-3.6-flash", HALF, MINIMUM, "2026-09-30", PROMOTION),
    from(gemini("gemini-3.6-flash", WHOLE, MINIMUM, "2026-09-30", PROMOTION), NEW_YEAR),
    gemini("gemini-3.5-flash", rates(1_500_000, 150_000, 9_000_000), MINIMUM, "2026-10-07", PAGE),
    gemini("gemini-3.5-flash-lite", rates(300_000, 30_000, 2_500_000), None, "2026-10-07", PAGE),
    long(gemini("gemini-3.1-pro-preview", PRO, MINIMUM, "2026-10-07", PAGE), PRO_LONG),
    long(gemini("gemini-3.1-pro-preview-customtools", PRO, MINIMUM, "2026-10-07", PAGE), PRO_LONG),
    gemini("gemini-3.1-flash-lite", rates(250_000, 25_000, 1_500_000), None, "2026-09-30", MAP),
    long(gemini("gemini-3-pro-preview", PRO, MINIMUM, "2026-09-30", MAP), PRO_LONG),
    gemini("gemini-3-flash", rates(500_000, 50_000, 3_000_000), MINIMUM, "2026-09-30", MAP),
    gemini("gemini-3-flash-preview", rates(500_000, 50_000, 3_000_000), MINIMUM, "2026-09-30", MAP),
    long(
        gemini("gemini-2.5-pro", rates(1_250_000, 125_000, 10_000_000), LEAST, "2026-10-07", MAP),
        rates(2_500_000, 250_000, 15_000_000),
    ),
    gemini("gemini-2.5-flash", rates(300_000, 30_000, 2_500_000), LEAST, "2026-10-07", MAP),
    gemini("gemini-2.5-flash-lite", rates(100_000, 10_000, 400_000), LEAST, "2026-10-07", MAP),
];
