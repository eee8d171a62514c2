//! GPT. Not in here, because no price was found: GPT-6.1 Luna, GPT-6.2 Terra and Luna. The `pro` models are left out as
//! well: what they charge for cached input is told in two ways. Up to GPT-5.5 a cache write costs what any input costs,
//! from GPT-5.6 on 1.25 times that.

use super::{rate, row};
use crate::book::Day;
use crate::entry::{Entry, Long, Rates};

const PAGE: &str = "https://github.com/api-evangelist/openai/blob/main/plans/openai-plans-pricing.yml (quotes the pricing page)";
const GPT_6_2: &str = "https://github.com/iyulab/TokenMeter/releases/tag/v0.17.0 (quotes the pricing page)";
const GPT_6_1_TERRA: &str =
    "https://github.com/TheKrush/PromptFuel/releases (v1.0.24, quotes the pricing page)";
const GPT_6_1_SOL: &str = "https://developers.openai.com/api/docs/models/gpt-6.1-sol";
const GPT_6: &str = "https://github.com/BerriAI/litellm/discussions/42523 (quotes the pricing page)";
const ASTRA: &str = "https://developers.openai.com/api/docs/models/gpt-6-astra";
const GPT_5_6: &str =
    "https://docs.laozhang.ai/en/announcements/gpt-5-6-pricing-2026-07.md (quotes the pricing page)";
const SOL_CUT: &str =
    "https://github.com/SergeevDmitry/llm-kit/releases/tag/usage-tab%401.2.0 (quotes the pricing page)";
const MAP: &str = "https://github.com/Wei-Shaw/model-price-repo (a mirror of litellm's model_prices_and_context_window.json)";

/// Prices of which a cache write is not one.
const fn unwritten(input: u64, read: u64, output: u64) -> Rates {
    Rates {
        input: rate(input),
        read: rate(read),
        write_5m: rate(input),
        write_1h: rate(input),
        output: rate(output),
    }
}

/// Prices with cache writes at 1.25 times the input.
const fn written(input: u64, read: u64, output: u64) -> Rates {
    let write = rate(input).times(1_250);
    Rates { input: rate(input), read: rate(read), write_5m: write, write_1h: write, output: rate(output) }
}

const fn gpt(
    model: &'static str,
    rates: Rates,
    context: u64,
    date: &'static str,
    source: &'static str,
) -> Entry {
    let mut entry = row(model, rates, date, source);
    entry.context = Some(context);
    entry.cache_minimum = Some(1_024);
    entry
}

const OVER: u64 = 272_000;

/// Prompts over 272,000 tokens cost twice the input and 1.5 times the output, all of them.
const fn doubled(mut entry: Entry) -> Entry {
    let Rates { input, read, write_5m, write_1h, output } = entry.rates;
    let rates = Rates {
        input: input.times(2_000),
        read: read.times(2_000),
        write_5m: write_5m.times(2_000),
        write_1h: write_1h.times(2_000),
        output: output.times(1_500),
    };
    entry.long = Long::Other { over: OVER, rates };
    entry
}

/// Prompts over 272,000 tokens cost more; how much was not found.
const fn dearer(mut entry: Entry) -> Entry {
    entry.long = Long::Unknown { over: OVER };
    entry
}

const fn from(mut entry: Entry, day: Day) -> Entry {
    entry.from = day;
    entry
}

const M1: u64 = 1_050_000;
const K400: u64 = 400_000;
const K1047: u64 = 1_047_576;
const K128: u64 = 128_000;

const MINI: Rates = unwritten(250_000, 25_000, 2_000_000);
const FIVE: Rates = unwritten(1_250_000, 125_000, 10_000_000);
const FIVE_TWO: Rates = unwritten(1_750_000, 175_000, 14_000_000);
const SOL_5_6: Rates = written(4_000_000, 400_000, 20_000_000);
const SOL_5_6_FIRST: Rates = written(5_000_000, 500_000, 30_000_000);

pub(super) const ROWS: &[Entry] = &[
    doubled(gpt("gpt-6.2-astra", written(8_000_000, 400_000, 40_000_000), M1, "2026-11-30", GPT_6_2)),
    doubled(gpt("gpt-6.2-sol", written(2_000_000, 100_000, 10_000_000), M1, "2026-11-30", GPT_6_2)),
    dearer(gpt("gpt-6.1-terra", written(1_000_000, 50_000, 5_000_000), M1, "2026-10-27", GPT_6_1_TERRA)),
    doubled(gpt("gpt-6.1-sol", written(2_000_000, 100_000, 10_000_000), M1, "2026-09-30", GPT_6_1_SOL)),
    dearer(gpt("gpt-6-astra", written(10_000_000, 1_000_000, 50_000_000), M1, "2026-09-07", ASTRA)),
    doubled(gpt("gpt-6-sol", written(2_000_000, 200_000, 10_000_000), M1, "2026-09-23", GPT_6)),
    doubled(gpt("gpt-6-luna", written(100_000, 10_000, 500_000), M1, "2026-09-23", GPT_6)),
    doubled(gpt("gpt-5.6", SOL_5_6_FIRST, M1, "2026-08-01", GPT_5_6)),
    from(doubled(gpt("gpt-5.6", SOL_5_6, M1, "2026-09-07", SOL_CUT)), Day::ymd(2026, 9, 3)),
    doubled(gpt("gpt-5.6-sol", SOL_5_6_FIRST, M1, "2026-08-01", GPT_5_6)),
    from(doubled(gpt("gpt-5.6-sol", SOL_5_6, M1, "2026-09-07", SOL_CUT)), Day::ymd(2026, 9, 3)),
    doubled(gpt("gpt-5.6-terra", written(2_500_000, 250_000, 15_000_000), M1, "2026-08-01", GPT_5_6)),
    from(
        doubled(gpt("gpt-5.6-terra", written(2_000_000, 200_000, 12_000_000), M1, "2026-08-01", GPT_5_6)),
        Day::ymd(2026, 7, 30),
    ),
    doubled(gpt("gpt-5.6-luna", written(1_000_000, 100_000, 6_000_000), M1, "2026-08-01", GPT_5_6)),
    from(
        doubled(gpt("gpt-5.6-luna", written(200_000, 20_000, 1_200_000), M1, "2026-08-01", GPT_5_6)),
        Day::ymd(2026, 7, 30),
    ),
    dearer(gpt("gpt-5.5", unwritten(5_000_000, 500_000, 30_000_000), M1, "2026-05-04", PAGE)),
    dearer(gpt("gpt-5.4", unwritten(2_500_000, 250_000, 15_000_000), M1, "2026-05-04", PAGE)),
    gpt("gpt-5.4-mini", unwritten(750_000, 75_000, 4_500_000), K400, "2026-05-04", PAGE),
    gpt("gpt-5.4-nano", unwritten(200_000, 20_000, 1_250_000), K400, "2026-05-04", PAGE),
    gpt("gpt-5.3-codex", FIVE_TWO, K400, "2026-09-30", MAP),
    gpt("gpt-5.2", FIVE_TWO, K400, "2026-09-30", MAP),
    gpt("gpt-5.2-codex", FIVE_TWO, K400, "2026-09-30", MAP),
    gpt("gpt-5.1", FIVE, K400, "2026-09-30", MAP),
    gpt("gpt-5.1-codex", FIVE, K400, "2026-09-30", MAP),
    gpt("gpt-5.1-codex-max", FIVE, K400, "2026-09-30", MAP),
    gpt("gpt-5.1-codex-mini", MINI, K400, "2026-09-30", MAP),
    gpt("gpt-5", FIVE, K400, "2026-09-30", MAP),
    gpt("gpt-5-codex", FIVE, K400, "2026-09-30", MAP),
    gpt("gpt-5-mini", MINI, K400, "2026-09-30", MAP),
    gpt("gpt-5-nano", unwritten(50_000, 5_000, 400_000), K400, "2026-09-30", MAP),
    gpt("gpt-4.1", unwritten(2_000_000, 500_000, 8_000_000), K1047, "2026-09-30", MAP),
    gpt("gpt-4.1-mini", unwritten(400_000, 100_000, 1_600_000), K1047, "2026-09-30", MAP),
    gpt("gpt-4.1-nano", unwritten(100_000, 25_000, 400_000), K1047, "2026-09-30", MAP),
    gpt("gpt-4o", unwritten(2_500_000, 1_250_000, 10_000_000), K128, "2026-09-30", MAP),
    gpt("gpt-4o-2024-05-13", unwritten(5_000_000, 5_000_000, 15_000_000), K128, "2026-09-30", MAP),
    gpt("gpt-4o-mini", unwritten(150_000, 75_000, 600_000), K128, "2026-09-30", MAP),
];
