//! Calls are judged by a list that is fresh, and no list is waited for without end.

use super::super::port::Kind;
use super::super::{Outcome, Relay, Surfaces, World};
use super::{Memory, Rig, call, initialize, list, names, opening, text_of, tool};
use crate::spec::ServerSpec;
use crate::surface::{Choice, Settings, Trust};
use deadweight_lock::{Hash, ToolPrice};
use deadweight_wire::json::Parser;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

fn lazy() -> Settings {
    Settings { surface: Choice::Stubs, budget: 0, ..Settings::default() }
}

/// A tool that is deferred where that is asked for.
fn large(name: &str, annotations: Value) -> Value {
    let schema =
        json!({"type":"object","properties":{"x":{"type":"string","description":"What it is. ".repeat(40)}}});
    json!({"name":name,"description":format!("Does {name}."),"inputSchema":schema,"annotations":annotations})
}

fn harmless() -> Value {
    json!([large("a", json!({"readOnlyHint":true})), large("b", json!({"readOnlyHint":true}))])
}

fn destructive() -> Value {
    json!([large("a", json!({"destructiveHint":true})), large("b", json!({"readOnlyHint":true}))])
}

fn initialized() -> Value {
    json!({"jsonrpc":"2.0","method":"notifications/initialized"})
}

/// A connection to one server that was asked for its list.
fn ready(shelf: Arc<Memory>, tools: Value) -> Rig {
    let mut rig = Rig::with(&["s"], false, shelf, lazy());
    rig.client(initialize());
    rig.answer(0, "initialize", opening());
    rig.client(initialized());
    rig.answer(0, "tools/list", json!({"tools":tools}));
    rig.client(list(1));
    rig.heard();
    rig
}

/// A connection to a server that is known from earlier and was not started yet.
fn known(tools: Value) -> Rig {
    let shelf: Arc<Memory> = Arc::default();
    ready(Arc::clone(&shelf), tools);
    let mut rig = Rig::with(&["s"], false, shelf, lazy());
    rig.open();
    rig.client(list(1));
    assert_eq!(rig.heard().len(), 2, "both from what is known");
    assert_eq!(rig.started, []);
    rig
}

impl Rig {
    fn is_asked(&self, method: &str) -> bool {
        let is_it = |kind: &Kind| matches!(kind, Kind::Request { method: sent, .. } if sent == method);
        self.sent.iter().any(|(_, message)| is_it(&message.kind))
    }

    fn wait(&mut self, seconds: u64) {
        self.now += Duration::from_secs(seconds);
        self.relay.tick(self.now);
        self.collect();
    }

    fn answers(&mut self, id: u32) -> Vec<Value> {
        self.heard().into_iter().filter(|message| message["id"] == id).collect()
    }

    fn changed(&mut self) {
        self.server(0, json!({"jsonrpc":"2.0","method":"notifications/tools/list_changed"}));
        self.heard();
    }
}

#[test]
fn a_tool_that_is_destructive_by_now_does_not_run_by_what_is_known_from_earlier() {
    let mut rig = known(harmless());
    rig.client(call(2, "a"));
    rig.answer(0, "initialize", opening());
    assert!(!rig.is_asked("tools/call"), "{:?}", rig.sent);
    rig.answer(0, "tools/list", json!({"tools":destructive()}));
    assert!(!rig.is_asked("tools/call"), "{:?}", rig.sent);
    let answers = rig.answers(2);
    assert!(answers.len() == 1 && text_of(&answers[0]).contains("Not run yet"), "{answers:?}");
    rig.client(call(3, "a"));
    assert!(rig.is_asked("tools/call"));
}

#[test]
fn a_call_waits_for_the_list_once_and_the_next_ones_pass_at_once() {
    let mut rig = known(harmless());
    rig.client(call(2, "a"));
    rig.client(call(3, "b"));
    rig.answer(0, "initialize", opening());
    rig.answer(0, "tools/list", json!({"tools":harmless()}));
    for _ in 0..2 {
        rig.answer(0, "tools/call", json!({"content":[]}));
    }
    let ids: Vec<Value> = rig.heard().iter().map(|message| message["id"].clone()).collect();
    assert_eq!(ids, [json!(2), json!(3)]);
    rig.client(call(4, "a"));
    assert!(rig.is_asked("tools/call") && !rig.is_asked("tools/list"));
}

#[test]
fn a_change_that_was_announced_is_looked_at_before_the_next_call() {
    let mut rig = ready(Arc::default(), harmless());
    rig.changed();
    rig.client(call(2, "a"));
    assert!(!rig.is_asked("tools/call"));
    rig.answer(0, "tools/list", json!({"tools":destructive()}));
    assert!(text_of(&rig.answers(2)[0]).contains("Not run yet"));
    // What was shown before the change is not what it is now.
    rig.changed();
    rig.client(call(3, "a"));
    let other = json!([large("a", json!({"destructiveHint":true,"title":"other"}))]);
    rig.answer(0, "tools/list", json!({"tools":other}));
    assert!(text_of(&rig.answers(3)[0]).contains("Not run yet"));
}

#[test]
fn a_name_that_is_not_in_the_list_from_earlier_may_be_in_the_fresh_one() {
    let mut rig = known(harmless());
    rig.client(call(2, "new"));
    rig.answer(0, "initialize", opening());
    assert!(!rig.is_asked("tools/call"));
    rig.answer(0, "tools/list", json!({"tools":[large("new", json!({"destructiveHint":true}))]}));
    assert!(text_of(&rig.answers(2)[0]).contains("Not run yet"));
    assert!(!rig.is_asked("tools/call"));
}

#[test]
fn what_is_listed_whole_passes_at_once() {
    let mut rig = Rig::new(&["s"], false, Arc::default());
    rig.client(initialize());
    rig.answer(0, "initialize", opening());
    rig.client(initialized());
    rig.answer(0, "tools/list", json!({"tools":[tool("a")]}));
    rig.client(list(1));
    rig.changed();
    rig.client(call(2, "a"));
    assert!(rig.is_asked("tools/call") && !rig.is_asked("tools/list"));
}

#[test]
fn without_a_fresh_list_only_what_declares_itself_harmless_runs() {
    let tools =
        json!([large("a", json!({"destructiveHint":true})), large("b", json!({"readOnlyHint":true}))]);
    let mut rig = ready(Arc::default(), tools);
    // Shown and confirmed; but what it is now is not known.
    rig.client(call(2, "a"));
    rig.changed();
    rig.client(call(3, "a"));
    rig.client(call(4, "b"));
    let request = rig.take(0, "tools/list");
    rig.server(0, json!({"jsonrpc":"2.0","id":request["id"],"error":{"code":-1,"message":"no"}}));
    assert_eq!(rig.answer(0, "tools/call", json!({"content":[]}))["params"]["name"], "b");
    let heard = rig.heard();
    let text = text_of(heard.iter().find(|message| message["id"] == 3).unwrap());
    assert!(text.contains("`s`") && text.contains("asked again"), "{text}");
    assert_eq!(heard.iter().filter(|message| message["id"] == 4).count(), 1);
    // It is asked again with the next call.
    rig.client(call(5, "a"));
    rig.answer(0, "tools/list", json!({"tools":destructive()}));
    assert_eq!(rig.take(0, "tools/call")["id"], 5);
}

#[test]
fn a_call_does_not_wait_for_a_list_that_never_comes() {
    let mut rig = known(destructive());
    rig.client(call(2, "a"));
    rig.client(call(3, "b"));
    rig.answer(0, "initialize", opening());
    rig.wait(19);
    assert!(rig.answers(2).is_empty());
    assert_eq!(rig.relay.deadline(), Some(rig.now + Duration::from_secs(1)));
    rig.wait(1);
    assert!(text_of(&rig.answers(2)[0]).contains("Not run"));
    assert_eq!(rig.take(0, "tools/call")["id"], 3);
    // Nor do those behind it.
    rig.client(call(4, "a"));
    assert_eq!(rig.answers(4).len(), 1);
    assert!(rig.relay.deadline().is_none_or(|at| at > rig.now));
    // It comes at last, and counts.
    rig.answer(0, "tools/list", json!({"tools":destructive()}));
    rig.client(call(5, "a"));
    assert!(text_of(&rig.answers(5)[0]).contains("Not run yet"));
}

#[test]
fn a_call_that_waited_when_its_server_ended_did_not_run() {
    let mut rig = known(harmless());
    rig.client(call(2, "a"));
    rig.answer(0, "initialize", opening());
    rig.end(0);
    let answers = rig.answers(2);
    assert_eq!(answers.len(), 1);
    assert!(answers[0]["error"]["message"].as_str().unwrap().contains("Nothing was run"), "{answers:?}");
    rig.client(call(3, "a"));
    rig.answer(0, "initialize", opening());
    rig.answer(0, "tools/list", json!({"tools":harmless()}));
    assert!(rig.is_asked("tools/call"));
}

#[test]
fn a_server_that_announces_a_change_at_every_question_is_called_all_the_same() {
    let mut rig = ready(Arc::default(), harmless());
    rig.changed();
    rig.client(call(2, "a"));
    for _ in 0..6 {
        rig.changed();
    }
    let asked = rig.sent.iter().filter(|(_, message)| matches!(&message.kind, Kind::Request { .. })).count();
    assert!(asked <= 5, "{asked}");
    while rig.is_asked("tools/list") {
        rig.answer(0, "tools/list", json!({"tools":harmless()}));
    }
    assert!(rig.is_asked("tools/call"));
}

#[test]
fn what_waited_for_its_server_is_held_against_the_lock_by_the_list_of_this_life() {
    let reviewed = json!([tool("a")]);
    let mut lock = deadweight_lock::Lock::new("calibrated", "tools/list");
    let hash = Parser::new()
        .scope(tool("a").to_string().as_bytes(), |document| Hash::of_value(document.unwrap().root()));
    let price = ToolPrice { bytes: 1, description_bytes: 1, tokens: None, description_tokens: None, hash };
    let entry = deadweight_lock::ToolEntry { price: Some(price), ..Default::default() };
    lock.tools.insert(deadweight_lock::ToolKey::new("s", "a"), entry);
    let shelf: Arc<Memory> = Arc::default();
    let rig = || {
        let mut rig = Rig::new(&["s"], false, Arc::default());
        rig.relay = Relay::new(Arc::new(World {
            specs: vec![ServerSpec::stdio("s", ["x"]).named("s")],
            labels: vec!["s".to_owned()],
            settings: Settings { trust: Trust::Quarantine, ..Settings::default() },
            lock: Some(lock.clone()),
            aggregate: false,
            nonce: "n".to_owned(),
            over_http: false,
            shelf: Arc::<Memory>::clone(&shelf),
            meaning: None,
            surfaces: Surfaces::default(),
        }));
        rig
    };
    let mut first = rig();
    first.open();
    first.answer(0, "initialize", opening());
    first.client(initialized());
    first.answer(0, "tools/list", json!({"tools":reviewed}));
    first.client(call(1, "a"));
    assert!(first.is_asked("tools/call"));
    let mut second = rig();
    second.open();
    second.client(call(2, "a"));
    second.answer(0, "initialize", opening());
    let mut other = tool("a");
    other["description"] = json!("Something else.");
    second.answer(0, "tools/list", json!({"tools":[other]}));
    assert!(!second.is_asked("tools/call"), "{:?}", second.sent);
    assert!(text_of(&second.answers(2)[0]).contains("quarantined"));
    assert!(second.called.iter().all(|called| called.outcome == Outcome::Refused));
}

#[test]
fn a_list_that_never_comes_ends_in_an_error_and_is_asked_for_again() {
    let mut rig = Rig::new(&["s"], false, Arc::default());
    rig.client(initialize());
    rig.answer(0, "initialize", opening());
    rig.client(initialized());
    rig.client(list(1));
    rig.wait(54);
    assert!(rig.answers(1).is_empty());
    rig.wait(1);
    let answers = rig.answers(1);
    let text = answers[0]["error"]["message"].as_str().unwrap();
    assert!(text.contains("`s`") && text.contains("within 55 s") && text.contains("Try:"), "{text}");
    assert!(rig.relay.deadline().is_none_or(|at| at > rig.now));
    rig.sent.clear();
    rig.client(list(2));
    rig.answer(0, "tools/list", json!({"tools":[tool("a")]}));
    assert_eq!(names(&rig.answers(2)[0]), ["a"]);
}

#[test]
fn a_list_that_comes_late_is_taken() {
    let mut rig = Rig::new(&["s"], false, Arc::default());
    rig.client(initialize());
    rig.answer(0, "initialize", opening());
    rig.client(initialized());
    rig.client(list(1));
    rig.wait(55);
    assert_eq!(rig.answers(1).len(), 1);
    rig.answer(0, "tools/list", json!({"tools":[tool("a")]}));
    rig.client(list(2));
    assert_eq!(names(&rig.answers(2)[0]), ["a"]);
}

#[test]
fn one_name_twice_in_one_server_spoils_nothing() {
    let shelf: Arc<Memory> = Arc::default();
    let mut rig = Rig::new(&["x", "y"], true, Arc::clone(&shelf));
    rig.open();
    for server in [0, 1] {
        rig.answer(server, "initialize", opening());
    }
    rig.answer(0, "tools/list", json!({"tools":[tool("a")]}));
    rig.answer(1, "tools/list", json!({"tools":[tool("d"), tool("d"), tool("e")]}));
    rig.heard();
    rig.client(list(1));
    assert_eq!(names(&rig.answers(1)[0]), ["x__a", "y__d", "y__e"]);
    assert!(rig.notes.iter().any(|note| note.contains("`y` lists `d` twice")), "{:?}", rig.notes);
    let mut again = Rig::new(&["x", "y"], true, shelf);
    again.open();
    again.client(list(1));
    assert_eq!(names(&again.answers(1)[0]), ["x__a", "y__d", "y__e"]);
}

#[test]
fn of_two_tools_of_one_name_neither_is_held_to_be_harmless() {
    let tools =
        json!([large("a", json!({"readOnlyHint":true})), large("a", json!({"destructiveHint":true}))]);
    let mut rig = ready(Arc::default(), tools);
    rig.client(call(2, "a"));
    let text = text_of(&rig.answers(2)[0]);
    assert!(text.contains("Not run yet") && text.contains("another tool of that name"), "{text}");
}
