//! Anthropic Messages.

use serde_json::{Value, json};

use super::render::{Asked, event, halves};
use super::{Step, Turn};

fn usage(asked: &Asked, output: u64) -> Value {
    if let Some(own) = &asked.extras.anthropic_usage {
        let mut usage = own.clone();
        usage["output_tokens"] = output.into();
        return usage;
    }
    json!({
        "input_tokens": asked.usage.input,
        "cache_creation_input_tokens": asked.usage.cache_write,
        "cache_read_input_tokens": asked.usage.cache_read,
        "output_tokens": output,
        "service_tier": "standard"
    })
}

fn stop_reason(turn: &Turn) -> &'static str {
    if turn.calls().next().is_some() { "tool_use" } else { "end_turn" }
}

/// A part of a turn as a content block.
pub(crate) fn block(step: &Step) -> Value {
    match step {
        Step::Text(text) => json!({ "type": "text", "text": text }),
        Step::Thinking { text, signature } => {
            json!({ "type": "thinking", "thinking": text, "signature": signature })
        }
        Step::Call(call) => {
            json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": call.input })
        }
        Step::Raw(block) => block.clone(),
    }
}

/// The whole turn as one body.
pub(super) fn message(turn: &Turn, asked: &Asked) -> Value {
    let mut message = json!({
        "id": format!("msg_{}", asked.serial),
        "type": "message",
        "role": "assistant",
        "model": asked.model,
        "content": turn.steps.iter().map(block).collect::<Vec<_>>(),
        "stop_reason": stop_reason(turn),
        "stop_sequence": null,
        "usage": usage(asked, asked.usage.output)
    });
    for (name, value) in &asked.extras.anthropic_members {
        message[*name] = value.clone();
    }
    message
}

/// The turn as a stream.
pub(super) fn events(turn: &Turn, asked: &Asked) -> Vec<Vec<u8>> {
    let mut out = Vec::new();
    let mut push = |name: &str, mut data: Value| {
        data["type"] = name.into();
        out.push(event(Some(name), &data));
    };
    let mut start = message(turn, asked);
    start["content"] = json!([]);
    start["stop_reason"] = Value::Null;
    start["usage"] = usage(asked, 1);
    push("message_start", json!({ "type": "", "message": start }));
    push("ping", json!({}));
    for (index, step) in turn.steps.iter().enumerate() {
        let mut empty = block(step);
        let deltas: Vec<Value> = match step {
            Step::Text(text) => {
                empty["text"] = "".into();
                halves(text).map(|half| json!({ "type": "text_delta", "text": half })).collect()
            }
            Step::Thinking { text, signature } => {
                empty["thinking"] = "".into();
                empty["signature"] = "".into();
                halves(text)
                    .map(|half| json!({ "type": "thinking_delta", "thinking": half }))
                    .chain([json!({ "type": "signature_delta", "signature": signature })])
                    .collect()
            }
            Step::Call(call) => {
                empty["input"] = json!({});
                let input = call.input.to_string();
                halves(&input)
                    .map(|half| json!({ "type": "input_json_delta", "partial_json": half }))
                    .collect()
            }
            Step::Raw(_) => Vec::new(),
        };
        push("content_block_start", json!({ "type": "", "index": index, "content_block": empty }));
        for delta in deltas {
            push("content_block_delta", json!({ "type": "", "index": index, "delta": delta }));
        }
        push("content_block_stop", json!({ "type": "", "index": index }));
    }
    let closing = match &asked.extras.anthropic_usage {
        Some(_) => usage(asked, asked.usage.output),
        None => json!({ "output_tokens": asked.usage.output }),
    };
    push(
        "message_delta",
        json!({
            "type": "",
            "delta": { "stop_reason": stop_reason(turn), "stop_sequence": null },
            "usage": closing
        }),
    );
    push("message_stop", json!({}));
    out
}
