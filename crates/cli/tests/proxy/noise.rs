//! Servers that say too much or what is none of the protocol.

use deadweight_testkit::scripted_mcp::{Act, Script};
use serde_json::{Value, json};

use crate::case::{Case, failed, script, text};

/// A script whose tool `noise` does this and then answers.
fn noisy(name: &str, acts: impl IntoIterator<Item = Act>) -> Script {
    script(name).tool("noise").on("tools/call:noise", acts.into_iter().chain([Act::Proceed]))
}

fn answers_all_the_same(script: Script) {
    let mut case = Case::new(script);
    for _ in 0..2 {
        let id = case.ask("noise", &json!({ "text": "loud" }));
        let answer = case.answer(id);
        assert_eq!(text(&answer), r#"noise {"text":"loud"}"#, "{answer}");
    }
    case.works();
    case.leave(&[]);
}

#[test]
fn a_flood_on_standard_error() {
    answers_all_the_same(noisy("flood", [Act::StderrFlood(8 << 20)]));
}

#[test]
fn lines_that_are_no_json() {
    let lines = ["hello", "", "INFO {server} is ready", "\u{feff}", "  ", "---"];
    answers_all_the_same(noisy("no-json", lines.map(|line| Act::Stdout(line.to_owned()))));
}

/// A message that cannot be read may have been the answer: then the call ends with an error instead of never.
#[test]
fn messages_that_are_broken_end_no_more_than_a_call() {
    for line in ["{broken", "{\"jsonrpc\":\"2.0\",", "[1, 2", "\"text\"", "[]", "17"] {
        let mut case = Case::new(noisy("broken", [Act::Stdout(line.to_owned())]));
        for _ in 0..2 {
            let id = case.ask("noise", &json!({ "text": "loud" }));
            let answer = case.answer(id);
            assert!(text(&answer) == r#"noise {"text":"loud"}"# || failed(&answer), "{line}: {answer}");
            case.works();
        }
        case.leave(&[]);
    }
}

#[test]
fn bytes_that_are_no_text() {
    answers_all_the_same(noisy("no-text", [Act::StdoutHex("fffe00c3280a".to_owned())]));
}

#[test]
fn messages_of_no_known_kind_pass_or_are_dropped() {
    let lines = [
        r#"{"jsonrpc":"2.0"}"#,
        r#"{"jsonrpc":"2.0","id":{"a":1},"result":{}}"#,
        r#"{"jsonrpc":"2.0","method":7}"#,
        r#"{"id":1}"#,
    ];
    answers_all_the_same(noisy("odd", lines.map(|line| Act::Stdout(line.to_owned()))));
}

#[test]
fn a_notification_that_nobody_knows_passes_as_its_bytes_stand() {
    let odd = r#"{"jsonrpc":"2.0",  "method":"notifications/x-own", "params":{"b":1.0,"a":[1e2, "\u00e9"]}}"#;
    let mut case = Case::new(noisy("unknown", [Act::Stdout(odd.to_owned())]));
    let id = case.ask("noise", &json!({}));
    case.answer(id);
    assert!(case.client.seen().iter().any(|line| line == odd), "{:#?}", case.client.seen());
    case.leave(&[]);
}

#[test]
fn twenty_megabytes_in_one_line() {
    const BYTES: usize = 20 << 20;
    let mut case = Case::new(script("big").tool("big").on("tools/call:big", [Act::AnswerText(BYTES)]));
    let id = case.ask("big", &json!({}));
    let answer = case.answer(id);
    assert_eq!(text(&answer).len(), BYTES);
    // And the other way.
    let words = "x".repeat(BYTES);
    let id = case.ask("echo", &json!({ "text": words }));
    let answer = case.answer(id);
    assert_eq!(text(&answer).len(), BYTES + r#"echo {"text":""}"#.len());
    case.works();
    case.leave(&[]);
}

#[test]
fn a_result_keeps_its_bytes() {
    let result = r#"{"jsonrpc":"2.0","id":$ID,"result":{ "content":[{"type":"text","text":"\u0041\/ é 😀","annotations":{"priority":0.10}}],"structuredContent":{"big":123456789012345678901234567890,"exp":1E+2,"dup":1,"dup":2},"x-own":{"z":null,"a":[ ]},"_meta":{"k":"v"}}}"#;
    let mut case =
        Case::new(script("bytes").tool("bytes").on("tools/call:bytes", [Act::Answer(result.to_owned())]));
    let id = case.ask("bytes", &json!({}));
    case.answer(id);
    let expected = result.replace("$ID", &id.to_string());
    let seen = case.client.seen();
    let tail = |line: &str| line.split_once(r#""result":"#).map(|(_, tail)| tail.to_owned());
    assert!(seen.iter().any(|line| tail(line) == tail(&expected)), "{seen:#?}");
    case.leave(&[]);
}

#[test]
fn a_server_asks_its_client_while_a_call_runs() {
    let ask =
        Act::Ask { method: "roots/list".to_owned(), reply: json!({ "roots": [{ "uri": "file:///x" }] }) };
    let mut case = Case::silent(noisy("asks", [ask]), &["--surface", "eager"]);
    let hello = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": { "roots": {} },
        "clientInfo": { "name": "proof", "version": "1.0" }
    });
    case.client.request("initialize", &hello).unwrap();
    case.client.tell("notifications/initialized", &json!({})).unwrap();
    let id = case.ask("noise", &json!({}));
    let asked = case.client.wait(crate::case::PATIENCE, |message| message["method"] == "roots/list").unwrap();
    let reply =
        json!({ "jsonrpc": "2.0", "id": asked["id"], "result": { "roots": [{ "uri": "file:///x" }] } });
    case.client.send(&reply).unwrap();
    let answer = case.answer(id);
    assert_eq!(text(&answer), "noise {}", "{answer}");
    case.leave(&[]);
}

#[test]
fn a_hundred_pings_of_the_server_are_the_clients_or_the_proxys_to_answer() {
    let mut case = Case::new(noisy("pings", [Act::Pings(100)]));
    let id = case.ask("noise", &json!({}));
    case.answer(id);
    let pings: Vec<Value> = case
        .client
        .seen()
        .iter()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message["method"] == "ping")
        .collect();
    for ping in pings {
        case.client.send(&json!({ "jsonrpc": "2.0", "id": ping["id"], "result": {} })).unwrap();
    }
    case.works();
    case.leave(&[]);
}
