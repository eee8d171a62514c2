//! The relay against scripted clients and servers, without any I/O.

mod fresh;
mod histories;
mod lazy;
mod refused;

use super::port::{Event, FromClient, FromServer, Kind, Outbound, ToClient, Undelivered};
use super::{Called, Outcome, Output, Relay, Shelf, Surfaces, World};
use crate::catalogue::Manifest;
use crate::error::Reason;
use crate::spec::ServerSpec;
use crate::surface::{Kept, Settings};
use bytes::Bytes;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What is kept on disk, kept in memory.
#[derive(Default)]
struct Memory {
    refusals: Mutex<HashMap<String, Bytes>>,
    manifests: Mutex<HashMap<String, Manifest>>,
    kept: Mutex<HashMap<String, Kept>>,
}

impl Shelf for Memory {
    fn manifest(&self, key: &str) -> Option<Manifest> {
        self.manifests.lock().unwrap().get(key).cloned()
    }
    fn keep_manifest(&self, key: &str, manifest: &Manifest) {
        self.manifests.lock().unwrap().insert(key.to_owned(), manifest.clone());
    }
    fn refusal(&self, key: &str) -> Option<Bytes> {
        self.refusals.lock().unwrap().get(key).cloned()
    }
    fn keep_refusal(&self, key: &str, error: &Bytes) {
        self.refusals.lock().unwrap().insert(key.to_owned(), error.clone());
    }
    fn kept(&self, key: &str) -> Option<Kept> {
        self.kept.lock().unwrap().get(key).cloned()
    }
    fn keep(&self, key: &str, kept: &Kept) {
        self.kept.lock().unwrap().insert(key.to_owned(), kept.clone());
    }
}

/// A relay, what it said, and what it sent to servers that is not answered yet.
struct Rig {
    relay: Relay,
    now: Duration,
    to_client: Vec<ToClient>,
    sent: Vec<(usize, Outbound)>,
    started: Vec<(usize, u64)>,
    called: Vec<Called>,
    notes: Vec<String>,
}

impl Rig {
    fn new(labels: &[&str], aggregate: bool, shelf: Arc<Memory>) -> Self {
        Self::with(labels, aggregate, shelf, Settings::default())
    }

    fn with(labels: &[&str], aggregate: bool, shelf: Arc<Memory>, settings: Settings) -> Self {
        let world = World {
            specs: labels.iter().map(|label| ServerSpec::stdio(*label, ["x"]).named(*label)).collect(),
            labels: labels.iter().map(|label| (*label).to_owned()).collect(),
            settings,
            lock: None,
            aggregate,
            nonce: "n".to_owned(),
            over_http: false,
            shelf,
            meaning: None,
            surfaces: Surfaces::default(),
        };
        Self {
            relay: Relay::new(Arc::new(world)),
            now: Duration::ZERO,
            to_client: Vec::new(),
            sent: Vec::new(),
            started: Vec::new(),
            called: Vec::new(),
            notes: Vec::new(),
        }
    }

    fn collect(&mut self) {
        while let Some(output) = self.relay.next() {
            match output {
                Output::Start { server, generation } => {
                    self.sent.retain(|(to, _)| *to != server);
                    self.started.push((server, generation));
                }
                Output::Send { server, message } => self.sent.push((server, message)),
                Output::Close { server } => self.sent.retain(|(to, _)| *to != server),
                Output::Client(message) => self.to_client.push(message),
                Output::Called(called) => self.called.push(called),
                Output::Listed(_) => {}
                Output::Note(text) => self.notes.push(text),
            }
        }
    }

    fn client(&mut self, message: Value) {
        self.client_raw(message.to_string());
    }

    fn client_raw(&mut self, text: String) {
        self.relay.client(self.now, FromClient { bytes: text.into(), headers: Vec::new() });
        self.collect();
    }

    fn generation(&self, server: usize) -> u64 {
        self.started
            .iter()
            .rev()
            .find(|(started, _)| *started == server)
            .map_or(0, |(_, generation)| *generation)
    }

    fn server_raw(&mut self, server: usize, text: String) {
        let event = Event::Message { bytes: text.into(), about: None, status: None };
        let generation = self.generation(server);
        self.relay.server(self.now, FromServer { server, generation, event });
        self.collect();
    }

    fn server(&mut self, server: usize, message: Value) {
        self.server_raw(server, message.to_string());
    }

    fn end(&mut self, server: usize) {
        let event = Event::Ended {
            reason: Reason::Exited { code: Some(1), signal: None },
            stderr: vec!["oh".to_owned()],
        };
        let generation = self.generation(server);
        self.relay.server(self.now, FromServer { server, generation, event });
        self.collect();
    }

    /// A server ends as it is started, and again when it is started once more.
    fn end_twice(&mut self, server: usize) {
        self.end(server);
        self.now += Duration::from_millis(200);
        self.relay.tick(self.now);
        self.collect();
        self.end(server);
    }

    /// Takes the request of this method that was sent to a server.
    fn take(&mut self, server: usize, method: &str) -> Value {
        let is_it = |(to, message): &(usize, Outbound)| {
            *to == server && matches!(&message.kind, Kind::Request { method: sent, .. } if sent == method)
        };
        let at =
            self.sent.iter().position(is_it).unwrap_or_else(|| panic!("no `{method}` in {:?}", self.sent));
        let (_, message) = self.sent.remove(at);
        serde_json::from_slice(&message.bytes).unwrap()
    }

    fn answer(&mut self, server: usize, method: &str, result: Value) -> Value {
        let request = self.take(server, method);
        self.server(server, json!({"jsonrpc":"2.0","id":request["id"],"result":result}));
        request
    }

    /// The messages for the client since the last time.
    fn heard(&mut self) -> Vec<Value> {
        self.to_client.drain(..).map(|message| serde_json::from_slice(&message.bytes).unwrap()).collect()
    }

    fn open(&mut self) {
        self.client(initialize());
        self.client(json!({"jsonrpc":"2.0","method":"notifications/initialized"}));
    }
}

fn initialize() -> Value {
    json!({"jsonrpc":"2.0","id":"i","method":"initialize","params":{
        "protocolVersion":"2025-11-25","capabilities":{"sampling":{}},"clientInfo":{"name":"t","version":"1"}}})
}

fn opening() -> Value {
    json!({"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"prompts":{}},
        "serverInfo":{"name":"s","version":"1"},"instructions":"do"})
}

fn tool(name: &str) -> Value {
    json!({"name":name,"description":format!("Does {name}."),"inputSchema":{"type":"object","properties":{"x":{"type":"string"}}},
        "annotations":{"readOnlyHint":true},"x-unknown":1.50})
}

fn list(id: u32) -> Value {
    json!({"jsonrpc":"2.0","id":id,"method":"tools/list"})
}

fn call(id: u32, name: &str) -> Value {
    json!({"jsonrpc":"2.0","id":id,"method":"tools/call","params":{"name":name,"arguments":{"x":"y"},"_meta":{"progressToken":id}}})
}

fn names(message: &Value) -> Vec<String> {
    let tools = message["result"]["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

/// One server, opened by the client's own words.
fn one() -> Rig {
    let mut rig = Rig::new(&["s"], false, Arc::default());
    rig.client(initialize());
    assert_eq!(rig.answer(0, "initialize", opening()), initialize());
    let heard = rig.heard();
    assert_eq!(heard, [json!({"jsonrpc":"2.0","id":"i","result":opening()})]);
    rig.client(json!({"jsonrpc":"2.0","method":"notifications/initialized"}));
    rig.answer(0, "tools/list", json!({"tools":[tool("a")],"nextCursor":"2"}));
    assert_eq!(rig.answer(0, "tools/list", json!({"tools":[tool("b")]}))["params"]["cursor"], "2");
    rig
}

fn text_of(message: &Value) -> String {
    message["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn one_server_is_opened_with_the_clients_own_words_and_all_pages_come_in_one() {
    let mut rig = one();
    rig.client(list(1));
    let heard = rig.heard();
    assert_eq!(heard.len(), 1);
    assert_eq!(heard[0]["id"], 1);
    assert_eq!(names(&heard[0]), ["a", "b"]);
    assert_eq!(heard[0]["result"].get("nextCursor"), None);
    rig.client(json!({"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":"2"}}));
    assert_eq!(rig.heard()[0]["error"]["code"], -32602);
}

#[test]
fn a_call_passes_byte_for_byte_and_so_does_its_answer() {
    let mut rig = one();
    let text = r#"{"jsonrpc":"2.0" , "id": 7, "method":"tools/call","params":{"name":"a","arguments":{"x":"\u0041"},"y":1.50}}"#;
    rig.client_raw(text.to_owned());
    assert_eq!(rig.sent.last().unwrap().1.bytes, text);
    let answer = r#"{"id":7, "result":{"content":[],"n":1e2 },"jsonrpc":"2.0"}"#;
    rig.server_raw(0, answer.to_owned());
    assert_eq!(rig.to_client.last().unwrap().bytes, answer);
    // Answered again, it is not passed again.
    let heard = rig.to_client.len();
    rig.server_raw(0, answer.to_owned());
    assert_eq!(rig.to_client.len(), heard);
    assert_eq!(rig.called.len(), 1);
    assert_eq!(rig.called[0].outcome, Outcome::Ok);
    assert_eq!(rig.called[0].bytes_out, answer.len() as u64);
}

#[test]
fn a_known_server_is_not_started_before_it_is_needed() {
    let shelf: Arc<Memory> = Arc::default();
    let mut first = Rig::new(&["s"], false, Arc::clone(&shelf));
    first.client(initialize());
    first.answer(0, "initialize", opening());
    first.client(json!({"jsonrpc":"2.0","method":"notifications/initialized"}));
    first.answer(0, "tools/list", json!({"tools":[tool("a")]}));
    first.client(list(1));
    let listed = first.heard();
    let mut second = Rig::new(&["s"], false, shelf);
    second.open();
    second.client(list(1));
    assert_eq!(second.heard(), listed);
    assert_eq!(second.started, []);
    second.client(call(2, "a"));
    assert_eq!(second.started, [(0, 1)]);
    assert_eq!(second.answer(0, "initialize", opening())["params"], initialize()["params"]);
    let sent: Vec<String> =
        second.sent.iter().map(|(_, message)| String::from_utf8_lossy(&message.bytes).into()).collect();
    assert!(sent[0].contains("notifications/initialized"), "{sent:?}");
    second.answer(0, "tools/call", json!({"content":[]}));
    assert_eq!(second.heard(), [json!({"jsonrpc":"2.0","id":2,"result":{"content":[]}})]);
    // The list of this life is another one: the client is told.
    second.answer(0, "tools/list", json!({"tools":[tool("a"), tool("c")]}));
    assert_eq!(second.heard(), [json!({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})]);
    second.client(list(3));
    assert_eq!(names(&second.heard()[0]), ["a", "c"]);
}

#[test]
fn a_server_that_cannot_start_is_named_and_tried_again() {
    let mut rig = Rig::new(&["s"], false, Arc::default());
    rig.client(initialize());
    rig.end_twice(0);
    let heard = rig.heard();
    let instructions = heard[0]["result"]["instructions"].as_str().unwrap();
    assert!(instructions.contains("`s` is not available") && instructions.contains("oh"), "{instructions}");
    rig.client(json!({"jsonrpc":"2.0","method":"notifications/initialized"}));
    rig.client(list(1));
    assert_eq!(names(&rig.heard()[0]), [""; 0]);
    assert_eq!(rig.relay.deadline(), Some(rig.now + Duration::from_secs(1)));
    rig.now += Duration::from_secs(1);
    rig.relay.tick(rig.now);
    rig.collect();
    assert_eq!(rig.started.len(), 3);
    rig.answer(0, "initialize", opening());
    rig.answer(0, "tools/list", json!({"tools":[tool("a")]}));
    assert_eq!(rig.heard(), [json!({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})]);
    rig.client(list(2));
    assert_eq!(names(&rig.heard()[0]), ["a"]);
}

#[test]
fn a_server_that_ends_as_it_is_started_is_started_once_more_before_anybody_is_told() {
    let mut rig = Rig::new(&["s"], false, Arc::default());
    rig.client(initialize());
    rig.end(0);
    assert_eq!(rig.heard(), [] as [Value; 0]);
    assert_eq!(rig.notes.len(), 1, "{:?}", rig.notes);
    rig.now = rig.relay.deadline().unwrap();
    rig.relay.tick(rig.now);
    rig.collect();
    assert_eq!(rig.answer(0, "initialize", opening())["id"], "i");
    assert_eq!(rig.heard()[0]["result"], opening());
    // What a client asked of a server that is known, and that ends before it could work on it, waits too.
    let shelf: Arc<Memory> = Arc::default();
    let mut rig = Rig::new(&["s"], false, Arc::clone(&shelf));
    rig.open();
    rig.answer(0, "initialize", opening());
    rig.client(json!({"jsonrpc":"2.0","method":"notifications/initialized"}));
    rig.answer(0, "tools/list", json!({"tools":[tool("a")]}));
    let mut rig = Rig::new(&["s"], false, shelf);
    rig.open();
    rig.heard();
    rig.client(call(1, "a"));
    rig.end(0);
    assert_eq!(rig.heard(), [] as [Value; 0]);
    rig.now = rig.relay.deadline().unwrap();
    rig.relay.tick(rig.now);
    rig.collect();
    rig.answer(0, "initialize", opening());
    rig.answer(0, "tools/call", json!({"content":[]}));
    assert_eq!(rig.heard()[0]["id"], 1);
}

#[test]
fn one_tool_without_a_name_does_not_spoil_the_list() {
    let mut rig = Rig::new(&["s"], false, Arc::default());
    rig.open();
    rig.answer(0, "initialize", opening());
    rig.client(json!({"jsonrpc":"2.0","method":"notifications/initialized"}));
    rig.heard();
    rig.client(list(1));
    rig.answer(0, "tools/list", json!({"tools":[tool("a"),{"title":"odd"},7,tool("b")]}));
    assert_eq!(names(&rig.heard()[0]), ["a", "b"]);
    let told = rig.notes.iter().filter(|note| note.contains("is left out")).count();
    assert_eq!(told, 2, "{:?}", rig.notes);
}

#[test]
fn calls_in_flight_are_told_of_a_crash_and_the_next_call_starts_the_server_again() {
    let mut rig = one();
    rig.client(call(1, "a"));
    rig.client(call(2, "b"));
    rig.end(0);
    let heard = rig.heard();
    assert_eq!(heard.iter().map(|message| message["id"].clone()).collect::<Vec<_>>(), [json!(1), json!(2)]);
    assert!(heard[0]["error"]["message"].as_str().unwrap().contains("ended before it answered"), "{heard:?}");
    assert_eq!(rig.called.iter().filter(|called| called.outcome == Outcome::Crashed).count(), 2);
    rig.client(call(3, "a"));
    assert!(rig.generation(0) > 1);
    rig.answer(0, "initialize", opening());
    rig.answer(0, "tools/call", json!({"content":[]}));
    assert_eq!(rig.heard().last().unwrap()["id"], 3);
}

#[test]
fn questions_of_a_server_reach_the_client_and_answers_the_right_life_of_it() {
    let mut rig = one();
    rig.client(call(1, "a"));
    rig.server(0, json!({"jsonrpc":"2.0","id":0,"method":"sampling/createMessage","params":{"x":1}}));
    let question = rig.to_client.last().unwrap();
    assert_eq!(question.about.as_deref(), Some(&b"1"[..]));
    assert!(!question.end);
    rig.client(json!({"jsonrpc":"2.0","id":0,"result":{"role":"assistant"}}));
    assert!(matches!(&rig.sent.last().unwrap().1.kind, Kind::Response { id } if &id[..] == b"0"));
    // A second question is still open when the server ends; a late answer must not go to its successor.
    rig.server(0, json!({"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{}}));
    rig.end(0);
    rig.heard();
    rig.client(call(2, "a"));
    rig.answer(0, "initialize", opening());
    rig.server(0, json!({"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{}}));
    let shown = rig.heard().pop().unwrap()["id"].clone();
    assert_ne!(shown, json!(1));
    let before = rig.sent.len();
    rig.client(json!({"jsonrpc":"2.0","id":1,"result":{}}));
    assert_eq!(rig.sent.len(), before);
    rig.client(json!({"jsonrpc":"2.0","id":shown,"result":{}}));
    let (_, message) = rig.sent.last().unwrap();
    assert_eq!(
        serde_json::from_slice::<Value>(&message.bytes).unwrap(),
        json!({"jsonrpc":"2.0","id":1,"result":{}})
    );
}

#[test]
fn cancelling_reaches_the_server_and_ends_the_waiting() {
    let mut rig = one();
    rig.client(call(1, "a"));
    rig.client(json!({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}));
    assert!(String::from_utf8_lossy(&rig.sent.last().unwrap().1.bytes).contains("notifications/cancelled"));
    assert_eq!(rig.called.last().unwrap().outcome, Outcome::Cancelled);
    rig.server(0, json!({"jsonrpc":"2.0","id":1,"result":{"content":[]}}));
    assert_eq!(rig.heard(), [] as [Value; 0]);
    // One that is over is not worth a word.
    let before = rig.sent.len();
    rig.client(json!({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}));
    assert_eq!(rig.sent.len(), before);
}

#[test]
fn a_change_of_the_list_is_passed_on_and_the_next_list_is_the_new_one() {
    let mut rig = one();
    rig.server(0, json!({"jsonrpc":"2.0","method":"notifications/tools/list_changed"}));
    assert_eq!(rig.heard().len(), 1);
    rig.client(list(1));
    assert_eq!(rig.heard(), [] as [Value; 0]);
    rig.answer(0, "tools/list", json!({"tools":[tool("z")]}));
    let heard = rig.heard();
    assert_eq!(heard.len(), 1, "told once: {heard:?}");
    assert_eq!(names(&heard[0]), ["z"]);
}

#[test]
fn a_modern_client_and_server_speak_as_they_do_without_us() {
    let meta = json!({"io.modelcontextprotocol/protocolVersion":"2026-07-28",
        "io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},
        "io.modelcontextprotocol/clientCapabilities":{},"progressToken":9});
    let discover = json!({"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":meta}});
    let mut rig = Rig::new(&["s"], false, Arc::default());
    rig.client(discover.clone());
    let result = json!({"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":5,"cacheScope":"public"});
    assert_eq!(rig.answer(0, "server/discover", result.clone()), discover);
    assert_eq!(rig.heard(), [json!({"jsonrpc":"2.0","id":1,"result":result})]);
    let asked = rig.answer(
        0,
        "tools/list",
        json!({"resultType":"complete","tools":[tool("a")],"ttlMs":5,"cacheScope":"public"}),
    );
    assert_eq!(asked["params"]["_meta"].get("progressToken"), None);
    assert_eq!(asked["params"]["_meta"]["io.modelcontextprotocol/clientInfo"]["name"], "t");
    rig.now += Duration::from_secs(1);
    rig.client(json!({"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":meta}}));
    // It cannot say when its list changes, so it is asked again.
    rig.answer(
        0,
        "tools/list",
        json!({"resultType":"complete","tools":[tool("a")],"ttlMs":5,"cacheScope":"public"}),
    );
    let heard = rig.heard();
    assert_eq!(heard[0]["result"]["ttlMs"], 5);
    assert_eq!(heard[0]["result"]["resultType"], "complete");
    assert!(rig.sent.iter().all(|(_, message)| message.modern), "{:?}", rig.sent);
}

#[test]
fn a_client_that_is_a_proxy_too_is_answered() {
    let mut rig = Rig::new(&["s"], false, Arc::default());
    let mut opened = initialize();
    opened["id"] = json!("deadweight:other:1");
    rig.client(opened);
    rig.answer(0, "initialize", opening());
    rig.client(json!({"jsonrpc":"2.0","method":"notifications/initialized"}));
    assert_eq!(rig.heard()[0]["id"], "deadweight:other:1");
    rig.client(json!({"jsonrpc":"2.0","id":"deadweight:1","method":"ping"}));
    rig.answer(0, "ping", json!({}));
    assert_eq!(rig.heard()[0]["id"], "deadweight:1");
}

#[test]
fn a_call_that_could_not_be_answered_does_not_pass_for_a_notification() {
    let mut rig = one();
    let before = rig.sent.len();
    for id in ["", r#""id":null,"#, r#""id":true,"#, r#""id":{},"#] {
        rig.client_raw(format!(r#"{{"jsonrpc":"2.0",{id}"method":"tools/call","params":{{"name":"a"}}}}"#));
    }
    assert_eq!(rig.sent.len(), before, "{:?}", rig.sent);
}

#[test]
fn an_answer_that_answers_nothing_ends_its_call() {
    let mut rig = one();
    rig.client(call(1, "a"));
    rig.server_raw(0, r#"{"jsonrpc":"2.0","id":1}"#.to_owned());
    assert_eq!(rig.heard()[0]["error"]["code"], -32603);
}

#[test]
fn a_silent_server_does_not_keep_the_others_from_being_used() {
    let mut rig = Rig::new(&["x", "y"], true, Arc::default());
    rig.open();
    rig.answer(0, "initialize", opening());
    rig.answer(0, "tools/list", json!({"tools":[tool("a")]}));
    rig.client(list(1));
    assert_eq!(rig.heard(), [] as [Value; 0]);
    rig.now = rig.relay.deadline().unwrap();
    rig.relay.tick(rig.now);
    rig.collect();
    let heard = rig.heard();
    assert!(
        heard[0]["result"]["instructions"].as_str().unwrap().contains("`y` is still starting"),
        "{heard:?}"
    );
    assert_eq!(names(&heard[1]), ["x__a"]);
}

#[test]
fn a_modern_client_may_list_first_and_discover_later() {
    let meta = json!({"io.modelcontextprotocol/protocolVersion":"2026-07-28",
        "io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}});
    let mut rig = Rig::new(&["s"], false, Arc::default());
    rig.client(json!({"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":meta}}));
    rig.answer(
        0,
        "tools/list",
        json!({"resultType":"complete","tools":[tool("a")],"ttlMs":0,"cacheScope":"private"}),
    );
    assert_eq!(names(&rig.heard()[0]), ["a"]);
    rig.client(json!({"jsonrpc":"2.0","id":2,"method":"server/discover","params":{"_meta":meta}}));
    let result = json!({"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"extensions":{"a/b":{}}}});
    rig.answer(0, "server/discover", result.clone());
    assert_eq!(rig.heard()[0]["result"], result);
}

#[test]
fn a_legacy_server_says_no_to_discovery_and_the_client_falls_back() {
    let mut rig = Rig::new(&["s"], false, Arc::default());
    rig.client(json!({"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}));
    let request = rig.take(0, "server/discover");
    rig.server(
        0,
        json!({"jsonrpc":"2.0","id":request["id"],"error":{"code":-32601,"message":"Method not found"}}),
    );
    assert_eq!(rig.heard()[0]["error"]["code"], -32601);
    rig.client(initialize());
    assert_eq!(rig.started.len(), 1, "the same process");
    rig.answer(0, "initialize", opening());
    assert_eq!(rig.heard()[0]["result"], opening());
}

#[test]
fn a_legacy_server_that_answers_whatever_it_does_not_know_with_nothing_lists_its_tools() {
    let mut rig = Rig::new(&["s"], false, Arc::default());
    rig.client(json!({"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}));
    rig.answer(0, "server/discover", json!({}));
    assert_eq!(rig.heard()[0]["result"], json!({}), "as it would be without us");
    rig.client(initialize());
    rig.answer(0, "initialize", opening());
    rig.client(json!({"jsonrpc":"2.0","method":"notifications/initialized"}));
    rig.client(list(2));
    rig.answer(0, "tools/list", json!({"tools":[tool("a")]}));
    let heard = rig.heard();
    assert_eq!(names(heard.last().unwrap()), ["a"]);
}

#[test]
fn a_server_known_to_be_legacy_is_not_started_to_say_so_again() {
    let shelf: Arc<Memory> = Arc::default();
    let discover = json!({"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}});
    let mut first = Rig::new(&["s"], false, Arc::clone(&shelf));
    first.client(discover.clone());
    let request = first.take(0, "server/discover");
    first.server(
        0,
        json!({"jsonrpc":"2.0","id":request["id"],"error":{"code":-32601,"message":"Method not found"}}),
    );
    let said = first.heard();
    first.client(initialize());
    first.answer(0, "initialize", opening());
    first.client(json!({"jsonrpc":"2.0","method":"notifications/initialized"}));
    first.answer(0, "tools/list", json!({"tools":[tool("a")]}));
    let mut second = Rig::new(&["s"], false, shelf);
    second.client(discover);
    assert_eq!(second.heard(), said);
    second.open();
    second.client(list(2));
    assert_eq!(second.started, []);
    assert_eq!(names(&second.heard()[1]), ["a"]);
}

#[test]
fn a_modern_only_server_is_bridged_for_a_legacy_client() {
    let mut rig = Rig::new(&["s"], false, Arc::default());
    rig.client(initialize());
    let request = rig.take(0, "initialize");
    rig.server(
        0,
        json!({"jsonrpc":"2.0","id":request["id"],"error":{"code":-32601,"message":"Method not found"}}),
    );
    let asked = rig.answer(0, "server/discover", json!({"resultType":"complete","supportedVersions":["2026-07-28"],
        "capabilities":{"tools":{}},"instructions":"do","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"m","version":"2"}}}));
    assert_eq!(asked["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"], json!({}));
    rig.answer(
        0,
        "tools/list",
        json!({"resultType":"complete","tools":[tool("a")],"ttlMs":0,"cacheScope":"private"}),
    );
    assert_eq!(
        rig.heard()[0]["result"],
        json!({"protocolVersion":"2025-11-25","capabilities":{"tools":{}},
        "serverInfo":{"name":"m","version":"2"},"instructions":"do"})
    );
    rig.client(json!({"jsonrpc":"2.0","method":"notifications/initialized"}));
    rig.client(call(3, "a"));
    let sent = rig.answer(0, "tools/call", json!({"resultType":"complete","content":[]}));
    assert_eq!(sent["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
    assert_eq!(sent["params"]["_meta"]["progressToken"], 3);
    assert_eq!(rig.heard().last().unwrap()["id"], 3);
}

#[test]
fn an_aggregate_names_who_failed_and_who_is_late() {
    let mut rig = Rig::new(&["x", "y"], true, Arc::default());
    rig.open();
    assert_eq!(rig.started, [(0, 1), (1, 1)]);
    rig.answer(0, "initialize", opening());
    rig.answer(0, "tools/list", json!({"tools":[tool("a")]}));
    assert_eq!(rig.heard(), [] as [Value; 0]);
    rig.end_twice(1);
    let heard = rig.heard();
    let instructions = heard[0]["result"]["instructions"].as_str().unwrap();
    assert!(
        instructions.contains("# x\ndo") && instructions.contains("`y` is not available"),
        "{instructions}"
    );
    rig.client(list(1));
    assert_eq!(names(&rig.heard()[0]), ["x__a"]);
    rig.client(call(2, "x__a"));
    assert_eq!(rig.answer(0, "tools/call", json!({"content":[]}))["params"]["name"], "a");
    assert_eq!(rig.heard()[0]["id"], 2);
    rig.client(call(3, "x__aa"));
    let text = rig.heard()[0]["error"]["message"].as_str().unwrap().to_owned();
    assert!(text.contains("Unknown tool: x__aa") && text.contains("`y` is not available"), "{text}");
}

#[test]
fn prompts_of_an_aggregate_are_put_together_and_lead_back() {
    let mut rig = Rig::new(&["x", "y"], true, Arc::default());
    rig.open();
    for server in [0, 1] {
        rig.answer(server, "initialize", opening());
        rig.answer(server, "tools/list", json!({"tools":[tool("a")]}));
    }
    rig.heard();
    rig.client(json!({"jsonrpc":"2.0","id":1,"method":"prompts/list"}));
    rig.answer(1, "prompts/list", json!({"prompts":[{"name":"p","z":1.0}]}));
    assert_eq!(rig.heard(), [] as [Value; 0]);
    rig.answer(0, "prompts/list", json!({"prompts":[{"name":"p"}],"nextCursor":"n"}));
    rig.answer(0, "prompts/list", json!({"prompts":[{"name":"q"}]}));
    let heard = rig.heard();
    assert_eq!(
        heard[0]["result"],
        json!({"prompts":[{"name":"x__p"},{"name":"x__q"},{"name":"y__p","z":1.0}]})
    );
    rig.client(json!({"jsonrpc":"2.0","id":2,"method":"prompts/get","params":{"name":"y__p"}}));
    assert_eq!(rig.answer(1, "prompts/get", json!({"messages":[]}))["params"]["name"], "p");
    assert_eq!(rig.heard()[0]["id"], 2);
}

#[test]
fn whose_a_prompt_or_a_resource_is_is_asked_where_it_is_not_known() {
    let mut rig = Rig::new(&["x", "y"], true, Arc::default());
    rig.open();
    let mut said = opening();
    said["capabilities"]["resources"] = json!({});
    for server in [0, 1] {
        rig.answer(server, "initialize", said.clone());
        rig.answer(server, "tools/list", json!({"tools":[tool("a")]}));
    }
    rig.heard();
    // Known from an earlier connection, and got without a list.
    rig.client(json!({"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"y__p"}}));
    rig.answer(0, "prompts/list", json!({"prompts":[]}));
    rig.answer(1, "prompts/list", json!({"prompts":[{"name":"p"}]}));
    assert_eq!(rig.answer(1, "prompts/get", json!({"messages":[]}))["params"]["name"], "p");
    assert_eq!(rig.heard()[0]["id"], 1);
    let read =
        |id: u32, uri: &str| json!({"jsonrpc":"2.0","id":id,"method":"resources/read","params":{"uri":uri}});
    rig.client(read(2, "y://1"));
    rig.answer(0, "resources/list", json!({"resources":[{"uri":"x://1"}]}));
    rig.answer(1, "resources/list", json!({"resources":[{"uri":"y://1"}]}));
    rig.answer(1, "resources/read", json!({"contents":[]}));
    assert_eq!(rig.heard()[0]["id"], 2);
    // In no list, but in a template.
    rig.client(read(3, "z://7"));
    for method in ["resources/list", "resources/templates/list"] {
        rig.answer(0, method, json!({"resources":[],"resourceTemplates":[{"uriTemplate":"z://{n}"}]}));
        rig.answer(1, method, json!({"resources":[],"resourceTemplates":[]}));
    }
    rig.answer(0, "resources/read", json!({"contents":[]}));
    assert_eq!(rig.heard()[0]["id"], 3);
    // Nowhere: said once, after both.
    rig.client(read(4, "q://7"));
    for method in ["resources/list", "resources/templates/list"] {
        rig.answer(0, method, json!({"resources":[],"resourceTemplates":[]}));
        rig.answer(1, method, json!({"resources":[],"resourceTemplates":[]}));
    }
    let heard = rig.heard();
    assert_eq!((heard.len(), &heard[0]["error"]["code"]), (1, &json!(-32602)), "{heard:?}");
}

#[test]
fn a_session_that_is_gone_is_opened_anew_and_the_call_sent_again_once() {
    let mut rig = one();
    rig.client(call(1, "a"));
    let gone = |rig: &mut Rig| {
        let event = Event::Undelivered { id: Some(Bytes::from_static(b"1")), why: Undelivered::SessionGone };
        let generation = rig.generation(0);
        rig.relay.server(rig.now, FromServer { server: 0, generation, event });
        rig.collect();
    };
    gone(&mut rig);
    assert_eq!(rig.heard(), [] as [Value; 0]);
    rig.answer(0, "initialize", opening());
    assert_eq!(rig.take(0, "tools/call")["id"], 1);
    gone(&mut rig);
    assert_eq!(rig.heard()[0]["error"]["code"], -32000);
}

#[test]
fn garbage_of_the_client_is_answered_and_ends_nothing() {
    let mut rig = one();
    rig.client_raw("{nonsense".to_owned());
    rig.client_raw("[]".to_owned());
    rig.client_raw(r#"{"id":5}"#.to_owned());
    rig.client_raw("7".to_owned());
    let codes: Vec<i64> =
        rig.heard().iter().map(|message| message["error"]["code"].as_i64().unwrap()).collect();
    assert_eq!(codes, [-32700, -32600, -32600, -32600]);
    rig.client(list(1));
    assert_eq!(names(&rig.heard()[0]), ["a", "b"]);
}

#[test]
fn what_changed_behind_a_name_is_not_called_where_the_lock_is_to_be_trusted() {
    let mut lock = deadweight_lock::Lock::new("calibrated", "tools/list");
    lock.rules.push(deadweight_lock::NameRule {
        kind: deadweight_lock::PolicyKind::Deny,
        tool: "b".to_owned(),
        reason: "not here".to_owned(),
        line: 1,
    });
    let marks = deadweight_lock::Marks { deny: Some("kept".to_owned()), ..Default::default() };
    let secret = deadweight_lock::ToolEntry { marks, ..Default::default() };
    lock.tools.insert(deadweight_lock::ToolKey::new("s", "secret"), secret);
    let world = |trust| World {
        specs: vec![ServerSpec::stdio("s", ["x"]).named("s")],
        labels: vec!["s".to_owned()],
        settings: Settings { trust, ..Settings::default() },
        lock: Some(lock.clone()),
        aggregate: false,
        nonce: "n".to_owned(),
        over_http: false,
        shelf: Arc::<Memory>::default(),
        meaning: None,
        surfaces: Surfaces::default(),
    };
    for (trust, runs) in [(crate::surface::Trust::Show, true), (crate::surface::Trust::Quarantine, false)] {
        let mut rig = Rig::new(&["s"], false, Arc::default());
        rig.relay = Relay::new(Arc::new(world(trust)));
        rig.open();
        // It calls before it has seen any list: the call waits until it is known what the tool is.
        rig.client(call(1, "a"));
        rig.client(call(2, "b"));
        rig.answer(0, "initialize", opening());
        rig.heard();
        rig.answer(0, "tools/list", json!({"tools":[tool("a"), tool("b")]}));
        let called = rig
            .sent
            .iter()
            .any(|(_, message)| message.bytes.windows(12).any(|part| part == b"\"tools/call\""));
        assert_eq!(called, runs, "{trust:?}: {:?}", rig.sent);
        let heard = rig.heard();
        let denied = heard.iter().find(|message| message["id"] == 2).unwrap();
        assert_eq!(denied["result"]["isError"], true);
        assert!(text_of(denied).contains("not here"), "{denied}");
        // Nor does what the server does not list get around it.
        rig.client(call(3, "hidden"));
        assert_eq!(rig.heard().iter().any(|message| message["result"]["isError"] == true), !runs);
        rig.client(call(4, "secret"));
        assert_eq!(
            rig.heard()[0]["result"]["isError"],
            true,
            "denied by its name, though it was never listed"
        );
        if !runs {
            let held = heard.iter().find(|message| message["id"] == 1).unwrap();
            assert_eq!(held["result"]["isError"], true, "{held}");
        }
    }
}

#[test]
fn a_modern_client_of_an_aggregate_hears_of_changes_on_the_stream_it_asked_for() {
    let meta = json!({"io.modelcontextprotocol/protocolVersion":"2026-07-28",
        "io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}});
    let mut rig = Rig::new(&["x"], true, Arc::default());
    rig.client(json!({"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":meta}}));
    // The server is of the other era: it is opened without any capability.
    let request = rig.take(0, "server/discover");
    rig.server(
        0,
        json!({"jsonrpc":"2.0","id":request["id"],"error":{"code":-32601,"message":"Method not found"}}),
    );
    assert_eq!(rig.answer(0, "initialize", opening())["params"]["capabilities"], json!({}));
    rig.answer(0, "tools/list", json!({"tools":[tool("a")]}));
    let heard = rig.heard();
    assert_eq!(heard[0]["result"]["resultType"], "complete");
    assert_eq!(heard[0]["result"]["supportedVersions"][0], "2026-07-28");
    rig.client(json!({"jsonrpc":"2.0","id":"l","method":"subscriptions/listen","params":{"_meta":meta,"notifications":{"toolsListChanged":true}}}));
    let heard = rig.heard();
    assert_eq!(heard[0]["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(heard[0]["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], "l");
    rig.server(0, json!({"jsonrpc":"2.0","method":"notifications/tools/list_changed"}));
    let last = rig.to_client.last().unwrap().clone();
    assert_eq!(last.about.as_deref(), Some(&b"\"l\""[..]));
    assert!(!last.end);
    rig.heard();
    rig.client(json!({"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"_meta":meta,"name":"x__a","arguments":{"x":"y"}}}));
    // The server may ask nothing that cannot be passed on.
    rig.server(0, json!({"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{}}));
    assert!(String::from_utf8_lossy(&rig.sent.last().unwrap().1.bytes).contains("-32601"));
    rig.answer(0, "tools/call", json!({"content":[]}));
    assert_eq!(rig.heard().last().unwrap()["id"], 2);
    rig.client(json!({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"l"}}));
    rig.server(0, json!({"jsonrpc":"2.0","method":"notifications/tools/list_changed"}));
    assert_eq!(rig.heard(), [] as [Value; 0]);
}
