//! Chat Completions: opencode, qwen-code, and every kind of part.

use super::Size;
use super::text::{base64, code, png_base64, prose, tool};
use serde_json::{Value, json};

fn tools(size: Size, prefix: &str) -> Vec<Value> {
    (0..size.tools)
        .map(|at| {
            let made = tool(41, at);
            json!({ "type": "function", "function": {
                "name": format!("{prefix}{}", made.name), "description": made.description,
                "parameters": made.schema,
            } })
        })
        .collect()
}

fn turns(size: Size, messages: &mut Vec<Value>) {
    for at in 0..size.turns {
        let id = format!("call_{at:04}");
        let arguments = json!({ "filePath": format!("/w/{at}.ts") }).to_string();
        messages.push(json!({ "role": "assistant", "content": "", "tool_calls": [
            { "id": id, "type": "function", "function": { "name": "read", "arguments": arguments } },
        ] }));
        messages.push(json!({ "role": "tool", "tool_call_id": id, "content": code(at as u64, size.text) }));
    }
}

/// opencode on an OpenAI-compatible API.
pub fn opencode_chat(size: Size) -> String {
    let mut messages = vec![
        json!({ "role": "system", "content": prose(42, size.text) }),
        json!({ "role": "system", "content": prose(43, size.text / 2) }),
        json!({ "role": "user", "content": "do it" }),
    ];
    turns(size, &mut messages);
    messages.push(json!({ "role": "system", "content": "The plan has changed." }));
    messages.push(json!({ "role": "user", "content": [{ "type": "text", "text": "and now?" }] }));
    json!({
        "model": "mock-model",
        "max_tokens": 32_000,
        "messages": messages,
        "tools": tools(size, "tracker_"),
        "tool_choice": "auto",
        "stream": true,
        "stream_options": { "include_usage": true },
    })
    .to_string()
}

/// qwen-code: its own `tool_search` and `tool_call`, no schema of any MCP tool.
pub fn qwen_code(size: Size) -> String {
    let mut messages = vec![
        json!({ "role": "system", "content": [
            { "type": "text", "text": prose(44, size.text), "cache_control": { "type": "ephemeral" } },
        ] }),
        json!({ "role": "user", "content": [{ "type": "text", "text": prose(45, 100) }] }),
    ];
    turns(size, &mut messages);
    messages.push(json!({ "role": "user", "content": [
        { "type": "text", "text": "go", "cache_control": { "type": "ephemeral" } },
    ] }));
    let own = ["tool_search", "tool_call", "read_file"].iter().map(|name| {
        let made = tool(46, name.bytes().map(usize::from).sum());
        json!({ "type": "function", "function": {
            "name": name, "description": made.description, "parameters": made.schema,
        } })
    });
    json!({
        "model": "qwen3-coder-plus",
        "messages": messages,
        "stream": true,
        "stream_options": { "include_usage": true },
        "tools": own.collect::<Vec<_>>(),
        "max_tokens": 64_000,
    })
    .to_string()
}

/// Images, a file, sound and a refusal.
pub fn images_chat(size: Size) -> String {
    let mut all = tools(size, "");
    all.push(json!({ "type": "custom", "custom": {
        "name": "patch", "description": "Applies a patch.",
        "format": { "type": "grammar", "grammar": { "syntax": "lark", "definition": "start: WORD" } },
    } }));
    json!({
        "model": "gpt-x",
        "messages": [
            { "role": "developer", "content": prose(47, size.text) },
            { "role": "user", "content": [
                { "type": "text", "text": "what is this?" },
                { "type": "image_url", "image_url": {
                    "url": format!("data:image/png;base64,{}", png_base64(320, 200)), "detail": "high",
                } },
                { "type": "image_url", "image_url": { "url": "https://example.org/a.png" } },
                { "type": "file", "file": {
                    "filename": "paper.pdf", "file_data": format!("data:application/pdf;base64,{}", base64(b"%PDF-1.7")),
                } },
                { "type": "file", "file": { "file_id": "file-1" } },
                { "type": "input_audio", "input_audio": { "data": base64(b"RIFF"), "format": "wav" } },
            ] },
            { "role": "assistant", "content": [{ "type": "refusal", "refusal": "No." }] },
            { "role": "assistant", "content": null, "refusal": "No, really.", "tool_calls": [
                { "id": "call_1", "type": "custom", "custom": { "name": "patch", "input": "*** Begin" } },
            ] },
            { "role": "tool", "tool_call_id": "call_1", "content": [{ "type": "text", "text": "applied" }] },
        ],
        "tools": all,
    })
    .to_string()
}

/// Reasoning in the members that OpenAI-style APIs use for it, and the old way to call a function.
pub fn reasoning_chat(size: Size) -> String {
    json!({
        "model": "deepthought",
        "messages": [
            { "role": "user", "content": "why?" },
            { "role": "assistant", "reasoning_content": prose(48, size.text), "content": "Because." },
            { "role": "user", "content": "really?" },
            { "role": "assistant", "content": null, "function_call": { "name": "check", "arguments": "{}" } },
            { "role": "function", "name": "check", "content": "yes" },
        ],
        "functions": [{ "name": "check", "description": prose(49, size.text), "parameters": { "type": "object" } }],
    })
    .to_string()
}
