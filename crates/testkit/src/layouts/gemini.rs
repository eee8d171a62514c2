//! Gemini: gemini-cli by key and by login, and every kind of part.

use super::Size;
use super::text::{base64, code, png_base64, prose, tool};
use serde_json::{Value, json};

fn tools(size: Size) -> Value {
    let own = tool(71, 0);
    let mut all = vec![json!({
        "name": "read_file", "description": own.description, "parameters": own.schema,
    })];
    all.extend((0..size.tools).map(|at| {
        let made = tool(72, at);
        json!({
            "name": format!("mcp_tracker_{}", made.name), "description": made.description,
            "parametersJsonSchema": made.schema,
        })
    }));
    json!([{ "functionDeclarations": all }, { "googleSearch": {}, "urlContext": {} }])
}

fn contents(size: Size) -> Vec<Value> {
    let mut contents = vec![json!({ "parts": [
            { "text": format!("<session_context>\n{}", prose(73, 120)) }, { "text": "do it" },
        ], "role": "user" })];
    for at in 0..size.turns {
        contents.push(json!({ "parts": [
            { "text": prose(at as u64, 60), "thought": true },
            {
                "functionCall": { "name": "read_file", "args": { "path": format!("{at}.rs") }, "id": format!("c{at}") },
                "thoughtSignature": base64(b"signed"),
            },
        ], "role": "model" }));
        contents.push(json!({ "parts": [
            { "functionResponse": {
                "id": format!("c{at}"), "name": "read_file", "response": { "output": code(at as u64, size.text) },
            } },
        ], "role": "user" }));
    }
    contents
}

fn request(size: Size) -> Value {
    json!({
        "contents": contents(size),
        "systemInstruction": { "role": "user", "parts": [{ "text": prose(74, size.text) }] },
        "tools": tools(size),
        "generationConfig": { "temperature": 0, "topP": 1, "thinkingConfig": { "includeThoughts": true } },
    })
}

/// gemini-cli with a key.
pub fn gemini_cli(size: Size) -> String {
    request(size).to_string()
}

/// gemini-cli with a login: the request inside an envelope.
pub fn code_assist(size: Size) -> String {
    json!({ "model": "gemini-2.5-pro", "project": "p", "user_prompt_id": "u", "request": request(size) })
        .to_string()
}

/// Images, documents, sound and code, in the spellings of both cases and with single parts.
pub fn media_gemini(size: Size) -> String {
    json!({
        "contents": [
            { "parts": { "text": prose(75, size.text) } },
            { "role": "model", "parts": [
                { "executableCode": { "language": "PYTHON", "code": "print(1)" } },
                { "codeExecutionResult": { "outcome": "OUTCOME_OK", "output": "1\n" } },
                { "text": "", "thoughtSignature": base64(b"signed") },
                { "thoughtSignature": base64(b"alone") },
            ] },
            { "role": "user", "parts": [
                { "inlineData": { "mimeType": "image/png", "data": png_base64(100, 50) } },
                { "inline_data": { "mime_type": "application/pdf", "data": base64(b"%PDF") } },
                { "fileData": { "mimeType": "video/mp4", "fileUri": "https://example.org/v" } },
                { "functionResponse": { "name": "shot", "response": { "ok": true }, "parts": [
                    { "inlineData": { "mimeType": "image/png", "data": png_base64(200, 100) } },
                ] } },
            ] },
        ],
        "system_instruction": { "parts": { "text": "Be brief." } },
        "tools": tools(size),
    })
    .to_string()
}

/// A request on top of a cache that the provider keeps.
pub fn cached_content_gemini(size: Size) -> String {
    json!({ "cachedContent": "cachedContents/c1", "contents": contents(size) }).to_string()
}
