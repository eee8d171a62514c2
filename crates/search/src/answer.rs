//! What a search answers.

use crate::confidence;
use crate::index::Index;
use crate::near::Near;
use crate::rank::{self, Candidate};
use crate::request::Request;
use crate::score::{Scale, Scores};
use crate::second::{Opinion, Second};
use crate::tool::Field;

/// The answer to a request.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Answer {
    /// The tools, best first. Empty when no tool has any word of the request.
    pub hits: Vec<Hit>,
    /// How likely it is that the index holds what was asked for at all, 0 to 1.
    pub confidence: f32,
    /// The separate wishes that the request was taken for, as written.
    pub intents: Vec<String>,
    /// Tools with nearly this name, for a request that looks like a name and is none.
    pub did_you_mean: Vec<Near>,
}

impl Answer {
    /// An answer of less confidence than this is better withheld.
    pub const LEAST: f32 = confidence::LEAST;

    /// Whether it is better to say that there is no such tool than to show the hits.
    #[must_use]
    pub fn abstains(&self) -> bool {
        self.confidence < Self::LEAST
    }
}

/// A tool that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The tool.
    pub id: String,
    /// Comparable within one answer only.
    pub score: f32,
    /// Why, what counted most first.
    pub reasons: Vec<Reason>,
}

/// A word that speaks for a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Reason {
    /// The word of the request, lower case.
    pub word: String,
    /// The stem by which the tool has it; another word's when the tool says it differently.
    pub term: String,
    /// Where in the tool it counts most.
    pub field: Field,
    /// Its part of what all words count, 0 to 1.
    pub part: f32,
}

impl Index {
    /// The tools that fit a request best, at most `limit`.
    #[must_use]
    pub fn search(&self, request: &str, limit: usize) -> Answer {
        self.search_with(request, limit, None)
    }

    /// [`search`](Self::search), with a second opinion mixed in.
    #[must_use]
    pub fn search_with(&self, request: &str, limit: usize, second: Option<&Second<'_>>) -> Answer {
        let taken = Request::new(self, request);
        let scale = Scale::new(self);
        let scores = Scores::new(self, &taken, &scale);
        let opinion = second.and_then(|second| Opinion::new(self, second));
        let candidates = rank::candidates(self, &taken, &scale, &scores, opinion.as_ref());
        let confidence = confidence::of(self, &taken, &candidates, opinion.as_ref());
        let did_you_mean = if is_name(request) { self.near(request, limit) } else { Vec::new() };
        let words = opinion.as_ref().map_or(1.0, |opinion| 1.0 - opinion.share);
        let hits = rank::ordered(self, &taken, candidates, words, limit)
            .into_iter()
            .map(|candidate| self.hit(&taken, &scale, &candidate))
            .collect();
        Answer { hits, confidence, intents: taken.intents, did_you_mean }
    }

    /// The separate wishes that a request is taken for, as written.
    #[must_use]
    pub fn intents(&self, request: &str) -> Vec<String> {
        Request::new(self, request).intents
    }

    fn hit(&self, request: &Request, scale: &Scale, candidate: &Candidate<'_>) -> Hit {
        let total: f32 = candidate.shares.iter().sum();
        let mut reasons: Vec<Reason> = Vec::new();
        for concept in &request.concepts {
            let (share, place) = scale.share(self, candidate.entry, candidate.slot, concept);
            if let Some(meaning) = concept.meanings.get(place)
                && share > 0.0
                && let Some(posting) = self.posting(meaning.term, candidate.slot)
            {
                reasons.push(Reason {
                    word: concept.written.clone(),
                    term: self.stem(meaning.term).to_owned(),
                    field: scale.strongest(candidate.entry, posting),
                    part: share / total,
                });
            }
        }
        reasons.sort_by(|a, b| b.part.total_cmp(&a.part));
        Hit { id: candidate.entry.id.to_string(), score: candidate.score, reasons }
    }
}

/// Whether a request looks like a tool's name: one run without spaces.
fn is_name(request: &str) -> bool {
    let request = request.trim();
    !request.is_empty() && !request.contains(char::is_whitespace)
}
