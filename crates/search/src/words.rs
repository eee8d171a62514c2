//! Text to words: split where people and programmers split, folded, stemmed.

use std::borrow::Cow;
use std::ops::Range;

use rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::{decompose_canonical, is_combining_mark};

/// Longer runs of letters and digits are data (keys, encoded files), not words.
const LONGEST: usize = 48;

/// One word of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    /// What it is compared by.
    pub stem: String,
    /// As it was written, lower case.
    pub written: String,
    /// Where it begins and ends, in bytes of the normalised text.
    pub at: (usize, usize),
    /// The whole of a word that also comes in parts (`youtube` beside `you` and `tube`).
    pub whole: bool,
}

/// How many words' stems are remembered.
const REMEMBERED: usize = 1 << 12;

/// Splits and stems; made once.
pub(crate) struct Words {
    english: Stemmer,
    russian: Stemmer,
}

/// Stems that were worked out lately: tools use the same words again and again, and stemming one takes longer than all
/// else that is done with it. Each word has one place, from which a later one pushes it out.
#[derive(Debug, Default)]
pub(crate) struct Lately {
    places: Vec<Option<(Box<str>, Box<str>)>>,
}

impl Lately {
    fn stem(&mut self, words: &Words, word: &str) -> String {
        if self.places.is_empty() {
            self.places.resize(REMEMBERED, None);
        }
        let place =
            word.bytes().fold(0_usize, |hash, byte| hash.wrapping_mul(31).wrapping_add(usize::from(byte)));
        let place = &mut self.places[place % REMEMBERED];
        match place {
            Some((known, stem)) if **known == *word => stem.to_string(),
            _ => {
                let stem = words.stem(word);
                *place = Some((word.into(), stem.as_str().into()));
                stem
            }
        }
    }
}

impl std::fmt::Debug for Words {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Words")
    }
}

impl Default for Words {
    fn default() -> Self {
        Self { english: Stemmer::create(Algorithm::English), russian: Stemmer::create(Algorithm::Russian) }
    }
}

/// The form of a text in which places are given: compatibility characters (full width, ligatures) as their plain ones.
pub(crate) fn normalised(text: &str) -> Cow<'_, str> {
    if text.is_ascii() { Cow::Borrowed(text) } else { Cow::Owned(text.nfkc().collect()) }
}

impl Words {
    /// The words of a [`normalised`] text, in order.
    pub(crate) fn of(&self, text: &str, each: impl FnMut(Word)) {
        split(text, |word| self.stem(word), each);
    }

    /// The same, with what was stemmed lately at hand.
    pub(crate) fn of_with(&self, lately: &mut Lately, text: &str, each: impl FnMut(Word)) {
        split(text, |word| lately.stem(self, word), each);
    }

    /// What a folded word is compared by.
    pub(crate) fn stem(&self, word: &str) -> String {
        if word.len() > 2 && word.bytes().all(|byte| byte.is_ascii_lowercase()) {
            self.english.stem(word).into_owned()
        } else if word.chars().all(|char| ('а'..='я').contains(&char)) {
            self.russian.stem(word).into_owned()
        } else {
            word.to_owned()
        }
    }
}

/// Splits a text into words.
fn split(text: &str, mut stem: impl FnMut(&str) -> String, mut each: impl FnMut(Word)) {
    let (mut run, mut dense): (Option<usize>, Option<usize>) = (None, None);
    for (at, char) in text.char_indices().chain([(text.len(), ' ')]) {
        let kind = kind(char);
        if kind != Kind::Letter
            && let Some(start) = run.take()
        {
            split_run(text, start..at, &mut stem, &mut each);
        }
        if kind != Kind::Dense
            && let Some(start) = dense.take()
        {
            pairs(text, start..at, &mut each);
        }
        match kind {
            Kind::Letter => run = run.or(Some(at)),
            Kind::Dense => dense = dense.or(Some(at)),
            Kind::Other => {}
        }
    }
}

/// A run of letters and digits: one word, or several written without a gap (`getUserByID`) and the whole of them.
fn split_run(
    text: &str,
    at: Range<usize>,
    stem: &mut impl FnMut(&str) -> String,
    each: &mut impl FnMut(Word),
) {
    let run = &text[at.clone()];
    if run.len() > LONGEST && run.chars().take(LONGEST + 1).count() > LONGEST {
        return;
    }
    let mut word = |part: Range<usize>, whole: bool| {
        let written = folded(&run[part.clone()]);
        if !written.is_empty() {
            each(Word {
                stem: stem(&written),
                written,
                at: (at.start + part.start, at.start + part.end),
                whole,
            });
        }
    };
    let cuts = cuts(run);
    let mut from = 0;
    for cut in cuts.iter().copied().chain((!cuts.is_empty()).then_some(run.len())) {
        word(from..cut, false);
        from = cut;
    }
    word(0..run.len(), !cuts.is_empty());
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Part of a word that is separated from the next.
    Letter,
    /// Of a script that puts no gaps between words.
    Dense,
    Other,
}

fn kind(char: char) -> Kind {
    match char {
        _ if char.is_ascii() => {
            if char.is_ascii_alphanumeric() {
                Kind::Letter
            } else {
                Kind::Other
            }
        }
        // Thai to Myanmar, Khmer; kana, ideographs, Hangul.
        '\u{0e00}'..='\u{0eff}'
        | '\u{1000}'..='\u{109f}'
        | '\u{1780}'..='\u{17ff}'
        | '\u{3040}'..='\u{30ff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}'
        | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{323af}'
            if char.is_alphanumeric() || is_combining_mark(char) =>
        {
            Kind::Dense
        }
        _ if char.is_alphanumeric() || is_combining_mark(char) => Kind::Letter,
        _ => Kind::Other,
    }
}

/// Where a run is several words: before a capital that follows a small letter or a digit, and before the last capital
/// of several when a small letter follows (`HTTPServer`).
fn cuts(run: &str) -> Vec<usize> {
    let mut cuts = Vec::new();
    if !run.chars().any(char::is_uppercase) {
        return cuts;
    }
    let chars: Vec<(usize, char)> = run.char_indices().collect();
    for (index, pair) in chars.windows(2).enumerate() {
        let [(_, before), (at, char)] = [pair[0], pair[1]];
        if !char.is_uppercase() {
            continue;
        }
        let followed = chars.get(index + 2).is_some_and(|(_, next)| next.is_lowercase());
        // `APIs` and `IDs` are one word.
        let plural = chars.len() == index + 3 && chars[index + 2].1 == 's';
        let ends = before.is_lowercase() || (before.is_numeric() && followed);
        if ends || (before.is_uppercase() && followed && !plural) {
            cuts.push(at);
        }
    }
    cuts
}

/// Lower case, and Latin and Greek letters without their marks.
fn folded(word: &str) -> String {
    if word.is_ascii() {
        return word.to_ascii_lowercase();
    }
    let mut folded = String::with_capacity(word.len());
    for char in word.chars().flat_map(char::to_lowercase) {
        match char {
            'ё' => folded.push('е'),
            '\u{0400}'..='\u{052f}' => folded.push(char),
            '\u{0300}'..='\u{036f}' => {}
            'ß' => folded.push_str("ss"),
            'ø' => folded.push('o'),
            'ł' => folded.push('l'),
            '\u{00c0}'..='\u{03ff}' | '\u{1e00}'..='\u{1fff}' => {
                decompose_canonical(char, |part| {
                    if !is_combining_mark(part) {
                        folded.push(part);
                    }
                });
            }
            _ => folded.push(char),
        }
    }
    folded
}

/// Every two characters that stand together, and a single one that stands alone.
fn pairs(text: &str, at: Range<usize>, each: &mut impl FnMut(Word)) {
    let (run, start) = (&text[at.clone()], at.start);
    let mut push = |from: usize, to: usize| {
        let pair = run[from..to].to_owned();
        each(Word { stem: pair.clone(), written: pair, at: (start + from, start + to), whole: false });
    };
    let bounds: Vec<usize> = run.char_indices().map(|(at, _)| at).chain([run.len()]).collect();
    match bounds.as_slice() {
        [from, to] => push(*from, *to),
        _ => bounds.windows(3).for_each(|three| push(three[0], three[2])),
    }
}
