//! The prompt cache in the mind: what is read, what is written, for how long, and by whom.

#![allow(clippy::expect_used, clippy::panic, reason = "a test says what is wrong by failing")]

mod common;

use common::{LIVES, Talk, prefix, tool};
use deadweight_cache::lineage::{Limits, Lineages};
use deadweight_cache::model::{Cache, Forecast, Rules};
use deadweight_cache::prefix::Prefix;
use deadweight_testkit::layouts::{self, Size};
use deadweight_testkit::strict::{Judge, Request};
use deadweight_wire::Dialect;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::time::Duration;

const RULES: Rules = Rules::of(Dialect::AnthropicMessages, 0);

/// A request that is answered before the next one begins.
fn ask(cache: &mut Cache, own: &Prefix, rules: &Rules, seconds: u64) -> Forecast {
    let (forecast, pending) = cache.begin(own, rules, seconds * 1_000);
    cache.respond(pending, rules);
    assert_eq!(forecast.total().get(), own.tokens().get(), "every token is somewhere");
    forecast
}

fn head(own: &Prefix) -> u64 {
    (own.tools_tokens + own.system_tokens).get()
}

#[test]
fn a_conversation_reads_what_it_wrote() {
    let (mut cache, mut talk) = (Cache::new(1_000), Talk::new("please do all of the work"));
    let first = ask(&mut cache, &talk.prefix(), &RULES, 0);
    // The system prompt is marked for an hour, the last message for five minutes.
    assert_eq!((first.read.get(), first.write_1h.get()), (0, head(&talk.prefix())));
    assert_eq!((first.write_1h + first.write_5m).get(), talk.prefix().tokens().get());
    for at in 0..10 {
        let before = talk.prefix().tokens().get();
        let next = ask(&mut cache, &talk.step(at).prefix(), &RULES, 1 + at as u64);
        assert_eq!((next.read.get(), next.write_1h.get(), next.uncached.get()), (before, 0, 0));
    }
}

#[test]
fn another_agent_reads_the_head_that_is_the_same() {
    let mut cache = Cache::new(1_000);
    let main = Talk::new("please do all of the work");
    ask(&mut cache, &main.prefix(), &RULES, 0);
    let mut sub = Talk::new("find the callers of step_1");
    assert_eq!(ask(&mut cache, &sub.prefix(), &RULES, 1).read.get(), head(&main.prefix()));
    sub.tools.swap(0, 1);
    assert_eq!(ask(&mut cache, &sub.prefix(), &RULES, 2).read.get(), 0);
    let mut sub = Talk::new("find the callers of step_1");
    sub.model = "claude-haiku-4-5";
    assert_eq!(ask(&mut cache, &sub.prefix(), &RULES, 3).read.get(), 0);
    // What the messages hang on is not what the head hangs on.
    let mut sub = Talk::new("find the callers of step_1");
    sub.more.push(("tool_choice", json!({ "type": "any" })));
    assert_eq!(ask(&mut cache, &sub.prefix(), &RULES, 4).read.get(), head(&main.prefix()));
}

#[test]
fn requests_side_by_side_each_write() {
    let (mut cache, talk) = (Cache::new(1_000), Talk::new("please do all of the work"));
    let own = talk.prefix();
    let (one, first) = cache.begin(&own, &RULES, 0);
    let (two, second) = cache.begin(&own, &RULES, 10);
    assert_eq!(one, two);
    assert_eq!(one.read.get(), 0);
    cache.respond(first, &RULES);
    let (three, _) = cache.begin(&own, &RULES, 20);
    assert_eq!(three.read, own.tokens().get().into_forecast());
    drop(second);
    // One that fails has written nothing.
    let mut cache = Cache::new(1_000);
    let (_, _) = cache.begin(&own, &RULES, 0);
    assert_eq!(ask(&mut cache, &own, &RULES, 1).read.get(), 0);
}

trait IntoForecast {
    fn into_forecast(self) -> deadweight_estimate::Tokens<deadweight_estimate::Forecast>;
}

impl IntoForecast for u64 {
    fn into_forecast(self) -> deadweight_estimate::Tokens<deadweight_estimate::Forecast> {
        deadweight_estimate::Tokens::new(self)
    }
}

#[test]
fn time_counts_from_the_start_of_a_request() {
    let (mut cache, talk) = (Cache::new(1_000), Talk::new("please do all of the work"));
    let own = talk.prefix();
    let (_, pending) = cache.begin(&own, &RULES, 0);
    // A slow answer does not prolong it: it began 299 seconds ago when it is read, and 300 when it is not.
    cache.respond(pending, &RULES);
    let mut late = cache.clone();
    assert_eq!(ask(&mut cache, &own, &RULES, 299).read.get(), own.tokens().get());
    assert_eq!(ask(&mut cache, &own, &RULES, 598).read.get(), own.tokens().get(), "a read keeps it alive");
    let lapsed = ask(&mut late, &own, &RULES, 300);
    assert_eq!((lapsed.read.get(), lapsed.write_1h.get()), (head(&own), 0), "an hour is not over");
    assert_eq!(ask(&mut late, &own, &RULES, 300 + 3_600).read.get(), 0);
}

#[test]
fn what_is_too_small_is_not_cached() {
    let (mut cache, talk) = (Cache::new(1_000), Talk::new("please do all of the work"));
    let own = talk.prefix();
    let total = own.tokens().get();
    let rules = Rules::of(Dialect::AnthropicMessages, total + 1);
    for at in 0..3 {
        let forecast = ask(&mut cache, &own, &rules, at);
        assert_eq!(forecast.uncached.get(), total);
    }
    assert!(cache.is_empty());
    // Only the longer of two markers reaches it.
    let rules = Rules::of(Dialect::AnthropicMessages, total);
    let first = ask(&mut cache, &own, &rules, 5);
    assert_eq!((first.write_5m.get(), first.write_1h.get()), (total, 0));
    assert_eq!(ask(&mut cache, &own, &rules, 6).read.get(), total);
}

#[test]
fn a_marker_looks_at_twenty_blocks_and_no_more() {
    for (more, found) in [(19, true), (20, false)] {
        let (mut cache, mut talk) = (Cache::new(1_000), Talk::new("please do all of the work"));
        let before = ask(&mut cache, &talk.prefix(), &RULES, 0).total().get();
        for at in 0..more {
            talk.say("user", &format!("one more thing, number {at}"));
        }
        let next = ask(&mut cache, &talk.prefix(), &RULES, 1);
        assert_eq!(next.read.get(), if found { before } else { head(&talk.prefix()) }, "{more}");
    }
}

#[test]
fn automatic_caches_read_in_steps() {
    let rules = Rules::of(Dialect::OpenaiChat, 1_024);
    let body = |said: usize| {
        let mut messages = vec![json!({ "role": "system", "content": "You are for tests. ".repeat(400) })];
        for at in 0..said {
            messages.push(
                json!({ "role": "user", "content": format!("part {at} of what is to be said. ").repeat(20) }),
            );
        }
        prefix(&json!({ "model": "gpt-x", "messages": messages }).to_string(), Dialect::OpenaiChat)
    };
    let mut cache = Cache::new(1_000);
    assert_eq!(ask(&mut cache, &body(1), &rules, 0).read.get(), 0);
    let before = body(1).tokens().get();
    let next = ask(&mut cache, &body(3), &rules, 10);
    assert_eq!(next.read.get(), before - before % 128);
    // Another one shares the system prompt only.
    let mut other: Value = json!({ "model": "gpt-x", "messages": [
        { "role": "system", "content": "You are for tests. ".repeat(400) }, { "role": "user", "content": "else" } ] });
    let own = prefix(&other.to_string(), Dialect::OpenaiChat);
    assert_eq!(ask(&mut cache, &own, &rules, 20).read.get(), head(&own) - head(&own) % 128);
    other["messages"][0]["content"] = json!("short");
    let own = prefix(&other.to_string(), Dialect::OpenaiChat);
    let short = ask(&mut cache, &own, &rules, 30);
    assert_eq!((short.read.get(), short.write_5m.get()), (0, 0));
}

#[test]
fn it_stays_within_its_bound_and_keeps_what_lives_longest() {
    let mut cache = Cache::new(64);
    for at in 0..500 {
        let talk = Talk::new(&format!("the task number {at}"));
        let read = ask(&mut cache, &talk.prefix(), &RULES, at).read.get();
        assert_eq!(read, if at == 0 { 0 } else { head(&talk.prefix()) }, "what is read all the time stays");
        assert!(cache.len() <= 64);
    }
}

#[test]
fn every_layout_reads_itself_when_it_is_sent_again() {
    for layout in layouts::all(Size { tools: 10, turns: 4, text: 400 }) {
        let dialect = Dialect::of_name(layout.dialect).expect("a dialect");
        let own = prefix(&layout.body, dialect);
        let rules = Rules::of(dialect, 0);
        let mut cache = Cache::new(10_000);
        let first = ask(&mut cache, &own, &rules, 0);
        assert_eq!(first.read.get(), 0, "{}", layout.name);
        let again = ask(&mut cache, &own, &rules, 1);
        let written = (first.write_5m + first.write_1h).get();
        assert_eq!(again.read.get(), written - written % rules.step, "{}", layout.name);
    }
}

/// What can happen to a talk.
#[derive(Debug, Clone)]
enum Act {
    Step,
    Again,
    Edit,
    Alter(usize),
    Tools,
    System,
    Pause(u64),
    Many(usize),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        6 => Just(Act::Step),
        1 => Just(Act::Again),
        1 => Just(Act::Edit),
        1 => any::<usize>().prop_map(Act::Alter),
        1 => Just(Act::Tools),
        1 => Just(Act::System),
        1 => (0u64..5_000).prop_map(Act::Pause),
        1 => (1usize..30).prop_map(Act::Many),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The watch looks at one conversation, the model at everything: what the watch says can be read the model reads, and
    /// when the conversation was only continued the two say the same.
    #[test]
    fn watch_and_model_agree(acts in prop::collection::vec(act(), 1..30)) {
        let (mut cache, mut lineages) = (Cache::new(10_000), Lineages::new(Limits::default()));
        let mut talk = Talk::new("please do all of the work that is listed below");
        let (mut seconds, mut plain) = (0, true);
        for (at, act) in acts.into_iter().enumerate() {
            seconds += 5;
            match act {
                Act::Step => { talk.step(at); }
                Act::Again => {}
                Act::Edit => { plain = false; talk.messages.pop(); talk.say("user", &format!("rather do number {at}")); }
                Act::Alter(which) => {
                    plain = false;
                    let which = which % talk.messages.len();
                    talk.messages[which] = common::text("user", &format!("changed to something else by act {at}"));
                }
                Act::Tools => talk.tools.push(tool(&format!("tool_{at}"))),
                Act::System => talk.system[0]["text"] = json!(format!("You are agent {at}.")),
                Act::Pause(more) => seconds += more,
                Act::Many(more) => for part in 0..more { talk.say("user", &format!("part {part} of act {at}")); },
            }
            let own = talk.prefix();
            let placed = lineages.place("s", &own, seconds * 1_000, &LIVES);
            let forecast = ask(&mut cache, &own, &RULES, seconds);
            prop_assert!(forecast.read.get() >= placed.turn.kept.get());
            if plain {
                prop_assert_eq!(forecast.read.get(), placed.turn.kept.get());
            }
        }
    }
}

/// What can happen to a talk that stays one which the judge accepts.
fn harmless() -> impl Strategy<Value = Act> {
    prop_oneof![
        6 => Just(Act::Step),
        1 => Just(Act::Again),
        1 => Just(Act::Alter(0)),
        1 => Just(Act::Tools),
        1 => Just(Act::System),
        1 => (0u64..5_000).prop_map(Act::Pause),
        1 => (1usize..30).prop_map(Act::Many),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// The model and the strict provider, which share no code and count differently, say the same of every request: whether
    /// anything is read, whether and for how long something is written, and about how much of the prompt that is.
    #[test]
    fn the_judge_bills_what_the_model_foretells(acts in prop::collection::vec(harmless(), 1..25)) {
        let (mut cache, mut judge) = (Cache::new(10_000), Judge::default());
        let rules = Rules::of(Dialect::AnthropicMessages, 512);
        let mut talk = Talk::new(&"please do all of the work that is listed below. ".repeat(60));
        talk.model = "claude-opus-5";
        talk.system[0]["text"] = json!("You are an agent for tests of the cache. ".repeat(80));
        let mut seconds = 0;
        for (at, act) in acts.into_iter().enumerate() {
            seconds += 5;
            match act {
                Act::Step => { talk.step(at); }
                Act::Alter(_) => {
                    talk.messages[0] = common::text("user", &format!("changed by act {at}. ").repeat(100));
                }
                Act::Tools => talk.tools.push(tool(&format!("tool_{at}"))),
                Act::System => talk.system[0]["text"] = json!(format!("You are agent {at}. ").repeat(150)),
                Act::Pause(more) => seconds += more,
                Act::Many(more) => for part in 0..more { talk.say("user", &format!("part {part} of act {at}")); },
                Act::Again | Act::Edit => {}
            }
            let body = talk.body();
            let time = Duration::from_secs(seconds);
            let request = Request { path: "/v1/messages", headers: &[], body: body.as_bytes(), at: time };
            let verdict = judge.judge(request);
            let accepted = verdict.accepted().unwrap_or_else(|| panic!("{:?}", verdict.refusal()));
            judge.begin(&accepted.ticket, time);
            let (told, billed) = (ask(&mut cache, &talk.prefix(), &rules, seconds), accepted.usage);
            let told_parts = [told.read, told.write_5m, told.write_1h, told.uncached].map(|part| part.get());
            let billed_parts = [billed.read, billed.write_5m, billed.write_1h, billed.input];
            for (told_part, billed_part) in told_parts.into_iter().zip(billed_parts) {
                prop_assert_eq!(told_part > 0, billed_part > 0, "{:?} {:?}", told_parts, billed_parts);
                let share = |part: u64, all: u64| part as f64 / all as f64;
                let apart = share(told_part, told.total().get()) - share(billed_part, billed.prompt());
                prop_assert!(apart.abs() < 0.06, "{:?} {:?}", told_parts, billed_parts);
            }
        }
    }
}
