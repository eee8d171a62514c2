//! Gemini `generateContent` and `streamGenerateContent`.

use serde_json::{Value, json};

use super::render::{Asked, event, halves};
use super::{Step, Turn};

/// The model named in a path, as in `/v1beta/models/NAME:generateContent`.
pub(super) fn model_of(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or_default();
    name.split(':').next().unwrap_or_default().to_owned()
}

fn parts(step: &Step) -> Vec<Value> {
    match step {
        Step::Text(text) => vec![json!({ "text": text })],
        Step::Thinking { text, signature } => {
            vec![json!({ "text": text, "thought": true, "thoughtSignature": signature })]
        }
        Step::Raw(part) => vec![part.clone()],
        Step::Call(call) => {
            vec![json!({ "functionCall": { "id": call.id, "name": call.name, "args": call.input } })]
        }
    }
}

fn chunk(parts: Vec<Value>, last: bool, asked: &Asked) -> Value {
    let prompt = asked.usage.input + asked.usage.cache_read + asked.usage.cache_write;
    let mut candidate = json!({ "content": { "role": "model", "parts": parts }, "index": 0 });
    if last {
        candidate["finishReason"] = "STOP".into();
    }
    let mut usage = json!({
        "promptTokenCount": prompt,
        "candidatesTokenCount": asked.usage.output,
        "totalTokenCount": prompt + asked.usage.output
    });
    if asked.usage.cache_read > 0 {
        usage["cachedContentTokenCount"] = asked.usage.cache_read.into();
    }
    json!({
        "candidates": [candidate],
        "usageMetadata": usage,
        "modelVersion": asked.model,
        "responseId": asked.serial
    })
}

/// The whole turn as one body.
pub(super) fn whole(turn: &Turn, asked: &Asked) -> Value {
    chunk(turn.steps.iter().flat_map(parts).collect(), true, asked)
}

/// The turn as a stream (`alt=sse`).
pub(super) fn events(turn: &Turn, asked: &Asked) -> Vec<Vec<u8>> {
    let mut pieces: Vec<Vec<Value>> = Vec::new();
    for step in &turn.steps {
        match step {
            Step::Text(text) => pieces.extend(halves(text).map(|half| vec![json!({ "text": half })])),
            other => pieces.push(parts(other)),
        }
    }
    let last = pieces.len().saturating_sub(1);
    pieces
        .into_iter()
        .enumerate()
        .map(|(index, parts)| event(None, &chunk(parts, index == last, asked)))
        .collect()
}
