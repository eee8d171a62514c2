//! The first look: what the words of a request are worth in every tool, for the whole request and intent by intent.

use crate::index::{Entry, Index, Posting, Slot};
use crate::request::{Concept, Request};
use crate::tool::{FIELDS, Field};

/// How counts become scores: each field weighs, and long fields weigh less.
pub(crate) struct Scale {
    weights: [f32; FIELDS],
    base: [f32; FIELDS],
    slope: [f32; FIELDS],
    saturation: f32,
}

impl Scale {
    pub(crate) fn new(index: &Index) -> Self {
        let weights = &index.weights;
        let mut slope = weights.length;
        for (field, slope) in slope.iter_mut().enumerate() {
            *slope /= index.mean(field);
        }
        Self {
            weights: weights.fields,
            base: weights.length.map(|length| 1.0 - length),
            slope,
            saturation: weights.saturation,
        }
    }

    /// What a term counts in one field.
    fn in_field(&self, entry: &Entry, posting: &Posting, field: usize) -> f32 {
        let long = self.base[field] + self.slope[field] * f32::from(entry.lengths[field]);
        self.weights[field] * f32::from(posting.counts[field]) / long.max(f32::EPSILON)
    }

    /// What a term counts in a tool, of its worth: 0 to 1.
    pub(crate) fn in_tool(&self, entry: &Entry, posting: &Posting) -> f32 {
        let mut sum = 0.0;
        for field in 0..FIELDS {
            if posting.counts[field] > 0 {
                sum += self.in_field(entry, posting, field);
            }
        }
        sum / (self.saturation + sum)
    }

    /// The field in which a term counts most.
    pub(crate) fn strongest(&self, entry: &Entry, posting: &Posting) -> Field {
        let mut best = (Field::Name, 0.0);
        for field in Field::ALL {
            let count = self.in_field(entry, posting, field as usize);
            if count > best.1 {
                best = (field, count);
            }
        }
        best.0
    }

    /// What a concept is worth in one tool, with the place of the meaning that it takes there.
    pub(crate) fn share(&self, index: &Index, entry: &Entry, slot: Slot, concept: &Concept) -> (f32, usize) {
        let mut best = (0.0, 0);
        for (place, meaning) in concept.meanings.iter().enumerate() {
            if let Some(posting) = index.posting(meaning.term, slot) {
                let share = meaning.worth * self.in_tool(entry, posting);
                if share > best.0 {
                    best = (share, place);
                }
            }
        }
        best
    }
}

/// The scores of all tools, by slot.
pub(crate) struct Scores {
    /// Intents told apart.
    pub(crate) intents: usize,
    whole: Vec<f32>,
    by_intent: Vec<f32>,
    /// By server: what its tools together do for all intents.
    support: Vec<f32>,
}

impl Scores {
    pub(crate) fn new(index: &Index, request: &Request, scale: &Scale) -> Self {
        let slots = index.slot_bound();
        let intents = request.intents.len().max(1);
        let mut whole = vec![0.0_f32; slots];
        let mut by_intent = vec![0.0_f32; slots * intents];
        let mut best = vec![0.0_f32; slots];
        let mut touched: Vec<Slot> = Vec::new();
        for concept in &request.concepts {
            for meaning in &concept.meanings {
                for posting in index.postings(meaning.term) {
                    let Some(entry) = index.entry(posting.slot) else { continue };
                    let share = meaning.worth * scale.in_tool(entry, posting);
                    let best = &mut best[posting.slot as usize];
                    if *best == 0.0 {
                        touched.push(posting.slot);
                    }
                    *best = best.max(share);
                }
            }
            for slot in touched.drain(..) {
                let share = std::mem::take(&mut best[slot as usize]);
                whole[slot as usize] += share;
                let mut bits = concept.intents;
                while bits != 0 {
                    by_intent[slot as usize * intents + bits.trailing_zeros() as usize] += share;
                    bits &= bits - 1;
                }
            }
        }
        let mut most = vec![0.0_f32; index.server_bound() * intents];
        for (slot, entry) in index.entries() {
            let of_server = &mut most[entry.server as usize * intents..][..intents];
            for (most, score) in of_server.iter_mut().zip(&by_intent[slot as usize * intents..]) {
                *most = most.max(*score);
            }
        }
        let support = most.chunks(intents).map(|intents| intents.iter().sum()).collect();
        Self { intents, whole, by_intent, support }
    }

    /// The score of one tool by the words alone; 0 when it has none of them.
    pub(crate) fn of(&self, index: &Index, slot: Slot, entry: &Entry) -> f32 {
        let whole = self.whole[slot as usize];
        if whole == 0.0 {
            return 0.0;
        }
        let best = self.in_intents(slot).iter().copied().fold(0.0, f32::max);
        let weights = &index.weights;
        weights.whole * whole + weights.intent * best + weights.support * self.support[entry.server as usize]
    }

    /// What one tool is worth for each intent.
    pub(crate) fn in_intents(&self, slot: Slot) -> &[f32] {
        &self.by_intent[slot as usize * self.intents..][..self.intents]
    }
}
