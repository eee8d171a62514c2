//! What a provider says when it does not take a request. Of its words only what is in a closed list is kept: they may
//! quote the prompt.

use crate::measure::decode::decode;
use deadweight_wire::Dialect;
use deadweight_wire::json::Parser;
use deadweight_wire::usage::{End, of_body};

/// The rule of thinking that is bound to another conversation.
const BOUND: &str = "thinking_bound";

/// So much of a refusal is read, in bytes.
const MOST: usize = 1 << 20;

/// Words by which a rule is known, and the rule. Providers' error texts, seen in November 2026.
const RULES: [(&str, &str); 14] = [
    ("bound to a different conversation", BOUND),
    ("in the latest assistant message cannot be modified", "thinking_changed"),
    ("signature", "thinking_signature"),
    ("without `tool_result` blocks immediately after", "tool_pairing"),
    ("unexpected `tool_use_id`", "tool_pairing"),
    ("must have a single result", "tool_pairing"),
    ("no tool output found for function call", "tool_pairing"),
    ("no tool call found for function call output", "tool_pairing"),
    ("number of function response parts", "tool_pairing"),
    ("required 'reasoning' item", "reasoning_item"),
    ("cache_control", "cache_control"),
    ("tool reference", "tool_reference"),
    ("non-empty", "empty_text"),
    ("too long", "too_long"),
];

/// What a refusal says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    /// The rule that it names, or the type of the error, or nothing that is known.
    pub(super) rule: String,
    /// The place that it names, such as `messages.1.content.0`.
    pub(super) place: Option<String>,
}

impl Refusal {
    /// Reads the body of a refusal, also a compressed one.
    pub(super) fn read(body: Option<&[u8]>, encoding: Option<&str>, dialect: Dialect) -> Self {
        let decoded = encoding.zip(body).and_then(|(encoding, body)| decode(encoding, body, MOST));
        let body = match &decoded {
            Some(decoded) => Some(&*decoded.bytes),
            None => body,
        };
        let text = body.map(String::from_utf8_lossy).unwrap_or_default();
        let lower = text.to_lowercase();
        let known = RULES.iter().find(|(words, _)| lower.contains(words)).map(|(_, rule)| (*rule).to_owned());
        let kind = || {
            let outcome = of_body(body?, dialect).ok()?;
            let End::Failed(failure) = outcome.end else { return None };
            failure.kind.or(failure.code).filter(|kind| is_word(kind))
        };
        Self { rule: known.or_else(kind).unwrap_or_else(|| "unknown".to_owned()), place: place(body) }
    }

    /// Whether thinking is said to be bound to another conversation.
    pub(super) fn is_of_binding(&self) -> bool {
        self.rule == BOUND
    }

    /// The message that it names, by its index in what was sent.
    pub(super) fn message(&self) -> Option<usize> {
        self.place.as_deref()?.strip_prefix("messages.")?.split('.').next()?.parse().ok()
    }

    /// Whether thinking is said not to be what it was.
    pub(super) fn is_of_thinking(&self) -> bool {
        self.rule.starts_with("thinking_")
    }
}

fn is_word(text: &str) -> bool {
    text.len() <= 64 && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.'))
}

/// The path that the message begins with.
fn place(body: Option<&[u8]>) -> Option<String> {
    Parser::new().scope(body?, |document| {
        let root = document.ok()?.root();
        let message = root.get("error")?.get("message")?.as_str()?;
        let (place, _) = message.split_once(':')?;
        (place.contains('.') && is_word(place)).then(|| place.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(message: &str) -> Refusal {
        let body =
            format!(r#"{{"type":"error","error":{{"type":"invalid_request_error","message":"{message}"}}}}"#);
        Refusal::read(Some(body.as_bytes()), None, Dialect::AnthropicMessages)
    }

    #[test]
    fn a_refusal_is_named_and_its_words_are_not_kept() {
        let bound = read(
            "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation.",
        );
        assert_eq!(
            (bound.rule.as_str(), bound.place.as_deref()),
            ("thinking_bound", Some("messages.1.content.0"))
        );
        assert!(bound.is_of_thinking() && bound.is_of_binding());
        assert_eq!(bound.message(), Some(1));
        let other = read("the prompt said: my secret");
        assert_eq!((other.rule.as_str(), other.place), ("invalid_request_error", None));
        let none = Refusal::read(Some(b"<html>"), None, Dialect::OpenaiChat);
        assert_eq!((none.rule.as_str(), none.place), ("unknown", None));
        assert_eq!(Refusal::read(None, Some("gzip"), Dialect::OpenaiChat).rule, "unknown");
    }
}
