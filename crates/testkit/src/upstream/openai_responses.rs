//! OpenAI Responses.

use serde_json::{Value, json};

use super::render::{Asked, event, halves};
use super::{Step, Turn};

fn usage(asked: &Asked) -> Value {
    let input = asked.usage.input + asked.usage.cache_read + asked.usage.cache_write;
    let mut usage = json!({
        "input_tokens": input,
        "input_tokens_details": { "cached_tokens": asked.usage.cache_read },
        "output_tokens": asked.usage.output,
        "output_tokens_details": { "reasoning_tokens": 0 },
        "total_tokens": input + asked.usage.output
    });
    if asked.extras.counts_writes {
        usage["input_tokens_details"]["cache_write_tokens"] = asked.usage.cache_write.into();
    }
    usage
}

fn item(index: usize, step: &Step, asked: &Asked) -> Value {
    let serial = &asked.serial;
    match step {
        Step::Text(text) => json!({
            "id": format!("msg_{serial}{index}"),
            "type": "message",
            "status": "completed",
            "role": "assistant",
            "content": [{ "type": "output_text", "text": text, "annotations": [] }]
        }),
        Step::Thinking { text, signature } => json!({
            "id": format!("rs_{serial}{index}"),
            "type": "reasoning",
            "summary": [{ "type": "summary_text", "text": text }],
            "encrypted_content": signature
        }),
        Step::Call(call) => {
            let mut item = json!({
                "id": format!("fc_{serial}{index}"),
                "type": "function_call",
                "status": "completed",
                "call_id": call.id,
                "name": call.name,
                "arguments": call.input.to_string()
            });
            if let Some(namespace) = &call.namespace {
                item["namespace"] = namespace.as_str().into();
            }
            item
        }
        Step::Raw(item) => item.clone(),
    }
}

/// The whole turn as one body.
pub(super) fn response(turn: &Turn, asked: &Asked) -> Value {
    let output: Vec<Value> =
        turn.steps.iter().enumerate().map(|(index, step)| item(index, step, asked)).collect();
    json!({
        "id": format!("resp_{}", asked.serial),
        "object": "response",
        "created_at": 0,
        "status": "completed",
        "model": asked.model,
        "output": output,
        "usage": usage(asked)
    })
}

/// The turn as a stream.
pub(super) fn events(turn: &Turn, asked: &Asked) -> Vec<Vec<u8>> {
    let mut out = Vec::new();
    let mut push = |name: &str, mut data: Value| {
        data["sequence_number"] = out.len().into();
        out.push(event(Some(name), &data));
    };
    let complete = response(turn, asked);
    let mut begun = complete.clone();
    begun["status"] = "in_progress".into();
    begun["output"] = json!([]);
    begun["usage"] = Value::Null;
    for name in ["response.created", "response.in_progress"] {
        push(name, json!({ "type": name, "response": begun }));
    }
    for (index, step) in turn.steps.iter().enumerate() {
        let whole = item(index, step, asked);
        let id = whole["id"].clone();
        let mut opening = whole.clone();
        match step {
            Step::Text(_) => opening["content"] = json!([]),
            Step::Thinking { .. } => opening["summary"] = json!([]),
            Step::Call(_) => opening["arguments"] = "".into(),
            Step::Raw(_) => opening["status"] = "in_progress".into(),
        }
        let at = |name: &str| json!({ "type": name, "output_index": index, "item_id": id });
        push(
            "response.output_item.added",
            json!({ "type": "response.output_item.added", "output_index": index, "item": opening }),
        );
        match step {
            Step::Text(text) => {
                for half in halves(text) {
                    let mut delta = at("response.output_text.delta");
                    delta["content_index"] = 0.into();
                    delta["delta"] = half.into();
                    push("response.output_text.delta", delta);
                }
                let mut done = at("response.output_text.done");
                done["content_index"] = 0.into();
                done["text"] = text.as_str().into();
                push("response.output_text.done", done);
            }
            Step::Call(call) => {
                let arguments = call.input.to_string();
                for half in halves(&arguments) {
                    let mut delta = at("response.function_call_arguments.delta");
                    delta["delta"] = half.into();
                    push("response.function_call_arguments.delta", delta);
                }
                let mut done = at("response.function_call_arguments.done");
                done["arguments"] = arguments.as_str().into();
                push("response.function_call_arguments.done", done);
            }
            Step::Thinking { .. } | Step::Raw(_) => {}
        }
        push(
            "response.output_item.done",
            json!({ "type": "response.output_item.done", "output_index": index, "item": whole }),
        );
    }
    push("response.completed", json!({ "type": "response.completed", "response": complete }));
    out
}
