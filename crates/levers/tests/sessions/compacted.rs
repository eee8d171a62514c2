//! `compact-history`: what a view keeps, how it is replayed, when it is planned anew, and why there is none.

use super::decided::{body, call, planned, reason, result, user};
use deadweight_levers::plan::Outcome;
use deadweight_levers::{Circumstances, Cold, Lever, Memory, Policy, StandDown};
use deadweight_price::{Book, Day, Rates};
use deadweight_testkit::sessions::{BINDING, OLDER, prose};
use deadweight_testkit::strict::{Judge, Request, Verdict};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Duration;

/// A conversation of so many rounds: reads, edits, talk; each read of 4,000 bytes.
fn history(rounds: usize) -> Vec<Value> {
    let mut messages = vec![user("Please port the parser.")];
    for at in 0..rounds {
        let id = format!("toolu_{at}");
        let file = format!("src/file_{at}.rs");
        match at % 4 {
            3 => {
                messages.push(json!({ "role": "assistant", "content": [
                    { "type": "text", "text": format!("Step {at} is done. {}", prose(at, 200)) }
                ] }));
                messages.push(user(&format!("Then go on with part {at}.")));
            }
            2 => messages.extend([call(&id, "Edit", &file), result(&id, "done")]),
            _ => messages.extend([call(&id, "Read", &file), result(&id, prose(at, 4_000))]),
        }
    }
    messages.extend([call("last", "Read", "src/file_1.rs"), result("last", "short")]);
    messages
}

fn cold() -> Circumstances<'static> {
    Circumstances { cold: Some(Cold::Idle), restore_tool: Some("restore"), ..Circumstances::default() }
}

/// Dedup and the cutting of results are other tests'.
fn policy() -> Policy {
    let mut policy = Policy::default();
    policy.switches.insert(Lever::Dedup, false);
    policy.switches.insert(Lever::PlaceBreakpoints, false);
    policy.switches.insert(Lever::ElideResults, false);
    (policy.thresholds.history, policy.thresholds.view) = (20_000, 8_000);
    policy
}

fn accepted(sent: &Value) {
    let bytes = sent.to_string().into_bytes();
    let request = Request { path: "/v1/messages", headers: &[], body: &bytes, at: Duration::ZERO };
    if let Verdict::Refused(refusal) = Judge::default().judge(request) {
        panic!("{}: {}", refusal.rule, refusal.message);
    }
}

fn decided(outcome: &Outcome) -> u32 {
    outcome.action(Lever::CompactHistory).unwrap().decided
}

fn text(message: &Value) -> String {
    message["content"].as_array().unwrap().last().unwrap()["text"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn the_middle_gives_way_and_can_be_had_back() {
    let messages = history(80);
    let (sent, outcome) = planned(&body(messages.clone()), &policy(), &cold(), &mut Memory::new());
    accepted(&sent);
    let stays = sent["messages"].as_array().unwrap();
    assert_eq!(decided(&outcome) as usize, outcome.left_out.len());
    assert_eq!(stays.len() + outcome.left_out.len(), messages.len());
    // Every message that stays is one of the client's, save the note behind the first.
    let gone: BTreeSet<usize> = outcome.left_out.iter().map(|at| *at as usize).collect();
    let kept: Vec<&Value> =
        (0..messages.len()).filter(|at| !gone.contains(at)).map(|at| &messages[at]).collect();
    assert!(stays.iter().skip(1).zip(kept.iter().skip(1)).all(|(new, old)| new == *old));
    // The first and the last thing that was said, and the end.
    let first = text(&stays[0]);
    assert!(
        first.starts_with("Please port the parser.\n\n[Note of the gateway deadweight, not of the user: ")
    );
    assert!(stays.iter().any(|own| text(own) == "Then go on with part 79."));
    assert_eq!(stays[stays.len() - 4..], messages[messages.len() - 4..]);
    // What people said weighs little and counts most.
    let said = stays.iter().filter(|own| text(own).starts_with("Then go on with")).count();
    assert!(said > 15, "{said}");
    // What was left out is kept as it came, line for line, and the note says where in it each part begins.
    let original = &outcome.originals[0];
    let lines: Vec<Value> = original.text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let left_out: Vec<Value> = gone.iter().map(|at| messages[*at].clone()).collect();
    assert_eq!(lines, left_out);
    assert!(first.contains(&format!("call restore with the id {} and the offset", original.id)));
    let told: Vec<&str> = first.lines().filter_map(|line| line.strip_prefix("- ")).collect();
    assert!(told.len() <= 33 && told.last().unwrap().starts_with("and "), "{told:?}");
    for line in &told[..told.len() - 1] {
        let (offset, what) = line.split_once(": ").unwrap();
        let at = &original.text[offset.parse::<usize>().unwrap()..];
        assert!(at.starts_with('{'), "{line}");
        let name = what.split('(').next().unwrap();
        assert!(what.starts_with("you said") || at.lines().next().unwrap().contains(name), "{line}");
    }
}

#[test]
fn a_view_is_bounded_however_long_the_history_is() {
    let size =
        |rounds| planned(&body(history(rounds)), &policy(), &cold(), &mut Memory::new()).0.to_string().len();
    let (short, long) = (size(80), size(1_600));
    assert!(long < short * 3 / 2, "{short} {long}");
    let tools = body(vec![user("go")]).to_string().len();
    // The view, the note, and what frames them.
    assert!((long - tools) * 4 / 15 < 8_000 + 2_500, "{long}");
}

#[test]
fn a_view_is_replayed_and_planned_anew_at_the_next_cold_start() {
    let mut journal = Memory::new();
    let mut messages = history(80);
    let (first, outcome) = planned(&body(messages.clone()), &policy(), &cold(), &mut journal);
    assert!(outcome.must_commit());
    // A retry, while it is still cold: the same.
    let (again, outcome) = planned(&body(messages.clone()), &policy(), &cold(), &mut journal);
    assert_eq!(again, first);
    assert!(!outcome.must_commit());
    // Warm, switched off and after a restart: what was sent stays, what is new follows.
    let mut journal = Memory::restore(journal.save()).unwrap();
    let off = Policy { profile: deadweight_levers::Profile::Faithful, ..Policy::default() };
    let warm = Circumstances { cold: None, ..cold() };
    messages.extend([call("n", "Read", "src/file_9.rs"), result("n", "new")]);
    let (next, outcome) = planned(&body(messages.clone()), &off, &warm, &mut journal);
    let (was, is) = (first["messages"].as_array().unwrap(), next["messages"].as_array().unwrap());
    assert_eq!(is[..was.len()], was[..]);
    assert_eq!(is[was.len()..], messages[messages.len() - 2..]);
    assert_eq!(reason(&outcome, Lever::CompactHistory), Some(StandDown::Off));
    // A branch that does not continue the request it was decided at goes as the client has it.
    let mut branch = messages[..messages.len() - 3].to_vec();
    branch.push(json!({ "role": "user", "content": [
        { "type": "tool_result", "tool_use_id": "last", "content": "other" }
    ] }));
    let (other, outcome) = planned(&body(branch.clone()), &policy(), &warm, &mut journal);
    assert_eq!(other["messages"], Value::Array(branch));
    assert!(outcome.left_out.is_empty());
    // Cold again, with another task: another view, one note, as small.
    for at in 0..20 {
        let id = format!("more_{at}");
        messages.extend([call(&id, "Read", "src/other.rs"), result(&id, prose(at, 4_000))]);
    }
    messages.push(json!({ "role": "assistant", "content": [{ "type": "text", "text": "Done." }] }));
    messages.push(user("Look at src/file_4.rs again."));
    let (second, outcome) = planned(&body(messages.clone()), &policy(), &cold(), &mut journal);
    accepted(&second);
    assert!(decided(&outcome) > 0);
    let note = text(&second["messages"][0]);
    assert_eq!(note.matches("[Note of the gateway").count(), 1);
    assert!(second.to_string().len() < first.to_string().len() * 3 / 2);
    assert!(second.to_string().contains("toolu_4\""), "what the task is about comes back");
    // And from there on that one holds.
    messages.extend([call("z", "Read", "src/file_9.rs"), result("z", "new")]);
    let (third, _) = planned(&body(messages), &policy(), &warm, &mut journal);
    let (was, is) = (second["messages"].as_array().unwrap(), third["messages"].as_array().unwrap());
    assert_eq!(is[..was.len()], was[..]);
}

#[test]
fn what_cannot_be_told_in_text_stays() {
    let mut messages = history(80);
    let picture = json!({ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "aGVsbG8=" } });
    messages[2]["content"][0]["content"] = json!([picture]);
    messages[3]["content"][0]["name"] = "Skill".into();
    messages[11]["content"][0]["name"] = "Grep".into();
    messages[12]["content"][0]["content"] = json!([{ "type": "tool_reference", "tool_name": "Bash" }]);
    let (_, outcome) = planned(&body(messages), &policy(), &cold(), &mut Memory::new());
    assert!(decided(&outcome) > 0);
    for at in [1, 2, 3, 4, 11, 12] {
        assert!(!outcome.left_out.contains(&at), "{at} of {:?}", outcome.left_out);
    }
}

#[test]
fn what_is_pointed_to_stays_as_long_as_what_points_to_it() {
    let mut messages = history(80);
    let twice = prose(9, 9_000);
    messages[2] = result("toolu_0", twice.as_str());
    let end = messages.len();
    messages[end - 1] = result("last", twice.as_str());
    let mut own = policy();
    own.switches.insert(Lever::Dedup, true);
    let (sent, outcome) = planned(&body(messages), &own, &cold(), &mut Memory::new());
    accepted(&sent);
    assert!(decided(&outcome) > 0 && outcome.action(Lever::Dedup).unwrap().decided > 0);
    assert!(!outcome.left_out.contains(&2));
    let last = sent["messages"].as_array().unwrap().last().unwrap();
    assert!(last["content"][0]["content"].as_str().unwrap().starts_with("[This is, byte for byte"));
}

#[test]
fn why_there_is_no_view() {
    let why = |messages: Vec<Value>, circumstances: Circumstances<'_>| {
        reason(
            &planned(&body(messages), &policy(), &circumstances, &mut Memory::new()).1,
            Lever::CompactHistory,
        )
    };
    let long = || history(80);
    assert_eq!(why(long(), cold()), None);
    assert_eq!(why(history(8), cold()), Some(StandDown::UnderThreshold));
    assert_eq!(
        why(long(), Circumstances { cold: Some(Cold::Compacted), ..cold() }),
        Some(StandDown::Summarised)
    );
    assert_eq!(why(long(), Circumstances { restore_tool: None, ..cold() }), Some(StandDown::NoRestorePath));
    assert_eq!(
        why(long(), Circumstances { keeps_originals: false, ..cold() }),
        Some(StandDown::OriginalsOff)
    );
    let backed_off = Circumstances { backed_off: &[Lever::CompactHistory], ..cold() };
    assert_eq!(why(long(), backed_off), Some(StandDown::ReRead));
    // The client has it summed up: then everything goes.
    let mut asked = long();
    asked.push(user("Your task is to create a detailed summary of the conversation so far."));
    assert_eq!(why(asked, cold()), Some(StandDown::Summarised));
    // Behind another gateway, what that one left.
    let (sent, _) = planned(&body(long()), &policy(), &cold(), &mut Memory::new());
    let mut grown = sent["messages"].as_array().unwrap().clone();
    grown.extend(history(80).into_iter().skip(1));
    assert_eq!(why(grown, cold()), Some(StandDown::Summarised));
    // Warm, and met in the middle.
    assert_eq!(why(long(), Circumstances { cold: None, ..cold() }), Some(StandDown::Joined));
}

#[test]
fn a_cold_cache_does_not_unbind_thinking() {
    let mut messages = history(80);
    let thinking = json!({ "type": "thinking", "thinking": "t", "signature": "s" });
    messages[1]["content"].as_array_mut().unwrap().insert(0, thinking);
    let mut bound = body(messages.clone());
    bound["model"] = BINDING.into();
    for own in [policy(), Policy { edit_bound: true, ..policy() }] {
        let (sent, outcome) = planned(&bound, &own, &cold(), &mut Memory::new());
        assert_eq!(reason(&outcome, Lever::CompactHistory), Some(StandDown::ThinkingBound));
        assert_eq!(sent, bound);
    }
    // Nobody knows who made it.
    let (_, outcome) = planned(&body(messages), &policy(), &cold(), &mut Memory::new());
    assert_eq!(reason(&outcome, Lever::CompactHistory), Some(StandDown::ThinkingBound));
    // Without thinking: only for who asked for it.
    let mut free = body(history(80));
    free["model"] = BINDING.into();
    let (_, outcome) = planned(&free, &policy(), &cold(), &mut Memory::new());
    assert_eq!(reason(&outcome, Lever::CompactHistory), Some(StandDown::ThinkingBound));
    let (_, outcome) = planned(&free, &Policy { edit_bound: true, ..policy() }, &cold(), &mut Memory::new());
    assert!(decided(&outcome) > 0);
}

fn rates() -> Rates {
    Book::new().find(OLDER, Day::LAST).unwrap().rates
}

#[test]
fn a_full_window_is_emptied_while_it_is_warm_where_the_user_asked_and_it_pays() {
    let messages = history(80);
    // The conversation is known: it passed here from its beginning.
    let mut known = Memory::new();
    let warm = Circumstances { cold: None, ..cold() };
    for end in (1..messages.len()).filter(|end| messages[end - 1]["role"] == "user") {
        planned(&body(messages[..end].to_vec()), &policy(), &warm, &mut known);
    }
    let window = |tokens| Circumstances { cold: None, window: Some(tokens), rates: Some(rates()), ..cold() };
    let asked = Policy { compact_when_full: true, ..policy() };
    let go = |own: &Policy, circumstances: &Circumstances<'_>| {
        planned(&body(messages.clone()), own, circumstances, &mut known.clone()).1
    };
    let why = |own: &Policy, circumstances: &Circumstances<'_>| {
        reason(&go(own, circumstances), Lever::CompactHistory)
    };
    assert_eq!(why(&policy(), &window(48_000)), Some(StandDown::NotCold));
    assert_eq!(why(&asked, &window(200_000)), Some(StandDown::UnderThreshold));
    assert_eq!(why(&asked, &Circumstances { window: None, ..window(0) }), Some(StandDown::UnknownModel));
    assert_eq!(why(&asked, &Circumstances { rates: None, ..window(48_000) }), Some(StandDown::UnknownModel));
    let outcome = go(&asked, &window(48_000));
    let action = outcome.action(Lever::CompactHistory).unwrap();
    assert!(action.decided > 0, "{action:?}");
    // It says after how many requests it has paid for itself, and is not made where that takes too long.
    let requests = action.break_even.unwrap();
    assert!((2..=10).contains(&requests), "{requests}");
    let mut soon = asked.clone();
    soon.thresholds.requests = requests - 1;
    assert_eq!(why(&soon, &window(48_000)), Some(StandDown::NotWorthIt));
    // And not again for the request after it.
    let mut journal = known.clone();
    let (sent, _) = planned(&body(messages.clone()), &asked, &window(48_000), &mut journal);
    let mut next = messages.clone();
    next.extend([call("n", "Read", "x"), result("n", "y")]);
    let (again, outcome) = planned(&body(next), &asked, &window(48_000), &mut journal);
    assert_eq!(decided(&outcome), 0);
    let was = sent["messages"].as_array().unwrap();
    assert_eq!(again["messages"].as_array().unwrap()[..was.len()], was[..]);
}
