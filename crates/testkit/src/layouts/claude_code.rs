//! Claude Code, with its own tool search and without.

use super::Size;
use super::text::{code, prose, tool};
use serde_json::{Value, json};

/// The built-in tools of this layout. Their texts are ours.
const BUILT_IN: &[&str] = &["Bash", "Read", "Edit", "Write", "Agent", "Skill"];

fn built_in(name: &str) -> Value {
    let made = tool(11, name.len());
    json!({ "name": name, "description": made.description, "input_schema": made.schema })
}

fn mcp_name(at: usize) -> String {
    format!("mcp__tracker__{}", tool(12, at).name)
}

fn mcp(at: usize, deferred: bool) -> Value {
    let made = tool(12, at);
    let mut entry = json!({
        "name": mcp_name(at), "description": made.description, "input_schema": made.schema,
    });
    if deferred && let Some(entry) = entry.as_object_mut() {
        entry.insert("defer_loading".into(), json!(true));
    }
    entry
}

fn system(size: Size) -> Value {
    json!([
        { "type": "text", "text": "x-anthropic-billing-header: cc_version=2.1.332; cch=0a1b2;" },
        {
            "type": "text", "text": "You are an agent for tests.",
            "cache_control": { "type": "ephemeral" },
        },
        {
            "type": "text", "text": prose(13, size.text),
            "cache_control": { "type": "ephemeral", "ttl": "1h" },
        },
    ])
}

fn first_user() -> Value {
    json!({ "role": "user", "content": [
        { "type": "text", "text": format!("<system-reminder>\n{}</system-reminder>", prose(14, 200)) },
        { "type": "text", "text": "please do the work" },
    ] })
}

fn turn(messages: &mut Vec<Value>, name: &str, at: usize, result: Value) {
    let id = format!("toolu_{at:04}");
    messages.push(json!({ "role": "assistant", "content": [
        { "type": "text", "text": format!("Step {at}.") },
        { "type": "tool_use", "id": id, "name": name, "input": { "path": format!("src/file{at}.rs") } },
    ] }));
    messages.push(json!({ "role": "user", "content": [
        { "type": "tool_result", "tool_use_id": id, "content": result },
    ] }));
}

/// The marker moves to the last message: there the content is an array, in older ones a string.
fn closing_user(messages: &mut Vec<Value>, turns: usize) {
    if turns > 0 {
        messages.push(json!({ "role": "assistant", "content": [{ "type": "text", "text": "Done." }] }));
        messages.push(json!({ "role": "user", "content": "and why?" }));
        messages.push(json!({ "role": "assistant", "content": [{ "type": "text", "text": "Because." }] }));
    }
    messages.push(json!({ "role": "user", "content": [
        { "type": "text", "text": "go on", "cache_control": { "type": "ephemeral" } },
    ] }));
}

fn request(messages: Vec<Value>, system: Value, tools: Vec<Value>) -> String {
    json!({
        "model": "claude-opus-4-6",
        "messages": messages,
        "system": system,
        "tools": tools,
        "metadata": { "user_id": "{\"device_id\":\"d\",\"session_id\":\"s\"}" },
        "max_tokens": 32_000,
        "thinking": { "type": "adaptive" },
        "stream": true,
    })
    .to_string()
}

/// Tool search off: every MCP tool is in `tools`, with its schema.
pub fn claude_code(size: Size) -> String {
    let mut messages = vec![first_user()];
    for at in 0..size.turns {
        turn(&mut messages, "Read", at, json!(code(at as u64, size.text)));
    }
    closing_user(&mut messages, size.turns);
    let mut tools: Vec<_> = BUILT_IN.iter().copied().map(built_in).collect();
    tools.extend((0..size.tools).map(|at| mcp(at, false)));
    request(messages, system(size), tools)
}

/// Its own tool search: names of the MCP tools stand in a `role:"system"` message, `ToolSearch` is a plain
/// tool. The first turn searches: its result is references, and from then on the found tools' schemas are in
/// `tools`, inserted among the others and deferred.
pub fn claude_code_tool_search(size: Size) -> String {
    let names: Vec<_> = (0..size.tools).map(mcp_name).collect();
    let found = if size.turns > 0 { size.tools.min(2) } else { 0 };
    let mut messages = vec![first_user()];
    messages.push(json!({
        "role": "system",
        "content": format!("Tools that a search can load:\n{}", names.join("\n")),
    }));
    for at in 0..size.turns {
        if at == 0 {
            let references: Vec<_> =
                (0..found).map(|at| json!({ "type": "tool_reference", "tool_name": mcp_name(at) })).collect();
            turn(&mut messages, "ToolSearch", at, Value::Array(references));
        } else {
            turn(
                &mut messages,
                &mcp_name(0),
                at,
                json!([{ "type": "text", "text": prose(at as u64, size.text) }]),
            );
        }
    }
    closing_user(&mut messages, size.turns);
    let mut tools: Vec<_> = BUILT_IN.iter().copied().map(built_in).collect();
    for at in 0..found {
        tools.insert(2 + at, mcp(at, true));
    }
    tools.push(built_in("ToolSearch"));
    request(messages, system(size), tools)
}
