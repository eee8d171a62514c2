//! The second look: the best tools by their words, weighed by how much of their names is said, put in an order in which
//! each adds to those before it.

use std::cmp::Ordering;
use std::collections::HashMap;

use crate::index::{Entry, Index, Slot, Term};
use crate::request::Request;
use crate::score::{Scale, Scores};
use crate::second::Opinion;

/// How many tools are looked at closely.
const CLOSE: usize = 150;

/// A tool that was looked at closely.
pub(crate) struct Candidate<'i> {
    pub(crate) slot: Slot,
    pub(crate) entry: &'i Entry,
    pub(crate) score: f32,
    /// What each concept of the request is worth in it.
    pub(crate) shares: Vec<f32>,
    /// How much of its name one intent says, and of its server's name the request: 0 to 1.
    pub(crate) name_said: f32,
    pub(crate) server_said: f32,
}

/// The candidates, best first.
pub(crate) fn candidates<'i>(
    index: &'i Index,
    request: &Request,
    scale: &Scale,
    scores: &Scores,
    opinion: Option<&Opinion<'_>>,
) -> Vec<Candidate<'i>> {
    let said = Said::new(request);
    let weights = &index.weights;
    let mut candidates: Vec<Candidate<'i>> = chosen(index, scores, opinion)
        .into_iter()
        .map(|(words, slot, entry)| {
            let shares: Vec<f32> =
                request.concepts.iter().map(|concept| scale.share(index, entry, slot, concept).0).collect();
            let name_said = (0..scores.intents)
                .map(|intent| said.share(index, &entry.name_terms, 1 << intent))
                .fold(0.0, f32::max);
            let server_said = said.share(index, &entry.server_terms, u32::MAX);
            let rarity: f32 = entry.name_terms.iter().map(|&term| index.rarity(term)).sum();
            let score = words
                + weights.name * name_said
                + weights.telling_name * name_said * name_said * rarity
                + weights.server * server_said;
            Candidate { slot, entry, score, shares, name_said, server_said }
        })
        .collect();
    if let Some(opinion) = opinion {
        blend(&mut candidates, opinion);
    }
    candidates.sort_by(|a, b| order((a.score, a.entry), (b.score, b.entry)));
    candidates
}

/// The best by words, and the best of the second opinion.
fn chosen<'i>(
    index: &'i Index,
    scores: &Scores,
    opinion: Option<&Opinion<'_>>,
) -> Vec<(f32, Slot, &'i Entry)> {
    let mut chosen: Vec<(f32, Slot, &Entry)> = index
        .entries()
        .map(|(slot, entry)| (scores.of(index, slot, entry), slot, entry))
        .filter(|(score, ..)| *score > 0.0)
        .collect();
    let by_score = |a: &(f32, Slot, &Entry), b: &(f32, Slot, &Entry)| order((a.0, a.2), (b.0, b.2));
    best(&mut chosen, by_score);
    if let Some(opinion) = opinion {
        let mut others: Vec<(f32, Slot, &Entry)> =
            index.entries().map(|(slot, entry)| (opinion.score(slot), slot, entry)).collect();
        others.retain(|(score, ..)| *score > 0.0);
        best(&mut others, by_score);
        for (_, slot, entry) in others {
            if !chosen.iter().any(|(_, known, _)| *known == slot) {
                chosen.push((scores.of(index, slot, entry), slot, entry));
            }
        }
    }
    chosen
}

fn best<T>(all: &mut Vec<T>, order: impl Fn(&T, &T) -> Ordering + Copy) {
    if all.len() > CLOSE {
        all.select_nth_unstable_by(CLOSE, order);
        all.truncate(CLOSE);
    }
}

/// The higher score first; of equal scores the smaller id.
fn order(a: (f32, &Entry), b: (f32, &Entry)) -> Ordering {
    b.0.total_cmp(&a.0).then_with(|| a.1.id.cmp(&b.1.id))
}

/// Mixes a second opinion in, on the scale of the best by words.
fn blend(candidates: &mut [Candidate<'_>], opinion: &Opinion<'_>) {
    let best = candidates.iter().map(|candidate| candidate.score).fold(f32::EPSILON, f32::max);
    for candidate in candidates {
        let other = opinion.score(candidate.slot);
        candidate.score = (1.0 - opinion.share) * candidate.score + opinion.share * other * best;
    }
}

/// Puts candidates in the order in which they are shown: a word that an earlier one has answered counts less. `words` is
/// what all words count in the score.
pub(crate) fn ordered<'i>(
    index: &Index,
    request: &Request,
    mut candidates: Vec<Candidate<'i>>,
    words: f32,
    limit: usize,
) -> Vec<Candidate<'i>> {
    let mut open = vec![1.0_f32; request.concepts.len()];
    let mut ordered: Vec<Candidate<'i>> = Vec::new();
    while ordered.len() < limit {
        let score = |candidate: &Candidate<'_>| {
            let answered: f32 =
                candidate.shares.iter().zip(&open).map(|(share, open)| share * (1.0 - open)).sum();
            candidate.score - words * answered
        };
        let best = candidates
            .iter()
            .enumerate()
            .map(|(place, candidate)| (score(candidate), candidate.entry, place))
            .min_by(|a, b| order((a.0, a.1), (b.0, b.1)));
        let Some((score, _, place)) = best else { break };
        let mut candidate = candidates.swap_remove(place);
        candidate.score = score;
        for ((open, share), concept) in open.iter_mut().zip(&candidate.shares).zip(&request.concepts) {
            *open *= 1.0 - index.weights.novelty * (share / concept.worth.max(f32::EPSILON)).min(1.0);
        }
        ordered.push(candidate);
    }
    ordered
}

/// The terms that a request says, how surely, and in which intents.
pub(crate) struct Said(HashMap<Term, Vec<(u32, f32)>>);

impl Said {
    pub(crate) fn new(request: &Request) -> Self {
        let mut said: HashMap<Term, Vec<(u32, f32)>> = HashMap::new();
        for concept in &request.concepts {
            for meaning in &concept.meanings {
                said.entry(meaning.term).or_default().push((concept.intents, meaning.sure));
            }
        }
        Self(said)
    }

    /// The share of `terms`, by rarity, that some of these intents say.
    pub(crate) fn share(&self, index: &Index, terms: &[Term], intents: u32) -> f32 {
        let (mut said, mut all) = (0.0, 0.0);
        for term in terms {
            let rarity = index.rarity(*term);
            all += rarity;
            let sure = self.0.get(term).map_or(0.0, |by| {
                by.iter().filter(|(bits, _)| bits & intents != 0).map(|&(_, sure)| sure).fold(0.0, f32::max)
            });
            said += rarity * sure;
        }
        if all > 0.0 { said / all } else { 0.0 }
    }
}
