//! The book and its arithmetic.

#![allow(clippy::expect_used, reason = "a test says what is wrong by failing")]

use deadweight_price::cost::cost;
use deadweight_price::edit::Edit;
use deadweight_price::{Book, Cost, Day, Entry, Long, Money, Rate, Rates, Terms};
use deadweight_wire::usage::Counters;
use proptest::prelude::*;

const TODAY: Day = Day::ymd(2026, 12, 1);

fn find(model: &str, on: Day) -> Option<Entry> {
    Book::new().find(model, on).cloned()
}

fn opus() -> Entry {
    find("claude-opus-4-6", TODAY).expect("a row")
}

fn dollars(input: Option<Cost>) -> String {
    input.expect("a price").total().to_string()
}

const TERMS: Terms<'static> = Terms { tier: None, speed: None, region: None };

#[test]
fn a_response_costs_what_its_parts_cost() {
    let counters = Counters {
        input_uncached: Some(1_000),
        cache_read: Some(100_000),
        cache_write_5m: Some(10_000),
        cache_write_1h: Some(2_000),
        output: Some(500),
        ..Counters::default()
    };
    let got = cost(&opus(), &counters, &TERMS).expect("a price");
    assert_eq!(got.uncached.nano(), 5_000_000);
    assert_eq!(got.read.nano(), 50_000_000);
    assert_eq!(got.write_5m.nano(), 62_500_000);
    assert_eq!(got.write_1h.nano(), 20_000_000);
    assert_eq!(got.output.map(Money::nano), Some(12_500_000));
    assert_eq!(got.total().to_string(), "$0.15");
    // 1,000 + 100,000·0.1 + 10,000·1.25 + 2,000·2
    assert_eq!(got.equivalents, Some(27_500));
    assert_eq!(got.without_cache.nano(), 565_000_000);
}

#[test]
fn what_is_not_known_is_not_zero() {
    assert_eq!(find("claude-mythos-5-2", TODAY), None);
    assert_eq!(find("claude-opus-4-9", TODAY), None);
    assert_eq!(find("", TODAY), None);
    assert_eq!(cost(&opus(), &Counters::default(), &TERMS), None);
    let prompt = Counters { input_uncached: Some(10), ..Counters::default() };
    let got = cost(&opus(), &prompt, &TERMS).expect("a price");
    assert_eq!(got.output, None);
    for terms in [
        Terms { tier: Some("priority"), ..TERMS },
        Terms { tier: Some("PROVISIONED_THROUGHPUT"), ..TERMS },
        Terms { speed: Some("fast"), ..TERMS },
        Terms { speed: Some("warp"), ..TERMS },
    ] {
        assert_eq!(cost(&opus(), &prompt, &terms), None, "{terms:?}");
    }
    let terra = find("gpt-6.1-terra", TODAY).expect("a row");
    assert_eq!(terra.long, Long::Unknown { over: 272_000 });
    let long = Counters { input_uncached: Some(272_001), ..Counters::default() };
    assert_eq!(cost(&terra, &long, &TERMS), None);
    assert_eq!(terra.miss(10, false, 272_001), None);
}

#[test]
fn a_prompt_that_only_came_as_one_number_is_priced_at_most() {
    let gemini = find("gemini-2.5-pro", TODAY).expect("a row");
    let counters = Counters { total_prompt: Some(1_000_000), tool_prompt: Some(0), ..Counters::default() };
    // Over 200,000 tokens.
    assert_eq!(dollars(cost(&gemini, &counters, &TERMS)), "$2.50");
    let counters = Counters { total_prompt: Some(200_000), ..Counters::default() };
    assert_eq!(dollars(cost(&gemini, &counters, &TERMS)), "$0.25");
}

#[test]
fn long_prompts_count_with_all_their_parts() {
    let haiku = find("claude-haiku-5-5", TODAY).expect("a row");
    let at = |read| Counters {
        input_uncached: Some(50_000),
        cache_read: Some(read),
        output: Some(1_000),
        ..Counters::default()
    };
    // 50,000·0.10 + 50,000·0.01 + 1,000·0.50, in millionths.
    assert_eq!(cost(&haiku, &at(50_000), &TERMS).map(|cost| cost.total().nano()), Some(6_000_000));
    // 50,000·0.50 + 50,001·0.05 + 1,000·2.50.
    assert_eq!(cost(&haiku, &at(50_001), &TERMS).map(|cost| cost.total().nano()), Some(30_000_050));
}

#[test]
fn terms_change_the_price() {
    let counters = Counters { input_uncached: Some(1_000_000), ..Counters::default() };
    let entry = find("claude-opus-5-5", TODAY).expect("a row");
    let at = |terms: Terms<'_>| dollars(cost(&entry, &counters, &terms));
    assert_eq!(at(TERMS), "$4.00");
    assert_eq!(at(Terms { tier: Some("standard"), region: Some("global"), ..TERMS }), "$4.00");
    assert_eq!(at(Terms { tier: Some("batch"), ..TERMS }), "$2.00");
    assert_eq!(at(Terms { speed: Some("fast"), ..TERMS }), "$8.00");
    assert_eq!(at(Terms { region: Some("us"), ..TERMS }), "$4.40");
}

#[test]
fn prices_change_on_their_day() {
    let read = |day| find("claude-sonnet-5-5", day).map(|entry| entry.rates.read.get());
    assert_eq!(read(Day::ymd(2026, 10, 6)), Some(200_000));
    assert_eq!(read(Day::ymd(2026, 10, 7)), Some(100_000));
    let input = |day| find("gemini-3.8-flash", day).map(|entry| entry.rates.input.get());
    assert_eq!(input(TODAY), Some(750_000));
    assert_eq!(input(Day::LAST), Some(1_500_000));
    assert_eq!(input(Day::EVER), Some(750_000));
}

#[test]
fn a_version_with_a_price_of_its_own_is_found_by_its_date() {
    let input = |model: &str| find(model, TODAY).map(|entry| entry.rates.input.get());
    assert_eq!(input("gpt-4o-2024-05-13"), Some(5_000_000));
    assert_eq!(input("gpt-4o-2024-08-06"), Some(2_500_000));
    assert_eq!(input("us.anthropic.claude-sonnet-4-5-20250929-v1:0"), Some(3_000_000));
}

#[test]
fn a_users_prices_come_first() {
    let rate = |text| Rate::from_usd_per_million(text).expect("a price");
    let entry = |model: &str, input| {
        Entry::of_user(model.into(), rate(input), rate("9"), None, Some(rate("3")), "2026-11-20".into())
    };
    let book = Book::with(vec![
        entry("claude-*", "7"),
        entry("claude-opus-4-6", "1"),
        entry("mine/Model-X", "2"),
        entry("other", "5"),
        entry("other", "6"),
    ]);
    let input = |model| book.find(model, TODAY).map(|entry| entry.rates.input.get());
    assert_eq!(input("claude-opus-4-6-20260205"), Some(1_000_000));
    assert_eq!(input("claude-opus-4-5"), Some(7_000_000));
    assert_eq!(input("model-x"), Some(2_000_000));
    assert_eq!(input("other"), Some(6_000_000));
    assert_eq!(input("gpt-5"), Some(1_250_000));
    let own = book.find("other", TODAY).expect("an entry");
    assert_eq!((own.rates.read, own.rates.write_1h), (rate("6"), rate("3")));
    assert_eq!((&*own.date, &*own.source), ("2026-11-20", "your settings"));
}

#[test]
fn a_miss_costs_the_write_less_the_read() {
    // 412,000 tokens at 1.25 − 0.1 of $5.
    assert_eq!(opus().miss(412_000, false, 500_000).map(|money| money.to_string()).as_deref(), Some("$2.37"));
    assert_eq!(
        opus().miss(1_000_000, true, 500_000).map(|money| money.to_string()).as_deref(),
        Some("$9.50")
    );
}

#[test]
fn an_edit_pays_after_so_many_requests() {
    let edit = |removed, behind| Edit { removed, behind, alive: 1_000_000, hour: false };
    let rates = opus().rates;
    // 2,000 tokens under a warm suffix of 50,000: 287.5 requests; 50,000 under 10,000: 2.3.
    assert_eq!(edit(2_000, 50_000).break_even(&rates), Some(288));
    assert!(edit(2_000, 50_000).gain(&rates, 287) < 0 && edit(2_000, 50_000).gain(&rates, 288) >= 0);
    assert_eq!(edit(50_000, 10_000).break_even(&rates), Some(3));
    // At the end of the history, or when the cache is gone, it pays at once.
    assert_eq!(edit(2_000, 0).break_even(&rates), Some(1));
    assert_eq!(Edit { alive: 0, ..edit(2_000, 50_000) }.break_even(&rates), Some(1));
    assert_eq!(edit(0, 50_000).break_even(&rates), None);
    assert_eq!(edit(0, 0).break_even(&rates), Some(1));
    // What reads for a fortieth takes all the longer.
    let fable = find("claude-fable-5-1", TODAY).expect("a row").rates;
    assert_eq!(edit(2_000, 50_000).break_even(&fable), Some(1_225));
}

proptest! {
    #[test]
    fn the_break_even_is_where_the_gain_turns(
        removed in 1u64..2_000_000, behind in 0u64..2_000_000, alive in 0u32..=1_000_000, hour: bool,
        which in 0..Book::built_in().len(),
    ) {
        let rates = &Book::built_in()[which].rates;
        let edit = Edit { removed, behind, alive, hour };
        let at = edit.break_even(rates).expect("what is removed is not read again");
        prop_assert!(edit.gain(rates, at) >= 0);
        prop_assert!(at == 1 || edit.gain(rates, at - 1) < 0);
    }

    #[test]
    fn sums_are_exact_and_nothing_overflows(
        parts in prop::array::uniform6(prop_oneof![0u64..10_000_000, any::<u64>()]), which in 0..Book::built_in().len(),
    ) {
        let [uncached, read, write_5m, write_1h, output, extra] = parts;
        let counters = Counters {
            input_uncached: Some(uncached), cache_read: Some(read), cache_write_5m: Some(write_5m),
            cache_write_1h: Some(write_1h), output: Some(output), tool_prompt: Some(extra), ..Counters::default()
        };
        if let Some(cost) = cost(&Book::built_in()[which], &counters, &TERMS) {
            prop_assert_eq!(cost.total().pico(), cost.input().pico() + cost.output.map_or(0, Money::pico));
            let _ = (cost.total().nano(), cost.total().to_string());
        }
        let rates = Rates::plain(Rate::micro_usd_per_million(u64::MAX), Rate::micro_usd_per_million(u64::MAX));
        let edit = Edit { removed: uncached, behind: read, alive: u32::MAX, hour: true };
        let _ = (edit.gain(&rates, output), edit.break_even(&rates));
    }

    #[test]
    fn any_id_can_be_asked_for(id in "\\PC{0,40}", tail in "(-20[0-9]{6}|-v1:0|\\[1m\\]|@latest|/|\\*)?") {
        let _ = Book::new().find(&format!("{id}{tail}"), TODAY);
        let _ = Book::with(vec![Entry::of_user(id.clone(), Rate::default(), Rate::default(), None, None, String::new())])
            .find(&tail, TODAY);
    }

    #[test]
    fn what_is_found_is_what_was_asked_for(which in 0..Book::built_in().len(), cloud in 0..5usize) {
        let entry = &Book::built_in()[which];
        let id = match cloud {
            0 => entry.model.to_string(),
            1 => format!("vendor/{}", entry.model),
            2 => entry.model.to_uppercase(),
            3 => format!("{}@20261101", entry.model),
            _ => format!("{}[1m]", entry.model),
        };
        let found = find(&id, entry.from).expect("a row");
        prop_assert_eq!(&found, entry);
    }
}
