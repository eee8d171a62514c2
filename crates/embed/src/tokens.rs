//! Text to tokens, as BERT's models were taught: cleaned, lower case, without accents, cut at spaces and punctuation, and
//! each word then into the longest pieces that the vocabulary has.
//!
//! What a text says about special tokens (`[SEP]`) is text like any other.

use std::collections::HashMap;
use std::path::Path;

use regex_syntax::hir::{Class, HirKind};
use serde::Deserialize;
use unicode_normalization::UnicodeNormalization;

use crate::error::ModelError;
use crate::folder;

/// A longer word is unknown as a whole.
const WORD: usize = 100;

/// A token's number.
pub(crate) type Token = u32;

/// A vocabulary, and how text is cut for it.
pub(crate) struct Tokenizer {
    /// Pieces that begin a word, and those that go on with one, without their `##`.
    first: HashMap<Box<str>, Token>,
    further: HashMap<Box<str>, Token>,
    /// The longest piece, in bytes.
    longest: usize,
    begin: Token,
    end: Token,
    unknown: Token,
    lower: bool,
    plain: bool,
    ideographs_alone: bool,
    clean: bool,
    punctuation: Ranges,
    marks: Ranges,
    control: Ranges,
    /// The most tokens, `begin` and `end` counted.
    most: usize,
}

#[derive(Deserialize)]
struct File {
    normalizer: Option<Normalizer>,
    pre_tokenizer: Option<Named>,
    model: Vocabulary,
}

#[derive(Deserialize)]
struct Named {
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Deserialize)]
struct Normalizer {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default = "yes")]
    clean_text: bool,
    #[serde(default = "yes")]
    handle_chinese_chars: bool,
    strip_accents: Option<bool>,
    #[serde(default = "yes")]
    lowercase: bool,
}

#[derive(Deserialize)]
struct Vocabulary {
    /// Older files do not say.
    #[serde(rename = "type")]
    kind: Option<String>,
    unk_token: Option<String>,
    continuing_subword_prefix: Option<String>,
    vocab: serde_json::Value,
}

#[derive(Deserialize)]
struct Settings {
    do_lower_case: Option<bool>,
    strip_accents: Option<bool>,
    tokenize_chinese_chars: Option<bool>,
}

fn yes() -> bool {
    true
}

impl Tokenizer {
    /// Reads `tokenizer.json`, else `vocab.txt`. `words` is how many tokens the model knows.
    pub(crate) fn read(folder: &Path, words: usize, most: usize) -> Result<Self, ModelError> {
        let path = folder.join("tokenizer.json");
        if let Some(text) = folder::read_if_there(&path)? {
            return Self::from_json(&path, &text, words, most);
        }
        let path = folder.join("vocab.txt");
        let text = folder::read(&path)?;
        let text = std::str::from_utf8(&text).map_err(|error| ModelError::broken(&path, error))?;
        let settings = folder.join("tokenizer_config.json");
        let settings: Option<Settings> =
            folder::read_if_there(&settings)?.map(|text| folder::parse(&settings, &text)).transpose()?;
        let lower = settings.as_ref().and_then(|settings| settings.do_lower_case).unwrap_or(true);
        let normalizer = Normalizer {
            kind: String::new(),
            clean_text: true,
            handle_chinese_chars: settings
                .as_ref()
                .and_then(|settings| settings.tokenize_chinese_chars)
                .unwrap_or(true),
            strip_accents: settings.and_then(|settings| settings.strip_accents),
            lowercase: lower,
        };
        let pieces = text.lines().zip(0..).map(|(piece, token)| (piece.trim_end().to_owned(), token));
        Self::new(&path, pieces, &normalizer, "[UNK]", words, most)
    }

    fn from_json(path: &Path, text: &[u8], words: usize, most: usize) -> Result<Self, ModelError> {
        let file: File = folder::parse(path, text)?;
        let refuse = |what: String| Err(ModelError::unsupported(path, what));
        // A vocabulary of another kind is a list of pairs, so that this is asked before it is read.
        if let Some(other) = file.model.kind.as_deref().filter(|kind| *kind != "WordPiece") {
            return refuse(format!("holds a tokenizer of type {other:?}"));
        }
        if let Some(other) = file.model.continuing_subword_prefix.as_deref().filter(|prefix| *prefix != "##")
        {
            return refuse(format!("begins the further pieces of a word with {other:?}"));
        }
        if let Some(other) = file.pre_tokenizer.as_ref().filter(|named| named.kind != "BertPreTokenizer") {
            return refuse(format!("cuts text into words by {:?}", other.kind));
        }
        let normalizer = match file.normalizer {
            Some(normalizer) if normalizer.kind == "BertNormalizer" => normalizer,
            Some(other) => return refuse(format!("prepares text by {:?}", other.kind)),
            None => return refuse("does not say how text is prepared".to_owned()),
        };
        let unknown = file.model.unk_token.as_deref().unwrap_or("[UNK]").to_owned();
        let pieces: HashMap<String, Token> =
            serde_json::from_value(file.model.vocab).map_err(|error| ModelError::broken(path, error))?;
        Self::new(path, pieces.into_iter(), &normalizer, &unknown, words, most)
    }

    fn new(
        path: &Path,
        pieces: impl Iterator<Item = (String, Token)>,
        normalizer: &Normalizer,
        unknown: &str,
        words: usize,
        most: usize,
    ) -> Result<Self, ModelError> {
        let mut first: HashMap<Box<str>, Token> = HashMap::new();
        let mut further: HashMap<Box<str>, Token> = HashMap::new();
        let mut longest = 0;
        for (piece, token) in pieces {
            if token as usize >= words {
                return Err(ModelError::broken(
                    path,
                    format!("its token {piece:?} is number {token}, and the model knows {words}"),
                ));
            }
            longest = longest.max(piece.len());
            match piece.strip_prefix("##").filter(|rest| !rest.is_empty()) {
                Some(rest) => further.insert(rest.into(), token),
                None => first.insert(piece.into(), token),
            };
        }
        let special = |name: &str| {
            let token = first.get(name).copied();
            token.ok_or_else(|| ModelError::broken(path, format!("its vocabulary has no {name:?}")))
        };
        Ok(Self {
            begin: special("[CLS]")?,
            end: special("[SEP]")?,
            unknown: special(unknown)?,
            first,
            further,
            longest,
            lower: normalizer.lowercase,
            plain: normalizer.strip_accents.unwrap_or(normalizer.lowercase),
            ideographs_alone: normalizer.handle_chinese_chars,
            clean: normalizer.clean_text,
            punctuation: Ranges::of(r"\p{P}"),
            marks: Ranges::of(r"\p{Mn}"),
            control: Ranges::of(r"[\p{Cc}\p{Cf}\p{Co}]"),
            most,
        })
    }

    /// The tokens of a text, enclosed; what is too long is cut.
    pub(crate) fn tokens(&self, text: &str) -> Vec<Token> {
        let mut tokens = vec![self.begin];
        let mut word = String::new();
        // No character of a word that is worth a token is further on than this.
        let far = self.most.saturating_mul(4 * WORD);
        for char in text.chars().take(far) {
            self.normalised(char, &mut |char| match self.kind(char) {
                Kind::Space => self.flush(&mut word, &mut tokens),
                Kind::Alone => {
                    self.flush(&mut word, &mut tokens);
                    word.push(char);
                    self.flush(&mut word, &mut tokens);
                }
                Kind::Part => word.push(char),
            });
            if tokens.len() >= self.most {
                break;
            }
        }
        self.flush(&mut word, &mut tokens);
        tokens.truncate(self.most.saturating_sub(1));
        tokens.push(self.end);
        tokens
    }

    fn normalised(&self, char: char, to: &mut impl FnMut(char)) {
        if self.clean {
            if is_blank(char) {
                return to(' ');
            }
            if char == '\u{fffd}' || self.control.hold(char) {
                return;
            }
        }
        let mut lowered = |char: char| {
            if self.lower { char.to_lowercase().for_each(&mut *to) } else { to(char) }
        };
        if self.plain {
            std::iter::once(char).nfd().filter(|char| !self.marks.hold(*char)).for_each(&mut lowered);
        } else {
            lowered(char);
        }
    }

    fn kind(&self, char: char) -> Kind {
        if char.is_whitespace() {
            Kind::Space
        } else if char.is_ascii_punctuation()
            || self.punctuation.hold(char)
            || (self.ideographs_alone && is_ideograph(char))
        {
            Kind::Alone
        } else {
            Kind::Part
        }
    }

    /// Cuts a word into pieces.
    fn flush(&self, word: &mut String, tokens: &mut Vec<Token>) {
        if word.is_empty() {
            return;
        }
        let before = tokens.len();
        if word.chars().count() > WORD || !self.pieces(word, tokens) {
            tokens.truncate(before);
            tokens.push(self.unknown);
        }
        word.clear();
    }

    fn pieces(&self, word: &str, tokens: &mut Vec<Token>) -> bool {
        let mut rest = word;
        while !rest.is_empty() {
            let known = if rest.len() == word.len() { &self.first } else { &self.further };
            let ends = rest.char_indices().map(|(at, char)| at + char.len_utf8());
            let ends: Vec<usize> = ends.take_while(|end| *end <= self.longest).collect();
            let found = ends.into_iter().rev().find_map(|end| Some((end, *known.get(&rest[..end])?)));
            let Some((end, token)) = found else { return false };
            tokens.push(token);
            rest = &rest[end..];
        }
        true
    }
}

enum Kind {
    Space,
    Alone,
    Part,
}

fn is_blank(char: char) -> bool {
    matches!(char, '\t' | '\n' | '\r') || char.is_whitespace()
}

/// Characters of Chinese, and of Japanese and Korean where they are the same: each is a word.
fn is_ideograph(char: char) -> bool {
    matches!(char,
        '\u{4e00}'..='\u{9fff}' | '\u{3400}'..='\u{4dbf}' | '\u{20000}'..='\u{2a6df}' | '\u{2a700}'..='\u{2b73f}'
        | '\u{2b740}'..='\u{2b81f}' | '\u{2b820}'..='\u{2ceaf}' | '\u{f900}'..='\u{faff}' | '\u{2f800}'..='\u{2fa1f}')
}

/// The characters of a Unicode category, as sorted ranges.
struct Ranges(Vec<(char, char)>);

impl Ranges {
    fn of(category: &str) -> Self {
        let ranges = regex_syntax::parse(category).ok().and_then(|hir| match hir.into_kind() {
            HirKind::Class(Class::Unicode(class)) => {
                Some(class.iter().map(|range| (range.start(), range.end())).collect())
            }
            _ => None,
        });
        Self(ranges.unwrap_or_default())
    }

    fn hold(&self, char: char) -> bool {
        let at = self.0.partition_point(|(_, end)| *end < char);
        self.0.get(at).is_some_and(|(start, _)| *start <= char)
    }
}
