//! What a provider does not take goes to the client as it came, and is not tried again.

use super::faults::{OLDER, body, long, result};
use super::machine::Machine;
use deadweight_gateway::edit::Settings;
use deadweight_levers::Policy;
use deadweight_testkit::upstream::{Response, Turn};
use serde_json::json;
use std::time::Duration;

const REFUSAL: &str =
    "messages.4.content.0: `tool_use` ids were found without `tool_result` blocks immediately after: x.";

fn refusal() -> Response {
    Response::json(
        400,
        &json!({ "type": "error", "error": { "type": "invalid_request_error", "message": REFUSAL } }),
    )
}

fn machine() -> Machine {
    Machine::new(Settings::of(Policy::default()), 1)
}

fn post(machine: &Machine, turns: usize) -> (u16, Vec<u8>, Vec<Vec<u8>>) {
    machine.advance(Duration::from_secs(20));
    let headers = [("x-claude-code-session-id", "s"), ("x-api-key", "sk-ant-api03-test")];
    let reply = machine.post(0, "/v1/messages", &headers, &body(OLDER, turns));
    let arrived = machine.provider.take_exchanges().into_iter().map(|own| own.request.body).collect();
    (reply.status, reply.body, arrived)
}

#[test]
fn the_original_is_sent_once_and_the_lever_rests() {
    let mut machine = machine();
    post(&machine, 1);
    machine.say(refusal());
    machine.say(Turn::text("yes"));
    let (status, _, arrived) = post(&machine, 2);
    assert_eq!((status, arrived.len()), (200, 2));
    assert!(result(&arrived[0], 1).len() < 500);
    assert_eq!(arrived[1], body(OLDER, 2));
    let notes = machine.noted("edit_refused");
    assert_eq!(notes.len(), 1);
    let field = |name| notes[0].fields.iter().find(|(own, _)| *own == name).unwrap().1.clone();
    assert_eq!((field("levers"), field("rule")), ("dedup".to_owned(), "tool_pairing".to_owned()));
    assert_eq!(field("place"), "messages.4.content.0");
    // What was sent as it came stays so, the lever rests, also after a restart; a session begun later too.
    for _ in 0..2 {
        assert_eq!(post(&machine, 3).2, [body(OLDER, 3)]);
        machine.restart();
    }
    let record = machine.records(3)[1].clone();
    assert!(!record.receipt.changed() && record.receipt.received_sha256 == record.receipt.sent_sha256);
    let dedup = record.levers.iter().find(|own| own.lever == "dedup").unwrap();
    assert_eq!((dedup.edited, dedup.reason.as_str()), (false, "refused"));
    // A week later it is tried again.
    machine.advance(Duration::from_secs(8 * 86_400));
    let out = post(&machine, 4).2;
    assert!(result(&out[0], 4 - 1).len() < 500);
}

#[test]
fn a_refusal_that_is_not_the_levers_fault_passes_and_nothing_rests() {
    let machine = machine();
    post(&machine, 1);
    machine.say(refusal());
    machine.say(refusal());
    let (status, answer, arrived) = post(&machine, 2);
    assert_eq!((status, arrived.len()), (400, 2));
    let answer = String::from_utf8(answer).unwrap();
    assert!(answer.contains(REFUSAL), "{answer}");
    assert!(machine.noted("edit_refused").is_empty());
    let out = post(&machine, 3).2;
    assert_eq!(result(&out[0], 1), long(1));
    assert!(result(&out[0], 2).len() < 500);
}

#[test]
fn where_something_was_changed_before_the_refusal_passes_as_it_came() {
    let machine = machine();
    post(&machine, 1);
    let pointer = result(&post(&machine, 2).2[0], 1);
    machine.say(refusal());
    let (status, answer, arrived) = post(&machine, 3);
    assert_eq!((status, arrived.len()), (400, 1));
    assert!(String::from_utf8(answer).unwrap().contains(REFUSAL));
    assert!(result(&arrived[0], 2).len() < 500);
    // What the provider never took is taken back; what it took is done again.
    let (status, _, arrived) = post(&machine, 3);
    assert_eq!(status, 200);
    assert_eq!((result(&arrived[0], 1), result(&arrived[0], 2)), (pointer, long(1)));
    assert_eq!(machine.noted("edit_refused").len(), 1);
}

#[test]
fn what_is_overloaded_is_no_refusal() {
    let machine = machine();
    post(&machine, 1);
    machine.say(Response::json(529, &json!({ "type": "error", "error": { "type": "overloaded_error" } })));
    let (status, _, first) = post(&machine, 2);
    let (again, _, second) = post(&machine, 2);
    assert_eq!((status, again), (529, 200));
    assert_eq!(first, second);
    assert!(machine.noted("edit_refused").is_empty());
}
