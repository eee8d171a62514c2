//! Deferred tools through the relay: calls, loads, reveals, cuts.

use super::super::port::Kind;
use super::super::{Doing, Outcome};
use super::{Rig, initialize, list, names, opening, text_of};
use crate::surface::Settings;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

fn load(id: u32, name: &str) -> Value {
    json!({"jsonrpc":"2.0","id":id,"method":"tools/call","params":{"name":"load_tool_schemas","arguments":{"tools":[name]}}})
}

/// One server, everything of it deferred, for a client that hears of changes.
fn deferred(settings: Settings) -> Rig {
    let mut rig = Rig::with(&["s"], false, Arc::default(), Settings { budget: 0, ..settings });
    let mut opened = initialize();
    opened["params"]["clientInfo"]["name"] = json!("claude-code");
    rig.client(opened);
    rig.answer(0, "initialize", opening());
    rig.client(json!({"jsonrpc":"2.0","method":"notifications/initialized"}));
    let schema = json!({"type":"object","properties":{"count":{"type":"integer","description":"How many. ".repeat(40)}},"required":["count"]});
    let tools = json!([
        {"name":"read","description":"Reads.","inputSchema":schema,"annotations":{"readOnlyHint":true}},
        {"name":"wipe","description":"Wipes.","inputSchema":schema},
    ]);
    rig.answer(0, "tools/list", json!({"tools":tools}));
    rig.client(list(1));
    rig.heard();
    rig
}

fn stubs() -> Settings {
    Settings { surface: crate::surface::Choice::Stubs, ..Settings::default() }
}

#[test]
fn a_deferred_call_is_coerced_and_runs_or_comes_back_with_the_schema() {
    let mut rig = deferred(stubs());
    let call = |id: u32, name: &str, arguments: Value| json!({"jsonrpc":"2.0","id":id,"method":"tools/call","params":{"name":name,"arguments":arguments}});
    rig.client(call(2, "read", json!({"count":"3"})));
    assert_eq!(rig.answer(0, "tools/call", json!({"content":[]}))["params"]["arguments"], json!({"count":3}));
    rig.heard();
    rig.client(call(3, "read", json!({"count":"many"})));
    let heard = rig.heard();
    assert_eq!(heard[0]["result"]["isError"], true);
    assert!(text_of(&heard[0]).contains("\"inputSchema\""), "{heard:?}");
    // Not declared harmless: nothing runs before its schema was shown, and then it does.
    rig.client(call(4, "wipe", json!({"count":1})));
    assert!(text_of(&rig.heard()[0]).contains("\"inputSchema\""));
    assert!(rig.sent.iter().all(|(_, message)| !matches!(&message.kind, Kind::Request { .. })));
    rig.client(call(5, "wipe", json!({"count":1})));
    rig.answer(0, "tools/call", json!({"content":[]}));
    assert_eq!(rig.heard()[0]["id"], 5);
    let calls = rig.called.iter().filter(|called| called.work.doing == Doing::Call);
    let outcomes: Vec<Outcome> = calls.map(|called| called.outcome).collect();
    assert_eq!(outcomes, [Outcome::Ok, Outcome::Refused, Outcome::Refused, Outcome::Ok]);
    // Either refusal handed out a schema, which is a load like any other.
    let loads: Vec<&str> = rig
        .called
        .iter()
        .filter(|called| called.work.doing == Doing::Load && called.bytes_out > 300)
        .map(|called| called.work.tool.as_str())
        .collect();
    assert_eq!(loads, ["read", "wipe"]);
}

#[test]
fn a_load_that_loads_nothing_is_told_as_a_search() {
    let mut rig = deferred(stubs());
    rig.client(load(2, "nobody"));
    rig.client(load(3, "wipe"));
    let told: Vec<(Doing, Outcome)> =
        rig.called.iter().map(|called| (called.work.doing, called.outcome)).collect();
    assert_eq!(told[1], (Doing::Load, Outcome::Ok));
    assert_eq!(told[0].0, Doing::Search);
}

#[test]
fn a_load_changes_nothing_in_the_list_and_is_always_answered_in_full() {
    let mut rig = deferred(stubs());
    rig.client(list(2));
    let before = rig.heard()[0]["result"].clone();
    rig.client(load(3, "wipe"));
    rig.client(load(4, "wipe"));
    rig.client(list(5));
    let heard = rig.heard();
    assert_eq!(heard.len(), 3, "no notification: {heard:?}");
    assert_eq!(text_of(&heard[0]), text_of(&heard[1]));
    assert_eq!(heard[2]["result"], before);
}

#[test]
fn where_it_is_asked_for_a_load_is_seen_in_the_list_before_it_is_answered() {
    let mut rig = deferred(Settings { reveal: true, ..stubs() });
    rig.client(load(3, "wipe"));
    assert_eq!(rig.heard(), [json!({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})]);
    rig.client(list(4));
    let heard = rig.heard();
    assert_eq!(heard[0]["id"], 4);
    let wipe = heard[0]["result"]["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == "wipe");
    assert_eq!(wipe.unwrap()["inputSchema"]["required"], json!(["count"]));
    assert_eq!(heard[1]["id"], 3);
    // One that does not ask again is not waited for without end.
    rig.client(load(5, "read"));
    rig.heard();
    rig.now += Duration::from_secs(2);
    rig.relay.tick(rig.now);
    rig.collect();
    assert_eq!(rig.heard()[0]["id"], 5);
}

#[test]
fn a_result_that_is_too_large_is_cut_and_can_be_read_on() {
    let mut rig = deferred(Settings { max_result: Some(2_000), ..stubs() });
    rig.client(json!({"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"read","arguments":{"count":1}}}));
    let text: String = (0..2_000).map(|line| format!("line {line}\n")).collect();
    rig.answer(0, "tools/call", json!({"content":[{"type":"text","text":text}]}));
    let heard = rig.heard();
    assert!(heard[0].to_string().len() < 4_000, "{}", heard[0].to_string().len());
    assert!(text_of(&heard[0]).starts_with("line 0\n") && text_of(&heard[0]).contains("read_result"));
    rig.client(list(3));
    assert!(names(&rig.heard()[0]).contains(&"read_result".to_owned()));
}
