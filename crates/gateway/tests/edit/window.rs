//! A window that is nearly full: where the user asks for it a history is compacted while it is cached, if that pays by the
//! prices that money is counted by; else the record says why not, and when it would have paid.

use super::faults::{OLDER, long};
use super::machine::Machine;
use deadweight_gateway::edit::Settings;
use deadweight_levers::{Lever, Policy, Profile};
use deadweight_price::{Book, Entry, Rate};
use deadweight_store::LeverAction;
use serde_json::{Value, json};
use std::time::Duration;

/// So many calls, each with a result of 6,000 bytes, with the client's own cache markers.
fn body(turns: usize) -> Vec<u8> {
    grown(turns, turns)
}

/// The same with short results from a turn on.
fn grown(turns: usize, large: usize) -> Vec<u8> {
    let mark = json!({ "type": "ephemeral" });
    let mut messages =
        vec![json!({ "role": "user", "content": [{ "type": "text", "text": "Please port the parser." }] })];
    for turn in 0..turns {
        let id = format!("toolu_{turn}");
        let bytes = if turn < large { 6_000 } else { 60 };
        messages.push(json!({ "role": "assistant", "content": [
            { "type": "tool_use", "id": id, "name": "Read", "input": { "file_path": format!("src/{turn}.rs") } }
        ]}));
        messages.push(json!({ "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": id, "content": long(turn)[..bytes].to_owned() }
        ]}));
    }
    let last = messages.last_mut().unwrap()["content"].as_array_mut().unwrap().last_mut().unwrap();
    last["cache_control"] = mark.clone();
    let tools = ["Read", "restore"].map(|name| json!({ "name": name, "input_schema": { "type": "object" } }));
    let body = json!({ "model": OLDER, "max_tokens": 9, "messages": messages, "tools": tools,
        "system": [{ "type": "text", "text": "s", "cache_control": mark }] });
    body.to_string().into_bytes()
}

fn settings(when_full: bool) -> Settings {
    let mut policy = Policy { profile: Profile::Faithful, compact_when_full: when_full, ..Policy::default() };
    policy.switches.insert(Lever::CompactHistory, true);
    Settings::of(policy)
}

/// A user's own prices of the model, with this price of a cache read and this window.
fn book(read: &str, window: Option<u64>) -> Book {
    let rate = |text: &str| Rate::from_usd_per_million(text).unwrap();
    let own = Entry::of_user(
        OLDER.to_owned(),
        rate("5"),
        rate("25"),
        Some(rate(read)),
        Some(rate("6.25")),
        "your settings".to_owned(),
    );
    Book::with(vec![Entry { context: window, ..own }])
}

const WINDOW: u64 = 50_000;

struct Sent {
    body: Vec<u8>,
    nanos: u64,
}

fn sent(machine: &Machine, body: &[u8]) -> Sent {
    machine.advance(Duration::from_secs(20));
    let own = machine.turn(0, "s", body);
    Sent { body: own.request.body, nanos: own.bill.unwrap().nanos }
}

/// What the lever did to each request.
fn actions(machine: &Machine, requests: usize) -> Vec<LeverAction> {
    let of = |record: &deadweight_store::Exchange| {
        record.levers.iter().find(|own| own.lever == "compact-history").unwrap().clone()
    };
    machine.records(requests).iter().map(of).collect()
}

fn messages(body: &[u8]) -> Vec<Value> {
    serde_json::from_slice::<Value>(body).unwrap()["messages"].as_array().unwrap().clone()
}

#[test]
fn a_full_window_is_compacted_while_it_is_cached_where_that_pays_and_it_does_pay() {
    let own = book("0.50", Some(WINDOW));
    let mut machine = Machine::priced(settings(true), 1, own.clone());
    let plain = Machine::priced(settings(false), 1, own);
    let mut turns = 0;
    let edited = loop {
        turns += 1;
        assert!(turns < 60, "it never fired");
        let (here, there) = (sent(&machine, &body(turns)), sent(&plain, &body(turns)));
        assert_eq!(there.body, body(turns));
        if here.body != there.body {
            break (here, there);
        }
    };
    let told = actions(&machine, turns);
    let (last, before) = told.split_last().unwrap();
    // The first was met in the middle; from then on it waits until the window is full.
    assert!(before.len() > 10 && before.iter().skip(1).all(|own| own.reason == "under_threshold"));
    assert!(before.iter().all(|own| own.break_even.is_none()));
    let pays = last.break_even.unwrap();
    assert!(last.edited && (2..=40).contains(&pays), "{last:?}");
    assert!(actions(&plain, turns).iter().skip(1).all(|own| own.reason == "not_cold"));
    // By the formula, with what the request says: what went, what stands behind the first message.
    let tokens = |bytes: usize| bytes as u64 * 4 / 15;
    let stays: Vec<Value> = messages(&edited.0.body);
    let behind: u64 = stays.iter().map(|own| tokens(own.to_string().len())).sum();
    let removed = tokens(body(turns).len()) - tokens(edited.0.body.len());
    let cost = |requests: u64| {
        let (write, read) = (1_250_i64, 100_i64);
        let saved = removed as i64 * (write + read * (requests as i64 - 1));
        saved - (write - read) * (behind + removed) as i64
    };
    assert!(cost(pays + 1) >= 0 && cost(pays - 2) < 0, "{pays}: {removed} of {behind}");
    assert_eq!(machine.readable(&["[Note of the gateway deadweight"]), Vec::<String>::new());
    // So it is in the end, at the provider's door: dearer at first, cheaper from then on.
    let (mut with, mut without) = (edited.0.nanos, edited.1.nanos);
    assert!(with > without);
    machine.restart();
    let first = turns;
    while with > without {
        turns += 1;
        assert!(turns - first < 2 * pays as usize, "not paid after {turns} requests, {pays} were told");
        let body = grown(turns, first);
        let (here, there) = (sent(&machine, &body), sent(&plain, &body));
        let is = messages(&here.body);
        // What was sent stays as it was sent, save the client's marker, and what is new follows.
        assert_eq!(is.len(), stays.len() + 2 * (turns - first));
        assert_eq!(is[..stays.len() - 1], stays[..stays.len() - 1]);
        (with, without) = (with + here.nanos, without + there.nanos);
    }
    let requests = (turns - first + 1) as u64;
    assert!(requests.abs_diff(pays) * 4 <= pays + 4, "{requests} requests, {pays} were told");
    // What was cached and had to be read anew is told of what was sent, and that it was no doing of the client's.
    let records = machine.records(turns);
    let cache = records[first - 1].cache.clone().unwrap();
    assert_eq!((cache.class.as_str(), cache.agrees), ("edited", Some(true)), "{cache:?}");
    assert!(cache.lost_tokens * 10 > removed * 9 && cache.lost_nano.is_some(), "{cache:?}");
    let received = cache.received.unwrap();
    assert_eq!((received.class.as_str(), received.lost_tokens), ("append", 0));
    for record in &records[first..] {
        let cache = record.cache.as_ref().unwrap();
        assert_eq!((cache.class.as_str(), cache.lost_tokens, cache.agrees), ("append", 0, Some(true)));
        assert_eq!(cache.received, None);
    }
    // The page of the request says so.
    let id = &records[first - 1].id;
    let page = machine.page(&format!("/deadweight/request/{id}"), "compact-history");
    assert!(page.contains(&format!("which pays for itself within {pays} requests (FORECAST)")), "{page}");
    assert!(page.contains("edited by a lever") && page.contains("are for what levers changed"), "{page}");
    assert!(machine.noted("edit_refused").is_empty());
}

#[test]
fn where_it_would_not_pay_soon_enough_it_stands_down_and_says_when_it_would() {
    // Reads cost next to nothing: what is written anew is paid back by very many of them.
    let machine = Machine::priced(settings(true), 1, book("0.02", Some(WINDOW)));
    let turns = 36;
    assert_eq!(sent(&machine, &body(turns - 1)).body, body(turns - 1));
    assert_eq!(sent(&machine, &body(turns)).body, body(turns));
    let last = actions(&machine, 2).pop().unwrap();
    assert_eq!((last.edited, last.reason.as_str()), (false, "not_worth_it"));
    let pays = last.break_even.unwrap();
    assert!(pays > 40, "{pays}");
    let id = &machine.records(2)[1].id;
    let page = machine.page(&format!("/deadweight/request/{id}"), "not worth it");
    assert!(page.contains(&format!("it would pay for itself after {pays} requests (FORECAST)")), "{page}");
}

#[test]
fn a_window_that_the_users_prices_leave_open_is_the_books() {
    let machine = Machine::priced(settings(true), 1, book("0.50", None));
    assert_eq!(sent(&machine, &body(35)).body, body(35));
    assert_eq!(sent(&machine, &body(36)).body, body(36));
    assert_eq!(actions(&machine, 2).pop().unwrap().reason, "under_threshold");
}
