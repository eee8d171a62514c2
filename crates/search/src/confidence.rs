//! How likely it is that an index holds what was asked for.
//!
//! What a word proves is not what it is worth in the ranking: in a catalogue of ten tools every word is rare, and `fetch`
//! still proves nothing. So proof is taken as if the catalogue were one among many ([`Index::proof`]), and what the
//! tools at the top prove is held against what the request would have them prove.

use crate::index::{Index, Term};
use crate::rank::{Candidate, Said};
use crate::request::Request;
use crate::second::Opinion;

/// Of requests that the index could answer, one in twenty-five has less confidence than this.
pub(crate) const LEAST: f32 = 0.22;

/// How many tools are asked what they do for each intent.
const LOOKED_AT: usize = 20;

/// What the evidence counts: a logistic regression over the requests of four public sets, each asked of its own
/// catalogue, of catalogues that do not have what it asks for, and of its own without the right tools.
const BIAS: f32 = 0.033;
const WEIGHTS: [f32; 7] = [2.719, -5.089, -1.696, 0.719, -0.898, 0.809, 2.177];

/// What counts where there is a second opinion: a regression over the same requests, with the cosines of a small model.
/// First a bias, then what the words say, then how well the best of the first hits fits each intent, and the first of them
/// the whole.
const WITH_SECOND: [f32; 4] = [-1.726, 0.564, 1.209, 2.391];

/// How many hits are asked how well they fit.
const SHOWN: usize = 5;

/// The confidence, 0 to 1; 0 without candidates. It is that of even odds: as if half of all requests could be answered.
pub(crate) fn of(
    index: &Index,
    request: &Request,
    candidates: &[Candidate<'_>],
    opinion: Option<&Opinion<'_>>,
) -> f32 {
    let Some(evidence) = evidence(index, request, candidates) else { return 0.0 };
    let mut odds =
        BIAS + evidence.iter().zip(WEIGHTS).map(|(evidence, weight)| evidence * weight).sum::<f32>();
    if let Some(opinion) = opinion {
        let [bias, words, intents, whole] = WITH_SECOND;
        let (by_intent, of_whole) = fits(opinion, candidates);
        odds = bias + words * odds + intents * by_intent + whole * of_whole;
    }
    1.0 / (1.0 + (-odds).exp())
}

/// How well the best of the first hits fits each intent, on average, and the first of them the whole.
fn fits(opinion: &Opinion<'_>, candidates: &[Candidate<'_>]) -> (f32, f32) {
    let rows = || candidates.iter().take(SHOWN).map(|candidate| opinion.fits(candidate.slot));
    let sound = |fit: f32| if fit.is_finite() { fit.clamp(-1.0, 1.0) } else { 0.0 };
    let of_whole = rows().next().and_then(|row| row.first()).copied().map_or(0.0, sound);
    let intents = opinion.intents();
    let many = intents.len() as f32;
    let best = |part| rows().filter_map(|row| row.get(part).copied()).map(sound).fold(0.0, f32::max);
    (intents.map(best).sum::<f32>() / many, of_whole)
}

/// What speaks for and against, in the order of [`WEIGHTS`].
fn evidence(index: &Index, request: &Request, candidates: &[Candidate<'_>]) -> Option<[f32; 7]> {
    let top = candidates.first()?;
    let asked = asked(request, u32::MAX);
    let proven = proven(request, top, u32::MAX);

    // Intent by intent: does some tool prove what it asks for, and is it called what is asked for?
    let said = Said::new(request);
    let intents = request.intents.len().max(1);
    let (mut fits, mut best) = (0.0, 0.0_f32);
    for intent in 0..intents {
        let bit = 1 << intent;
        let of_intent = self::asked(request, bit);
        let mut fit = 0.0_f32;
        for candidate in candidates.iter().take(LOOKED_AT) {
            let proven = self::proven(request, candidate, bit);
            let name = said.share(index, &candidate.entry.name_terms, bit);
            fit = fit.max((proven / of_intent * name).sqrt());
            best = best.max(proven * (0.3 + name));
        }
        fits += fit;
    }

    let (name, server) = (proof(index, &top.entry.name_terms), proof(index, &top.entry.server_terms));
    let names = (name * top.name_said + server * top.server_said) / (name + server).max(f32::EPSILON);
    Some([
        log(proven),
        proven / asked,
        log(asked),
        names,
        log(intents as f32),
        log(best),
        fits / intents as f32,
    ])
}

fn log(value: f32) -> f32 {
    (0.3 + value).ln()
}

/// What the words of some intents would prove if a tool had them all; never 0.
fn asked(request: &Request, intents: u32) -> f32 {
    let words = request.concepts.iter().filter(|concept| concept.intents & intents != 0);
    words.map(|concept| concept.proof).sum::<f32>().max(f32::EPSILON)
}

/// What a tool proves of the words of some intents.
fn proven(request: &Request, candidate: &Candidate<'_>, intents: u32) -> f32 {
    let mut proven = 0.0;
    for (concept, share) in request.concepts.iter().zip(&candidate.shares) {
        if concept.intents & intents != 0 && concept.worth > 0.0 {
            proven += share / concept.worth * concept.proof;
        }
    }
    proven
}

/// What some terms would prove together.
fn proof(index: &Index, terms: &[Term]) -> f32 {
    let proof = |term| index.proof(index.postings(term).len(), index.lexicon.is_common(index.stem(term)));
    terms.iter().map(|&term| proof(term)).sum()
}
