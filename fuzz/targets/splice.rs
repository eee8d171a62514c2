//! Edits of any JSON: what stands outside of them stays, the result is JSON, and the way back leads back.
//!
//! The input is a count of edits, three bytes for each (what, where, which text), and then the JSON.

#![no_main]

use deadweight_wire::json::{Kind, Parser, Span, Value};
use deadweight_wire::splice::Edits;
use libfuzzer_sys::fuzz_target;

/// What is put in; the last is not JSON, and must be refused.
const TEXTS: [&str; 6] = ["1", "\"text\"", "{\"a\":[]}", " [ null ] ", "\"\\ud800\"", "[1,"];

/// A value and how it stands in its document.
struct Place<'id, 'd> {
    value: Value<'id, 'd>,
    /// The entry it is the value of.
    entry: Option<Span<'id>>,
    element: bool,
}

fuzz_target!(|input: &[u8]| {
    let Some((&count, rest)) = input.split_first() else { return };
    let count = usize::from(count % 8) + 1;
    let Some((operations, bytes)) = rest.split_at_checked(count * 3) else { return };
    Parser::new().scope(bytes, |document| {
        let Ok(document) = document else { return };
        let places = places(document.root());
        let mut edits = Edits::new(document);
        let mut sound = true;
        for operation in operations.chunks_exact(3) {
            let place = &places[usize::from(operation[1]) % places.len()];
            let text = TEXTS[usize::from(operation[2]) % TEXTS.len()];
            let json = text != TEXTS[5];
            match operation[0] % 5 {
                0 => {
                    edits.replace(place.value, text);
                    sound &= json;
                }
                1 => {
                    edits.remove(place.entry.unwrap_or_else(|| place.value.span()));
                    sound &= place.entry.is_some() || place.element;
                }
                2 => {
                    edits.insert_before(place.value, text);
                    sound &= json && place.element;
                }
                3 => {
                    edits.insert_after(place.value, text);
                    sound &= json && place.element;
                }
                _ => {
                    edits.append(place.value, text);
                    sound &= json && place.value.kind() == Kind::Array;
                }
            }
        }
        match edits.apply(&mut Parser::new()) {
            Err(error) => assert!(!sound || count > 1, "a single sound edit was refused: {error}"),
            Ok(spliced) => {
                assert!(sound, "an unsound edit was made");
                let text = std::str::from_utf8(spliced.bytes()).expect("the result is UTF-8");
                serde_json::from_str::<&serde_json::value::RawValue>(text).expect("the result is JSON");
                assert_eq!(spliced.inverse().bytes(), bytes, "the way back");
                let (mut old, mut new) = (0, 0);
                for edit in spliced.edits() {
                    let (before, after) = (edit.before(), edit.after());
                    assert_eq!(
                        bytes[old..before.start],
                        spliced.bytes()[new..after.start],
                        "outside of the edits"
                    );
                    (old, new) = (before.end, after.end);
                }
                assert_eq!(bytes[old..], spliced.bytes()[new..], "behind the edits");
            }
        }
    });
});

fn places<'id, 'd>(root: Value<'id, 'd>) -> Vec<Place<'id, 'd>> {
    let mut places = vec![Place { value: root, entry: None, element: false }];
    let mut next = 0;
    // The operations can name no more.
    while next < places.len() && places.len() < 256 {
        let value = places[next].value;
        places.extend(value.elements().map(|value| Place { value, entry: None, element: true }));
        places.extend(value.entries().map(|entry| Place {
            value: entry.value,
            entry: Some(entry.span()),
            element: false,
        }));
        next += 1;
    }
    places
}
