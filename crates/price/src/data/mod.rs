//! The prices that are built in: data with dates and sources, and what it takes to write them down.

mod anthropic;
mod google;
mod openai;

use crate::book::Day;
use crate::entry::{Entry, Long, Rates};
use crate::money::Rate;
use std::borrow::Cow;
use std::sync::LazyLock;

/// Every row.
pub(crate) fn all() -> &'static [Entry] {
    static ALL: LazyLock<Vec<Entry>> =
        LazyLock::new(|| [anthropic::ROWS, openai::ROWS, google::ROWS].concat());
    &ALL
}

/// A price in micro-dollars for a million tokens: `2_500_000` is $2.50.
const fn rate(micro: u64) -> Rate {
    Rate::micro_usd_per_million(micro)
}

/// What else is to be said of a row, when it is not the usual.
const fn row(model: &'static str, rates: Rates, date: &'static str, source: &'static str) -> Entry {
    Entry {
        model: Cow::Borrowed(model),
        from: Day::EVER,
        rates,
        long: Long::Same,
        fast: None,
        regional: false,
        context: None,
        cache_minimum: None,
        date: Cow::Borrowed(date),
        source: Cow::Borrowed(source),
    }
}

#[cfg(test)]
mod tests {
    use super::all;
    use crate::entry::{Entry, Long};

    #[test]
    fn every_row_is_dated_sourced_and_sensible() {
        for entry in all() {
            let Entry { model, rates, date, source, .. } = entry;
            assert!(date.len() == 10 && date.starts_with("2026-"), "{model}");
            assert!(source.starts_with("https://"), "{model}");
            assert!(!model.is_empty() && model.bytes().all(|byte| !byte.is_ascii_uppercase()), "{model}");
            let lists = [Some(rates)].into_iter().chain([match &entry.long {
                Long::Other { rates, .. } => Some(rates),
                _ => None,
            }]);
            for rates in lists.flatten() {
                assert!(rates.read <= rates.input && rates.input <= rates.output, "{model}");
                assert!(rates.input <= rates.write_5m && rates.write_5m <= rates.write_1h, "{model}");
                assert!(rates.read.get() > 0, "{model}");
            }
            let rows: Vec<_> = all().iter().filter(|own| own.model == *model).collect();
            let mut days: Vec<_> = rows.iter().map(|own| own.from).collect();
            days.dedup();
            assert_eq!(days.len(), rows.len(), "two rows of one day: {model}");
        }
    }
}
