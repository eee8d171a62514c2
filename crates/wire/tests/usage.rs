//! What responses used, from bodies and from streams, at every split.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper of a test fails the test")]

use deadweight_wire::Dialect::{self, AnthropicMessages, GeminiGenerate, OpenaiChat, OpenaiResponses};
use deadweight_wire::usage::{
    About, Counters, End, Events, Failure, Outcome, Reported, ServerTool, StreamReader, of_body,
};
use proptest::prelude::*;

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
            bytes: include_bytes!(concat!("streams/", $name)),
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

#[test]
fn anthropic_with_thinking_and_a_tool() {
    let outcome = TOOLS.read();
    assert_eq!(
        outcome,
        Outcome {
            end: End::Complete,
            counters: Counters {
                input_uncached: Some(4),
                cache_read: Some(21_954),
                cache_write_5m: Some(0),
                cache_write_1h: Some(1_830),
                cache_write_unspecified: None,
                output: Some(189),
                reasoning_output: Some(57),
                total_prompt: None,
                tool_prompt: None,
            },
            reported: Reported {
                input: Some(4),
                cache_read: Some(21_954),
                // `null` in the last report does not take it back.
                cache_write: Some(1_830),
                cache_write_5m: Some(0),
                cache_write_1h: Some(1_830),
                output: Some(189),
                reasoning: Some(57),
                ..Reported::default()
            },
            iterations: vec![],
            server_tools: vec![],
            about: About {
                id: Some("msg_01Weigh0000000000000001".into()),
                model: Some("claude-opus-5-5".into()),
                stop_reason: Some("tool_use".into()),
                service_tier: Some("standard".into()),
                inference_geo: Some("global".into()),
                input_transformations: Some("[]".into()),
                ..About::default()
            },
            events: Events { read: 16, ..Events::default() },
        }
    );
    assert_eq!(outcome.counters.prompt(), Some(4 + 1_830 + 21_954));
}

#[test]
fn anthropic_with_a_compaction_pass() {
    let outcome = COMPACTION.read();
    assert_eq!(outcome.end, End::Complete);
    assert_eq!(
        outcome.counters,
        Counters {
            input_uncached: Some(23_000),
            cache_read: Some(0),
            cache_write_5m: Some(300),
            cache_write_1h: Some(500),
            cache_write_unspecified: Some(100),
            output: Some(1_000),
            ..Counters::default()
        }
    );
    assert_eq!(outcome.counters.cache_write(), Some(900));
    assert_eq!(outcome.iterations.len(), 2);
    let [compaction, message] = &outcome.iterations[..] else { unreachable!() };
    assert_eq!(compaction.kind.as_deref(), Some("compaction"));
    assert_eq!(compaction.model, None);
    assert_eq!(compaction.counters.prompt(), Some(180_000));
    assert_eq!(compaction.counters.output, Some(3_500));
    assert_eq!(message.kind.as_deref(), Some("message"));
    assert_eq!(message.model.as_deref(), Some("claude-sonnet-5-5"));
    assert_eq!(message.counters.cache_write_unspecified, Some(900), "sent without its times");
    assert_eq!(message.counters.cache_write_5m, None);
    assert_eq!(
        outcome.server_tools,
        [
            ServerTool { name: "web_search_requests".into(), count: 2 },
            ServerTool { name: "web_fetch_requests".into(), count: 0 },
        ]
    );
    assert_eq!(outcome.about.speed.as_deref(), Some("fast"));
    assert_eq!(
        outcome.about.cache_miss_reason.as_deref(),
        Some(r#"{"type":"messages_changed","cache_missed_input_tokens":6455}"#)
    );
    assert_eq!(
        outcome.about.input_transformations.as_deref(),
        Some(r#"[{"type":"thinking_dropped","path":"messages.3.content.0"}]"#),
        "the last ones"
    );
    assert_eq!(outcome.events, Events { read: 9, unknown: 1, ..Events::default() });
}

#[test]
fn anthropic_error_inside_a_stream() {
    let outcome = OVERLOADED.read();
    assert_eq!(
        failed(&outcome),
        &Failure { kind: Some("overloaded_error".into()), code: None, message: Some("Overloaded".into()) }
    );
    assert_eq!(outcome.about.request_id.as_deref(), Some("req_011Weigh"));
    assert_eq!(outcome.counters.cache_write_unspecified, Some(2_048), "what was seen before stays");
    assert_eq!(outcome.counters.output, Some(1));
}

#[test]
fn chat_with_a_tool() {
    let outcome = CHAT.read();
    assert_eq!(outcome.end, End::Complete);
    assert_eq!(
        outcome.counters,
        Counters {
            input_uncached: Some(9_120 - 7_680 - 1_280),
            cache_read: Some(7_680),
            cache_write_unspecified: Some(1_280),
            output: Some(143),
            reasoning_output: Some(64),
            total_prompt: Some(9_120),
            ..Counters::default()
        }
    );
    assert_eq!(outcome.counters.prompt(), Some(9_120));
    assert_eq!(outcome.reported.total, Some(9_263));
    assert_eq!(
        outcome.about,
        About {
            id: Some("chatcmpl-weigh1".into()),
            model: Some("gpt-5.6-2026-08-01".into()),
            stop_reason: Some("tool_calls".into()),
            service_tier: Some("default".into()),
            ..About::default()
        }
    );
    assert_eq!(outcome.events, Events { read: 7, ..Events::default() });
}

#[test]
fn chat_error_inside_a_stream_is_not_made_good_by_done() {
    let outcome = CHAT_ERROR.read();
    assert_eq!(failed(&outcome).kind.as_deref(), Some("server_error"));
    assert!(failed(&outcome).message.as_deref().is_some_and(|text| text.starts_with("The server had")));
    assert_eq!(outcome.counters, Counters::default(), "no counter was sent, none is made up");
}

#[test]
fn responses_with_reasoning_and_a_tool() {
    let outcome = RESPONSES.read();
    assert_eq!(outcome.end, End::Complete);
    assert_eq!(
        outcome.counters,
        Counters {
            input_uncached: Some(14_500 - 12_288),
            cache_read: Some(12_288),
            cache_write_unspecified: Some(0),
            output: Some(96),
            reasoning_output: Some(32),
            total_prompt: Some(14_500),
            ..Counters::default()
        }
    );
    assert_eq!(
        outcome.about,
        About {
            id: Some("resp_weigh1".into()),
            model: Some("gpt-6-codex".into()),
            stop_reason: Some("completed".into()),
            service_tier: Some("default".into()),
            ..About::default()
        }
    );
    assert_eq!(outcome.events, Events { read: 11, unknown: 1, ..Events::default() });
}

#[test]
fn responses_incomplete_is_a_proper_end() {
    let outcome = INCOMPLETE.read();
    assert_eq!(outcome.end, End::Complete);
    assert_eq!(outcome.about.stop_reason.as_deref(), Some("max_output_tokens"));
    assert_eq!(outcome.about.service_tier.as_deref(), Some("flex"));
    assert_eq!(outcome.counters.total_prompt, Some(2_100));
    assert_eq!(outcome.counters.input_uncached, None, "cache reads were not sent");
    assert_eq!(outcome.counters.input_uncached_at_most(), Some(2_100));
}

#[test]
fn responses_failed() {
    let outcome = FAILED.read();
    assert_eq!(failed(&outcome).kind.as_deref(), Some("rate_limit_exceeded"));
    assert_eq!(failed(&outcome).code.as_deref(), Some("rate_limit_exceeded"));
    assert_eq!(outcome.about.id.as_deref(), Some("resp_weigh3"));
}

#[test]
fn gemini_counters_are_cumulative_and_may_come_only_once() {
    let outcome = GEMINI.read();
    assert_eq!(outcome.end, End::Complete);
    assert_eq!(
        outcome.counters,
        Counters {
            input_uncached: Some(6_120 - 4_074),
            // Sent in the second chunk only.
            cache_read: Some(4_074),
            output: Some(22 + 81),
            reasoning_output: Some(81),
            total_prompt: Some(6_120),
            tool_prompt: Some(65),
            ..Counters::default()
        }
    );
    assert_eq!(outcome.reported.output, Some(22));
    assert_eq!(outcome.reported.total, Some(6_288));
    assert_eq!(
        outcome.about,
        About {
            id: Some("weighGem1".into()),
            model: Some("gemini-3-pro".into()),
            stop_reason: Some("STOP".into()),
            service_tier: Some("ON_DEMAND".into()),
            ..About::default()
        }
    );
    assert_eq!(outcome.events, Events { read: 3, ..Events::default() });
}

#[test]
fn gemini_array_and_its_body_say_the_same_as_the_events() {
    assert_eq!(GEMINI_ARRAY.read(), GEMINI.read());
    let mut whole = of_body(GEMINI_ARRAY.bytes, GeminiGenerate).unwrap();
    assert_eq!(whole.events.read, 1);
    whole.events.read = 3;
    assert_eq!(whole, GEMINI.read());
}

#[test]
fn gemini_error_inside_a_stream() {
    let outcome = GEMINI_ERROR.read();
    assert_eq!(
        failed(&outcome),
        &Failure {
            kind: Some("UNAVAILABLE".into()),
            code: Some("503".into()),
            message: Some("The model is overloaded. Please try again later.".into()),
        }
    );
    assert_eq!(outcome.counters.output, Some(81));
}

#[test]
fn every_cut_in_two_gives_the_same() {
    for recorded in ALL {
        let expected = recorded.read();
        for at in 0..=recorded.bytes.len() {
            let (head, tail) = recorded.bytes.split_at(at);
            assert_eq!(read(recorded.dialect, [head, tail]), expected, "{} cut at {at}", recorded.name);
        }
    }
}

#[test]
fn chunks_of_every_small_size_give_the_same() {
    for recorded in ALL {
        let expected = recorded.read();
        for size in 1..64 {
            assert_eq!(
                read(recorded.dialect, recorded.bytes.chunks(size)),
                expected,
                "{} in chunks of {size}",
                recorded.name
            );
        }
    }
}

#[test]
fn line_ends_comments_and_a_byte_order_mark_change_nothing() {
    for recorded in ALL.iter().filter(|recorded| recorded.name.ends_with(".sse")) {
        let expected = recorded.read();
        let text = std::str::from_utf8(recorded.bytes).unwrap().replace("\r\n", "\n");
        let unspaced = text.replace("\ndata: ", "\ndata:").replace("\nevent: ", "\nevent:");
        for other in [
            text.replace('\n', "\r\n"),
            text.replace('\n', "\r"),
            text.clone(),
            format!("\u{feff}{text}"),
            format!(": processing\n\n{}", text.replace("\n\n", "\n: keep-alive\n\nid: 3\nretry: 5\n\n")),
            unspaced,
            text.trim_end().to_owned(),
            format!("\n\n{text}"),
        ] {
            assert_eq!(stream(recorded.dialect, &other), expected, "{}: {other:?}", recorded.name);
        }
    }
}

#[test]
fn data_may_be_broken_over_lines() {
    let outcome = stream(
        AnthropicMessages,
        "event: message_delta\ndata: {\"type\":\"message_delta\",\ndata:   \"usage\":\ndata: {\"output_tokens\":\ndata:12}}\n\n",
    );
    assert_eq!(outcome.counters.output, Some(12));
    assert_eq!(outcome.events.invalid, 0);
}

/// A stream that was cut is never a success, and never an anomaly of its sender; from the byte on that
/// settles it, it stays settled.
#[test]
fn a_stream_cut_anywhere_before_its_closing_is_truncated() {
    for recorded in ALL {
        let whole = recorded.read();
        let begins = recorded
            .bytes
            .windows(recorded.closing.len())
            .rposition(|window| window == recorded.closing.as_bytes())
            .unwrap();
        let mut settled = None;
        for length in 0..=recorded.bytes.len() {
            let outcome = read(recorded.dialect, [&recorded.bytes[..length]]);
            assert_eq!(outcome.events.invalid, 0, "{} cut after {length}", recorded.name);
            if outcome.end == End::Truncated {
                assert_eq!(settled, None, "{} cut after {length}: no longer settled", recorded.name);
            } else {
                settled.get_or_insert(length);
                assert_eq!(outcome.end, whole.end, "{} cut after {length}", recorded.name);
                assert_eq!(outcome.counters, whole.counters, "{} cut after {length}", recorded.name);
            }
        }
        let settled = settled.unwrap();
        assert!(
            settled > begins,
            "{} is settled after {settled} bytes, before its closing at {begins}",
            recorded.name
        );
        let data_end = recorded.bytes[begins..]
            .iter()
            .position(|byte| matches!(byte, b'\n' | b'\r'))
            .filter(|_| recorded.closing != "\n]")
            .map_or(begins + 2, |end| begins + end);
        assert_eq!(settled, data_end, "{} is settled by the last byte of its closing's data", recorded.name);
    }
}

#[test]
fn counters_of_a_running_stream() {
    let mut reader = StreamReader::new(AnthropicMessages);
    assert_eq!(reader.counters(), Counters::default());
    let first = TOOLS.bytes.windows(2).position(|pair| pair == b"\n\n").unwrap() + 2;
    reader.feed(&TOOLS.bytes[..first]);
    assert_eq!(reader.counters().prompt(), Some(23_788));
    assert_eq!(reader.counters().output, Some(3));
}

#[test]
fn a_later_partial_report_does_not_take_back_an_earlier_one() {
    let outcome = stream(
        AnthropicMessages,
        r#"data: {"type":"message_start","message":{"usage":{"input_tokens":10,"cache_read_input_tokens":20,"output_tokens":1}}}

data: {"type":"message_delta","delta":{},"usage":{"input_tokens":0,"output_tokens":30}}

data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":40}}

data: {"type":"message_delta","delta":{},"usage":null}

data: {"type":"message_stop"}

"#,
    );
    assert_eq!(
        outcome.counters,
        Counters { input_uncached: Some(0), cache_read: Some(20), output: Some(40), ..Counters::default() }
    );
    assert_eq!(outcome.about.stop_reason.as_deref(), Some("end_turn"));
}

#[test]
fn events_of_this_dialect_without_names_or_types() {
    // The name stands in for a missing type; a type wins over the name.
    let outcome = stream(
        AnthropicMessages,
        "event: message_delta\ndata: {\"usage\":{\"output_tokens\":5}}\n\nevent: message_delta\ndata: {\"type\":\"message_stop\"}\n\n",
    );
    assert_eq!((outcome.end, outcome.counters.output), (End::Complete, Some(5)));
}

#[test]
fn an_event_that_is_not_json_is_an_anomaly_and_the_stream_goes_on() {
    let text = std::str::from_utf8(TOOLS.bytes).unwrap();
    let broken = text.replacen("data: {\"type\": \"ping\"}", "data: {\"type\": ping}", 1);
    let mut expected = TOOLS.read();
    expected.events.read -= 1;
    expected.events.invalid += 1;
    assert_eq!(stream(AnthropicMessages, &broken), expected);
    let not_utf8 = [b"data: {\"type\":\"\xFF\"}\n\n", TOOLS.bytes].concat();
    assert_eq!(read(AnthropicMessages, [&not_utf8[..]]).events.invalid, 1);
}

#[test]
fn counters_that_are_none_are_left_out_and_tallied() {
    for bad in ["-1", "1.5", "\"7\"", "18446744073709551616", "true", "[]", "1e3"] {
        let outcome = body(
            AnthropicMessages,
            &format!(r#"{{"type":"message","usage":{{"input_tokens":{bad},"output_tokens":8}}}}"#),
        );
        assert_eq!(outcome.counters.input_uncached, None, "{bad}");
        assert_eq!(outcome.counters.output, Some(8), "{bad}");
        assert_eq!(outcome.events.bad_counters, 1, "{bad}");
    }
    let largest =
        body(AnthropicMessages, &format!(r#"{{"type":"message","usage":{{"input_tokens":{}}}}}"#, u64::MAX));
    assert_eq!(largest.counters.input_uncached, Some(u64::MAX));
    assert_eq!(largest.events.bad_counters, 0);
}

#[test]
fn cached_parts_beyond_the_prompt_give_no_uncached_part() {
    let outcome = body(
        OpenaiChat,
        r#"{"choices":[{"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"prompt_tokens_details":{"cached_tokens":30}}}"#,
    );
    assert_eq!(outcome.counters.input_uncached, None);
    assert_eq!(outcome.counters.cache_read, Some(30));
    assert_eq!(outcome.counters.prompt(), Some(10), "as reported");
    assert_eq!(outcome.counters.input_uncached_at_most(), Some(0));
}

#[test]
fn a_prompt_needs_its_uncached_part() {
    let only_read =
        body(AnthropicMessages, r#"{"type":"message","usage":{"cache_read_input_tokens":5}}"#).counters;
    assert_eq!(only_read.prompt(), None);
    assert_eq!(only_read.cache_write(), None);
    let only_input = body(AnthropicMessages, r#"{"type":"message","usage":{"input_tokens":5}}"#).counters;
    assert_eq!(only_input.prompt(), Some(5));
}

#[test]
fn chat_without_usage_is_complete_without_counters() {
    let outcome = stream(
        OpenaiChat,
        "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
    );
    assert_eq!(outcome.end, End::Complete);
    assert_eq!(outcome.counters, Counters::default());
}

#[test]
fn chat_is_not_closed_by_a_finish_reason_or_usage_alone() {
    let finish = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
    let usage = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":1}}\n\n";
    // Some servers send filter results with empty choices first, others usage with every chunk.
    let filters = "data: {\"choices\":[],\"prompt_filter_results\":[]}\n\n";
    let running = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"},\"finish_reason\":null}],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":1}}\n\n";
    for (stream_of, end) in [
        (vec![finish], End::Truncated),
        (vec![usage], End::Truncated),
        (vec![filters, running, finish, filters], End::Truncated),
        (vec![filters, running, finish, usage], End::Complete),
        (vec![running, "data: [DONE]\n\n"], End::Complete),
        (vec![running, "data: [DONE]"], End::Complete),
        (vec![running, "data: [DONE"], End::Truncated),
    ] {
        assert_eq!(stream(OpenaiChat, &stream_of.concat()).end, end, "{stream_of:?}");
    }
}

#[test]
fn chat_stop_reason_is_the_first_choices() {
    let outcome = stream(
        OpenaiChat,
        "data: {\"choices\":[{\"index\":0,\"finish_reason\":\"length\"}]}\n\ndata: {\"choices\":[{\"index\":1,\"finish_reason\":\"stop\"}]}\n\n",
    );
    assert_eq!(outcome.about.stop_reason.as_deref(), Some("length"));
}

#[test]
fn done_closes_only_chat() {
    for dialect in Dialect::ALL {
        let end = if dialect == OpenaiChat { End::Complete } else { End::Truncated };
        let outcome = stream(dialect, "data: [DONE]\n\n");
        assert_eq!(outcome.end, end, "{dialect}");
        assert_eq!(outcome.events, Events { read: 1, ..Events::default() }, "{dialect}");
    }
}

#[test]
fn errors_in_streams_in_their_other_shapes() {
    let cases = [
        // An error event of Responses carries the error itself; a gateway puts it into an object.
        (
            OpenaiResponses,
            r#"event: error
data: {"type":"error","sequence_number":3,"code":"server_error","message":"boom","param":null}"#,
            ("server_error", "boom"),
        ),
        (
            OpenaiResponses,
            r#"event: error
data: {"type":"error","error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"boom"}}"#,
            ("invalid_request_error", "boom"),
        ),
        (OpenaiResponses, r#"data: {"error":{"type":"x","message":"boom"}}"#, ("x", "boom")),
        (OpenaiChat, r#"data: {"error":{"code":502,"message":"boom"},"choices":[]}"#, ("502", "boom")),
        (
            OpenaiChat,
            "event: error\ndata: {\"type\":\"overloaded\",\"message\":\"boom\"}",
            ("overloaded", "boom"),
        ),
        (
            GeminiGenerate,
            r#"data: {"response":{"candidates":[]},"error":{"status":"INTERNAL","message":"boom"}}"#,
            ("INTERNAL", "boom"),
        ),
        (
            AnthropicMessages,
            "event: error\ndata: {\"error\":{\"type\":\"api_error\",\"message\":\"boom\"}}",
            ("api_error", "boom"),
        ),
    ];
    for (dialect, text, (kind, message)) in cases {
        let outcome = stream(dialect, &format!("{text}\n\n"));
        assert_eq!(failed(&outcome).kind.as_deref(), Some(kind), "{text}");
        assert_eq!(failed(&outcome).message.as_deref(), Some(message), "{text}");
    }
    let bare = stream(OpenaiChat, "data: {\"error\":\"boom\"}\n\n");
    assert_eq!(failed(&bare), &Failure { message: Some("boom".into()), ..Failure::default() });
    let empty = stream(AnthropicMessages, "event: error\ndata:\n\n");
    assert_eq!(failed(&empty), &Failure::default());
}

#[test]
fn the_first_error_stands() {
    let outcome = stream(
        OpenaiChat,
        "data: {\"error\":{\"message\":\"cause\"}}\n\ndata: {\"error\":{\"message\":\"effect\"}}\n\n",
    );
    assert_eq!(failed(&outcome).message.as_deref(), Some("cause"));
}

#[test]
fn an_error_that_says_nothing_is_none() {
    for nothing in ["null", "false"] {
        let chunk = format!("data: {{\"choices\":[],\"error\":{nothing}}}\n\ndata: [DONE]\n\n");
        assert_eq!(stream(OpenaiChat, &chunk).end, End::Complete);
    }
}

#[test]
fn json_where_a_stream_was_asked_for() {
    let error = r#"{"type":"error","error":{"type":"rate_limit_error","message":"slow"}}"#;
    for text in [error.to_owned(), format!("\n \u{feff}{error}"), format!("[{error}]")] {
        for size in 1..=text.len() {
            let outcome = read(AnthropicMessages, text.as_bytes().chunks(size));
            assert_eq!(failed(&outcome).kind.as_deref(), Some("rate_limit_error"), "{text:?} by {size}");
        }
    }
    let message = r#"{"type":"message","id":"msg_1","content":[{"type":"text","text":"} ] \" \\"}],"usage":{"input_tokens":3}}"#;
    for length in 0..=message.len() {
        let outcome = read(AnthropicMessages, [&message.as_bytes()[..length]]);
        let (end, input) =
            if length == message.len() { (End::Complete, Some(3)) } else { (End::Truncated, None) };
        assert_eq!((outcome.end, outcome.counters.input_uncached), (end, input), "{length} bytes");
    }
}

#[test]
fn an_array_holds_whatever_it_holds() {
    let text = r#"[ 1 ,"a,]\"b" , null,[{"x":[]}],{"candidates":[{"finishReason":"STOP"}]} , {"usageMetadata":{"promptTokenCount":4}},{], {}"#;
    for size in 1..=text.len() {
        let outcome = read(GeminiGenerate, text.as_bytes().chunks(size));
        assert_eq!(outcome.end, End::Truncated, "it is not closed");
        assert_eq!(outcome.counters.total_prompt, Some(4), "chunks of {size}");
        assert_eq!(outcome.events, Events { read: 7, unknown: 5, invalid: 1, ..Events::default() }, "{size}");
    }
}

#[test]
fn gemini_refused_prompt_and_wrapped_response() {
    let refused = stream(
        GeminiGenerate,
        r#"data: {"promptFeedback":{"blockReason":"SAFETY"},"usageMetadata":{"promptTokenCount":9}}"#,
    );
    assert_eq!(refused.end, End::Complete);
    assert_eq!(refused.about.stop_reason.as_deref(), Some("SAFETY"));
    let wrapped = stream(
        GeminiGenerate,
        r#"data: {"response":{"candidates":[{"finishReason":"MAX_TOKENS"}],"usageMetadata":{"promptTokenCount":9},"modelVersion":"gemini-3-pro"},"traceId":"t"}"#,
    );
    assert_eq!(wrapped.end, End::Complete);
    assert_eq!(wrapped.about.model.as_deref(), Some("gemini-3-pro"));
    assert_eq!(wrapped.counters.total_prompt, Some(9));
}

#[test]
fn an_oversized_event_is_counted_and_a_closing_one_still_closes() {
    let read_small = |recorded: &Recorded, limit: usize, size: usize| {
        let mut reader = StreamReader::with_limit(recorded.dialect, limit);
        recorded.bytes.chunks(size).for_each(|chunk| reader.feed(chunk));
        reader.finish()
    };
    for size in [1, 13, 5_000] {
        let outcome = read_small(&RESPONSES, 400, size);
        assert_eq!(outcome.end, End::Complete, "its name says so");
        assert_eq!(outcome.counters, Counters::default(), "its counters were not kept");
        assert_eq!(outcome.events, Events { read: 9, unknown: 1, oversized: 2, ..Events::default() });
        let outcome = read_small(&FAILED, 150, size);
        assert_eq!(failed(&outcome), &Failure::default());
        let outcome = read_small(&OVERLOADED, 100, size);
        assert_eq!(failed(&outcome), &Failure::default());
        let outcome = read_small(&GEMINI_ARRAY, 420, size);
        assert_eq!(outcome.events.oversized, 1);
        assert_eq!(outcome.end, End::Complete);
        assert_eq!(outcome.counters.cache_read, None, "that element was the large one");
        assert_eq!(outcome.counters.total_prompt, Some(6_120));
    }
    // Cut inside, it closes nothing.
    let cut = &RESPONSES.bytes[..RESPONSES.bytes.len() - 100];
    let mut reader = StreamReader::with_limit(OpenaiResponses, 400);
    reader.feed(cut);
    assert_eq!(reader.finish().end, End::Truncated);
}

#[test]
fn json_without_a_field_around_it_is_counted() {
    let raw = "data: {\"candidates\":[]}\n\n{\n  \"error\": {\n    \"code\": 503\n  }\n}\n";
    let outcome = stream(GeminiGenerate, raw);
    assert_eq!(outcome.end, End::Truncated);
    assert_eq!(outcome.events.stray_lines, 5);
}

#[test]
fn bodies_of_every_dialect() {
    let anthropic = body(
        AnthropicMessages,
        r#"{"model":"claude-sonnet-5-5","id":"msg_1","type":"message","role":"assistant","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn","usage":{"input_tokens":2,"cache_creation_input_tokens":6807,"cache_read_input_tokens":23537,"output_tokens":39,"output_tokens_details":{"thinking_tokens":0},"server_tool_use":{"web_search_requests":0},"service_tier":"priority","cache_creation":{"ephemeral_1h_input_tokens":6807,"ephemeral_5m_input_tokens":0},"iterations":[{"type":"message","input_tokens":2,"output_tokens":39}],"speed":"standard"},"diagnostics":{"cache_miss_reason":null}}"#,
    );
    assert_eq!(anthropic.end, End::Complete);
    assert_eq!(anthropic.counters.prompt(), Some(2 + 6_807 + 23_537));
    assert_eq!(anthropic.counters.cache_write(), Some(6_807));
    assert_eq!(anthropic.iterations.len(), 1);
    assert_eq!(anthropic.about.service_tier.as_deref(), Some("priority"));
    assert_eq!(anthropic.about.cache_miss_reason, None);

    let chat = body(
        OpenaiChat,
        r#"{"id":"c","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":2,"total_tokens":11,"prompt_tokens_details":{"cached_tokens":0}},"service_tier":"default"}"#,
    );
    assert_eq!(chat.end, End::Complete);
    assert_eq!(chat.counters.input_uncached, Some(9));
    assert_eq!(chat.counters.reasoning_output, None);

    let responses = body(
        OpenaiResponses,
        r#"{"id":"r","object":"response","status":"completed","error":null,"model":"m","output":[],"usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":4},"output_tokens":2,"output_tokens_details":{"reasoning_tokens":1},"cache_write_tokens":3}}"#,
    );
    assert_eq!(responses.end, End::Complete);
    assert_eq!(responses.counters.input_uncached, Some(2));
    assert_eq!(responses.counters.cache_write(), Some(3));

    let gemini = body(
        GeminiGenerate,
        r#"{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":2}}"#,
    );
    assert_eq!(gemini.end, End::Complete);
    assert_eq!(gemini.counters.output, Some(2));
    for outcome in [anthropic, chat, responses, gemini] {
        assert_eq!(outcome.events, Events { read: 1, ..Events::default() });
    }
}

#[test]
fn error_bodies_of_every_dialect() {
    for (dialect, text, kind) in [
        (
            AnthropicMessages,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"m"},"request_id":"req_1"}"#,
            "invalid_request_error",
        ),
        (AnthropicMessages, r#"{"error":{"type":"not_found_error","message":"m"}}"#, "not_found_error"),
        (
            OpenaiChat,
            r#"{"error":{"message":"m","type":"invalid_request_error","param":"messages","code":"x"}}"#,
            "invalid_request_error",
        ),
        (OpenaiResponses, r#"{"error":{"message":"m","type":null,"code":"not_found"}}"#, "not_found"),
        (
            OpenaiResponses,
            r#"{"id":"r","object":"response","status":"failed","error":{"code":"server_error","message":"m"}}"#,
            "server_error",
        ),
        (
            GeminiGenerate,
            r#"{"error":{"code":400,"message":"m","status":"INVALID_ARGUMENT"}}"#,
            "INVALID_ARGUMENT",
        ),
        (GeminiGenerate, r#"[{"error":{"code":400,"message":"m","status":"X"}}]"#, "X"),
    ] {
        let outcome = body(dialect, text);
        assert_eq!(failed(&outcome).kind.as_deref(), Some(kind), "{text}");
        assert_eq!(failed(&outcome).message.as_deref(), Some("m"), "{text}");
        assert_eq!(outcome.events.unknown, 0, "{text}");
    }
    let cancelled = body(OpenaiResponses, r#"{"object":"response","status":"cancelled","error":null}"#);
    assert_eq!(failed(&cancelled).kind.as_deref(), Some("cancelled"));
}

#[test]
fn bodies_that_do_not_say_that_they_ended() {
    for (dialect, text, unknown) in [
        (OpenaiResponses, r#"{"object":"response","status":"in_progress","usage":null}"#, 0),
        (OpenaiResponses, r#"{"object":"response","status":"queued"}"#, 0),
        (OpenaiChat, r#"{"choices":[{"finish_reason":null}]}"#, 0),
        (GeminiGenerate, r#"{"candidates":[{}]}"#, 0),
        (AnthropicMessages, r#"{"input_tokens":12}"#, 1),
        (AnthropicMessages, "null", 1),
        (OpenaiChat, "[]", 1),
        (OpenaiResponses, r#""text""#, 1),
        (GeminiGenerate, "{}", 1),
    ] {
        let outcome = body(dialect, text);
        assert_eq!(outcome.end, End::Truncated, "{text}");
        assert_eq!(outcome.counters, Counters::default(), "{text}");
        assert_eq!(outcome.events, Events { read: 1, unknown, ..Events::default() }, "{text}");
    }
}

#[test]
fn a_body_that_is_not_json_says_where() {
    let error = of_body(b"{\"type\":\"message\",}", AnthropicMessages).unwrap_err();
    assert_eq!(error.offset, 18);
    assert!(of_body(b"", OpenaiChat).is_err());
    assert!(of_body(b"<html>", GeminiGenerate).is_err());
}

#[test]
fn on_duplicate_keys_the_last_wins() {
    let outcome = body(
        AnthropicMessages,
        r#"{"type":"message","usage":{"input_tokens":1},"usage":{"output_tokens":1,"output_tokens":2}}"#,
    );
    assert_eq!(outcome.counters, Counters { output: Some(2), ..Counters::default() });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn random_cuts_give_the_same(
        which in 0..ALL.len(),
        cuts in proptest::collection::vec(0.0f64..1.0, 0..24),
        limit in prop_oneof![Just(usize::MAX), 1usize..900],
    ) {
        let recorded = ALL[which];
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| (cut * recorded.bytes.len() as f64) as usize).collect();
        cuts.sort_unstable();
        let mut reader = StreamReader::with_limit(recorded.dialect, limit);
        let mut from = 0;
        for to in cuts.into_iter().chain([recorded.bytes.len()]) {
            reader.feed(&recorded.bytes[from..to]);
            from = to;
        }
        let mut uncut = StreamReader::with_limit(recorded.dialect, limit);
        uncut.feed(recorded.bytes);
        prop_assert_eq!(reader.finish(), uncut.finish());
    }

    /// Whatever a sender does, the reader neither stops nor depends on the cut.
    #[test]
    fn damaged_streams_read_the_same_at_any_cut(
        which in 0..ALL.len(),
        damage in proptest::collection::vec((0.0f64..1.0, any::<u8>()), 1..12),
        size in 1usize..200,
    ) {
        let recorded = ALL[which];
        let mut bytes = recorded.bytes.to_vec();
        for (at, byte) in damage {
            let at = (at * bytes.len() as f64) as usize;
            bytes[at] = byte;
        }
        prop_assert_eq!(read(recorded.dialect, bytes.chunks(size)), read(recorded.dialect, [&bytes[..]]));
    }
}
