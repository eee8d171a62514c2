//! Schemas and arguments of any content: nothing panics or takes for ever, what is valid is not touched, and what is
//! coerced was a string that spells what it became.
//!
//! The first line is a schema, the rest are arguments.

#![no_main]

use std::time::Duration;

use bytes::Bytes;
use deadweight_mcp::surface::{
    Choice, Client, Input, Kept, Optimistic, Prepared, Results, ServerTools, Settings, Surface, Target,
    ToolState,
};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|input: &[u8]| {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let (schema, arguments) = text.split_once('\n').unwrap_or((text, "{}"));
    let definition =
        format!(r#"{{"name":"t","inputSchema":{schema},"annotations":{{"readOnlyHint":true}}}}"#);
    if serde_json::from_str::<Value>(schema).is_err() {
        return;
    }
    let tools = [Bytes::from(definition)];
    let settings = Settings {
        budget: 0,
        surface: Choice::Stubs,
        optimistic: Optimistic::All,
        max_result: Some(0),
        ..Settings::default()
    };
    let surface = Surface::new(&Input {
        settings: &settings,
        client: Client::default(),
        servers: &[ServerTools { label: "s", tools: &tools, state: ToolState::Ready }],
        lock: None,
        aggregate: false,
        kept: &Kept::default(),
    });
    let Some(Target::Tool(tool)) = surface.resolve("t") else { return };

    for (_, value) in surface.headers(tool, Some(arguments.as_bytes())) {
        assert!(value.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~')), "{value:?}");
    }
    for loaded in [false, true] {
        match surface.prepare(tool, Some(arguments.as_bytes()), loaded) {
            Prepared::Run { arguments: None } => {}
            Prepared::Run { arguments: Some(coerced) } => {
                let coerced = std::str::from_utf8(&coerced).expect("UTF-8");
                let (old, new) = (serde_json::from_str(arguments), serde_json::from_str(coerced));
                if let (Ok(old), Ok(new)) = (old, new) {
                    assert!(spells(&old, &new), "{arguments} became {coerced}");
                    assert!(!is_valid(schema, &old), "{arguments} was valid");
                }
                let again = surface.prepare(tool, Some(coerced.as_bytes()), true);
                assert_eq!(again, Prepared::Run { arguments: None }, "once is enough");
            }
            Prepared::Answer { result } => {
                assert!(!loaded, "a loaded tool runs");
                let result: Value = serde_json::from_slice(&result).expect("a result is JSON");
                assert_eq!(result["isError"], true);
            }
        }
    }

    let mut results = Results::default();
    let whole = Bytes::copy_from_slice(arguments.as_bytes());
    if let Some(cut) = results.cut(&whole, 0, Duration::ZERO) {
        serde_json::from_slice::<&serde_json::value::RawValue>(&cut).expect("a cut result is JSON");
        assert_eq!(results.cut(&cut, 0, Duration::ZERO), None, "cut once");
    }
    let answers = [
        surface.load(arguments.as_bytes()).result,
        surface.search(arguments.as_bytes()),
        surface.unwrap_call(arguments.as_bytes()).map_or_else(|result| result, |(_, arguments)| arguments),
        results.read(arguments.as_bytes(), Duration::ZERO),
    ];
    for answer in answers {
        serde_json::from_slice::<&serde_json::value::RawValue>(&answer).expect("an answer is JSON");
    }
});

/// Whether `new` is `old` with some strings as what they spell.
fn spells(old: &Value, new: &Value) -> bool {
    match (old, new) {
        (Value::Array(old), Value::Array(new)) => {
            old.len() == new.len() && old.iter().zip(new).all(|(old, new)| spells(old, new))
        }
        (Value::Object(old), Value::Object(new)) => {
            old.keys().eq(new.keys()) && old.values().zip(new.values()).all(|(old, new)| spells(old, new))
        }
        (Value::String(text), new) if !new.is_string() => {
            serde_json::from_str(text).is_ok_and(|meant| spells(&meant, new))
        }
        _ => old == new,
    }
}

/// Whether the validator takes the arguments as they are; only for schemas that cannot keep it busy.
fn is_valid(schema: &str, arguments: &Value) -> bool {
    if ["$ref", "Ref", "attern", "unevaluated", "$schema", "$id"].iter().any(|word| schema.contains(word)) {
        return false;
    }
    let schema: Value = serde_json::from_str(schema).unwrap_or_default();
    let validator = jsonschema::options().offline().should_validate_formats(false).build(&schema);
    validator.is_ok_and(|validator| validator.is_valid(arguments))
}
