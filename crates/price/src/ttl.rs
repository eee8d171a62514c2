//! When it pays to have a conversation cached for an hour and not for five minutes.
//!
//! Entries that live for an hour cost more to write (w₆₀) than those of five minutes (w₅), and are read (r) behind pauses
//! behind which the others have to be written again. Over the requests of a conversation:
//!
//! `gain = again·(w₅−r) − written·(w₆₀−w₅)`

use crate::entry::Rates;

/// For how long entries live that are written for the shorter and for the longer time, in milliseconds.
const FIVE_MINUTES: u64 = 300_000;
const HOUR: u64 = 3_600_000;

/// What the pauses of a conversation have come to, in tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pauses {
    /// What was cached and would have been read behind pauses of more than five minutes and up to an hour, each time.
    pub again: u64,
    /// What would have been written for an hour: what came new with each request, and all of it behind longer pauses.
    pub written: u64,
}

impl Pauses {
    /// A request of `tokens` came `pause` milliseconds after the one before it, which had `before`; the first with none
    /// before it.
    pub fn take(&mut self, before: Option<(u64, u64)>, tokens: u64) {
        let (pause, before) = before.unwrap_or((u64::MAX, 0));
        let read = before.min(tokens);
        if pause > HOUR {
            self.written = self.written.saturating_add(tokens);
            return;
        }
        if pause > FIVE_MINUTES {
            self.again = self.again.saturating_add(read);
        }
        self.written = self.written.saturating_add(tokens - read);
    }

    /// What an hour's entries would have saved up to now, in trillionths of a dollar. Negative: they would have cost that
    /// much. Saturates.
    #[must_use]
    pub fn gain(&self, rates: &Rates) -> i128 {
        let [short, long, read] =
            [rates.write_5m, rates.write_1h, rates.read].map(|rate| i128::from(rate.get()));
        let saved = i128::from(self.again).saturating_mul(short - read);
        saved.saturating_sub(i128::from(self.written).saturating_mul(long - short))
    }

    /// Whether a conversation that goes on as it did should be cached for an hour from now on: what that would have saved
    /// pays for writing its `tokens` for an hour once.
    #[must_use]
    pub fn hour_pays(&self, rates: &Rates, tokens: u64) -> bool {
        Self { written: self.written.saturating_add(tokens), ..*self }.gain(rates) > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rate;

    const MINUTE: u64 = 60_000;

    /// Read 0.1, written 1.25 and 2.
    fn rates() -> Rates {
        let rate = Rate::micro_usd_per_million;
        Rates {
            input: rate(1_000_000),
            read: rate(100_000),
            write_5m: rate(1_250_000),
            write_1h: rate(2_000_000),
            output: rate(5_000_000),
        }
    }

    fn paused(pauses: &[u64]) -> Pauses {
        let mut own = Pauses::default();
        own.take(None, 10_000);
        for pause in pauses {
            own.take(Some((*pause, 10_000)), 10_000);
        }
        own
    }

    #[test]
    fn money_is_worked_out_by_hand() {
        // 10,000 written at first; 10,000 twice read and not written: 2 · 10,000 · 1.15 − 10,000 · 0.75.
        let own = paused(&[10 * MINUTE, 59 * MINUTE]);
        assert_eq!(own, Pauses { again: 20_000, written: 10_000 });
        assert_eq!(own.gain(&rates()), 23_000_000_000 - 7_500_000_000);
        assert!(own.hour_pays(&rates(), 10_000));
    }

    #[test]
    fn one_pause_is_not_enough_and_pauses_of_another_length_do_not_count() {
        for pauses in [&[][..], &[10 * MINUTE], &[MINUTE; 50], &[2 * HOUR; 5], &[5 * MINUTE; 5]] {
            assert!(!paused(pauses).hour_pays(&rates(), 10_000), "{pauses:?}");
        }
        // Longer ones cost: all is written again, and for an hour.
        assert!(!paused(&[10 * MINUTE, 2 * HOUR, 10 * MINUTE, 2 * HOUR]).hour_pays(&rates(), 10_000));
    }

    #[test]
    fn nothing_overflows() {
        let own = Pauses { again: u64::MAX, written: u64::MAX };
        assert!(own.gain(&rates()) > 0 && !Pauses { again: 0, ..own }.hour_pays(&rates(), u64::MAX));
    }
}
