//! `elide-results` at the first send, for those who ask for it: cut once and for ever, with a way back.

use super::faults::OLDER;
use super::machine::Machine;
use deadweight_gateway::edit::Settings;
use deadweight_levers::{Lever, Policy, Profile};
use deadweight_testkit::sessions::BINDING;
use serde_json::{Value, json};
use std::time::Duration;

fn settings(policy: Policy) -> Settings {
    let switches = [(Lever::ElideResults, true)].into();
    Settings::of(Policy { profile: Profile::Faithful, switches, elide_at_first_send: true, ..policy })
}

/// A result of some 20 KB, another one for each number.
fn large(number: usize) -> String {
    (0..500).map(|line| format!("{number}: this is line {line} of a long answer\n")).collect()
}

/// A conversation in which each of these tools was called once, and what it answered.
fn body(model: &str, calls: &[(&str, String)]) -> Vec<u8> {
    let mut messages = vec![json!({ "role": "user", "content": "Please do the work." })];
    for (number, (name, answer)) in calls.iter().enumerate() {
        let id = format!("toolu_{number}");
        messages.push(json!({ "role": "assistant", "content": [
            { "type": "tool_use", "id": id, "name": name, "input": { "n": number } }
        ]}));
        messages.push(json!({ "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": id, "content": answer, "cache_control": { "type": "ephemeral" } }
        ]}));
    }
    // The client's marker moves with the end.
    let end = messages.len() - 1;
    for message in &mut messages[..end] {
        if let Some(block) = message["content"].get_mut(0).and_then(Value::as_object_mut) {
            block.remove("cache_control");
        }
    }
    let tools = ["Bash", "restore"].map(|name| json!({ "name": name, "input_schema": { "type": "object" } }));
    json!({ "model": model, "max_tokens": 9, "messages": messages, "tools": tools, "system": "s" })
        .to_string()
        .into_bytes()
}

/// The texts of the results, as they arrived.
fn results(arrived: &[u8]) -> Vec<String> {
    let body: Value = serde_json::from_slice(arrived).unwrap();
    let messages = body["messages"].as_array().unwrap().iter().skip(2).step_by(2);
    messages.map(|message| message["content"][0]["content"].as_str().unwrap().to_owned()).collect()
}

fn sent(machine: &Machine, body: &[u8]) -> Vec<String> {
    machine.advance(Duration::from_secs(20));
    let exchange = machine.turn(0, "s", body);
    let accepted = exchange.verdict.accepted().unwrap();
    assert_eq!(accepted.dropped().count(), 0);
    results(&exchange.request.body)
}

#[test]
fn what_is_large_is_cut_when_it_is_first_sent_and_can_be_had_back() {
    let mut machine = Machine::new(settings(Policy::default()), 1);
    let mut calls = vec![("Bash", large(0)), ("Bash", "short".to_owned())];
    sent(&machine, &body(OLDER, &[]));
    let first = sent(&machine, &body(OLDER, &calls[..1]));
    assert!(first[0].len() < 8_000 && first[0].starts_with("0: this is line 0 of"), "{}", first[0]);
    let kept = machine.kept.0.lock().unwrap().clone();
    let (id, text) = kept.iter().next().unwrap();
    assert_eq!((kept.len(), text), (1, &large(0)));
    assert!(first[0].contains(&format!("call restore with the id {id}.")), "{}", first[0]);
    // What is cut is not cut again, wherever it comes from; what was given back is not cut at all.
    calls.push(("Bash", first[0].clone()));
    calls.push(("restore", large(0)));
    calls.push(("Bash", large(1)));
    for length in 2..=calls.len() {
        let now = sent(&machine, &body(OLDER, &calls[..length]));
        assert_eq!(now[0], first[0], "it is sent so for ever");
        for (own, (_, text)) in now.iter().zip(&calls).skip(1).take(3) {
            assert_eq!(own, text);
        }
        assert!(now.get(4).is_none_or(|own| own.len() < 8_000 && own.starts_with("1: ")));
    }
    assert_eq!(
        machine.readable(&["this is line 0 of", "call restore with the id", id]),
        Vec::<String>::new()
    );
    // Also after a restart, a crash, and where nothing is decided any more; what is new then goes as it comes.
    machine.restart();
    machine.set(Settings::of(Policy { profile: Profile::Faithful, ..Policy::default() }));
    calls.push(("Bash", large(2)));
    let now = sent(&machine, &body(OLDER, &calls));
    assert_eq!((&now[0], now[4].len() < 8_000, &now[5]), (&first[0], true, &large(2)));
    machine.stop();
    let records = machine.records(7);
    let fired = records.iter().flat_map(|own| &own.levers).filter(|own| own.lever == "elide-results");
    let decided: Vec<u64> = fired.map(|own| own.decided).collect();
    assert_eq!(decided, [0, 1, 0, 0, 0, 1, 0]);
    assert!(machine.noted("edit_refused").is_empty());
}

#[test]
fn what_is_cached_reads_on() {
    let machine = Machine::new(settings(Policy::default()), 1);
    let calls: Vec<_> = (0..4).map(|number| ("Bash", large(number))).collect();
    sent(&machine, &body(OLDER, &[]));
    let mut read = Vec::new();
    for length in 1..=calls.len() {
        machine.advance(Duration::from_secs(20));
        let exchange = machine.turn(0, "s", &body(OLDER, &calls[..length]));
        let usage = exchange.bill.unwrap().usage;
        read.push(usage.read);
        assert!(usage.prompt() < 2_000 * length as u64 + 200, "{usage:?}");
    }
    assert!(read[1] > 1_000 && read.windows(2).all(|two| two[0] < two[1]), "{read:?}");
}

#[test]
fn nothing_is_cut_without_a_way_back_without_the_opt_in_or_on_models_that_bind() {
    let calls = [("Bash", large(0))];
    let late = Policy { elide_at_first_send: false, ..settings(Policy::default()).policy };
    for (settings, model) in [
        (Settings::of(late), OLDER),
        (settings(Policy::default()), BINDING),
        (Settings { keeps_decisions: false, ..settings(Policy::default()) }, OLDER),
    ] {
        let machine = Machine::new(settings, 1);
        sent(&machine, &body(model, &[]));
        assert_eq!(sent(&machine, &body(model, &calls)), [large(0)]);
    }
    let machine = Machine::new(settings(Policy::default()), 1);
    let without = String::from_utf8(body(OLDER, &calls)).unwrap().replace("\"restore\"", "\"other\"");
    assert_eq!(sent(&machine, without.as_bytes()), [large(0)]);
    let bound = Machine::new(settings(Policy { edit_bound: true, ..Policy::default() }), 1);
    sent(&bound, &body(BINDING, &[]));
    assert!(sent(&bound, &body(BINDING, &calls))[0].len() < 8_000);
}
