//! What is said of levers, and what goes out: nothing is changed where nothing may be, and what was changed stays so.

use super::faults::{OLDER, body, long, result};
use super::machine::Machine;
use deadweight_gateway::Provider;
use deadweight_gateway::edit::Settings;
use deadweight_levers::{Lever, Policy, Profile};
use std::io::Write;
use std::time::Duration;

const BINDING: &str = "claude-opus-5-5";

fn faithful() -> Policy {
    Policy { profile: Profile::Faithful, ..Policy::default() }
}

fn sent(machine: &Machine, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    machine.advance(Duration::from_secs(20));
    let reply = machine.post(0, "/v1/messages", headers, body);
    assert_eq!(reply.status, 200, "{}", String::from_utf8_lossy(&reply.body));
    machine.provider.take_exchanges().pop().unwrap().request.body
}

/// Sends two turns; whether the second was changed.
fn changes(settings: Settings, model: &str, headers: &[(&str, &str)]) -> bool {
    let machine = Machine::new(settings, 1);
    let all = [headers, &[("x-claude-code-session-id", "s")]].concat();
    assert_eq!(sent(&machine, &all, &body(model, 1)), body(model, 1));
    sent(&machine, &all, &body(model, 2)) != body(model, 2)
}

#[test]
fn who_may_be_changed() {
    let key = [("x-api-key", "sk-ant-api03-test")];
    let oauth = [("authorization", "Bearer sk-ant-oat01-test")];
    let default = || Settings::of(Policy::default());
    assert!(changes(default(), OLDER, &key));
    assert!(!changes(default(), OLDER, &oauth));
    assert!(changes(Settings::of(Policy { edit_subscription: true, ..Policy::default() }), OLDER, &oauth));
    assert!(!changes(default(), OLDER, &[("content-digest", "sha-256=:x:")]));
    assert!(!changes(Settings::of(faithful()), OLDER, &key));
    assert!(!changes(Settings { holdout: 10_000, ..default() }, OLDER, &key));
    assert!(!changes(Settings { routes: vec![(Provider::Anthropic, faithful())], ..default() }, OLDER, &key));
    assert!(changes(Settings { routes: vec![(Provider::OpenAi, faithful())], ..default() }, OLDER, &key));
    assert!(!changes(default(), BINDING, &key));
    assert!(changes(Settings::of(Policy { edit_bound: true, ..Policy::default() }), BINDING, &key));
}

#[test]
fn what_was_changed_stays_so_when_levers_are_off() {
    let mut machine = Machine::new(Settings::of(Policy::default()), 1);
    let key = [("x-api-key", "sk-ant-api03-test"), ("x-claude-code-session-id", "s")];
    sent(&machine, &key, &body(OLDER, 1));
    let pointer = result(&sent(&machine, &key, &body(OLDER, 2)), 1);
    machine.set(Settings::of(faithful()));
    for _ in 0..2 {
        let out = sent(&machine, &key, &body(OLDER, 3));
        assert_eq!((result(&out, 1), result(&out, 2)), (pointer.clone(), long(1)));
        machine.restart();
    }
    // So it does where nothing more is written down.
    machine.set(Settings { keeps_decisions: false, ..Settings::of(Policy::default()) });
    let out = sent(&machine, &key, &body(OLDER, 4));
    assert_eq!((result(&out, 1), result(&out, 3)), (pointer, long(1)));
}

#[test]
fn a_body_that_was_compressed_goes_out_plain_and_only_where_it_is_changed() {
    let mut machine = Machine::new(Settings::of(Policy::default()), 1);
    let gzip = |body: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(body).unwrap();
        encoder.finish().unwrap()
    };
    let headers = [("content-encoding", "gzip"), ("x-api-key", "k"), ("x-claude-code-session-id", "s")];
    // What is not changed goes as it came: compressed, which this provider does not read.
    let reply = machine.post(0, "/v1/messages", &headers, &gzip(&body(OLDER, 1)));
    assert_eq!(reply.status, 400);
    let first = machine.provider.take_exchanges().pop().unwrap().request;
    assert_eq!(
        (first.body.as_slice(), first.header("content-encoding")),
        (&gzip(&body(OLDER, 1))[..], Some("gzip"))
    );
    let reply = machine.post(0, "/v1/messages", &headers, &gzip(&body(OLDER, 2)));
    assert_eq!(reply.status, 200);
    let second = machine.provider.take_exchanges().pop().unwrap().request;
    assert_eq!(second.header("content-encoding"), None);
    assert_eq!(second.header("content-length").unwrap(), second.body.len().to_string());
    assert!(result(&second.body, 1).len() < 500);
    machine.stop();
}

#[test]
fn the_record_tells_what_was_done() {
    let machine = Machine::new(Settings::of(Policy::default()), 1);
    let key = [("x-api-key", "sk-ant-api03-test"), ("x-claude-code-session-id", "s")];
    (1..4).for_each(|turns| drop(sent(&machine, &key, &body(OLDER, turns))));
    let records = machine.records(3);
    let action =
        |at: usize, lever: &str| records[at].levers.iter().find(|own| own.lever == lever).unwrap().clone();
    assert!(!records[0].receipt.changed() && action(0, "passthrough").reason == "passed");
    assert_eq!(action(0, "prune-tools").reason, "no_policy");
    let dedup = action(1, "dedup");
    assert!(dedup.edited && dedup.splices == 1 && dedup.bytes > 10_000, "{dedup:?}");
    assert_eq!((dedup.decided, dedup.replayed), (1, 0));
    assert_eq!((action(2, "dedup").decided, action(2, "dedup").replayed), (1, 1));
    // The places explain the difference, and the footprint is that of the body before any lever.
    let receipt = &records[2].receipt;
    let moved: i64 = receipt.splices.iter().map(|own| own.removed as i64 - own.inserted as i64).sum();
    assert_eq!(receipt.received_bytes as i64 - receipt.sent_bytes as i64, moved);
    assert_ne!(receipt.received_sha256, receipt.sent_sha256);
    let footprint = records[2].footprint.as_ref().unwrap();
    assert!(footprint.history.content_bytes + footprint.tail.content_bytes > 3 * long(1).len() as u64);
    let metrics = machine.gateway(0).watching().metrics.text(0, 0);
    assert!(metrics.contains("deadweight_bodies_total{changed=\"yes\"} 2"), "{metrics}");
    assert!(Lever::of_name(&dedup.lever).is_some());
}
