//! Claude. Not in here, because no price was found: Mythos 5.2, and Fable 5.2's least prompt that is cached.

use super::{rate, row};
use crate::book::Day;
use crate::entry::{Entry, Long, Rates};

const PRICING: &str = "https://platform.claude.com/docs/en/about-claude/pricing";
const OPUS_5: &str = "https://platform.claude.com/docs/en/models/opus-5/overview";
const OPUS_5_5: &str = "https://platform.claude.com/docs/zh-CN/models/opus-5-5/overview";
const FABLE_5_2: &str =
    "https://docs.laozhang.ai/en/announcements/claude-fable-5-2-2026-11.md (quotes the pricing page)";
const REFRESH: &str = "https://github.com/kurofune/claudit/releases/tag/v1.9.2 (quotes the pricing page)";

/// Writes cost 1.25 (five minutes) and 2 times the input; a read costs `read` thousandths of it.
const fn rates(input: u64, output: u64, read: u64) -> Rates {
    Rates {
        input: rate(input),
        read: rate(input).times(read),
        write_5m: rate(input).times(1_250),
        write_1h: rate(input).times(2_000),
        output: rate(output),
    }
}

const fn claude(
    model: &'static str,
    rates: Rates,
    context: u64,
    minimum: Option<u64>,
    date: &'static str,
    source: &'static str,
) -> Entry {
    let mut entry = row(model, rates, date, source);
    entry.context = Some(context);
    entry.cache_minimum = minimum;
    entry
}

/// A model whose fast mode has a price, and which can be kept in one region for a tenth more.
const fn fast(mut entry: Entry, factor: u64) -> Entry {
    entry.fast = Some(factor);
    entry.regional = true;
    entry
}

const fn regional(mut entry: Entry) -> Entry {
    entry.regional = true;
    entry
}

const fn long(mut entry: Entry, over: u64, rates: Rates) -> Entry {
    entry.long = Long::Other { over, rates };
    entry
}

const fn from(mut entry: Entry, day: Day) -> Entry {
    entry.from = day;
    entry
}

const M1: u64 = 1_000_000;
const K200: u64 = 200_000;

pub(super) const ROWS: &[Entry] = &[
    regional(claude("claude-fable-5-2", rates(8_000_000, 40_000_000, 25), M1, None, "2026-11-10", FABLE_5_2)),
    regional(claude(
        "claude-fable-5-1",
        rates(10_000_000, 50_000_000, 25),
        M1,
        Some(512),
        "2026-10-24",
        REFRESH,
    )),
    regional(claude(
        "claude-mythos-5-1",
        rates(10_000_000, 50_000_000, 25),
        M1,
        Some(512),
        "2026-10-24",
        REFRESH,
    )),
    regional(claude(
        "claude-fable-5",
        rates(10_000_000, 50_000_000, 100),
        M1,
        Some(512),
        "2026-10-24",
        REFRESH,
    )),
    regional(claude(
        "claude-mythos-5",
        rates(10_000_000, 50_000_000, 100),
        M1,
        Some(512),
        "2026-10-24",
        REFRESH,
    )),
    fast(
        claude("claude-opus-5-5", rates(4_000_000, 20_000_000, 50), M1, Some(512), "2026-10-24", OPUS_5_5),
        2,
    ),
    fast(claude("claude-opus-5", rates(5_000_000, 25_000_000, 100), M1, Some(512), "2026-10-24", OPUS_5), 2),
    regional(claude(
        "claude-opus-4-8",
        rates(5_000_000, 25_000_000, 100),
        M1,
        Some(1_024),
        "2026-10-24",
        PRICING,
    )),
    regional(claude(
        "claude-opus-4-7",
        rates(5_000_000, 25_000_000, 100),
        M1,
        Some(2_048),
        "2026-10-24",
        PRICING,
    )),
    regional(claude(
        "claude-opus-4-6",
        rates(5_000_000, 25_000_000, 100),
        M1,
        Some(4_096),
        "2026-10-24",
        PRICING,
    )),
    claude("claude-opus-4-5", rates(5_000_000, 25_000_000, 100), K200, Some(4_096), "2026-10-24", PRICING),
    claude("claude-opus-4-1", rates(15_000_000, 75_000_000, 100), K200, Some(1_024), "2026-10-24", PRICING),
    claude("claude-opus-4", rates(15_000_000, 75_000_000, 100), K200, Some(1_024), "2026-10-24", PRICING),
    claude("claude-opus-4-0", rates(15_000_000, 75_000_000, 100), K200, Some(1_024), "2026-10-24", PRICING),
    regional(claude("claude-sonnet-5-5", rates(2_000_000, 10_000_000, 100), M1, None, "2026-09-29", REFRESH)),
    from(
        regional(claude(
            "claude-sonnet-5-5",
            rates(2_000_000, 10_000_000, 50),
            M1,
            None,
            "2026-10-24",
            REFRESH,
        )),
        Day::ymd(2026, 10, 7),
    ),
    regional(claude(
        "claude-sonnet-5",
        rates(2_000_000, 10_000_000, 100),
        M1,
        Some(1_024),
        "2026-10-24",
        REFRESH,
    )),
    regional(claude(
        "claude-sonnet-4-6",
        rates(3_000_000, 15_000_000, 100),
        M1,
        Some(1_024),
        "2026-10-24",
        PRICING,
    )),
    long(
        claude(
            "claude-sonnet-4-5",
            rates(3_000_000, 15_000_000, 100),
            M1,
            Some(1_024),
            "2026-10-24",
            PRICING,
        ),
        K200,
        rates(6_000_000, 22_500_000, 100),
    ),
    long(
        claude("claude-sonnet-4", rates(3_000_000, 15_000_000, 100), M1, Some(1_024), "2026-10-24", PRICING),
        K200,
        rates(6_000_000, 22_500_000, 100),
    ),
    claude("claude-3-7-sonnet", rates(3_000_000, 15_000_000, 100), K200, Some(1_024), "2026-10-24", PRICING),
    long(
        regional(claude("claude-haiku-5-5", rates(100_000, 500_000, 100), M1, None, "2026-10-24", REFRESH)),
        100_000,
        rates(500_000, 2_500_000, 100),
    ),
    claude("claude-haiku-4-5", rates(1_000_000, 5_000_000, 100), K200, Some(4_096), "2026-10-24", PRICING),
    claude("claude-3-5-haiku", rates(800_000, 4_000_000, 100), K200, Some(2_048), "2026-10-24", PRICING),
];
