//! OpenAI and Gemini: what their caches count, and what they ask of reasoning.

use std::time::Duration;

use deadweight_testkit::strict::{Accepted, Judge, Request, Rule, Verdict};
use deadweight_testkit::upstream::{Call, Step, Turn};
use serde_json::{Value, json};

use super::session::prose;

const CHAT: &str = "/v1/chat/completions";
const RESPONSES: &str = "/v1/responses";

fn judged(judge: &mut Judge, path: &str, seconds: u64, body: &Value) -> Verdict {
    let body = body.to_string().into_bytes();
    judge.judge(Request { path, headers: &[], body: &body, at: Duration::from_secs(seconds) })
}

fn accepted(judge: &mut Judge, path: &str, seconds: u64, body: &Value) -> Accepted {
    match judged(judge, path, seconds, body) {
        Verdict::Accepted(accepted) => {
            judge.begin(&accepted.ticket, Duration::from_secs(seconds));
            *accepted
        }
        Verdict::Refused(refusal) => panic!("{}: {}", refusal.rule, refusal.message),
    }
}

fn rule(judge: &mut Judge, path: &str, body: &Value) -> Option<Rule> {
    judged(judge, path, 0, body).refusal().map(|refusal| refusal.rule)
}

fn says(role: &str, tokens: usize) -> Value {
    json!({ "role": role, "content": prose(tokens, tokens * 4) })
}

#[test]
fn chat_reads_whole_items_in_steps_of_128() {
    let mut judge = Judge::default();
    let body = |messages: &[Value]| json!({ "model": "gpt-5.5", "messages": messages });
    let (system, one, two) = (says("system", 1_000), says("user", 130), says("user", 500));
    let first = accepted(&mut judge, CHAT, 0, &body(&[system.clone(), one.clone()]));
    assert_eq!((first.usage.input, first.usage.read), (1_130, 0));
    let answer = says("assistant", 20);
    let second =
        accepted(&mut judge, CHAT, 1, &body(&[system.clone(), one.clone(), answer.clone(), two.clone()]));
    // 1,130 tokens are there; eight steps are 1,024.
    assert_eq!((second.usage.input, second.usage.read), (1_650 - 1_024, 1_024));
    let third = accepted(&mut judge, CHAT, 2, &body(&[system.clone(), one.clone(), answer, two]));
    assert_eq!(third.usage.read, 12 * 128);
    // The first thousand alone are too few, and after five minutes nothing is left.
    let other = accepted(&mut judge, CHAT, 3, &body(&[system.clone(), says("user", 131)]));
    assert_eq!(other.usage.read, 0);
    let late = accepted(&mut judge, CHAT, 400, &body(&[system, one]));
    assert_eq!(late.usage.read, 0);
}

#[test]
fn newer_models_count_what_they_write() {
    let mut judge = Judge::default();
    let body = json!({ "model": "gpt-5.6", "messages": [says("user", 1_280)] });
    let first = accepted(&mut judge, CHAT, 0, &body);
    assert_eq!((first.usage.input, first.usage.write_5m), (0, 1_280));
    assert_eq!(first.bill.nanos, 1_280 * 1_250 * 5 / 4);
    let second = accepted(&mut judge, CHAT, 1, &body);
    assert_eq!((second.usage.read, second.usage.write_5m), (1_280, 0));
    assert_eq!(second.bill.nanos, 1_280 * 125);
}

#[test]
fn a_changed_tool_loses_everything() {
    let mut judge = Judge::default();
    let body = |description: &str| {
        json!({
            "model": "gpt-5.5", "messages": [says("user", 1_280)],
            "tools": [{ "type": "function", "function": { "name": "look", "description": description, "parameters": {} } }]
        })
    };
    accepted(&mut judge, CHAT, 0, &body("Looks."));
    assert!(accepted(&mut judge, CHAT, 1, &body("Looks.")).usage.read > 0);
    assert_eq!(accepted(&mut judge, CHAT, 2, &body("Looks at it.")).usage.read, 0);
}

/// A response with reasoning and a call: its items as a client sends them back.
fn reasoned(judge: &mut Judge, body: &Value) -> (String, Value, Value) {
    let first = accepted(judge, RESPONSES, 0, body);
    let turn = Turn::default()
        .then(Step::Thinking { text: "hm".into(), signature: String::new() })
        .then(Step::Call(Call::new("call_1", "look", json!({ "at": 1 }))));
    let (said, _) = judge.answer(&first.ticket, turn);
    let serial = first.ticket.serial();
    let Step::Thinking { signature, .. } = &said.steps[0] else { panic!("thinking first") };
    let reasoning = json!({
        "type": "reasoning", "id": format!("rs_{serial}0"), "summary": [], "encrypted_content": signature
    });
    let call = json!({
        "type": "function_call", "id": format!("fc_{serial}1"), "call_id": "call_1", "name": "look", "arguments": "{\"at\":1}"
    });
    (format!("resp_{serial}"), reasoning, call)
}

#[test]
fn reasoning_and_its_item_stay_together() {
    let mut judge = Judge::default();
    let question = json!({ "role": "user", "content": "hi" });
    let (_, reasoning, call) = reasoned(&mut judge, &json!({ "model": "gpt-5.5", "input": [question] }));
    let output = json!({ "type": "function_call_output", "call_id": "call_1", "output": "ok" });
    let mut fate = |input: Value| rule(&mut judge, RESPONSES, &json!({ "model": "gpt-5.5", "input": input }));
    assert_eq!(fate(json!([question, reasoning, call, output])), None);
    assert_eq!(fate(json!([question, call, output])), Some(Rule::ReasoningMissing));
    assert_eq!(fate(json!([question, call, reasoning, output])), Some(Rule::ReasoningMissing));
    assert_eq!(fate(json!([question, reasoning])), Some(Rule::ReasoningAlone));
    assert_eq!(fate(json!([question, reasoning, question])), Some(Rule::ReasoningAlone));
    let mut forged = reasoning.clone();
    forged["encrypted_content"] = "AAAA".into();
    assert_eq!(fate(json!([question, forged, call, output])), Some(Rule::ReasoningForged));
    // Who takes ids and reasoning away altogether is free.
    let mut nameless = call.clone();
    nameless.as_object_mut().unwrap().remove("id");
    assert_eq!(fate(json!([question, nameless, output])), None);
}

#[test]
fn the_missing_reasoning_is_named() {
    let mut judge = Judge::default();
    let question = json!({ "role": "user", "content": "hi" });
    let (_, _, call) = reasoned(&mut judge, &json!({ "model": "gpt-5.5", "input": [question] }));
    let verdict = judged(&mut judge, RESPONSES, 0, &json!({ "model": "gpt-5.5", "input": [question, call] }));
    assert_eq!(
        verdict.refusal().unwrap().message,
        "Item 'fc_000000001' of type 'function_call' was provided without its required 'reasoning' item: 'rs_000000000'."
    );
}

#[test]
fn a_delta_is_judged_and_billed_with_what_it_continues() {
    let mut judge = Judge::default();
    let question = says("user", 1_300);
    let (id, _, _) = reasoned(&mut judge, &json!({ "model": "gpt-5.5", "input": [question] }));
    let output = json!({ "type": "function_call_output", "call_id": "call_1", "output": "okay" });
    let delta = |input: Value| json!({ "model": "gpt-5.5", "previous_response_id": id, "input": input });
    assert_eq!(rule(&mut judge, RESPONSES, &delta(json!([question]))), Some(Rule::ResponsesOrphanCall));
    let second = accepted(&mut judge, RESPONSES, 1, &delta(json!([output])));
    assert_eq!(second.usage.read, 1_280);
    // `hm`, `look` and `{"at":1}` are 1 and 3 tokens; `okay` is one.
    assert_eq!(second.usage.prompt(), 1_300 + 4 + 1);
    let unknown = json!({ "model": "gpt-5.5", "previous_response_id": "resp_none", "input": "hi" });
    assert_eq!(rule(&mut judge, RESPONSES, &unknown), Some(Rule::Shape));
}

const GEMINI: &str = "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse";

fn part(text: String) -> Value {
    json!({ "role": "user", "parts": [{ "text": text }] })
}

#[test]
fn gemini_keeps_long_prefixes_by_itself() {
    let mut judge = Judge::default();
    let path = "/v1beta/models/gemini-2.5-pro:generateContent";
    let body = |contents: &[Value]| json!({ "contents": contents });
    let question = part(prose(1, 4 * 2_048));
    assert_eq!(accepted(&mut judge, path, 0, &body(std::slice::from_ref(&question))).usage.input, 2_048);
    let answer = json!({ "role": "model", "parts": [{ "text": "so" }] });
    let second = accepted(&mut judge, path, 1, &body(&[question, answer, part("more".into())]));
    // `so` is half a token, rounded up; `more` is one.
    assert_eq!((second.usage.read, second.usage.input), (2_048, 2));
    let short = part(prose(2, 4 * 2_047));
    assert_eq!(accepted(&mut judge, path, 2, &body(std::slice::from_ref(&short))).usage.read, 0);
    assert_eq!(accepted(&mut judge, path, 3, &body(std::slice::from_ref(&short))).usage.read, 0);
    let counted = judged(&mut judge, "/v1beta/models/gemini-2.5-pro:countTokens", 4, &body(&[short]));
    assert_eq!(counted.accepted().map(|one| (one.usage.prompt(), one.ticket.counting)), Some((2_047, true)));
}

#[test]
fn the_calls_of_the_current_turn_keep_their_signatures() {
    let mut judge = Judge::default();
    let question = part("hi".into());
    let first = accepted(&mut judge, GEMINI, 0, &json!({ "contents": [question] }));
    let calls = Turn::default()
        .then(Step::Call(Call::new("c1", "look", json!({}))))
        .then(Step::Call(Call::new("c2", "edit", json!({}))));
    let (said, _) = judge.answer(&first.ticket, calls);
    let Step::Raw(signed) = &said.steps[0] else { panic!("a signed part") };
    let second = json!({ "functionCall": { "id": "c2", "name": "edit", "args": {} } });
    let response = |name: &str| json!({ "functionResponse": { "name": name, "response": {} } });
    let answers = json!({ "role": "user", "parts": [response("look"), response("edit")] });
    let talk = |call: &Value, more: &[Value]| {
        let mut contents =
            vec![question.clone(), json!({ "role": "model", "parts": [call, second] }), answers.clone()];
        contents.extend_from_slice(more);
        json!({ "contents": contents })
    };
    let mut bare = signed.clone();
    bare.as_object_mut().unwrap().remove("thoughtSignature");
    let mut dummy = bare.clone();
    dummy["thoughtSignature"] = "skip_thought_signature_validator".into();
    let mut forged = bare.clone();
    forged["thoughtSignature"] = "AAAA".into();
    assert_eq!(rule(&mut judge, GEMINI, &talk(signed, &[])), None);
    assert_eq!(rule(&mut judge, GEMINI, &talk(&dummy, &[])), None);
    assert_eq!(rule(&mut judge, GEMINI, &talk(&bare, &[])), Some(Rule::GeminiSignature));
    assert_eq!(rule(&mut judge, GEMINI, &talk(&forged, &[])), Some(Rule::GeminiForged));
    // A turn that is over is not looked at again.
    let over = [json!({ "role": "model", "parts": [{ "text": "so" }] }), part("on".into())];
    assert_eq!(rule(&mut judge, GEMINI, &talk(&bare, &over)), None);
}

/// Broken rewriters of the other dialects.
#[test]
fn mutants_are_caught() {
    let mut judge = Judge::default();
    let call =
        |id: &str| json!({ "id": id, "type": "function", "function": { "name": "look", "arguments": "{}" } });
    let messages = json!([
        says("system", 5), says("user", 5),
        { "role": "assistant", "content": null, "tool_calls": [call("c1"), call("c2")] },
        { "role": "tool", "tool_call_id": "c1", "content": "ok" },
        { "role": "tool", "tool_call_id": "c2", "content": "ok" },
        says("assistant", 5), says("user", 5)
    ]);
    let mut fate = |change: fn(&mut Vec<Value>)| {
        let mut messages = messages.clone();
        change(messages.as_array_mut().unwrap());
        rule(&mut judge, CHAT, &json!({ "model": "gpt-5.5", "messages": messages }))
    };
    assert_eq!(fate(|_| {}), None);
    assert_eq!(fate(|messages| drop(messages.remove(3))), Some(Rule::ChatOrphanCall));
    assert_eq!(fate(|messages| drop(messages.remove(2))), Some(Rule::ChatOrphanOutput));
    assert_eq!(fate(|messages| messages.swap(4, 5)), Some(Rule::ChatOrphanCall));
    assert_eq!(fate(|messages| drop(messages.drain(0..3))), Some(Rule::ChatOrphanOutput));
}
