//! What becomes of the provider's cache is told of what was sent to it; what the client did, and what that would have cost,
//! beside that.

use super::faults::{OLDER, long};
use super::machine::Machine;
use deadweight_gateway::edit::Settings;
use deadweight_levers::{Lever, Policy, Profile};
use deadweight_store::CacheWatch;
use deadweight_testkit::sessions::tool;
use serde_json::{Value, json};
use std::time::Duration;

/// A conversation of so many reads of different files, the first six with so long a result; `marks`: with the client's own
/// markers.
fn body(turns: usize, bytes: usize, marks: bool) -> Value {
    let mut messages =
        vec![json!({ "role": "user", "content": [{ "type": "text", "text": "Please port the parser." }] })];
    for turn in 0..turns {
        let id = format!("toolu_{turn}");
        let bytes = if turn < 6 { bytes } else { 500 };
        let mut text = long(turn).repeat(bytes / 10_000 + 1);
        text.truncate(bytes);
        messages.push(json!({ "role": "assistant", "content": [
            { "type": "tool_use", "id": id, "name": "Read", "input": { "file_path": format!("src/{turn}.rs") } }
        ]}));
        messages.push(json!({ "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": id, "content": text }
        ]}));
    }
    let tools = ["Read", "Bash", "restore"].map(|name| tool(name, 1, 3_000));
    let mut body = json!({ "model": OLDER, "max_tokens": 9, "messages": messages, "tools": tools,
        "system": [{ "type": "text", "text": "Be short." }] });
    if marks {
        let mark = json!({ "type": "ephemeral" });
        body["system"][0]["cache_control"] = mark.clone();
        let last = body["messages"].as_array_mut().unwrap().last_mut().unwrap();
        last["content"].as_array_mut().unwrap().last_mut().unwrap()["cache_control"] = mark;
    }
    body
}

fn reordered(mut body: Value) -> Value {
    body["tools"].as_array_mut().unwrap().reverse();
    body
}

fn only(levers: &[Lever]) -> Settings {
    let mut policy = Policy { profile: Profile::Faithful, ..Policy::default() };
    policy.switches.extend(levers.iter().map(|lever| (*lever, true)));
    Settings::of(policy)
}

fn sent(machine: &Machine, body: &Value) -> Vec<u8> {
    machine.advance(Duration::from_secs(20));
    machine.turn(0, "s", body.to_string().as_bytes()).request.body
}

fn caches(machine: &Machine, requests: usize) -> Vec<CacheWatch> {
    machine.records(requests).iter().map(|record| record.cache.clone().unwrap()).collect()
}

#[test]
fn tools_that_the_client_reorders_and_a_lever_steadies_lose_nothing() {
    let mut machine = Machine::new(only(&[Lever::SteadyPrefix]), 1);
    for turns in 0..2 {
        sent(&machine, &body(turns, 600, true));
    }
    let other = reordered(body(2, 600, true));
    assert_ne!(sent(&machine, &other), other.to_string().into_bytes());
    machine.restart();
    sent(&machine, &reordered(body(3, 600, true)));
    sent(&machine, &body(4, 600, true));
    let caches = caches(&machine, 5);
    let told = |cache: &CacheWatch| (cache.class.clone(), cache.lost_tokens, cache.agrees);
    for cache in &caches[1..] {
        assert_eq!(told(cache), ("append".to_owned(), 0, Some(true)), "{caches:#?}");
    }
    // What the client did twice, and what it did not do in between.
    for (at, reorders) in [(1, false), (2, true), (3, false), (4, true)] {
        let received = caches[at].received.as_ref();
        assert_eq!(received.map(|own| own.class.as_str()), reorders.then_some("tool_order"), "{at}");
        assert!(received.is_none_or(|own| own.lost_tokens > 2_000 && own.lost_nano.is_some()));
    }
    let id = machine.records(5)[2].id.clone();
    let page = machine.page(&format!("/deadweight/request/{id}"), "What the client sent");
    assert!(page.contains("<b>tools reordered</b>") && page.contains("levers prevented that."), "{page}");
}

#[test]
fn what_a_lever_cuts_at_a_cold_start_is_told_as_its_doing_and_goes_on_from_there() {
    let mut machine = Machine::new(only(&[Lever::ElideResults]), 1);
    for turns in 0..6 {
        sent(&machine, &body(turns, 20_000, true));
    }
    machine.advance(Duration::from_secs(8_000));
    let cold = body(6, 20_000, true);
    assert!(sent(&machine, &cold).len() + 30_000 < cold.to_string().len());
    sent(&machine, &body(7, 20_000, true));
    machine.restart();
    sent(&machine, &body(8, 20_000, true));
    machine.crash();
    sent(&machine, &body(9, 20_000, true));
    machine.stop();
    let caches = caches(&machine, 10);
    let cut = &caches[6];
    assert_eq!((cut.class.as_str(), cut.also.as_slice()), ("ttl_lapse", &["edited".to_owned()][..]));
    let received = cut.received.as_ref().unwrap();
    assert_eq!((received.class.as_str(), received.also.len()), ("ttl_lapse", 0));
    for cache in caches[1..6].iter().chain(&caches[7..9]) {
        assert_eq!((cache.class.as_str(), cache.lost_tokens), ("append", 0), "{caches:#?}");
        assert_eq!((cache.agrees, cache.received.as_ref()), (Some(true), None), "{caches:#?}");
    }
}

#[test]
fn what_breakpoints_of_ours_keep_is_told() {
    let machine = Machine::new(only(&[Lever::PlaceBreakpoints]), 1);
    for turns in 0..4 {
        sent(&machine, &body(turns, 4_000, false));
    }
    for cache in &caches(&machine, 4)[1..] {
        assert_eq!((cache.class.as_str(), cache.lost_tokens, cache.agrees), ("append", 0, Some(true)));
        assert!(cache.kept_tokens > 2_000, "{cache:?}");
    }
}
