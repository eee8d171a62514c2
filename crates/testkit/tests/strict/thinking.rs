//! What may and what may not happen before signed thinking, block by block.

use deadweight_testkit::strict::{Account, Rule, Verdict};
use deadweight_testkit::upstream::{Step, Turn};
use serde_json::{Value, json};

use super::session::{BINDING, BINDING_BETA, Plan, Sent, faithful, run, tool};

fn blocks(message: &mut Value) -> &mut Vec<Value> {
    message["content"].as_array_mut().unwrap()
}

/// Whether a session on a binding model stands when every request is rewritten like this; else the rule that fell.
fn fate(rewrite: fn(usize, &mut Sent)) -> Result<usize, Rule> {
    let run = run(&Plan::new(BINDING), &mut { rewrite });
    assert!(run.rewritten);
    match run.verdicts.last().and_then(Verdict::refusal) {
        Some(refusal) => Err(refusal.rule),
        None => Ok(run.verdicts.len()),
    }
}

fn without_thinking(sent: &mut Sent, keep: impl Fn(usize, usize) -> bool) {
    let all = sent
        .messages()
        .iter()
        .filter_map(|message| message["content"].as_array())
        .flatten()
        .filter(|block| block["type"] == "thinking")
        .count();
    let mut number = 0;
    for message in sent.messages().iter_mut().filter(|message| message["role"] == "assistant") {
        blocks(message).retain(|block| {
            let thinks = block["type"] == "thinking";
            let keeps = !thinks || keep(number, all);
            number += usize::from(thinks);
            keeps
        });
    }
}

#[test]
fn marks_may_move_and_strings_may_become_blocks() {
    assert_eq!(
        fate(|turn, sent| {
            sent.body["system"][1].as_object_mut().unwrap().remove("cache_control");
            sent.tools()[turn % 3]["cache_control"] = json!({ "type": "ephemeral" });
            if turn % 2 == 1 {
                sent.messages()[0]["content"] = "Please do the work.".into();
            }
        }),
        Ok(9)
    );
}

#[test]
fn settings_may_change() {
    assert_eq!(
        fate(|turn, sent| {
            sent.body["max_tokens"] = (1_000 + turn).into();
            sent.body["metadata"] = json!({ "user_id": turn.to_string() });
            sent.body["tool_choice"] = json!({ "type": if turn % 2 == 0 { "auto" } else { "any" } });
            sent.body["output_config"] = json!({ "effort": if turn % 2 == 0 { "low" } else { "high" } });
        }),
        Ok(9)
    );
}

#[test]
fn the_order_of_top_level_members_and_white_space_do_not_matter() {
    assert_eq!(
        fate(|turn, sent| {
            if turn % 2 == 1 {
                let old = sent.body.clone();
                let mut body = json!({ "tools": old["tools"], "system": old["system"] });
                for (key, value) in old.as_object().unwrap() {
                    body[key] = value.clone();
                }
                sent.raw = Some(serde_json::to_string_pretty(&body).unwrap().replace("fox", "f\\u006fx"));
            }
        }),
        Ok(9)
    );
}

#[test]
fn a_deferred_tool_may_be_added_until_something_refers_to_it() {
    assert_eq!(
        fate(|turn, sent| {
            if turn > 3 {
                let mut late = tool("late", 9);
                late["defer_loading"] = true.into();
                sent.tools().insert(0, late);
                sent.tools().retain(|tool| tool["name"] != "rollback");
            }
        }),
        Ok(9)
    );
}

#[test]
fn the_billing_nonce_may_change() {
    assert_eq!(
        fate(|turn, sent| {
            let nonce = json!({ "type": "text", "text": format!("x-anthropic-billing-header: cch={turn};") });
            sent.body["system"].as_array_mut().unwrap().insert(0, nonce);
        }),
        Ok(9)
    );
}

#[test]
fn thinking_may_go_from_the_start_from_the_end_and_altogether() {
    assert_eq!(fate(|_, sent| without_thinking(sent, |number, _| number >= 1)), Ok(9));
    assert_eq!(fate(|turn, sent| without_thinking(sent, |number, _| turn < 6 || number >= 3)), Ok(9));
    assert_eq!(fate(|_, sent| without_thinking(sent, |_, _| false)), Ok(9));
    // From the end once, at a request whose latest message has thinking of its own: then the rest goes on without it.
    assert_eq!(
        fate(|turn, sent| without_thinking(sent, |number, _| turn < 4 || !(3..5).contains(&number))),
        Ok(9)
    );
}

#[test]
fn thinking_does_not_go_from_the_middle() {
    assert_eq!(
        fate(|turn, sent| without_thinking(sent, |number, all| turn < 5 || number != all - 3)),
        Err(Rule::BoundOrder)
    );
}

/// Thinking that was made while an edit stood is bound to the edit.
#[test]
fn an_edit_that_is_replayed_for_ever_holds() {
    let cut = |turn: usize, sent: &mut Sent| {
        if turn > 0 {
            sent.block(2, 1)["content"] = "[cut at its first send]".into();
        }
    };
    assert_eq!(fate(cut), Ok(9));
}

/// The one safe edit of what was sent: at the end of a turn, with all thinking behind it taken out, replayed for ever.
#[test]
fn an_edit_at_a_closed_turn_holds_when_all_thinking_behind_it_goes() {
    let with_thinking = |turn: usize, sent: &mut Sent| {
        if turn >= 4 {
            sent.block(2, 1)["content"] = "[cut]".into();
        }
    };
    assert_eq!(fate(with_thinking), Err(Rule::BoundPrefix));
    // At turn 4 the user has just spoken. The first block of thinking stands before the edit; 1 to 4 behind it.
    let without = |turn: usize, sent: &mut Sent| {
        if turn >= 4 {
            sent.block(2, 1)["content"] = "[cut]".into();
            without_thinking(sent, |number, _| !(1..5).contains(&number));
        }
    };
    assert_eq!(fate(without), Ok(9));
}

#[test]
fn the_error_names_the_first_block_and_the_beta_that_is_missing() {
    let edit = |turn: usize, sent: &mut Sent| {
        if turn == 5 {
            sent.block(4, 1)["content"] = "[cut]".into();
        }
    };
    let plain = run(&Plan::new(BINDING), &mut { edit });
    assert_eq!(
        plain.verdicts.last().unwrap().refusal().unwrap().message,
        "messages.5.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove \
         the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\". This setting requires the \
         `thinking-binding-controls-2026-08-01` value in the `anthropic-beta` header."
    );
    let with_beta = run(&Plan::new(BINDING), &mut |turn, sent| {
        sent.betas.push(BINDING_BETA.into());
        edit(turn, sent);
    });
    let message = &with_beta.verdicts.last().unwrap().refusal().unwrap().message;
    assert!(message.ends_with("to \"drop_block\"."), "{message}");
}

#[test]
fn what_was_dropped_is_reported_block_by_block() {
    let thinking =
        json!({ "type": "adaptive", "block_binding": { "prefix_mismatch_behavior": "drop_block" } });
    let run = run(&Plan { thinking, ..Plan::new(BINDING) }, &mut |turn, sent| {
        if turn >= 5 {
            sent.block(4, 1)["content"] = "[cut]".into();
        }
    });
    let paths = |at: usize| -> Vec<String> {
        run.verdicts[at].accepted().unwrap().dropped().map(|one| one.path.clone()).collect()
    };
    assert_eq!(paths(4), Vec::<String>::new());
    assert_eq!(paths(5), ["messages.5.content.0", "messages.7.content.0", "messages.9.content.0"]);
    // What was made since is bound to the edited prefix, and stays.
    assert_eq!(paths(8), paths(5));
    let first = run.verdicts[5].accepted().unwrap();
    assert_eq!(
        first.thinking[0].json(),
        json!({ "type": "thinking_dropped", "path": "messages.5.content.0", "reason": "prefix_binding_mismatch" })
    );
    assert!(first.ticket.reports_thinking);
}

#[test]
fn an_old_account_that_asks_for_errors_gets_them() {
    let thinking = json!({ "type": "adaptive", "block_binding": { "prefix_mismatch_behavior": "error" } });
    let plan = Plan { account: Account::OLD, thinking, ..Plan::new(BINDING) };
    faithful(&plan);
    let run = run(&plan, &mut |turn, sent| {
        if turn == 5 {
            sent.body["system"][0]["text"] = "Another.".into();
        }
    });
    let refusal = run.verdicts.last().unwrap().refusal().unwrap();
    assert_eq!(refusal.rule, Rule::BoundPrefix);
    assert!(refusal.message.starts_with("messages.1.content.0: "));
}

#[test]
fn redacted_thinking_is_bound_like_any_other() {
    use deadweight_testkit::strict::{Judge, Request};
    let mut judge = Judge::default();
    let body = |messages: Value| {
        json!({ "model": BINDING, "max_tokens": 9, "messages": messages }).to_string().into_bytes()
    };
    let at = std::time::Duration::ZERO;
    let question = json!({ "role": "user", "content": "hi" });
    let first = body(json!([question]));
    let verdict = judge.judge(Request { path: "/v1/messages", headers: &[], body: &first, at });
    let turn = Turn::default()
        .then(Step::Raw(json!({ "type": "redacted_thinking", "data": "" })))
        .then(Step::Text("so".into()));
    let (said, _) = judge.answer(&verdict.accepted().unwrap().ticket, turn);
    let content = super::session::content(&said);
    let next = json!({ "role": "user", "content": "on" });
    let mut rule = |messages: Value| {
        let body = body(messages);
        let verdict = judge.judge(Request { path: "/v1/messages", headers: &[], body: &body, at });
        verdict.refusal().map(|refusal| refusal.rule)
    };
    assert_eq!(rule(json!([question, { "role": "assistant", "content": content }, next])), None);
    let other = json!({ "role": "user", "content": "ho" });
    assert_eq!(
        rule(json!([other, { "role": "assistant", "content": content }, next])),
        Some(Rule::BoundPrefix)
    );
    let mut forged = content.clone();
    forged[0]["data"] = "AAAA".into();
    assert_eq!(
        rule(json!([question, { "role": "assistant", "content": forged }, next])),
        Some(Rule::ForgedSignature)
    );
}

/// An SDK may spell a response in its own way when it first sends it back; from then on that is the original.
#[test]
fn a_client_may_spell_a_response_in_its_own_way_once() {
    fn respell(message: &mut Value) {
        for block in blocks(message) {
            if block["type"] == "tool_use" {
                let old = block.clone();
                *block = json!({ "id": old["id"], "caller": null, "input": old["input"], "name": old["name"], "type": "tool_use" });
            }
            if block["type"] == "text" {
                block["citations"] = Value::Null;
            }
        }
    }
    // Every response has its own spelling from the first time on. The second has thinking between its calls.
    assert_eq!(
        fate(|_, sent| sent.messages().iter_mut().filter(|one| one["role"] == "assistant").for_each(respell)),
        Ok(9)
    );
    let late = |turn: usize, sent: &mut Sent| {
        if turn > 4 {
            respell(&mut sent.messages()[3]);
        }
    };
    assert_eq!(fate(late), Err(Rule::BoundPrefix));
}

#[test]
fn thinking_between_calls_is_bound_to_the_calls_before_it() {
    let other = |turn: usize, sent: &mut Sent| {
        if turn == 2 {
            sent.block(3, 2)["input"]["path"] = "src/other.rs".into();
        }
    };
    assert_eq!(fate(other), Err(Rule::BoundPrefix));
}
