//! OpenAI Chat Completions.
//!
//! Facts (provider's documentation, November 2026): with `stream_options.include_usage` every chunk has
//! `usage`, `null` but in the last, whose `choices` is empty; `[DONE]` follows. `cache_write_tokens`
//! is counted from GPT-5.6 on, inside `prompt_tokens` as `cached_tokens` is. An error inside a stream is a
//! chunk with an `error` object.

use super::state::{Source, State, keep_last};
use crate::json::{Kind, Value};

pub(super) fn chunk(state: &mut State, name: &str, data: Value<'_, '_>) -> bool {
    if name == "error" && data.get("error").is_none() {
        return state.fail_with(Some(data));
    }
    let known = response(state, data);
    let closing = data.get("usage").is_some_and(|usage| usage.kind() == Kind::Object)
        && data.get("choices").is_some_and(|choices| choices.elements().next().is_none());
    state.closed |= closing && state.finished;
    known
}

pub(super) fn body(state: &mut State, data: Value<'_, '_>) -> bool {
    let known = response(state, data);
    state.closed = state.finished;
    known
}

fn response(state: &mut State, data: Value<'_, '_>) -> bool {
    keep_last(&mut state.about.id, data.text("id"));
    keep_last(&mut state.about.model, data.text("model"));
    keep_last(&mut state.about.service_tier, data.text("service_tier"));
    state.usage(data.get("usage"));
    let failed = state.fail_with(data.get("error"));
    let choices = data.get("choices").filter(|choices| choices.kind() == Kind::Array);
    for choice in choices.iter().flat_map(Value::elements) {
        let Some(reason) = choice.text("finish_reason") else { continue };
        state.finished = true;
        if choice.get("index").and_then(|index| index.as_u64()).unwrap_or(0) == 0 {
            state.about.stop_reason = Some(reason);
        }
    }
    failed || choices.is_some() || data.get("usage").is_some()
}
