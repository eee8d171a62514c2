//! The second look: the best tools by their words, weighed by how much of their names is said, put in an order in which
//! each adds to those before it.

use std::cmp::Ordering;
use std::collections::HashMap;

use crate::answer::Second;
use crate::index::{Entry, Index, Slot, Term};
use crate::request::Request;
use crate::score::{Scale, Scores};

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
    second: Option<&Second<'_>>,
) -> Vec<Candidate<'i>> {
    let said = Said::new(request);
    let weights = &index.weights;
    let mut candidates: Vec<Candidate<'i>> = chosen(index, scores, second)
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
    if let Some(second) = second {
        blend(index, &mut candidates, second);
    }
    candidates.sort_by(|a, b| order((a.score, a.entry), (b.score, b.entry)));
    candidates
}

/// The best by words, and the best of the second opinion.
fn chosen<'i>(index: &'i Index, scores: &Scores, second: Option<&Second<'_>>) -> Vec<(f32, Slot, &'i Entry)> {
    let mut chosen: Vec<(f32, Slot, &Entry)> = index
        .entries()
        .map(|(slot, entry)| (scores.of(index, slot, entry), slot, entry))
        .filter(|(score, ..)| *score > 0.0)
        .collect();
    let by_score = |a: &(f32, Slot, &Entry), b: &(f32, Slot, &Entry)| order((a.0, a.2), (b.0, b.2));
    best(&mut chosen, by_score);
    if let Some(second) = second {
        let mut others: Vec<(f32, Slot, &Entry)> = second
            .scores
            .iter()
            .filter_map(|&(id, score)| {
                index.slot(id).and_then(|slot| Some((score, slot, index.entry(slot)?)))
            })
            .collect();
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

/// Mixes a second opinion in: both are brought to the scale of 0 (as good as any) to 1 (the best).
fn blend(index: &Index, candidates: &mut [Candidate<'_>], second: &Second<'_>) {
    let known: HashMap<Slot, f32> =
        second.scores.iter().filter_map(|&(id, score)| Some((index.slot(id)?, score))).collect();
    let top = known.values().copied().fold(f32::MIN, f32::max);
    let mut sorted: Vec<f32> = known.values().copied().collect();
    sorted.sort_by(f32::total_cmp);
    let usual = sorted.get(sorted.len() / 2).copied().unwrap_or_default();
    let span = (top - usual).max(f32::EPSILON);
    let lexical = candidates.iter().map(|candidate| candidate.score).fold(f32::EPSILON, f32::max);
    for candidate in candidates {
        let other = known.get(&candidate.slot).map_or(0.0, |score| ((score - usual) / span).max(0.0));
        candidate.score = (1.0 - second.share) * candidate.score + second.share * other * lexical;
    }
}

/// Puts candidates in the order in which they are shown: a word that an earlier one has answered counts less.
pub(crate) fn ordered<'i>(
    index: &Index,
    request: &Request,
    mut candidates: Vec<Candidate<'i>>,
    limit: usize,
) -> Vec<Candidate<'i>> {
    let mut open = vec![1.0_f32; request.concepts.len()];
    let mut ordered: Vec<Candidate<'i>> = Vec::new();
    while ordered.len() < limit {
        let score = |candidate: &Candidate<'_>| {
            let answered: f32 =
                candidate.shares.iter().zip(&open).map(|(share, open)| share * (1.0 - open)).sum();
            candidate.score - answered
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
