//! What the judge answers.

use std::time::Duration;

use serde_json::{Value, json};

use super::bill::{Bill, Usage};
use super::cache::Hash;
use super::rules::Rule;

/// A request as it arrived.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The path with its query.
    pub path: &'a str,
    /// The headers, in the order and spelling in which they came.
    pub headers: &'a [(String, String)],
    /// The body, byte for byte.
    pub body: &'a [u8],
    /// When it arrived, by the test's own clock.
    pub at: Duration,
}

/// What the judge says of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The provider would have refused it.
    Refused(Refusal),
    /// The provider would have answered it.
    Accepted(Box<Accepted>),
}

impl Verdict {
    /// The refusal, if it is one.
    pub fn refusal(&self) -> Option<&Refusal> {
        if let Self::Refused(refusal) = self { Some(refusal) } else { None }
    }

    /// A copy to keep: without what only an answer needs, and what can be long.
    pub(crate) fn without_ticket(&self) -> Self {
        match self {
            Self::Refused(refusal) => Self::Refused(refusal.clone()),
            Self::Accepted(accepted) => {
                let own = &accepted.ticket;
                let ticket =
                    Ticket { model: own.model.clone(), writes: Vec::new(), thinking: Vec::new(), ..*own };
                Self::Accepted(Box::new(Accepted {
                    ticket,
                    thinking: accepted.thinking.clone(),
                    applied_edits: accepted.applied_edits.clone(),
                    ..**accepted
                }))
            }
        }
    }

    /// What was accepted, if it was.
    pub fn accepted(&self) -> Option<&Accepted> {
        if let Self::Accepted(accepted) = self { Some(accepted) } else { None }
    }
}

/// The error formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Dialect {
    /// Anthropic Messages, also under the paths of Bedrock and Vertex.
    #[default]
    Anthropic,
    /// OpenAI Chat Completions.
    OpenaiChat,
    /// OpenAI Responses.
    OpenaiResponses,
    /// Gemini `generateContent`.
    Gemini,
}

/// A refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// The rule that was broken.
    pub rule: Rule,
    /// The provider's sentence.
    pub message: String,
    /// Whose form the error has.
    pub dialect: Dialect,
}

impl Refusal {
    pub(crate) fn new(rule: Rule, message: impl Into<String>) -> Self {
        Self { status: 400, rule, message: message.into(), dialect: Dialect::Anthropic }
    }

    /// The body of the error as it goes over the wire.
    pub fn body(&self) -> Value {
        match self.dialect {
            Dialect::Anthropic => {
                let kind = match self.status {
                    413 => "request_too_large",
                    404 => "not_found_error",
                    _ => "invalid_request_error",
                };
                json!({
                    "type": "error",
                    "error": { "type": kind, "message": self.message },
                    "request_id": "req_strict"
                })
            }
            Dialect::OpenaiChat | Dialect::OpenaiResponses => json!({
                "error": {
                    "message": self.message,
                    "type": "invalid_request_error",
                    "param": if self.dialect == Dialect::OpenaiChat { "messages" } else { "input" },
                    "code": null
                }
            }),
            Dialect::Gemini => json!({
                "error": { "code": self.status, "message": self.message, "status": "INVALID_ARGUMENT" }
            }),
        }
    }
}

/// An accepted request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    /// Needed to answer it.
    pub ticket: Ticket,
    /// The prompt's tokens, with nothing generated yet.
    pub usage: Usage,
    /// What the prompt costs.
    pub bill: Bill,
    /// Thinking that the provider took out or let pass although its check failed.
    pub thinking: Vec<Transformed>,
    /// What the provider's own context editing cleared before the model read the prompt.
    pub applied_edits: Vec<AppliedEdit>,
    /// The provider's reason for a cache miss, when `diagnostics` asks for it.
    pub cache_miss: Option<&'static str>,
}

impl Accepted {
    /// Thinking that was dropped without an error.
    pub fn dropped(&self) -> impl Iterator<Item = &Transformed> {
        self.thinking.iter().filter(|one| one.dropped)
    }
}

/// A thinking block that failed a check and did not fail the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transformed {
    /// Where it stands, as in `messages.3.content.0`.
    pub path: String,
    /// Whether the model was not shown it.
    pub dropped: bool,
    /// `prefix_binding_mismatch` or `model_binding_mismatch`.
    pub reason: &'static str,
}

impl Transformed {
    /// As it stands in `input_transformations`.
    pub fn json(&self) -> Value {
        let kind = if self.dropped { "thinking_dropped" } else { "thinking_mismatch_allowed" };
        json!({ "type": kind, "path": self.path, "reason": self.reason })
    }
}

/// What one edit of `context_management` did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AppliedEdit {
    /// The edit's type.
    pub kind: &'static str,
    /// How many tool uses, or turns with thinking, were cleared.
    pub count: u64,
    /// How many tokens that freed.
    pub tokens: u64,
}

impl AppliedEdit {
    /// As it stands in `context_management.applied_edits`.
    pub fn json(&self) -> Value {
        let counted = if self.kind.starts_with("clear_thinking") {
            "cleared_thinking_turns"
        } else {
            "cleared_tool_uses"
        };
        json!({ "type": self.kind, counted: self.count, "cleared_input_tokens": self.tokens })
    }
}

/// An accepted request that waits for its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ticket {
    /// Counts the requests that were accepted.
    pub number: u64,
    /// The request's format.
    pub dialect: Dialect,
    /// The model that was asked for.
    pub model: String,
    /// Whether only tokens are counted, so that there is no answer to give.
    pub counting: bool,
    /// Whether the response says what became of thinking.
    pub reports_thinking: bool,
    pub(crate) usage: Usage,
    /// Prefixes that become readable when the response begins.
    pub(crate) writes: Vec<Hash>,
    /// What stands before the response.
    pub(crate) bound: Hash,
    /// The thinking that stands before it, by number.
    pub(crate) thinking: Vec<u32>,
}

impl Ticket {
    /// The part of the response's ids that is its own.
    pub fn serial(&self) -> String {
        format!("{:08x}", self.number)
    }
}
