//! Whatever happens, in any order: every request ends in one answer.

use super::super::frame::Key;
use super::super::port::Kind;
use super::{Rig, opening, tool};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// What can happen.
#[derive(Debug, Clone)]
enum Happening {
    List,
    Call(usize),
    Other(usize),
    Cancel(usize),
    Answer(usize),
    AnswerTwice(usize),
    Refuse(usize),
    Garbage(usize),
    Changed(usize),
    Ask(usize),
    End(usize),
    Wait,
}

fn happening() -> impl Strategy<Value = Happening> {
    use Happening::{
        Answer, AnswerTwice, Ask, Call, Cancel, Changed, End, Garbage, List, Other, Refuse, Wait,
    };
    prop_oneof![
        2 => Just(List),
        4 => (0usize..6).prop_map(Call),
        2 => (0usize..6).prop_map(Other),
        1 => (0usize..40).prop_map(Cancel),
        8 => (0usize..40).prop_map(Answer),
        1 => (0usize..40).prop_map(AnswerTwice),
        1 => (0usize..40).prop_map(Refuse),
        1 => (0usize..2).prop_map(Garbage),
        1 => (0usize..2).prop_map(Changed),
        1 => (0usize..2).prop_map(Ask),
        1 => (0usize..2).prop_map(End),
        1 => Just(Wait),
    ]
}

fn result_of(method: &str) -> Value {
    match method {
        "initialize" => opening(),
        "tools/list" => json!({"tools":[tool("a"), tool("b")]}),
        "prompts/list" => json!({"prompts":[{"name":"p"}]}),
        _ => json!({"content":[]}),
    }
}

impl Rig {
    fn reply(&mut self, index: usize, error: bool, times: usize) {
        let requests: Vec<usize> =
            (0..self.sent.len()).filter(|at| matches!(self.sent[*at].1.kind, Kind::Request { .. })).collect();
        let Some(at) = requests.get(index % requests.len().max(1)) else { return };
        let (server, message) = self.sent.remove(*at);
        let Kind::Request { id, method } = &message.kind else { return };
        let id: Value = serde_json::from_slice(id).unwrap();
        let answer = if error {
            json!({"jsonrpc":"2.0","id":id,"error":{"code":-1,"message":"no"}})
        } else {
            json!({"jsonrpc":"2.0","id":id,"result":result_of(method)})
        };
        for _ in 0..times {
            self.server(server, answer.clone());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// Whatever happens: no request is answered twice; none that was taken back is answered after that; and when the servers
    /// have ended for good, or have answered, every other one has been answered.
    #[test]
    fn every_request_ends_in_one_answer(
        aggregate in any::<bool>(),
        happenings in prop::collection::vec(happening(), 0..60),
    ) {
        let labels: &[&str] = if aggregate { &["x", "y"] } else { &["x"] };
        let mut rig = Rig::new(labels, aggregate, Arc::default());
        rig.open();
        let mut asked: BTreeMap<Key, bool> = BTreeMap::new();
        asked.insert(Key::of(b"\"i\""), false);
        let mut last = 100;
        let mut ask = |rig: &mut Rig, id: i32, method: &str, params: Value| {
            asked.insert(Key::of(id.to_string().as_bytes()), false);
            rig.client(json!({"jsonrpc":"2.0","id":id,"method":method,"params":params}));
        };
        let mut taken_back: Vec<(i32, usize)> = Vec::new();
        for happening in happenings {
            match happening {
                Happening::List => { last += 1; ask(&mut rig, last, "tools/list", json!({})); }
                Happening::Call(index) => {
                    let name = ["a", "x__a", "b", "x__b", "y__a", "nope"][index];
                    last += 1;
                    ask(&mut rig, last, "tools/call", json!({"name":name,"arguments":{"x":"1"}}));
                }
                Happening::Other(index) => {
                    let method = ["ping", "prompts/list", "resources/read", "prompts/get", "x/y", "tasks/list"][index];
                    last += 1;
                    ask(&mut rig, last, method, json!({"name":"x__p","uri":"u:"}));
                }
                Happening::Cancel(index) => {
                    let id = 101 + i32::try_from(index).unwrap();
                    if id > last {
                        continue;
                    }
                    rig.client(json!({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":id}}));
                    taken_back.push((id, rig.to_client.len()));
                }
                Happening::Answer(index) => rig.reply(index, false, 1),
                Happening::AnswerTwice(index) => rig.reply(index, false, 2),
                Happening::Refuse(index) => rig.reply(index, true, 1),
                Happening::Garbage(server) if server < labels.len() => {
                    rig.server_raw(server, "{\"x\"".to_owned());
                    rig.server_raw(server, "hello".to_owned());
                    rig.server_raw(server, r#"{"jsonrpc":"2.0","id":9999,"result":{}}"#.to_owned());
                }
                Happening::Changed(server) if server < labels.len() => {
                    rig.server(server, json!({"jsonrpc":"2.0","method":"notifications/tools/list_changed"}));
                }
                Happening::Ask(server) if server < labels.len() => {
                    rig.server(server, json!({"jsonrpc":"2.0","id":1,"method":"roots/list"}));
                }
                Happening::End(server) if server < labels.len() && rig.generation(server) > 0 => rig.end(server),
                Happening::Wait => {
                    rig.now += Duration::from_secs(7);
                    rig.relay.tick(rig.now);
                    rig.collect();
                }
                _ => {}
            }
        }
        // From here on the servers answer everything, and time passes.
        for _ in 0..200 {
            while rig.sent.iter().any(|(_, message)| matches!(message.kind, Kind::Request { .. })) {
                rig.reply(0, false, 1);
            }
            rig.now += Duration::from_secs(7);
            rig.relay.tick(rig.now);
            rig.collect();
            rig.sent.retain(|(_, message)| matches!(message.kind, Kind::Request { .. }));
        }
        let mut answers: BTreeMap<Key, usize> = BTreeMap::new();
        for (at, message) in rig.to_client.iter().enumerate() {
            let value: Value = serde_json::from_slice(&message.bytes).unwrap();
            if value.get("method").is_some() || !message.end {
                continue;
            }
            let key = Key::of(value["id"].to_string().as_bytes());
            *answers.entry(key.clone()).or_default() += 1;
            let late = taken_back.iter().find(|(id, since)| Key::of(id.to_string().as_bytes()) == key && at >= *since);
            prop_assert!(late.is_none(), "{key:?} was answered after it was taken back");
        }
        for key in asked.keys() {
            let count = answers.get(key).copied().unwrap_or_default();
            let cancelled = taken_back.iter().any(|(id, _)| Key::of(id.to_string().as_bytes()) == *key);
            prop_assert!(count <= 1, "{key:?} was answered {count} times");
            prop_assert!(count == 1 || cancelled, "{key:?} was never answered; {:?}", rig.notes);
        }
    }
}
