//! The tools of real servers: every schema is checked, and no arguments break anything.

use crate::support::{Case, definitions, read};
use bytes::Bytes;
use deadweight_mcp::surface::{Choice, Optimistic, Prepared, Surface};
use deadweight_wire::definition::listed;
use deadweight_wire::json::Parser;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Instant;

/// The folder of recorded lists: `$DEADWEIGHT_SHARED`, or `../shared/data` beside the workspace.
fn recorded() -> Vec<(String, Vec<Bytes>)> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let asked = std::env::var_os("DEADWEIGHT_SHARED").map(PathBuf::from);
    let roots = asked.iter().flat_map(|asked| [asked.clone(), asked.join("data")]).chain([root]);
    let folder = roots.map(|root| root.join("toolslist")).find(|folder| folder.join("SOURCES.md").is_file());
    let Some(folder) = folder else {
        println!("skipped: the recorded lists are not on this machine (set DEADWEIGHT_SHARED)");
        return Vec::new();
    };
    let mut out = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "json") {
            let bytes = std::fs::read(&path).unwrap();
            let tools = Parser::new().scope(&bytes, |document| {
                let tools = listed(document.unwrap().root()).unwrap();
                tools.iter().map(|tool| Bytes::copy_from_slice(tool.raw().as_bytes())).collect()
            });
            out.push((path.file_stem().unwrap().to_string_lossy().into_owned(), tools));
        }
    }
    out.sort();
    out
}

fn all(choice: Choice) -> Option<Surface> {
    let servers = recorded();
    let servers: Vec<(&str, Vec<Bytes>)> =
        servers.iter().map(|(label, tools)| (label.as_str(), tools.clone())).collect();
    (!servers.is_empty()).then(|| {
        let case = Case::many(&servers).with(|settings| {
            settings.surface = choice;
            settings.optimistic = Optimistic::All;
        });
        case.surface()
    })
}

/// A value that a schema asks for, as far as that is easily told.
fn sample(root: &Value, schema: &Value, depth: usize) -> Value {
    if depth > 12 {
        return json!({});
    }
    if let Some(reference) = schema["$ref"].as_str() {
        return sample(root, root.pointer(&reference[1..]).unwrap(), depth + 1);
    }
    if let Some(value) = schema.get("const").or_else(|| schema["enum"].get(0)) {
        return value.clone();
    }
    for key in ["anyOf", "oneOf", "allOf"] {
        if let Some(first) = schema[key].get(0) {
            return sample(root, first, depth + 1);
        }
    }
    let kind = schema["type"].as_str().or_else(|| schema["type"][0].as_str());
    match kind {
        Some("object") => {
            let mut value = json!({});
            for name in schema["required"].as_array().into_iter().flatten() {
                let name = name.as_str().unwrap();
                value[name] = sample(root, &schema["properties"][name], depth + 1);
            }
            value
        }
        Some("array") => json!(vec![
            sample(root, &schema["items"], depth + 1);
            schema["minItems"].as_u64().unwrap_or(1) as usize
        ]),
        Some("integer" | "number") => {
            let low = schema["minimum"]
                .as_f64()
                .or_else(|| schema["exclusiveMinimum"].as_f64().map(|low| low + 1.0));
            json!(low.or(schema["maximum"].as_f64()).unwrap_or(1.0).max(1.0) as i64)
        }
        Some("boolean") => json!(true),
        Some("null") => Value::Null,
        _ => json!("text"),
    }
}

#[test]
fn every_recorded_schema_is_checked() {
    let Some(surface) = all(Choice::Stubs) else { return };
    let (mut valid, mut refused, mut slowest) = (0, 0, 0);
    for (index, tool) in surface.all() {
        let definition: Value = serde_json::from_slice(&tool.definition).unwrap();
        let schema = &definition["inputSchema"];
        let given = sample(schema, schema, 0);
        let start = Instant::now();
        match surface.prepare(index, Some(given.to_string().as_bytes()), false) {
            Prepared::Run { arguments } => {
                assert_eq!(arguments, None, "{}: {given}", tool.shown);
                valid += 1;
            }
            Prepared::Answer { result } => {
                let (text, _) = read(&result);
                assert!(!text.contains("cannot be checked"), "{}: {text}", tool.shown);
                assert!(schema.to_string().contains("\"pattern\""), "{}: {given}\n{text}", tool.shown);
                assert_eq!(definitions(&text)[0]["inputSchema"], *schema);
                refused += 1;
            }
        }
        slowest = slowest.max(start.elapsed().as_micros());
        // Every scalar of the top level as a string is the same call.
        let mut stringified = given.clone();
        for member in stringified.as_object_mut().unwrap().values_mut() {
            if !member.is_string() {
                *member = json!(member.to_string());
            }
        }
        if let Prepared::Run { arguments: Some(bytes) } =
            surface.prepare(index, Some(stringified.to_string().as_bytes()), true)
        {
            let sent: Value = serde_json::from_slice(&bytes).unwrap();
            if sent != given {
                println!("{}: {stringified} is sent as {sent}", tool.shown);
            }
        }
        let unknown = json!({"surely_unknown_member": 1}).to_string();
        if !schema["additionalProperties"].is_null() && schema["additionalProperties"] != json!(false) {
            continue;
        }
        let prepared = surface.prepare(index, Some(unknown.as_bytes()), false);
        let runs = matches!(prepared, Prepared::Run { .. });
        assert!(!runs || schema.get("properties").is_none(), "{}", tool.shown);
    }
    println!("{valid} samples fit, {refused} do not; the slowest schema took {slowest} µs");
    assert!(valid > 290, "{valid}");
}

#[test]
fn every_recorded_server_can_be_loaded_and_searched() {
    for choice in [Choice::Stubs, Choice::Search] {
        let Some(surface) = all(choice) else { return };
        let labels: Vec<String> = surface.servers().map(|(label, _)| label.to_owned()).collect();
        let mut loaded = 0;
        for label in labels {
            let answer = surface.load(json!({"server": label}).to_string().as_bytes());
            let (text, is_error) = read(&answer.result);
            assert!(!is_error && !text.contains("Left out"), "{label}");
            assert_eq!(definitions(&text).len(), answer.tools.len(), "{label}");
            loaded += answer.tools.len();
        }
        assert_eq!(loaded, surface.all().count());
        let (text, _) = read(&surface.search(br#"{"query":"take a screenshot of the page"}"#));
        assert!(text.contains("screenshot"), "{text}");
    }
}
