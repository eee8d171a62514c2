//! Bills worked out by hand. A text of 4 n bytes counts n tokens.

use std::time::Duration;

use deadweight_testkit::strict::{Accepted, Account, Judge, Request, Usage, Verdict};
use deadweight_testkit::upstream::Turn;
use serde_json::{Value, json};

use super::session::{OLDER, picture, prose};

/// A text of so many tokens that begins with its name.
fn text(name: &str, tokens: usize) -> String {
    let mut text = format!("{name} ");
    text.push_str(&prose(7, tokens * 4));
    text.truncate(tokens * 4);
    text
}

fn block(name: &str, tokens: usize) -> Value {
    json!({ "type": "text", "text": text(name, tokens) })
}

fn marked(mut block: Value, ttl: &str) -> Value {
    block["cache_control"] = json!({ "type": "ephemeral", "ttl": ttl });
    block
}

fn user(blocks: &[Value]) -> Value {
    json!({ "role": "user", "content": blocks })
}

fn assistant(blocks: &[Value]) -> Value {
    json!({ "role": "assistant", "content": blocks })
}

fn request(system: &[Value], messages: &[Value]) -> Value {
    json!({ "model": OLDER, "max_tokens": 9, "system": system, "messages": messages })
}

/// A tool whose definition is 4,400 bytes of compact JSON: 1,100 tokens.
fn tool(name: &str) -> Value {
    let mut tool = json!({ "name": name, "description": "", "input_schema": { "type": "object" } });
    let frame = tool.to_string().len();
    tool["description"] = prose(3, 4_400 - frame).into();
    assert_eq!(tool.to_string().len(), 4_400);
    tool
}

fn usage(input: u64, read: u64, write_5m: u64, write_1h: u64) -> Usage {
    Usage { input, read, write_5m, write_1h, output: 0 }
}

/// A provider whose responses begin at once.
#[derive(Default)]
struct Till {
    judge: Judge,
}

impl Till {
    /// Judges without beginning the response.
    fn arrives(&mut self, seconds: u64, body: &Value) -> Accepted {
        let body = body.to_string().into_bytes();
        let at = Duration::from_secs(seconds);
        match self.judge.judge(Request { path: "/v1/messages", headers: &[], body: &body, at }) {
            Verdict::Accepted(accepted) => *accepted,
            Verdict::Refused(refusal) => panic!("{}: {}", refusal.rule, refusal.message),
        }
    }

    fn begins(&mut self, accepted: &Accepted, seconds: u64) {
        self.judge.begin(&accepted.ticket, Duration::from_secs(seconds));
    }

    fn bill(&mut self, seconds: u64, body: &Value) -> Usage {
        let accepted = self.arrives(seconds, body);
        self.begins(&accepted, seconds);
        accepted.usage
    }
}

#[test]
fn a_conversation_writes_what_is_new_and_reads_the_rest() {
    let mut till = Till::default();
    let system = [block("system", 1_000)];
    let first = request(&system, &[user(&[marked(block("one", 200), "5m")])]);
    let second = request(
        &system,
        &[
            user(&[block("one", 200)]),
            assistant(&[block("two", 100)]),
            user(&[marked(block("three", 300), "5m")]),
        ],
    );
    assert_eq!(till.bill(0, &first), usage(0, 0, 1_200, 0));
    assert_eq!(till.bill(10, &second), usage(0, 1_200, 400, 0));
    assert_eq!(till.bill(20, &second), usage(0, 1_600, 0, 0));
}

#[test]
fn what_comes_after_the_last_mark_is_plain_input() {
    let mut till = Till::default();
    let body = request(&[marked(block("system", 1_100), "5m")], &[user(&[block("one", 50)])]);
    assert_eq!(till.bill(0, &body), usage(50, 0, 1_100, 0));
    assert_eq!(till.bill(1, &body), usage(50, 1_100, 0, 0));
}

#[test]
fn without_a_mark_nothing_is_kept() {
    let mut till = Till::default();
    let body = request(&[block("system", 2_000)], &[user(&[block("one", 50)])]);
    assert_eq!(till.bill(0, &body), usage(2_050, 0, 0, 0));
    assert_eq!(till.bill(1, &body), usage(2_050, 0, 0, 0));
}

#[test]
fn five_minutes_count_from_the_start_of_the_last_request_that_used_them() {
    let mut till = Till::default();
    let body = request(&[marked(block("system", 1_100), "5m")], &[user(&[block("one", 1)])]);
    let accepted = till.arrives(0, &body);
    // The response begins late; the time runs from the request.
    till.begins(&accepted, 100);
    assert_eq!(till.bill(299, &body).read, 1_100);
    assert_eq!(till.bill(598, &body).read, 1_100);
    assert_eq!(till.bill(898, &body), usage(1, 0, 1_100, 0));
}

#[test]
fn an_hour_lasts_an_hour_and_costs_more() {
    let mut till = Till::default();
    let system = [marked(block("system", 1_100), "1h")];
    let body = request(&system, &[user(&[marked(block("one", 100), "5m")])]);
    assert_eq!(till.bill(0, &body), usage(0, 0, 100, 1_100));
    assert_eq!(till.bill(10, &body), usage(0, 1_200, 0, 0));
    // The short part is gone, the long one is not, and was used at 10.
    assert_eq!(till.bill(3_609, &body), usage(0, 1_100, 100, 0));
    assert_eq!(till.bill(3_609 + 3_600, &body), usage(0, 0, 100, 1_100));
}

#[test]
fn short_prefixes_are_not_kept_and_nothing_says_so() {
    for (model, least) in [
        ("claude-opus-5", 512),
        ("claude-opus-4-8", 1_024),
        ("claude-opus-4-7", 2_048),
        ("claude-haiku-4-5", 4_096),
    ] {
        for (tokens, written) in [(least - 1, 0), (least, least)] {
            let mut till = Till::default();
            let mut body = request(&[marked(block("system", tokens), "5m")], &[user(&[block("one", 10)])]);
            body["model"] = model.into();
            let expected = usage(10 + tokens as u64 - written as u64, 0, written as u64, 0);
            assert_eq!(till.bill(0, &body), expected, "{model} {tokens}");
        }
    }
}

#[test]
fn a_mark_looks_at_twenty_blocks_itself_among_them() {
    let system = [block("system", 1_000)];
    let start = user(&[marked(block("one", 100), "5m")]);
    for (added, read) in [(19, 1_100), (20, 0)] {
        let mut till = Till::default();
        till.bill(0, &request(&system, std::slice::from_ref(&start)));
        let mut blocks: Vec<Value> = (0..added).map(|at| block(&format!("block {at}"), 10)).collect();
        let last = blocks.pop().unwrap();
        blocks.push(marked(last, "5m"));
        let body = request(
            &system,
            &[user(&[block("one", 100)]), assistant(&[block("two", 10)]), user(&blocks[1..])],
        );
        assert_eq!(till.bill(1, &body).read, read, "{added} blocks later");
    }
}

#[test]
fn a_mark_in_the_middle_saves_a_long_turn() {
    let mut till = Till::default();
    let system = [block("system", 1_000)];
    till.bill(0, &request(&system, &[user(&[marked(block("one", 100), "5m")])]));
    let mut blocks: Vec<Value> = (0..30).map(|at| block(&format!("block {at}"), 10)).collect();
    blocks[29] = marked(blocks[29].take(), "5m");
    blocks[14] = marked(blocks[14].take(), "5m");
    let body = request(&system, &[user(&[block("one", 100)]), assistant(&[block("two", 10)]), user(&blocks)]);
    assert_eq!(till.bill(1, &body), usage(0, 1_100, 310, 0));
}

#[test]
fn parallel_cold_requests_each_write() {
    let mut till = Till::default();
    let body = request(&[marked(block("system", 1_100), "5m")], &[user(&[block("one", 1)])]);
    let first = till.arrives(0, &body);
    let second = till.arrives(1, &body);
    assert_eq!((first.usage.write_5m, second.usage.write_5m), (1_100, 1_100));
    till.begins(&first, 3);
    assert_eq!(till.arrives(2, &body).usage.write_5m, 1_100);
    assert_eq!(till.arrives(3, &body).usage.read, 1_100);
}

#[test]
fn a_request_that_was_never_answered_leaves_nothing() {
    let mut till = Till::default();
    let body = request(&[marked(block("system", 1_100), "5m")], &[user(&[block("one", 1)])]);
    till.arrives(0, &body);
    assert_eq!(till.bill(1, &body), usage(1, 0, 1_100, 0));
    assert_eq!(till.bill(2, &body), usage(1, 1_100, 0, 0));
}

/// Tools 1,100, system 1,100, messages 1,100, each with a mark at its end.
fn layered() -> Value {
    let mut tool = tool("look");
    tool["cache_control"] = json!({ "type": "ephemeral", "ttl": "5m" });
    let mut body = request(
        &[marked(block("system", 1_100), "5m")],
        &[user(&[block("one", 1_000), marked(block("two", 100), "5m")])],
    );
    body["tools"] = json!([tool]);
    body["thinking"] = json!({ "type": "adaptive" });
    body
}

#[test]
fn each_change_loses_what_the_documentation_says() {
    type Change = fn(&mut Value);
    let changes: &[(&str, u64, Change)] = &[
        ("nothing", 3_300, |_| {}),
        ("max_tokens", 3_300, |body| body["max_tokens"] = 10.into()),
        ("the place of a mark", 2_200, |body| {
            // The messages were kept to their end only: one block earlier there is nothing to read.
            body["messages"][0]["content"][1] = block("two", 100);
            body["messages"][0]["content"][0] = marked(block("one", 1_000), "5m");
        }),
        ("a tool", 0, |body| body["tools"][0]["description"] = prose(4, 4_300).into()),
        ("a new tool", 0, |body| body["tools"].as_array_mut().unwrap().insert(0, tool("new"))),
        ("the model", 0, |body| body["model"] = "claude-opus-5".into()),
        ("the system", 1_100, |body| body["system"][0]["text"] = text("other", 1_100).into()),
        ("tool_choice", 2_200, |body| body["tool_choice"] = json!({ "type": "any" })),
        ("an image", 2_200, |body| {
            let source = json!({ "type": "base64", "media_type": "image/png", "data": picture() });
            body["messages"][0]["content"]
                .as_array_mut()
                .unwrap()
                .push(json!({ "type": "image", "source": source }));
        }),
        ("thinking", 2_200, |body| body["thinking"] = json!({ "type": "enabled", "budget_tokens": 1_024 })),
        ("a message", 2_200, |body| body["messages"][0]["content"][0]["text"] = text("other", 1_000).into()),
        ("the last block", 2_200, |body| {
            body["messages"][0]["content"][1]["text"] = text("other", 100).into()
        }),
    ];
    for (name, read, change) in changes {
        let mut till = Till::default();
        assert_eq!(till.bill(0, &layered()), usage(0, 0, 3_300, 0));
        let mut body = layered();
        change(&mut body);
        assert_eq!(till.bill(1, &body).read, *read, "{name}");
    }
}

#[test]
fn the_order_of_members_and_of_keys_in_the_body_is_not_the_order_of_rendering() {
    let mut till = Till::default();
    let body = layered();
    assert_eq!(till.bill(0, &body).write_5m, 3_300);
    let mut turned =
        json!({ "messages": body["messages"], "tools": body["tools"], "system": body["system"] });
    for (key, value) in body.as_object().unwrap() {
        turned[key] = value.clone();
    }
    assert_eq!(till.bill(1, &turned).read, 3_300);
}

#[test]
fn a_string_is_one_text_block() {
    let mut till = Till::default();
    let system = [block("system", 1_000)];
    let first = request(&system, &[user(&[marked(block("one", 100), "5m")])]);
    assert_eq!(till.bill(0, &first).write_5m, 1_100);
    let as_string = json!({ "role": "user", "content": text("one", 100) });
    let second = request(
        &system,
        &[as_string, assistant(&[block("two", 10)]), user(&[marked(block("three", 10), "5m")])],
    );
    assert_eq!(till.bill(1, &second), usage(0, 1_100, 20, 0));
}

#[test]
fn automatic_caching_marks_the_last_block() {
    let mut till = Till::default();
    let system = [block("system", 1_000)];
    let mut first = request(&system, &[user(&[block("one", 100)])]);
    first["cache_control"] = json!({ "type": "ephemeral" });
    assert_eq!(till.bill(0, &first), usage(0, 0, 1_100, 0));
    let mut second = request(
        &system,
        &[user(&[block("one", 100)]), assistant(&[block("two", 30)]), user(&[block("three", 20)])],
    );
    second["cache_control"] = json!({ "type": "ephemeral", "ttl": "1h" });
    assert_eq!(till.bill(1, &second), usage(0, 1_100, 0, 50));
}

#[test]
fn deferred_tools_weigh_nothing_until_they_are_found() {
    let mut till = Till::default();
    let mut late = tool("late");
    late["defer_loading"] = true.into();
    let mut body = request(&[block("system", 10)], &[user(&[block("one", 10)])]);
    body["tools"] = json!([tool("look"), late]);
    assert_eq!(till.bill(0, &body), usage(1_120, 0, 0, 0));
    let call = json!({ "type": "tool_use", "id": "t1", "name": "look", "input": {} });
    let found = json!({ "type": "tool_result", "tool_use_id": "t1", "content": [{ "type": "tool_reference", "tool_name": "late" }] });
    body["messages"] = json!([user(&[block("one", 10)]), assistant(&[call]), user(&[found])]);
    // `look` and `{}` are six bytes: 2. The definition counts 4,400 bytes and `,"defer_loading":true`, 21 more: 1,105.
    assert_eq!(till.bill(1, &body), usage(1_120 + 2 + 1_105, 0, 0, 0));
}

#[test]
fn dropped_thinking_is_not_paid_for_and_loses_the_cache_behind_it() {
    use super::session::{BINDING, Plan, run};
    let thinking =
        json!({ "type": "adaptive", "block_binding": { "prefix_mismatch_behavior": "drop_block" } });
    let plan = Plan { thinking, ..Plan::new(BINDING) };
    let cut = run(&plan, &mut |turn, sent| {
        if turn >= 5 {
            sent.block(4, 1)["content"] = "[cut]".into();
        }
    });
    let honest = super::session::faithful(&plan);
    // The system's own mark is all that is still within reach.
    assert!(cut.bills[5].usage.read < honest.bills[5].usage.read);
    assert!(cut.bills[5].nanos > honest.bills[5].nanos);
    // From then on the shorter history is the original.
    assert!(cut.bills[6].usage.prompt() < honest.bills[6].usage.prompt());
    assert_eq!(cut.bills[6].usage.read, cut.bills[5].usage.prompt());
}

#[test]
fn a_session_is_billed_to_the_nano_dollar() {
    let mut till = Till { judge: Judge::new(Account::NEW) };
    let system = [marked(block("system", 2_000), "5m")];
    let first = till.arrives(0, &request(&system, &[user(&[block("one", 100)])]));
    // 2,000 written at 6,250 and 100 at 5,000 nano-dollars.
    assert_eq!(first.bill.nanos, 2_000 * 6_250 + 100 * 5_000);
    till.begins(&first, 1);
    let (said, bill) = till.judge.answer(&first.ticket, Turn::text(text("two", 40)));
    // And 40 said, at 25,000.
    assert_eq!(bill.nanos, first.bill.nanos + 40 * 25_000);
    assert_eq!(
        said.usage.map(|usage| (usage.input, usage.cache_write, usage.output)),
        Some((100, 2_000, 40))
    );
    let next = request(
        &system,
        &[user(&[block("one", 100)]), assistant(&[block("two", 40)]), user(&[block("three", 60)])],
    );
    // 2,000 read at 500 nano-dollars, 200 at 5,000; without a cache it were 2,200 at 5,000.
    let second = till.arrives(60, &next);
    assert_eq!((second.bill.nanos, second.bill.uncached_nanos), (2_000 * 500 + 200 * 5_000, 2_200 * 5_000));
}

/// A session on a binding model, with the provider's own editing of its context.
fn edited(edits: &Value) -> (super::session::Run, super::session::Run) {
    use super::session::{BINDING, Plan, faithful, run};
    let plan = Plan::new(BINDING);
    let with = run(&plan, &mut |_, sent| {
        sent.betas.push("context-management-2025-06-27".into());
        sent.body["context_management"] = json!({ "edits": edits });
    });
    (faithful(&plan), with)
}

#[test]
fn the_provider_clears_old_results_and_binds_nothing_to_it() {
    let edits = json!([{
        "type": "clear_tool_uses_20250919", "trigger": { "type": "tool_uses", "value": 3 }, "keep": { "type": "tool_uses", "value": 2 }
    }]);
    let (plain, with) = edited(&edits);
    assert_eq!(with.verdicts.len(), 9);
    assert!(
        with.verdicts.iter().all(|verdict| verdict.accepted().is_some_and(|one| one.thinking.is_empty()))
    );
    // After turn 1 there are four uses: the results of the first two go, 300 tokens each, and ten stand in for each.
    let edit = with.verdicts[2].accepted().unwrap().applied_edits[0];
    assert_eq!((edit.count, edit.tokens), (2, 2 * 290));
    assert_eq!(
        edit.json(),
        json!({ "type": "clear_tool_uses_20250919", "cleared_tool_uses": 2, "cleared_input_tokens": 580 })
    );
    assert_eq!(with.bills[2].usage.prompt(), plain.bills[2].usage.prompt() - 580);
    // The next request clears a third, and the prefix is lost where it stood.
    assert!(with.bills[3].usage.read < plain.bills[3].usage.read);
}

#[test]
fn clearing_waits_until_it_is_worth_it() {
    let edits = json!([{
        "type": "clear_tool_uses_20250919", "trigger": { "type": "tool_uses", "value": 3 }, "keep": { "type": "tool_uses", "value": 2 },
        "clear_at_least": { "type": "input_tokens", "value": 100_000 }
    }]);
    let (plain, with) = edited(&edits);
    assert_eq!((with.nanos(), with.verdicts.len()), (plain.nanos(), 9));
}

#[test]
fn the_provider_clears_old_thinking() {
    let edits =
        json!([{ "type": "clear_thinking_20251015", "keep": { "type": "thinking_turns", "value": 1 } }]);
    let (plain, with) = edited(&edits);
    let applied = with.verdicts[3].accepted().unwrap().applied_edits[0];
    // `Thinking about 0.`, `Thinking about 1.` and `More on 1.` are 17, 17 and 10 bytes.
    assert_eq!((applied.count, applied.tokens), (2, 4 + 4 + 3));
    assert_eq!(with.bills[3].usage.prompt(), plain.bills[3].usage.prompt() - 11);
}

#[test]
fn what_stands_before_a_compaction_is_not_read() {
    let mut till = Till::default();
    let compaction = json!({ "type": "compaction", "content": "" });
    let size = compaction.to_string().len() as u64;
    let talk =
        [user(&[block("one", 500)]), assistant(&[compaction, block("two", 40)]), user(&[block("three", 60)])];
    let expected = 1_000 + (size + 2) / 4 + 100;
    assert_eq!(till.bill(0, &request(&[block("system", 1_000)], &talk)).input, expected);
    // It may as well be left out.
    assert_eq!(till.bill(0, &request(&[block("system", 1_000)], &talk[1..])).input, expected);
}

#[test]
fn a_prompt_fits_into_the_window() {
    use deadweight_testkit::strict::Rule;
    let judged = |path: &str, beta: &str, body: &Value| {
        let (headers, body) =
            (vec![("anthropic-beta".to_owned(), beta.to_owned())], body.to_string().into_bytes());
        Judge::default().judge(Request { path, headers: &headers, body: &body, at: Duration::ZERO })
    };
    let body = request(&[], &[user(&[block("one", 200_001)])]);
    let verdict = judged("/v1/messages", "", &body);
    assert_eq!(verdict.refusal().unwrap().message, "prompt is too long: 200001 tokens > 200000 maximum");
    assert_eq!(verdict.refusal().unwrap().rule, Rule::PromptTooLong);
    assert!(judged("/v1/messages", "context-1m-2025-08-07", &body).accepted().is_some());
    let long = text("one", 1_000_001);
    let chat = json!({ "model": "gpt-5.5", "messages": [{ "role": "user", "content": long }] });
    assert_eq!(
        judged("/v1/chat/completions", "", &chat).refusal().map(|refusal| refusal.rule),
        Some(Rule::PromptTooLong)
    );
    let gemini = json!({ "contents": [{ "role": "user", "parts": [{ "text": long }] }] });
    let path = "/v1beta/models/gemini-2.5-pro:generateContent";
    assert_eq!(judged(path, "", &gemini).refusal().map(|refusal| refusal.rule), Some(Rule::PromptTooLong));
}
