//! What was decided for one conversation is nothing to another, however alike they begin.

use super::faults::OLDER;
use super::machine::Machine;
use deadweight_gateway::edit::Settings;
use deadweight_levers::{Policy, Profile, ToolRule};
use serde_json::{Value, json};
use std::time::Duration;

fn denying() -> Settings {
    let tools = ToolRule { deny: vec!["WebSearch".into()], allow: Vec::new() };
    Settings::of(Policy { tools, ..Policy::default() })
}

fn body(turns: usize) -> Vec<u8> {
    let tools = ["Read", "WebSearch"];
    let tools = tools.map(|name| json!({ "name": name, "input_schema": { "type": "object" } }));
    let mut messages = vec![json!({ "role": "user", "content": "go" })];
    for turn in 0..turns {
        messages.push(json!({ "role": "assistant", "content": format!("Step {turn}.") }));
        messages.push(json!({ "role": "user", "content": format!("Then step {}.", turn + 1) }));
    }
    json!({ "model": OLDER, "max_tokens": 9, "messages": messages, "tools": tools }).to_string().into_bytes()
}

fn offered(machine: &Machine, session: &str, turns: usize) -> usize {
    machine.advance(Duration::from_secs(20));
    let arrived: Value =
        serde_json::from_slice(&machine.turn(0, session, &body(turns)).request.body).unwrap();
    arrived["tools"].as_array().unwrap().len()
}

#[test]
fn a_session_that_begins_as_another_did_is_its_own() {
    let mut machine = Machine::new(denying(), 1);
    assert_eq!(offered(&machine, "one", 0), 1);
    assert_eq!(offered(&machine, "one", 1), 1);
    for other in [Settings::of(Policy::default()), Settings { holdout: 10_000, ..denying() }] {
        machine.restart();
        machine.set(other.clone());
        let session = format!("other {}", other.holdout);
        assert_eq!(offered(&machine, &session, 0), 2, "{session}");
        assert_eq!(offered(&machine, "one", 2), 1, "what was sent so goes on so");
    }
}

#[test]
fn a_rule_that_comes_later_holds_for_what_begins_later() {
    let mut machine = Machine::new(Settings::of(Policy::default()), 1);
    assert_eq!(offered(&machine, "one", 0), 2);
    machine.set(denying());
    assert_eq!(offered(&machine, "one", 1), 2, "what was sent so goes on so");
    assert_eq!(offered(&machine, "two", 0), 1);
}

/// Nobody has decided anything about it, and what was sent of it is cached as it was.
#[test]
fn a_conversation_that_began_without_levers_keeps_its_tools() {
    let faithful = || Settings::of(Policy { profile: Profile::Faithful, ..denying().policy });
    let mut machine = Machine::new(faithful(), 1);
    assert_eq!(offered(&machine, "one", 0), 2);
    assert_eq!(offered(&machine, "one", 1), 2);
    machine.restart();
    machine.set(denying());
    assert_eq!(offered(&machine, "one", 2), 2);
    // One of which tools were left out goes on without them, though the journal is gone.
    assert_eq!(offered(&machine, "two", 0), 1);
    machine.records(4);
    machine.lose_journal();
    assert_eq!(offered(&machine, "two", 1), 1);
}
