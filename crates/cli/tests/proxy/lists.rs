//! Lists have the same bytes whenever and however often they are asked for.

use std::collections::BTreeSet;
use std::process::Command;

use deadweight_testkit::client::Client;
use deadweight_testkit::processes;
use deadweight_testkit::scripted_mcp::{self, Act, Generate, Page, Script};
use serde_json::{Value, json};

use crate::case::{Case, PATIENCE, failed, home, script, unique, wrapping};

/// How many connections a list must outlive: `DEADWEIGHT_RECONNECTS`, else few enough for every run of the tests.
fn connections() -> usize {
    std::env::var("DEADWEIGHT_RECONNECTS").ok().and_then(|text| text.parse().ok()).unwrap_or(40)
}

/// A server of twelve tools, large enough to be deferred, with a name of its own per test.
fn large(name: &str) -> Script {
    let mut script = Script::named(unique(name)).tool("echo");
    for number in 0..12 {
        let words =
            format!("Does the thing of number {number}. It does it well, and says so at length, in words.");
        let property =
            |name: &str| (format!("{name}_{number}"), json!({ "type": "string", "description": words }));
        let properties: serde_json::Map<String, Value> =
            ["first", "second", "third", "fourth"].map(property).into_iter().collect();
        let schema =
            json!({ "type": "object", "properties": properties, "required": [format!("first_{number}")] });
        let tool = json!({
            "name": format!("thing_{number}"),
            "title": format!("Thing {number}"),
            "description": words,
            "inputSchema": schema,
            "annotations": { "readOnlyHint": number % 2 == 0 },
            "x-own": { "kept": [1, 2.0, "é"] }
        });
        script = script.raw_tool(tool.to_string());
    }
    script
}

#[test]
fn an_eager_list_has_the_servers_bytes() {
    let raw = r#"{ "name":"odd", "title":"O\u0064d", "inputSchema":{"type":"object","properties":{"n":{"type":"number","multipleOf":0.10,"maximum":1E3}},"$comment":"é"}, "outputSchema":{"type":"object"}, "execution":{"taskSupport":"optional"}, "annotations":{"readOnlyHint":true}, "icons":[{"src":"data:,"}], "_meta":{"a/b":[1,2]}, "x-own":12345678901234567890123 }"#;
    let script = large("eager")
        .raw_tool(raw)
        .page(Page { generate: Some(Generate { tools: 30, description: 300 }), ..Page::default() });
    let mut bare = Client::start(Command::new(scripted_mcp::path()).arg(script.to_json())).unwrap();
    bare.initialize("proof", "1.0").unwrap();
    let definitions = bare.definitions().unwrap();
    drop(bare);
    let mut case = Case::new(script);
    let list = case.client.list().unwrap();
    assert!(list.contains(raw), "{list}");
    // Every definition of both pages is in the one page, byte for byte and in order.
    assert_eq!(case.client.definitions().unwrap(), definitions);
    let proxied = case.client.seen().last().unwrap().clone();
    assert!(!proxied.contains("nextCursor"), "one page downstream");
    case.leave(&[]);
}

/// The list as a client of this name gets it on a connection of its own.
fn listed(home: &std::path::Path, flags: &[&str], script: &Script, client: &str) -> String {
    let mut connection = Client::start(&mut wrapping(home, flags, script)).unwrap();
    connection.initialize(client, "1.0").unwrap();
    let list = connection.list().unwrap();
    connection.close();
    assert!(connection.ended(PATIENCE).is_some());
    list
}

#[test]
fn a_list_outlives_reconnects_and_restarts_byte_for_byte() {
    for surface in ["eager", "stubs"] {
        let (script, home) = (large("reconnects"), home());
        let lists: BTreeSet<String> = (0..connections())
            .map(|_| listed(home.path(), &["--surface", surface], &script, "proof"))
            .collect();
        assert_eq!(lists.len(), 1, "{surface}: {lists:#?}");
        assert_eq!(processes::left(&script.name, PATIENCE), Vec::<u32>::new());
        // Nor does it depend on what an earlier proxy has left in a home.
        let fresh = crate::case::home();
        assert_eq!(lists.first(), Some(&listed(fresh.path(), &["--surface", surface], &script, "proof")));
    }
}

#[test]
fn a_list_outlives_crashes_of_its_server_and_loads_byte_for_byte() {
    let script = large("restarts").tool("die").on("tools/call:die", [Act::Exit(1)]);
    let mut case = Case::silent(script, &["--surface", "stubs"]);
    case.client.initialize("proof", "1.0").unwrap();
    let first = case.client.list().unwrap();
    for number in 0..5 {
        let id = case.ask("die", &json!({}));
        case.answer(id);
        assert_eq!(case.client.list().unwrap(), first);
        let loaded =
            case.client.call("load_tool_schemas", &json!({ "tools": [format!("thing_{number}")] })).unwrap();
        assert!(!failed(&loaded), "{loaded}");
        assert!(loaded.to_string().contains(&format!("fourth_{number}")), "{loaded}");
        assert_eq!(case.client.list().unwrap(), first);
    }
    assert!(!case.client.seen().iter().any(|line| line.contains("list_changed")), "a load changes no list");
    case.leave(&[]);
}

#[test]
fn no_property_of_a_schema_shows_in_a_stub() {
    let mut case = Case::silent(large("stubs"), &["--surface", "stubs"]);
    case.client.initialize("proof", "1.0").unwrap();
    let list = case.client.list().unwrap();
    for number in 0..12 {
        for name in ["first", "second", "third", "fourth"] {
            assert!(!list.contains(&format!("{name}_{number}")), "{list}");
        }
        assert!(list.contains(&format!(r#""thing_{number}""#)));
    }
    assert!(list.contains("load_tool_schemas"));
    assert!(list.contains(r#""x-own":{"kept":[1,2.0,"é"]}"#), "unknown members stay as they are");
    case.leave(&[]);
}

#[test]
fn a_list_that_changes_is_told_and_served() {
    let mut script = script("grows").tool("grow").on(
        "tools/call:grow",
        [Act::List(1), Act::Notify("notifications/tools/list_changed".to_owned()), Act::Proceed],
    );
    let mut raw = script.pages[0].raw.clone();
    raw.push(r#"{"name":"grown","description":"New.","inputSchema":{"type":"object"}}"#.to_owned());
    script.later = vec![vec![Page { raw, ..Page::default() }]];
    let mut case = Case::new(script);
    assert!(!case.client.list().unwrap().contains("grown"));
    let id = case.ask("grow", &json!({}));
    case.answer(id);
    let told = case.client.wait(PATIENCE, |message| message["method"] == "notifications/tools/list_changed");
    assert!(told.is_some(), "the client is told");
    assert!(case.client.list().unwrap().contains("grown"));
    let id = case.ask("grown", &json!({}));
    let answer = case.answer(id);
    assert!(!failed(&answer), "{answer}");
    case.leave(&[]);
}

#[test]
fn an_empty_list_is_not_kept() {
    let home = home();
    let empty = home.path().join("empty").display().to_string();
    // The first process that plays this serves the later, empty list.
    let mut script = large("empties").on("start", [Act::Once { file: empty, acts: vec![Act::List(1)] }]);
    script.later = vec![vec![Page::default()]];
    let first = listed(home.path(), &["--surface", "stubs"], &script, "proof");
    assert!(!first.contains("thing_0"), "{first}");
    let second = listed(home.path(), &["--surface", "stubs"], &script, "proof");
    assert!(second.contains("thing_0"), "{second}");
}
