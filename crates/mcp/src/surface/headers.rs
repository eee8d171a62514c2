//! Arguments that are sent as HTTP headers too, where a schema asks for it with `x-mcp-header` (MCP 2026-07-28).
//!
//! Whoever sees the schema sets them itself. Who is shown a stub cannot, so they are set here from the real schema. Only
//! properties that are reached through `properties` alone count; what breaks the rules of the specification asks for nothing.

use super::known::Known;
use super::{Surface, ToolIx};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use deadweight_wire::json::{Kind, Parser, Value};
use std::collections::HashMap;

/// How many headers one tool may ask for, and how many objects of a schema are looked through for them.
const HEADERS: usize = 64;
const OBJECTS: usize = 4_096;

/// An integer beyond this is not one number for everybody.
const SAFE: f64 = 9_007_199_254_740_991.0;

/// An argument that is sent as a header too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mirrored {
    /// The header: `Mcp-Param-…`.
    header: String,
    /// The names of the properties that lead to it.
    path: Vec<String>,
}

impl Surface {
    /// The request headers that the tool's real schema asks for, with the values that these arguments have. Empty for most
    /// tools.
    pub fn headers(&self, tool: ToolIx, arguments: Option<&[u8]>) -> Vec<(String, String)> {
        let Some((tool, arguments)) = self.tool(tool).zip(arguments) else { return Vec::new() };
        let known = Known::of(&tool.full);
        let mirrored = known.mirrored();
        if mirrored.is_empty() {
            return Vec::new();
        }
        Parser::new().scope(arguments, |document| {
            let Ok(document) = document else { return Vec::new() };
            let value = |one: &Mirrored| {
                let mut value = document.root();
                for name in &one.path {
                    value = value.get(name)?;
                }
                Some((one.header.clone(), text(value)?))
            };
            mirrored.iter().filter_map(value).collect()
        })
    }
}

/// What a schema asks for.
pub(super) fn read(schema: Value<'_, '_>) -> Vec<Mirrored> {
    let mut found: Vec<Mirrored> = Vec::new();
    let mut open = vec![(schema, Vec::new())];
    let mut objects = 0;
    while let Some((value, path)) = open.pop() {
        objects += 1;
        if objects > OBJECTS || found.len() >= HEADERS {
            break;
        }
        // The root of a schema is no parameter.
        if !path.is_empty()
            && let Some(name) = value.get("x-mcp-header").and_then(|name| name.as_str())
            && is_token(&name)
            && is_plain(value)
        {
            found.push(Mirrored { header: format!("Mcp-Param-{name}"), path: path.clone() });
        }
        for entry in value.get("properties").iter().flat_map(|properties| properties.entries()) {
            let Some(key) = entry.key.as_str() else { continue };
            let mut path = path.clone();
            path.push(key.into_owned());
            open.push((entry.value, path));
        }
    }
    let mut times: HashMap<String, usize> = HashMap::new();
    for one in &found {
        *times.entry(one.header.to_ascii_lowercase()).or_default() += 1;
    }
    // Of two that ask for one header neither can be right.
    found.retain(|one| times.get(&one.header.to_ascii_lowercase()) == Some(&1));
    found.sort_by(|a, b| a.header.cmp(&b.header));
    found
}

/// Whether the values of a schema can stand in a header: strings, integers or booleans.
fn is_plain(schema: Value<'_, '_>) -> bool {
    let plain = |value: Value<'_, '_>| ["string", "integer", "boolean"].iter().any(|name| value.is_str(name));
    let Some(kind) = schema.get("type") else { return false };
    let mut named = kind.elements().filter(|value| !value.is_str("null"));
    plain(kind) || (named.next().is_some_and(plain) && named.next().is_none())
}

/// Whether a text can be part of a header's name.
fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 256
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

/// A value as it stands in a header; `None` for what is left out.
fn text(value: Value<'_, '_>) -> Option<String> {
    match value.kind() {
        Kind::String => value.as_str().map(|text| header_value(&text)),
        Kind::Bool => Some(value.raw().to_owned()),
        Kind::Number => {
            let number: f64 = value.raw().parse().ok()?;
            // `4.2e1` is 42.
            let whole = number.fract() == 0.0 && number.abs() <= SAFE;
            Some(if whole { format!("{}", number as i64) } else { value.raw().to_owned() })
        }
        Kind::Null | Kind::Array | Kind::Object => None,
    }
}

/// A text as it stands in an `Mcp-Name` or `Mcp-Param-…` header: as it is, or in Base64 where a header could not carry it.
pub fn header_value(text: &str) -> String {
    let visible = text.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~'));
    let padded = text.starts_with([' ', '\t']) || text.ends_with([' ', '\t']);
    let marked = text.starts_with("=?base64?") && text.ends_with("?=");
    if visible && !padded && !marked {
        text.to_owned()
    } else {
        format!("=?base64?{}?=", STANDARD.encode(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(schema: &str) -> Vec<String> {
        Parser::new().scope(schema.as_bytes(), |document| {
            let found = read(document.unwrap().root());
            found.into_iter().map(|one| format!("{}={}", one.header, one.path.join("."))).collect()
        })
    }

    #[test]
    fn what_a_schema_asks_for() {
        assert_eq!(
            asked(
                r#"{"properties":{"region":{"type":"string","x-mcp-header":"Region"},
                "deep":{"properties":{"n":{"type":["integer","null"],"x-mcp-header":"N"}}},"q":{"type":"string"}}}"#
            ),
            ["Mcp-Param-N=deep.n", "Mcp-Param-Region=region"]
        );
        for schema in [
            r#"{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}"#,
            r#"{"properties":{"a":{"x-mcp-header":"A"}}}"#,
            r#"{"properties":{"a":{"type":"string","x-mcp-header":""}}}"#,
            r#"{"properties":{"a":{"type":"string","x-mcp-header":"a b"}}}"#,
            r#"{"properties":{"a":{"type":"string","x-mcp-header":"a\r\nX: y"}}}"#,
            r#"{"properties":{"a":{"type":"string","x-mcp-header":1}}}"#,
            r#"{"properties":{"a":{"items":{"type":"string","x-mcp-header":"A"}}}}"#,
            r#"{"anyOf":[{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]}"#,
            r#"{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}"#,
            r#"{"type":"string","x-mcp-header":"A"}"#,
            "true",
        ] {
            assert_eq!(asked(schema), Vec::<String>::new(), "{schema}");
        }
    }

    #[test]
    fn values_stand_as_the_specification_writes_them() {
        for (value, expected) in [
            (r#""us-west1""#, Some("us-west1")),
            (r#""Hello, 世界""#, Some("=?base64?SGVsbG8sIOS4lueVjA==?=")),
            (r#"" padded ""#, Some("=?base64?IHBhZGRlZCA=?=")),
            (r#""line1\nline2""#, Some("=?base64?bGluZTEKbGluZTI=?=")),
            (r#""=?base64?literal?=""#, Some("=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=")),
            (r#""""#, Some("")),
            ("42", Some("42")),
            ("-7", Some("-7")),
            ("42.0", Some("42")),
            ("4.2e1", Some("42")),
            ("-0", Some("0")),
            ("1.5", Some("1.5")),
            ("12345678901234567890", Some("12345678901234567890")),
            ("true", Some("true")),
            ("null", None),
            ("[1]", None),
            ("{}", None),
        ] {
            let found = Parser::new().scope(value.as_bytes(), |document| text(document.unwrap().root()));
            assert_eq!(found.as_deref(), expected, "{value}");
        }
    }
}
