//! The pieces a tokenizer splits a text into before it looks for tokens; no token lies across their edges.
//!
//! The rules are published as regular expressions whose alternatives are tried in order and give back characters
//! until the rest fits. Here each alternative is a scan that knows where that ends.

use super::class::{LETTER, LOWER, NEWLINE, NUMBER, PAGE, PAGES, SPACE, UPPER};

static CLASSES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/classes.bin"));

/// Whose rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rules {
    /// Words split where their case changes; contractions belong to the word before them.
    O200k,
    /// Words of letters alone; contractions are pieces.
    Cl100k,
}

/// Where the piece that begins at `from` ends. `from` lies on a character and before the end of `text`.
pub(super) fn piece_end(rules: Rules, text: &str, from: usize) -> usize {
    let text = Text(text);
    let word = match rules {
        Rules::O200k => text.cased_word(from),
        Rules::Cl100k => text.contraction(from).or_else(|| text.plain_word(from)),
    };
    word.or_else(|| text.number(from))
        .or_else(|| text.symbols(from, rules))
        .unwrap_or_else(|| text.blanks(from))
}

#[derive(Clone, Copy)]
struct Text<'t>(&'t str);

impl Text<'_> {
    /// The class of the character at `at` and where it ends; at the end of the text, no class.
    fn class(self, at: usize) -> (Option<u8>, usize) {
        let code = match self.0.as_bytes().get(at) {
            None => return (None, at),
            Some(ascii @ 0..=0x7F) => usize::from(*ascii),
            Some(_) => match self.0.get(at..).and_then(|rest| rest.chars().next()) {
                None => return (None, at),
                Some(character) => {
                    let code = character as usize;
                    let page = usize::from(CLASSES[code / PAGE]);
                    return (Some(CLASSES[PAGES + page * PAGE + code % PAGE]), at + character.len_utf8());
                }
            },
        };
        // The first page is the one of the first characters.
        (Some(CLASSES[PAGES + code]), at + 1)
    }

    /// The end of the run of characters from `at` on that are in one of `classes`.
    fn run(self, mut at: usize, classes: u8) -> usize {
        while let (Some(class), next) = self.class(at)
            && class & classes != 0
        {
            at = next;
        }
        at
    }

    /// The end of the run of characters from `at` on that are in none of `classes`.
    fn run_of_others(self, mut at: usize, classes: u8) -> usize {
        while let (Some(class), next) = self.class(at)
            && class & classes == 0
        {
            at = next;
        }
        at
    }

    fn byte(self, at: usize) -> Option<u8> {
        self.0.as_bytes().get(at).copied()
    }

    /// The place behind a character that may stand before a word and belong to it: any but letters, numbers and
    /// ends of lines.
    fn behind_prefix(self, from: usize) -> Option<usize> {
        match self.class(from) {
            (Some(class), next) if class & (LETTER | NUMBER | NEWLINE) == 0 => Some(next),
            _ => None,
        }
    }

    /// `[^\r\n\p{L}\p{N}]?\p{L}+`
    fn plain_word(self, from: usize) -> Option<usize> {
        let start = self.behind_prefix(from).unwrap_or(from);
        let end = self.run(start, LETTER);
        (end > start).then_some(end)
    }

    /// Both alternatives for words, each with a contraction behind it (`U` is [`UPPER`], `L` is [`LOWER`]):
    /// `[^\r\n\p{L}\p{N}]?U*L+` and, if that is nowhere, `[^\r\n\p{L}\p{N}]?U+L*`.
    fn cased_word(self, from: usize) -> Option<usize> {
        let prefixed = self.behind_prefix(from);
        let end = prefixed
            .and_then(|start| self.ends_in_lower(start))
            .or_else(|| self.ends_in_lower(from))
            // Nothing but capitals is left.
            .or_else(|| {
                let start = prefixed.unwrap_or(from);
                let end = self.run(start, UPPER);
                (end > start).then_some(end)
            })?;
        Some(self.contraction(end).unwrap_or(end))
    }

    /// `U*L+`: if a lower-case letter follows the run of `U`, all of `L` from there; else `U*` gives back until the
    /// last of its characters that has no case, and so is in `L` too.
    fn ends_in_lower(self, from: usize) -> Option<usize> {
        let (mut at, mut caseless) = (from, None);
        loop {
            let (class, next) = self.class(at);
            let class = class.unwrap_or(0);
            if class & UPPER == 0 {
                return if class & LOWER != 0 { Some(self.run(next, LOWER)) } else { caseless };
            }
            if class & LOWER != 0 {
                caseless = Some(next);
            }
            at = next;
        }
    }

    /// `(?i:'s|'t|'re|'ve|'m|'ll|'d)`, where `(?i:s)` is also `ſ`.
    fn contraction(self, from: usize) -> Option<usize> {
        let rest = self.0.as_bytes().get(from..)?.strip_prefix(b"'")?;
        let lower = |at: usize| rest.get(at).map(u8::to_ascii_lowercase);
        Some(
            from + match (lower(0)?, lower(1)) {
                (b's' | b't' | b'm' | b'd', _) => 2,
                (b'r' | b'v', Some(b'e')) | (b'l', Some(b'l')) => 3,
                _ if rest.starts_with("ſ".as_bytes()) => 3,
                _ => return None,
            },
        )
    }

    /// `\p{N}{1,3}`
    fn number(self, from: usize) -> Option<usize> {
        let mut end = from;
        for _ in 0..3 {
            match self.class(end) {
                (Some(class), next) if class & NUMBER != 0 => end = next,
                _ => break,
            }
        }
        (end > from).then_some(end)
    }

    /// ` ?[^\s\p{L}\p{N}]+[\r\n]*`; with the rules of o200k, `/` may stand among those ends of lines.
    fn symbols(self, from: usize, rules: Rules) -> Option<usize> {
        let start = if self.byte(from) == Some(b' ') { from + 1 } else { from };
        let mut end = self.run_of_others(start, SPACE | LETTER | NUMBER);
        if end == start {
            return None;
        }
        while let Some(byte) = self.byte(end)
            && (matches!(byte, b'\r' | b'\n') || byte == b'/' && rules == Rules::O200k)
        {
            end += 1;
        }
        Some(end)
    }

    /// `\s*[\r\n]+`, else `\s+(?!\S)`, else `\s+`: up to the last end of line in the run of blanks; else all of the
    /// run but its last character, which belongs to what follows, if anything does and the run is longer than that.
    fn blanks(self, from: usize) -> usize {
        let (mut at, mut last, mut line) = (from, from, None);
        while let (Some(class), next) = self.class(at)
            && class & SPACE != 0
        {
            if class & NEWLINE != 0 {
                line = Some(next);
            }
            (last, at) = (at, next);
        }
        match line {
            Some(line) => line,
            None if at == self.0.len() || last == from => at,
            None => last,
        }
    }
}
