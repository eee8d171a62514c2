//! How much work it is to hold a value against a schema, found out before it is done.
//!
//! A small schema can ask for endless work: references that double at every level, patterns that are tried on a long text,
//! lists that must not repeat. The validator cannot be stopped, so what is too much is not begun.

use super::schema::Schema;
use serde_json::{Map, Value as Json};

/// Steps that are not too much; each stands for some ten nanoseconds.
const STEPS: usize = 1_000_000;

/// Levels of schemas within schemas, references among them, that are followed. The validator needs stack for each.
const LEVELS: usize = 160;

/// What a pattern with counted repetitions may become, in characters.
const REPEATED: usize = 256;

/// What a check takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cost {
    pub(super) steps: usize,
    /// How many values are held against alternatives: what does not fit one of these is copied for the report.
    pub(super) copies: usize,
}

/// The work; `None` when it is too much, or cannot be told.
pub(super) fn cost(schema: &Schema, value: &Json) -> Option<Cost> {
    if !schema.plain {
        return None;
    }
    let mut meter = Meter { schema, cost: Cost { steps: 0, copies: 0 }, alternatives: 0 };
    meter.visit(schema.root(), value, 0)?;
    Some(meter.cost)
}

struct Meter<'s> {
    schema: &'s Schema,
    cost: Cost,
    /// How many alternatives are open.
    alternatives: usize,
}

impl Meter<'_> {
    fn charge(&mut self, steps: usize) -> Option<()> {
        self.cost.steps = self.cost.steps.saturating_add(steps);
        (self.cost.steps <= STEPS).then_some(())
    }

    fn visit(&mut self, schema: &Json, value: &Json, level: usize) -> Option<()> {
        self.charge(1)?;
        self.cost.copies += usize::from(self.alternatives > 0);
        if level > LEVELS {
            return None;
        }
        let Json::Object(map) = schema else { return Some(()) };
        let before = self.cost.steps;
        for (key, part) in map {
            self.keyword(key, part, value, level + 1)?;
        }
        // What is evaluated is found out for every member again.
        let unevaluated =
            [("unevaluatedProperties", members(value)), ("unevaluatedItems", elements(value).len())];
        for (key, count) in unevaluated {
            if map.contains_key(key) {
                self.charge((self.cost.steps - before).saturating_mul(count + 1))?;
            }
        }
        self.additional(map, value, level + 1)
    }

    /// What one keyword makes of the value.
    fn keyword(&mut self, key: &str, part: &Json, value: &Json, level: usize) -> Option<()> {
        match (key, part) {
            ("$ref", Json::String(reference)) => {
                let target = self.schema.resolve(reference)?;
                self.visit(target, value, level)?;
            }
            ("allOf", Json::Array(parts)) => {
                for part in parts {
                    self.visit(part, value, level)?;
                }
            }
            ("anyOf" | "oneOf", Json::Array(parts)) => {
                self.alternatives += 1;
                for part in parts {
                    self.visit(part, value, level)?;
                }
                self.alternatives -= 1;
            }
            ("not" | "if" | "then" | "else", part) => self.visit(part, value, level)?,
            ("dependentSchemas" | "dependencies", Json::Object(parts)) => {
                for part in parts.values() {
                    self.visit(part, value, level)?;
                }
            }
            ("properties", Json::Object(parts)) => {
                self.charge(parts.len())?;
                for (name, member) in value.as_object().into_iter().flatten() {
                    if let Some(part) = parts.get(name) {
                        self.visit(part, member, level)?;
                    }
                }
            }
            ("patternProperties", Json::Object(parts)) => {
                for (pattern, part) in parts {
                    for (name, member) in value.as_object().into_iter().flatten() {
                        self.pattern(pattern, name)?;
                        self.visit(part, member, level)?;
                    }
                }
            }
            ("propertyNames", part) => {
                for name in value.as_object().into_iter().flat_map(Map::keys) {
                    self.visit(part, &Json::String(name.clone()), level)?;
                }
            }
            ("prefixItems" | "items", Json::Array(parts)) => {
                for (part, element) in parts.iter().zip(elements(value)) {
                    self.visit(part, element, level)?;
                }
            }
            ("items" | "contains" | "additionalItems" | "unevaluatedItems", part) => {
                for element in elements(value) {
                    self.visit(part, element, level)?;
                }
            }
            ("enum", Json::Array(values)) => self.charge(values.len())?,
            ("required", Json::Array(names)) => self.charge(names.len())?,
            ("uniqueItems", Json::Bool(true)) => {
                let count = elements(value).len();
                self.charge(count.saturating_mul(count.min(64)))?;
            }
            ("pattern", Json::String(pattern)) => {
                if let Json::String(text) = value {
                    self.pattern(pattern, text)?;
                }
            }
            _ => {}
        }
        Some(())
    }

    /// The members that are nobody else's. Taken for all of them.
    fn additional(&mut self, map: &Map<String, Json>, value: &Json, level: usize) -> Option<()> {
        for key in ["additionalProperties", "unevaluatedProperties"] {
            let Some(part) = map.get(key) else { continue };
            for (name, member) in value.as_object().into_iter().flatten() {
                let own = map.get("properties").is_some_and(|properties| properties.get(name).is_some());
                if !own || key != "additionalProperties" {
                    self.visit(part, member, level)?;
                }
            }
        }
        Some(())
    }

    fn pattern(&mut self, pattern: &str, text: &str) -> Option<()> {
        let states = pattern.len() + if pattern.contains('{') { REPEATED } else { 0 };
        self.charge(text.len().saturating_mul(states) / 16 + 1)
    }
}

fn elements(value: &Json) -> &[Json] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn members(value: &Json) -> usize {
    value.as_object().map_or(0, Map::len)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(schema: &Json, value: &Json) -> Option<Cost> {
        cost(&Schema::new(&schema.to_string()).unwrap(), value)
    }

    #[test]
    fn what_every_server_asks_for_is_little() {
        let schema = json!({"type": "object", "required": ["a"], "properties": {
            "a": {"type": "string", "pattern": "^[a-z]+$"}, "b": {"items": {"$ref": "#/$defs/b"}}},
            "$defs": {"b": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}});
        assert!(of(&schema, &json!({"a": "x", "b": [1, null, 3]})).is_some_and(|cost| cost.steps < 100));
    }

    #[test]
    fn what_never_ends_is_not_begun() {
        let mut laughs = json!({"$ref": "#/$defs/l40", "$defs": {"l0": {"type": "integer"}}});
        for level in 1..=40 {
            let one = json!({"$ref": format!("#/$defs/l{}", level - 1)});
            laughs["$defs"][format!("l{level}")] = json!({"allOf": [one, one]});
        }
        assert_eq!(of(&laughs, &json!(1)), None);
        let twice = json!({"properties": {"x": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}}});
        let mut deep = json!(1);
        for _ in 0..60 {
            deep = json!({ "x": deep });
        }
        assert_eq!(of(&twice, &deep), None);
        assert_eq!(of(&json!({"$ref": "#"}), &json!(1)), None);
        assert_eq!(of(&json!({"pattern": "(a|b){9}c{9}"}), &json!("a".repeat(1 << 20))), None);
        assert_eq!(of(&json!({"$ref": "https://example.com/s"}), &json!(1)), None);
        assert_eq!(of(&json!({"$dynamicRef": "#x"}), &json!(1)), None);
    }
}
