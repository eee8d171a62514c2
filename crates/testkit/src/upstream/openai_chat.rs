//! OpenAI Chat Completions.

use serde_json::{Value, json};

use super::render::{Asked, event, halves};
use super::{Call, Step, Turn};

fn usage(asked: &Asked) -> Value {
    let prompt = asked.usage.input + asked.usage.cache_read + asked.usage.cache_write;
    let mut usage = json!({
        "prompt_tokens": prompt,
        "completion_tokens": asked.usage.output,
        "total_tokens": prompt + asked.usage.output,
        "prompt_tokens_details": { "cached_tokens": asked.usage.cache_read }
    });
    if asked.extras.counts_writes {
        usage["prompt_tokens_details"]["cache_write_tokens"] = asked.usage.cache_write.into();
    }
    usage
}

fn finish_reason(turn: &Turn) -> &'static str {
    if turn.calls().next().is_some() { "tool_calls" } else { "stop" }
}

fn tool_call(call: &Call) -> Value {
    json!({
        "id": call.id,
        "type": "function",
        "function": { "name": call.name, "arguments": call.input.to_string() }
    })
}

/// The whole turn as one body.
pub(super) fn completion(turn: &Turn, asked: &Asked) -> Value {
    let said = turn.said();
    let mut message =
        json!({ "role": "assistant", "content": if said.is_empty() { Value::Null } else { said.into() } });
    if turn.calls().next().is_some() {
        message["tool_calls"] = turn.calls().map(tool_call).collect();
    }
    json!({
        "id": format!("chatcmpl-{}", asked.serial),
        "object": "chat.completion",
        "created": 0,
        "model": asked.model,
        "choices": [{ "index": 0, "message": message, "finish_reason": finish_reason(turn) }],
        "usage": usage(asked)
    })
}

/// The turn as a stream.
pub(super) fn events(turn: &Turn, asked: &Asked) -> Vec<Vec<u8>> {
    let chunk = |choices: Value, usage: Value| {
        event(
            None,
            &json!({
                "id": format!("chatcmpl-{}", asked.serial),
                "object": "chat.completion.chunk",
                "created": 0,
                "model": asked.model,
                "choices": choices,
                "usage": usage
            }),
        )
    };
    let delta =
        |delta: Value| chunk(json!([{ "index": 0, "delta": delta, "finish_reason": null }]), Value::Null);
    let mut out = vec![delta(json!({ "role": "assistant", "content": "" }))];
    let mut calls = 0;
    for step in &turn.steps {
        match step {
            Step::Text(text) => out.extend(halves(text).map(|half| delta(json!({ "content": half })))),
            Step::Raw(own) => out.push(delta(own.clone())),
            Step::Thinking { text, .. } => out.push(delta(json!({ "reasoning_content": text }))),
            Step::Call(call) => {
                let mut opening = tool_call(call);
                opening["index"] = calls.into();
                opening["function"]["arguments"] = "".into();
                out.push(delta(json!({ "tool_calls": [opening] })));
                let arguments = call.input.to_string();
                out.extend(halves(&arguments).map(|half| {
                    delta(json!({ "tool_calls": [{ "index": calls, "function": { "arguments": half } }] }))
                }));
                calls += 1;
            }
        }
    }
    let end = json!([{ "index": 0, "delta": {}, "finish_reason": finish_reason(turn) }]);
    out.push(chunk(end, Value::Null));
    if asked.body["stream_options"]["include_usage"] == true {
        out.push(chunk(json!([]), usage(asked)));
    }
    out.push(b"data: [DONE]\n\n".to_vec());
    out
}
