//! The canonical form of a JSON value, and its hash.
//!
//! Version 1: no white space; object keys sorted by their Unicode code points; numbers as their text stands;
//! strings with the fewest escapes (`\"`, `\\`, `\b`, `\f`, `\n`, `\r`, `\t`, other control characters as
//! `\u00xx`); half a surrogate pair stays an escape. Two spellings of one definition are one hash; any other
//! difference is another. Keys that occur twice are all kept, in their order, so that no change hides behind
//! the last one.
//!
//! For a definition without such oddities this is what `jq -cS` prints, so that anybody can check a hash with
//! `jq -cjS . | sha256sum`.

use deadweight_wire::json::{Kind, Value};
use sha2::{Digest, Sha256};
use std::fmt;

/// The version of the canonical form that [`struct@Hash`] is taken over.
pub const VERSION: u32 = 1;

/// The SHA-256 of a canonical form; displays as `sha256-1:<64 hexadecimal digits>`, where 1 is the version of
/// that form.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hash([u8; 32]);

impl Hash {
    /// The hash of a JSON value: a tool's whole definition.
    pub fn of_value(value: Value<'_, '_>) -> Self {
        Self::of_text(&canonical(value))
    }

    /// The hash of a text as it is: instructions, a memory file, a skill's description.
    pub fn of_text(text: &str) -> Self {
        Self(Sha256::digest(text.as_bytes()).into())
    }

    /// Reads what `Display` writes.
    pub fn parse(text: &str) -> Option<Self> {
        let hex = text.strip_prefix(&format!("sha256-{VERSION}:"))?.as_bytes();
        if hex.len() != 64 {
            return None;
        }
        let digit = |byte: u8| (byte as char).to_digit(16).filter(|_| !byte.is_ascii_uppercase());
        let mut out = [0; 32];
        for (byte, pair) in out.iter_mut().zip(hex.chunks_exact(2)) {
            let [high, low] = pair else { return None };
            *byte = u8::try_from(digit(*high)? * 16 + digit(*low)?).ok()?;
        }
        Some(Self(out))
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256-{VERSION}:")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What is still to be written while a value is walked; a stack of these stands in for recursion.
enum Step<'id, 'd> {
    Value(Value<'id, 'd>),
    Text(&'static str),
    Key(String),
}

/// The canonical form of a value.
pub fn canonical(value: Value<'_, '_>) -> String {
    let mut out = String::with_capacity(value.span().len());
    let mut steps = vec![Step::Value(value)];
    while let Some(step) = steps.pop() {
        match step {
            Step::Text(text) => out.push_str(text),
            Step::Key(key) => out.push_str(&key),
            Step::Value(value) => match value.kind() {
                Kind::Array => {
                    out.push('[');
                    steps.push(Step::Text("]"));
                    let from = steps.len();
                    for element in value.elements() {
                        steps.extend([Step::Value(element), Step::Text(",")]);
                    }
                    seal(&mut steps, from);
                }
                Kind::Object => {
                    out.push('{');
                    steps.push(Step::Text("}"));
                    let mut entries: Vec<_> =
                        value.entries().map(|entry| (sort_key(entry.key), entry)).collect();
                    entries.sort_by(|a, b| a.0.cmp(&b.0));
                    let from = steps.len();
                    for (_, entry) in entries {
                        let mut key = String::new();
                        push_string(entry.key.raw(), &mut key);
                        key.push(':');
                        steps.extend([Step::Key(key), Step::Value(entry.value), Step::Text(",")]);
                    }
                    seal(&mut steps, from);
                }
                Kind::String => push_string(value.raw(), &mut out),
                Kind::Null | Kind::Bool | Kind::Number => out.push_str(value.raw()),
            },
        }
    }
    out
}

/// Takes the comma after the last child away and turns the children round, so that the first is on top.
fn seal(steps: &mut Vec<Step<'_, '_>>, from: usize) {
    if steps.len() > from {
        steps.pop();
    }
    if let Some(children) = steps.get_mut(from..) {
        children.reverse();
    }
}

/// What keys are sorted by: the decoded text (half a surrogate pair last among equals, by its digits).
fn sort_key(key: Value<'_, '_>) -> (String, String) {
    let text = key.as_str().unwrap_or_default().into_owned();
    let odd = if key.has_lone_surrogate() { key.raw().to_ascii_lowercase() } else { String::new() };
    (text, odd)
}

/// Appends the canonical form of a string, given with its quotes.
fn push_string(raw: &str, out: &mut String) {
    out.push('"');
    let mut rest = raw.get(1..raw.len().saturating_sub(1)).unwrap_or_default();
    while let Some(at) = rest.find('\\') {
        let (plain, tail) = rest.split_at(at);
        out.push_str(plain);
        let escape = tail.as_bytes().get(1).copied().unwrap_or(b'\\');
        rest = tail.get(2..).unwrap_or_default();
        match escape {
            b'u' => rest = push_unit(rest, out),
            b'/' => out.push('/'),
            other => out.extend(['\\', other as char]),
        }
    }
    out.push_str(rest);
    out.push('"');
}

/// Appends what the digits after `\u` name, the second half of a pair included; answers with the rest.
fn push_unit<'a>(tail: &'a str, out: &mut String) -> &'a str {
    let unit = |text: &str| text.get(..4).and_then(|hex| u32::from_str_radix(hex, 16).ok());
    let high = unit(tail).unwrap_or(0xFFFD);
    let rest = tail.get(4..).unwrap_or_default();
    match (high, char::from_u32(high)) {
        (0x22, _) => out.push_str("\\\""),
        (0x5C, _) => out.push_str("\\\\"),
        (0x08, _) => out.push_str("\\b"),
        (0x09, _) => out.push_str("\\t"),
        (0x0A, _) => out.push_str("\\n"),
        (0x0C, _) => out.push_str("\\f"),
        (0x0D, _) => out.push_str("\\r"),
        (0..0x20, _) => out.push_str(&format!("\\u{high:04x}")),
        (_, Some(character)) => out.push(character),
        (_, None) => {
            let low = rest.strip_prefix("\\u").and_then(unit).filter(|low| (0xDC00..0xE000).contains(low));
            if let (0xD800..0xDC00, Some(low)) = (high, low) {
                let scalar = 0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00);
                out.push(char::from_u32(scalar).unwrap_or(char::REPLACEMENT_CHARACTER));
                return rest.get(6..).unwrap_or_default();
            }
            out.push_str(&format!("\\u{high:04x}"));
        }
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use deadweight_wire::json::Parser;
    use proptest::prelude::*;

    fn form(text: &str) -> String {
        Parser::new().scope(text.as_bytes(), |document| canonical(document.unwrap().root()))
    }

    #[test]
    fn forms() {
        for (text, expected) in [
            (
                r#" { "b" : [ 1 , 2.50, 1e400 ] , "a" : { "d" : null , "c" : true } } "#,
                r#"{"a":{"c":true,"d":null},"b":[1,2.50,1e400]}"#,
            ),
            (r#"{"é":1,"z":2,"\u0061":3}"#, r#"{"a":3,"z":2,"é":1}"#),
            (r#""\u00e9\/\u000a\u0001\"\ud83d\ude00\ud800x\udc00""#, "\"é/\\n\\u0001\\\"😀\\ud800x\\udc00\""),
            (r#"{"a":1,"a":2}"#, r#"{"a":1,"a":2}"#),
            ("[]", "[]"),
            ("[{},[[]]]", "[{},[[]]]"),
            ("true", "true"),
        ] {
            assert_eq!(form(text), expected, "{text}");
        }
    }

    #[test]
    fn depth_is_no_matter() {
        let deep = format!("{}{}", "[".repeat(500_000), "]".repeat(500_000));
        assert_eq!(form(&deep), deep);
    }

    #[test]
    fn a_hash_reads_back_and_nothing_else_does() {
        let hash = Hash::of_text("abc");
        assert_eq!(
            hash.to_string(),
            "sha256-1:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            "FIPS 180-4's first example"
        );
        assert_eq!(Hash::parse(&hash.to_string()), Some(hash));
        let text = hash.to_string();
        for broken in [
            "",
            "sha256-1:",
            &text[..70],
            &text.replace("-1:", "-2:"),
            &text.to_uppercase(),
            &text.replace('b', "B"),
        ] {
            assert_eq!(Hash::parse(broken), None, "{broken}");
        }
    }

    fn json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            any::<String>().prop_map(Into::into),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
                prop::collection::vec((any::<String>(), inner), 0..6)
                    .prop_map(|entries| serde_json::Value::Object(entries.into_iter().collect())),
            ]
        })
    }

    /// Rewrites keys in reverse order, which is another order unless there are fewer than two.
    fn reversed(value: &serde_json::Value) -> serde_json::Value {
        match value {
            serde_json::Value::Array(items) => items.iter().map(reversed).collect(),
            serde_json::Value::Object(map) => {
                serde_json::Value::Object(map.iter().rev().map(|(k, v)| (k.clone(), reversed(v))).collect())
            }
            other => other.clone(),
        }
    }

    proptest! {
        #[test]
        fn order_and_spelling_do_not_matter(value in json()) {
            let compact = serde_json::to_string(&value).unwrap();
            let pretty = serde_json::to_string_pretty(&reversed(&value)).unwrap();
            prop_assert_eq!(form(&compact), form(&pretty));
            prop_assert_eq!(form(&form(&compact)), form(&compact), "canonical forms are fixed points");
        }

        #[test]
        fn two_values_are_two_forms(a in json(), b in json()) {
            let same = form(&a.to_string()) == form(&b.to_string());
            prop_assert_eq!(same, a == b);
        }
    }
}
