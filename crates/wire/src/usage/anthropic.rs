//! Anthropic Messages.
//!
//! Facts (provider's documentation and SDK types, November 2026): `message_start` carries the message
//! with its usage so far, `message_delta` the stop reason and cumulative usage, in which any counter may
//! be absent or `null`; `output_tokens_details.thinking_tokens` is part of `output_tokens`;
//! `iterations[]` is sent whole each time; `input_transformations` stands in the message and may come
//! again with a `message_delta`.

use super::Failure;
use super::state::{Source, State, keep_last};
use crate::json::{Kind, Value};

pub(super) fn event(state: &mut State, name: &str, data: Value<'_, '_>) -> bool {
    let kind = data.get("type").and_then(|kind| kind.as_str());
    match kind.as_deref().unwrap_or(name) {
        "message_start" => {
            if let Some(start) = data.get("message") {
                message(state, start);
            }
        }
        "message_delta" => {
            let delta = data.get("delta");
            for part in [Some(data), delta].into_iter().flatten() {
                about(state, part);
            }
            usage(state, data.get("usage"));
        }
        "message_stop" => state.closed = true,
        "error" => error(state, data),
        "ping" | "content_block_start" | "content_block_delta" | "content_block_stop" => {}
        _ => return false,
    }
    true
}

/// An event of which only the name is known.
pub(super) fn named(state: &mut State, name: &str) {
    match name {
        "message_stop" => state.closed = true,
        "error" => state.fail(Failure::default()),
        _ => {}
    }
}

pub(super) fn body(state: &mut State, data: Value<'_, '_>) -> bool {
    let kind = data.get("type").and_then(|kind| kind.as_str());
    match kind.as_deref() {
        Some("message") => {
            message(state, data);
            state.closed = true;
        }
        Some("error") => error(state, data),
        // Other servers of this dialect send the error without the type around it.
        _ => return state.fail_with(data.get("error")),
    }
    true
}

fn error(state: &mut State, data: Value<'_, '_>) {
    keep_last(&mut state.about.request_id, data.text("request_id"));
    if !state.fail_with(data.get("error")) {
        state.fail(Failure { message: data.text("message"), ..Failure::default() });
    }
}

fn message(state: &mut State, message: Value<'_, '_>) {
    keep_last(&mut state.about.id, message.text("id"));
    keep_last(&mut state.about.model, message.text("model"));
    about(state, message);
    usage(state, message.get("usage"));
}

/// What a message and a `message_delta` have in common.
fn about(state: &mut State, part: Value<'_, '_>) {
    let own = &mut state.about;
    keep_last(&mut own.stop_reason, part.text("stop_reason"));
    keep_last(&mut own.input_transformations, part.raw_text("input_transformations"));
    let reason = part.get("diagnostics").and_then(|diagnostics| diagnostics.raw_text("cache_miss_reason"));
    keep_last(&mut own.cache_miss_reason, reason);
}

fn usage(state: &mut State, usage: Option<Value<'_, '_>>) {
    state.usage(usage);
    let Some(usage) = usage else { return };
    keep_last(&mut state.about.service_tier, usage.text("service_tier"));
    keep_last(&mut state.about.speed, usage.text("speed"));
    keep_last(&mut state.about.inference_geo, usage.text("inference_geo"));
    if let Some(iterations) = usage.get("iterations").filter(|value| value.kind() == Kind::Array) {
        state.iterations(iterations);
    }
    for entry in usage.get("server_tool_use").iter().flat_map(Value::entries) {
        if let (Some(name), Some(count)) = (entry.key.as_str(), entry.value.as_u64()) {
            state.server_tool(&name, count);
        }
    }
}
