//! Advice: what is at stake is the difference that taking the part out really makes.
#![allow(clippy::expect_used, reason = "a test may fail")]

use deadweight_estimate::{Estimator, estimator};
use deadweight_footprint::advice::{Advice, AdviceKind, Rule};
use deadweight_footprint::catalogue::{Catalogue, CatalogueFootprint, Server, price};
use serde_json::{Value, json};

fn by(name: &str) -> Box<dyn Estimator> {
    estimator(name).expect("the estimator is known")
}

fn server(tools: &[Value]) -> Server {
    let tools = tools.iter().map(|tool| tool.to_string().into_bytes()).collect();
    Server { label: "srv".to_owned(), tools, ..Server::default() }
}

fn report(tools: &[Value], by: &dyn Estimator) -> CatalogueFootprint {
    price(&Catalogue { servers: vec![server(tools)], failures: Vec::new() }, by)
}

fn advice(report: &CatalogueFootprint, rule: Rule) -> &Advice {
    report.advice.iter().find(|advice| advice.rule == rule).expect("the rule has something to say")
}

/// Checks one rule against the prices of the tools with and without the part, by both kinds of estimator.
fn at_stake(rule: Rule, with: &[Value], without: &[Value]) {
    for name in ["calibrated", "o200k"] {
        let by = by(name);
        let (before, after) = (report(with, &*by), report(without, &*by));
        let advice = advice(&before, rule);
        assert_eq!(advice.bytes, before.floor_bytes - after.floor_bytes, "{rule:?} by {name}");
        assert_eq!(
            Some(advice.tokens),
            before.floor_tokens.checked_sub(after.floor_tokens),
            "{rule:?} by {name}"
        );
        assert!(!after.advice.iter().any(|other| other.rule == rule), "{rule:?} still there");
        assert_eq!(advice.tool_count, advice.tools.len() as u64);
    }
}

fn tool(schema: &Value) -> Value {
    json!({"name": "make_it", "description": "Makes it.", "inputSchema": schema})
}

#[test]
fn schema_uris() {
    let uri = "http://json-schema.org/draft-07/schema#";
    let inner = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let mut with = inner.clone();
    with["$schema"] = json!(uri);
    with["properties"]["a"]["$schema"] = json!(uri);
    at_stake(Rule::SchemaUri, &[tool(&with)], &[tool(&inner)]);
    // A parameter may well be called so.
    let parameter = json!({"properties": {"$schema": {"type": "string"}}});
    let report = report(&[tool(&parameter)], &*by("calibrated"));
    assert!(report.advice.is_empty(), "{:?}", report.advice);
}

#[test]
fn long_enums() {
    let values: Vec<String> = (0..40).map(|n| format!("value-{n}")).collect();
    let with = json!({"properties": {"zone": {"type": "string", "enum": values}}});
    at_stake(Rule::LongEnum, &[tool(&with)], &[tool(&json!({"properties": {"zone": {"type": "string"}}}))]);
    let report = report(&[tool(&with)], &*by("calibrated"));
    let detail = advice(&report, Rule::LongEnum).tools.first().and_then(|tool| tool.detail.as_deref());
    assert_eq!(detail, Some("40 values at properties.zone"));
}

#[test]
fn definitions_nobody_refers_to() {
    let used = json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/C"}}});
    let with = json!({
        "properties": {"a": {"$ref": "#/$defs/A"}},
        "$defs": {"A": {"items": {"$ref": "#/$defs/B/items"}}, "Z": used, "B": {"items": {}}, "C": {"$ref": "#/$defs/C"}},
    });
    let without = json!({
        "properties": {"a": {"$ref": "#/$defs/A"}},
        "$defs": {"A": {"items": {"$ref": "#/$defs/B/items"}}, "B": {"items": {}}},
    });
    at_stake(Rule::UnusedDefinitions, &[tool(&with)], &[tool(&without)]);
    let all = json!({"type": "object", "definitions": {"A": {}, "B": {}}, "required": ["a"]});
    at_stake(Rule::UnusedDefinitions, &[tool(&all)], &[tool(&json!({"type": "object", "required": ["a"]}))]);
    // Anchors are not followed, so nothing is said.
    let anchored = json!({"properties": {"a": {"$ref": "#there"}}, "$defs": {"A": {"$anchor": "there"}}});
    assert!(report(&[tool(&anchored)], &*by("calibrated")).advice.is_empty());
}

#[test]
fn definitions_repeated_in_many_tools() {
    let definition = json!({"type": "object", "description": "A page, or what is left of it."});
    let named = |name: &str, with: bool| {
        let defs = if with {
            json!({"Page": definition, "Own": {"const": name}})
        } else {
            json!({"Own": {"const": name}})
        };
        let properties = json!({"a": {"$ref": "#/$defs/Page"}, "b": {"$ref": "#/$defs/Own"}});
        json!({"name": name, "description": "d", "inputSchema": {"properties": properties, "$defs": defs}})
    };
    let with = ["a", "b", "c"].map(|name| named(name, true));
    let without = [named("a", true), named("b", false), named("c", false)];
    at_stake(Rule::RepeatedDefinitions, &with, &without);
    // Within one tool nothing is repeated.
    assert!(report(&with[..1], &*by("calibrated")).advice.is_empty());
}

#[test]
fn titles_that_only_repeat_the_name() {
    let with = json!({
        "title": "make_itArguments",
        "properties": {
            "repo_path": {"title": "Repo Path", "type": "string"},
            "x": {"title": "Something else"},
            "title": {"type": "string", "default": {"title": "title"}},
        },
        "type": "object",
    });
    let mut without = with.clone();
    without.as_object_mut().expect("an object").shift_remove("title");
    without["properties"]["repo_path"].as_object_mut().expect("an object").shift_remove("title");
    at_stake(Rule::DerivedTitle, &[tool(&with)], &[tool(&without)]);
}

#[test]
fn keywords_that_say_what_holds_anyway() {
    let with = json!({
        "type": "object",
        "additionalProperties": true,
        "properties": {"n": {"type": "integer", "minimum": 1, "maximum": 9007199254740991i64}},
        "required": [],
    });
    let without = json!({"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}});
    at_stake(Rule::DefaultKeyword, &[tool(&with)], &[tool(&without)]);
    let closed =
        json!({"type": "object", "additionalProperties": false, "required": ["n"], "properties": {"n": {}}});
    assert!(report(&[tool(&closed)], &*by("calibrated")).advice.is_empty());
}

#[test]
fn descriptions_that_repeat_their_parameters() {
    let own = "The path of the repository, absolute or relative.";
    let schema = json!({"properties": {"repo_path": {"type": "string", "description": own}}});
    let text = |lines: &str| format!("Shows the log.\n\nArgs:\n{lines}    limit: How many.\n");
    let with = text(&format!("    repo_path (str): {own}\n"));
    let tool = |description: &str| json!({"name": "log", "description": description, "inputSchema": schema});
    at_stake(Rule::RepeatedParameter, &[tool(&with)], &[tool(&text(""))]);
}

#[test]
fn long_descriptions_are_cut_by_characters() {
    let (kept, beyond) = ("é".repeat(2048), "and more".repeat(30));
    let tool = |description: &str| json!({"name": "n", "description": description, "inputSchema": {}});
    at_stake(Rule::LongDescription, &[tool(&format!("{kept}{beyond}"))], &[tool(&kept)]);
    let report = report(&[tool(&format!("{kept}{beyond}"))], &*by("calibrated"));
    assert_eq!(advice(&report, Rule::LongDescription).kind, AdviceKind::Breaks);
}

#[test]
fn duplicate_names() {
    let heavy = json!({"name": "n", "description": "the longer one", "inputSchema": {}});
    let light = json!({"name": "n", "description": "short", "inputSchema": {}});
    at_stake(Rule::DuplicateName, &[light.clone(), heavy.clone(), light.clone()], &[heavy]);
}

#[test]
fn what_breaks_is_told_though_it_saves_nothing() {
    let name = "a_tool_with_a_name_that_goes_on_until_nothing_fits_any_more";
    let broken = json!({"name": name, "description": "d", "inputSchema": {"anyOf": [{"type": "object"}]}});
    let report = report(&[broken], &*by("calibrated"));
    let long = advice(&report, Rule::LongName);
    let detail = long.tools.first().and_then(|tool| tool.detail.clone()).expect("it says where");
    assert!(detail.contains("Claude Code: 69 of 64 characters, the request is refused"), "{detail}");
    assert!(detail.contains("Cursor: 62 of 59 characters, the tool is left out"), "{detail}");
    assert_eq!((long.bytes, long.tokens.get()), (0, 0));
    let combinator = advice(&report, Rule::TopLevelCombinator);
    assert_eq!(combinator.tools.first().and_then(|tool| tool.detail.as_deref()), Some("anyOf"));
    assert_eq!(report.savings.bytes, 0);
}

#[test]
fn output_schemas_and_instructions_are_outside_the_floor() {
    let output = json!({"type": "object", "properties": {"sum": {"type": "number"}}});
    let tool = json!({"name": "n", "description": "d", "inputSchema": {}, "outputSchema": output});
    let instructions = Some("i".repeat(2048 + 15));
    let servers = vec![Server { instructions, ..server(&[tool]) }];
    let report = price(&Catalogue { servers, failures: Vec::new() }, &*by("calibrated"));
    let schema = advice(&report, Rule::OutputSchema);
    assert_eq!((schema.bytes, schema.in_floor), (output.to_string().len() as u64, false));
    let long = advice(&report, Rule::LongInstructions);
    assert_eq!((long.bytes, long.tokens.get(), long.in_floor), (15, 4, false));
    assert_eq!(report.savings.bytes, 0);
}

#[test]
fn inside_what_nothing_refers_to_nothing_else_is_said() {
    let values: Vec<String> = (0..30).map(|n| format!("v{n}")).collect();
    let definition = json!({"title": "Unused", "enum": values});
    let with = json!({"type": "object", "$defs": {"Unused": definition}, "required": []});
    let report = report(&[tool(&with)], &*by("calibrated"));
    let rules: Vec<Rule> = report.advice.iter().map(|advice| advice.rule).collect();
    assert_eq!(rules, [Rule::UnusedDefinitions, Rule::DefaultKeyword]);
}

#[test]
fn parts_named_by_two_rules_are_saved_once() {
    let own = "The path of the repository, absolute or relative to the project.";
    let schema = json!({"type": "object", "properties": {"path": {"description": own}}, "required": []});
    let plain = json!({"type": "object", "properties": {"path": {"description": own}}});
    let kept = "k".repeat(2_048);
    let tool = |description: &str, schema: &Value| json!({"name": "n", "description": description, "inputSchema": schema});
    for name in ["calibrated", "o200k"] {
        let by = by(name);
        // What repeats the parameter stands in what is too long.
        let before = report(&[tool(&format!("{kept}and {own}"), &schema)], &*by);
        let after = report(&[tool(&kept, &plain)], &*by);
        assert_eq!(before.advice.len(), 3);
        assert_eq!(before.savings.bytes, before.floor_bytes - after.floor_bytes);
        assert_eq!(Some(before.savings.tokens), before.floor_tokens.checked_sub(after.floor_tokens));
        assert!(before.advice.iter().map(|advice| advice.bytes).sum::<u64>() > before.savings.bytes);
    }
}
