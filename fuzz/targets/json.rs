//! The JSON tape against `serde_json`: what is accepted, what strings decode to, where values lie.

#![no_main]

use deadweight_wire::json::{Kind, Parser, Value};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let utf8 = std::str::from_utf8(bytes);
    // `RawValue` skips over a value without recursion and without looking at what escapes mean: the same grammar.
    let reference = utf8.is_ok_and(|text| serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok());
    Parser::new().scope(bytes, |document| match document {
        Err(error) => {
            assert!(!reference, "refused what is JSON: {error}");
            assert!(error.offset <= bytes.len());
            if let Err(utf8) = utf8 {
                assert!(error.offset <= utf8.valid_up_to() + 3, "went past the invalid byte: {error}");
            }
        }
        Ok(document) => {
            assert!(reference, "accepted what is not JSON");
            let mut todo = vec![document.root()];
            while let Some(value) = todo.pop() {
                check(value, bytes);
                todo.extend(value.elements());
                for entry in value.entries() {
                    check(entry.key, bytes);
                    todo.push(entry.value);
                    let last = value.get(&entry.key.as_str().expect("a key is a string"));
                    assert!(last.is_some_and(|last| last.span().start() >= entry.value.span().start()));
                }
            }
        }
    });
});

/// One value: its span, and what it says it holds.
fn check(value: Value<'_, '_>, bytes: &[u8]) {
    let raw = value.raw();
    assert_eq!(raw.as_bytes(), &bytes[value.span().range()]);
    let first = raw.as_bytes()[0];
    match value.kind() {
        Kind::Null => assert_eq!(raw, "null"),
        Kind::Bool => {
            assert!(matches!((raw, value.as_bool()), ("true", Some(true)) | ("false", Some(false))))
        }
        Kind::Number => assert!(first == b'-' || first.is_ascii_digit()),
        Kind::Array => assert!(first == b'[' && raw.ends_with(']')),
        Kind::Object => assert!(first == b'{' && raw.ends_with('}')),
        Kind::String => {
            let own = value.as_str().expect("a string");
            assert_eq!(value.decoded_len(), Some(own.len()));
            match serde_json::from_str::<String>(raw) {
                Ok(text) => assert_eq!(own, text),
                Err(_) => assert!(value.has_lone_surrogate(), "serde_json cannot decode {raw}"),
            }
        }
    }
}
