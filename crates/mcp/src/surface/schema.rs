//! An input schema as a value: which draft it is written in, and what its references lead to.

use super::validate::Compiled;
use jsonschema::Draft;
use serde_json::Value as Json;
use std::sync::OnceLock;

/// A schema of more bytes, values or levels is not read: whatever it says, it says it too long.
const BYTES: usize = 512 * 1024;
const VALUES: usize = 50_000;
const LEVELS: usize = 100;

/// A tool's input schema.
#[derive(Debug)]
pub(super) struct Schema {
    root: Json,
    draft: Draft,
    /// Whether references mean what they seem to: no part of it has a base or a scope of its own.
    pub(super) plain: bool,
    pub(super) compiled: OnceLock<Result<Compiled, &'static str>>,
}

impl Schema {
    /// Reads a schema. `None` when it is none, or out of all bounds.
    pub(super) fn new(text: &str) -> Option<Self> {
        if text.len() > BYTES {
            return None;
        }
        let root: Json = serde_json::from_str(text).ok()?;
        if !matches!(root, Json::Object(_) | Json::Bool(_)) {
            return None;
        }
        let draft = draft(root.get("$schema").and_then(Json::as_str).unwrap_or_default());
        let plain = look_through(&root, draft)?;
        Some(Self { root, draft, plain, compiled: OnceLock::new() })
    }

    pub(super) const fn root(&self) -> &Json {
        &self.root
    }

    pub(super) const fn draft(&self) -> Draft {
        self.draft
    }

    /// Whether `$ref` makes what stands beside it void.
    pub(super) const fn ref_stands_alone(&self) -> bool {
        matches!(self.draft, Draft::Draft4 | Draft::Draft6 | Draft::Draft7)
    }

    /// What a reference leads to; only into this document.
    pub(super) fn resolve(&self, reference: &str) -> Option<&Json> {
        let pointer = reference.strip_prefix('#').filter(|_| self.plain)?;
        let pointer = decoded(pointer)?;
        if !pointer.is_empty() && !pointer.starts_with('/') {
            return None;
        }
        self.root.pointer(&pointer).filter(|found| matches!(found, Json::Object(_) | Json::Bool(_)))
    }
}

/// The draft that a `$schema` names. Servers of MCP that name none, or one that nobody knows, mean 2020-12.
fn draft(named: &str) -> Draft {
    let known = [
        ("draft-04", Draft::Draft4),
        ("draft-06", Draft::Draft6),
        ("draft-07", Draft::Draft7),
        ("2019-09", Draft::Draft201909),
    ];
    known.iter().find(|(name, _)| named.contains(name)).map_or(Draft::Draft202012, |(_, draft)| *draft)
}

/// Whether references are plain; `None` when the schema is out of bounds.
fn look_through(root: &Json, draft: Draft) -> Option<bool> {
    let mut plain = true;
    let mut values = 0;
    let mut open = vec![(root, 0)];
    while let Some((value, level)) = open.pop() {
        values += 1;
        if values > VALUES || level > LEVELS {
            return None;
        }
        match value {
            Json::Object(map) => {
                let says = |key: &str| map.get(key).is_some_and(Json::is_string);
                plain &= !says("$dynamicRef") && !says("$recursiveRef");
                plain &= level == 0 || !(says("$id") || (draft == Draft::Draft4 && says("id")));
                open.extend(map.values().map(|value| (value, level + 1)));
            }
            Json::Array(elements) => open.extend(elements.iter().map(|value| (value, level + 1))),
            _ => {}
        }
    }
    Some(plain)
}

/// A URI's fragment without its percent signs.
fn decoded(fragment: &str) -> Option<String> {
    let mut out = Vec::with_capacity(fragment.len());
    let mut bytes = fragment.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let digits = [bytes.next()?, bytes.next()?];
            let digits = std::str::from_utf8(&digits).ok()?;
            out.push(u8::from_str_radix(digits, 16).ok()?);
        } else {
            out.push(byte);
        }
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drafts_by_name() {
        for (text, expected) in [
            ("{}", Draft::Draft202012),
            (r#"{"$schema":"http://json-schema.org/draft-07/schema#"}"#, Draft::Draft7),
            (r#"{"$schema":"https://json-schema.org/draft/2019-09/schema"}"#, Draft::Draft201909),
            (r#"{"$schema":"http://json-schema.org/draft-04/schema"}"#, Draft::Draft4),
            (r#"{"$schema":"https://example.com/own"}"#, Draft::Draft202012),
            (r#"{"$schema":7}"#, Draft::Draft202012),
        ] {
            assert_eq!(Schema::new(text).unwrap().draft(), expected, "{text}");
        }
    }

    #[test]
    fn references_lead_into_the_document() {
        let schema = Schema::new(r#"{"$defs":{"a b":{"type":"string"},"c/d":true,"n":1}}"#).unwrap();
        assert!(schema.resolve("#/$defs/a%20b").is_some());
        assert!(schema.resolve("#/$defs/c~1d").is_some());
        assert!(schema.resolve("#").is_some());
        for reference in ["#/$defs/n", "#/$defs/x", "#a", "other#/a", "#%", "#%zz", "https://example.com/"] {
            assert!(schema.resolve(reference).is_none(), "{reference}");
        }
        let own = Schema::new(r#"{"$defs":{"a":{"$id":"https://example.com/a"}}}"#).unwrap();
        assert!(own.resolve("#/$defs/a").is_none());
    }

    #[test]
    fn what_is_out_of_bounds_is_not_read() {
        assert!(Schema::new("1").is_none());
        assert!(Schema::new("[").is_none());
        let deep = format!("{}{}", r#"{"not":"#.repeat(120), "{}".to_owned() + &"}".repeat(120));
        assert!(Schema::new(&deep).is_none());
        let long = format!(r#"{{"enum":[{}1]}}"#, "1,".repeat(VALUES));
        assert!(Schema::new(&long).is_none());
        assert!(Schema::new(&format!(r#"{{"description":"{}"}}"#, "x".repeat(BYTES))).is_none());
    }
}
