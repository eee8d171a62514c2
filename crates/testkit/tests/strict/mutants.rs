//! Broken rewriters. Each takes a valid session and rewrites one request, or several, wrongly; the judge must see it: by a
//! refusal with the right rule, or, where the provider refuses nothing, by a bill that is visibly worse or by thinking that is
//! reported as dropped.

use deadweight_testkit::strict::{Account, Rule, Verdict};
use serde_json::{Value, json};

use super::session::{BINDING, BINDING_BETA, OLDER, Plan, Sent, faithful, picture, run, tool};

/// How the judge catches a mutant.
#[derive(Debug, Clone, Copy)]
enum Caught {
    /// Refused by this rule.
    By(Rule),
    /// The session costs at least a tenth more.
    Dearer,
    /// Thinking was dropped.
    Dropped,
}

use Caught::{By, Dearer, Dropped};

type Mutant = (&'static str, Caught, fn(usize, &mut Sent));

/// The request in which most mutants strike. Before it: four calls and their results, and a new question of the user.
///
/// Messages then: 0 user; 1 thinking, text, look, edit; 2 two results; 3 thinking, text, look, thinking, edit; 4 two results,
/// the first with an image; 5 thinking, text, find_tools; 6 a reference to `deploy`; 7 thinking, text; 8 user; 9 thinking,
/// text, look, edit; 10 two results.
const STRIKE: usize = 5;

fn list(value: &mut Value) -> &mut Vec<Value> {
    value.as_array_mut().unwrap()
}

fn is_thinking(block: &Value) -> bool {
    block["type"] == "thinking"
}

fn strip_thinking(sent: &mut Sent, keep: fn(usize) -> bool) {
    let mut number = 0;
    for message in sent.messages().iter_mut().filter(|message| message["role"] == "assistant") {
        list(&mut message["content"]).retain(|block| {
            let keeps = !is_thinking(block) || keep(number);
            number += usize::from(is_thinking(block));
            keeps
        });
    }
}

/// A result of the first exchange, cut when it is first sent.
fn cut_first(sent: &mut Sent, note: &str) {
    if sent.messages().len() > 2 {
        let text = sent.block(2, 0)["content"].as_str().unwrap()[..300].to_owned();
        sent.block(2, 0)["content"] = format!("{text}{note}").into();
    }
}

/// On a model that binds thinking.
const ON_BINDING: &[Mutant] = &[
    ("a result is dropped and its call stays", By(Rule::OrphanUse), |_, sent| {
        list(&mut sent.messages()[2]["content"]).remove(1);
    }),
    ("a call is dropped and its result stays", By(Rule::OrphanResult), |_, sent| {
        list(&mut sent.messages()[1]["content"]).remove(3);
    }),
    ("a result is doubled", By(Rule::DoubledResult), |_, sent| {
        let result = sent.block(2, 0).clone();
        list(&mut sent.messages()[2]["content"]).push(result);
    }),
    ("a text is put before the results", By(Rule::OrphanUse), |_, sent| {
        list(&mut sent.messages()[10]["content"]).insert(0, json!({ "type": "text", "text": "note" }));
    }),
    ("history is compacted between a call and its result", By(Rule::OrphanResult), |_, sent| {
        sent.messages().splice(0..2, [json!({ "role": "user", "content": "A summary." })]);
    }),
    ("the results change their role", By(Rule::WrongRole), |_, sent| {
        sent.messages()[2]["role"] = "assistant".into();
    }),
    ("a call is repeated under its id", By(Rule::DoubledUse), |_, sent| {
        let again = sent.block(1, 2).clone();
        list(&mut sent.messages()[9]["content"]).push(again);
    }),
    ("the last message of the user is dropped", By(Rule::Prefill), |_, sent| {
        sent.messages().pop();
    }),
    ("the first message is dropped", By(Rule::FirstUser), |_, sent| {
        sent.messages().remove(0);
    }),
    ("a block is emptied", By(Rule::EmptyText), |_, sent| sent.block(8, 0)["text"] = "".into()),
    ("a message is emptied", By(Rule::EmptyMessage), |_, sent| sent.messages()[8]["content"] = json!([])),
    ("an interrupted turn keeps its thinking alone", By(Rule::ThinkingLast), |_, sent| {
        list(&mut sent.messages()[7]["content"]).truncate(1);
    }),
    ("breakpoints are added to those of the client", By(Rule::Breakpoints), |_, sent| {
        for at in [0, 1, 2] {
            sent.tools()[at]["cache_control"] = json!({ "type": "ephemeral" });
        }
    }),
    ("automatic caching comes on top of four breakpoints", By(Rule::Breakpoints), |_, sent| {
        for at in [0, 1, 2] {
            sent.tools()[at]["cache_control"] = json!({ "type": "ephemeral" });
        }
        list(&mut sent.messages()[10]["content"])[1].as_object_mut().unwrap().remove("cache_control");
        sent.block(10, 0)["cache_control"] = json!({ "type": "ephemeral" });
        sent.body["cache_control"] = json!({ "type": "ephemeral" });
    }),
    ("the tail is marked for an hour", By(Rule::TtlOrder), |_, sent| {
        sent.block(10, 1)["cache_control"]["ttl"] = "1h".into();
    }),
    ("a breakpoint is put on thinking", By(Rule::MarkedThinking), |_, sent| {
        sent.block(1, 0)["cache_control"] = json!({ "type": "ephemeral" });
    }),
    ("a breakpoint is put on a deferred tool", By(Rule::DeferredMarked), |_, sent| {
        sent.tools()[4]["cache_control"] = json!({ "type": "ephemeral" });
    }),
    ("everything is deferred", By(Rule::AllDeferred), |_, sent| {
        sent.tools().iter_mut().for_each(|tool| tool["defer_loading"] = true.into());
    }),
    ("a tool that was found is dropped", By(Rule::MissingReference), |_, sent| {
        sent.tools().remove(3);
    }),
    ("a tool is listed twice", By(Rule::ToolNameTwice), |_, sent| {
        let again = sent.tools()[0].clone();
        sent.tools().push(again);
    }),
    ("a prefix makes a name too long", By(Rule::ToolName), |_, sent| {
        sent.tools()[0]["name"] = format!("mcp__{}__look", "server".repeat(20)).into();
    }),
    ("a schema becomes a choice", By(Rule::ToolSchema), |_, sent| {
        let schema = sent.tools()[0]["input_schema"].take();
        sent.tools()[0]["input_schema"] = json!({ "anyOf": [schema] });
    }),
    ("tool_choice pins a tool that was pruned", By(Rule::ChoiceMissing), |_, sent| {
        sent.body["tool_choice"] = json!({ "type": "tool", "name": "pruned" });
    }),
    ("a result is shortened after it was sent", By(Rule::BoundPrefix), |_, sent| cut_first(sent, "…")),
    ("a result is cleared after it was sent", By(Rule::BoundPrefix), |_, sent| {
        sent.block(4, 1)["content"] = "[cleared]".into();
    }),
    ("an image is encoded anew", By(Rule::BoundPrefix), |_, sent| {
        let data = picture().replace("CAgI", "CQkJ");
        sent.block(4, 0)["content"][1]["source"]["data"] = data.into();
    }),
    ("a text is split into two blocks", By(Rule::BoundPrefix), |_, sent| {
        let halves =
            json!([{ "type": "text", "text": "Please do " }, { "type": "text", "text": "the work." }]);
        sent.messages()[0]["content"] = halves;
    }),
    ("a reminder is put into an old message", By(Rule::BoundPrefix), |_, sent| {
        list(&mut sent.messages()[8]["content"]).push(json!({ "type": "text", "text": "Remember." }));
    }),
    ("an old exchange is deleted", By(Rule::BoundPrefix), |_, sent| {
        sent.messages().drain(1..3);
    }),
    ("two results change places", By(Rule::BoundPrefix), |_, sent| {
        list(&mut sent.messages()[2]["content"]).swap(0, 1);
    }),
    ("the input of a call is changed", By(Rule::BoundPrefix), |_, sent| {
        sent.block(1, 2)["input"]["path"] = "src/other.rs".into();
    }),
    ("the body is written anew and spells its numbers otherwise", By(Rule::BoundPrefix), |_, sent| {
        sent.raw = Some(sent.body.to_string().replace("\"seconds\":1.5", "\"seconds\":1.50"));
    }),
    ("the body is written anew with sorted members", By(Rule::BoundPrefix), |_, sent| {
        for message in sent.messages().iter_mut() {
            for block in list(&mut message["content"]) {
                if block["type"] == "tool_use" {
                    let old = block.clone();
                    *block = json!({ "id": old["id"], "input": old["input"], "name": old["name"], "type": "tool_use" });
                }
            }
        }
    }),
    ("the system prompt is edited", By(Rule::BoundPrefix), |_, sent| {
        sent.body["system"][0]["text"] = "You are another agent.".into();
    }),
    ("tools change their order", By(Rule::BoundPrefix), |_, sent| sent.tools().swap(0, 1)),
    ("a tool is renamed", By(Rule::BoundPrefix), |_, sent| sent.tools()[0]["name"] = "peek".into()),
    ("a description is shortened", By(Rule::BoundPrefix), |_, sent| {
        sent.tools()[1]["description"] = "Edits.".into();
    }),
    ("a tool is added that is not deferred", By(Rule::BoundPrefix), |_, sent| {
        sent.tools().push(tool("late", 9));
    }),
    ("a tool is pruned in mid-session", By(Rule::BoundPrefix), |_, sent| {
        sent.tools().remove(1);
    }),
    ("a tool is deferred in mid-session", By(Rule::BoundPrefix), |_, sent| {
        sent.tools()[1]["defer_loading"] = true.into();
    }),
    ("the definition of a found tool is edited", By(Rule::BoundPrefix), |_, sent| {
        sent.tools()[3]["description"] = "Deploys.".into();
    }),
    ("thinking is taken from the middle", By(Rule::BoundOrder), |_, sent| {
        strip_thinking(sent, |number| number != 1);
    }),
    ("the model's thinking is edited", By(Rule::ForgedSignature), |_, sent| {
        sent.block(1, 0)["thinking"] = "Thought better of it.".into();
    }),
    ("thinking is made up", By(Rule::ForgedSignature), |_, sent| {
        let made_up = json!({ "type": "thinking", "thinking": "Hm.", "signature": "c2lnbmF0dXJl" });
        list(&mut sent.messages()[7]["content"]).insert(0, made_up);
    }),
    ("thinking of the latest message is edited", By(Rule::LatestThinking), |_, sent| {
        sent.block(9, 0)["thinking"] = "Thought better of it.".into();
    }),
    ("the model is not told of a beta's field", By(Rule::BindingBeta), |_, sent| {
        sent.body["thinking"]["block_binding"] = json!({ "prefix_mismatch_behavior": "drop_block" });
    }),
    ("server-side editing comes without its beta", By(Rule::ContextBeta), |_, sent| {
        sent.body["context_management"] = json!({ "edits": [{ "type": "clear_tool_uses_20250919" }] });
    }),
    ("compaction triggers too early", By(Rule::CompactTrigger), |_, sent| {
        sent.betas.push("compact-2026-01-12".into());
        let trigger = json!({ "type": "input_tokens", "value": 20_000 });
        sent.body["context_management"] =
            json!({ "edits": [{ "type": "compact_20260112", "trigger": trigger }] });
    }),
    ("a late tool comes without its beta", By(Rule::ToolChangeBeta), |_, sent| {
        let addition =
            json!({ "type": "tool_addition", "tool": { "type": "tool_reference", "name": "rollback" } });
        sent.messages().push(json!({ "role": "system", "content": [addition] }));
    }),
];

/// Over a whole session, on a model that binds thinking.
const SESSION_LONG: &[Mutant] = &[
    ("thinking is put back", By(Rule::BoundOrder), |turn, sent| {
        if turn == STRIKE - 1 {
            strip_thinking(sent, |_| false);
        }
    }),
    ("the off-switch is honoured in mid-session", By(Rule::BoundPrefix), |turn, sent| {
        if turn < STRIKE {
            cut_first(sent, "… [cut]");
        }
    }),
    ("a lost journal decides anew", By(Rule::BoundPrefix), |turn, sent| {
        cut_first(sent, if turn < STRIKE { "… [cut, restore 1]" } else { "… [cut, restore 2]" });
    }),
    ("an upgrade cuts elsewhere", By(Rule::BoundPrefix), |turn, sent| {
        cut_first(sent, if turn < STRIKE { "…" } else { "……" });
    }),
    ("old results are pruned step by step", By(Rule::BoundPrefix), |turn, sent| {
        if turn >= 4 {
            let at = (turn - 4) * 2 + 2;
            if sent.block(at, 0)["content"].is_string() {
                sent.block(at, 0)["content"] = "[pruned]".into();
            }
        }
    }),
];

/// On a model that does not bind thinking, and so refuses nothing of this.
const ON_OLDER: &[Mutant] = &[
    ("tools change their order every other turn", Dearer, |turn, sent| {
        if turn % 2 == 1 {
            sent.tools().swap(0, 1);
        }
    }),
    ("the time of day stands in the system prompt", Dearer, |turn, sent| {
        sent.body["system"][0]["text"] = format!("It is {turn} o'clock.").into();
    }),
    ("old results are pruned step by step", Dearer, |turn, sent| {
        for at in 0..turn.saturating_sub(1) {
            for block in list(&mut sent.messages()[at * 2 + 2]["content"]) {
                if block["type"] == "tool_result" && block["content"].is_string() {
                    block["content"] = format!("[pruned {}]", turn / 2).into();
                }
            }
        }
    }),
    ("the marks are lost", Dearer, |_, sent| {
        sent.body["system"][1].as_object_mut().unwrap().remove("cache_control");
        let last = sent.messages().len() - 1;
        for block in list(&mut sent.messages()[last]["content"]) {
            block.as_object_mut().unwrap().remove("cache_control");
        }
    }),
    ("tool_choice goes to and fro", Dearer, |turn, sent| {
        sent.body["tool_choice"] = json!({ "type": if turn % 2 == 0 { "auto" } else { "any" } });
    }),
    ("thinking goes on and off", Dearer, |turn, sent| {
        if turn % 2 == 1 {
            sent.body["thinking"] = json!({ "type": "disabled" });
        }
    }),
    ("another model takes over", Dropped, |turn, sent| {
        if turn >= 4 {
            sent.body["model"] = "claude-opus-5".into();
        }
    }),
    ("the mark is put on what changes", Dearer, |turn, sent| {
        let last = sent.messages().len() - 1;
        let clock = json!({ "type": "text", "text": format!("It is {turn} o'clock.") });
        let content = list(&mut sent.messages()[last]["content"]);
        let mark = content.last_mut().unwrap().as_object_mut().unwrap().remove("cache_control").unwrap();
        content.push(clock);
        content.last_mut().unwrap()["cache_control"] = mark;
    }),
];

fn holds((name, caught, rewrite): &Mutant, plan: &Plan, from: usize) {
    let honest = faithful(plan);
    let broken = run(plan, &mut |turn, sent| {
        if turn >= from {
            rewrite(turn, sent);
        }
    });
    assert!(broken.rewritten, "{name}: nothing was rewritten");
    let refusal = broken.verdicts.last().and_then(Verdict::refusal);
    match caught {
        By(rule) => {
            let refusal = refusal.unwrap_or_else(|| panic!("{name}: was not caught"));
            assert_eq!(refusal.rule, *rule, "{name}: {}", refusal.message);
            assert!(broken.verdicts.len() > from, "{name}: caught before it struck");
        }
        Dearer => {
            assert!(refusal.is_none(), "{name}: {refusal:?}");
            let (before, after) = (honest.nanos(), broken.nanos());
            assert!(after * 10 >= before * 11, "{name}: {before} became {after}");
        }
        Dropped => {
            assert!(refusal.is_none(), "{name}: {refusal:?}");
            assert_eq!(honest.dropped(), 0);
            assert!(broken.dropped() > 0, "{name}: nothing was dropped");
        }
    }
}

#[test]
fn the_session_itself_is_valid() {
    for model in [BINDING, OLDER, "claude-fable-5-1", "claude-sonnet-5", "claude-haiku-4-5"] {
        for account in [Account::NEW, Account::OLD] {
            let run = faithful(&Plan { account, ..Plan::new(model) });
            assert_eq!((run.verdicts.len(), run.dropped()), (9, 0), "{model}");
        }
    }
}

#[test]
fn mutants_of_one_request_are_caught_on_binding_models() {
    for mutant in ON_BINDING {
        holds(mutant, &Plan::new(BINDING), STRIKE);
    }
}

#[test]
fn mutants_of_a_session_are_caught_on_binding_models() {
    for mutant in SESSION_LONG {
        holds(mutant, &Plan::new(BINDING), 0);
    }
}

#[test]
fn mutants_are_caught_on_older_models_by_their_bill() {
    for mutant in ON_OLDER {
        holds(mutant, &Plan::new(OLDER), 0);
    }
}

#[test]
fn mutants_that_break_no_bond_are_caught_on_older_models_too() {
    let bonds = [Rule::BoundPrefix, Rule::BoundOrder];
    for mutant in ON_BINDING {
        if !matches!(mutant.1, By(rule) if bonds.contains(&rule) || rule == Rule::ToolChangeBeta) {
            holds(mutant, &Plan::new(OLDER), STRIKE);
        }
    }
}

/// One of two thinking blocks of the latest message: the request after turn 1 shows it.
#[test]
fn half_of_the_latest_thinking_cannot_be_taken() {
    let mutant: Mutant = ("half of the latest thinking is taken", By(Rule::LatestThinking), |turn, sent| {
        if turn == 2 {
            list(&mut sent.messages()[3]["content"]).remove(3);
        }
    });
    for model in [BINDING, OLDER] {
        holds(&mutant, &Plan::new(model), 0);
    }
}

#[test]
fn manual_thinking_must_start_the_turn() {
    let mutant: Mutant =
        ("thinking is stripped in a turn that goes on", By(Rule::ManualStart), |turn, sent| {
            if turn == 2 {
                strip_thinking(sent, |_| false);
            }
        });
    let thinking = json!({ "type": "enabled", "budget_tokens": 2_000 });
    holds(&mutant, &Plan { thinking, ..Plan::new(OLDER) }, 0);
    // With adaptive thinking it need not.
    let run = run(&Plan::new(OLDER), &mut mutant.2.clone());
    assert!(run.verdicts.iter().all(|verdict| verdict.accepted().is_some()));
}

#[test]
fn with_drop_block_an_edit_drops_thinking_instead_of_failing() {
    let thinking =
        json!({ "type": "adaptive", "block_binding": { "prefix_mismatch_behavior": "drop_block" } });
    let plan = Plan { thinking, ..Plan::new(BINDING) };
    let edit: Mutant = ("an edit under drop_block", Dropped, |_, sent| cut_first(sent, "…"));
    holds(&edit, &plan, STRIKE);
    // The setting must be sent for ever: the request that leaves it out is refused.
    let off: Mutant = ("drop_block is left out again", By(Rule::BoundPrefix), |turn, sent| {
        cut_first(sent, "…");
        if turn > STRIKE {
            sent.body["thinking"] = json!({ "type": "adaptive" });
        }
    });
    holds(&off, &plan, STRIKE);
    let beta: Mutant = ("the beta is dropped", By(Rule::BindingBeta), |_, sent| {
        sent.betas.retain(|beta| beta != BINDING_BETA);
    });
    holds(&beta, &plan, STRIKE);
}

#[test]
fn on_an_old_account_a_broken_bond_is_let_pass() {
    let plan = Plan { account: Account::OLD, ..Plan::new(BINDING) };
    let run = run(&plan, &mut |turn, sent| {
        if turn >= STRIKE {
            cut_first(sent, "…");
        }
    });
    assert!(run.verdicts.iter().all(|verdict| verdict.accepted().is_some()));
    assert_eq!(run.dropped(), 0);
}
