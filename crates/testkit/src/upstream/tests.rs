use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use super::*;

/// Sends `bytes` to the provider and reads until it closes the connection.
fn exchange(upstream: &Upstream, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", upstream.port())).unwrap();
    stream.write_all(bytes).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    String::from_utf8(answer).unwrap()
}

fn post(path: &str, body: &Value) -> Vec<u8> {
    let body = body.to_string();
    format!(
        "POST {path} HTTP/1.1\r\nHost: x\r\nX-Odd-Case: 1\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// The pieces of a chunked body.
fn pieces(answer: &str) -> Vec<String> {
    let (head, mut rest) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.contains("transfer-encoding: chunked"), "{head}");
    let mut pieces = Vec::new();
    loop {
        let (length, tail) = rest.split_once("\r\n").unwrap();
        let length = usize::from_str_radix(length, 16).unwrap();
        if length == 0 {
            return pieces;
        }
        pieces.push(tail[..length].to_owned());
        rest = &tail[length + 2..];
    }
}

fn data(piece: &str) -> Value {
    serde_json::from_str(piece.split_once("data: ").unwrap().1.trim()).unwrap()
}

fn turn() -> Turn {
    Turn::default()
        .then(Step::Thinking { text: "hm".into(), signature: "sig".into() })
        .then(Step::Text("Grüße, 世界".into()))
        .then(Step::Call(Call::new("call_1", "look", json!({ "at": [1, 2] }))))
        .with_usage(Usage { input: 100, cache_read: 20, cache_write: 3, output: 7 })
}

#[test]
fn a_request_is_recorded_byte_for_byte() {
    let upstream = Upstream::start([Turn::text("ok")].into_iter().collect()).unwrap();
    let body = br#"{ "model" : "m",  "messages":[ ] }"#;
    let mut request = format!(
        "POST /v1/messages?beta=true HTTP/1.1\r\nX-Odd-Case:  a b \r\nContent-Length: {}\r\n\r\n",
        body.len()
    )
    .into_bytes();
    request.extend(body);
    exchange(&upstream, &request);
    let [recorded] = &upstream.requests()[..] else { panic!("one request") };
    assert_eq!(recorded.body, body);
    assert_eq!((recorded.method.as_str(), recorded.path.as_str()), ("POST", "/v1/messages?beta=true"));
    assert_eq!(recorded.headers[0], ("X-Odd-Case".to_owned(), "a b".to_owned()));
    assert_eq!(recorded.header("content-LENGTH"), Some("34"));
}

#[test]
fn a_chunked_request_is_put_together() {
    let upstream = Upstream::start([Turn::text("ok")].into_iter().collect()).unwrap();
    let request = b"POST /v1/messages HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{\"a\r\n5;x=y\r\n\":12}\r\n0\r\n\r\n";
    assert!(exchange(&upstream, request).starts_with("HTTP/1.1 200 OK\r\n"));
    assert_eq!(upstream.requests()[0].body, br#"{"a":12}"#);
}

#[test]
fn one_connection_carries_many_requests_and_their_turns_in_order() {
    let upstream =
        Upstream::start([Turn::text("first"), Turn::text("second")].into_iter().collect()).unwrap();
    let request = post("/v1/chat/completions", &json!({ "model": "m" }));
    let answer = exchange(&upstream, &[request.clone(), request].concat());
    let (first, second) = (answer.find(r#""content":"first""#), answer.find(r#""content":"second""#));
    assert!(first.is_some() && first < second, "{answer}");
    assert_eq!(upstream.requests().len(), 2);
}

#[test]
fn a_script_that_has_run_out_is_an_error_and_not_an_answer() {
    let upstream = Upstream::start(Turns::default()).unwrap();
    let answer = exchange(&upstream, &post("/v1/messages", &json!({ "model": "m" })));
    assert!(answer.starts_with("HTTP/1.1 500 ") && answer.contains("no further turn"), "{answer}");
}

#[test]
fn asides_do_not_use_up_turns() {
    let upstream = Upstream::start([Turn::text("the turn")].into_iter().collect()).unwrap();
    let count = exchange(&upstream, &post("/v1/messages/count_tokens", &json!({})));
    assert!(count.ends_with(r#"{"input_tokens":0}"#), "{count}");
    assert!(exchange(&upstream, b"HEAD / HTTP/1.1\r\n\r\n").ends_with("\r\n\r\n"));
    assert!(exchange(&upstream, b"GET /v1/models HTTP/1.1\r\n\r\n").contains("mock-model"));
    assert!(exchange(&upstream, &post("/v1/messages", &json!({}))).contains("the turn"));
    assert_eq!(upstream.requests().len(), 4);
}

#[test]
fn anthropic_streams_its_blocks_and_both_halves_of_the_usage() {
    let upstream = Upstream::start([turn()].into_iter().collect()).unwrap();
    let answer = exchange(&upstream, &post("/v1/messages", &json!({ "model": "m", "stream": true })));
    let events: Vec<Value> = pieces(&answer).iter().map(|piece| data(piece)).collect();
    let of = |kind: &str| events.iter().filter(|event| event["type"] == kind).cloned().collect::<Vec<_>>();
    assert_eq!(of("message_start")[0]["message"]["usage"]["cache_read_input_tokens"], 20);
    assert_eq!(of("message_delta")[0]["usage"]["output_tokens"], 7);
    assert_eq!(of("message_delta")[0]["delta"]["stop_reason"], "tool_use");
    let joined = |member: &str| -> String {
        of("content_block_delta")
            .iter()
            .filter_map(|event| event["delta"][member].as_str().map(str::to_owned))
            .collect()
    };
    assert_eq!(joined("text"), "Grüße, 世界");
    assert_eq!(joined("partial_json"), r#"{"at":[1,2]}"#);
    assert_eq!(joined("signature"), "sig");
    assert_eq!(events.last().unwrap()["type"], "message_stop");
}

#[test]
fn openai_chat_streams_usage_only_when_asked() {
    let upstream = Upstream::start([turn(), turn()].into_iter().collect()).unwrap();
    let plain = exchange(&upstream, &post("/v1/chat/completions", &json!({ "model": "m", "stream": true })));
    assert!(!plain.contains("prompt_tokens"), "{plain}");
    let request = json!({ "model": "m", "stream": true, "stream_options": { "include_usage": true } });
    let answer = exchange(&upstream, &post("/v1/chat/completions", &request));
    let all = pieces(&answer);
    assert_eq!(all.last().unwrap(), "data: [DONE]\n\n");
    assert_eq!(data(&all[all.len() - 2])["usage"]["prompt_tokens"], 123);
    let arguments: String = all[..all.len() - 1]
        .iter()
        .filter_map(|piece| {
            data(piece)
                .pointer("/choices/0/delta/tool_calls/0/function/arguments")?
                .as_str()
                .map(str::to_owned)
        })
        .collect();
    assert_eq!(arguments, r#"{"at":[1,2]}"#);
}

#[test]
fn openai_responses_end_with_the_whole_response() {
    let upstream = Upstream::start([turn()].into_iter().collect()).unwrap();
    let answer = exchange(&upstream, &post("/v1/responses", &json!({ "model": "m", "stream": true })));
    let events: Vec<Value> = pieces(&answer).iter().map(|piece| data(piece)).collect();
    let last = events.last().unwrap();
    assert_eq!(last["type"], "response.completed");
    assert_eq!(last["sequence_number"], events.len() - 1);
    assert_eq!(last["response"]["usage"]["input_tokens"], 123);
    let kinds: Vec<&str> = last["response"]["output"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["type"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["reasoning", "message", "function_call"]);
}

#[test]
fn gemini_answers_whole_and_as_events() {
    let upstream = Upstream::start([turn(), turn()].into_iter().collect()).unwrap();
    let whole = exchange(&upstream, &post("/v1beta/models/g-pro:generateContent", &json!({})));
    assert!(whole.contains(r#""modelVersion":"g-pro""#), "{whole}");
    let answer = exchange(&upstream, &post("/v1beta/models/g-pro:streamGenerateContent?alt=sse", &json!({})));
    let events: Vec<Value> = pieces(&answer).iter().map(|piece| data(piece)).collect();
    let last = events.last().unwrap();
    assert_eq!(last["candidates"][0]["finishReason"], "STOP");
    assert_eq!(last["usageMetadata"]["cachedContentTokenCount"], 20);
    assert_eq!(last.pointer("/candidates/0/content/parts/0/functionCall/name").unwrap(), "look");
}

#[test]
fn a_stream_can_be_cut() {
    let delivery = Delivery { cut_after: Some(2), ..Delivery::default() };
    let upstream = Upstream::start([turn().delivered(delivery)].into_iter().collect()).unwrap();
    let answer = exchange(&upstream, &post("/v1/messages", &json!({ "model": "m", "stream": true })));
    assert!(answer.contains("message_start") && !answer.contains("message_stop"), "{answer}");
    assert!(!answer.ends_with("0\r\n\r\n"));
}

#[test]
fn a_closure_decides_by_the_request() {
    let upstream = Upstream::with_script(|request: &Recorded| {
        Turn::text(format!("model {}", request.json()["model"].as_str().unwrap_or("?"))).into()
    })
    .unwrap();
    assert!(exchange(&upstream, &post("/v1/messages", &json!({ "model": "m-1" }))).contains("model m-1"));
}
