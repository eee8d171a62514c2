//! The judge behind HTTP.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use deadweight_testkit::strict::{Account, Rule, StrictProvider, Verdict};
use deadweight_testkit::upstream::{Answer, Call, Recorded, Response, Step, Turn, Turns};
use serde_json::{Value, json};

use super::session::{BINDING, BINDING_BETA, OLDER, prose, tools};

/// A connection that is used again and again.
struct Client {
    reader: BufReader<TcpStream>,
    betas: String,
}

impl Client {
    fn new(provider: &StrictProvider) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", provider.port())).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { reader: BufReader::with_capacity(1 << 16, stream), betas: String::new() }
    }

    fn post(&mut self, path: &str, body: &Value) -> (u16, Vec<u8>) {
        let body = body.to_string();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: x\r\nanthropic-beta: {}\r\nContent-Length: {}\r\n\r\n",
            self.betas,
            body.len()
        );
        self.reader.get_mut().write_all(&[head.as_bytes(), body.as_bytes()].concat()).unwrap();
        let mut line = || {
            let mut line = String::new();
            self.reader.read_line(&mut line).unwrap();
            line.trim_end().to_owned()
        };
        let status = line().split(' ').nth(1).unwrap().parse().unwrap();
        let mut length = None;
        loop {
            let header = line();
            if header.is_empty() {
                break;
            }
            if let Some(value) = header.strip_prefix("content-length: ") {
                length = Some(value.parse::<usize>().unwrap());
            }
        }
        let mut body = Vec::new();
        let mut exactly = |reader: &mut BufReader<TcpStream>, length: usize| {
            let start = body.len();
            body.resize(start + length, 0);
            reader.read_exact(&mut body[start..]).unwrap();
        };
        match length {
            Some(length) => exactly(&mut self.reader, length),
            None => loop {
                let mut line = String::new();
                self.reader.read_line(&mut line).unwrap();
                let length = usize::from_str_radix(line.trim_end(), 16).unwrap();
                exactly(&mut self.reader, length);
                self.reader.read_line(&mut line).unwrap();
                if length == 0 {
                    break;
                }
            },
        }
        (status, body)
    }

    fn json(&mut self, path: &str, body: &Value) -> (u16, Value) {
        let (status, body) = self.post(path, body);
        (status, serde_json::from_slice(&body).unwrap())
    }
}

fn request(model: &str, messages: &[Value]) -> Value {
    json!({
        "model": model, "max_tokens": 9, "messages": messages,
        "system": [{ "type": "text", "text": prose(1, 8_000), "cache_control": { "type": "ephemeral" } }]
    })
}

fn user(text: &str) -> Value {
    json!({ "role": "user", "content": text })
}

fn script(turns: impl IntoIterator<Item = Turn>) -> Turns {
    turns.into_iter().collect()
}

#[test]
fn a_stream_says_the_bill_at_both_ends() {
    let provider =
        StrictProvider::start(Account::NEW, script([Turn::text("hello there"), Turn::text("again")]))
            .unwrap();
    let mut client = Client::new(&provider);
    let mut body = request(OLDER, &[user("hi, you")]);
    body["stream"] = true.into();
    let (status, stream) = client.post("/v1/messages?beta=true", &body);
    assert_eq!(status, 200);
    let events: Vec<Value> = String::from_utf8(stream)
        .unwrap()
        .split("\n\n")
        .filter_map(|event| event.split_once("data: ").map(|(_, data)| serde_json::from_str(data).unwrap()))
        .collect();
    let kinds: Vec<_> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!((kinds[0], *kinds.last().unwrap()), ("message_start", "message_stop"));
    assert_eq!(
        events[0]["message"]["usage"],
        json!({
            "input_tokens": 2, "cache_creation_input_tokens": 2_000, "cache_read_input_tokens": 0,
            "cache_creation": { "ephemeral_5m_input_tokens": 2_000, "ephemeral_1h_input_tokens": 0 },
            "output_tokens": 1, "service_tier": "standard"
        })
    );
    let closing = events.iter().find(|event| event["type"] == "message_delta").unwrap();
    assert_eq!(
        (&closing["usage"]["output_tokens"], &closing["usage"]["cache_creation_input_tokens"]),
        (&json!(3), &json!(2_000))
    );
    body["stream"] = false.into();
    let (_, second) = client.json("/v1/messages", &body);
    assert_eq!(second["usage"]["cache_read_input_tokens"], 2_000);
    assert_eq!(second["content"][0]["text"], "again");
    let nanos = 2_000 * 6_250 + 2 * 5_000 + 3 * 25_000 + 2_000 * 500 + 2 * 5_000 + 25_000;
    assert_eq!(provider.bill().nanos, nanos);
    let exchanges = provider.exchanges();
    assert_eq!(exchanges.iter().map(|one| one.bill.unwrap().nanos).sum::<u64>(), nanos);
    assert_eq!(exchanges[0].length, exchanges[0].request.body.len());
}

#[test]
fn a_refusal_goes_out_word_for_word_and_costs_nothing() {
    let provider = StrictProvider::start(Account::NEW, Turns::default()).unwrap();
    let (status, body) = Client::new(&provider).json("/v1/messages", &request(OLDER, &[user("")]));
    assert_eq!(status, 400);
    assert_eq!(
        body,
        json!({
            "type": "error",
            "error": { "type": "invalid_request_error", "message": "messages: text content blocks must be non-empty" },
            "request_id": "req_strict"
        })
    );
    let exchanges = provider.exchanges();
    assert_eq!(exchanges[0].verdict.refusal().map(|refusal| refusal.rule), Some(Rule::EmptyText));
    assert_eq!((provider.bill().nanos, exchanges[0].bill), (0, None));
}

#[test]
fn the_clock_moves_when_the_test_says_so() {
    let provider = StrictProvider::start(Account::NEW, script((0..3).map(|_| Turn::text("so")))).unwrap();
    let mut client = Client::new(&provider);
    let body = request(OLDER, &[user("hi")]);
    let mut read = |seconds: u64| {
        provider.advance(Duration::from_secs(seconds));
        client.json("/v1/messages", &body).1["usage"]["cache_read_input_tokens"].clone()
    };
    assert_eq!((read(0), read(299), read(300)), (json!(0), json!(2_000), json!(0)));
    assert_eq!(provider.now(), Duration::from_secs(599));
}

#[test]
fn requests_that_come_together_each_write() {
    let provider = StrictProvider::start(Account::NEW, script((0..4).map(|_| Turn::text("so")))).unwrap();
    provider.together(3);
    let body = request(OLDER, &[user("hi")]);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| Client::new(&provider).json("/v1/messages", &body));
        }
    });
    Client::new(&provider).json("/v1/messages", &body);
    let usages: Vec<_> = provider.exchanges().iter().map(|one| one.bill.unwrap().usage).collect();
    assert_eq!(usages.iter().map(|usage| usage.write_5m).collect::<Vec<_>>(), [2_000, 2_000, 2_000, 0]);
    assert_eq!(usages[3].read, 2_000);
}

#[test]
fn what_the_script_answers_by_itself_is_neither_billed_nor_kept() {
    let overloaded =
        json!({ "type": "error", "error": { "type": "overloaded_error", "message": "Overloaded" } });
    let mut answers =
        vec![Answer::Raw(Response::json(529, &overloaded)), Turn::text("so").into()].into_iter();
    let provider = StrictProvider::start(Account::NEW, move |_: &Recorded| answers.next().unwrap()).unwrap();
    let mut client = Client::new(&provider);
    let body = request(OLDER, &[user("hi")]);
    assert_eq!(client.json("/v1/messages", &body), (529, overloaded));
    assert_eq!(client.json("/v1/messages", &body).1["usage"]["cache_creation_input_tokens"], 2_000);
    assert_eq!(provider.exchanges()[0].bill, None);
}

#[test]
fn counting_is_free_and_runs_the_same_checks() {
    let provider = StrictProvider::start(Account::NEW, Turns::default()).unwrap();
    let mut client = Client::new(&provider);
    let mut body = request(OLDER, &[user("hi, you")]);
    body.as_object_mut().unwrap().remove("max_tokens");
    assert_eq!(client.json("/v1/messages/count_tokens", &body), (200, json!({ "input_tokens": 2_002 })));
    assert_eq!(client.json("/v1/messages/count_tokens", &request(OLDER, &[user("")])).0, 400);
    assert_eq!(provider.bill().nanos, 0);
}

#[test]
fn the_response_reports_dropped_thinking_when_the_beta_asks() {
    let thinks = |text: &str| {
        Turn::default()
            .then(Step::Thinking { text: "hm".into(), signature: String::new() })
            .then(Step::Text(text.into()))
    };
    let provider = StrictProvider::start(Account::NEW, script([thinks("a"), thinks("b")])).unwrap();
    let mut client = Client::new(&provider);
    client.betas = BINDING_BETA.into();
    let with = |messages: &[Value]| {
        let mut body = request(BINDING, messages);
        body["thinking"] =
            json!({ "type": "adaptive", "block_binding": { "prefix_mismatch_behavior": "drop_block" } });
        body
    };
    let (_, first) = client.json("/v1/messages", &with(&[user("hi")]));
    assert_eq!(first["input_transformations"], json!([]));
    let answer = json!({ "role": "assistant", "content": first["content"] });
    let (_, second) = client.json("/v1/messages", &with(&[user("ho"), answer, user("on")]));
    assert_eq!(
        second["input_transformations"],
        json!([{ "type": "thinking_dropped", "path": "messages.1.content.0", "reason": "prefix_binding_mismatch" }])
    );
}

#[test]
fn diagnostics_say_why_the_cache_missed() {
    let provider = StrictProvider::start(Account::NEW, script((0..6).map(|_| Turn::text("so")))).unwrap();
    let mut client = Client::new(&provider);
    client.betas = "cache-diagnosis-2026-04-07".into();
    let mut ask = |previous: Value, change: fn(&mut Value)| {
        let mut body = request(OLDER, &[user("hi")]);
        body["tools"] = tools();
        body["diagnostics"] = json!({ "previous_message_id": previous });
        change(&mut body);
        let (_, answer) = client.json("/v1/messages", &body);
        (answer["id"].clone(), answer["diagnostics"]["cache_miss_reason"]["type"].clone())
    };
    let (id, reason) = ask(Value::Null, |_| {});
    assert_eq!(reason, Value::Null);
    assert_eq!(ask(id.clone(), |body| body["model"] = "claude-opus-5".into()).1, "model_changed");
    assert_eq!(ask(id.clone(), |body| body["tools"][0]["name"] = "peek".into()).1, "tools_changed");
    assert_eq!(ask(id.clone(), |body| body["system"] = json!("short")).1, "system_changed");
    assert_eq!(ask(id, |body| body["messages"] = json!([user("ho")])).1, "messages_changed");
    assert_eq!(ask("msg_none".into(), |_| {}).1, "previous_message_not_found");
}

#[test]
fn the_other_dialects_are_served_too() {
    let provider = StrictProvider::start(Account::NEW, script((0..5).map(|_| Turn::text("so")))).unwrap();
    let mut client = Client::new(&provider);
    let chat = json!({ "model": "gpt-5.5", "messages": [user(&prose(1, 8_192))] });
    client.json("/v1/chat/completions", &chat);
    let (_, second) = client.json("/v1/chat/completions", &chat);
    assert_eq!(second["usage"]["prompt_tokens_details"]["cached_tokens"], 2_048);
    assert_eq!(second["usage"]["prompt_tokens"], 2_048);
    let newer = json!({ "model": "gpt-5.6", "input": prose(1, 8_192) });
    let (_, answer) = client.json("/v1/responses", &newer);
    assert_eq!(
        answer["usage"]["input_tokens_details"],
        json!({ "cached_tokens": 0, "cache_write_tokens": 2_048 })
    );
    let gemini = json!({ "contents": [{ "role": "user", "parts": [{ "text": prose(1, 16_384) }] }] });
    let (_, answer) = client.json("/v1beta/models/gemini-3-pro:generateContent", &gemini);
    assert_eq!(answer["usageMetadata"]["promptTokenCount"], 4_096);
    let vertex = "/v1/projects/p/locations/global/publishers/anthropic/models/claude-opus-4-8:rawPredict";
    let (_, answer) = client.json(vertex, &json!({ "max_tokens": 9, "messages": [user("hi")] }));
    assert_eq!(
        (answer["model"].clone(), answer["content"][0]["text"].clone()),
        (json!("claude-opus-4-8"), json!("so"))
    );
    assert_eq!(client.json("/v1/nothing", &json!({})).0, 404);
}

/// A long session through HTTP: 150 turns with thinking, parallel calls and results of 1.5 KB.
#[test]
fn a_long_session_is_judged_quickly() {
    let turn = |number: usize| {
        Turn::default()
            .then(Step::Thinking { text: prose(number, 200), signature: String::new() })
            .then(Step::Call(Call::new(format!("a{number}"), "look", json!({ "path": "src/lib.rs" }))))
            .then(Step::Call(Call::new(format!("b{number}"), "edit", json!({ "path": "src/lib.rs" }))))
    };
    let provider = StrictProvider::start(Account::NEW, script((0..150).map(turn))).unwrap();
    provider.keep_bodies(false);
    let mut client = Client::new(&provider);
    let mut messages = vec![user("go")];
    let (begun, mut bytes) = (Instant::now(), 0);
    for number in 0..150 {
        let mut body = request(BINDING, &messages);
        body["tools"] = tools();
        body["cache_control"] = json!({ "type": "ephemeral" });
        let (status, answer) = client.json("/v1/messages", &body);
        assert_eq!(status, 200, "{answer}");
        messages.push(json!({ "role": "assistant", "content": answer["content"] }));
        let result =
            |id: String| json!({ "type": "tool_result", "tool_use_id": id, "content": prose(number, 1_500) });
        messages.push(json!({ "role": "user", "content": [result(format!("a{number}")), result(format!("b{number}"))] }));
        provider.advance(Duration::from_secs(20));
        bytes += provider.with_exchanges(|all| all.last().unwrap().length);
    }
    eprintln!("150 turns, {bytes} bytes of requests, {:?}", begun.elapsed());
    assert!(provider.with_exchanges(|all| all.iter().all(|one| matches!(one.verdict, Verdict::Accepted(_)))));
    let usage = provider.bill().usage;
    // Each token is written once and read from then on.
    assert_eq!(usage.input, 0);
    let last = provider.take_exchanges().pop().unwrap().bill.unwrap().usage;
    assert_eq!(usage.write_5m, last.prompt());
}
