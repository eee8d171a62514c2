//! The dialect that a body shows by its shape.

use super::Dialect;
use crate::json::{Document, Kind, Value};

impl Dialect {
    /// The dialect of a body without a path. The first rule that applies decides:
    ///
    /// 1. anything but an object: none;
    /// 2. `type` is that of a client's frame of the Responses WebSocket (`response.create`, `.append`,
    ///    `.steer`, `.inject`): `openai-responses`;
    /// 3. `contents`, `systemInstruction`, or a `request` or `generateContentRequest` with `contents` in it:
    ///    `gemini-generate`;
    /// 4. `messages`, an array, with a sign of either dialect that has it, looked for in this order: a
    ///    member of the request, the first tool that shows one, the first message that shows one;
    /// 5. no `messages`, but `input`, `instructions` or `previous_response_id`: `openai-responses`;
    /// 6. otherwise none.
    ///
    /// `None` means that the shape does not tell: `{"model","max_tokens","messages":[{"role":"user",…}]}` is a
    /// good request of two dialects, and a model's name is no sign, since gateways carry any model in any
    /// dialect.
    pub fn of_shape(document: Document<'_, '_>) -> Option<Self> {
        let root = document.root();
        let (mut messages, mut tools) = (None, None);
        let (mut gemini, mut responses, mut sign) = (false, false, None);
        for entry in root.entries() {
            let key = entry.key.as_str()?;
            let value = entry.value;
            match &*key {
                "type" => {
                    let kind = value.as_str().unwrap_or_default();
                    if matches!(
                        &*kind,
                        "response.create" | "response.append" | "response.steer" | "response.inject"
                    ) {
                        return Some(Self::OpenaiResponses);
                    }
                }
                "contents" | "systemInstruction" | "system_instruction" => gemini |= is_container(value),
                "request" | "generateContentRequest" => gemini |= value.get("contents").is_some(),
                "messages" if value.kind() == Kind::Array => messages = Some(value),
                "tools" if value.kind() == Kind::Array => tools = Some(value),
                "input" | "instructions" | "previous_response_id" if !value.is_null() => responses = true,
                _ => sign = sign.or_else(|| sign_of_member(&key)),
            }
        }
        if gemini {
            return Some(Self::GeminiGenerate);
        }
        let Some(messages) = messages else { return responses.then_some(Self::OpenaiResponses) };
        let by_tools = || tools?.elements().find_map(sign_of_tool);
        let by_messages =
            || messages.elements().enumerate().find_map(|(at, message)| sign_of_message(at, message));
        sign.or_else(by_tools).or_else(by_messages)
    }
}

fn is_container(value: Value<'_, '_>) -> bool {
    matches!(value.kind(), Kind::Array | Kind::Object)
}

/// Members that only one of the two dialects with `messages` has.
fn sign_of_member(key: &str) -> Option<Dialect> {
    match key {
        "system" | "anthropic_version" | "anthropic_beta" | "stop_sequences" | "mcp_servers"
        | "context_management" => Some(Dialect::AnthropicMessages),
        "stream_options"
        | "max_completion_tokens"
        | "frequency_penalty"
        | "presence_penalty"
        | "logit_bias"
        | "logprobs"
        | "response_format"
        | "parallel_tool_calls"
        | "reasoning_effort"
        | "functions"
        | "function_call"
        | "stop"
        | "n"
        | "seed" => Some(Dialect::OpenaiChat),
        _ => None,
    }
}

fn sign_of_tool(tool: Value<'_, '_>) -> Option<Dialect> {
    tool.entries().find_map(|entry| match &*entry.key.as_str()? {
        "input_schema" | "defer_loading" => Some(Dialect::AnthropicMessages),
        "function" | "parameters" => Some(Dialect::OpenaiChat),
        _ => None,
    })
}

fn sign_of_message(at: usize, message: Value<'_, '_>) -> Option<Dialect> {
    message.entries().find_map(|entry| match &*entry.key.as_str()? {
        "tool_calls" | "tool_call_id" | "reasoning_content" => Some(Dialect::OpenaiChat),
        "role" => match &*entry.value.as_str()? {
            "developer" | "tool" | "function" => Some(Dialect::OpenaiChat),
            // Anthropic has it too, but never before the first user message.
            "system" if at == 0 => Some(Dialect::OpenaiChat),
            _ => None,
        },
        "content" => entry.value.elements().find_map(sign_of_block),
        _ => None,
    })
}

fn sign_of_block(block: Value<'_, '_>) -> Option<Dialect> {
    match &*block.get("type")?.as_str()? {
        "tool_use" | "tool_result" | "thinking" | "redacted_thinking" | "image" | "document"
        | "server_tool_use" => Some(Dialect::AnthropicMessages),
        "image_url" | "input_audio" | "file" | "refusal" => Some(Dialect::OpenaiChat),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::Dialect;
    use crate::json::Parser;
    use Dialect::{AnthropicMessages, GeminiGenerate, OpenaiChat, OpenaiResponses};

    #[test]
    fn the_first_sign_in_the_written_order_decides() {
        let cases: &[(&str, Option<Dialect>)] = &[
            ("[]", None),
            ("3", None),
            ("{}", None),
            (r#"{"model":"m","messages":[{"role":"user","content":"hi"}],"max_tokens":5}"#, None),
            (r#"{"model":"claude-x","messages":[{"role":"user","content":"hi"}]}"#, None),
            (r#"{"messages":[{"role":"user","content":"hi"}],"system":"s"}"#, Some(AnthropicMessages)),
            (r#"{"anthropic_version":"bedrock-2023-05-31","messages":[]}"#, Some(AnthropicMessages)),
            (r#"{"messages":[{"role":"user","content":"hi"}],"stream_options":{}}"#, Some(OpenaiChat)),
            (r#"{"messages":[],"system":"s","stream_options":{}}"#, Some(AnthropicMessages)),
            (r#"{"messages":[],"stop":"x","tools":[{"input_schema":{}}]}"#, Some(OpenaiChat)),
            (r#"{"messages":[],"tools":[{"name":"a"},{"input_schema":{}}]}"#, Some(AnthropicMessages)),
            (r#"{"messages":[],"tools":[{"type":"function","function":{}}]}"#, Some(OpenaiChat)),
            (r#"{"messages":[{"role":"system","content":"s"}]}"#, Some(OpenaiChat)),
            (r#"{"messages":[{"role":"user","content":"a"},{"role":"system","content":"s"}]}"#, None),
            (
                r#"{"messages":[{"role":"user","content":[{"type":"text","text":"t"},{"type":"tool_result"}]}]}"#,
                Some(AnthropicMessages),
            ),
            (r#"{"messages":[{"role":"user","content":[{"type":"image_url"}]}]}"#, Some(OpenaiChat)),
            (
                r#"{"messages":[{"role":"user","content":[{"text":"t"},{"type":"document"}]}]}"#,
                Some(AnthropicMessages),
            ),
            (r#"{"model":"m","input":"hi"}"#, Some(OpenaiResponses)),
            (r#"{"model":"m","input":null}"#, None),
            (r#"{"type":"response.create","input":[]}"#, Some(OpenaiResponses)),
            (r#"{"type":"response.completed","response":{}}"#, None),
            (r#"{"contents":[]}"#, Some(GeminiGenerate)),
            (r#"{"contents":"a page"}"#, None),
            (r#"{"model":"m","project":"p","request":{"contents":[]}}"#, Some(GeminiGenerate)),
            (r#"{"m\u0065ssages":[],"syst\u0065m":""}"#, Some(AnthropicMessages)),
        ];
        for (body, dialect) in cases {
            let found = Parser::new().scope(body.as_bytes(), |document| Dialect::of_shape(document.unwrap()));
            assert_eq!(found, *dialect, "{body}");
        }
    }
}
