//! Which calls run, and what is answered to those that do not.

use crate::support::{Case, answered, call, definitions, ran, reading, tool};
use deadweight_mcp::surface::{Optimistic, Surface};
use serde_json::{Value, json};

fn schema() -> Value {
    json!({
        "type": "object", "required": ["path"],
        "properties": {
            "path": {"type": "string"}, "limit": {"type": "integer", "minimum": 1},
            "mode": {"enum": ["fast", "slow"]}, "deep": {"type": "object", "properties": {"on": {"type": "boolean"}}},
        },
    })
}

fn surface(annotations: &Value, optimistic: Optimistic) -> Surface {
    Case::one(vec![tool("t", &schema(), annotations)])
        .with(|settings| settings.optimistic = optimistic)
        .surface()
}

#[test]
fn valid_and_harmless_runs() {
    for annotations in [
        json!({"readOnlyHint": true}),
        json!({"destructiveHint": false}),
        json!({"readOnlyHint": false, "destructiveHint": false}),
    ] {
        let surface = surface(&annotations, Optimistic::Declared);
        assert_eq!(ran(call(&surface, r#"{"path":"a"}"#, false)), None);
        let coerced = ran(call(&surface, r#"{"limit": "10", "path": "10"}"#, false));
        assert_eq!(coerced.as_deref(), Some(r#"{"limit": 10, "path": "10"}"#));
    }
}

#[test]
fn valid_and_not_declared_harmless_is_confirmed_first() {
    for (annotations, said) in [
        (json!({}), "its annotations are {}"),
        (json!({"destructiveHint": true}), r#"its annotations are {"destructiveHint":true}"#),
        (json!({"readOnlyHint": false}), r#"its annotations are {"readOnlyHint":false}"#),
    ] {
        let surface = surface(&annotations, Optimistic::Declared);
        let text = answered(call(&surface, r#"{"path":"a"}"#, false));
        assert!(text.starts_with("Not run yet: `t` is not declared read-only or non-destructive"), "{text}");
        assert!(text.contains(said) && text.contains("Repeat the same call to run it."), "{text}");
        assert_eq!(definitions(&text)[0]["inputSchema"], schema());
        assert_eq!(ran(call(&surface, r#"{"path":"a"}"#, true)), None, "then it runs");
    }
    let surface = surface(&json!({"destructiveHint": true}), Optimistic::All);
    assert_eq!(ran(call(&surface, r#"{"path":"a"}"#, false)), None);
}

#[test]
fn never_is_never() {
    let surface = surface(&json!({"readOnlyHint": true}), Optimistic::Never);
    let text = answered(call(&surface, r#"{"path":"a"}"#, false));
    assert!(text.starts_with("Not run: the schema of `t` was not loaded."), "{text}");
    assert_eq!(definitions(&text).len(), 1);
    assert_eq!(ran(call(&surface, r#"{"path":"a"}"#, true)), None);
}

#[test]
fn violations_are_told_with_the_schema() {
    let surface = surface(&json!({"readOnlyHint": true}), Optimistic::All);
    for (arguments, expected) in [
        ("{}", "- \"path\" is missing"),
        ("null", "- \"path\" is missing"),
        (r#"{"path":1}"#, "- /path: must be string, is the number 1"),
        (r#"{"path":"a","limit":"ten"}"#, "- /limit: must be integer, is the string \"ten\""),
        (r#"{"path":"a","limit":0}"#, "- /limit: the number 0 is less than the minimum of 1"),
        (r#"{"path":"a","mode":"odd"}"#, "- /mode: must be one of \"fast\", \"slow\"; is the string \"odd\""),
        (r#"{"path":"a","deep":{"on":"maybe"}}"#, "- /deep/on: must be boolean, is the string \"maybe\""),
        (r#"{"path":"a","Limit":3}"#, "- \"Limit\" is unknown; did you mean \"limit\"?"),
        (r#"{"path":"a","colour":"red"}"#, "- \"colour\" is unknown"),
        ("[]", "- the arguments must be an object, not an array of 0"),
        ("\"text\"", "- the arguments must be an object, not the string \"text\""),
    ] {
        let text = answered(call(&surface, arguments, false));
        assert!(text.starts_with("Not run: the arguments do not fit the schema of `t`.\n"), "{text}");
        assert!(text.lines().any(|line| line == expected), "{arguments}: {text}");
        assert!(text.contains("Call it again with arguments that fit:"), "{text}");
        assert_eq!(definitions(&text)[0]["inputSchema"], schema());
    }
    let none = surface.prepare(crate::support::index(&surface, "t"), None, false);
    assert!(answered(none).contains("\"path\" is missing"));
}

#[test]
fn unknown_members_are_what_the_schema_makes_of_them() {
    let named = json!({"type": "object", "properties": {"a": true}});
    let with = |key: &str, value: Value| {
        let mut schema = named.clone();
        schema[key] = value;
        schema
    };
    for (schema, valid) in [
        (named.clone(), false),
        (with("additionalProperties", json!(true)), true),
        (with("additionalProperties", json!({})), true),
        (with("additionalProperties", json!(false)), false),
        (with("additionalProperties", json!({"type": "integer"})), true),
        (with("additionalProperties", json!({"type": "string"})), false),
        (with("patternProperties", json!({"^x": true})), true),
        (with("unevaluatedProperties", json!(false)), false),
        (with("anyOf", json!([{"properties": {"b": {}}}, {}])), true),
        (with("allOf", json!([{"$ref": "#/$defs/more"}])), false),
        (json!({"allOf": [{"$ref": "#/$defs/x"}], "$defs": {"x": {"properties": {"a": {}, "b": {}}}}}), true),
        (json!({"type": "object"}), true),
        (json!({"type": "object", "properties": {}}), false),
        (json!(true), true),
        (json!({}), true),
        (json!({"if": {"properties": {"a": {"const": 1}}}, "then": {"properties": {"b": {}}}}), true),
    ] {
        let mut schema = schema;
        if schema.get("allOf").is_some() && schema.get("$defs").is_none() {
            schema["$defs"] = json!({"more": {"properties": {"c": true}}});
        }
        let surface = reading(&schema);
        let prepared = call(&surface, r#"{"a":1,"b":1}"#, false);
        let runs = matches!(prepared, deadweight_mcp::surface::Prepared::Run { .. });
        assert_eq!(runs, valid, "{schema}");
    }
}

#[test]
fn alternatives_are_told_by_the_one_that_is_meant() {
    let schema = json!({"type": "object", "properties": {"to": {"anyOf": [
        {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}, {"type": "null"}]}}});
    let text = answered(call(&reading(&schema), r#"{"to":{}}"#, false));
    assert!(text.contains("- /to: \"name\" is missing"), "{text}");
    let text = answered(call(&reading(&schema), r#"{"to":3}"#, false));
    assert!(text.contains("- /to: fits none of 2 alternatives; is the number 3"), "{text}");
}

#[test]
fn violations_are_bounded() {
    let surface = reading(&json!({"type": "object", "properties": {}, "additionalProperties": false}));
    let many: serde_json::Map<String, Value> =
        (0..500).map(|at| (format!("{at}{}", "k".repeat(500)), json!(1))).collect();
    let text = answered(call(&surface, &Value::from(many).to_string(), false));
    assert!(text.len() < 4_000, "{}", text.len());
    assert!(text.contains("- more of the kind"), "{text}");
}

#[test]
fn drafts_are_honoured() {
    let tuple = |schema: &str| json!({"$schema": schema, "type": "object", "properties": {"at": {"items": [{"type": "integer"}]}}});
    let surface = reading(&tuple("http://json-schema.org/draft-07/schema#"));
    assert_eq!(ran(call(&surface, r#"{"at":["1"]}"#, false)).as_deref(), Some(r#"{"at":[1]}"#));
    // In 2020-12 that is no schema.
    let surface = reading(&tuple("https://json-schema.org/draft/2020-12/schema"));
    assert!(answered(call(&surface, r#"{"at":["x"]}"#, false)).contains("cannot be checked here"));
    assert_eq!(ran(call(&surface, r#"{"at":["x"]}"#, true)), None, "once loaded, the server decides");
}
