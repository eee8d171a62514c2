//! Gemini `generateContent` and `streamGenerateContent`.
//!
//! Facts (provider's documentation, November 2026): every chunk of a stream is a response of its own
//! whose `usageMetadata` is cumulative; a zero counter is left out; `thoughtsTokenCount` is beside
//! `candidatesTokenCount`, and `toolUsePromptTokenCount` beside `promptTokenCount`. There is no closing
//! event: the last chunk has a `finishReason`. A refused prompt is a 200 without candidates. The Code
//! Assist endpoint wraps each chunk in `response`.

use super::state::{Source, State, keep_last};
use crate::json::{Kind, Value};

pub(super) fn chunk(state: &mut State, name: &str, data: Value<'_, '_>) -> bool {
    if name == "error" && data.get("error").is_none() {
        return state.fail_with(Some(data));
    }
    body(state, data)
}

pub(super) fn body(state: &mut State, data: Value<'_, '_>) -> bool {
    // A body may be the array that a stream without `alt=sse` is.
    if data.kind() == Kind::Array {
        let unknown = data.elements().filter(|element| !response(state, *element)).count();
        return unknown == 0;
    }
    response(state, data)
}

fn response(state: &mut State, data: Value<'_, '_>) -> bool {
    let failed = state.fail_with(data.get("error"));
    let data = data.get("response").filter(|inner| inner.kind() == Kind::Object).unwrap_or(data);
    keep_last(&mut state.about.id, data.text("responseId"));
    keep_last(&mut state.about.model, data.text("modelVersion"));
    let usage = data.get("usageMetadata");
    state.usage(usage);
    if let Some(usage) = usage {
        let tier = usage.text("serviceTier").or_else(|| usage.text("trafficType"));
        keep_last(&mut state.about.service_tier, tier);
    }
    let candidates = data.get("candidates");
    for (position, candidate) in candidates.iter().flat_map(Value::elements).enumerate() {
        let Some(reason) = candidate.text("finishReason") else { continue };
        state.closed = true;
        let index = candidate.get("index").and_then(|index| index.as_u64()).unwrap_or(position as u64);
        if index == 0 {
            state.about.stop_reason = Some(reason);
        }
    }
    let feedback = data.get("promptFeedback");
    if let Some(reason) = feedback.and_then(|feedback| feedback.text("blockReason")) {
        state.closed = true;
        state.about.stop_reason = Some(reason);
    }
    failed || usage.is_some() || candidates.is_some() || feedback.is_some()
}
