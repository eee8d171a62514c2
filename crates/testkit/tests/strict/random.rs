//! Random sessions: what a faithful client sends is never refused, whatever the session looks like, and nothing at all can be
//! changed before live thinking without the judge seeing it.

use std::time::Duration;

use deadweight_testkit::strict::{Judge, Request, Usage, Verdict};
use deadweight_testkit::upstream::{Call, Step, Turn};
use serde_json::{Value, json};

use super::session::{BINDING, OLDER, content, picture, prose, system, tools};

/// Numbers that only look random.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn one_in(&mut self, bound: u64) -> bool {
        self.below(bound) == 0
    }
}

/// A turn of the model, and the message that answers it.
fn turn(dice: &mut Dice, number: usize) -> (Turn, Value) {
    let mut said = Turn::default();
    let mut answers = Vec::new();
    let calls = dice.below(5);
    if !dice.one_in(3) {
        said = said.then(Step::Thinking { text: prose(number, 60), signature: String::new() });
    }
    if calls == 0 || dice.one_in(2) {
        said = said.then(Step::Text(prose(number, 80)));
    }
    for at in 0..calls {
        if at > 0 && dice.one_in(4) {
            let size = 30 + dice.below(40) as usize;
            said = said.then(Step::Thinking { text: prose(number, size), signature: String::new() });
        }
        let id = format!("toolu_{number}_{at}");
        let input =
            json!({ "path": format!("src/{}.rs", dice.below(9)), "seconds": dice.below(100) as f64 / 4.0 });
        said = said.then(Step::Call(Call::new(&id, if dice.one_in(2) { "look" } else { "edit" }, input)));
        let size = 20 + dice.below(900) as usize;
        let content = match dice.below(6) {
            0 => json!([{ "type": "text", "text": prose(number, size) }, {
                "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": picture() }
            }]),
            1 => json!([{ "type": "tool_reference", "tool_name": "deploy" }]),
            _ => json!(prose(number + at as usize, size)),
        };
        answers.push(json!({ "type": "tool_result", "tool_use_id": id, "content": content }));
    }
    if answers.is_empty() || dice.one_in(5) {
        answers.push(json!({ "type": "text", "text": prose(number, 50) }));
    }
    (said, json!({ "role": "user", "content": answers }))
}

struct Session {
    judge: Judge,
    dice: Dice,
    model: &'static str,
    messages: Vec<Value>,
    at: Duration,
}

impl Session {
    fn new(seed: u64, model: &'static str) -> Self {
        Self {
            judge: Judge::default(),
            dice: Dice(seed),
            model,
            messages: vec![json!({ "role": "user", "content": [{ "type": "text", "text": "go" }] })],
            at: Duration::ZERO,
        }
    }

    fn body(&mut self) -> Value {
        let mut messages = self.messages.clone();
        // The client turns lone texts into strings as it likes, and marks the end.
        for message in messages.iter_mut() {
            if let [only] = message["content"].as_array().unwrap().as_slice()
                && only["type"] == "text"
                && self.dice.one_in(2)
            {
                message["content"] = only["text"].clone();
            }
        }
        if let Some(block) =
            messages.last_mut().unwrap()["content"].as_array_mut().and_then(|blocks| blocks.last_mut())
        {
            block["cache_control"] = json!({ "type": "ephemeral" });
        }
        json!({ "model": self.model, "max_tokens": 99, "messages": messages, "system": system(), "tools": tools() })
    }

    fn ask(&mut self, body: &Value) -> Verdict {
        let bytes = body.to_string().into_bytes();
        self.judge.judge(Request { path: "/v1/messages", headers: &[], body: &bytes, at: self.at })
    }

    /// One exchange of a faithful client.
    fn step(&mut self, number: usize) -> Usage {
        let body = self.body();
        let accepted = match self.ask(&body) {
            Verdict::Accepted(accepted) => accepted,
            Verdict::Refused(refusal) => panic!("turn {number}: {} {}", refusal.rule, refusal.message),
        };
        assert!(accepted.thinking.is_empty());
        let (said, answer) = turn(&mut self.dice, number);
        self.judge.begin(&accepted.ticket, self.at + Duration::from_secs(1));
        let (said, _) = self.judge.answer(&accepted.ticket, said);
        self.messages.push(json!({ "role": "assistant", "content": content(&said) }));
        self.messages.push(answer);
        if self.dice.one_in(9) {
            self.messages.push(
                json!({ "role": "system", "content": [{ "type": "text", "text": prose(number, 40) }] }),
            );
        }
        self.at += Duration::from_secs(if self.dice.one_in(8) { 400 } else { 20 });
        accepted.usage
    }
}

#[test]
fn a_faithful_client_is_never_refused_and_pays_for_each_token_once_a_request() {
    for seed in 0..40 {
        let mut session = Session::new(seed, if seed % 2 == 0 { BINDING } else { OLDER });
        let mut before = 0;
        let mut written = 0;
        for number in 0..30 {
            let usage = session.step(number);
            assert!(usage.prompt() >= before, "a history only grows");
            assert!(usage.read <= written, "nothing is read that was not written");
            before = usage.prompt();
            written += usage.written();
        }
    }
}

/// The paths of all strings, numbers and truths below a value, marks apart.
fn leaves(value: &Value, path: String, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (key, inner) in members.iter().filter(|(key, _)| *key != "cache_control") {
                leaves(inner, format!("{path}/{key}"), found);
            }
        }
        Value::Array(items) => {
            for (at, inner) in items.iter().enumerate() {
                leaves(inner, format!("{path}/{at}"), found);
            }
        }
        _ => found.push(path),
    }
}

#[test]
fn nothing_can_be_changed_before_live_thinking() {
    let mut changed = 0;
    for seed in 100..112 {
        let mut session = Session::new(seed, BINDING);
        for number in 0..12 {
            session.step(number);
        }
        let thinks = |message: &Value| {
            let blocks = message["content"].as_array().map(Vec::as_slice).unwrap_or_default();
            blocks.iter().any(|block| block["type"] == "thinking")
        };
        let Some(last) = session.messages.iter().rposition(thinks) else { continue };
        let body = session.body();
        assert!(session.ask(&body).accepted().is_some());
        let mut found = Vec::new();
        leaves(&body["system"], "/system".into(), &mut found);
        leaves(&body["messages"], "/messages".into(), &mut found);
        for at in 0..3 {
            leaves(&body["tools"][at], format!("/tools/{at}"), &mut found);
        }
        found.retain(|path| {
            let message = path
                .strip_prefix("/messages/")
                .and_then(|rest| rest.split('/').next()?.parse::<usize>().ok());
            message.is_none_or(|message| message < last)
        });
        for path in &found {
            let mut other = body.clone();
            let leaf = other.pointer_mut(path).unwrap();
            *leaf = match leaf {
                Value::String(text) => format!("{text}x").into(),
                Value::Number(number) => (number.as_f64().unwrap() + 1.0).into(),
                Value::Bool(truth) => (!*truth).into(),
                _ => "x".into(),
            };
            let verdict = session.ask(&other);
            assert!(verdict.refusal().is_some(), "seed {seed}: {path} was changed unseen");
            changed += 1;
        }
    }
    assert!(changed > 1_000, "{changed}");
}
