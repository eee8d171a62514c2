//! Stubs: a tool's definition without its schema, made by splices.
//!
//! Every member keeps its bytes, unknown ones and white space too, except: `description` becomes its first sentence,
//! `inputSchema` a placeholder, `outputSchema` and `icons` go. A member that stands twice is treated twice, because
//! readers differ about which of the two counts.

use super::sentence::first_sentence;
use bytes::Bytes;
use deadweight_wire::definition::compact_len;
use deadweight_wire::json::{Entry, Parser, Value};
use deadweight_wire::splice::Edits;

/// The text as a JSON string.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// What one list entry weighs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Size {
    /// Entries.
    pub tools: u64,
    /// Bytes of name, description and compact input schema: what models are sent of tools.
    pub model: u64,
    /// Bytes of the entries as JSON.
    pub json: u64,
}

impl Size {
    /// Both together.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            tools: self.tools + other.tools,
            model: self.model + other.model,
            json: self.json + other.json,
        }
    }

    /// Whether it is smaller in what models are sent and not larger as JSON.
    pub const fn saves(self, other: Self) -> bool {
        self.model < other.model && self.json <= other.json
    }
}

/// What a definition weighs.
pub fn size(definition: &[u8]) -> Size {
    Parser::new().scope(definition, |document| match document {
        Ok(document) => size_of(document.root()),
        Err(_) => Size { tools: 1, model: definition.len() as u64, json: definition.len() as u64 },
    })
}

pub(crate) fn size_of(root: Value<'_, '_>) -> Size {
    let text = |key| root.get(key).and_then(|value| value.decoded_len()).unwrap_or(0);
    let schema = root.get("inputSchema").map_or(0, |schema| compact_len(schema.raw()));
    let model = (text("name") + text("description") + schema) as u64;
    Size { tools: 1, model, json: root.span().len() as u64 }
}

/// The stub of a definition, listed as `shown` where that is another name. `None` when it is no object, or nothing of it
/// would change.
pub fn stub(definition: &[u8], placeholder: &str, shown: Option<&str>) -> Option<Bytes> {
    edited(definition, shown, |edits, entry, key| match key {
        "description" => {
            let Some(text) = entry.value.as_str() else { return };
            let sentence = first_sentence(&text);
            if sentence != text {
                edits.replace(entry.value, quoted(&sentence));
            }
        }
        "inputSchema" if entry.value.raw() != placeholder => {
            edits.replace(entry.value, placeholder);
        }
        "outputSchema" | "icons" => {
            edits.remove(*entry);
        }
        _ => {}
    })
}

/// The definition under another name. `None` when it is no object or has no name to change.
pub fn renamed(definition: &[u8], shown: &str) -> Option<Bytes> {
    edited(definition, Some(shown), |_, _, _| {})
}

/// A definition with its names replaced and the edits that `each` adds for an entry, given with its key.
fn edited(
    definition: &[u8],
    shown: Option<&str>,
    each: impl for<'id, 'd> Fn(&mut Edits<'id, 'd>, &Entry<'id, 'd>, &str),
) -> Option<Bytes> {
    let mut parser = Parser::new();
    let spliced = parser.scope(definition, |document| {
        let document = document.ok()?;
        let mut edits = Edits::new(document);
        for entry in document.root().entries() {
            let Some(key) = entry.key.as_str() else { continue };
            match (&*key, shown) {
                ("name", Some(shown)) if !entry.value.is_str(shown) => {
                    edits.replace(entry.value, quoted(shown));
                }
                (key, _) => each(&mut edits, &entry, key),
            }
        }
        (!edits.is_empty()).then(|| edits.apply(&mut Parser::new()).ok()).flatten()
    })?;
    Some(spliced.into_bytes().into())
}
