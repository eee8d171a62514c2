//! How likely it is that an index holds what was asked for.
//!
//! What a word proves is not what it is worth in the ranking: in a catalogue of ten tools every word is rare, and `fetch`
//! still proves nothing. So proof is taken as if the catalogue were one among many ([`Index::proof`]), and what the
//! tools at the top prove is held against what the request would have them prove.

use crate::index::Index;
use crate::rank::Candidate;
use crate::request::Request;

/// Of requests that the index could answer, one in twenty-five has less confidence than this.
pub(crate) const LEAST: f32 = 0.2;

/// How many tools are asked what they do for each intent.
const LOOKED_AT: usize = 20;
/// How many tools are looked through for others of the best one's server.
const OF_SERVER: usize = 50;

/// What speaks for and against, with its weight: a logistic regression over the requests of four public sets, each asked
/// of its own catalogue, of catalogues that do not have what it asks for, and of its own without the right tools.
const BIAS: f32 = -3.089;
const PROVEN: f32 = 1.843;
const PROVEN_PART: f32 = -6.168;
const SERVER_PART: f32 = 2.419;
const INTENTS_PART: f32 = 3.908;
const ASKED: f32 = -0.937;
const NAMES: f32 = 1.631;
const INTENTS: f32 = -0.517;
const BEST_INTENT: f32 = 0.821;

/// The confidence, 0 to 1; 0 without candidates. It is that of even odds: as if half of all requests could be answered.
pub(crate) fn of(index: &Index, request: &Request, candidates: &[Candidate<'_>]) -> f32 {
    let Some(top) = candidates.first() else { return 0.0 };
    let proofs = Proofs { request };
    let asked: f32 = request.concepts.iter().map(|concept| concept.proof).sum::<f32>().max(f32::EPSILON);
    let proven = proofs.together(&[top], u32::MAX);
    let same_server: Vec<&Candidate<'_>> = candidates
        .iter()
        .take(OF_SERVER)
        .filter(|candidate| candidate.entry.server == top.entry.server)
        .collect();
    let by_server = proofs.together(&same_server, u32::MAX);

    let intents = request.intents.len().max(1);
    let (mut parts, mut best) = (0.0, 0.0_f32);
    for intent in 0..intents {
        let bit = 1 << intent;
        let asked: f32 = request.concepts.iter().filter(|c| c.intents & bit != 0).map(|c| c.proof).sum();
        let proven = candidates
            .iter()
            .take(LOOKED_AT)
            .map(|candidate| proofs.together(&[candidate], bit))
            .fold(0.0, f32::max);
        parts += proven / asked.max(f32::EPSILON);
        best = best.max(proven);
    }

    let (name, server) = (proof(index, &top.entry.name_terms), proof(index, &top.entry.server_terms));
    let names = (name * top.name_said + server * top.server_said) / (name + server).max(f32::EPSILON);

    let odds = BIAS
        + PROVEN * log(proven)
        + PROVEN_PART * proven / asked
        + SERVER_PART * by_server / asked
        + INTENTS_PART * parts / intents as f32
        + ASKED * log(asked)
        + NAMES * names
        + INTENTS * log(intents as f32)
        + BEST_INTENT * log(best);
    1.0 / (1.0 + (-odds).exp())
}

fn log(value: f32) -> f32 {
    (0.3 + value).ln()
}

/// What some terms would prove together.
fn proof(index: &Index, terms: &[u32]) -> f32 {
    terms
        .iter()
        .map(|&term| index.proof(index.postings(term).len(), index.lexicon.is_common(index.stem(term))))
        .sum()
}

struct Proofs<'r> {
    request: &'r Request,
}

impl Proofs<'_> {
    /// What candidates prove together of the words of some intents: for each word, the one that proves it best.
    fn together(&self, candidates: &[&Candidate<'_>], intents: u32) -> f32 {
        let mut sum = 0.0;
        for (place, concept) in self.request.concepts.iter().enumerate() {
            if concept.intents & intents != 0 && concept.worth > 0.0 {
                let best = candidates.iter().map(|candidate| candidate.shares[place]).fold(0.0, f32::max);
                sum += best / concept.worth * concept.proof;
            }
        }
        sum
    }
}
