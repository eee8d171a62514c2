//! The index: which word stands in which field of which tool. Updated in place; whatever way its tools came in, it
//! answers the same.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::lexicon::Lexicon;
use crate::near;
use crate::numbers::Numbers;
use crate::tool::{FIELDS, Field, Tool};
use crate::weights::Weights;
use crate::words::{self, Lately, Word, Words};

/// A number for a stem.
pub(crate) type Term = u32;
/// A number for a tool; reused when the tool is gone.
pub(crate) type Slot = u32;

/// That a term stands in a tool, and how often in which field (at most 255 times).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Posting {
    pub(crate) slot: Slot,
    pub(crate) counts: [u8; FIELDS],
}

/// A tool that is in the index.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) id: Arc<str>,
    pub(crate) name: Box<str>,
    /// Its server's number.
    pub(crate) server: u32,
    /// How many terms each field has.
    pub(crate) lengths: [u16; FIELDS],
    /// The different terms of its name and of its server's name, in the order in which they stand.
    pub(crate) name_terms: Box<[Term]>,
    pub(crate) server_terms: Box<[Term]>,
    /// All its different terms.
    terms: Box<[Term]>,
}

/// Tools that the catalogue does not have.
const ELSEWHERE: f32 = 150.0;

/// A searchable set of tools.
#[derive(Debug, Default)]
pub struct Index {
    pub(crate) weights: Weights,
    pub(crate) words: Words,
    lately: Lately,
    pub(crate) lexicon: Lexicon,
    stems: Numbers,
    /// By term, each sorted by slot. A term without any is given back.
    postings: Vec<Vec<Posting>>,
    /// Terms by first character and length in characters: where a misspelt word's neighbours are.
    shapes: HashMap<(char, u8), Vec<Term>>,
    servers: Numbers,
    /// How many tools each server has.
    sizes: Vec<u32>,
    entries: Vec<Option<Entry>>,
    free: Vec<Slot>,
    slots: BTreeMap<Arc<str>, Slot>,
    /// Sums of all entries' lengths.
    totals: [u64; FIELDS],
}

impl Index {
    /// An empty index.
    #[must_use]
    pub fn new() -> Self {
        Self::with(Weights::default())
    }

    /// An empty index that weighs differently.
    #[must_use]
    pub fn with(weights: Weights) -> Self {
        let words = Words::default();
        let lexicon = Lexicon::new(|word| words.stem(word));
        Self { weights, words, lexicon, ..Self::default() }
    }

    /// How many tools it holds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether it holds none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Whether it holds a tool of this id.
    #[must_use]
    pub fn contains(&self, id: &str) -> bool {
        self.slots.contains_key(id)
    }

    /// Adds a tool. One that has its id is replaced.
    pub fn add(&mut self, tool: &Tool) {
        self.remove(&tool.id);
        let slot = self.free.pop().unwrap_or_else(|| {
            self.entries.push(None);
            Slot::try_from(self.entries.len() - 1).unwrap_or(Slot::MAX)
        });
        let mut counts: BTreeMap<Term, [u8; FIELDS]> = BTreeMap::new();
        let mut lengths = [0_u16; FIELDS];
        let mut distinct: [Vec<Term>; FIELDS] = Default::default();
        for (field, text) in fields(tool) {
            let place = field as usize;
            for stem in self.stems_of(text) {
                let term = self.take(&stem);
                let count = &mut counts.entry(term).or_default()[place];
                if *count == 0 {
                    distinct[place].push(term);
                }
                *count = count.saturating_add(1);
                lengths[place] = lengths[place].saturating_add(1);
            }
        }
        for (&term, &counts) in &counts {
            let postings = &mut self.postings[term as usize];
            // Nearly always at the end.
            let at = match postings.last() {
                Some(last) if last.slot >= slot => postings.partition_point(|posting| posting.slot < slot),
                _ => postings.len(),
            };
            postings.insert(at, Posting { slot, counts });
        }
        for (total, length) in self.totals.iter_mut().zip(lengths) {
            *total += u64::from(length);
        }
        let server = self.servers.take(&tool.server);
        self.sizes.resize(self.servers.bound(), 0);
        self.sizes[server as usize] += 1;
        let [name_terms, server_terms, ..] = distinct;
        let id: Arc<str> = tool.id.as_str().into();
        self.slots.insert(Arc::clone(&id), slot);
        self.entries[slot as usize] = Some(Entry {
            id,
            name: tool.name.as_str().into(),
            server,
            lengths,
            name_terms: name_terms.into(),
            server_terms: server_terms.into(),
            terms: counts.into_keys().collect(),
        });
    }

    /// Puts `tools` in the place of all that `server` had.
    pub fn replace(&mut self, server: &str, tools: &[Tool]) {
        self.forget(server);
        for tool in tools {
            self.add(tool);
        }
    }

    /// Removes one tool; whether it was there.
    pub fn remove(&mut self, id: &str) -> bool {
        let Some(slot) = self.slots.remove(id) else { return false };
        self.vacate(&[slot]);
        true
    }

    /// Removes all tools of a server; how many there were.
    pub fn forget(&mut self, server: &str) -> usize {
        let Some(server) = self.servers.get(server) else { return 0 };
        let gone: Vec<Slot> =
            self.entries().filter(|(_, entry)| entry.server == server).map(|(slot, _)| slot).collect();
        let entries = &self.entries;
        self.slots.retain(|_, slot| {
            entries.get(*slot as usize).and_then(Option::as_ref).is_some_and(|entry| entry.server != server)
        });
        self.vacate(&gone);
        gone.len()
    }

    /// Empties slots, and takes out of the index what only they had.
    fn vacate(&mut self, gone: &[Slot]) {
        let mut touched: Vec<Term> = Vec::new();
        for &slot in gone {
            let Some(entry) = self.entries.get_mut(slot as usize).and_then(Option::take) else { continue };
            for (total, length) in self.totals.iter_mut().zip(entry.lengths) {
                *total -= u64::from(length);
            }
            touched.extend_from_slice(&entry.terms);
            let size = &mut self.sizes[entry.server as usize];
            *size -= 1;
            if *size == 0 {
                self.servers.give_back(entry.server);
            }
        }
        touched.sort_unstable();
        touched.dedup();
        for term in touched {
            let entries = &self.entries;
            let postings = &mut self.postings[term as usize];
            postings.retain(|posting| entries.get(posting.slot as usize).is_some_and(Option::is_some));
            if postings.is_empty() {
                *postings = Vec::new();
                let shape = shape(self.stems.text(term));
                if let Some(terms) = self.shapes.get_mut(&shape) {
                    terms.retain(|&other| other != term);
                    if terms.is_empty() {
                        self.shapes.remove(&shape);
                    }
                }
                self.stems.give_back(term);
            }
        }
        self.free.extend_from_slice(gone);
    }

    /// The stems of a text; those that say nothing only where there is nothing else.
    fn stems_of(&mut self, text: &str) -> Vec<String> {
        let mut kept: Vec<String> = Vec::new();
        let mut empty: Vec<String> = Vec::new();
        let lexicon = &self.lexicon;
        self.words.of_with(&mut self.lately, &words::normalised(text), |Word { stem, written, .. }| {
            if lexicon.is_empty(&written) { empty.push(stem) } else { kept.push(stem) }
        });
        if kept.is_empty() { empty } else { kept }
    }

    fn take(&mut self, stem: &str) -> Term {
        if let Some(term) = self.stems.get(stem) {
            return term;
        }
        let term = self.stems.take(stem);
        self.postings.resize_with(self.stems.bound(), Vec::new);
        self.shapes.entry(shape(stem)).or_default().push(term);
        term
    }

    /// The number of a stem that stands in some tool.
    pub(crate) fn term(&self, stem: &str) -> Option<Term> {
        self.stems.get(stem)
    }

    /// The stem of a number.
    pub(crate) fn stem(&self, term: Term) -> &str {
        self.stems.text(term)
    }

    pub(crate) fn postings(&self, term: Term) -> &[Posting] {
        self.postings.get(term as usize).map_or(&[], Vec::as_slice)
    }

    /// How a term stands in one tool.
    pub(crate) fn posting(&self, term: Term, slot: Slot) -> Option<&Posting> {
        let postings = self.postings(term);
        postings.binary_search_by_key(&slot, |posting| posting.slot).ok().and_then(|at| postings.get(at))
    }

    pub(crate) fn entry(&self, slot: Slot) -> Option<&Entry> {
        self.entries.get(slot as usize).and_then(Option::as_ref)
    }

    /// All entries, in no order that means anything.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (Slot, &Entry)> {
        (0..).zip(&self.entries).filter_map(|(slot, entry)| Some((slot, entry.as_ref()?)))
    }

    /// The slot of an id.
    pub(crate) fn slot(&self, id: &str) -> Option<Slot> {
        self.slots.get(id).copied()
    }

    /// Every slot is below this.
    pub(crate) fn slot_bound(&self) -> usize {
        self.entries.len()
    }

    /// Every number of a server is below this.
    pub(crate) fn server_bound(&self) -> usize {
        self.servers.bound()
    }

    /// The mean length of a field, at least 1.
    pub(crate) fn mean(&self, field: usize) -> f32 {
        (self.totals[field] as f32 / self.len().max(1) as f32).max(1.0)
    }

    /// How telling a term is: the logarithm of how few tools have it.
    pub(crate) fn rarity(&self, term: Term) -> f32 {
        self.rarity_among(self.postings(term).len())
    }

    /// How telling a word is that so many tools have.
    pub(crate) fn rarity_among(&self, tools: usize) -> f32 {
        let (tools, all) = (tools as f32, self.len() as f32);
        (1.0 + (all - tools + 0.5).max(0.0) / (tools + 0.5)).ln()
    }

    /// How much a word proves that so many tools have: its rarity if the catalogue were one among [`ELSEWHERE`] other
    /// tools, of which one in six has a common word and none any other.
    pub(crate) fn proof(&self, tools: usize, common: bool) -> f32 {
        let elsewhere = if common { ELSEWHERE / 6.0 } else { 0.0 };
        ((ELSEWHERE + self.len() as f32) / (1.0 + elsewhere + tools as f32)).ln()
    }

    /// The term that a misspelt word most likely means: one letter apart, in most tools, first in the alphabet; else the
    /// longest one that it begins with (`transactoins`: what went wrong kept its ending from being taken off).
    pub(crate) fn neighbour(&self, stem: &str) -> Option<Term> {
        let (first, length) = shape(stem);
        let near = (length.saturating_sub(1)..=length.saturating_add(1))
            .filter_map(|length| self.shapes.get(&(first, length)))
            .flatten()
            .copied()
            .filter(|&term| near::one_apart(stem, self.stem(term)))
            .min_by_key(|&term| (std::cmp::Reverse(self.postings(term).len()), self.stem(term)));
        near.or_else(|| {
            let cuts = stem.char_indices().skip(BEGINNING).map(|(cut, _)| cut);
            cuts.collect::<Vec<_>>().into_iter().rev().take(ENDING).find_map(|cut| self.term(&stem[..cut]))
        })
    }
}

/// A beginning must be at least so long to tell what was meant,
const BEGINNING: usize = 6;
/// and leave no more than this.
const ENDING: usize = 4;

fn shape(stem: &str) -> (char, u8) {
    (stem.chars().next().unwrap_or_default(), u8::try_from(stem.chars().count()).unwrap_or(u8::MAX))
}

fn fields(tool: &Tool) -> impl Iterator<Item = (Field, &str)> {
    [
        (Field::Name, tool.name.as_str()),
        (Field::Server, &tool.server),
        (Field::Description, &tool.description),
    ]
    .into_iter()
    .chain(tool.arguments.iter().flat_map(|argument| {
        [(Field::ArgumentName, argument.name.as_str()), (Field::ArgumentDescription, &argument.description)]
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_gone_takes_no_room() {
        let mut index = Index::new();
        let tool = |round: usize, number: usize| Tool {
            id: format!("{round}-{number}"),
            server: format!("server{round}"),
            name: format!("name{round}x{number}"),
            description: format!("described{round}y{number} in words{round}z{number}"),
            arguments: Vec::new(),
        };
        let room = |index: &Index| {
            let shapes: usize = index.shapes.values().map(Vec::len).sum();
            (index.stems.bound(), index.postings.len(), shapes, index.servers.bound(), index.entries.len())
        };
        let mut first = None;
        for round in 0..50 {
            index.replace(&format!("server{round}"), &[tool(round, 0), tool(round, 1), tool(round, 2)]);
            let room = room(&index);
            assert_eq!(*first.get_or_insert(room), room, "in round {round}");
            assert_eq!(index.forget(&format!("server{round}")), 3);
        }
        assert_eq!(index.shapes.len(), 0);
        assert!(index.postings.iter().all(|postings| postings.capacity() == 0));
    }
}
