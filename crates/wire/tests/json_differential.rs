//! The parser against `serde_json`, and its two scanners against each other, on generated texts and on what
//! becomes of them when bytes are changed.
//!
//! What is compared:
//!
//! - A text is accepted exactly if `serde_json` skips over it (`IgnoredAny`) and `str::from_utf8` takes it.
//! - The place of an error is the leftmost of the two: where UTF-8 breaks, or where `serde_json` stops.
//!   `serde_json` says where its reader stands: behind the wrong byte, or at the end of a text that ends too
//!   early, or on a control character in a string. One place is not comparable to the byte: `serde_json` reads the four digits of `\u` at once.
//! - Every container has the children that `serde_json` finds in it (`RawValue`), each at the same place.
//! - Every string decodes to what `serde_json` decodes, and its length is known without decoding. Where half
//!   of a surrogate pair makes `serde_json` refuse to give a `String`, it still gives bytes, in which each
//!   half takes three; ours puts U+FFFD there, which takes as many.

#![expect(clippy::unwrap_used, reason = "a test ends at the first thing that is not as it must be")]

mod support;

use deadweight_wire::json::{Document, Error, ErrorKind, Kind, Parser, Value};
use proptest::prelude::*;
use proptest::sample::Index;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;
use std::ops::RangeInclusive;

/// Checks one text in every way.
fn check(text: &[u8]) -> Result<(), TestCaseError> {
    let [fast, portable] = [Parser::new(), Parser::portable()]
        .map(|mut parser| parser.scope(text, |doc| doc.map(|doc| format!("{doc:?}"))));
    prop_assert_eq!(&fast, &portable, "the scanners differ");
    match (fast, expected_error(text)) {
        (Ok(_), None) => {
            Parser::new().scope(text, |doc| check_document(doc.map_err(|error| fail(error, text))?))
        }
        (Err(error), Some(expected)) if expected.matches(error) => Ok(()),
        (ours, theirs) => Err(fail(format!("{ours:?}, expected {theirs:?}"), text)),
    }
}

fn fail(reason: impl fmt::Display, text: &[u8]) -> TestCaseError {
    TestCaseError::fail(format!("{reason}: {:?}", String::from_utf8_lossy(text)))
}

/// An error, as far as others tell.
#[derive(Debug)]
struct Expected {
    offsets: RangeInclusive<usize>,
    kind: Option<ErrorKind>,
}

impl Expected {
    fn matches(&self, error: Error) -> bool {
        self.offsets.contains(&error.offset) && self.kind.is_none_or(|kind| kind == error.kind)
    }
}

fn expected_error(text: &[u8]) -> Option<Expected> {
    let utf8 = std::str::from_utf8(text).err();
    let broken = utf8.filter(|error| error.error_len().is_some()).map(|error| error.valid_up_to());
    let syntax = serde_json::from_slice::<IgnoredAny>(text).err().map(|error| located(text, &error));
    match (syntax, broken) {
        // The byte may lie where no string is, or in an escape: the kind is then open.
        (Some(syntax), Some(broken)) if syntax.offsets.contains(&broken) => {
            Some(Expected { offsets: *syntax.offsets.start()..=broken, kind: None })
        }
        (Some(syntax), None) => Some(syntax),
        (Some(syntax), Some(broken)) if *syntax.offsets.end() < broken => Some(syntax),
        (_, Some(broken)) => Some(Expected { offsets: broken..=broken, kind: Some(ErrorKind::InvalidUtf8) }),
        (None, None) => utf8.map(|error| Expected { offsets: error.valid_up_to()..=text.len(), kind: None }),
    }
}

/// The place of an error of `serde_json`.
fn located(text: &[u8], error: &serde_json::Error) -> Expected {
    let behind = behind(text, error);
    let message = error.to_string();
    let hex_digits = behind.saturating_sub(4);
    let in_hex = |digits: usize| text[..digits].ends_with(b"\\u");
    if error.is_eof() {
        // Within four bytes of the end, it does not look whether they are digits.
        let cut_hex = (text.len().saturating_sub(3)..text.len()).find(|&digits| in_hex(digits));
        return match cut_hex {
            Some(digits) => Expected { offsets: digits..=text.len(), kind: None },
            None => Expected { offsets: text.len()..=text.len(), kind: Some(ErrorKind::UnexpectedEnd) },
        };
    }
    if message.starts_with("invalid number") && behind == text.len() {
        // It takes the end of a text for a wrong byte. With a digit behind it the text shows which it was.
        let longer = [text, b"0"].concat();
        let still =
            serde_json::from_slice::<IgnoredAny>(&longer).err().map(|error| self::behind(&longer, &error));
        if still != Some(behind) {
            return Expected { offsets: behind..=behind, kind: Some(ErrorKind::UnexpectedEnd) };
        }
    }
    if message.starts_with("invalid escape") && in_hex(hex_digits) {
        return Expected { offsets: hex_digits..=behind - 1, kind: Some(ErrorKind::InvalidEscape) };
    }
    // Before a control character it stops, everything else it has passed.
    let offset = if message.starts_with("control character") { behind } else { behind - 1 };
    Expected { offsets: offset..=offset, kind: None }
}

/// The offset behind the last byte that `serde_json` has read.
fn behind(text: &[u8], error: &serde_json::Error) -> usize {
    let newlines = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
    let start = std::iter::once(0).chain(newlines).nth(error.line() - 1).unwrap();
    start + error.column()
}

fn check_document(doc: Document<'_, '_>) -> Result<(), TestCaseError> {
    let mut todo = vec![doc.root()];
    while let Some(value) = todo.pop() {
        let raw = value.raw();
        match value.kind() {
            Kind::Array => {
                let theirs: Vec<&RawValue> =
                    serde_json::from_str(raw).map_err(|error| fail(error, raw.as_bytes()))?;
                let ours: Vec<Value<'_, '_>> = value.elements().collect();
                prop_assert_eq!(places(&ours), theirs.iter().map(|raw| place(raw.get())).collect::<Vec<_>>());
                todo.extend(ours);
            }
            Kind::Object => {
                let theirs: Entries<'_> =
                    serde_json::from_str(raw).map_err(|error| fail(error, raw.as_bytes()))?;
                let ours: Vec<Value<'_, '_>> =
                    value.entries().flat_map(|entry| [entry.key, entry.value]).collect();
                prop_assert_eq!(
                    places(&ours),
                    theirs.0.iter().map(|raw| place(raw.get())).collect::<Vec<_>>()
                );
                todo.extend(ours);
            }
            Kind::String => check_string(value)?,
            _ => prop_assert!(value.decoded_len().is_none() && value.as_str().is_none()),
        }
    }
    Ok(())
}

fn check_string(value: Value<'_, '_>) -> Result<(), TestCaseError> {
    let raw = value.raw();
    let ours = value.as_str().unwrap();
    let Bytes(bytes) = serde_json::from_str(raw).map_err(|error| fail(error, raw.as_bytes()))?;
    prop_assert_eq!(value.decoded_len(), Some(bytes.len()), "{}", raw);
    match serde_json::from_str::<String>(raw) {
        Ok(theirs) => {
            prop_assert_eq!(&ours, &theirs);
            prop_assert!(!value.has_lone_surrogate() && value.is_str(&theirs), "{raw}");
        }
        Err(_) => {
            prop_assert!(value.has_lone_surrogate(), "{raw}");
            // A half is ED, a byte from A0 on, and one more.
            let mut lossy = bytes;
            for at in 0..lossy.len() {
                if lossy[at] == 0xED && lossy[at + 1] >= 0xA0 {
                    lossy[at..at + 3].copy_from_slice("\u{fffd}".as_bytes());
                }
            }
            prop_assert_eq!(ours.as_bytes(), &lossy);
        }
    }
    Ok(())
}

fn place(text: &str) -> (usize, usize) {
    (text.as_ptr() as usize, text.len())
}

fn places(values: &[Value<'_, '_>]) -> Vec<(usize, usize)> {
    values.iter().map(|value| place(value.raw())).collect()
}

/// The keys and values of an object, all of them, as they are written.
struct Entries<'t>(Vec<&'t RawValue>);

impl<'t> Deserialize<'t> for Entries<'t> {
    fn deserialize<D: Deserializer<'t>>(deserializer: D) -> Result<Self, D::Error> {
        struct All;
        impl<'t> Visitor<'t> for All {
            type Value = Entries<'t>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'t>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some((key, value)) = map.next_entry()? {
                    entries.extend::<[&RawValue; 2]>([key, value]);
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(All)
    }
}

/// A string decoded to bytes.
struct Bytes(Vec<u8>);

impl<'t> Deserialize<'t> for Bytes {
    fn deserialize<D: Deserializer<'t>>(deserializer: D) -> Result<Self, D::Error> {
        struct Decoded;
        impl Visitor<'_> for Decoded {
            type Value = Bytes;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Bytes, E> {
                Ok(Bytes(bytes.to_vec()))
            }
        }
        deserializer.deserialize_bytes(Decoded)
    }
}

/// A change to the bytes of a text.
#[derive(Debug, Clone)]
enum Mutation {
    Set(Index, u8),
    Flip(Index, u8),
    Insert(Index, Vec<u8>),
    Delete(Index, usize),
    Truncate(Index),
    Repeat(Index, usize),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let fragments: Vec<&[u8]> = vec![
        b"\"",
        b"\\",
        b"\\\"",
        b"\\\\",
        b"\\u",
        b"\\u12",
        b"\\ud83d",
        b"\\udE00",
        b"\\x",
        b"\n",
        b"\0",
        b"\x1f",
        b"\x7f",
        b"\x80",
        b"\xbf",
        b"\xc0\x80",
        b"\xc3",
        b"\xc3\xa9",
        b"\xe0\x9f\xbf",
        b"\xe2\x82",
        b"\xe2\x82\xac",
        b"\xed\xa0\x80",
        b"\xf0\x8f\xbf\xbf",
        b"\xf0\x9f\x98",
        b"\xf0\x9f\x98\x80",
        b"\xf4\x90\x80\x80",
        b"\xf8",
        b"\xff",
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b" ",
        b"1",
        b"-",
        b".",
        b"e",
        b"0",
        b"true",
        b"nul",
    ];
    prop_oneof![
        3 => (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Mutation::Set(at, byte)),
        2 => (any::<Index>(), 0u8..8).prop_map(|(at, bit)| Mutation::Flip(at, 1 << bit)),
        5 => (any::<Index>(), proptest::sample::select(fragments))
            .prop_map(|(at, bytes)| Mutation::Insert(at, bytes.to_vec())),
        2 => (any::<Index>(), 1usize..5).prop_map(|(at, count)| Mutation::Delete(at, count)),
        1 => any::<Index>().prop_map(Mutation::Truncate),
        1 => (any::<Index>(), 1usize..100).prop_map(|(at, count)| Mutation::Repeat(at, count)),
    ]
}

fn mutate(text: &mut Vec<u8>, mutation: &Mutation) {
    match mutation {
        _ if text.is_empty() => {}
        Mutation::Set(at, byte) => *at.get_mut(text) = *byte,
        Mutation::Flip(at, bits) => *at.get_mut(text) ^= bits,
        Mutation::Insert(at, bytes) => {
            let at = at.index(text.len());
            text.splice(at..at, bytes.iter().copied());
        }
        Mutation::Delete(at, count) => {
            let at = at.index(text.len());
            text.drain(at..text.len().min(at + count));
        }
        Mutation::Truncate(at) => text.truncate(at.index(text.len())),
        Mutation::Repeat(at, count) => {
            let at = at.index(text.len());
            let byte = text[at];
            text.splice(at..at, std::iter::repeat_n(byte, *count));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn valid_texts(tree in support::tree(), spaces in support::spaces()) {
        let text = support::write(&tree, &spaces);
        prop_assert!(Parser::new().scope(text.as_bytes(), |doc| doc.is_ok()), "{}", text);
        check(text.as_bytes())?;
    }

    #[test]
    fn changed_texts(
        tree in support::tree(),
        spaces in support::spaces(),
        mutations in proptest::collection::vec(mutation(), 1..4),
    ) {
        let mut text = support::write(&tree, &spaces).into_bytes();
        for mutation in &mutations {
            mutate(&mut text, mutation);
            check(&text)?;
        }
    }

    #[test]
    fn changed_strings(
        string in support::string(),
        lead in 0usize..70,
        mutations in proptest::collection::vec(mutation(), 1..4),
    ) {
        let mut text = [&b" ".repeat(lead)[..], string.as_bytes(), &b" ".repeat(70)].concat();
        for mutation in &mutations {
            mutate(&mut text, mutation);
            check(&text)?;
        }
    }
}

/// Everything that a text of a few bytes can be, with those bytes that mean something.
#[test]
fn short_texts() {
    const BYTES: &[u8] = b"\"\\u0d8e{}[],:-.\xc3\xa9";
    let mut texts = vec![Vec::new()];
    for _ in 0..4 {
        texts = texts
            .iter()
            .flat_map(|text: &Vec<u8>| BYTES.iter().map(move |byte| [text.as_slice(), &[*byte]].concat()))
            .collect();
        for text in &texts {
            check(text).unwrap();
            check(&[b"[\"\\", text.as_slice()].concat()).unwrap();
        }
    }
}

#[test]
fn texts_of_a_million_levels() {
    const DEPTH: usize = 1_000_000;
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        for (inside, end) in [("0", close), ("\"\\q\"", ""), ("0", "]}")] {
            let text = [&open.repeat(DEPTH), inside, &end.repeat(DEPTH)].concat();
            let ours = Parser::new().scope(text.as_bytes(), |doc| doc.map(|_| ()));
            match (ours, expected_error(text.as_bytes())) {
                (Ok(()), None) => {}
                (Err(error), Some(expected)) if expected.matches(error) => {}
                other => panic!("{open} {inside} {end}: {other:?}"),
            }
        }
    }
}
