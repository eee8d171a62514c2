//! Tools that were left out leave their names: in the record, on the pages, in the report on the session, in the export.

use super::faults::OLDER;
use super::machine::Machine;
use deadweight_gateway::edit::Settings;
use deadweight_levers::{Policy, Profile, ToolRule};
use deadweight_store::{Export, Form, Ledger, Table, Which};
use deadweight_testkit::upstream::Response;
use serde_json::{Value, json};
use std::time::Duration;

const LEFT_OUT: [&str; 2] = ["mcp__git__log", "mcp__git__push"];

fn policy() -> Policy {
    Policy { tools: ToolRule { deny: vec!["mcp__git__*".into()], allow: Vec::new() }, ..Policy::default() }
}

fn body(turns: usize) -> Vec<u8> {
    let tools = ["Read", LEFT_OUT[0], "restore", LEFT_OUT[1]];
    let tools = tools.map(|name| json!({ "name": name, "input_schema": { "type": "object" } }));
    let mut messages = vec![json!({ "role": "user", "content": "Please do the work." })];
    for turn in 0..turns {
        messages.push(json!({ "role": "assistant", "content": format!("Step {turn}.") }));
        messages.push(json!({ "role": "user", "content": format!("Then step {}.", turn + 1) }));
    }
    json!({ "model": OLDER, "max_tokens": 9, "messages": messages, "tools": tools }).to_string().into_bytes()
}

fn offered(arrived: &[u8]) -> Vec<String> {
    let body: Value = serde_json::from_slice(arrived).unwrap();
    let tools = body["tools"].as_array().unwrap().iter();
    tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

fn sent(machine: &Machine, turns: usize) -> Vec<u8> {
    machine.advance(Duration::from_secs(20));
    machine.turn(0, "s", &body(turns)).request.body
}

#[test]
fn the_names_of_tools_that_were_left_out_are_told_everywhere() {
    let mut machine = Machine::new(Settings::of(policy()), 1);
    assert_eq!(offered(&sent(&machine, 0)), ["Read", "restore"]);
    // Done again after a restart and switched off, they are told again.
    machine.restart();
    machine.set(Settings::of(Policy { profile: Profile::Faithful, ..Policy::default() }));
    assert_eq!(offered(&sent(&machine, 1)), ["Read", "restore"]);
    let records = machine.records(2);
    for record in &records {
        for action in &record.levers {
            let expected: &[&str] = if action.lever == "prune-tools" { &LEFT_OUT } else { &[] };
            assert_eq!(action.names, expected, "{action:?}");
        }
        let page = machine.page(&format!("/deadweight/request/{}", record.id), "left out: ");
        assert!(LEFT_OUT.iter().all(|name| page.contains(name)), "{page}");
    }
    let report = machine.page("/deadweight/v1/context?session=s", "\"left_out\"");
    let (_, report) = report.split_once("\r\n\r\n").unwrap();
    let report: Value = serde_json::from_str(report).unwrap();
    let levers = report["levers"].as_array().unwrap();
    let prune = levers.iter().find(|own| own["name"] == "prune-tools").unwrap();
    assert_eq!(prune["left_out"], json!(LEFT_OUT));
    machine.stop();
    let file = machine.folder.path().join("ledger.sqlite");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut out = Vec::new();
    runtime.block_on(async {
        let mut ledger = Ledger::open(&file).await.unwrap().unwrap();
        let export = Export { table: Table::Levers, form: Form::JsonLines, which: Which::default() };
        ledger.export(&export, &mut out).await.unwrap();
    });
    let lines = String::from_utf8(out).unwrap();
    let names: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|line| line["lever"] == "prune-tools")
        .map(|line| line["names"].clone())
        .collect();
    assert_eq!(names, [json!(LEFT_OUT), json!(LEFT_OUT)]);
}

#[test]
fn what_the_provider_did_not_take_was_not_left_out() {
    let machine = Machine::new(Settings::of(policy()), 1);
    let error = json!({ "type": "error", "error": { "type": "invalid_request_error", "message": "no" } });
    machine.say(Response::json(400, &error));
    let headers = [("x-claude-code-session-id", "s"), ("x-api-key", "sk-ant-api03-test")];
    assert_eq!(machine.post(0, "/v1/messages", &headers, &body(0)).status, 200);
    let arrived = machine.provider.take_exchanges();
    assert_eq!((arrived.len(), &arrived[1].request.body), (2, &body(0)));
    let record = machine.records(1).pop().unwrap();
    let prune = record.levers.iter().find(|own| own.lever == "prune-tools").unwrap();
    assert_eq!((prune.reason.as_str(), prune.names.len()), ("refused", 0));
}
