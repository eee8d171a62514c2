//! What strings are taken for.

use crate::support::{call, ran, read, reading};
use deadweight_mcp::surface::Prepared;
use proptest::prelude::*;
use serde_json::{Value, json};

/// The arguments that a loaded tool of this schema is sent.
fn sent(schema: &Value, arguments: &str) -> String {
    ran(call(&reading(schema), arguments, true)).unwrap_or_else(|| arguments.to_owned())
}

#[test]
fn where_one_type_is_left_a_string_is_what_it_spells() {
    for (schema, given, expected) in [
        (json!({"type": "integer"}), r#""10""#, "10"),
        (json!({"type": "integer"}), r#""-0""#, "-0"),
        (json!({"type": "number"}), r#""1.50e3""#, "1.50e3"),
        (json!({"type": "boolean"}), r#""true""#, "true"),
        (json!({"type": ["integer", "null"]}), r#""10""#, "10"),
        (json!({"type": ["integer", "null"]}), r#""null""#, "null"),
        (json!({"type": "null"}), r#""null""#, "null"),
        (json!({"anyOf": [{"type": "integer"}, {"type": "null"}]}), r#""7""#, "7"),
        (json!({"oneOf": [{"type": "integer"}, {"type": "number"}]}), r#""7.5""#, "7.5"),
        (
            json!({"allOf": [{"type": ["string", "integer"]}, {"type": ["integer", "boolean"]}]}),
            r#""7""#,
            "7",
        ),
        (json!({"enum": [1, 2]}), r#""2""#, "2"),
        (json!({"const": true}), r#""true""#, "true"),
        (json!({"$ref": "#/$defs/count"}), r#""3""#, "3"),
        (json!({"type": "array"}), r#"" [1, \"2\"] ""#, r#"[1, "2"]"#),
        (json!({"type": "array", "items": {"type": "integer"}}), r#""[1,\"2\"]""#, "[1,2]"),
        (json!({"type": "array", "items": {"type": "integer"}}), r#"["1", 2,"x"]"#, r#"[1, 2,"x"]"#),
        (
            json!({"type": "array", "prefixItems": [{"type": "boolean"}], "items": {"type": "integer"}}),
            r#"["true","1"]"#,
            "[true,1]",
        ),
        (
            json!({"type": "object", "properties": {"b": {"type": "boolean"}}}),
            r#""{\"b\":\"false\"}""#,
            r#"{"b":false}"#,
        ),
        (
            json!({"type": "object", "additionalProperties": {"type": "integer"}}),
            r#"{"x":"1","y":"z"}"#,
            r#"{"x":1,"y":"z"}"#,
        ),
        (
            json!({"oneOf": [
                {"properties": {"kind": {"const": "a"}, "v": {"type": "integer"}}},
                {"properties": {"kind": {"const": "b"}, "v": {"type": "string"}}}]}),
            r#"[{"kind":"a","v":"1"}]"#,
            r#"[{"kind":"a","v":"1"}]"#,
        ),
    ] {
        let whole =
            json!({"type": "object", "properties": {"a": schema}, "$defs": {"count": {"type": "integer"}}});
        let given = format!(r#"{{"z": "1", "a": {given} }}"#);
        assert_eq!(sent(&whole, &given), format!(r#"{{"z": "1", "a": {expected} }}"#), "{schema}");
    }
}

#[test]
fn branches_that_cannot_be_meant_do_not_count() {
    let branch = |kind: &str, value: &str| json!({"type": "object", "properties": {"kind": {"const": kind}, "v": {"type": value}}});
    let schema = json!({"type": "object", "properties": {"a": {"oneOf": [branch("n", "integer"), branch("t", "string"), {"type": "null"}]}}});
    assert_eq!(sent(&schema, r#"{"a":{"kind":"n","v":"1"}}"#), r#"{"a":{"kind":"n","v":1}}"#);
    assert_eq!(sent(&schema, r#"{"a":{"kind":"t","v":"1"}}"#), r#"{"a":{"kind":"t","v":"1"}}"#);
    assert_eq!(sent(&schema, r#"{"a":{"v":"1"}}"#), r#"{"a":{"v":"1"}}"#);
}

#[test]
fn everything_else_stays() {
    for (schema, given) in [
        (json!({"type": "string"}), r#""10""#),
        (json!({"type": ["string", "integer"]}), r#""10""#),
        (json!({"anyOf": [{"type": "integer"}, {"type": "string"}]}), r#""10""#),
        (json!({"anyOf": [{"type": "integer"}, {}]}), r#""10""#),
        (json!({"type": ["integer", "boolean"]}), r#""10""#),
        (json!({"enum": ["1", 1]}), r#""1""#),
        (json!({}), r#""10""#),
        (json!(true), r#""10""#),
        (json!({"$ref": "https://example.com/count"}), r#""10""#),
        (json!({"$ref": "#/$defs/loop"}), r#""10""#),
        (json!({"type": "integer"}), r#""1.0""#),
        (json!({"type": "integer"}), r#""1e3""#),
        (json!({"type": "integer"}), r#""010""#),
        (json!({"type": "integer"}), r#""+1""#),
        (json!({"type": "integer"}), r#"" 1""#),
        (json!({"type": "integer"}), r#""1_000""#),
        (json!({"type": "integer"}), r#""""#),
        (json!({"type": "number"}), r#""NaN""#),
        (json!({"type": "number"}), r#""1e400""#),
        (json!({"type": "number"}), r#"".5""#),
        (json!({"type": "boolean"}), r#""True""#),
        (json!({"type": "boolean"}), r#""1""#),
        (json!({"type": "integer"}), r#""null""#),
        (json!({"type": "object"}), r#""[1]""#),
        (json!({"type": "object"}), r#""{a:1}""#),
        (json!({"type": "array"}), r#""1,2""#),
        (json!({"type": "array"}), r#""[\"\ud800\"]""#),
        (json!({"type": "integer"}), "true"),
        (
            json!({"patternProperties": {"^x": {"type": "string"}}, "additionalProperties": {"type": "integer"}}),
            r#"{"x":"1"}"#,
        ),
    ] {
        let whole = json!({"type": "object", "properties": {"a": schema}, "$defs": {"loop": {"$ref": "#/$defs/loop"}}});
        let given = format!(r#"{{"a":{given}}}"#);
        assert_eq!(sent(&whole, &given), given, "{schema}");
    }
    let own_base = json!({"type": "object", "properties": {"a": {"$id": "https://example.com/x", "$ref": "#/$defs/n"}},
        "$defs": {"n": {"type": "integer"}}});
    assert_eq!(sent(&own_base, r#"{"a":"1"}"#), r#"{"a":"1"}"#);
}

#[test]
fn in_old_drafts_a_reference_stands_alone() {
    let schema = |draft: &str| {
        json!({"$schema": draft, "type": "object", "properties": {"a": {"$ref": "#/definitions/any", "type": "integer"}},
            "definitions": {"any": {}}})
    };
    assert_eq!(sent(&schema("http://json-schema.org/draft-07/schema#"), r#"{"a":"1"}"#), r#"{"a":"1"}"#);
    assert_eq!(sent(&schema("https://json-schema.org/draft/2020-12/schema"), r#"{"a":"1"}"#), r#"{"a":1}"#);
}

/// A schema and a value that is valid against it.
fn pair() -> impl Strategy<Value = (Value, Value)> {
    let leaf = prop_oneof![
        any::<i32>().prop_map(|n| (json!({"type": "integer"}), json!(n))),
        any::<bool>().prop_map(|b| (json!({"type": ["boolean", "null"]}), json!(b))),
        "[a-z0-9]{0,4}|true|null|[0-9]{1,3}|\\[1\\]"
            .prop_map(|text| (json!({"type": "string"}), json!(text))),
        "[0-9]{1,3}"
            .prop_map(|text| (json!({"anyOf": [{"type": "integer"}, {"type": "string"}]}), json!(text))),
        "[0-9]{1,3}".prop_map(|text| (json!({}), json!(text))),
        (-1000..1000).prop_map(|n| (json!({"type": "number"}), json!(f64::from(n) / 8.0))),
        Just((json!({"anyOf": [{"type": "integer"}, {"type": "null"}]}), Value::Null)),
        Just((json!({"enum": ["1", true]}), json!("1"))),
        Just((json!({"const": 5}), json!(5))),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|members| {
                let (mut properties, mut value) = (json!({}), json!({}));
                for (at, (schema, member)) in members.into_iter().enumerate() {
                    properties[format!("p{at}")] = schema;
                    value[format!("p{at}")] = member;
                }
                (json!({"type": "object", "properties": properties, "additionalProperties": false}), value)
            }),
            (inner.clone(), 0..4_usize).prop_map(|((schema, value), times)| {
                (json!({"type": "array", "items": schema}), Value::from(vec![value; times]))
            }),
            inner.clone().prop_map(|(schema, value)| (json!({"allOf": [schema, {}]}), value)),
            inner.prop_map(|(schema, value)| {
                (json!({"oneOf": [schema, {"type": "object", "required": ["never there"]}]}), value)
            }),
        ]
    })
}

/// Schemas of all kinds, most of them odd.
fn any_schema() -> impl Strategy<Value = Value> {
    let kind =
        prop::sample::select(vec!["integer", "number", "string", "boolean", "null", "object", "array"]);
    let scalar = prop::sample::select(vec![
        json!(1),
        json!("1"),
        json!(true),
        json!("true"),
        json!(null),
        json!("null"),
    ]);
    let leaf = prop_oneof![
        kind.clone().prop_map(|kind| json!({ "type": kind })),
        prop::collection::vec(kind, 1..3).prop_map(|kinds| {
            let mut kinds = kinds;
            kinds.sort_unstable();
            kinds.dedup();
            json!({ "type": kinds })
        }),
        scalar.clone().prop_map(|value| json!({ "const": value })),
        prop::collection::vec(scalar, 1..3).prop_map(|values| json!({ "enum": values })),
        prop::sample::select(vec!["#/$defs/x", "#/$defs/y", "#", "#/$defs/x/items"])
            .prop_map(|to| json!({ "$ref": to })),
        any::<bool>().prop_map(Value::from),
        Just(json!({})),
    ];
    leaf.prop_recursive(3, 24, 3, |inner| {
        let many = prop::collection::vec(inner.clone(), 1..3);
        let key = prop::sample::select(vec!["allOf", "anyOf", "oneOf", "prefixItems"]);
        let one = prop::sample::select(vec![
            "not",
            "if",
            "then",
            "else",
            "items",
            "additionalProperties",
            "contains",
        ]);
        let names = prop::sample::select(vec!["properties", "patternProperties", "dependentSchemas"]);
        let merged = |parts: Vec<Value>| {
            let mut all = json!({});
            for part in parts {
                for (key, value) in part.as_object().into_iter().flatten() {
                    all[key.as_str()] = value.clone();
                }
            }
            all
        };
        prop_oneof![
            (key, many.clone()).prop_map(|(key, parts)| json!({ key: parts })),
            (one, inner.clone()).prop_map(|(key, part)| json!({ key: part })),
            (names, prop::collection::btree_map("[ab]", inner.clone(), 1..3))
                .prop_map(|(key, parts)| json!({ key: parts })),
            many.prop_map(merged),
            prop::collection::vec(inner, 2..4).prop_map(merged),
        ]
    })
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop::sample::select(vec![
        json!(1),
        json!("1"),
        json!(1.5),
        json!("1.5"),
        json!(true),
        json!("true"),
        json!(null),
        json!("null"),
        json!("a"),
        json!("[]"),
        json!("[\"1\"]"),
        json!("{}"),
        json!("{\"a\":\"1\"}"),
    ]);
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[abc]", inner, 0..3).prop_map(|members| json!(members)),
        ]
    })
}

/// The value with every `n`th scalar, list or object in it that is no string as its own text.
fn stringified(value: &Value, n: &mut usize) -> Value {
    *n = n.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    let here = *n >> 33;
    let inner = match value {
        Value::Object(map) => map
            .iter()
            .map(|(key, member)| (key.clone(), stringified(member, n)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        Value::Array(list) => list.iter().map(|member| stringified(member, n)).collect::<Vec<_>>().into(),
        other => other.clone(),
    };
    if here.is_multiple_of(3) && !inner.is_string() { Value::from(inner.to_string()) } else { inner }
}

proptest! {
    #[test]
    fn what_is_valid_never_changes((schema, value) in pair()) {
        let whole = json!({"type": "object", "properties": {"a": schema}});
        let arguments = json!({"a": value}).to_string();
        prop_assert_eq!(call(&reading(&whole), &arguments, false), Prepared::Run { arguments: None });
    }

    #[test]
    fn what_is_coerced_is_valid_or_was_not_to_be_known((schema, value) in pair(), mut seed in any::<usize>()) {
        let whole = json!({"type": "object", "properties": {"a": schema}});
        let surface = reading(&whole);
        let given = json!({"a": stringified(&value, &mut seed)}).to_string();
        match call(&surface, &given, false) {
            Prepared::Run { arguments: Some(bytes) } => {
                let text = String::from_utf8(bytes.to_vec()).unwrap();
                prop_assert_eq!(call(&surface, &text, false), Prepared::Run { arguments: None }, "once is enough");
            }
            Prepared::Run { arguments: None } | Prepared::Answer { .. } => {}
        }
    }

    #[test]
    fn what_another_reader_finds_valid_never_changes(
        schema in any_schema(), x in any_schema(), y in any_schema(), value in any_value(),
        draft in prop::sample::select(vec!["https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#",
            "https://json-schema.org/draft/2019-09/schema"]),
    ) {
        let whole = json!({"$schema": draft, "type": "object", "properties": {"a": schema}, "$defs": {"x": x, "y": y}});
        let arguments = json!({ "a": value });
        let surface = reading(&whole);
        let prepared = call(&surface, &arguments.to_string(), true);
        let reader = jsonschema::options().offline().should_validate_formats(false).build(&whole);
        // References in circles would keep it busy for ever.
        let checked = match call(&surface, &arguments.to_string(), false) {
            Prepared::Answer { result } => !read(&result).0.contains("cannot be checked here"),
            Prepared::Run { .. } => true,
        };
        if checked && reader.is_ok_and(|reader| reader.is_valid(&arguments)) {
            prop_assert_eq!(prepared, Prepared::Run { arguments: None }, "{}", whole);
        }
    }

    #[test]
    fn nothing_breaks_it(schema in "[\\[\\]{}\",:a-z0-9$#/ ]{0,60}", arguments in "[\\[\\]{}\",:a-z0-9\\\\ ]{0,60}") {
        let schema: Value = serde_json::from_str(&schema).unwrap_or(json!({"type": "object"}));
        let surface = reading(&schema);
        for loaded in [false, true] {
            call(&surface, &arguments, loaded);
        }
    }
}
