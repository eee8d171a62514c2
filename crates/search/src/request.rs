//! A request, taken apart: the words that say what it wants, and the intents they belong to.

use std::ops::Range;

use crate::index::{Index, Term};
use crate::words::{self, Word};

/// How many words of a request are looked at.
const WORDS: usize = 400;
/// How many intents are told apart; what follows belongs to the last.
const INTENTS: usize = 12;
/// Words shorter than this are not taken for misspelt.
const SPELT: usize = 5;

/// One word of the request, with the terms of the index that it can mean.
#[derive(Debug)]
pub(crate) struct Concept {
    /// As it was written, lower case.
    pub(crate) written: String,
    stem: String,
    /// The terms it can mean and what each is worth there (rarity, how surely, courtesy). Empty: no tool has it.
    pub(crate) meanings: Vec<Meaning>,
    /// What it would be worth if a tool had it as it stands; for a word that no tool has, as if one had.
    pub(crate) worth: f32,
    /// The same with words that tools of every kind use taken for little: what it proves.
    pub(crate) proof: f32,
    /// The intents it occurs in, as bits.
    pub(crate) intents: u32,
}

/// A term that a word can mean.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Meaning {
    pub(crate) term: Term,
    /// How surely, 0 to 1.
    pub(crate) sure: f32,
    pub(crate) worth: f32,
}

/// A request, taken apart.
#[derive(Debug, Default)]
pub(crate) struct Request {
    pub(crate) concepts: Vec<Concept>,
    /// Its intents, as written.
    pub(crate) intents: Vec<String>,
}

impl Request {
    pub(crate) fn new(index: &Index, text: &str) -> Self {
        let text = words::normalised(text);
        let mut all: Vec<Word> = Vec::new();
        index.words.of(&text, |word| {
            if all.len() < WORDS {
                all.push(word);
            }
        });
        let saying: Vec<Word> =
            all.iter().filter(|word| !index.lexicon.is_empty(&word.written)).cloned().collect();
        let words = if saying.is_empty() { all } else { saying };

        let mut request = Self::default();
        let ranges = intents(&text, &words, |word| !index.lexicon.is_courtesy(&word.stem));
        for (number, range) in ranges.into_iter().enumerate() {
            if let (Some(first), Some(last)) = (words.get(range.start), words.get(range.end.wrapping_sub(1)))
            {
                request.intents.push(text.get(first.at.0..last.at.1).unwrap_or_default().to_owned());
            }
            for at in range {
                let known = request.concepts.iter().position(|concept| concept.stem == words[at].stem);
                let place = known.unwrap_or_else(|| {
                    request.concepts.push(concept(index, &text, &words, at));
                    request.concepts.len() - 1
                });
                request.concepts[place].intents |= 1 << number;
            }
        }
        request
    }
}

/// What one word can mean.
fn concept(index: &Index, text: &str, words: &[Word], at: usize) -> Concept {
    let (word, weights) = (&words[at], &index.weights);
    let mut meanings: Vec<(Term, f32)> = Vec::new();
    let mut add = |stem: &str, sure: f32| {
        if let Some(term) = index.term(stem)
            && !meanings.iter().any(|&(known, _)| known == term)
        {
            meanings.push((term, sure));
        }
    };
    add(&word.stem, 1.0);
    if !word.whole {
        // Two words that tools write as one (`hacker news`, `hackernews`).
        let before = at.checked_sub(1).map(|before| format!("{}{}", words[before].written, word.written));
        let after = words.get(at + 1).map(|after| format!("{}{}", word.written, after.written));
        for joined in [after, before].into_iter().flatten() {
            add(&index.words.stem(&joined), weights.joined);
        }
    }
    for kin in index.lexicon.kin(&word.stem) {
        add(kin, weights.kin);
    }
    if meanings.is_empty() && word.stem.chars().count() >= SPELT && word.stem.chars().all(char::is_alphabetic)
    {
        match index.neighbour(&word.stem) {
            Some(term) => meanings.push((term, weights.misspelt)),
            None => meanings.extend(halves(index, &word.written).into_iter().flatten()),
        }
    }
    let own = meanings.iter().find(|&&(_, sure)| sure >= 1.0).map(|&(term, _)| index.rarity(term));
    let rarity = own
        .or_else(|| meanings.iter().map(|&(term, _)| index.rarity(term)).max_by(f32::total_cmp))
        .unwrap_or_else(|| index.rarity_among(1));
    let weight = if index.lexicon.is_courtesy(&word.stem) { weights.courtesy } else { 1.0 };
    let proof = if meanings.is_empty() && is_value(text, word) {
        0.0
    } else {
        let tools = meanings.iter().map(|&(term, _)| index.postings(term).len()).max().unwrap_or_default();
        index.proof(tools, index.lexicon.is_common(&word.stem))
    };
    Concept {
        written: word.written.clone(),
        stem: word.stem.clone(),
        meanings: meanings
            .into_iter()
            .map(|(term, sure)| Meaning { term, sure, worth: weight * sure * rarity.min(index.rarity(term)) })
            .collect(),
        worth: weight * rarity,
        proof: weight * proof,
        intents: 0,
    }
}

/// Whether an unknown word looks like a value and not like a wish: it has a digit, or a capital where no sentence
/// begins.
fn is_value(text: &str, word: &Word) -> bool {
    let (before, from) = text.split_at_checked(word.at.0).unwrap_or_default();
    let begins =
        before.trim_end().is_empty() || before.trim_end().ends_with(['.', '!', '?', ':', '。', '？', '！']);
    word.written.chars().any(char::is_numeric)
        || (!begins && from.chars().next().is_some_and(char::is_uppercase))
}

/// A word that tools write as two (`deepwiki`, `deep wiki`).
fn halves(index: &Index, written: &str) -> Option<[(Term, f32); 2]> {
    written.char_indices().map(|(cut, _)| written.split_at(cut)).find_map(|(front, back)| {
        let long = |half: &str| half.chars().nth(2).is_some();
        let term = |half: &str| index.term(&index.words.stem(half));
        (long(front) && long(back)).then_some(())?;
        Some([(term(front)?, 0.5), (term(back)?, 0.5)])
    })
}

/// The intents as ranges of words: cut where sentences and lines end, and at commas and words that begin a further
/// wish, where both sides say enough.
fn intents(text: &str, words: &[Word], tells: impl Fn(&Word) -> bool) -> Vec<Range<usize>> {
    let mut left = words.iter().filter(|word| tells(word)).count();
    let mut ranges: Vec<Range<usize>> = Vec::new();
    let (mut start, mut telling) = (0, 0);
    for at in 0..words.len() {
        if at > start && ranges.len() + 1 < INTENTS {
            let gap = text.get(words[at - 1].at.1..words[at].at.0).unwrap_or_default();
            if (telling >= 1 && ends(gap)) || (telling >= 2 && left >= 2 && goes_on(gap)) {
                ranges.push(start..at);
                (start, telling) = (at, 0);
            }
        }
        let tells = usize::from(tells(&words[at]));
        telling += tells;
        left -= tells;
    }
    if start < words.len() {
        ranges.push(start..words.len());
    }
    ranges
}

/// Whether a sentence or line ends in a gap between two words.
fn ends(gap: &str) -> bool {
    gap.contains(['\n', '?', '!', ';', '。', '？', '！', '；']) || gap.contains(". ")
}

/// Whether a further wish may begin in a gap.
fn goes_on(gap: &str) -> bool {
    gap.contains([',', '，', '、'])
        || gap.split(|char: char| !char.is_alphabetic()).any(|word| {
            ["and", "then", "also", "plus", "и"].iter().any(|known| word.eq_ignore_ascii_case(known))
        })
}
