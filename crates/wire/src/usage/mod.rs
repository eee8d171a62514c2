//! What a response used: counters, model, stop reason and how it ended, in every dialect, from a JSON
//! body ([`of_body`]) or from a stream fed in chunks ([`StreamReader`]).
//!
//! Every number here was counted by the provider: its provenance is OBSERVED. This crate hands out
//! plain `u64`; whoever passes one on labels it.
//!
//! # One meaning for four dialects
//!
//! The dialects cut the prompt in different ways. [`Counters`] gives each part one meaning, parts that
//! do not overlap, and never a zero that was not sent; [`Reported`] keeps the numbers as they came.
//!
//! | | Anthropic Messages | OpenAI (both) | Gemini |
//! |---|---|---|---|
//! | prompt number | `input_tokens`: what the cache had no part in | `prompt_tokens`, `input_tokens`: all of it | `promptTokenCount`: all of it |
//! | cache read | beside it | inside it | inside it |
//! | cache write | beside it, by time to live | inside it, where it is counted at all | not counted |
//! | reasoning | inside `output_tokens` | inside the output | beside `candidatesTokenCount` |
//!
//! # How a response ends
//!
//! [`End::Complete`] is said only when the response's own closing was seen, so that a stream that was
//! cut is never taken for success:
//!
//! | dialect | closing |
//! |---|---|
//! | Anthropic Messages | `message_stop` |
//! | OpenAI chat | `[DONE]`; or a finish reason and then the usage chunk with empty `choices`, behind which only `[DONE]` can come |
//! | OpenAI Responses | `response.completed`, `response.incomplete` |
//! | Gemini | a candidate's `finishReason` or a `promptFeedback.blockReason`, and in an array its `]` |
//!
//! An event that the stream's end cut in half says nothing. One that only lacks its blank line counts,
//! if its JSON is whole.
//!
//! # Memory
//!
//! A stream reader holds the bytes of one event at a time, up to its limit
//! ([`DEFAULT_LIMIT`](crate::sse::DEFAULT_LIMIT)); a longer one is read past and counted in
//! [`Events::oversized`]. While an event is read, the tape of its JSON stands beside it: a few bytes for
//! most, at worst (an event of nothing but one-digit numbers) some ten times its size; after a large
//! event both are given back. Every text in the outcome comes from within one event, and lists are cut
//! ([`Events::dropped`]).

mod anthropic;
mod counters;
mod elements;
mod gemini;
mod openai_chat;
mod openai_responses;
mod state;
mod stream;

pub use counters::{Counters, Iteration, Reported, ServerTool};
pub use stream::StreamReader;

use crate::Dialect;
use crate::json::{Error, Parser};

/// How a response ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// Its closing was seen.
    Complete,
    /// It ended without its closing: the stream was cut, or the body says that the response is not
    /// done (a background response that is `queued` or `in_progress`), or is not a response at all.
    Truncated,
    /// The provider said that it failed, whatever the HTTP status was.
    Failed(Failure),
}

/// An error as the provider put it. All of it may be absent: providers differ in what they send.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Failure {
    /// The error's type: Anthropic and OpenAI `error.type`, Gemini `error.status`; else its code.
    pub kind: Option<String>,
    /// The error's `code`, as text.
    pub code: Option<String>,
    /// The message for people.
    pub message: Option<String>,
}

/// What a response says about itself, each as it was last sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct About {
    /// The id of the message or response.
    pub id: Option<String>,
    /// The model that answered, which need not be the one that was asked.
    pub model: Option<String>,
    /// Why it stopped, in the dialect's own word: Anthropic `stop_reason`, chat `finish_reason` of the
    /// first choice, Gemini `finishReason` of the first candidate (or the `blockReason`), Responses
    /// `incomplete_details.reason`, else its `status`.
    pub stop_reason: Option<String>,
    /// The tier the request was served in: `service_tier`; Gemini `serviceTier`, on Vertex `trafficType`.
    pub service_tier: Option<String>,
    /// Anthropic `usage.speed`. It changes the price.
    pub speed: Option<String>,
    /// Anthropic `usage.inference_geo`. It changes the price.
    pub inference_geo: Option<String>,
    /// Anthropic `request_id`, which errors carry.
    pub request_id: Option<String>,
    /// Anthropic `input_transformations` as raw JSON (`[]` where nothing was dropped): thinking blocks
    /// that were taken out of the prompt. It can be sent again with the last usage.
    pub input_transformations: Option<String>,
    /// Anthropic `diagnostics.cache_miss_reason` as raw JSON.
    pub cache_miss_reason: Option<String>,
}

/// How the response was read: what was understood, and what was not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Events {
    /// Events (of a body: the body) whose JSON was read.
    pub read: u64,
    /// Of these, the ones whose kind is not known here. They are passed over.
    pub unknown: u64,
    /// Events whose data is not JSON.
    pub invalid: u64,
    /// Events larger than the limit, read past.
    pub oversized: u64,
    /// Lines of an event stream that are neither comment nor field.
    pub stray_lines: u64,
    /// Counters that are not a non-negative integer below 2^64. They are left out.
    pub bad_counters: u64,
    /// Iterations beyond the 256 and names of provider tools beyond the 64 that are kept.
    pub dropped: u64,
}

/// A response that was read to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// How it ended.
    pub end: End,
    /// The counters seen so far, in their one meaning, whatever the end was.
    pub counters: Counters,
    /// The same counters as they were sent.
    pub reported: Reported,
    /// Anthropic `usage.iterations`: the passes behind one response. A `compaction` pass is *not* part
    /// of the counters above, and is paid for.
    pub iterations: Vec<Iteration>,
    /// Anthropic `usage.server_tool_use`, by name.
    pub server_tools: Vec<ServerTool>,
    /// What the response says about itself.
    pub about: About,
    /// How it was read.
    pub events: Events,
}

/// Reads the JSON body of a response: success or error, whole.
///
/// # Errors
/// The body is not JSON ([`Error`] says where).
pub fn of_body(bytes: &[u8], dialect: Dialect) -> Result<Outcome, Error> {
    Parser::new().scope(bytes, |document| {
        let mut state = state::State::new(dialect);
        state.body(document?.root());
        Ok(state.outcome())
    })
}
