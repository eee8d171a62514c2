//! Anthropic bodies of other clients, and every kind of block.

use super::Size;
use super::spaced;
use super::text::{base64, code, png_base64, prose, tool};
use serde_json::{Value, json};

fn tools(size: Size, prefix: &str) -> Vec<Value> {
    (0..size.tools)
        .map(|at| {
            let made = tool(21, at);
            json!({
                "name": format!("{prefix}{}", made.name), "description": made.description,
                "input_schema": made.schema,
            })
        })
        .collect()
}

fn turns(size: Size, messages: &mut Vec<Value>) {
    for at in 0..size.turns {
        let id = format!("toolu_{at:04}");
        messages.push(json!({ "role": "assistant", "content": [
            { "type": "tool_use", "id": id, "name": "read", "input": { "filePath": format!("/w/{at}.ts") } },
        ] }));
        messages.push(json!({ "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": id, "content": code(at as u64, size.text), "is_error": false },
        ] }));
    }
}

/// opencode on Anthropic: markers on the first system block and on the last two messages.
pub fn opencode_anthropic(size: Size) -> String {
    let mark = json!({ "type": "ephemeral" });
    let mut messages = vec![json!({ "role": "user", "content": [{ "type": "text", "text": "do it" }] })];
    turns(size, &mut messages);
    messages.push(json!({ "role": "assistant", "content": [
        { "type": "text", "text": "Done.", "cache_control": mark },
    ] }));
    messages.push(json!({ "role": "user", "content": [
        { "type": "text", "text": "thanks, and the tests?", "cache_control": mark },
    ] }));
    json!({
        "model": "claude-sonnet-4-5",
        "max_tokens": 32_000,
        "system": [
            { "type": "text", "text": prose(22, size.text), "cache_control": mark },
            { "type": "text", "text": prose(23, size.text / 2) },
        ],
        "messages": messages,
        "tools": tools(size, "tracker_"),
        "tool_choice": { "type": "auto" },
        "stream": true,
    })
    .to_string()
}

/// aider: spaced JSON, no tools, roles taking turns.
pub fn aider(size: Size) -> String {
    let mut messages = vec![json!({ "role": "user", "content": "Here are the files:\n" })];
    for at in 0..size.turns {
        messages.push(json!({ "role": "assistant", "content": "Ok." }));
        messages.push(json!({ "role": "user", "content": code(at as u64, size.text) }));
    }
    messages
        .push(json!({ "role": "assistant", "content": [{ "type": "text", "text": "Ok, I know them." }] }));
    messages.push(json!({ "role": "user", "content": [{ "type": "text", "text": "rename it" }] }));
    let body = json!({
        "model": "claude-sonnet-4-5",
        "messages": messages,
        "system": [{ "type": "text", "text": prose(24, size.text) }],
        "max_tokens": 8_192,
        "temperature": 0,
        "stream": true,
    });
    spaced::to_string(&body)
}

fn in_the_cloud(size: Size, version: &str) -> String {
    let mut messages = vec![json!({ "role": "user", "content": "do it" })];
    turns(size, &mut messages);
    json!({
        "anthropic_version": version,
        "max_tokens": 4_096,
        "messages": messages,
        "system": prose(25, size.text),
        "tools": tools(size, ""),
    })
    .to_string()
}

/// Bedrock: no model and no `stream` in the body.
pub fn bedrock(size: Size) -> String {
    in_the_cloud(size, "bedrock-2023-05-31")
}

/// Vertex: no model in the body.
pub fn vertex(size: Size) -> String {
    in_the_cloud(size, "vertex-2023-10-16")
}

fn plain(messages: Value, tools: Vec<Value>) -> String {
    json!({ "model": "claude-opus-4-6", "max_tokens": 1_024, "messages": messages, "tools": tools })
        .to_string()
}

/// Images by base64, URL and file, in a message and in a tool result.
pub fn images_anthropic(size: Size) -> String {
    let embedded = json!({ "type": "image", "source": {
        "type": "base64", "media_type": "image/png", "data": png_base64(640, 480),
    } });
    let messages = json!([
        { "role": "user", "content": [
            { "type": "text", "text": prose(31, size.text) },
            embedded,
            { "type": "image", "source": { "type": "url", "url": "https://example.org/a.png" } },
            { "type": "image", "source": { "type": "file", "file_id": "file_1" } },
        ] },
        { "role": "assistant", "content": [
            { "type": "tool_use", "id": "toolu_1", "name": "screenshot", "input": {} },
        ] },
        { "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": "toolu_1", "content": [
                { "type": "text", "text": "taken" },
                { "type": "image", "cache_control": { "type": "ephemeral" }, "source": {
                    "type": "base64", "media_type": "image/png", "data": png_base64(1200, 900),
                } },
            ] },
        ] },
    ]);
    plain(messages, tools(size, ""))
}

/// Documents by base64, text, blocks, URL and file; a search result.
pub fn documents_anthropic(size: Size) -> String {
    let messages = json!([{ "role": "user", "content": [
        { "type": "document", "title": "Paper", "context": "for review", "source": {
            "type": "base64", "media_type": "application/pdf", "data": base64(prose(32, size.text).as_bytes()),
        } },
        { "type": "document", "title": "Notes", "source": {
            "type": "text", "media_type": "text/plain", "data": prose(33, size.text),
        } },
        { "type": "document", "source": { "type": "content", "content": [
            { "type": "text", "text": prose(34, size.text) },
            { "type": "image", "source": { "type": "url", "url": "https://example.org/b.png" } },
        ] } },
        { "type": "document", "source": { "type": "url", "url": "https://example.org/c.pdf" } },
        { "type": "document", "source": { "type": "file", "file_id": "file_2" } },
        { "type": "search_result", "title": "Hit", "source": "https://example.org/d", "content": [
            { "type": "text", "text": prose(35, size.text) },
        ], "citations": { "enabled": true } },
        { "type": "text", "text": "compare them" },
    ] }]);
    plain(messages, tools(size, ""))
}

/// Thinking with signatures, and redacted thinking.
pub fn thinking_anthropic(size: Size) -> String {
    let mut messages = vec![json!({ "role": "user", "content": "think" })];
    for at in 0..size.turns {
        let id = format!("toolu_{at:04}");
        let signature = base64(prose(at as u64, 90).as_bytes());
        messages.push(json!({ "role": "assistant", "content": [
            { "type": "thinking", "thinking": prose(at as u64, size.text), "signature": signature },
            { "type": "redacted_thinking", "data": base64(code(at as u64, 60).as_bytes()) },
            { "type": "tool_use", "id": id, "name": "read", "input": { "n": at } },
        ] }));
        messages.push(json!({ "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": id, "content": code(at as u64, size.text) },
        ] }));
    }
    plain(Value::Array(messages), tools(size, ""))
}

/// What the provider's compaction left, with a tool that the compacted range had added.
pub fn compaction_anthropic(size: Size) -> String {
    let made = tool(36, 0);
    let messages = json!([
        { "role": "user", "content": "a long story" },
        { "role": "assistant", "content": [
            { "type": "compaction", "content": prose(37, size.text), "encrypted_content": "b3BhcXVl", "tool_changes": [
                { "type": "tool_addition", "tool": { "type": "tool_definition", "definition": {
                    "name": made.name, "description": made.description, "input_schema": made.schema,
                } } },
                { "type": "tool_removal", "tool": { "type": "tool_reference", "name": "read" } },
            ] },
            { "type": "text", "text": "Going on." },
        ] },
        { "role": "user", "content": "yes" },
    ]);
    plain(messages, tools(size, ""))
}

/// Tools that the provider runs, and the blocks they leave.
pub fn server_tools_anthropic(size: Size) -> String {
    let messages = json!([
        { "role": "user", "content": "look it up" },
        { "role": "assistant", "content": [
            { "type": "server_tool_use", "id": "srvtoolu_1", "name": "tool_search_tool_bm25", "input": { "query": "issue" } },
            { "type": "tool_search_tool_result", "tool_use_id": "srvtoolu_1", "content": {
                "type": "tool_search_tool_search_result",
                "tool_references": [{ "type": "tool_reference", "tool_name": tool(21, 0).name }],
            } },
            { "type": "server_tool_use", "id": "srvtoolu_2", "name": "web_fetch", "input": { "url": "https://example.org" } },
            { "type": "web_fetch_tool_result", "tool_use_id": "srvtoolu_2", "content": {
                "type": "web_fetch_result", "url": "https://example.org", "retrieved_at": "2026-11-01T00:00:00Z",
                "content": { "type": "document", "title": "Example", "source": {
                    "type": "text", "media_type": "text/plain", "data": prose(38, size.text),
                } },
            } },
            { "type": "bash_code_execution_tool_result", "tool_use_id": "srvtoolu_3", "content": {
                "type": "bash_code_execution_result", "stdout": "ok\n", "stderr": "", "return_code": 0, "content": [],
            } },
            { "type": "mcp_tool_use", "id": "mcptoolu_1", "name": "find", "server_name": "tracker", "input": {} },
            { "type": "mcp_tool_result", "tool_use_id": "mcptoolu_1", "is_error": false, "content": [
                { "type": "text", "text": "found" },
            ] },
            { "type": "text", "text": "There." },
        ] },
        { "role": "user", "content": [{ "type": "container_upload", "file_id": "file_3" }, { "type": "text", "text": "go" }] },
    ]);
    let mut all = vec![
        json!({ "type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25" }),
        json!({ "type": "web_fetch_20250910", "name": "web_fetch", "max_uses": 5 }),
        json!({ "type": "mcp_toolset", "mcp_server_name": "tracker", "default_config": { "defer_loading": true } }),
    ];
    all.extend(tools(size, "").into_iter().map(|mut entry| {
        if let Some(entry) = entry.as_object_mut() {
            entry.insert("defer_loading".into(), json!(true));
        }
        entry
    }));
    if let Some(entry) = all.last_mut().and_then(Value::as_object_mut) {
        entry.remove("defer_loading");
        entry.insert("cache_control".into(), json!({ "type": "ephemeral", "ttl": "5m" }));
    }
    plain(messages, all)
}

/// A tool defined in mid-conversation, by value, in a `role:"system"` message.
pub fn inline_tool_anthropic(size: Size) -> String {
    let made = tool(39, 0);
    let messages = json!([
        { "role": "user", "content": prose(40, size.text) },
        { "role": "assistant", "content": "Yes?" },
        { "role": "user", "content": "one more tool" },
        { "role": "system", "content": [
            { "type": "text", "text": "There is a new tool." },
            { "type": "tool_addition", "tool": { "type": "tool_definition", "definition": {
                "name": made.name, "description": made.description, "input_schema": made.schema,
            } }, "cache_control": { "type": "ephemeral" } },
            { "type": "tool_removal", "tool": { "type": "tool_reference", "name": tool(21, 0).name } },
        ] },
    ]);
    plain(messages, tools(size, ""))
}
