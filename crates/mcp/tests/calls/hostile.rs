//! Schemas that nobody can check, and arguments that nobody meant.

use crate::support::{answered, call, ran, reading};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

#[test]
fn a_schema_that_cannot_be_checked_is_shown_and_then_passed() {
    let mut laughs = json!({"$ref": "#/$defs/l30", "$defs": {"l0": {"type": "object"}}});
    for level in 1..=30 {
        let one = json!({"$ref": format!("#/$defs/l{}", level - 1)});
        laughs["$defs"][format!("l{level}")] = json!({"allOf": [one, one]});
    }
    let mut chain = json!({"$ref": "#/$defs/l0", "$defs": {"l3000": {"type": "object"}}});
    for level in 0..3_000 {
        chain["$defs"][format!("l{level}")] = json!({"$ref": format!("#/$defs/l{}", level + 1)});
    }
    let mut deep = json!({});
    for _ in 0..110 {
        deep = json!({ "not": deep });
    }
    let schemas = [
        ("no schema", json!(7)),
        ("no type", json!({"type": "thing"})),
        ("far away", json!({"$ref": "https://example.com/schema.json"})),
        ("a file", json!({"$ref": "file:///etc/passwd"})),
        ("nowhere", json!({"$ref": "#/$defs/none"})),
        ("itself", json!({"$ref": "#"})),
        ("no pattern", json!({"properties": {"a": {"pattern": "(("}}})),
        ("a giant pattern", json!({"properties": {"a": {"pattern": "((a{1000}){1000}){1000}"}}})),
        ("laughs", laughs),
        ("a long way", chain),
        ("deep", deep),
    ];
    for (what, schema) in schemas {
        let start = Instant::now();
        let surface = reading(&schema);
        let text = answered(call(&surface, r#"{"a":"x","b":"1"}"#, false));
        assert!(text.contains("cannot be checked here"), "{what}: {}", &text[..200.min(text.len())]);
        assert_eq!(ran(call(&surface, r#"{"a":"x","b":"1"}"#, true)), None, "{what}");
        assert!(start.elapsed() < Duration::from_secs(10), "{what}: {:?}", start.elapsed());
    }
}

#[test]
fn patterns_are_held_to_linear_time() {
    for pattern in ["^(a+)+$", "^(a|aa)*$", "(x+x+)+y", "^(?=(a+)+$)a"] {
        let surface =
            reading(&json!({"type": "object", "properties": {"a": {"type": "string", "pattern": pattern}}}));
        let arguments = json!({"a": format!("{}!", "a".repeat(5_000))}).to_string();
        let start = Instant::now();
        let text = answered(call(&surface, &arguments, false));
        assert!(text.starts_with("Not run:"), "{text}");
        assert!(start.elapsed() < Duration::from_secs(10), "{pattern}: {:?}", start.elapsed());
    }
    let looking = reading(&json!({"type": "object", "properties": {"a": {"pattern": "^(?!.*--)[a-z-]+$"}}}));
    assert_eq!(ran(call(&looking, r#"{"a":"b-c"}"#, false)), None);
    assert!(
        answered(call(&looking, r#"{"a":"b--c"}"#, false))
            .contains("- /a: the string \"b--c\" does not match")
    );
}

#[test]
fn a_recursive_schema_is_checked_as_deep_as_its_value() {
    let tree = json!({"type": "object", "properties": {"node": {"$ref": "#/$defs/node"}}, "$defs": {"node": {
        "type": "object", "properties": {"n": {"type": "integer"}, "next": {"$ref": "#/$defs/node"}}, "additionalProperties": false}}});
    let surface = reading(&tree);
    let given = r#"{"node":{"n":"1","next":{"n":"2","next":{}}}}"#;
    assert_eq!(
        ran(call(&surface, given, false)).as_deref(),
        Some(r#"{"node":{"n":1,"next":{"n":2,"next":{}}}}"#)
    );
    let wrong = r#"{"node":{"next":{"next":{"m":1}}}}"#;
    assert!(answered(call(&surface, wrong, false)).contains("- /node/next/next: \"m\" is unknown"));
    for levels in [30, 120, 5_000, 200_000] {
        let deep = format!(r#"{{"node":{}{{}}{}}}"#, r#"{"next":"#.repeat(levels), "}".repeat(levels));
        call(&surface, &deep, false);
        call(&surface, &deep, true);
    }
}

#[test]
fn large_arguments_are_checked_or_passed_in_time() {
    let schema = json!({"type": "object", "properties": {
        "list": {"type": "array", "items": {"anyOf": [{"type": "integer"}, {"type": "null"}]}},
        "text": {"type": "string", "pattern": "^[a-z]*$"}, "unique": {"type": "array", "uniqueItems": true}}});
    let surface = reading(&schema);
    let list: Vec<Value> = (0..200_000).map(|n| json!(n.to_string())).collect();
    let start = Instant::now();
    for arguments in [
        json!({ "list": list }),
        json!({"text": "a".repeat(8 << 20)}),
        json!({"unique": (0..100_000).collect::<Vec<_>>()}),
        json!({"list": vec!["x"; 50_000]}),
    ] {
        call(&surface, &arguments.to_string(), false);
        call(&surface, &arguments.to_string(), true);
    }
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
}

#[test]
fn numbers_and_escapes_that_nobody_reads_are_no_crash() {
    let surface = reading(&json!({"type": "object", "properties": {"a": {}}}));
    for arguments in [r#"{"a":1e400}"#, r#"{"a":"\ud800"}"#, r#"{"a":}"#, "", "\u{0}"] {
        assert!(answered(call(&surface, arguments, false)).contains("cannot be checked here"), "{arguments}");
    }
    assert_eq!(ran(call(&surface, r#"{"a":123456789012345678901234567890}"#, false)), None);
}

#[test]
fn what_is_just_within_bounds_needs_no_more_stack_than_there_is() {
    let nested = |levels: usize, wrap: fn(Value) -> Value| {
        (0..levels).fold(json!({"type": "object", "required": ["never"]}), |inner, _| wrap(inner))
    };
    let schemas = [
        nested(96, |inner| json!({ "not": inner })),
        nested(48, |inner| json!({"allOf": [inner]})),
        nested(48, |inner| json!({"anyOf": [inner, {"type": "null"}]})),
        nested(48, |inner| json!({"properties": {"a": inner}})),
        nested(48, |inner| json!({"properties": {"a": true}, "patternProperties": {"^a": inner}})),
        nested(32, |inner| json!({"oneOf": [{"if": true, "then": inner}], "unevaluatedProperties": false})),
    ];
    let mut links =
        json!({"$ref": "#/$defs/l0", "$defs": {"l150": {"type": "object", "required": ["never"]}}});
    for level in 0..150 {
        links["$defs"][format!("l{level}")] = json!({"anyOf": [{"$ref": format!("#/$defs/l{}", level + 1)}]});
    }
    let arguments = (0..100).fold(json!({}), |inner, _| json!({ "a": inner })).to_string();
    for schema in schemas.into_iter().chain([links]) {
        // A worker of a server has 2 MiB.
        let (schema, arguments) = (schema.clone(), arguments.clone());
        let small = std::thread::Builder::new().stack_size(2 << 20).spawn(move || {
            let surface = reading(&schema);
            call(&surface, &arguments, false);
            call(&surface, &arguments, true);
        });
        small.unwrap().join().unwrap();
    }
}
