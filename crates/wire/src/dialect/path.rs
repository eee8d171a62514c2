//! The dialect and the model that a request's path names.

use super::Dialect;
use std::borrow::Cow;

impl Dialect {
    /// The dialect of requests to `path`. Only the end of the path counts: gateways and providers put
    /// prefixes before it. A query string, a fragment, and a scheme and host before it may be there.
    ///
    /// | ends with | dialect |
    /// |---|---|
    /// | `/messages`, `/messages/count_tokens` (but not below `threads`) | `anthropic-messages` |
    /// | `/model/ID/invoke`, `/model/ID/invoke-with-response-stream`, ID being of Anthropic (Bedrock) | `anthropic-messages` |
    /// | `/publishers/anthropic/models/ID:rawPredict`, `:streamRawPredict` (Vertex) | `anthropic-messages` |
    /// | `/chat/completions` (Azure: below `deployments/NAME`) | `openai-chat` |
    /// | `/responses`, `/responses/compact`, `/responses/input_tokens` | `openai-responses` |
    /// | `:generateContent`, `:streamGenerateContent`, `:countTokens` | `gemini-generate` |
    ///
    /// `None` for anything else, also where a path carries bodies of several vendors and does not say whose:
    /// [`of_shape`](Self::of_shape) then tells.
    pub fn of_path(path: &str) -> Option<Self> {
        let path = bare(path);
        let mut ends = path.rsplit('/').filter(|segment| !segment.is_empty());
        let last = ends.next()?;
        let before = ends.next().unwrap_or_default();
        if let Some((_, action)) = action(last) {
            return match action {
                "generateContent" | "streamGenerateContent" | "countTokens" => Some(Self::GeminiGenerate),
                "rawPredict" | "streamRawPredict" if path.contains("publishers/anthropic/") => {
                    Some(Self::AnthropicMessages)
                }
                _ => None,
            };
        }
        match (last, before) {
            ("messages", _) if ends.any(|segment| segment == "threads") => None,
            ("messages", _) | ("count_tokens", "messages") => Some(Self::AnthropicMessages),
            ("completions", "chat") => Some(Self::OpenaiChat),
            ("responses", _) | ("compact" | "input_tokens", "responses") => Some(Self::OpenaiResponses),
            ("invoke" | "invoke-with-response-stream", model) if ends.next() == Some("model") => {
                let model = decode(model);
                (model.contains("anthropic") || model.contains("claude")).then_some(Self::AnthropicMessages)
            }
            _ => None,
        }
    }
}

/// The model (on Azure the deployment) that the path names, percent-decoded. Gemini, Bedrock, Vertex and
/// Azure name it there and not in the body.
pub fn model_of_path(path: &str) -> Option<Cow<'_, str>> {
    let path = bare(path);
    let segments: Vec<_> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    let after = |name: &str| {
        let at = segments.iter().rposition(|segment| *segment == name)?;
        segments.get(at + 1).copied()
    };
    let last = segments.last()?;
    let model = match (action(last), *last) {
        (Some((model, _)), _) if after("models") == Some(last) => model,
        (None, "invoke" | "invoke-with-response-stream") => after("model")?,
        (None, "completions" | "responses") => after("deployments")?,
        _ => return None,
    };
    Some(decode(model))
}

/// The path without query and fragment.
fn bare(path: &str) -> &str {
    path.split(['?', '#']).next().unwrap_or_default()
}

/// A last segment `NAME:ACTION`; the colon may be percent-encoded.
fn action(segment: &str) -> Option<(&str, &str)> {
    segment.rsplit_once(':').or_else(|| segment.rsplit_once("%3A")).or_else(|| segment.rsplit_once("%3a"))
}

/// Resolves percent-encoding; what is not valid stays as it is.
fn decode(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        let hex = tail.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.filter(|hex| byte == b'%' && hex.bytes().all(|digit| digit.is_ascii_hexdigit())) {
            Some(hex) => {
                out.push(u8::from_str_radix(hex, 16).unwrap_or(b'%'));
                rest = tail.get(2..).unwrap_or_default();
            }
            None => {
                out.push(byte);
                rest = tail;
            }
        }
    }
    String::from_utf8(out).map_or(Cow::Borrowed(text), Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::{Dialect, model_of_path};
    use Dialect::{AnthropicMessages, GeminiGenerate, OpenaiChat, OpenaiResponses};

    #[test]
    fn the_end_of_a_path_names_the_dialect_and_perhaps_the_model() {
        let cases: &[(&str, Option<Dialect>, Option<&str>)] = &[
            ("/v1/messages", Some(AnthropicMessages), None),
            ("/v1/messages?beta=true", Some(AnthropicMessages), None),
            ("/v1/messages/", Some(AnthropicMessages), None),
            ("/v1/messages/count_tokens?beta=true", Some(AnthropicMessages), None),
            ("/proxy/team-a/anthropic/v1/messages", Some(AnthropicMessages), None),
            ("https://api.anthropic.com/v1/messages", Some(AnthropicMessages), None),
            ("/v1/messages/batches", None, None),
            ("/v1/threads/thread_1/messages", None, None),
            ("/v1/chat/completions", Some(OpenaiChat), None),
            ("/openai/v1/chat/completions", Some(OpenaiChat), None),
            ("/v1/completions", None, None),
            (
                "/openai/deployments/my-gpt/chat/completions?api-version=2026-01-01",
                Some(OpenaiChat),
                Some("my-gpt"),
            ),
            ("/openai/deployments/my-gpt/responses", Some(OpenaiResponses), Some("my-gpt")),
            ("/v1/projects/p/locations/l/endpoints/openapi/chat/completions", Some(OpenaiChat), None),
            ("/v1/responses", Some(OpenaiResponses), None),
            ("/backend-api/codex/responses", Some(OpenaiResponses), None),
            ("/v1/responses/compact", Some(OpenaiResponses), None),
            ("/v1/responses/input_tokens", Some(OpenaiResponses), None),
            ("/v1/responses/resp_1", None, None),
            ("/v1/responses/resp_1/cancel", None, None),
            ("/v1beta/models/gemini-2.5-pro:generateContent", Some(GeminiGenerate), Some("gemini-2.5-pro")),
            (
                "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
                Some(GeminiGenerate),
                Some("gemini-2.5-pro"),
            ),
            ("/v1beta/models/gemini-2.5-pro%3AgenerateContent", Some(GeminiGenerate), Some("gemini-2.5-pro")),
            ("/v1beta/models/x:countTokens", Some(GeminiGenerate), Some("x")),
            ("/v1beta/models/x:embedContent", None, Some("x")),
            ("/v1internal:streamGenerateContent?alt=sse", Some(GeminiGenerate), None),
            (
                "/v1/projects/p/locations/l/publishers/google/models/gemini-3-pro:generateContent",
                Some(GeminiGenerate),
                Some("gemini-3-pro"),
            ),
            (
                "/v1/projects/p/locations/l/publishers/anthropic/models/claude-opus-4-6@20260101:streamRawPredict",
                Some(AnthropicMessages),
                Some("claude-opus-4-6@20260101"),
            ),
            (
                "/v1/projects/p/locations/l/publishers/anthropic/models/claude-x:rawPredict",
                Some(AnthropicMessages),
                Some("claude-x"),
            ),
            ("/v1/projects/p/locations/l/publishers/mistralai/models/m:rawPredict", None, Some("m")),
            (
                "/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/invoke",
                Some(AnthropicMessages),
                Some("us.anthropic.claude-sonnet-4-5-20250929-v1:0"),
            ),
            (
                "/bedrock/model/anthropic.claude-3:0/invoke-with-response-stream",
                Some(AnthropicMessages),
                Some("anthropic.claude-3:0"),
            ),
            ("/model/meta.llama3-8b/invoke", None, Some("meta.llama3-8b")),
            ("/model/anthropic.claude-3/converse", None, None),
            ("/model/50%/invoke", None, Some("50%")),
            ("/", None, None),
            ("", None, None),
            ("/v1/models", None, None),
        ];
        for (path, dialect, model) in cases {
            assert_eq!(Dialect::of_path(path), *dialect, "{path}");
            assert_eq!(model_of_path(path).as_deref(), *model, "{path}");
        }
    }
}
