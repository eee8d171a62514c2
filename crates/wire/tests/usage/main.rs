//! What responses used, from bodies and from streams, at every split.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper of a test fails the test")]

use deadweight_wire::Dialect::{self, AnthropicMessages, GeminiGenerate, OpenaiChat, OpenaiResponses};
use deadweight_wire::usage::{Counters, End, Events, Failure, Outcome, StreamReader, of_body};

mod cuts;
mod recorded;
mod shapes;

/// A stream in the shape its provider sends, and the bytes of its end from which on it is known how it
/// ended.
struct Recorded {
    name: &'static str,
    dialect: Dialect,
    bytes: &'static [u8],
    /// Where the data begins whose end settles the outcome.
    closing: &'static str,
}

macro_rules! recorded {
    ($name:literal, $dialect:expr, $closing:literal) => {
        Recorded {
            name: $name,
            dialect: $dialect,
            bytes: include_bytes!(concat!("../streams/", $name)),
            closing: $closing,
        }
    };
}

const TOOLS: Recorded =
    recorded!("anthropic-tools-thinking.sse", AnthropicMessages, r#"{"type":"message_stop"}"#);
const COMPACTION: Recorded =
    recorded!("anthropic-compaction.sse", AnthropicMessages, r#"{"type":"message_stop"}"#);
const OVERLOADED: Recorded = recorded!("anthropic-overloaded.sse", AnthropicMessages, r#"{"type":"error""#);
const CHAT: Recorded = recorded!("openai-chat-tools.sse", OpenaiChat, r#","choices":[],"usage""#);
const CHAT_ERROR: Recorded = recorded!("openai-chat-error.sse", OpenaiChat, r#"{"error""#);
const RESPONSES: Recorded =
    recorded!("openai-responses-tools.sse", OpenaiResponses, r#"{"type":"response.completed""#);
const INCOMPLETE: Recorded =
    recorded!("openai-responses-incomplete.sse", OpenaiResponses, r#"{"type":"response.incomplete""#);
const FAILED: Recorded =
    recorded!("openai-responses-failed.sse", OpenaiResponses, r#"{"type":"response.failed""#);
const GEMINI: Recorded = recorded!("gemini-tools.sse", GeminiGenerate, r#""finishReason""#);
const GEMINI_ARRAY: Recorded = recorded!("gemini-array.json", GeminiGenerate, "\n]");
const GEMINI_ERROR: Recorded = recorded!("gemini-error.sse", GeminiGenerate, r#"{"error""#);

const ALL: [&Recorded; 11] = [
    &TOOLS,
    &COMPACTION,
    &OVERLOADED,
    &CHAT,
    &CHAT_ERROR,
    &RESPONSES,
    &INCOMPLETE,
    &FAILED,
    &GEMINI,
    &GEMINI_ARRAY,
    &GEMINI_ERROR,
];

fn read<'c>(dialect: Dialect, chunks: impl IntoIterator<Item = &'c [u8]>) -> Outcome {
    let mut reader = StreamReader::new(dialect);
    for chunk in chunks {
        reader.feed(chunk);
    }
    reader.finish()
}

fn stream(dialect: Dialect, stream: &str) -> Outcome {
    read(dialect, [stream.as_bytes()])
}

fn body(dialect: Dialect, body: &str) -> Outcome {
    of_body(body.as_bytes(), dialect).unwrap()
}

fn failed(outcome: &Outcome) -> &Failure {
    match &outcome.end {
        End::Failed(failure) => failure,
        other => panic!("not failed: {other:?}"),
    }
}

impl Recorded {
    fn read(&self) -> Outcome {
        read(self.dialect, [self.bytes])
    }
}
