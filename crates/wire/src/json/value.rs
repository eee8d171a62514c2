//! A parsed text, its values, and spans that belong to it by type.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::ops::Range;

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool,
    /// A number, kept as its text.
    Number,
    /// A string.
    String,
    /// An array.
    Array,
    /// An object.
    Object,
}

/// One node of the tape, in the order in which the text names them: a container before its children, a
/// key before its value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Node {
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// Strings: the length when decoded. Containers: the index of the node after the last descendant.
    pub(crate) aux: u32,
    pub(crate) kind: Kind,
    /// Strings: whether a backslash occurs.
    pub(crate) escaped: bool,
    /// Strings: whether an escape names half of a surrogate pair.
    pub(crate) lone_surrogate: bool,
}

impl Node {
    /// A node without anything particular; the offsets fit 32 bits.
    #[inline(always)]
    pub(crate) const fn plain(kind: Kind, start: usize, end: usize) -> Self {
        Self { start: start as u32, end: end as u32, aux: 0, kind, escaped: false, lone_surrogate: false }
    }
}

const _: () = assert!(size_of::<Node>() == 16 && size_of::<Option<Value<'_, '_>>>() == 16);

/// Makes the types of one [`Document`] differ from those of every other.
pub(crate) type Brand<'id> = PhantomData<fn(&'id ()) -> &'id ()>;

/// A byte range of one document, and by its type of no other: `'id` is a lifetime that nothing else
/// shares, so a span cannot be used to edit another text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span<'id> {
    start: u32,
    end: u32,
    brand: Brand<'id>,
}

impl<'id> Span<'id> {
    pub(crate) const fn new(start: u32, end: u32) -> Self {
        Self { start, end, brand: PhantomData }
    }

    /// Offset of the first byte.
    pub const fn start(self) -> usize {
        self.start as usize
    }

    /// Offset after the last byte.
    pub const fn end(self) -> usize {
        self.end as usize
    }

    /// Number of bytes.
    pub const fn len(self) -> usize {
        (self.end - self.start) as usize
    }

    /// Whether the span holds no byte.
    pub const fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// The span as a plain range.
    pub const fn range(self) -> Range<usize> {
        self.start()..self.end()
    }

    /// The smallest span that holds this one and `other`.
    #[must_use]
    pub fn join(self, other: Self) -> Self {
        Self::new(self.start.min(other.start), self.end.max(other.end))
    }
}

/// A text and its nodes.
#[derive(Debug)]
pub(crate) struct Tape<'d> {
    pub(crate) bytes: &'d [u8],
    pub(crate) nodes: &'d [Node],
}

/// A text that was parsed, and where everything in it lies. Made by [`Parser::scope`](super::Parser::scope).
/// One pointer wide, since every [`Value`] carries it.
#[derive(Debug, Clone, Copy)]
pub struct Document<'id, 'd> {
    tape: &'d Tape<'d>,
    brand: Brand<'id>,
}

impl<'id, 'd> Document<'id, 'd> {
    /// The brand is new wherever `'id` is one that nothing else shares.
    pub(super) const fn new(tape: &'d Tape<'d>) -> Self {
        Self { tape, brand: PhantomData }
    }

    pub(crate) const fn nodes(&self) -> &'d [Node] {
        self.tape.nodes
    }

    /// The whole text.
    pub const fn bytes(&self) -> &'d [u8] {
        self.tape.bytes
    }

    /// The value that the text holds.
    pub const fn root(&self) -> Value<'id, 'd> {
        Value { doc: *self, index: 0 }
    }

    /// The bytes of a span of this document.
    pub fn slice(&self, span: Span<'id>) -> &'d [u8] {
        self.tape.bytes.get(span.range()).unwrap_or_default()
    }

    /// The text of a span of this document. (The document is UTF-8; a span always ends at a character.)
    pub fn text(&self, span: Span<'id>) -> &'d str {
        std::str::from_utf8(self.slice(span)).unwrap_or_default()
    }
}

/// One value of a document: a cheap, copyable handle.
#[derive(Debug, Clone, Copy)]
pub struct Value<'id, 'd> {
    doc: Document<'id, 'd>,
    index: u32,
}

const _: () = assert!(size_of::<Option<Value<'_, '_>>>() == 16);

impl<'id, 'd> Value<'id, 'd> {
    fn node(&self) -> Node {
        self.doc.tape.nodes.get(self.index as usize).copied().unwrap_or(Node::plain(Kind::Null, 0, 0))
    }

    /// The index of its node.
    pub(crate) const fn index(&self) -> usize {
        self.index as usize
    }

    /// The document this value belongs to.
    pub const fn document(&self) -> Document<'id, 'd> {
        self.doc
    }

    /// What the value is.
    pub fn kind(&self) -> Kind {
        self.node().kind
    }

    /// Where the value lies: a string with its quotes, a container with its brackets.
    pub fn span(&self) -> Span<'id> {
        let node = self.node();
        Span::new(node.start, node.end)
    }

    /// The value as it stands in the text.
    pub fn raw(&self) -> &'d str {
        self.doc.text(self.span())
    }

    /// For a string without escapes, its bytes: the quick way to look at keys.
    #[inline]
    pub(crate) fn plain_bytes(&self) -> Option<&'d [u8]> {
        let node = self.node();
        let plain = node.kind == Kind::String && !node.escaped;
        if plain {
            self.doc.tape.bytes.get(node.start as usize + 1..(node.end as usize).wrapping_sub(1))
        } else {
            None
        }
    }

    /// For a string, its length in bytes of UTF-8 once its escapes are resolved; computed while parsing,
    /// without decoding. A lone surrogate counts three bytes.
    pub fn decoded_len(&self) -> Option<usize> {
        let node = self.node();
        (node.kind == Kind::String).then_some(node.aux as usize)
    }

    /// For a string, whether it holds an escape that names half of a surrogate pair.
    pub fn has_lone_surrogate(&self) -> bool {
        self.node().lone_surrogate
    }

    /// For a string, its text with escapes resolved (borrowed when there are none). A lone surrogate
    /// becomes U+FFFD.
    pub fn as_str(&self) -> Option<Cow<'d, str>> {
        let node = self.node();
        if node.kind != Kind::String {
            return None;
        }
        let inner = self.doc.text(Span::new(node.start + 1, node.end - 1));
        Some(if node.escaped { Cow::Owned(unescape(inner, node.aux as usize)) } else { Cow::Borrowed(inner) })
    }

    /// Whether the value is the string `text`.
    pub fn is_str(&self, text: &str) -> bool {
        let node = self.node();
        if node.kind != Kind::String || node.aux as usize != text.len() {
            return false;
        }
        if node.escaped {
            return self.as_str().is_some_and(|own| own == text);
        }
        self.doc.slice(Span::new(node.start + 1, node.end - 1)) == text.as_bytes()
    }

    /// For `true` and `false`, which.
    pub fn as_bool(&self) -> Option<bool> {
        (self.kind() == Kind::Bool).then(|| self.raw() == "true")
    }

    /// For a number that is a non-negative integer below 2^64 written without fraction or exponent, its value.
    pub fn as_u64(&self) -> Option<u64> {
        (self.kind() == Kind::Number).then(|| self.raw().parse().ok()).flatten()
    }

    /// Whether the value is `null`.
    pub fn is_null(&self) -> bool {
        self.kind() == Kind::Null
    }

    /// For an object, the value of `key`; on duplicate keys the last. `None` for anything else.
    pub fn get(&self, key: &str) -> Option<Self> {
        self.entries().filter(|entry| entry.key.is_str(key)).last().map(|entry| entry.value)
    }

    /// The entries of an object, in order, duplicates included; nothing for anything else.
    pub fn entries(&self) -> Entries<'id, 'd> {
        let node = self.node();
        let end = if node.kind == Kind::Object { node.aux } else { self.index + 1 };
        Entries { doc: self.doc, next: self.index + 1, end }
    }

    /// The elements of an array, in order; nothing for anything else.
    pub fn elements(&self) -> Elements<'id, 'd> {
        let node = self.node();
        let end = if node.kind == Kind::Array { node.aux } else { self.index + 1 };
        Elements { doc: self.doc, next: self.index + 1, end }
    }

    /// The index of the node after this value.
    pub(crate) fn after(&self) -> u32 {
        let node = self.node();
        if matches!(node.kind, Kind::Array | Kind::Object) { node.aux } else { self.index + 1 }
    }
}

/// One entry of an object.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'id, 'd> {
    /// The key, a string value.
    pub key: Value<'id, 'd>,
    /// Its value.
    pub value: Value<'id, 'd>,
}

impl<'id> Entry<'id, '_> {
    /// The span from the key's first byte to the value's last.
    pub fn span(&self) -> Span<'id> {
        self.key.span().join(self.value.span())
    }
}

impl<'id> From<Value<'id, '_>> for Span<'id> {
    fn from(value: Value<'id, '_>) -> Self {
        value.span()
    }
}

impl<'id> From<Entry<'id, '_>> for Span<'id> {
    fn from(entry: Entry<'id, '_>) -> Self {
        entry.span()
    }
}

/// Iterates over an object's entries.
#[derive(Debug, Clone)]
pub struct Entries<'id, 'd> {
    doc: Document<'id, 'd>,
    next: u32,
    end: u32,
}

impl<'id, 'd> Iterator for Entries<'id, 'd> {
    type Item = Entry<'id, 'd>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.next >= self.end {
            return None;
        }
        let key = Value { doc: self.doc, index: self.next };
        let value = Value { doc: self.doc, index: self.next + 1 };
        self.next = value.after();
        Some(Entry { key, value })
    }
}

/// Iterates over an array's elements.
#[derive(Debug, Clone)]
pub struct Elements<'id, 'd> {
    doc: Document<'id, 'd>,
    next: u32,
    end: u32,
}

impl<'id, 'd> Iterator for Elements<'id, 'd> {
    type Item = Value<'id, 'd>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.next >= self.end {
            return None;
        }
        let value = Value { doc: self.doc, index: self.next };
        self.next = value.after();
        Some(value)
    }
}

/// Resolves the escapes of a string's inside; `inner` was checked by the parser.
fn unescape(inner: &str, decoded_len: usize) -> String {
    let mut out = String::with_capacity(decoded_len);
    let mut rest = inner;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let mut tail = &rest[at + 1..];
        let escape = tail.as_bytes().first().copied().unwrap_or(b'\\');
        tail = tail.get(1..).unwrap_or_default();
        match escape {
            b'b' => out.push('\u{8}'),
            b'f' => out.push('\u{c}'),
            b'n' => out.push('\n'),
            b'r' => out.push('\r'),
            b't' => out.push('\t'),
            b'u' => {
                let (character, left) = unescape_unicode(tail);
                out.push(character);
                tail = left;
            }
            other => out.push(other as char),
        }
        rest = tail;
    }
    out.push_str(rest);
    out
}

/// Reads the four digits after `\u`, and the second half of a pair when it follows.
fn unescape_unicode(tail: &str) -> (char, &str) {
    let unit = |text: &str| text.get(..4).and_then(|hex| u32::from_str_radix(hex, 16).ok());
    let Some(high) = unit(tail) else { return (char::REPLACEMENT_CHARACTER, tail) };
    let left = tail.get(4..).unwrap_or_default();
    if (0xD800..0xDC00).contains(&high)
        && let Some(second) = left.strip_prefix("\\u")
        && let Some(low) = unit(second)
        && (0xDC00..0xE000).contains(&low)
    {
        let scalar = 0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00);
        return (
            char::from_u32(scalar).unwrap_or(char::REPLACEMENT_CHARACTER),
            second.get(4..).unwrap_or_default(),
        );
    }
    (char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER), left)
}
