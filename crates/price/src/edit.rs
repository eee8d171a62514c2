//! When it pays to edit what is already in the cache.
//!
//! Taking ΔT tokens out of a prompt in whose cache S tokens stand behind them saves their write and all later reads, and
//! costs that what stands behind is written again. With R requests from the edit on (the one that carries it is the
//! first), write and read prices w and r, and P the probability that the cache is still alive:
//!
//! `gain = ΔT·(w + r·(R−1)) − P·(w−r)·(S+ΔT)`

use crate::entry::Rates;

/// An edit of what was sent before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edit {
    /// Tokens that it takes out: ΔT.
    pub removed: u64,
    /// Tokens in the cache that stand behind it: S.
    pub behind: u64,
    /// How probable it is that the cache is alive, in millionths: P. More than a million counts as one.
    pub alive: u32,
    /// Whether the cache is written for an hour; else for five minutes.
    pub hour: bool,
}

const ONE: i128 = 1_000_000;

impl Edit {
    /// What is gained over `requests` requests, the one that carries the edit included, in 10⁻¹⁸ dollars; exact. Negative:
    /// it costs that much. Saturates.
    #[must_use]
    pub fn gain(&self, rates: &Rates, requests: u64) -> i128 {
        let (write, read) = self.prices(rates);
        let reads = i128::from(requests.saturating_sub(1));
        let saved = read.saturating_mul(reads).saturating_add(write).saturating_mul(i128::from(self.removed));
        saved.saturating_mul(ONE).saturating_sub(self.penalty(write, read))
    }

    /// The fewest requests, the one that carries the edit included, over which it costs nothing: 1 when it pays at once,
    /// `None` when it never does.
    #[must_use]
    pub fn break_even(&self, rates: &Rates) -> Option<u64> {
        let (write, read) = self.prices(rates);
        let removed = i128::from(self.removed);
        let missing =
            self.penalty(write, read).saturating_sub(removed.saturating_mul(write).saturating_mul(ONE));
        if missing <= 0 {
            return Some(1);
        }
        let each = removed.saturating_mul(read).saturating_mul(ONE);
        if each == 0 {
            return None;
        }
        let reads = missing / each + i128::from(missing % each > 0);
        u64::try_from(reads).ok()?.checked_add(1)
    }

    fn prices(&self, rates: &Rates) -> (i128, i128) {
        (i128::from(rates.write(self.hour).get()), i128::from(rates.read.get()))
    }

    /// What the rewriting costs, times a million.
    fn penalty(&self, write: i128, read: i128) -> i128 {
        let again = i128::from(self.behind) + i128::from(self.removed);
        let alive = i128::from(self.alive).min(ONE);
        (write - read).max(0).saturating_mul(again).saturating_mul(alive)
    }
}
