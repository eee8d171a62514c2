//! What a message means, as bytes to be hashed: its JSON without what does not matter to the model or the cache.
//!
//! Left out are white space, the way strings are escaped, and `cache_control` where it is a marker (on a message, a
//! block, a block inside a tool result, a tool). A plain string for `content` is the same as an array of one text block,
//! because clients turn one into the other as their marker moves on. Everything else counts: the order of members, the
//! spelling of numbers, members nobody knows.
//!
//! The form is one tag for each node and a length before each text, so two different meanings never give the same bytes.

use crate::hash::Digest;
use deadweight_wire::json::{Elements, Entries, Kind, Value};
use memchr::memchr;

/// How much is gathered before it is hashed: the longer a stretch, the more of it the hash takes at a time. A text without
/// escapes that is longer than this is hashed where it stands.
const GATHER: usize = 64 << 10;

/// How many bytes of a text with escapes are copied at a time.
const FEW: usize = 16;

/// Which text block a plain string stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plain {
    /// `{"type":"text","text":…}`: Anthropic, OpenAI chat.
    Text,
    /// `{"type":"input_text","text":…}`: what a user says in OpenAI Responses.
    Input,
    /// `{"type":"output_text","text":…}`: what the model says there.
    Output,
    /// None: Gemini has no plain strings.
    None,
}

impl Plain {
    const fn type_name(self) -> Option<&'static str> {
        match self {
            Self::Text => Some("text"),
            Self::Input => Some("input_text"),
            Self::Output => Some("output_text"),
            Self::None => None,
        }
    }
}

/// One container that is being walked.
enum Open<'id, 'd> {
    /// An object; whether it is one that can carry a marker.
    Object(Entries<'id, 'd>, bool),
    /// An array; whether it is the `content` of one that can.
    Array(Elements<'id, 'd>, bool),
}

/// Hashes values. One is used for a whole request, so that its buffers are made once.
pub(crate) struct Canon<'id, 'd> {
    hasher: blake3::Hasher,
    /// Whether the hasher has taken anything yet.
    begun: bool,
    gathered: Vec<u8>,
    open: Vec<Open<'id, 'd>>,
    /// Where the objects start that can carry a marker: ascending.
    places: Vec<u32>,
    next_place: usize,
    plain: Plain,
    /// Whether a text may begin with a billing header that is to be left out.
    header: bool,
}

impl<'id, 'd> Canon<'id, 'd> {
    pub(crate) fn new() -> Self {
        Self {
            hasher: blake3::Hasher::new(),
            begun: false,
            gathered: Vec::with_capacity(GATHER / 4),
            open: Vec::new(),
            places: Vec::new(),
            next_place: 0,
            plain: Plain::None,
            header: false,
        }
    }

    /// Begins a hash. `places`: the objects of what follows that can carry a marker, in any order.
    pub(crate) fn begin(&mut self, plain: Plain, header: bool, places: impl Iterator<Item = Value<'id, 'd>>) {
        if std::mem::take(&mut self.begun) {
            self.hasher.reset();
        }
        self.gathered.clear();
        (self.plain, self.header, self.next_place) = (plain, header, 0);
        self.places.clear();
        self.places.extend(places.map(|place| place.span().start() as u32));
        if !self.places.is_sorted() {
            self.places.sort_unstable();
        }
    }

    /// The hash of all that was written since [`begin`](Self::begin).
    pub(crate) fn end(&mut self) -> Digest {
        if !self.begun {
            return Digest::of(&self.gathered);
        }
        self.flush();
        Digest::finish(&self.hasher)
    }

    /// Writes a value as a block: a string, or an object that is one text and nothing else, as that text.
    pub(crate) fn block(&mut self, value: Value<'id, 'd>) {
        match value.kind() {
            Kind::String if self.plain != Plain::None => self.text(value),
            _ => match self.only_text(value) {
                Some(text) => self.text(text),
                None => self.value(value),
            },
        }
    }

    /// Writes a message: an object, or (OpenAI Responses) a plain string for a user's only message.
    pub(crate) fn message(&mut self, value: Value<'id, 'd>) {
        if value.kind() == Kind::String && self.plain != Plain::None {
            // As {"role":"user","content":[…]}.
            self.gathered.push(b'{');
            self.key("role");
            self.raw_text(b's', b"user");
            self.key("content");
            self.gathered.push(b'[');
            self.text(value);
            self.gathered.extend_from_slice(b"]}");
        } else {
            self.value(value);
        }
    }

    /// Writes a value. The document may be of any depth: nothing here recurses.
    pub(crate) fn value(&mut self, value: Value<'id, 'd>) {
        self.node(value, false);
        while let Some(top) = self.open.last_mut() {
            match top {
                Open::Object(entries, marked) => {
                    let marked = *marked;
                    let Some(entry) = entries.next() else {
                        self.gathered.push(b'}');
                        self.open.pop();
                        continue;
                    };
                    if marked && entry.key.is_str("cache_control") {
                        continue;
                    }
                    self.string(b's', entry.key);
                    let content = marked && self.plain != Plain::None && entry.key.is_str("content");
                    if content && entry.value.kind() == Kind::String {
                        self.gathered.push(b'[');
                        self.text(entry.value);
                        self.gathered.push(b']');
                    } else {
                        self.node(entry.value, content);
                    }
                }
                Open::Array(elements, content) => {
                    let content = *content;
                    let Some(element) = elements.next() else {
                        self.gathered.push(b']');
                        self.open.pop();
                        continue;
                    };
                    match content.then(|| self.only_text(element)).flatten() {
                        Some(text) => self.text(text),
                        None => self.node(element, false),
                    }
                }
            }
        }
    }

    /// Writes a name of ours or of the request in front of what follows.
    pub(crate) fn label(&mut self, name: Option<Value<'id, 'd>>) {
        match name {
            Some(name) if name.kind() == Kind::String => self.string(b's', name),
            _ => self.gathered.push(b'z'),
        }
    }

    fn key(&mut self, key: &str) {
        self.raw_text(b's', key.as_bytes());
    }

    /// Writes a scalar, or opens a container.
    fn node(&mut self, value: Value<'id, 'd>, content: bool) {
        match value.kind() {
            Kind::Null => self.gathered.push(b'z'),
            Kind::Bool => self.gathered.push(if value.as_bool() == Some(true) { b't' } else { b'f' }),
            Kind::Number => self.raw_text(b'n', bytes(value)),
            Kind::String => self.string(b's', value),
            Kind::Array => {
                self.gathered.push(b'[');
                self.open.push(Open::Array(value.elements(), content));
            }
            Kind::Object => {
                self.gathered.push(b'{');
                let marked = self.is_place(value);
                self.open.push(Open::Object(value.entries(), marked));
            }
        }
        if self.gathered.len() >= GATHER {
            self.flush();
        }
    }

    /// Whether an object is one of the places. Objects come in ascending order.
    fn is_place(&mut self, value: Value<'id, 'd>) -> bool {
        let start = value.span().start() as u32;
        while self.places.get(self.next_place).is_some_and(|&place| place < start) {
            self.next_place += 1;
        }
        self.places.get(self.next_place) == Some(&start)
    }

    /// The text of an object that is a text block and nothing but that, its marker aside.
    fn only_text(&self, value: Value<'id, 'd>) -> Option<Value<'id, 'd>> {
        let type_name = self.plain.type_name()?;
        let mut entries = value.entries().filter(|entry| !entry.key.is_str("cache_control"));
        let (kind, text) = (entries.next()?, entries.next()?);
        let fits = kind.key.is_str("type")
            && kind.value.is_str(type_name)
            && text.key.is_str("text")
            && text.value.kind() == Kind::String
            && entries.next().is_none();
        fits.then_some(text.value)
    }

    /// Writes the text of a text block.
    fn text(&mut self, value: Value<'id, 'd>) {
        if self.header
            && let Some(text) = value.as_str()
            && let Some(rest) = after_billing_header(&text)
        {
            return self.raw_text(b'T', rest.as_bytes());
        }
        self.string(b'T', value);
    }

    /// Writes a string, decoded.
    fn string(&mut self, tag: u8, value: Value<'id, 'd>) {
        let raw = bytes(value);
        let inner = raw.get(1..raw.len().saturating_sub(1)).unwrap_or_default();
        let length = value.decoded_len().unwrap_or(inner.len());
        if length == inner.len() {
            return self.raw_text(tag, inner);
        }
        self.begin_text(tag, length);
        self.decoded(inner);
    }

    fn begin_text(&mut self, tag: u8, length: usize) {
        self.gathered.push(tag);
        self.gathered.extend_from_slice(&(length as u32).to_le_bytes());
    }

    fn raw_text(&mut self, tag: u8, text: &[u8]) {
        self.begin_text(tag, text.len());
        self.stretch(text);
    }

    /// Gathers the inside of a string with its escapes resolved. The text was checked when it was parsed.
    ///
    /// Code has an escape every few words, so that a search for the next one costs more than the words between: a few
    /// bytes are copied at a time, and what was copied from an escape on is taken back.
    fn decoded(&mut self, mut rest: &[u8]) {
        while let Some(few) = rest.first_chunk::<FEW>() {
            self.gathered.extend_from_slice(few);
            let Some(at) = first_backslash(few) else {
                rest = rest.get(FEW..).unwrap_or_default();
                continue;
            };
            self.gathered.truncate(self.gathered.len() - (FEW - at));
            let Some(after) = self.escape(rest.get(at..).unwrap_or_default()) else { return };
            rest = after;
            if self.gathered.len() >= GATHER {
                self.flush();
            }
        }
        while let Some(at) = memchr(b'\\', rest) {
            self.stretch(rest.get(..at).unwrap_or_default());
            let Some(after) = self.escape(rest.get(at..).unwrap_or_default()) else { return };
            rest = after;
        }
        self.stretch(rest);
    }

    /// Gathers what an escape stands for; what is behind it. `None` where there is none, which the parser does not let
    /// happen.
    fn escape<'e>(&mut self, escape: &'e [u8]) -> Option<&'e [u8]> {
        let byte = match escape.get(1)? {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'b' => 8,
            b'f' => 12,
            b'u' => {
                let taken = self.unicode(escape);
                return escape.get(taken..);
            }
            &other => other,
        };
        self.gathered.push(byte);
        escape.get(2..)
    }

    /// Gathers a stretch without escapes, or hashes it where it stands when it is long.
    fn stretch(&mut self, text: &[u8]) {
        if text.len() < GATHER {
            self.gathered.extend_from_slice(text);
        }
        if self.gathered.len() >= GATHER || text.len() >= GATHER {
            self.flush();
        }
        if text.len() >= GATHER {
            self.hasher.update(text);
        }
    }

    /// Gathers the character of a `\u` escape; answers how many bytes it took. Half of a surrogate pair is three bytes
    /// of its own, so that two different halves are not one text.
    fn unicode(&mut self, escape: &[u8]) -> usize {
        let high = unit(escape);
        let (code, taken) = match escape.get(6..).filter(|next| next.starts_with(b"\\u")).map(unit) {
            Some(low) if (0xD800..0xDC00).contains(&high) && (0xDC00..0xE000).contains(&low) => {
                (0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00), 12)
            }
            _ => (high, 6),
        };
        match char::from_u32(code) {
            Some(character) => {
                self.gathered.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
            None => {
                let bits = |shift: u32| 0x80 | ((code >> shift) & 0x3F) as u8;
                self.gathered.extend_from_slice(&[0xE0 | (code >> 12) as u8, bits(6), bits(0)]);
            }
        }
        taken
    }

    fn flush(&mut self) {
        self.begun = true;
        self.hasher.update(&self.gathered);
        self.gathered.clear();
    }
}

/// Where the first backslash stands.
fn first_backslash(few: &[u8; FEW]) -> Option<usize> {
    // A byte of zero is the only one from which taking one away borrows; of what is above the first of them nothing is
    // asked.
    let same = u128::from_le_bytes(*few) ^ u128::from_le_bytes([b'\\'; FEW]);
    let zero = same.wrapping_sub(u128::from_le_bytes([1; FEW])) & !same & u128::from_le_bytes([0x80; FEW]);
    (zero != 0).then(|| zero.trailing_zeros() as usize / 8)
}

/// A value as it stands. (`Value::raw` checks its UTF-8 once more.)
fn bytes<'d>(value: Value<'_, 'd>) -> &'d [u8] {
    value.document().slice(value.span())
}

/// The four digits of a `\u` escape.
fn unit(escape: &[u8]) -> u32 {
    let digits = escape.get(2..6).and_then(|digits| std::str::from_utf8(digits).ok());
    digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()).unwrap_or(0xFFFD)
}

/// What follows the first line of a text, when that line is Claude Code's billing header. It holds a value that changes
/// with every request and says nothing to the model; it is told apart by its beginning.
pub(crate) fn after_billing_header(text: &str) -> Option<&str> {
    const HEADER: &str = "x-anthropic-billing-header:";
    text.starts_with(HEADER).then(|| text.split_once('\n').map_or("", |(_, rest)| rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use deadweight_wire::json::Parser;
    use proptest::prelude::*;

    /// A string, decoded as it is gathered.
    fn gathered(json: &str) -> Digest {
        Parser::new().scope(json.as_bytes(), |document| {
            let mut canon = Canon::new();
            canon.begin(Plain::None, false, std::iter::empty());
            canon.value(document.unwrap().root());
            canon.end()
        })
    }

    #[test]
    fn the_first_backslash_is_found() {
        assert_eq!(first_backslash(&[b'['; FEW]), None);
        assert_eq!(first_backslash(&[b']'; FEW]), None);
        for at in 0..FEW {
            for other in [0, 1, b'[', b']', b'\\' ^ 0x80, 0xff] {
                let mut few = [other; FEW];
                few[at] = b'\\';
                assert_eq!(first_backslash(&few), Some(at), "{other}");
                few[FEW - 1] = b'\\';
                assert_eq!(first_backslash(&few), Some(at), "{other}");
            }
        }
    }

    proptest! {
        /// However a text is escaped, it is the same; and another text is another.
        #[test]
        fn a_text_is_what_it_says(
            pieces in prop::collection::vec(("[a-z \\n\\t\\r\"\\\\/é€😀]{0,40}", any::<bool>(), 0..3_000_usize), 0..6),
        ) {
            let mut text = String::new();
            let mut json = String::from("\"");
            for (piece, all, long) in &pieces {
                let piece = format!("{}{piece}", "x".repeat(*long));
                for character in piece.chars() {
                    match (character, all) {
                        ('\n', false) => json.push_str("\\n"),
                        ('\t', false) => json.push_str("\\t"),
                        ('\r', false) => json.push_str("\\r"),
                        ('"' | '\\', false) => json.extend(['\\', character]),
                        (_, false) => json.push(character),
                        (_, true) => {
                            character.encode_utf16(&mut [0; 2]).iter().for_each(|unit| json.push_str(&format!("\\u{unit:04x}")));
                        }
                    }
                }
                text.push_str(&piece);
            }
            json.push('"');
            let plain = serde_json::to_string(&text).unwrap();
            prop_assert_eq!(gathered(&json), gathered(&plain));
            prop_assert_ne!(gathered(&json), gathered(&serde_json::to_string(&format!("{text}.")).unwrap()));
        }
    }
}
