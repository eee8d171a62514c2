//! Breakpoints for an hour, for those who ask for them: decided once, when the pauses of a conversation have shown that it
//! pays, and kept.

use super::faults::{OLDER, long};
use super::machine::Machine;
use deadweight_gateway::edit::Settings;
use deadweight_levers::{Lever, Policy, Profile};
use deadweight_testkit::strict::Exchange;
use serde_json::{Value, json};
use std::time::Duration;

const MINUTE: u64 = 60;

fn policy(hours: bool) -> Policy {
    let switches = [(Lever::PlaceBreakpoints, true)].into();
    Policy { profile: Profile::Faithful, switches, hour_breakpoints: hours, ..Policy::default() }
}

/// A conversation of so many turns, of a client that sets no breakpoints.
fn body(turns: usize) -> Vec<u8> {
    let mut messages = vec![json!({ "role": "user", "content": long(0) })];
    for turn in 0..turns {
        messages.push(json!({ "role": "assistant", "content": "Yes?" }));
        messages.push(json!({ "role": "user", "content": format!("{turn}: go on") }));
    }
    let tools = json!([{ "name": "restore", "input_schema": { "type": "object" } }]);
    json!({ "model": OLDER, "max_tokens": 9, "messages": messages, "tools": tools, "system": "s" })
        .to_string()
        .into_bytes()
}

/// So many seconds later the next turn is sent.
fn turn(machine: &Machine, turns: usize, pause: u64) -> Exchange {
    machine.advance(Duration::from_secs(pause));
    let exchange = machine.turn(0, "s", &body(turns));
    assert!(exchange.verdict.accepted().is_some());
    exchange
}

/// For how long the markers of a request are, one after the other: `None` where they do not say.
fn times(exchange: &Exchange) -> Vec<Option<String>> {
    fn look(value: &Value, found: &mut Vec<Option<String>>) {
        match value {
            Value::Object(members) => {
                if let Some(mark) = members.get("cache_control") {
                    found.push(mark["ttl"].as_str().map(str::to_owned));
                }
                members.values().for_each(|own| look(own, found));
            }
            Value::Array(items) => items.iter().for_each(|own| look(own, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    look(&serde_json::from_slice(&exchange.request.body).unwrap(), &mut found);
    found
}

fn is_for_hour(exchange: &Exchange) -> bool {
    let times = times(exchange);
    assert!(!times.is_empty());
    let hours = times.iter().filter(|own| own.as_deref() == Some("1h")).count();
    assert!(hours == 0 || hours == times.len(), "all of them or none: {times:?}");
    hours > 0
}

#[test]
fn it_is_decided_once_and_kept() {
    let mut machine = Machine::new(Settings::of(policy(true)), 1);
    assert!(!is_for_hour(&turn(&machine, 0, 0)));
    assert!(!is_for_hour(&turn(&machine, 1, MINUTE)));
    assert!(!is_for_hour(&turn(&machine, 2, 20 * MINUTE)), "one pause may be the only one");
    let upgraded = turn(&machine, 3, 20 * MINUTE);
    assert!(is_for_hour(&upgraded));
    let usage = upgraded.bill.unwrap().usage;
    assert!(usage.write_1h > 0 && usage.write_5m == 0, "{usage:?}");
    // From now on pauses cost nothing more.
    for (turns, pause) in [(4, 50 * MINUTE), (5, 20 * MINUTE)] {
        let next = turn(&machine, turns, pause);
        assert!(is_for_hour(&next) && next.bill.unwrap().usage.read > 1_000);
    }
    // Not to and fro: short turns, a restart, a crash, a retry, other settings.
    assert!((6..20).all(|turns| is_for_hour(&turn(&machine, turns, 10))));
    machine.restart();
    assert!(is_for_hour(&turn(&machine, 20, MINUTE)));
    machine.crash();
    assert!(is_for_hour(&turn(&machine, 20, MINUTE)));
    machine.set(Settings::of(policy(false)));
    assert!(is_for_hour(&turn(&machine, 21, MINUTE)));
    // Another conversation decides for itself.
    let other = machine.turn(0, "other", &body(0));
    assert!(!is_for_hour(&other));
}

#[test]
fn it_is_asked_for_and_pays() {
    let spent = |hours: bool| {
        let machine = Machine::new(Settings::of(policy(hours)), 1);
        let all = (0..12).map(|turns| turn(&machine, turns, 15 * MINUTE).bill.unwrap().nanos);
        all.sum::<u64>()
    };
    let (without, with) = (spent(false), spent(true));
    assert!(with * 10 < without * 6, "{with} {without}");
    let machine = Machine::new(Settings::of(policy(false)), 1);
    assert!((0..6).all(|turns| !is_for_hour(&turn(&machine, turns, 15 * MINUTE))));
    // Where it is cached for longer than that, or is gone in any case, it never pays.
    for pause in [MINUTE, 120 * MINUTE] {
        let machine = Machine::new(Settings::of(policy(true)), 1);
        assert!((0..6).all(|turns| !is_for_hour(&turn(&machine, turns, pause))));
    }
    // What cannot be written down is not decided.
    let machine = Machine::new(Settings { keeps_decisions: false, ..Settings::of(policy(true)) }, 1);
    assert!((0..6).all(|turns| !is_for_hour(&turn(&machine, turns, 15 * MINUTE))));
}

#[test]
fn what_is_cached_for_an_hour_is_not_cold_after_eleven_minutes() {
    let run = |hours: bool| {
        let mut machine = Machine::new(Settings::of(policy(hours)), 1);
        (0..4).for_each(|turns| drop(turn(&machine, turns, 9 * MINUTE)));
        let mut policy = policy(hours);
        policy.switches.insert(Lever::Dedup, true);
        policy.switches.insert(Lever::ElideResults, true);
        machine.set(Settings::of(policy));
        turn(&machine, 4, 11 * MINUTE);
        machine.stop();
        let records = machine.records(5);
        let elide = records[4].levers.iter().find(|own| own.lever == "elide-results").unwrap();
        elide.reason.clone()
    };
    assert_eq!(run(true), "not_cold");
    assert_ne!(run(false), "not_cold");
}
