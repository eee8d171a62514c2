//! What an answer says of itself: counters, how it ended, the provider's error.

use super::decode;
use super::request::MOST;
use crate::exchange::{Answer, Unread};
use deadweight_store::Observed;
use deadweight_wire::Dialect;
use deadweight_wire::usage::{Counters, End, Outcome, StreamReader, of_body};
use std::borrow::Cow;

/// What was read of an answer.
#[derive(Debug, Default)]
pub(super) struct Read {
    /// What it says; `None` where it could not be read.
    pub outcome: Option<Outcome>,
    /// Whether it came as a stream of events.
    pub streamed: bool,
}

/// The largest counter that is believed: a million times the largest window.
const PLAUSIBLE: u64 = 1 << 40;

/// Takes out counters that no provider can mean: one of them would drown every sum it is in.
pub(super) fn plausible(counters: &mut Counters) {
    for counter in [
        &mut counters.input_uncached,
        &mut counters.cache_read,
        &mut counters.cache_write_5m,
        &mut counters.cache_write_1h,
        &mut counters.cache_write_unspecified,
        &mut counters.output,
        &mut counters.reasoning_output,
        &mut counters.total_prompt,
        &mut counters.tool_prompt,
    ] {
        *counter = counter.filter(|count| *count <= PLAUSIBLE);
    }
}

/// Reads an answer. `dialect` is that of its request, `room` where a body that came in pieces is put together. A counter
/// that cannot be meant counts as not sent.
pub(super) fn read(answer: Answer, dialect: Option<Dialect>, room: &mut Vec<u8>) -> Read {
    let mut read = as_sent(answer, dialect, room);
    if let Some(outcome) = &mut read.outcome {
        plausible(&mut outcome.counters);
    }
    read
}

fn as_sent(answer: Answer, dialect: Option<Dialect>, room: &mut Vec<u8>) -> Read {
    match answer {
        Answer::Stream(outcome) => Read { outcome: Some(*outcome), streamed: true },
        Answer::Body { body, encoding, stream } => Read {
            outcome: dialect.and_then(|dialect| of_copy(&body, encoding.as_deref(), stream, dialect, room)),
            streamed: stream,
        },
        Answer::Unread(
            Unread::Empty | Unread::NotText | Unread::TooLarge | Unread::Absent | Unread::Fault,
        ) => Read::default(),
    }
}

fn of_copy(
    body: &crate::exchange::Copied,
    encoding: Option<&str>,
    stream: bool,
    dialect: Dialect,
    room: &mut Vec<u8>,
) -> Option<Outcome> {
    // A body that was cut is no JSON, but a stream says what it has said.
    let whole = body.whole;
    let pieces = body.joined(room);
    let (bytes, whole) = match encoding {
        None => (Cow::Borrowed(pieces), whole),
        Some(encoding) => {
            let decoded = decode::decode(encoding, pieces, MOST)?;
            (decoded.bytes, decoded.whole && whole)
        }
    };
    if stream {
        let mut reader = StreamReader::new(dialect);
        reader.feed(&bytes);
        return Some(reader.finish());
    }
    whole.then(|| of_body(&bytes, dialect).ok()).flatten()
}

/// The provider's counters as the ledger has them. What the provider's own tools put before the model is billed as
/// uncached prompt, and stands there: the counters of a line add up to what was billed.
pub(super) fn observed(counters: &Counters) -> Observed {
    let of_tools = counters.tool_prompt.unwrap_or(0);
    let with_tools = |count: Option<u64>| count.map(|count| count.saturating_add(of_tools));
    Observed {
        uncached: with_tools(counters.input_uncached),
        cache_read: counters.cache_read,
        cache_write_5m: counters.cache_write_5m,
        cache_write_1h: counters.cache_write_1h,
        cache_write_unspecified: counters.cache_write_unspecified,
        output: counters.output,
        reasoning: counters.reasoning_output,
        prompt: with_tools(counters.prompt()),
    }
}

/// The type of the provider's error, where it is a known one, never a text: that may quote the prompt.
pub(super) fn error(outcome: &Outcome) -> Option<String> {
    match &outcome.end {
        End::Failed(failure) => {
            let said = failure.kind.as_deref().or(failure.code.as_deref());
            Some(said.map_or("error", super::kinds::of_provider).to_owned())
        }
        // The connection may have been closed properly all the same.
        End::Truncated => Some("truncated".to_owned()),
        End::Complete => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::Copied;
    use bytes::Bytes;

    fn body(text: &'static str) -> Copied {
        Copied { chunks: vec![Bytes::from_static(text.as_bytes())], length: text.len() as u64, whole: true }
    }

    #[test]
    fn a_body_and_a_stream_give_the_same_counters() {
        let json = body(
            r#"{"type":"message","usage":{"input_tokens":5,"cache_read_input_tokens":7,"output_tokens":3}}"#,
        );
        let read_json = read(
            Answer::Body { body: json, encoding: None, stream: false },
            Some(Dialect::AnthropicMessages),
            &mut Vec::new(),
        );
        let stream = body(
            "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":5,\"cache_read_input_tokens\":7,\"output_tokens\":1}}}\n\n\
             event: message_delta\ndata: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":3}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
        );
        let read_stream = read(
            Answer::Body { body: stream, encoding: None, stream: true },
            Some(Dialect::AnthropicMessages),
            &mut Vec::new(),
        );
        let of = |read: &Read| observed(&read.outcome.as_ref().unwrap().counters);
        assert_eq!(of(&read_json), of(&read_stream));
        assert_eq!(of(&read_json).prompt, Some(12));
        assert!(read_stream.streamed && !read_json.streamed);
    }

    #[test]
    fn a_counter_that_nobody_can_mean_is_not_sent() {
        let json =
            body(r#"{"type":"message","usage":{"input_tokens":9223372036854775807,"output_tokens":3}}"#);
        let read = read(
            Answer::Body { body: json, encoding: None, stream: false },
            Some(Dialect::AnthropicMessages),
            &mut Vec::new(),
        );
        let observed = observed(&read.outcome.unwrap().counters);
        assert_eq!((observed.prompt, observed.output), (None, Some(3)));
    }

    #[test]
    fn the_counters_of_a_line_add_up_to_what_was_billed() {
        let json = body(
            r#"{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1300,"cachedContentTokenCount":1024,
                "candidatesTokenCount":12,"thoughtsTokenCount":8,"toolUsePromptTokenCount":50,"totalTokenCount":1370}}"#,
        );
        let read = read(
            Answer::Body { body: json, encoding: None, stream: false },
            Some(Dialect::GeminiGenerate),
            &mut Vec::new(),
        );
        let observed = observed(&read.outcome.unwrap().counters);
        assert_eq!(
            (observed.uncached, observed.cache_read, observed.output),
            (Some(326), Some(1024), Some(20))
        );
        assert_eq!(observed.prompt, Some(1350));
        assert_eq!(observed.prompt.unwrap() + observed.output.unwrap(), 1370);
    }

    #[test]
    fn an_error_is_named_by_its_type_and_a_cut_stream_is_no_success() {
        let of = |text, stream| {
            let answer = Answer::Body { body: body(text), encoding: None, stream };
            read(answer, Some(Dialect::AnthropicMessages), &mut Vec::new())
                .outcome
                .and_then(|outcome| error(&outcome))
        };
        let error = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded: secret"}}"#;
        assert_eq!(of(error, false).as_deref(), Some("overloaded_error"));
        let other = r#"{"type":"error","error":{"type":"you said: secret","message":"no"}}"#;
        assert_eq!(of(other, false).as_deref(), Some("other"));
        let cut = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":5}}}\n\n";
        assert_eq!(of(cut, true).as_deref(), Some("truncated"));
    }
}
