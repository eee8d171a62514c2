//! Claude Code, with its own tool search and without.

use super::Size;
use super::text::{code, prose, tool};
use serde_json::{Value, json};

/// The built-in tools of this layout. Their texts are ours.
const BUILT_IN: &[&str] = &["Bash", "Read", "Edit", "Write", "Agent", "Skill"];

fn built_in(name: &str) -> Value {
    let made = tool(11, name.bytes().map(usize::from).sum());
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
            "cache_control": { "type": "ephemeral", "ttl": "1h" },
        },
        {
            "type": "text", "text": prose(13, size.text),
            "cache_control": { "type": "ephemeral" },
        },
    ])
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

/// Speakers and their blocks; [`wire`] makes messages of them.
type Turns = Vec<(&'static str, Vec<Value>)>;

fn opening() -> Turns {
    let reminder = format!("<system-reminder>\n{}</system-reminder>", prose(14, 200));
    vec![("user", vec![text(&reminder), text("please do the work")])]
}

/// A tool call and its result; after every other one the user speaks.
fn turn(turns: &mut Turns, name: &str, at: usize, result: Value) {
    let id = format!("toolu_{at:04}");
    turns.push(("assistant", vec![
        text(&format!("Step {at}.")),
        json!({ "type": "tool_use", "id": id, "name": name, "input": { "path": format!("src/file{at}.rs") } }),
    ]));
    turns.push(("user", vec![json!({ "type": "tool_result", "tool_use_id": id, "content": result })]));
    if at % 2 == 1 {
        turns.push(("assistant", vec![text("Done.")]));
        turns.push(("user", vec![text(&format!("go on with {}", at + 1))]));
    }
}

/// The messages as they are sent: the marker is on the last block of the last message, and a message of the
/// user that is one text is an array when it is marked and a string when it is not. So the bytes of a
/// message change from one request to the next although nothing was said anew.
fn wire(turns: Turns) -> Vec<Value> {
    let last = turns.len().saturating_sub(1);
    let message = |(at, (role, mut blocks)): (usize, (&str, Vec<Value>))| {
        if at == last
            && let Some(block) = blocks.last_mut().and_then(Value::as_object_mut)
        {
            block.insert("cache_control".into(), json!({ "type": "ephemeral" }));
        }
        let content = match blocks.as_slice() {
            [only] if at < last && role != "assistant" && only["type"] == "text" => only["text"].clone(),
            _ => Value::Array(blocks),
        };
        let mut message = json!({ "role": role, "content": content });
        if role == "system"
            && let Some(message) = message.as_object_mut()
        {
            message.insert("output_config".into(), json!({ "effort": "medium" }));
        }
        message
    };
    turns.into_iter().enumerate().map(message).collect()
}

fn request(messages: Vec<Value>, system: Value, tools: Vec<Value>) -> String {
    json!({
        "model": "claude-opus-4-8",
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

/// Tool search off: every MCP tool is in `tools`, with its schema. A request with one more turn continues
/// the same conversation.
pub fn claude_code(size: Size) -> String {
    let mut turns = opening();
    for at in 0..size.turns {
        turn(&mut turns, "Read", at, json!(code(at as u64, size.text)));
    }
    let mut tools: Vec<_> = BUILT_IN.iter().copied().map(built_in).collect();
    tools.extend((0..size.tools).map(|at| mcp(at, false)));
    request(wire(turns), system(size), tools)
}

/// Its own tool search: names of the MCP tools stand in a `role:"system"` message, `ToolSearch` is a plain
/// tool. The first turn searches: its result is references, and from then on the found tools' schemas are in
/// `tools`, deferred, behind a placeholder that is always there.
pub fn claude_code_tool_search(size: Size) -> String {
    let names: Vec<_> = (0..size.tools).map(mcp_name).collect();
    let found = if size.turns > 0 { size.tools.min(2) } else { 0 };
    let mut turns = opening();
    turns.push(("system", vec![text(&format!("Tools that a search can load:\n{}", names.join("\n")))]));
    for at in 0..size.turns {
        if at == 0 {
            let references: Vec<_> =
                (0..found).map(|at| json!({ "type": "tool_reference", "tool_name": mcp_name(at) })).collect();
            turn(&mut turns, "ToolSearch", at, Value::Array(references));
        } else {
            turn(&mut turns, &mcp_name(0), at, json!([text(&prose(at as u64, size.text))]));
        }
    }
    let mut tools: Vec<_> = BUILT_IN.iter().copied().map(built_in).collect();
    tools.push(built_in("ToolSearch"));
    tools.push(json!({
        "name": "Placeholder", "description": "Keeps the place of tools that come later.",
        "input_schema": { "type": "object", "properties": {} }, "defer_loading": true,
    }));
    tools.extend((0..found).map(|at| mcp(at, true)));
    request(wire(turns), system(size), tools)
}
