//! What became of the cached prefix: every cause, with its size, and the provider's counters beside it.

#![allow(clippy::expect_used, clippy::panic, reason = "a test says what is wrong by failing")]

mod common;

use common::{LIVES, Talk, place, prefix, tool};
use deadweight_cache::lineage::{Limits, Lineages, Placement, Relation};
use deadweight_cache::watch::{Agreement, Kind, Lifetimes, Observed, Turn};
use deadweight_wire::Dialect;
use serde_json::json;

/// A conversation of three steps, one each second, and what stands in its cache.
fn warm() -> (Lineages, Talk) {
    let mut lineages = Lineages::new(Limits::default());
    let mut talk = Talk::new("please do all of the work that is listed below");
    place(&mut lineages, &talk, 0);
    for at in 0..3 {
        place(&mut lineages, talk.step(at), at as u64 + 1);
    }
    (lineages, talk)
}

/// The turn after one change, with all that was cached before it.
fn after(change: impl FnOnce(&mut Talk), seconds: u64) -> (Turn, u64, Talk) {
    let (mut lineages, mut talk) = warm();
    let cached = talk.prefix().tokens().get();
    change(&mut talk);
    let placed = place(&mut lineages, talk.step(9), 3 + seconds);
    (placed.turn, cached, talk)
}

fn head(talk: &Talk) -> u64 {
    let own = talk.prefix();
    (own.tools_tokens + own.system_tokens).get()
}

#[test]
fn what_is_appended_loses_nothing() {
    let (turn, cached, talk) = after(|_| {}, 60);
    assert_eq!((turn.kind, turn.causes.len(), turn.gap), (Kind::Append, 0, Some(60_000)));
    assert_eq!((turn.kept.get(), turn.lost.get()), (cached, 0));
    assert_eq!(turn.total, talk.prefix().tokens());
}

#[test]
fn tools_lose_everything() {
    let (turn, cached, _) = after(|talk| talk.tools.push(tool("more")), 1);
    assert_eq!((turn.kind, turn.kept.get(), turn.lost.get()), (Kind::ToolSet, 0, cached));
    let (turn, ..) = after(
        |talk| {
            talk.tools.remove(0);
        },
        1,
    );
    assert_eq!((turn.kind, turn.kept.get()), (Kind::ToolSet, 0));
    let (turn, ..) = after(|talk| talk.tools[1]["description"] = json!("changed"), 1);
    assert_eq!((turn.kind, turn.kept.get()), (Kind::ToolSet, 0));
    let (turn, cached, _) = after(|talk| talk.tools.swap(1, 2), 1);
    assert_eq!((turn.kind, turn.kept.get(), turn.lost.get()), (Kind::ToolOrder, 0, cached));
}

#[test]
fn a_deferred_tool_that_is_added_loses_nothing() {
    let (turn, ..) = after(
        |talk| {
            let mut found = tool("found");
            found["defer_loading"] = json!(true);
            talk.tools.push(found);
        },
        1,
    );
    assert_eq!((turn.kind, turn.lost.get()), (Kind::Append, 0));
    // To defer one that was there takes it out of the prefix.
    let (turn, ..) = after(|talk| talk.tools[2]["defer_loading"] = json!(true), 1);
    assert_eq!((turn.kind, turn.kept.get()), (Kind::ToolSet, 0));
}

#[test]
fn the_system_prompt_keeps_what_stands_before_it() {
    let (turn, cached, _) =
        after(|talk| talk.system[0]["text"] = json!("You are an agent on another day."), 1);
    assert_eq!((turn.kind, turn.kept.get(), turn.lost.get()), (Kind::System, 0, cached));
    // A marked block before the one that changed is still read.
    let mut lineages = Lineages::new(Limits::default());
    let mut talk = Talk::new("go");
    let mark = json!({ "type": "ephemeral" });
    talk.system = json!([
        { "type": "text", "text": "You are an agent for tests, and this never changes.", "cache_control": mark },
        { "type": "text", "text": "It is Monday.", "cache_control": mark },
    ]);
    place(&mut lineages, &talk, 0);
    talk.system[1]["text"] = json!("It is Tuesday.");
    let turn = place(&mut lineages, talk.step(0), 1).turn;
    let own = talk.prefix();
    assert_eq!((turn.kind, turn.kept), (Kind::System, own.marks[0].tokens));
    assert!(turn.lost.get() > 0);
}

#[test]
fn settings_lose_the_messages() {
    let (turn, cached, talk) = after(|talk| talk.more.push(("tool_choice", json!({ "type": "any" }))), 1);
    assert_eq!((turn.kind, turn.kept.get()), (Kind::Settings, head(&talk)));
    assert_eq!(turn.lost.get(), cached - head(&talk));
    let (turn, ..) = after(|talk| talk.more.push(("tool_choice", json!({ "type": "auto" }))), 1);
    assert_eq!(turn.kind, Kind::Append);
    let thinking = json!({ "type": "enabled", "budget_tokens": 2000 });
    let (turn, ..) = after(|talk| talk.more.push(("thinking", thinking)), 1);
    assert_eq!(turn.kind, Kind::Settings);
}

#[test]
fn an_altered_history_keeps_what_stands_before_it() {
    let (turn, cached, talk) =
        after(|talk| talk.messages[4]["content"][0]["content"] = json!("[cleared]"), 1);
    // The entry that the request of two messages less had made ends right before the change.
    let before = talk.prefix().messages[2].tokens.get() + head(&talk);
    assert_eq!(
        (turn.kind, turn.kept.get(), turn.lost.get()),
        (Kind::History { at: 4 }, before, cached - before)
    );
}

#[test]
fn time_runs_out_for_what_lives_five_minutes_and_not_for_what_lives_an_hour() {
    let (turn, cached, talk) = after(|_| {}, 299);
    assert_eq!((turn.kind, turn.kept.get()), (Kind::Append, cached));
    let (turn, cached_again, _) = after(|_| {}, 300);
    assert_eq!((turn.kind, turn.kept.get(), cached_again), (Kind::TtlLapse, head(&talk), cached));
    let (turn, ..) = after(|_| {}, 3_600);
    assert_eq!((turn.kind, turn.kept.get(), turn.lost.get()), (Kind::TtlLapse, 0, cached));
}

#[test]
fn when_all_time_has_run_out_nothing_else_was_to_blame() {
    let change = |talk: &mut Talk| {
        talk.tools.swap(0, 1);
        talk.system[0]["text"] = json!("You are another.");
    };
    let (turn, ..) = after(change, 4_000);
    assert_eq!(turn.causes, [Kind::TtlLapse, Kind::ToolOrder, Kind::System]);
    let (turn, ..) = after(change, 400);
    assert_eq!(turn.causes, [Kind::ToolOrder, Kind::System]);
    let (turn, ..) = after(|talk| talk.model = "claude-haiku-4-5", 4_000);
    assert_eq!(turn.causes, [Kind::Model, Kind::TtlLapse]);
}

#[test]
fn a_read_keeps_an_entry_alive() {
    let (mut lineages, mut talk) = warm();
    for at in 1..10 {
        let turn = place(&mut lineages, talk.step(10 + at), 3 + 200 * at as u64).turn;
        assert_eq!(turn.kind, Kind::Append);
    }
    // The hour of the system prompt counts from its last use too.
    let turn = place(&mut lineages, talk.step(30), 1_803 + 3_599).turn;
    assert_eq!((turn.kind, turn.kept.get()), (Kind::TtlLapse, head(&talk)));
}

#[test]
fn a_marker_looks_at_twenty_blocks() {
    let many = |blocks: usize| {
        after(
            |talk| {
                for at in 0..blocks {
                    talk.say("user", &format!("one more thing, number {at}"));
                }
            },
            1,
        )
    };
    // Three blocks are of the step that follows.
    let (turn, cached, _) = many(16);
    assert_eq!((turn.kind, turn.kept.get()), (Kind::Append, cached));
    let (turn, cached, talk) = many(17);
    assert_eq!((turn.kind, turn.lost.get()), (Kind::Lookback, cached - head(&talk)));
}

#[test]
fn a_request_without_markers_reads_nothing() {
    let (mut lineages, mut talk) = warm();
    let mut body: serde_json::Value = serde_json::from_str(&talk.step(4).body()).expect("a body");
    for block in body["system"].as_array_mut().into_iter().flatten() {
        block.as_object_mut().and_then(|block| block.shift_remove("cache_control"));
    }
    let last = body["messages"].as_array().map_or(0, Vec::len) - 1;
    let block = body["messages"][last]["content"][0].as_object_mut().expect("a block");
    block.shift_remove("cache_control");
    let bare = prefix(&body.to_string(), Dialect::AnthropicMessages);
    let turn = lineages.place("s", &bare, 4_000, &LIVES).turn;
    assert_eq!((turn.kind, turn.kept.get()), (Kind::Unmarked, 0));
    assert!(turn.lost.get() > 0);
    // What never was cached cannot be lost.
    let mut lineages = Lineages::new(Limits::default());
    lineages.place("s", &bare, 0, &LIVES);
    let turn = lineages.place("s", &bare, 1_000, &LIVES).turn;
    assert_eq!((turn.kind, turn.kept.get(), turn.lost.get()), (Kind::Retry, 0, 0));
}

#[test]
fn a_compaction_keeps_the_head() {
    let (mut lineages, talk) = warm();
    let compacted = Talk::new("This session is being continued from a previous conversation.");
    let turn = place(&mut lineages, &compacted, 4).turn;
    assert_eq!((turn.kind, turn.kept.get()), (Kind::Compaction, head(&talk)));
}

#[test]
fn what_failed_has_warmed_nothing() {
    let mut lineages = Lineages::new(Limits::default());
    let mut talk = Talk::new("go");
    let first = place(&mut lineages, &talk, 0);
    lineages.failed("s", &first);
    let retry = place(&mut lineages, &talk, 5);
    assert_eq!((retry.relation, retry.turn.kept.get(), retry.turn.lost.get()), (Relation::Retry, 0, 0));
    let warm = talk.prefix().tokens();
    let next = place(&mut lineages, talk.step(0), 6);
    assert_eq!(next.turn.kept, warm);
    // One that fails in mid-conversation leaves what the one before had put there.
    let failed = place(&mut lineages, talk.step(1), 7);
    lineages.failed("s", &failed);
    let again = place(&mut lineages, &talk, 8);
    assert_eq!((again.relation, again.turn.kept), (Relation::Retry, next.turn.total));
}

#[test]
fn providers_that_cache_by_themselves_keep_what_did_not_change() {
    let lives = Lifetimes::of(Dialect::OpenaiChat);
    let body = |system: &str, said: &[&str]| {
        let mut messages = vec![json!({ "role": "system", "content": system })];
        messages.extend(said.iter().map(|said| json!({ "role": "user", "content": said })));
        prefix(&json!({ "model": "gpt-x", "messages": messages }).to_string(), Dialect::OpenaiChat)
    };
    let mut lineages = Lineages::new(Limits::default());
    let mut at = |own, seconds: u64| -> Placement { lineages.place("s", &own, seconds * 1_000, &lives) };
    let first = body("You are for tests.", &["the first thing to be said"]);
    let tokens = first.tokens();
    at(first, 0);
    let next = at(body("You are for tests.", &["the first thing to be said", "and the second"]), 10).turn;
    assert_eq!((next.kind, next.kept, next.lost.get()), (Kind::Append, tokens, 0));
    let other =
        at(body("You are another.", &["the first thing to be said", "and the second", "third"]), 20).turn;
    assert_eq!((other.kind, other.kept.get(), other.lost), (Kind::System, 0, next.total));
    let late =
        at(body("You are another.", &["the first thing to be said", "and the second", "third", "4"]), 4_000)
            .turn;
    assert_eq!((late.kind, late.kept.get()), (Kind::TtlLapse, 0));
}

#[test]
fn the_providers_counters_are_held_against_it() {
    let (append, ..) = after(|_| {}, 1);
    let (tools, ..) = after(|talk| talk.tools.push(tool("more")), 1);
    let seen = |cache_read, prompt, miss_reason| Observed { cache_read, prompt, miss_reason };
    let share = append.kept.get() * 1_000 / append.total.get();
    assert_eq!(append.agrees(&seen(Some(share + 30), Some(1_000), None)), Agreement::Agrees);
    assert_eq!(append.agrees(&seen(Some(0), Some(1_000), None)), Agreement::ReadLess);
    assert_eq!(tools.agrees(&seen(Some(0), Some(1_000), None)), Agreement::Agrees);
    assert_eq!(tools.agrees(&seen(Some(900), Some(1_000), None)), Agreement::ReadMore);
    assert_eq!(tools.agrees(&seen(Some(0), Some(1_000), Some("tools_changed"))), Agreement::Agrees);
    assert_eq!(tools.agrees(&seen(Some(0), Some(1_000), Some("system_changed"))), Agreement::OtherReason);
    assert_eq!(append.agrees(&seen(Some(0), Some(1_000), Some("unavailable"))), Agreement::ReadLess);
    assert_eq!(append.agrees(&seen(None, Some(1_000), None)), Agreement::Unknown);
    assert_eq!(append.agrees(&seen(Some(0), Some(0), None)), Agreement::Unknown);
    let first = place(&mut Lineages::new(Limits::default()), &Talk::new("go"), 0).turn;
    assert_eq!(first.agrees(&seen(Some(900), Some(1_000), None)), Agreement::Agrees);
}
