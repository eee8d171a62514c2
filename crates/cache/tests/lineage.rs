//! Whose conversation a request is, on the ways in which agents talk.

#![allow(clippy::expect_used, clippy::panic, reason = "a test says what is wrong by failing")]

mod common;

use common::{LIVES, Talk, place, prefix, text, tool};
use deadweight_cache::lineage::{Limits, Lineages, Placement, Relation, RestoreError};
use deadweight_cache::watch::{Kind, Lifetimes};
use deadweight_testkit::layouts::{self, Size};
use deadweight_wire::Dialect;
use proptest::prelude::*;
use serde_json::{Value, json};

fn new() -> Lineages {
    Lineages::new(Limits::default())
}

/// A talk of `steps` steps that was placed at every step, at one second each.
fn grown(lineages: &mut Lineages, steps: usize) -> (Talk, Placement) {
    let mut talk = Talk::new("please do all of the work that is listed below");
    let mut last = place(lineages, &talk, 0);
    for at in 0..steps {
        talk.step(at);
        last = place(lineages, &talk, at as u64 + 1);
    }
    (talk, last)
}

#[test]
fn a_conversation_goes_on() {
    let mut lineages = new();
    let mut talk = Talk::new("go");
    let first = place(&mut lineages, &talk, 0);
    assert_eq!((first.relation, first.turn.kind, first.request), (Relation::First, Kind::First, 1));
    for at in 1..30 {
        talk.step(at);
        let next = place(&mut lineages, &talk, at as u64);
        assert_eq!((next.relation, next.turn.kind), (Relation::Extends, Kind::Append));
        assert_eq!((next.conversation, next.request), (first.conversation, at as u64 + 1));
        assert_eq!(next.turn.lost.get(), 0);
    }
    assert_eq!(lineages.size(), (1, 1, 59));
}

#[test]
fn sub_agents_and_titles_are_conversations_of_their_own() {
    let mut lineages = new();
    let (mut main, last) = grown(&mut lineages, 3);
    let mut title = Talk::new("Write a title for: please do all of the work");
    title.system = json!("You write titles.");
    title.tools.clear();
    let title = place(&mut lineages, &title, 10);
    assert_eq!(title.relation, Relation::First);
    assert_ne!(title.conversation, last.conversation);
    // Two sub-agents of one kind: the same system prompt and tools, another task.
    let mut one = Talk::new("find the callers of step_1 and report them");
    let mut two = Talk::new("find the callers of step_2 and report them");
    let (a, b) = (place(&mut lineages, &one, 11), place(&mut lineages, &two, 12));
    assert_ne!(a.conversation, b.conversation);
    for at in 0..4 {
        let mine = place(&mut lineages, main.step(100 + at), 20 + at as u64);
        let first = place(&mut lineages, one.step(200 + at), 20 + at as u64);
        let second = place(&mut lineages, two.step(300 + at), 20 + at as u64);
        let found = [mine.conversation, first.conversation, second.conversation];
        assert_eq!(found, [last.conversation, a.conversation, b.conversation]);
        for own in [mine, first, second] {
            assert_eq!((own.relation, own.turn.kind), (Relation::Extends, Kind::Append));
        }
    }
}

#[test]
fn the_same_request_again_is_a_retry() {
    let mut lineages = new();
    let (talk, last) = grown(&mut lineages, 3);
    let again = place(&mut lineages, &talk, 4);
    assert_eq!((again.relation, again.turn.kind), (Relation::Retry, Kind::Retry));
    assert_eq!((again.conversation, again.request), (last.conversation, last.request + 1));
    assert_eq!(again.turn.kept, talk.prefix().tokens());
}

#[test]
fn an_edited_last_message_is_a_branch() {
    let mut lineages = new();
    let (mut talk, last) = grown(&mut lineages, 3);
    talk.say("assistant", "All of it is done now, and the tests pass.")
        .say("user", "then look at the tests again");
    place(&mut lineages, &talk, 5);
    talk.messages.pop();
    talk.say("user", "no, look at the documentation instead");
    let branch = place(&mut lineages, &talk, 6);
    assert_eq!(branch.relation, Relation::Branch { at: 8 });
    assert_eq!((branch.turn.kind, branch.conversation), (Kind::Branch { at: 8 }, last.conversation));
    talk.step(50);
    assert_eq!(place(&mut lineages, &talk, 7).relation, Relation::Extends);
    // Taken back by three messages, without anything new.
    talk.messages.truncate(6);
    assert_eq!(place(&mut lineages, &talk, 8).relation, Relation::Branch { at: 6 });
}

#[test]
fn a_question_asked_aside_does_not_hide_the_history() {
    let mut lineages = new();
    let (talk, last) = grown(&mut lineages, 3);
    let mut aside = talk.clone();
    aside.say("user", "What will the user ask for next? Answer in one line.");
    assert_eq!(place(&mut lineages, &aside, 5).relation, Relation::Extends);
    let mut on = talk.clone();
    on.say("user", "and now write the documentation for it, please");
    let back = place(&mut lineages, &on, 6);
    assert_eq!((back.relation, back.conversation), (Relation::Branch { at: 7 }, last.conversation));
    // Both histories are known, so both can go on.
    on.step(8);
    aside.step(9);
    assert_eq!(place(&mut lineages, &on, 7).relation, Relation::Extends);
    assert_eq!(place(&mut lineages, &aside, 8).relation, Relation::Extends);
}

#[test]
fn a_compacted_history_stays_the_same_conversation() {
    let summary = "This session is being continued from a previous conversation that ran out of context. \
        The summary below covers it. We did all of it.";
    let mut lineages = new();
    let (_, last) = grown(&mut lineages, 12);
    let mut sub = Talk::new("find the callers of step_1");
    sub.system = json!("You are a sub-agent.");
    place(&mut lineages, sub.step(900), 20);
    let mut compacted = Talk::new(summary);
    let placed = place(&mut lineages, &compacted, 21);
    assert_eq!((placed.relation, placed.turn.kind), (Relation::Compaction { at: 0 }, Kind::Compaction));
    assert_eq!(placed.conversation, last.conversation);
    let next = place(&mut lineages, compacted.step(13), 22);
    assert_eq!((next.relation, next.conversation), (Relation::Extends, last.conversation));

    // Whoever goes back in it afterwards does not compact it again.
    (14..18).for_each(|at| {
        place(&mut lineages, compacted.step(at), at as u64 + 10);
    });
    let mut back = compacted.clone();
    back.messages.truncate(5);
    back.say("user", "no, rather in another way");
    let placed = place(&mut lineages, &back, 40);
    assert_eq!((placed.relation, placed.conversation), (Relation::Branch { at: 5 }, last.conversation));
    assert_ne!(placed.turn.kind, Kind::Compaction);

    // With the first message kept in front of it.
    let mut lineages = new();
    let (talk, last) = grown(&mut lineages, 12);
    let mut compacted = talk.clone();
    compacted.messages.truncate(1);
    compacted.say("user", summary);
    let placed = place(&mut lineages, &compacted, 21);
    assert_eq!((placed.relation, placed.conversation), (Relation::Compaction { at: 1 }, last.conversation));

    // In words that nobody knows, with the last messages kept.
    let mut lineages = new();
    let (talk, last) = grown(&mut lineages, 12);
    let mut compacted = Talk::new("Zusammenfassung: alles ist getan worden, was getan werden sollte.");
    compacted.messages.extend_from_slice(&talk.messages[19..]);
    compacted.say("user", "go on");
    let placed = place(&mut lineages, &compacted, 21);
    assert_eq!((placed.relation, placed.conversation), (Relation::Compaction { at: 0 }, last.conversation));
}

#[test]
fn the_words_of_every_known_agent_are_found() {
    let openings = [
        "This session is being continued from a previous conversation that ran out of context.",
        "Another language model started to solve this problem and produced a summary of its thinking.",
        "<state_snapshot>\n<overall_goal>",
        "What did we do so far?",
        "\nI spoke to you previously about a number of things.\nI asked you",
    ];
    for opening in openings {
        let dialects = [
            (Dialect::AnthropicMessages, "messages", json!({ "role": "user", "content": opening })),
            (
                Dialect::OpenaiResponses,
                "input",
                json!({ "role": "user", "content": [{ "type": "input_text", "text": opening }] }),
            ),
            (Dialect::GeminiGenerate, "contents", json!({ "role": "user", "parts": [{ "text": opening }] })),
        ];
        for (dialect, list, message) in dialects {
            let body =
                |messages: Vec<&Value>| prefix(&json!({ "model": "m", list: messages }).to_string(), dialect);
            assert!(body(vec![&message]).summarised, "{opening}");
            let own = json!({ "role": "user", "content": "what the user said before", "parts": [{ "text": "before" }] });
            assert!(body(vec![&own, &message]).summarised, "{opening}");
            let role = if dialect == Dialect::GeminiGenerate { "model" } else { "assistant" };
            let told = json!({ "role": role, "content": "yes", "parts": [{ "text": "yes" }] });
            assert!(!body(vec![&own, &told, &message]).summarised, "{opening}");
        }
    }
}

#[test]
fn what_is_met_in_the_middle_is_joined() {
    let mut talk = Talk::new("go");
    talk.step(0).step(1);
    let joined = place(&mut new(), &talk, 0);
    assert_eq!((joined.relation, joined.turn.kind), (Relation::Joined, Kind::Joined));
    // A summary of what nobody has seen.
    let talk = Talk::new("This session is being continued from a previous conversation.");
    assert_eq!(place(&mut new(), &talk, 0).relation, Relation::Joined);
}

#[test]
fn model_tools_and_system_are_not_part_of_whose_it_is() {
    let mut lineages = new();
    let (mut talk, last) = grown(&mut lineages, 3);
    talk.model = "claude-haiku-4-5";
    talk.tools.push(tool("more"));
    talk.system = json!("You are another.");
    let placed = place(&mut lineages, talk.step(9), 9);
    assert_eq!((placed.relation, placed.conversation), (Relation::Extends, last.conversation));
    assert_eq!(placed.turn.causes, [Kind::Model, Kind::ToolSet, Kind::System]);
}

#[test]
fn a_message_changed_in_the_middle_is_an_altered_history() {
    let mut lineages = new();
    let (mut talk, last) = grown(&mut lineages, 8);
    talk.messages[4]["content"][0]["content"] = json!("[cleared]");
    let placed = place(&mut lineages, talk.step(20), 20);
    assert_eq!((placed.relation, placed.conversation), (Relation::History { at: 4 }, last.conversation));
    // The first one too: the rest is still known.
    talk.messages[0] =
        text("user", "<system-reminder>It is another day.</system-reminder> please do all of the work");
    let placed = place(&mut lineages, talk.step(21), 21);
    assert_eq!((placed.relation, placed.conversation), (Relation::History { at: 0 }, last.conversation));
    // A pair taken from the middle.
    talk.messages.drain(5..7);
    let placed = place(&mut lineages, talk.step(22), 22);
    assert_eq!((placed.relation, placed.conversation), (Relation::History { at: 5 }, last.conversation));
}

#[test]
fn one_message_in_common_is_not_a_history() {
    let mut lineages = new();
    let (talk, last) = grown(&mut lineages, 8);
    let mut other = Talk::new("something else altogether, for somebody else");
    other.step(70).step(71).step(72);
    other.messages[2] = talk.messages[2].clone();
    let placed = place(&mut lineages, &other, 30);
    assert_eq!(placed.relation, Relation::Joined);
    assert_ne!(placed.conversation, last.conversation);
}

#[test]
fn sessions_are_kept_apart() {
    let mut lineages = new();
    let talk = Talk::new("go").prefix();
    let one = lineages.place("one", &talk, 0, &LIVES);
    let other = lineages.place("other", &talk, 1, &LIVES);
    assert_eq!(other.relation, Relation::First);
    assert_ne!(one.conversation, other.conversation);
}

#[test]
fn what_follows_on_the_providers_memory_goes_with_the_last_conversation() {
    let mut lineages = new();
    let lives = Lifetimes::of(Dialect::OpenaiResponses);
    let read = |body: Value| prefix(&body.to_string(), Dialect::OpenaiResponses);
    let first = read(json!({ "model": "m", "input": "go and do it" }));
    let first = lineages.place("s", &first, 0, &lives);
    let next = read(json!({ "model": "m", "previous_response_id": "r", "input": [
        { "type": "function_call_output", "call_id": "c", "output": "done" } ] }));
    let next = lineages.place("s", &next, 1, &lives);
    assert_eq!((next.relation, next.turn.kind), (Relation::Partial, Kind::Partial));
    assert_eq!((next.conversation, next.request), (first.conversation, 2));
}

#[test]
fn the_layouts_of_real_agents_go_on_turn_by_turn() {
    // Those whose next turn continues the one before, in all four dialects.
    let growing = [
        "claude_code",
        "claude_code_tool_search",
        "bedrock",
        "vertex",
        "thinking_anthropic",
        "codex_additional_tools",
        "gemini_cli",
        "code_assist",
    ];
    for name in growing {
        let mut lineages = new();
        let mut conversation = None;
        for turns in 1..9 {
            let size = Size { tools: 3, turns, text: 120 };
            let layout = layouts::all(size).into_iter().find(|layout| layout.name == name).expect("a layout");
            let dialect = Dialect::of_name(layout.dialect).expect("a dialect");
            let own = prefix(&layout.body, dialect);
            let placed = lineages.place("s", &own, turns as u64 * 1_000, &Lifetimes::of(dialect));
            if let Some(first) = conversation {
                assert_eq!(placed.relation, Relation::Extends, "{name} {turns}");
                assert_eq!(placed.conversation, first, "{name}");
                assert_eq!(placed.turn.kind, Kind::Append, "{name} {turns}");
            }
            conversation = Some(placed.conversation);
        }
    }
}

#[test]
fn every_layout_goes_on_message_by_message() {
    for layout in layouts::all(Size { tools: 3, turns: 4, text: 120 }) {
        let dialect = Dialect::of_name(layout.dialect).expect("a dialect");
        let body: Value = serde_json::from_str(&layout.body).expect("JSON");
        let lists = ["/messages", "/input", "/contents", "/request/contents"];
        let Some(list) = lists.into_iter().find(|path| body.pointer(path).is_some_and(Value::is_array))
        else {
            continue;
        };
        let (mut lineages, mut first, mut messages) = (new(), None, 0);
        for end in 0..=body.pointer(list).and_then(Value::as_array).map_or(0, Vec::len) {
            let mut shorter = body.clone();
            shorter.pointer_mut(list).and_then(Value::as_array_mut).expect("a list").truncate(end);
            let own = prefix(&shorter.to_string(), dialect);
            let grown = own.messages.len() > messages;
            messages = own.messages.len();
            if own.partial || messages == 0 {
                continue;
            }
            let placed = lineages.place("s", &own, end as u64, &Lifetimes::of(dialect));
            match first.replace(placed.conversation) {
                None => {}
                Some(first) => {
                    // An item that only declares tools makes no message.
                    let relation = if grown { Relation::Extends } else { Relation::Retry };
                    assert_eq!(
                        (placed.relation, placed.conversation),
                        (relation, first),
                        "{} {end}",
                        layout.name
                    );
                }
            }
        }
    }
}

#[test]
fn what_is_kept_is_bounded() {
    let limits = Limits { sessions: 4, conversations: 3, tips: 2, messages: 60 };
    let mut lineages = Lineages::new(limits);
    for session in 0..10 {
        let name = format!("s{session}");
        for conversation in 0..6 {
            let mut talk = Talk::new(&format!("task {conversation} of session {session}, to be done"));
            for at in 0..5 {
                let placed = lineages.place(
                    &name,
                    &talk.step(session * 1_000 + conversation * 100 + at).prefix(),
                    0,
                    &LIVES,
                );
                let (sessions, conversations, messages) = lineages.size();
                assert!(sessions <= 4 && conversations <= 12 && messages <= 60, "{:?}", lineages.size());
                assert_eq!(placed.request, 2 * at as u64 + 1, "what is in use is not forgotten");
                let mut aside = talk.clone();
                aside.say("user", &format!("and a question that is asked aside of step {at}"));
                lineages.place(&name, &aside.prefix(), 0, &LIVES);
            }
        }
    }
    // One history that is longer than all that may be kept is kept all the same: it is in use.
    let mut long = Talk::new("long");
    for at in 0..40 {
        long.step(at);
    }
    lineages.place("long", &long.prefix(), 0, &LIVES);
    assert_eq!(lineages.size().2, 81);
}

#[test]
fn whether_an_hour_was_asked_for_is_remembered() {
    let mut lineages = new();
    assert_eq!(lineages.asked_for_hour("s"), None);
    let mut talk = Talk::new("go");
    talk.system[0]["cache_control"] = json!({ "type": "ephemeral" });
    place(&mut lineages, &talk, 0);
    assert_eq!(lineages.asked_for_hour("s"), Some(false));
    talk.system[0]["cache_control"] = json!({ "type": "ephemeral", "ttl": "1h" });
    place(&mut lineages, talk.step(1), 1);
    talk.system[0]["cache_control"] = json!({ "type": "ephemeral" });
    for at in 2..60 {
        place(&mut lineages, talk.step(at), at as u64);
    }
    let state = lineages.save("s").expect("a session");
    let mut restarted = new();
    restarted.restore("s", &state).expect("what was saved");
    assert_eq!(restarted.asked_for_hour("s"), Some(true));
}

#[test]
fn damaged_state_is_refused_and_changes_nothing() {
    let mut lineages = new();
    let (talk, _) = grown(&mut lineages, 2);
    let state = lineages.save("s").expect("a session");
    assert_eq!(lineages.save("other"), None);
    let size = lineages.size();
    for end in 0..state.len() {
        assert!(lineages.restore("s", &state[..end]).is_err(), "{end}");
    }
    let mut longer = state.clone();
    longer.push(0);
    assert_eq!(lineages.restore("s", &longer), Err(RestoreError::Damaged));
    let mut newer = state.clone();
    newer[0] = 9;
    assert_eq!(lineages.restore("s", &newer), Err(RestoreError::Version { found: 9 }));
    for at in 0..state.len() {
        let mut broken = state.clone();
        broken[at] ^= 0xFF;
        let _ = Lineages::new(Limits::default()).restore("s", &broken);
    }
    assert_eq!(lineages.size(), size);
    assert_eq!(place(&mut lineages, &talk, 3).relation, Relation::Retry);
}

/// What can happen to one of several talks.
#[derive(Debug, Clone)]
enum Act {
    Step,
    Again,
    Edit,
    Alter(usize),
    Truncate(usize),
    Tools,
    Pause,
    Fail,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        6 => Just(Act::Step),
        1 => Just(Act::Again),
        1 => Just(Act::Edit),
        1 => any::<usize>().prop_map(Act::Alter),
        1 => any::<usize>().prop_map(Act::Truncate),
        1 => Just(Act::Tools),
        1 => Just(Act::Pause),
        1 => Just(Act::Fail),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever happens, a restart in between changes no answer, and what is kept adds up.
    #[test]
    fn a_restart_changes_nothing(acts in prop::collection::vec((0..3usize, act()), 1..40), cut in 0..40usize) {
        let mut talks: Vec<_> = (0..3).map(|at| Talk::new(&format!("the task of agent {at}, as given"))).collect();
        let (mut going, mut restarted) = (new(), new());
        let mut time = 0;
        for (at, (who, act)) in acts.into_iter().enumerate() {
            if at == cut && let Some(state) = going.save("s") {
                restarted = Lineages::new(Limits::default());
                restarted.restore("s", &state).expect("what was saved");
            }
            let talk = &mut talks[who];
            time += 7_000;
            match act {
                Act::Step => { talk.step(at); }
                Act::Edit => { talk.messages.pop(); talk.say("user", &format!("rather do number {at}, will you?")); }
                Act::Alter(which) => {
                    let which = which % talk.messages.len();
                    talk.messages[which] = text("user", &format!("changed to something else by act {at}"));
                }
                Act::Truncate(to) => talk.messages.truncate(1 + to % talk.messages.len()),
                Act::Tools => talk.tools.push(tool(&format!("tool_{at}"))),
                Act::Pause => time += 400_000,
                Act::Again | Act::Fail => {}
            }
            let own = talk.prefix();
            let one = going.place("s", &own, time, &LIVES);
            let other = restarted.place("s", &own, time, &LIVES);
            prop_assert_eq!(&one, &other);
            if matches!(act, Act::Fail) {
                going.failed("s", &one);
                restarted.failed("s", &other);
            }
            prop_assert!(one.turn.kept <= own.tokens());
            prop_assert_eq!(going.size(), restarted.size());
            prop_assert_eq!(going.save("s").map(|state| state.len()), restarted.save("s").map(|state| state.len()));
        }
    }
}

#[test]
fn what_is_known_by_name_from_elsewhere_goes_on_under_it_whatever_became_of_its_messages() {
    let mut lineages = new();
    let (_, last) = grown(&mut lineages, 5);
    let talk = Talk::new("a view of all that was said and done until now, in the place of it");
    let now = prefix(&talk.body(), Dialect::AnthropicMessages);
    let alone = lineages.clone().place("s", &now, 9, &LIVES);
    assert_eq!(alone.relation, Relation::First);
    let named = lineages.place_as("s", last.conversation, &now, 9, &LIVES);
    assert_eq!(named.relation, Relation::Compaction { at: 0 });
    assert_eq!((named.conversation, named.request), (last.conversation, last.request + 1));
    assert!(named.turn.causes.contains(&Kind::Compaction) && named.turn.lost.get() > 0);
    // One that begins is called as it is elsewhere.
    let other = lineages.place_as("other", last.conversation, &now, 10, &LIVES);
    assert_eq!((other.relation, other.conversation, other.request), (Relation::First, last.conversation, 1));
}
