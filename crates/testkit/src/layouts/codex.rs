//! Responses: Codex in its three layouts, and every kind of item.

use super::Size;
use super::text::{base64, code, png_base64, prose, tool};
use serde_json::{Value, json};

fn function(at: usize) -> Value {
    let made = tool(51, at);
    json!({
        "type": "function", "name": made.name, "description": made.description, "strict": false,
        "parameters": made.schema,
    })
}

/// Built-in tools of this layout, and one namespace for the MCP server.
fn tools(size: Size) -> Vec<Value> {
    let shell = tool(52, 0);
    let inside: Vec<_> = (0..size.tools).map(function).collect();
    vec![
        json!({
            "type": "function", "name": "exec_command", "description": shell.description, "strict": false,
            "parameters": shell.schema,
        }),
        json!({
            "type": "custom", "name": "apply_patch", "description": "Applies a patch.",
            "format": { "type": "grammar", "syntax": "lark", "definition": "start: \"*** Begin\" WORD" },
        }),
        json!({ "type": "web_search", "external_web_access": false }),
        json!({
            "type": "namespace", "name": "mcp__tracker", "description": "Tools of the tracker.", "tools": inside,
        }),
    ]
}

fn developer(size: Size) -> Value {
    json!({ "type": "message", "role": "developer", "content": [
        { "type": "input_text", "text": prose(53, size.text) },
        { "type": "input_text", "text": "<permissions>read only</permissions>" },
    ] })
}

fn user(text: &str) -> Value {
    json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": text }] })
}

fn turns(size: Size, input: &mut Vec<Value>) {
    for at in 0..size.turns {
        let id = format!("call_{at:04}");
        input.push(json!({
            "type": "reasoning", "summary": [], "content": null,
            "encrypted_content": base64(prose(at as u64, 90).as_bytes()),
        }));
        input.push(json!({
            "type": "function_call", "name": "exec_command", "call_id": id,
            "arguments": json!({ "cmd": format!("cat {at}.rs") }).to_string(),
        }));
        input.push(
            json!({ "type": "function_call_output", "call_id": id, "output": code(at as u64, size.text) }),
        );
    }
}

fn request(input: Vec<Value>, rest: Value) -> String {
    let mut body = json!({ "model": "gpt-x", "input": input });
    if let (Some(body), Value::Object(rest)) = (body.as_object_mut(), rest) {
        body.extend(rest);
        body.insert("tool_choice".into(), json!("auto"));
        body.insert("store".into(), json!(false));
        body.insert("stream".into(), json!(true));
        body.insert("include".into(), json!(["reasoning.encrypted_content"]));
        body.insert("prompt_cache_key".into(), json!("0199-test"));
    }
    body.to_string()
}

/// No `tools` member: the tools are the first item, the instructions the next.
pub fn codex_additional_tools(size: Size) -> String {
    let mut input = vec![
        json!({ "type": "additional_tools", "role": "developer", "tools": tools(size) }),
        developer(size),
        user("<environment_context>\n  <cwd>/w</cwd>\n</environment_context>"),
        user("do it"),
    ];
    turns(size, &mut input);
    request(input, json!({}))
}

/// Tools in `tools`, those of the MCP server in a namespace; instructions in developer items; one more
/// developer item further down.
pub fn codex_namespaces(size: Size) -> String {
    let mut input = vec![developer(size), user("do it")];
    turns(size, &mut input);
    input.push(json!({ "type": "message", "role": "developer", "content": [
        { "type": "input_text", "text": "The plan has changed." },
    ] }));
    input.push(user("and now?"));
    request(input, json!({ "tools": tools(size) }))
}

/// A model that Codex knows: `instructions` is there.
pub fn codex_instructions(size: Size) -> String {
    let mut input = vec![user("do it")];
    turns(size, &mut input);
    input.push(json!({ "type": "message", "role": "assistant", "content": [
        { "type": "output_text", "text": "Done.", "annotations": [] },
    ] }));
    input.push(user("patch it"));
    input.push(json!({
        "type": "custom_tool_call", "status": "completed", "call_id": "call_p", "name": "apply_patch",
        "input": "*** Begin Patch\n*** End Patch",
    }));
    input.push(json!({ "type": "custom_tool_call_output", "call_id": "call_p", "output": "applied" }));
    request(input, json!({ "instructions": prose(54, size.text), "tools": tools(size) }))
}

/// Tool search run by the client: no MCP tool is in `tools`; what a search found comes in its answer, in a
/// namespace, marked as deferred.
pub fn codex_tool_search(size: Size) -> String {
    let search = tool(52, 1);
    let mut own = tools(size);
    own.pop();
    own.push(json!({
        "type": "tool_search", "execution": "client", "description": search.description,
        "parameters": search.schema,
    }));
    let found: Vec<_> = (0..size.tools.min(2)).map(|at| deferred(function(at))).collect();
    let mut input = vec![
        developer(size),
        user("do it"),
        json!({
            "type": "tool_search_call", "call_id": "call_s", "status": "completed", "execution": "client",
            "arguments": { "query": "issue", "limit": 2 },
        }),
        json!({
            "type": "tool_search_output", "call_id": "call_s", "status": "completed", "execution": "client",
            "tools": [{
                "type": "namespace", "name": "mcp__tracker", "description": "Tools of the tracker.", "tools": found,
            }],
        }),
    ];
    for at in 0..size.turns {
        let id = format!("call_{at:04}");
        input.push(json!({
            "type": "function_call", "name": tool(51, 0).name, "namespace": "mcp__tracker", "call_id": id,
            "arguments": "{}",
        }));
        input.push(json!({ "type": "function_call_output", "call_id": id, "output": [
            { "type": "input_text", "text": "Wall time: 0.1 seconds" },
            { "type": "input_text", "text": prose(at as u64, size.text) },
        ] }));
    }
    request(input, json!({ "tools": own }))
}

fn deferred(mut entry: Value) -> Value {
    if let Some(entry) = entry.as_object_mut() {
        entry.insert("defer_loading".into(), json!(true));
    }
    entry
}

/// Tool search run by the provider: deferred functions and an MCP server in `tools`.
pub fn deferred_responses(size: Size) -> String {
    let mut all = vec![json!({ "type": "tool_search" })];
    all.extend((0..size.tools).map(|at| deferred(function(at))));
    all.push(json!({
        "type": "mcp", "server_label": "docs", "server_url": "https://example.org/mcp", "defer_loading": true,
        "server_description": "Documents.",
    }));
    request(vec![user(&prose(55, size.text))], json!({ "tools": all }))
}

/// Reasoning in all its forms, and the calls of the provider's own tools.
pub fn reasoning_responses(size: Size) -> String {
    let input = vec![
        user("why?"),
        json!({ "type": "reasoning", "id": "rs_1", "summary": [
            { "type": "summary_text", "text": prose(56, size.text) },
        ], "encrypted_content": base64(b"sealed") }),
        json!({ "type": "reasoning", "id": "rs_2", "summary": [], "content": [
            { "type": "reasoning_text", "text": prose(57, size.text) },
        ], "encrypted_content": base64(b"sealed too") }),
        json!({ "type": "web_search_call", "id": "ws_1", "status": "completed", "action": { "type": "search", "query": "q" } }),
        json!({
            "type": "mcp_list_tools", "id": "mcpl_1", "server_label": "docs",
            "tools": [{ "name": "find", "description": "Finds.", "input_schema": { "type": "object" } }],
        }),
        json!({
            "type": "mcp_call", "id": "mcp_1", "server_label": "docs", "name": "find", "arguments": "{}", "output": "found",
        }),
        json!({ "type": "code_interpreter_call", "id": "ci_1", "container_id": "c", "code": "print(1)", "outputs": [
            { "type": "logs", "logs": "1\n" },
        ] }),
        json!({ "type": "local_shell_call", "call_id": "call_l", "status": "completed", "action": { "type": "exec", "command": ["ls"] } }),
        json!({ "type": "local_shell_call_output", "id": "call_l", "output": "a\nb\n" }),
        json!({ "type": "image_generation_call", "id": "ig_1", "status": "completed", "result": png_base64(64, 64) }),
        json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "Because." }] }),
        user("ok"),
    ];
    request(input, json!({ "tools": tools(size) }))
}

/// Compaction: what an earlier one left, and the sign that asks for the next.
pub fn compaction_responses(size: Size) -> String {
    let mut input =
        vec![json!({ "type": "compaction", "encrypted_content": base64(prose(58, size.text).as_bytes()) })];
    input.push(user("go on"));
    turns(size, &mut input);
    input.push(json!({ "type": "compaction_trigger" }));
    request(input, json!({ "instructions": prose(59, size.text), "tools": tools(size) }))
}

/// Images and files in a message and in outputs.
pub fn images_responses(size: Size) -> String {
    let url = format!("data:image/png;base64,{}", png_base64(800, 600));
    let input = vec![
        json!({ "role": "user", "content": [
            { "type": "input_text", "text": prose(60, size.text) },
            { "type": "input_image", "image_url": url, "detail": "auto" },
            { "type": "input_image", "file_id": "file-1" },
            { "type": "input_file", "filename": "a.pdf", "file_data": format!("data:application/pdf;base64,{}", base64(b"%PDF")) },
            { "type": "input_file", "file_url": "https://example.org/b.pdf" },
        ] }),
        json!({ "type": "function_call", "name": "view_image", "call_id": "call_v", "arguments": "{\"path\":\"a.png\"}" }),
        json!({ "type": "function_call_output", "call_id": "call_v", "output": [
            { "type": "input_text", "text": "here" },
            { "type": "input_image", "image_url": url },
        ] }),
        json!({ "type": "computer_call", "id": "cu_1", "call_id": "call_c", "action": { "type": "screenshot" }, "pending_safety_checks": [] }),
        json!({ "type": "computer_call_output", "call_id": "call_c", "output": { "type": "computer_screenshot", "image_url": url } }),
    ];
    request(input, json!({ "tools": tools(size) }))
}

/// Only what is new since a response that the provider keeps.
pub fn previous_response(size: Size) -> String {
    let input =
        vec![json!({ "type": "function_call_output", "call_id": "call_1", "output": code(61, size.text) })];
    request(
        input,
        json!({ "previous_response_id": "resp_1", "instructions": prose(62, size.text), "tools": tools(size) }),
    )
}

/// Items and a prompt that the provider keeps, named by id.
pub fn stored_responses(size: Size) -> String {
    let input = vec![
        json!({ "type": "item_reference", "id": "msg_1" }),
        json!({ "id": "rs_1" }),
        user(&prose(63, size.text)),
    ];
    request(input, json!({ "prompt": { "id": "pmpt_1", "variables": {} }, "tools": tools(size) }))
}

/// A frame of the WebSocket: the members of a request beside `type`.
pub fn websocket_frame(size: Size) -> String {
    json!({
        "type": "response.create",
        "model": "gpt-x",
        "previous_response_id": "resp_2",
        "input": [{ "type": "function_call_output", "call_id": "call_1", "output": code(64, size.text) }],
        "tools": tools(size),
        "store": false,
    })
    .to_string()
}

/// A frame with the request inside `response`, as older clients have it.
pub fn websocket_frame_nested(size: Size) -> String {
    json!({
        "type": "response.create",
        "event_id": "event_1",
        "response": { "model": "gpt-x", "instructions": prose(65, size.text), "input": prose(66, size.text), "tools": tools(size) },
    })
    .to_string()
}
