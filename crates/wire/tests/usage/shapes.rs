//! The other shapes that responses and errors come in, as streams and as bodies.

use super::*;

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
fn lists_are_cut_and_it_is_said() {
    let iterations = vec![r#"{"type":"message","output_tokens":1}"#; 300].join(",");
    let tools: Vec<String> = (0..70).map(|number| format!(r#""tool_{number}":{number}"#)).collect();
    let outcome = body(
        AnthropicMessages,
        &format!(
            r#"{{"type":"message","usage":{{"iterations":[{iterations}],"server_tool_use":{{{}}}}}}}"#,
            tools.join(",")
        ),
    );
    assert_eq!((outcome.iterations.len(), outcome.server_tools.len()), (256, 64));
    assert_eq!(outcome.events.dropped, 44 + 6);
}

#[test]
fn on_duplicate_keys_the_last_wins() {
    let outcome = body(
        AnthropicMessages,
        r#"{"type":"message","usage":{"input_tokens":1},"usage":{"output_tokens":1,"output_tokens":2}}"#,
    );
    assert_eq!(outcome.counters, Counters { output: Some(2), ..Counters::default() });
}
