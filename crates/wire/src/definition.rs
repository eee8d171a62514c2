//! A tool definition as its server hands it out, as spans; and JSON without the white space around it.
//!
//! Servers write `inputSchema`; what is taken out of a captured request writes `input_schema`, `parameters`
//! or `parametersJsonSchema`, sometimes below `function`. All of them are read, so that one dump is as good
//! as another.

use crate::json::{Kind, Value};
use memchr::memchr2;
use std::borrow::Cow;

/// One tool definition: where its members lie. Whatever is missing or not an object has no members.
#[derive(Debug, Clone, Copy)]
pub struct Definition<'id, 'd> {
    /// The whole definition as it stands in its list.
    pub value: Value<'id, 'd>,
    /// `name`. Any JSON value; a well-formed one is a string.
    pub name: Option<Value<'id, 'd>>,
    /// `title`, for people.
    pub title: Option<Value<'id, 'd>>,
    /// `description`.
    pub description: Option<Value<'id, 'd>>,
    /// `inputSchema` or the name another format has for it. Any JSON value; `true` is a legal schema.
    pub input_schema: Option<Value<'id, 'd>>,
    /// `outputSchema`.
    pub output_schema: Option<Value<'id, 'd>>,
    /// `annotations`: hints for the client.
    pub annotations: Option<Value<'id, 'd>>,
    /// `icons`.
    pub icons: Option<Value<'id, 'd>>,
    /// `_meta`.
    pub meta: Option<Value<'id, 'd>>,
    /// `execution`: whether the tool can run as a task.
    pub execution: Option<Value<'id, 'd>>,
    /// `type`, where a request's entry has one and no schema of its own: a tool that runs at the provider.
    pub server_type: Option<Value<'id, 'd>>,
}

/// The names under which a tool's input schema is known.
const INPUT_SCHEMA: [&str; 5] =
    ["inputSchema", "input_schema", "parameters", "parametersJsonSchema", "format"];

impl<'id, 'd> Definition<'id, 'd> {
    /// Reads one element of a list of tools. Never fails: what is absent is `None`. On duplicate keys the
    /// last one counts.
    pub fn read(value: Value<'id, 'd>) -> Self {
        let mut out = Self {
            value,
            name: None,
            title: None,
            description: None,
            input_schema: None,
            output_schema: None,
            annotations: None,
            icons: None,
            meta: None,
            execution: None,
            server_type: None,
        };
        let body = value.get("function").filter(|inner| inner.kind() == Kind::Object).unwrap_or(value);
        let mut rank = INPUT_SCHEMA.len();
        for entry in body.entries() {
            let Some(key) = entry.key.as_str() else { continue };
            match &*key {
                "name" => out.name = Some(entry.value),
                "title" => out.title = Some(entry.value),
                "description" => out.description = Some(entry.value),
                "outputSchema" => out.output_schema = Some(entry.value),
                "annotations" => out.annotations = Some(entry.value),
                "icons" => out.icons = Some(entry.value),
                "_meta" => out.meta = Some(entry.value),
                "execution" => out.execution = Some(entry.value),
                "type" => out.server_type = Some(entry.value),
                other => {
                    let found = INPUT_SCHEMA.iter().position(|known| *known == other);
                    if let Some(found) = found.filter(|found| *found <= rank) {
                        rank = found;
                        out.input_schema = Some(entry.value);
                    }
                }
            }
        }
        if out.input_schema.is_some() || out.server_type.is_some_and(|kind| kind.is_str("function")) {
            out.server_type = None;
        }
        out
    }
}

/// The tools in a dump: a bare array, `{"tools":[…]}`, a JSON-RPC response to `tools/list`, an array of such
/// responses (one a page), or the `tools` array of a request, its namespaces and Gemini's
/// `functionDeclarations` opened. `None` when the text is none of these. The order is that of the text.
pub fn listed<'id, 'd>(root: Value<'id, 'd>) -> Option<Vec<Value<'id, 'd>>> {
    let list = if root.kind() == Kind::Array { root } else { group(root)? };
    let mut out = Vec::new();
    let mut open = vec![list.elements()];
    while let Some(elements) = open.last_mut() {
        match elements.next() {
            Some(element) => match group(element) {
                Some(inner) => open.push(inner.elements()),
                None => out.push(element),
            },
            None => {
                open.pop();
            }
        }
    }
    let known = out.is_empty() || out.iter().any(|tool| tool.kind() == Kind::Object);
    known.then_some(out)
}

/// The array of tools that an object holds when it is no tool itself: a page, a namespace, a set of
/// function declarations.
fn group<'id, 'd>(value: Value<'id, 'd>) -> Option<Value<'id, 'd>> {
    let array = |value: Value<'id, 'd>, key: &str| value.get(key).filter(|list| list.kind() == Kind::Array);
    if INPUT_SCHEMA.iter().any(|key| value.get(key).is_some()) {
        return None;
    }
    array(value, "tools")
        .or_else(|| array(value, "functionDeclarations"))
        .or_else(|| array(value, "function_declarations"))
        .or_else(|| value.get("result").and_then(|result| array(result, "tools")))
}

/// A JSON text without the white space outside its strings; strings, numbers and the order of keys stay
/// byte for byte. Borrowed when there is none. `text` must be JSON, as [`Value::raw`] is.
pub fn compact(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut kept = 0;
    each_space(text, |start, end| {
        out.push_str(text.get(kept..start).unwrap_or_default());
        kept = end;
    });
    if kept == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(text.get(kept..).unwrap_or_default());
    Cow::Owned(out)
}

/// The length of [`compact`]'s answer in bytes, without making it.
pub fn compact_len(text: &str) -> usize {
    let mut spaces = 0;
    each_space(text, |start, end| spaces += end - start);
    text.len() - spaces
}

/// Calls `found` with every run of white space outside strings.
fn each_space(text: &str, mut found: impl FnMut(usize, usize)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => at = after_string(bytes, at + 1),
            b' ' | b'\n' | b'\r' | b'\t' => {
                let start = at;
                while matches!(bytes.get(at), Some(b' ' | b'\n' | b'\r' | b'\t')) {
                    at += 1;
                }
                found(start, at);
            }
            _ => at += 1,
        }
    }
}

/// The offset after the closing quote of the string whose inside starts at `at`.
fn after_string(bytes: &[u8], mut at: usize) -> usize {
    while let Some(step) = memchr2(b'"', b'\\', bytes.get(at..).unwrap_or_default()) {
        at += step;
        if bytes.get(at) == Some(&b'"') {
            return at + 1;
        }
        at += 2;
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Parser;

    fn names(text: &str) -> Option<Vec<String>> {
        Parser::new().scope(text.as_bytes(), |document| {
            let tools = listed(document.unwrap().root())?;
            let name = |tool: &Value<'_, '_>| Definition::read(*tool).name.map(|name| name.raw().to_owned());
            Some(tools.iter().map(|tool| name(tool).unwrap_or_else(|| "-".to_owned())).collect())
        })
    }

    #[test]
    fn every_shape_of_a_dump_is_recognised() {
        let same = Some(vec!["\"a\"".to_owned(), "\"b\"".to_owned()]);
        for text in [
            r#"[{"name":"a"},{"name":"b"}]"#,
            r#"{"tools":[{"name":"a"},{"name":"b"}],"nextCursor":null}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a"},{"name":"b"}]}}"#,
            r#"[{"id":1,"result":{"tools":[{"name":"a"}]}},{"id":2,"result":{"tools":[{"name":"b"}]}}]"#,
            r#"[{"type":"function","function":{"name":"a","parameters":{}}},{"type":"function","name":"b"}]"#,
            r#"[{"type":"namespace","name":"s","tools":[{"type":"function","name":"a"}]},{"name":"b"}]"#,
            r#"[{"functionDeclarations":[{"name":"a"},{"name":"b","parametersJsonSchema":true}]}]"#,
            r#"[{"name":"a","inputSchema":{},"tools":[1]},{"name":"b"}]"#,
        ] {
            assert_eq!(names(text), same, "{text}");
        }
        assert_eq!(names("[]"), Some(vec![]));
        assert_eq!(names(r#"{"tools":[]}"#), Some(vec![]));
        assert_eq!(names(r#"[{"name":"a"},1,null]"#), Some(vec!["\"a\"".into(), "-".into(), "-".into()]));
        for text in ["{}", "1", "\"tools\"", "[1,2]", r#"{"tools":{}}"#, r#"{"result":{}}"#] {
            assert_eq!(names(text), None, "{text}");
        }
    }

    #[test]
    fn a_definition_gives_its_members_in_every_spelling() {
        let schema = |text: &str| {
            Parser::new().scope(text.as_bytes(), |document| {
                let definition = Definition::read(document.unwrap().root());
                definition.input_schema.map(|schema| schema.raw().to_owned())
            })
        };
        assert_eq!(schema(r#"{"inputSchema":true}"#).as_deref(), Some("true"));
        assert_eq!(schema(r#"{"inputSchema":1,"inputSchema":2}"#).as_deref(), Some("2"));
        assert_eq!(schema(r#"{"parameters":1,"inputSchema":2,"input_schema":3}"#).as_deref(), Some("2"));
        assert_eq!(schema(r#"{"function":{"parameters":{"a":1}}}"#).as_deref(), Some(r#"{"a":1}"#));
        assert_eq!(schema(r#"{"name":"x"}"#), None);
        assert_eq!(schema("[]"), None);
    }

    #[test]
    fn compact_touches_nothing_but_white_space_outside_strings() {
        for (text, expected) in [
            ("{ \"a\" : [ 1.50 , \"b \\\" c\\\\\" ] }\n", "{\"a\":[1.50,\"b \\\" c\\\\\"]}"),
            ("{\"a\":1}", "{\"a\":1}"),
            (" true", "true"),
            ("\"\\u0020 \"", "\"\\u0020 \""),
            ("[\r\n\t]", "[]"),
            ("{\"é  日\" :\"\\\\\" , \"b\":2}", "{\"é  日\":\"\\\\\",\"b\":2}"),
        ] {
            assert_eq!(compact(text), expected);
            assert_eq!(compact_len(text), expected.len());
        }
        assert!(matches!(compact("{\"a\":\" \"}"), Cow::Borrowed(_)));
    }
}
