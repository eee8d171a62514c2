//! OpenAI Responses.
//!
//! Facts (provider's documentation, November 2026): `response.created`, `response.in_progress` and the
//! closing events carry the whole response object; its `usage` is `null` until the closing one.
//! `cached_tokens` and `cache_write_tokens` are part of `input_tokens`. An `error` event carries `code` and
//! `message` itself; gateways also send it with an `error` object around them.

use super::Failure;
use super::state::{Source, State, keep_last};
use crate::json::Value;

/// What stands after `response.` in the names of events that carry no usage (November 2026). A dot in
/// the name ends what is compared: `output_text.delta` is of the family `output_text`.
const FAMILIES: [&str; 25] = [
    "audio",
    "code_interpreter_call",
    "code_interpreter_call_code",
    "computer_call",
    "content_part",
    "custom_tool_call_input",
    "file_search_call",
    "function_call_arguments",
    "image_generation_call",
    "local_shell_call",
    "mcp_call",
    "mcp_call_arguments",
    "mcp_list_tools",
    "output_item",
    "output_text",
    "reasoning",
    "reasoning_summary",
    "reasoning_summary_part",
    "reasoning_summary_text",
    "reasoning_text",
    "refusal",
    "shell_call_command",
    "tool_search_call",
    "tool_search_output",
    "web_search_call",
];

pub(super) fn event(state: &mut State, name: &str, data: Value<'_, '_>) -> bool {
    let kind = data.get("type").and_then(|kind| kind.as_str());
    let kind = kind.as_deref().unwrap_or(name);
    if kind == "error" {
        if !state.fail_with(data.get("error")) {
            // Here `type` is the event's own.
            let mut failure = Failure::read(data);
            failure.kind.clone_from(&failure.code);
            state.fail(failure);
        }
        return true;
    }
    let Some(own) = kind.strip_prefix("response.") else {
        // A server that was asked for a stream may still answer with an error alone.
        return state.fail_with(data.get("error"));
    };
    let carried = data.get("response");
    if let Some(carried) = carried {
        response(state, carried);
    }
    match own {
        "created" | "in_progress" | "queued" => {}
        "completed" | "incomplete" => state.closed = true,
        "failed" => state.fail(Failure::default()),
        "cancelled" => state.fail(cancelled()),
        _ => {
            let family = own.split('.').next().unwrap_or(own);
            return FAMILIES.binary_search(&family).is_ok();
        }
    }
    true
}

/// An event of which only the name is known.
pub(super) fn named(state: &mut State, name: &str) {
    match name {
        "response.completed" | "response.incomplete" => state.closed = true,
        "response.failed" | "error" => state.fail(Failure::default()),
        "response.cancelled" => state.fail(cancelled()),
        _ => {}
    }
}

pub(super) fn body(state: &mut State, data: Value<'_, '_>) -> bool {
    let failed = response(state, data);
    let status = data.get("status").and_then(|status| status.as_str());
    match status.as_deref() {
        Some("completed" | "incomplete") => state.closed = true,
        Some("failed") => state.fail(Failure::default()),
        Some("cancelled") => state.fail(cancelled()),
        Some("in_progress" | "queued") => {}
        _ => return failed,
    }
    true
}

/// Reads a response object; true when it holds an error.
fn response(state: &mut State, data: Value<'_, '_>) -> bool {
    keep_last(&mut state.about.id, data.text("id"));
    keep_last(&mut state.about.model, data.text("model"));
    keep_last(&mut state.about.service_tier, data.text("service_tier"));
    let reason = data.get("incomplete_details").and_then(|details| details.text("reason"));
    keep_last(&mut state.about.stop_reason, reason.or_else(|| data.text("status")));
    state.usage(data.get("usage"));
    state.fail_with(data.get("error"))
}

fn cancelled() -> Failure {
    Failure { kind: Some("cancelled".to_owned()), ..Failure::default() }
}
