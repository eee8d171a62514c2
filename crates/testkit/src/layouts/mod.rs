//! Request bodies in the layouts of real coding agents: our own text in the shape that their requests have.
//!
//! What the shapes follow is described in the project's notes on agents (measured with the real clients);
//! no text of theirs is in here. Every body is fixed by its [`Size`]. Order of members matters and is as the
//! clients have it: `messages` before `system` and `tools`.

mod anthropic;
mod claude_code;
mod codex;
mod gemini;
mod openai;
pub mod spaced;
pub mod text;

pub use anthropic::{
    aider, bedrock, compaction_anthropic, documents_anthropic, images_anthropic, inline_tool_anthropic,
    opencode_anthropic, server_tools_anthropic, thinking_anthropic, vertex,
};
pub use claude_code::{claude_code, claude_code_tool_search};
pub use codex::{
    codex_additional_tools, codex_instructions, codex_namespaces, codex_tool_search, compaction_responses,
    deferred_responses, images_responses, previous_response, reasoning_responses, stored_responses,
    websocket_frame, websocket_frame_nested,
};
pub use gemini::{cached_content_gemini, code_assist, gemini_cli, media_gemini};
pub use openai::{images_chat, opencode_chat, qwen_code, reasoning_chat};

/// How large a body is to be.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// Tools of MCP servers (built-in ones come on top).
    pub tools: usize,
    /// Turns that went before: each a tool call and its result.
    pub turns: usize,
    /// Bytes of each tool result and of the system prompt (a few more, at sentence or line ends).
    pub text: usize,
}

impl Size {
    /// Small enough to look at.
    pub const SMALL: Self = Self { tools: 3, turns: 2, text: 120 };
}

/// One request.
#[derive(Debug, Clone)]
pub struct Layout {
    /// Its name: that of the function that makes it.
    pub name: &'static str,
    /// The dialect's name as the command line spells it.
    pub dialect: &'static str,
    /// The path the client posts it to.
    pub path: &'static str,
    /// The body.
    pub body: String,
}

type Make = fn(Size) -> String;

const MESSAGES: &str = "/v1/messages?beta=true";
const CHAT: &str = "/v1/chat/completions";
const RESPONSES: &str = "/v1/responses";
const GENERATE: &str = "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse";

const ALL: &[(&str, &str, &str, Make)] = &[
    ("claude_code", "anthropic-messages", MESSAGES, claude_code),
    ("claude_code_tool_search", "anthropic-messages", MESSAGES, claude_code_tool_search),
    ("opencode_anthropic", "anthropic-messages", "/v1/messages", opencode_anthropic),
    ("aider", "anthropic-messages", "/v1/messages", aider),
    (
        "bedrock",
        "anthropic-messages",
        "/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/invoke-with-response-stream",
        bedrock,
    ),
    (
        "vertex",
        "anthropic-messages",
        "/v1/projects/p/locations/global/publishers/anthropic/models/claude-sonnet-4-5:streamRawPredict",
        vertex,
    ),
    ("images_anthropic", "anthropic-messages", MESSAGES, images_anthropic),
    ("documents_anthropic", "anthropic-messages", MESSAGES, documents_anthropic),
    ("thinking_anthropic", "anthropic-messages", MESSAGES, thinking_anthropic),
    ("compaction_anthropic", "anthropic-messages", MESSAGES, compaction_anthropic),
    ("server_tools_anthropic", "anthropic-messages", MESSAGES, server_tools_anthropic),
    ("inline_tool_anthropic", "anthropic-messages", MESSAGES, inline_tool_anthropic),
    ("opencode_chat", "openai-chat", CHAT, opencode_chat),
    ("qwen_code", "openai-chat", CHAT, qwen_code),
    ("images_chat", "openai-chat", CHAT, images_chat),
    ("reasoning_chat", "openai-chat", CHAT, reasoning_chat),
    ("codex_additional_tools", "openai-responses", RESPONSES, codex_additional_tools),
    ("codex_namespaces", "openai-responses", RESPONSES, codex_namespaces),
    ("codex_instructions", "openai-responses", "/backend-api/codex/responses", codex_instructions),
    ("codex_tool_search", "openai-responses", RESPONSES, codex_tool_search),
    ("deferred_responses", "openai-responses", RESPONSES, deferred_responses),
    ("reasoning_responses", "openai-responses", RESPONSES, reasoning_responses),
    ("compaction_responses", "openai-responses", "/v1/responses/compact", compaction_responses),
    ("images_responses", "openai-responses", RESPONSES, images_responses),
    ("previous_response", "openai-responses", RESPONSES, previous_response),
    ("stored_responses", "openai-responses", RESPONSES, stored_responses),
    ("websocket_frame", "openai-responses", RESPONSES, websocket_frame),
    ("websocket_frame_nested", "openai-responses", RESPONSES, websocket_frame_nested),
    ("gemini_cli", "gemini-generate", GENERATE, gemini_cli),
    ("code_assist", "gemini-generate", "/v1internal:streamGenerateContent?alt=sse", code_assist),
    ("media_gemini", "gemini-generate", GENERATE, media_gemini),
    ("cached_content_gemini", "gemini-generate", GENERATE, cached_content_gemini),
];

/// Every layout at one size.
pub fn all(size: Size) -> Vec<Layout> {
    ALL.iter().map(|&(name, dialect, path, make)| Layout { name, dialect, path, body: make(size) }).collect()
}

/// The layout of this number at one size; the numbers go round.
pub fn nth(number: usize, size: Size) -> Layout {
    let (name, dialect, path, make) = ALL[number % ALL.len()];
    Layout { name, dialect, path, body: make(size) }
}

#[cfg(test)]
mod tests {
    use super::{Size, all, nth};

    #[test]
    fn every_layout_is_json_and_the_same_each_time() {
        for (one, again) in all(Size::SMALL).into_iter().zip(all(Size::SMALL)) {
            assert_eq!(one.body, again.body, "{}", one.name);
            assert!(serde_json::from_str::<serde_json::Value>(&one.body).is_ok(), "{}", one.name);
        }
    }

    #[test]
    fn every_layout_has_its_number() {
        let all = all(Size::SMALL);
        for (number, own) in all.iter().enumerate() {
            for number in [number, number + all.len()] {
                let one = nth(number, Size::SMALL);
                assert_eq!((one.name, one.path, &one.body), (own.name, own.path, &own.body));
            }
        }
    }

    #[test]
    fn sizes_are_followed() {
        let large = Size { tools: 40, turns: 10, text: 4_000 };
        for (small, large) in all(Size::SMALL).into_iter().zip(all(large)) {
            assert!(large.body.len() > small.body.len() + 3_000, "{}", small.name);
        }
    }
}
