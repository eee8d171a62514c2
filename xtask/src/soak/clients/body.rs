//! What a client's body says: the answers to calls, and the tools of one server.

use serde_json::Value;

use super::session::number;
use crate::fixtures::script::tools_of;

/// The text with which call number `call` was answered, wherever the dialect puts it.
pub(super) fn answer(body: &Value, call: usize) -> Option<String> {
    match body {
        Value::Array(elements) => elements.iter().find_map(|element| answer(element, call)),
        Value::Object(members) => {
            let is_result = members
                .get("type")
                .is_some_and(|kind| kind == "tool_result" || kind == "function_call_output")
                || members.get("role").is_some_and(|role| role == "tool")
                || members.contains_key("response");
            let id = ["tool_use_id", "tool_call_id", "call_id", "id"]
                .into_iter()
                .find_map(|name| members.get(name)?.as_str());
            if is_result && id.and_then(number) == Some(call) {
                let mut text = String::new();
                for name in ["content", "output", "response"] {
                    words(members.get(name).unwrap_or(&Value::Null), &mut text);
                }
                return Some(text);
            }
            members.values().find_map(|member| answer(member, call))
        }
        _ => None,
    }
}

/// Every string below, one a line; what is a type or a kind left out.
fn words(value: &Value, text: &mut String) {
    match value {
        Value::String(own) => {
            text.push_str(own);
            text.push('\n');
        }
        Value::Array(elements) => elements.iter().for_each(|element| words(element, text)),
        Value::Object(members) => {
            members.iter().filter(|(name, _)| *name != "type").for_each(|(_, member)| words(member, text));
        }
        _ => {}
    }
}

/// A tool as the model is shown it.
#[derive(Debug, Clone)]
pub(super) struct Shown {
    pub(super) name: String,
    /// Its schema, `null` when it has none.
    pub(super) schema: Value,
    /// All of it.
    pub(super) whole: Value,
}

/// The tools of a body whose names hold one of these.
pub(super) fn shown(body: &Value, names: &[&str]) -> Vec<Shown> {
    let mut found = Vec::new();
    collect(&tools_of(body).unwrap_or_default(), names, &mut found);
    found
}

fn collect(value: &Value, names: &[&str], found: &mut Vec<Shown>) {
    match value {
        Value::Array(elements) => elements.iter().for_each(|element| collect(element, names, found)),
        Value::Object(members) => {
            let name = members.get("name").and_then(Value::as_str).unwrap_or_default();
            let schema = ["input_schema", "parametersJsonSchema", "parameters"]
                .into_iter()
                .find_map(|name| members.get(name));
            if !members.contains_key("tools") && names.iter().any(|own| name.ends_with(own)) {
                let (name, schema) = (name.to_owned(), schema.cloned().unwrap_or_default());
                found.push(Shown { name, schema, whole: value.clone() });
                return;
            }
            for name in ["tools", "function", "functionDeclarations"] {
                collect(members.get(name).unwrap_or(&Value::Null), names, found);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn answers_are_found_in_every_dialect() {
        let anthropic = json!({ "messages": [{ "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": "toolu_000000000000000000000002", "content": [{ "type": "text", "text": "a" }] }
        ] }] });
        let chat = json!({ "messages": [{ "role": "tool", "tool_call_id": "call_000000000000000000000002", "content": "a" }] });
        let responses = json!({ "input": [
            { "type": "function_call", "call_id": "call_000000000000000000000002", "arguments": "{}" },
            { "type": "function_call_output", "call_id": "call_000000000000000000000002", "output": [{ "type": "input_text", "text": "a" }] }
        ] });
        let gemini = json!({ "contents": [{ "parts": [{ "functionResponse": {
            "id": "call_000000000000000000000002", "name": "x", "response": { "output": "a" } } }] }] });
        for body in [anthropic, chat, responses, gemini] {
            assert_eq!(answer(&body, 2), Some("a\n".to_owned()), "{body}");
            assert_eq!(answer(&body, 1), None, "{body}");
        }
    }

    #[test]
    fn the_tools_of_one_server_are_found_in_every_dialect() {
        let bodies = [
            json!({ "tools": [{ "name": "mcp__kit__note_list", "input_schema": { "type": "object" } }, { "name": "Bash" }] }),
            json!({ "tools": [{ "type": "function", "function": { "name": "kit_note_list", "parameters": { "type": "object" } } }] }),
            json!({ "tools": [{ "type": "namespace", "name": "mcp__kit", "tools": [
                { "type": "function", "name": "note_list", "parameters": { "type": "object" } }] }] }),
            json!({ "tools": [{ "functionDeclarations": [{ "name": "mcp_kit_note_list", "parametersJsonSchema": { "type": "object" } }] }] }),
        ];
        for body in bodies {
            let shown = shown(&body, &["note_list"]);
            assert_eq!(shown.len(), 1, "{body}");
            assert_eq!(shown[0].schema, json!({ "type": "object" }));
            assert!(shown[0].name.ends_with("note_list"));
        }
    }
}
