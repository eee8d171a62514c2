//! What the recorded streams say.

use super::*;
use deadweight_wire::usage::{About, Reported, ServerTool};

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
