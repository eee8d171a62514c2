//! What was made of a definition once, for every surface of this process that has it.

use super::headers::{self, Mirrored};
use super::reply::escaped;
use super::schema::Schema;
use bytes::Bytes;
use deadweight_wire::definition::compact;
use deadweight_wire::json::{Parser, Value};
use deadweight_wire::splice::Edits;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// How many definitions, and how many bytes of them, are kept in each of two halves. What is made of a schema is about ten
/// times its size.
const DEFINITIONS: usize = 512;
const BYTES: usize = 2 << 20;

/// A definition and what was made of it, each part when it is first needed.
#[derive(Debug)]
pub(super) struct Known {
    definition: Bytes,
    rendered: OnceLock<String>,
    hints: OnceLock<Hints>,
    schema: OnceLock<Option<Schema>>,
    mirrored: OnceLock<Vec<Mirrored>>,
}

/// What a definition says about the harm that its tool can do.
#[derive(Debug, Clone, Default)]
pub(super) struct Hints {
    /// Whether it declares itself read-only or not destructive, without contradicting itself.
    pub(super) harmless: bool,
    /// Its `annotations`, compact.
    pub(super) annotations: Option<String>,
}

impl Known {
    /// What is known of a definition.
    pub(super) fn of(definition: &Bytes) -> Arc<Self> {
        static KNOWN: OnceLock<Mutex<Halves>> = OnceLock::new();
        let halves = KNOWN.get_or_init(Mutex::default);
        halves.lock().unwrap_or_else(PoisonError::into_inner).get(definition)
    }

    /// The definition as a model reads it: compact, without `icons`, escaped for a JSON string.
    pub(super) fn rendered(&self) -> &str {
        self.rendered.get_or_init(|| escaped(&compact(&without_icons(&self.definition))))
    }

    pub(super) fn hints(&self) -> &Hints {
        self.hints.get_or_init(|| self.read(hints))
    }

    /// Its input schema; `None` when it has none that could be read.
    pub(super) fn schema(&self) -> Option<&Schema> {
        self.schema.get_or_init(|| self.read(|root| Schema::new(root.get("inputSchema")?.raw()))).as_ref()
    }

    /// The arguments that are sent as headers too.
    pub(super) fn mirrored(&self) -> &[Mirrored] {
        self.mirrored
            .get_or_init(|| self.read(|root| root.get("inputSchema").map_or_else(Vec::new, headers::read)))
    }

    fn read<R: Default>(&self, f: impl for<'id, 'd> FnOnce(Value<'id, 'd>) -> R) -> R {
        Parser::new().scope(&self.definition, |document| match document {
            Ok(document) => f(document.root()),
            Err(_) => R::default(),
        })
    }
}

/// A member that stands twice may be read either way, so both must say it.
fn hints(root: Value<'_, '_>) -> Hints {
    let all = |key: &str, expected: bool| {
        let annotations = root.entries().filter(|entry| entry.key.is_str("annotations"));
        let mut found = false;
        let each = annotations.flat_map(|entry| entry.value.entries());
        for entry in each.filter(|entry| entry.key.is_str(key)) {
            if entry.value.as_bool() != Some(expected) {
                return false;
            }
            found = true;
        }
        found
    };
    let single = root.entries().filter(|entry| entry.key.is_str("annotations")).count() == 1;
    let annotations = root.get("annotations").map(|value| compact(value.raw()).into_owned());
    Hints { harmless: single && (all("readOnlyHint", true) || all("destructiveHint", false)), annotations }
}

/// Pictures are for people. As `data:` URIs they would be most of what a model is sent.
fn without_icons(definition: &[u8]) -> String {
    let spliced = Parser::new().scope(definition, |document| {
        let document = document.ok()?;
        let mut edits = Edits::new(document);
        for entry in document.root().entries().filter(|entry| entry.key.is_str("icons")) {
            edits.remove(entry);
        }
        edits.apply(&mut Parser::new()).ok()
    });
    let bytes = spliced.map(deadweight_wire::splice::Spliced::into_bytes);
    String::from_utf8_lossy(bytes.as_deref().unwrap_or(definition)).into_owned()
}

/// Two halves: when the young one is full, the old one is forgotten and the young one gets old. What is used stays.
#[derive(Debug, Default)]
struct Halves {
    young: HashMap<Bytes, Arc<Known>>,
    old: HashMap<Bytes, Arc<Known>>,
    bytes: usize,
}

impl Halves {
    fn get(&mut self, definition: &Bytes) -> Arc<Known> {
        if let Some(known) = self.young.get(definition) {
            return Arc::clone(known);
        }
        let known = self.old.remove(definition).unwrap_or_else(|| {
            Arc::new(Known {
                definition: definition.clone(),
                rendered: OnceLock::new(),
                hints: OnceLock::new(),
                schema: OnceLock::new(),
                mirrored: OnceLock::new(),
            })
        });
        if self.young.len() >= DEFINITIONS || self.bytes + definition.len() > BYTES {
            self.old = std::mem::take(&mut self.young);
            self.bytes = 0;
        }
        self.bytes += definition.len();
        self.young.insert(known.definition.clone(), Arc::clone(&known));
        known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(text: &str) -> Arc<Known> {
        Known::of(&Bytes::copy_from_slice(text.as_bytes()))
    }

    #[test]
    fn a_definition_is_rendered_once_compact_and_without_pictures() {
        let text = r#"{ "name": "a", "icons": [{"src":"data:x"}], "annotations": { "readOnlyHint": true } }"#;
        let one = known(text);
        assert_eq!(one.rendered(), r#"{\"name\":\"a\",\"annotations\":{\"readOnlyHint\":true}}"#);
        assert!(Arc::ptr_eq(&one, &known(text)));
    }

    #[test]
    fn harmless_is_what_says_so_and_does_not_contradict_itself() {
        for (annotations, expected) in [
            (r#""annotations":{"readOnlyHint":true}"#, true),
            (r#""annotations":{"destructiveHint":false}"#, true),
            (r#""annotations":{"readOnlyHint":false,"destructiveHint":false}"#, true),
            (r#""annotations":{"readOnlyHint":false}"#, false),
            (r#""annotations":{"destructiveHint":true}"#, false),
            (r#""annotations":{"readOnlyHint":"true"}"#, false),
            (r#""annotations":{"readOnlyHint":true,"readOnlyHint":false}"#, false),
            (r#""annotations":{"readOnlyHint":true},"annotations":{}"#, false),
            (r#""annotations":null"#, false),
            (r#""readOnlyHint":true"#, false),
        ] {
            assert_eq!(known(&format!("{{{annotations}}}")).hints().harmless, expected, "{annotations}");
        }
        assert!(!known("[1").hints().harmless);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut halves = Halves::default();
        for number in 0..4 * DEFINITIONS {
            halves.get(&Bytes::from(number.to_string()));
            halves.get(&Bytes::from_static(b"used"));
        }
        assert!(halves.young.len() + halves.old.len() <= 2 * DEFINITIONS);
        let used =
            halves.young.contains_key(b"used".as_slice()) || halves.old.contains_key(b"used".as_slice());
        assert!(used);
    }
}
