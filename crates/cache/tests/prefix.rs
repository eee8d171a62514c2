//! What changes the chain of a request and what does not, over the layouts of real agents in all dialects.

#![allow(clippy::expect_used, clippy::panic, reason = "a test says what is wrong by failing")]

mod common;

use common::{Talk, prefix, text, tool};
use deadweight_cache::prefix::{Part, Place, Prefix};
use deadweight_footprint::origin::Origins;
use deadweight_footprint::request::price;
use deadweight_testkit::layouts::{self, Layout, Size, spaced};
use deadweight_wire::Dialect;
use deadweight_wire::anatomy::Anatomy;
use deadweight_wire::json::Parser;
use proptest::prelude::*;
use serde_json::{Value, json};

fn dialect(layout: &Layout) -> Dialect {
    Dialect::of_name(layout.dialect).expect("the layouts name dialects that exist")
}

fn read(body: &Value, layout: &Layout) -> Prefix {
    prefix(&body.to_string(), dialect(layout))
}

fn parsed(layout: &Layout) -> Value {
    serde_json::from_str(&layout.body).expect("layouts are JSON")
}

/// The lists in which messages stand.
fn lists(body: &Value) -> Vec<String> {
    ["/messages", "/input", "/contents", "/request/contents", "/response/input"]
        .into_iter()
        .filter(|path| body.pointer(path).is_some_and(Value::is_array))
        .map(str::to_owned)
        .collect()
}

/// The paths of all scalars below `path`.
fn leaves(value: &Value, path: &str, out: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                leaves(value, &format!("{path}/{}", key.replace('~', "~0").replace('/', "~1")), out);
            }
        }
        Value::Array(elements) => {
            for (at, value) in elements.iter().enumerate() {
                leaves(value, &format!("{path}/{at}"), out);
            }
        }
        _ => out.push(path.to_owned()),
    }
}

fn change(value: &mut Value) {
    *value = match value.take() {
        Value::String(mut text) => {
            text.push('x');
            text.into()
        }
        Value::Bool(flag) => (!flag).into(),
        Value::Number(number) => json!(number.as_f64().unwrap_or(0.0) + 1.0),
        _ => json!("was null"),
    };
}

/// What is the same in both but the bytes.
fn same_meaning(one: &Prefix, other: &Prefix) {
    let parts = |parts: &[Part]| parts.iter().map(|part| (part.hash, part.name.clone())).collect::<Vec<_>>();
    let links = |own: &Prefix| own.messages.iter().map(|link| (link.own, link.chain)).collect::<Vec<_>>();
    assert_eq!(parts(&one.tools), parts(&other.tools));
    assert_eq!(parts(&one.deferred), parts(&other.deferred));
    assert_eq!(parts(&one.system), parts(&other.system));
    assert_eq!(links(one), links(other));
    assert_eq!(one.settings, other.settings);
}

#[test]
fn a_message_more_keeps_the_chain() {
    for layout in layouts::all(Size::SMALL) {
        let body = parsed(&layout);
        let before = read(&body, &layout);
        for list in lists(&body) {
            let mut longer = body.clone();
            let new = match layout.dialect {
                "gemini-generate" => json!({ "role": "user", "parts": [{ "text": "and now?" }] }),
                _ => text("user", "and now?"),
            };
            longer.pointer_mut(&list).and_then(Value::as_array_mut).expect("a list").push(new);
            let after = read(&longer, &layout);
            let (last, rest) = after.messages.split_last().expect("a message");
            assert_eq!(rest, before.messages, "{}", layout.name);
            assert!(last.tokens >= before.messages.last().expect("a message").tokens, "{}", layout.name);
            assert_eq!((&after.tools, &after.system), (&before.tools, &before.system), "{}", layout.name);
        }
    }
}

#[test]
fn any_change_in_a_message_changes_the_chain_from_there_on_and_only_there() {
    let mut changed = 0;
    for layout in layouts::all(Size::SMALL) {
        let body = parsed(&layout);
        let before = read(&body, &layout);
        for list in lists(&body) {
            let mut paths = Vec::new();
            leaves(body.pointer(&list).expect("a list"), &list, &mut paths);
            for path in paths {
                let mut other = body.clone();
                change(other.pointer_mut(&path).expect("a leaf"));
                let after = read(&other, &layout);
                let own = |prefix: &Prefix| prefix.messages.iter().map(|link| link.own).collect::<Vec<_>>();
                let marker = path.contains("/cache_control/") && !path.contains("/input/");
                if own(&after).len() != before.messages.len() {
                    // The change of a role or a type made a message of what led the request, or the reverse.
                    assert!(path.ends_with("/role") || path.ends_with("/type"), "{} {path}", layout.name);
                    continue;
                }
                let differ: Vec<_> = before
                    .messages
                    .iter()
                    .zip(&after.messages)
                    .enumerate()
                    .filter(|(_, (one, other))| one.own != other.own)
                    .map(|(at, _)| at)
                    .collect();
                match differ.as_slice() {
                    [] if marker => same_meaning(&before, &after),
                    [] => assert!(
                        before.system != after.system
                            || before.tools != after.tools
                            || before.deferred != after.deferred
                            // The role of what leads, and the ids of items that only list tools, say nothing.
                            || path.ends_with("/role")
                            || (path.ends_with("/id") && path.starts_with("/input/4")),
                        "{} {path} changed nothing",
                        layout.name
                    ),
                    [at] => {
                        for (index, (one, other)) in before.messages.iter().zip(&after.messages).enumerate() {
                            assert_eq!(one.chain == other.chain, index < *at, "{} {path}", layout.name);
                        }
                        changed += 1;
                    }
                    several => panic!("{} {path} changed {several:?}", layout.name),
                }
            }
        }
    }
    assert!(changed > 700, "{changed}");
}

#[test]
fn white_space_and_escapes_are_bytes_and_no_meaning() {
    for layout in layouts::all(Size::SMALL) {
        let body = parsed(&layout);
        let before = read(&body, &layout);
        let spaced = prefix(&spaced::to_string(&body), dialect(&layout));
        same_meaning(&before, &spaced);
        // Every character of every text as an escape: names and structure stay as they are.
        let escaped: String = body
            .to_string()
            .chars()
            .map(|character| match character {
                'a'..='z' | ' ' => character.to_string(),
                other if other.is_ascii() => other.to_string(),
                other => {
                    other.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect()
                }
            })
            .collect::<String>()
            .replace("function", "funct\\u0069on")
            .replace("text", "te\\u0078t");
        same_meaning(&before, &prefix(&escaped, dialect(&layout)));
    }
}

#[test]
fn markers_come_and_go_without_a_trace_in_the_chain() {
    let mark = json!({ "type": "ephemeral" });
    for layout in layouts::all(Size::SMALL).into_iter().filter(|own| own.dialect == "anthropic-messages") {
        let mut body = parsed(&layout);
        let before = read(&body, &layout);
        let strip = |value: &mut Value| {
            if let Some(members) = value.as_object_mut() {
                members.shift_remove("cache_control");
            }
        };
        for path in ["/messages", "/system", "/tools"] {
            for element in body.pointer_mut(path).and_then(Value::as_array_mut).into_iter().flatten() {
                strip(element);
                for block in element.get_mut("content").and_then(Value::as_array_mut).into_iter().flatten() {
                    strip(block);
                    let inner = block.get_mut("content").and_then(Value::as_array_mut);
                    inner.into_iter().flatten().for_each(strip);
                }
            }
        }
        let bare = read(&body, &layout);
        same_meaning(&before, &bare);
        assert_eq!(bare.marks, []);
        for block in
            body.pointer_mut("/messages/0/content").and_then(Value::as_array_mut).into_iter().flatten()
        {
            block["cache_control"] = mark.clone();
        }
        for tool in body.pointer_mut("/tools").and_then(Value::as_array_mut).into_iter().flatten().take(1) {
            tool["cache_control"] = mark.clone();
        }
        same_meaning(&before, &read(&body, &layout));
    }
}

#[test]
fn a_marker_is_one_only_where_the_dialect_has_it() {
    let call = |input: Value| {
        let mut talk = Talk::new("go");
        talk.messages.push(json!({ "role": "assistant", "content": [
            { "type": "tool_use", "id": "t", "name": "write", "input": input },
        ] }));
        talk.prefix()
    };
    let plain = call(json!({ "path": "a" }));
    let with = call(json!({ "path": "a", "cache_control": { "type": "ephemeral" } }));
    assert_ne!(plain.chain(), with.chain());
    // Nor is `content` of an input one that a string and a text block are the same in.
    let string = call(json!({ "content": "a" }));
    let block = call(json!({ "content": [{ "type": "text", "text": "a" }] }));
    assert_ne!(string.chain(), block.chain());
}

#[test]
fn a_string_is_one_text_block() {
    let cases = [
        (Dialect::AnthropicMessages, "user", "text", true),
        (Dialect::AnthropicMessages, "assistant", "text", true),
        (Dialect::OpenaiChat, "user", "text", true),
        (Dialect::OpenaiResponses, "user", "input_text", true),
        (Dialect::OpenaiResponses, "assistant", "output_text", true),
        (Dialect::OpenaiResponses, "user", "output_text", false),
        (Dialect::AnthropicMessages, "user", "input_text", false),
    ];
    for (dialect, role, kind, equal) in cases {
        let list = if dialect == Dialect::OpenaiResponses { "input" } else { "messages" };
        let body = |content: Value| {
            json!({ "model": "m", list: [{ "role": "user", "content": "hi" }, { "role": role, "content": content }] })
                .to_string()
        };
        let string = prefix(&body(json!("said \u{1F980} \\ \"so\"\n")), dialect);
        let block = prefix(&body(json!([{ "type": kind, "text": "said \u{1F980} \\ \"so\"\n" }])), dialect);
        assert_eq!(string.chain() == block.chain(), equal, "{dialect} {role} {kind}");
        let two = prefix(
            &body(json!([{ "type": kind, "text": "said " }, { "type": kind, "text": "so" }])),
            dialect,
        );
        assert_ne!(two.chain(), string.chain());
        let more = json!([{ "type": kind, "text": "said \u{1F980} \\ \"so\"\n", "citations": [] }]);
        assert_ne!(prefix(&body(more), dialect).chain(), string.chain());
    }
    let tool_result = |content: Value| {
        let mut talk = Talk::new("go");
        let id = json!("t");
        talk.messages.push(json!({ "role": "assistant", "content": [
            { "type": "tool_use", "id": id, "name": "read", "input": {} } ] }));
        talk.messages.push(json!({ "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": id, "content": content } ] }));
        talk.prefix().chain()
    };
    assert_eq!(tool_result(json!("a")), tool_result(json!([{ "type": "text", "text": "a" }])));
    let system = |system: Value| {
        let mut talk = Talk::new("go");
        talk.system = system;
        talk.prefix().system_hash()
    };
    assert_eq!(system(json!("a")), system(json!([{ "type": "text", "text": "a" }])));
    let input =
        |input: Value| prefix(&json!({ "model": "m", "input": input }).to_string(), Dialect::OpenaiResponses);
    assert_eq!(input(json!("a")).chain(), input(json!([{ "role": "user", "content": "a" }])).chain());
}

#[test]
fn the_billing_header_is_left_out() {
    let system = |first: &str, rest: &str| {
        let mut talk = Talk::new("go");
        talk.system = json!([{ "type": "text", "text": first }, { "type": "text", "text": rest }]);
        talk.prefix()
    };
    let one = system("x-anthropic-billing-header: cc_version=2.1.332; cch=0a1b2;", "Be brief.");
    let other = system("x-anthropic-billing-header: cc_version=2.1.332; cch=fffff;", "Be brief.");
    same_meaning(&one, &other);
    let longer = system("x-anthropic-billing-header: cch=1;\nBe good.", "Be brief.");
    assert_ne!(one.system_hash(), longer.system_hash());
    assert_ne!(one.system_hash(), system("x-anthropic-billing-header: cch=1;", "Be brisk.").system_hash());
    assert_ne!(system("x-else: cch=1;", "").system_hash(), system("x-else: cch=2;", "").system_hash());
}

#[test]
fn halves_of_surrogate_pairs_are_told_apart() {
    let body = |text: &str| {
        prefix(
            &format!(r#"{{"model":"m","messages":[{{"role":"user","content":"{text}"}}]}}"#),
            Dialect::OpenaiChat,
        )
    };
    assert_ne!(body("\\ud800").chain(), body("\\ud801").chain());
    assert_ne!(body("\\ud800").chain(), body("\\ufffd").chain());
    assert_eq!(body("\\ud83e\\udd80").chain(), body("\u{1F980}").chain());
    assert_eq!(body("\\u0041\\/").chain(), body("A/").chain());
}

#[test]
fn long_texts_are_hashed_like_short_ones() {
    // Around the length from which a text is hashed where it stands, spelled plainly and with escapes.
    for length in [1, 65_535, 65_536, 65_537, 131_072, 200_000] {
        for every in [7, 1_000, 70_000, 500_000] {
            let text: String =
                (0..length).map(|at| if at % every == every - 1 { '\u{e9}' } else { 'a' }).collect();
            let escaped = text.replace('\u{e9}', "\\u00e9");
            let body = |text: &str| {
                let messages =
                    format!(r#"[{{"role":"user","content":"{text}"}},{{"role":"user","content":"b"}}]"#);
                prefix(&format!(r#"{{"model":"m","messages":{messages}}}"#), Dialect::OpenaiChat)
            };
            same_meaning(&body(&text), &body(&escaped));
            assert_ne!(body(&text).messages[0].own, body(&format!("{text}a")).messages[0].own);
        }
    }
}

#[test]
fn tools_have_each_their_hash() {
    let mut talk = Talk::new("go");
    let before = talk.prefix();
    talk.tools.swap(0, 2);
    let swapped = talk.prefix();
    assert_ne!(before.tools_hash(), swapped.tools_hash());
    assert_eq!(before.tools[0], swapped.tools[2]);
    assert_eq!(before.messages, swapped.messages);
    // A deferred tool is not in the prefix.
    let mut deferred = tool("later");
    deferred["defer_loading"] = json!(true);
    talk.tools.push(deferred);
    let more = talk.prefix();
    assert_eq!(more.tools, swapped.tools);
    assert_eq!(more.deferred.len(), 1);
    assert_eq!(more.tokens(), swapped.tokens());
}

#[test]
fn every_layout_has_tools_system_and_messages_in_their_place() {
    for layout in layouts::all(Size { tools: 5, turns: 3, text: 200 }) {
        let body = parsed(&layout);
        let own = read(&body, &layout);
        assert!(own.whole);
        let partial = ["previous_response", "websocket_frame"].contains(&layout.name);
        assert_eq!(own.partial, partial, "{}", layout.name);
        let summarised = ["compaction_anthropic", "compaction_responses"].contains(&layout.name);
        assert_eq!(own.summarised, summarised, "{}", layout.name);
        let links = &own.messages;
        assert!(
            links.windows(2).all(|pair| pair[0].tokens <= pair[1].tokens && pair[0].blocks <= pair[1].blocks)
        );
        assert!(own.marks.windows(2).all(|pair| pair[0].index < pair[1].index), "{}", layout.name);
        let blocks = own.tools.len() + own.system.len() + links.last().map_or(0, |link| link.blocks as usize);
        assert!(own.marks.iter().all(|mark| (mark.index as usize) < blocks), "{}", layout.name);
    }
}

#[test]
fn sizes_are_those_of_the_footprint() {
    let estimator = deadweight_estimate::calibrated();
    for layout in layouts::all(Size { tools: 7, turns: 3, text: 333 }) {
        let own = prefix(&layout.body, dialect(&layout));
        let report = Parser::new().scope(layout.body.as_bytes(), |document| {
            let anatomy = Anatomy::read(document.expect("JSON"), dialect(&layout));
            price(&anatomy, &estimator, &Origins::new())
        });
        let slices = report.slices;
        assert_eq!(own.system_tokens, slices.system.tokens, "{}", layout.name);
        // Definitions that a search found or a message added are tools there and stand in their message here, and each sum is
        // rounded down for itself.
        if let Some(total) = report.total {
            let apart = own.tokens().change_from(total.tokens);
            assert!((-1..=2).contains(&apart), "{} {apart}", layout.name);
        }
    }
}

#[test]
fn marks_say_where_they_stand() {
    let mut talk = Talk::new("go");
    talk.step(0);
    talk.more.push(("cache_control", json!({ "type": "ephemeral", "ttl": "1h" })));
    let own = talk.prefix();
    let places: Vec<_> = own.marks.iter().map(|mark| (mark.place, mark.index, mark.hour)).collect();
    assert_eq!(
        places,
        [
            (Place::System(0), 3, true),
            (Place::Message { message: 2, block: 0 }, 7, false),
            (Place::Request, 7, true),
        ]
    );
    assert_eq!(own.marks[0].tokens, own.tools_tokens + own.system_tokens);
    assert_eq!(own.marks[1].tokens, own.tokens());
}

fn json_value() -> impl Strategy<Value = Value> {
    let text =
        prop_oneof!["[a-z]{0,4}", "\\PC{0,6}", Just("cache_control".to_owned()), Just("content".to_owned())];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3i64..3).prop_map(Value::from),
        text.clone().prop_map(Value::from),
        Just(json!({ "type": "text", "text": "a" })),
    ];
    leaf.prop_recursive(3, 24, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((text.clone(), inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    /// Inside a tool's input nothing is left out, so two inputs have one hash only if they are one.
    #[test]
    fn two_meanings_never_have_one_hash(one in json_value(), other in json_value()) {
        let chain = |input: &Value| {
            let body = json!({ "model": "m", "messages": [{ "role": "assistant", "content": [
                { "type": "tool_use", "id": "t", "name": "n", "input": input } ] }] });
            (prefix(&body.to_string(), Dialect::AnthropicMessages).chain(),
             prefix(&spaced::to_string(&body), Dialect::AnthropicMessages).chain())
        };
        let (first, second) = (chain(&one), chain(&other));
        prop_assert_eq!(first.0, first.1);
        // As texts: two objects with their members in another order are equal values.
        let same = [&one, &other].map(Value::to_string);
        prop_assert_eq!(first.0 == second.0, same[0] == same[1]);
    }

    /// Whatever stands where a request should be, reading it ends.
    #[test]
    fn anything_can_be_read(body in json_value(), dialect in prop::sample::select(Dialect::ALL.to_vec())) {
        let wrapped = json!({ "messages": [body], "input": [body], "contents": [body], "system": body, "tools": [body],
            "thinking": body, "tool_choice": body });
        let own = prefix(&wrapped.to_string(), dialect);
        prop_assert!(own.whole);
    }
}

#[test]
fn depth_costs_no_stack() {
    let deep = format!(
        r#"{{"model":"m","messages":[{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t","content":{}{}}}]}}]}}"#,
        "[".repeat(200_000),
        "]".repeat(200_000),
    );
    assert_eq!(prefix(&deep, Dialect::AnthropicMessages).messages.len(), 1);
}
