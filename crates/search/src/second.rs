//! A second opinion: how well tools fit a request by another measure than its words, such as what a model of meaning
//! thinks of both.

use crate::index::{Index, Slot};
use crate::words;

/// What the best tool of a tool's own server counts, beside the tool itself.
const SERVER: f32 = 0.4;

/// How well tools fit a request and its intents, by another measure than its words.
#[derive(Debug, Clone, Copy)]
pub struct Second<'s> {
    /// The tools. Ids that are not in the index are passed over.
    pub ids: &'s [&'s str],
    /// How well each fits each of [`Index::parts`], in their order; tool by tool. Cosines, or anything that is about 0
    /// for what has nothing to do with each other and 1 for one and the same.
    pub fits: &'s [f32],
    /// What it counts, 0 (nothing) to 1 (everything).
    pub share: f32,
}

impl Second<'_> {
    /// The share that a small model of meaning is given. It was found on four public sets of requests as the middle of
    /// a wide plain: half of it or one and a half times as much find nearly the same.
    pub const SHARE: f32 = 0.45;
}

impl Index {
    /// The texts for which a [`Second`] is asked: the request as a whole, then each of its intents.
    #[must_use]
    pub fn parts(&self, request: &str) -> Vec<String> {
        let mut parts = vec![words::normalised(request).trim().to_owned()];
        parts.extend(self.intents(request));
        parts
    }
}

/// A second opinion, brought to the slots of an index.
pub(crate) struct Opinion<'s> {
    pub(crate) share: f32,
    /// Numbers in a row of fits.
    parts: usize,
    fits: &'s [f32],
    /// By slot: the place of its row, where there is one.
    rows: Vec<Option<usize>>,
    /// By slot: the opinion, 0 (as good as any) to a little above 1 (the best).
    scores: Vec<f32>,
}

impl<'s> Opinion<'s> {
    /// `None` where the second has nothing to say of this index.
    pub(crate) fn new(index: &Index, second: &Second<'s>) -> Option<Self> {
        let parts = second.fits.len().checked_div(second.ids.len()).filter(|parts| *parts > 0)?;
        let mut rows = vec![None; index.slot_bound()];
        for (row, id) in second.ids.iter().enumerate() {
            if let Some(slot) = index.slot(id) {
                rows[slot as usize] = Some(row);
            }
        }
        let share = if second.share.is_finite() { second.share.clamp(0.0, 1.0) } else { 0.0 };
        let mut opinion = Self { share, parts, fits: second.fits, rows, scores: Vec::new() };
        opinion.scores = opinion.scored(index)?;
        Some(opinion)
    }

    /// How well a tool fits each part; empty where nothing is known of it.
    pub(crate) fn fits(&self, slot: Slot) -> &'s [f32] {
        let row = self.rows.get(slot as usize).copied().flatten();
        row.and_then(|row| self.fits.get(row * self.parts..(row + 1) * self.parts)).unwrap_or_default()
    }

    /// The parts that are intents: all but the first, which is the whole; that one where there is no other.
    pub(crate) fn intents(&self) -> std::ops::Range<usize> {
        1.min(self.parts - 1)..self.parts
    }

    /// How well a tool fits one part.
    fn fit(&self, slot: Slot, part: usize) -> Option<f32> {
        self.fits(slot).get(part).copied().filter(|fit| fit.is_finite())
    }

    /// What is thought of a tool.
    pub(crate) fn score(&self, slot: Slot) -> f32 {
        self.scores.get(slot as usize).copied().unwrap_or_default()
    }

    /// The whole, the best intent and the mean of the intents count alike; then what the server can do for all of them.
    fn scored(&self, index: &Index) -> Option<Vec<f32>> {
        let slots: Vec<Slot> =
            index.entries().map(|(slot, _)| slot).filter(|slot| !self.fits(*slot).is_empty()).collect();
        if slots.is_empty() {
            return None;
        }
        let bound = index.slot_bound();
        let (mut whole, mut best, mut sum) =
            (vec![0.0_f32; bound], vec![0.0_f32; bound], vec![0.0_f32; bound]);
        let mut servers = vec![0.0_f32; index.server_bound()];
        let intents = self.intents();
        for part in 0..self.parts {
            let Some(scale) = self.scale(&slots, part) else { continue };
            let mut of_servers = vec![0.0_f32; servers.len()];
            for &slot in &slots {
                let score = self.fit(slot, part).map_or(0.0, |fit| scale.of(fit));
                let place = slot as usize;
                if part == 0 {
                    whole[place] = score;
                }
                if intents.contains(&part) {
                    best[place] = best[place].max(score);
                    sum[place] += score;
                    if let Some(entry) = index.entry(slot) {
                        let of_server = &mut of_servers[entry.server as usize];
                        *of_server = of_server.max(score);
                    }
                }
            }
            servers.iter_mut().zip(of_servers).for_each(|(all, one)| *all += one);
        }
        let many = intents.len() as f32;
        let mut scores = vec![0.0_f32; bound];
        for &slot in &slots {
            let place = slot as usize;
            scores[place] = whole[place] + best[place] + sum[place] / many;
        }
        let top = scores.iter().copied().fold(f32::EPSILON, f32::max);
        for (slot, entry) in index.entries() {
            let place = slot as usize;
            scores[place] = scores[place] / top + SERVER * servers[entry.server as usize] / many;
        }
        Some(scores)
    }

    /// The scale of one part: 0 is what the middle one of all tools has, 1 the best.
    fn scale(&self, slots: &[Slot], part: usize) -> Option<Stretch> {
        let mut fits: Vec<f32> = slots.iter().filter_map(|slot| self.fit(*slot, part)).collect();
        let middle = fits.len() / 2;
        if fits.is_empty() {
            return None;
        }
        let (_, usual, above) = fits.select_nth_unstable_by(middle, f32::total_cmp);
        let usual = *usual;
        let best = above.iter().copied().fold(usual, f32::max);
        Some(Stretch { usual, span: (best - usual).max(f32::EPSILON) })
    }
}

struct Stretch {
    usual: f32,
    span: f32,
}

impl Stretch {
    fn of(&self, fit: f32) -> f32 {
        ((fit - self.usual) / self.span).clamp(0.0, 1.0)
    }
}
