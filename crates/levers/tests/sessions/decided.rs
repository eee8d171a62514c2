//! What single levers do to single requests, and why they do not.

use super::gateway::DIALECT;
use deadweight_levers::plan::{Outcome, plan};
use deadweight_levers::{
    Binding, Circumstances, Class, Cold, Lever, Memory, Policy, Profile, StandDown, ToolRule,
};
use deadweight_testkit::sessions::{OLDER, prose};
use deadweight_wire::json::Parser;
use serde_json::{Value, json};

fn tool(name: &str, number: usize) -> Value {
    deadweight_testkit::sessions::tool(name, number, 300)
}

pub(crate) fn planned(
    body: &Value,
    policy: &Policy,
    circumstances: &Circumstances<'_>,
    journal: &mut Memory,
) -> (Value, Outcome) {
    let bytes = body.to_string().into_bytes();
    let outcome = plan(&mut Parser::new(), &bytes, DIALECT, policy, circumstances, journal);
    for record in &outcome.records {
        journal.take(record.clone());
    }
    let sent =
        outcome.body.as_ref().map_or_else(|| body.clone(), |body| serde_json::from_slice(body).unwrap());
    (sent, outcome)
}

fn fresh(body: &Value, policy: &Policy) -> (Value, Outcome) {
    planned(body, policy, &Circumstances::default(), &mut Memory::new())
}

pub(crate) fn user(text: &str) -> Value {
    json!({ "role": "user", "content": [{ "type": "text", "text": text }] })
}

pub(crate) fn call(id: &str, name: &str, path: &str) -> Value {
    json!({ "role": "assistant", "content": [
        { "type": "tool_use", "id": id, "name": name, "input": { "file_path": path } }
    ] })
}

pub(crate) fn result(id: &str, content: impl Into<Value>) -> Value {
    json!({ "role": "user", "content": [
        { "type": "tool_result", "tool_use_id": id, "content": content.into() }
    ] })
}

pub(crate) fn body(messages: Vec<Value>) -> Value {
    json!({
        "model": OLDER, "max_tokens": 9, "messages": messages, "system": "Short.",
        "tools": [tool("Read", 0), tool("Bash", 1), tool("git_push", 2), tool("restore", 3)]
    })
}

fn denying(names: &[&str]) -> Policy {
    let deny = names.iter().map(|name| (*name).to_owned()).collect();
    Policy { tools: ToolRule { deny, allow: Vec::new() }, ..Policy::default() }
}

fn names(body: &Value) -> Vec<&str> {
    body["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

pub(crate) fn reason(outcome: &Outcome, lever: Lever) -> Option<StandDown> {
    outcome.action(lever).unwrap().stood_down
}

#[test]
fn what_is_on_by_default_is_pinned() {
    let on = |profile| -> Vec<&str> {
        Lever::ALL.into_iter().filter(|lever| lever.on(profile)).map(Lever::name).collect()
    };
    assert_eq!(on(Profile::Faithful), ["passthrough"]);
    let default = [
        "passthrough",
        "prune-tools",
        "steady-prefix",
        "dedup",
        "elide-results",
        "compact-history",
        "place-breakpoints",
    ];
    assert_eq!(on(Profile::Default), default);
    assert_eq!(on(Profile::Lean), Lever::ALL.map(Lever::name));
    for lever in Lever::ALL {
        assert!(lever.class() == Class::Lossless || !lever.note().is_empty());
        assert_eq!(Lever::of_name(lever.name()), Some(lever));
    }
}

#[test]
fn nothing_to_do_leaves_the_body_and_says_why() {
    let (_, outcome) = fresh(&body(vec![user("go")]), &Policy::default());
    assert_eq!(outcome.body, None);
    let reasons: Vec<_> =
        outcome.actions.iter().map(|action| action.stood_down.map_or("-", StandDown::name)).collect();
    assert_eq!(
        reasons,
        [
            "-",
            "no_policy",
            "off",
            "first_request",
            "off",
            "off",
            "under_threshold",
            "not_cold",
            "not_cold",
            "under_threshold"
        ]
    );
}

#[test]
fn denied_tools_are_left_out_and_stay_out() {
    let mut journal = Memory::new();
    let own = Circumstances::default();
    let mut request = body(vec![user("go")]);
    request["tools"].as_array_mut().unwrap().push(tool("StructuredOutput", 4));
    request["tools"][2]["cache_control"] = json!({ "type": "ephemeral" });
    let (sent, outcome) = planned(&request, &denying(&["git_*", "Structured*"]), &own, &mut journal);
    assert_eq!(names(&sent), ["Read", "Bash", "restore", "StructuredOutput"]);
    assert_eq!(outcome.pruned, ["git_push"]);
    // The marker moved to the tool before.
    assert_eq!(sent["tools"][1]["cache_control"], json!({ "type": "ephemeral" }));
    assert!(outcome.must_commit());
    assert!(outcome.action(Lever::PruneTools).unwrap().saved_bytes > 300);
    // Switched off, and with a late tool: what was decided goes on, by name.
    request["messages"].as_array_mut().unwrap().extend([call("a", "Read", "x"), result("a", "y")]);
    request["tools"].as_array_mut().unwrap().push(tool("git_log", 5));
    let mut off = denying(&["Read"]);
    off.switches.insert(Lever::PruneTools, false);
    let (sent, outcome) = planned(&request, &off, &own, &mut journal);
    assert_eq!(names(&sent), ["Read", "Bash", "restore", "StructuredOutput"]);
    let action = outcome.action(Lever::PruneTools).unwrap();
    assert_eq!((action.decided, action.replayed, action.stood_down), (0, 2, Some(StandDown::Off)));
    assert!(!outcome.must_commit());
}

#[test]
fn tools_that_are_needed_stay() {
    let mut request = body(vec![user("go")]);
    request["tool_choice"] = json!({ "type": "tool", "name": "git_push" });
    let (sent, outcome) = fresh(&request, &denying(&["git_*"]));
    assert_eq!(names(&sent).len(), 4);
    assert_eq!(reason(&outcome, Lever::PruneTools), Some(StandDown::Pinned));
    let (sent, outcome) = fresh(&body(vec![user("go")]), &denying(&["*"]));
    assert_eq!(names(&sent).len(), 4);
    assert_eq!(reason(&outcome, Lever::PruneTools), Some(StandDown::WouldEmpty));
    // A conversation that is met in the middle is left as it is.
    let met = body(vec![user("go"), call("a", "Read", "x"), result("a", "y")]);
    let (_, outcome) = fresh(&met, &denying(&["git_*"]));
    assert_eq!((outcome.body, outcome.actions[1].stood_down), (None, Some(StandDown::Joined)));
}

#[test]
fn tools_in_another_order_go_out_as_they_are_cached() {
    let mut journal = Memory::new();
    let own = Circumstances::default();
    let mut request = body(vec![user("go")]);
    request["tools"][3]["cache_control"] = json!({ "type": "ephemeral" });
    planned(&request, &Policy::default(), &own, &mut journal);
    request["messages"].as_array_mut().unwrap().extend([call("a", "Read", "x"), result("a", "y")]);
    let before = request.clone();
    let tools = request["tools"].as_array_mut().unwrap();
    tools[3].as_object_mut().unwrap().remove("cache_control");
    tools.reverse();
    tools[3]["cache_control"] = json!({ "type": "ephemeral" });
    let (sent, outcome) = planned(&request, &Policy::default(), &own, &mut journal);
    assert_eq!(sent, before);
    assert_eq!(reason(&outcome, Lever::SteadyPrefix), None);
    // Not where a tool changed too.
    request["messages"].as_array_mut().unwrap().extend([call("b", "Read", "x"), result("b", "y")]);
    request["tools"][0]["description"] = "Other.".into();
    let (sent, outcome) = planned(&request, &Policy::default(), &own, &mut journal);
    assert_eq!(sent, request);
    assert_eq!(reason(&outcome, Lever::SteadyPrefix), Some(StandDown::SetChanged));
}

#[test]
fn a_result_that_stands_above_becomes_a_pointer_to_it() {
    let mut journal = Memory::new();
    let own = Circumstances::default();
    let text = prose(1, 2_000);
    let mut messages = vec![user("go"), call("a", "Read", "x.rs"), result("a", text.as_str())];
    planned(&body(messages[..1].to_vec()), &Policy::default(), &own, &mut journal);
    planned(&body(messages.clone()), &Policy::default(), &own, &mut journal);
    // As a block with a marker it is the same text.
    let block = json!([{ "type": "text", "text": text, "cache_control": { "type": "ephemeral" } }]);
    messages.extend([call("b", "Read", "x.rs"), result("b", block)]);
    let (sent, outcome) = planned(&body(messages.clone()), &Policy::default(), &own, &mut journal);
    let put = &sent["messages"][4]["content"][0]["content"][0];
    assert_eq!(
        put["text"].as_str().unwrap(),
        "[This is, byte for byte, the same as the result of the earlier call Read({\"file_path\":\"x.rs\"}), id a, which \
         stands above in full: 2000 bytes that begin with \"Part 1:\". It is not repeated here.]"
    );
    assert_eq!(put["cache_control"], json!({ "type": "ephemeral" }));
    assert_eq!(outcome.splices.len(), 1);
    // Replayed where the client sends it as a string, whatever is switched off; the target stays as it is.
    messages[4] = result("b", text.as_str());
    messages.extend([call("c", "Read", "x.rs"), result("c", "short")]);
    let cold = Circumstances { cold: Some(Cold::Idle), restore_tool: Some("restore"), ..own };
    let mut policy = Policy { accept_loss: true, ..Policy::default() };
    policy.switches.insert(Lever::Dedup, false);
    policy.thresholds.result = 1_000;
    (policy.thresholds.head, policy.thresholds.tail, policy.thresholds.recent) = (100, 100, 0);
    let (sent, outcome) = planned(&body(messages.clone()), &policy, &cold, &mut journal);
    assert!(sent["messages"][4]["content"][0]["content"].as_str().unwrap().starts_with("[This is"));
    assert_eq!(sent["messages"][2], messages[2]);
    assert_eq!(outcome.action(Lever::Dedup).unwrap().replayed, 1);
}

#[test]
fn models_that_bind_thinking_are_left_alone() {
    for model in ["claude-opus-5-5", "claude-none-such"] {
        let text = prose(1, 2_000);
        let messages = vec![json!({ "role": "user", "content": [
            { "type": "text", "text": text }, { "type": "text", "text": text }
        ] })];
        let mut request = body(messages);
        request["model"] = model.into();
        let (_, outcome) = fresh(&request, &Policy::default());
        assert_eq!(reason(&outcome, Lever::Dedup), Some(StandDown::ThinkingBound));
        let (_, outcome) = fresh(&request, &Policy { edit_bound: true, ..Policy::default() });
        assert_eq!(reason(&outcome, Lever::Dedup), None);
    }
}

#[test]
fn large_results_are_cut_at_a_cold_start_and_can_be_had_back() {
    let large = prose(1, 30_000).replace(['ä', '—'], "-");
    let mut messages = vec![user("go"), call("a", "Bash", "x"), result("a", large.as_str())];
    messages.extend([call("b", "Read", "y.rs"), result("b", prose(2, 5_000))]);
    messages.extend([call("c", "Edit", "y.rs"), result("c", "done"), user("more"), user("and more")]);
    let request = body(messages);
    let cold =
        Circumstances { cold: Some(Cold::Idle), restore_tool: Some("restore"), ..Circumstances::default() };
    let mut journal = Memory::new();
    let (sent, outcome) = planned(&request, &Policy::default(), &cold, &mut journal);
    let text =
        |body: &Value, at: usize| body["messages"][at]["content"][0]["content"].as_str().unwrap().to_owned();
    let cut = text(&sent, 2);
    assert!(
        cut.len() < 7_000 && cut.starts_with(&large[..2_000]) && cut.ends_with(&large[large.len() - 1_000..])
    );
    assert!(cut.contains(&format!("call restore with the id {}", outcome.originals[0].id)));
    assert_eq!(outcome.originals[0].text, large);
    assert!(text(&sent, 4).contains("an earlier state of y.rs, which was changed later"));
    assert_eq!(outcome.originals[1].text, prose(2, 5_000));
    // Warm again: the same bytes. A request that does not continue this one: as it was.
    let warm = Circumstances { cold: None, ..cold };
    let mut next = request.clone();
    next["messages"].as_array_mut().unwrap().push(call("d", "Bash", "x"));
    next["messages"].as_array_mut().unwrap().push(result("d", "z"));
    let (again, outcome) = planned(&next, &Policy::default(), &warm, &mut journal);
    assert_eq!((text(&again, 2), text(&again, 4)), (cut, text(&sent, 4)));
    assert_eq!(outcome.action(Lever::ElideResults).unwrap().replayed, 2);
    let mut branch = request.clone();
    branch["messages"].as_array_mut().unwrap().pop();
    branch["messages"].as_array_mut().unwrap().push(user("something else"));
    let other = planned(&branch, &Policy::default(), &warm, &mut journal).0;
    assert!(text(&other, 2) == large && text(&other, 4) == prose(2, 5_000));
    // Why not.
    let why = |circumstances: Circumstances<'_>| {
        reason(
            &planned(&request, &Policy::default(), &circumstances, &mut Memory::new()).1,
            Lever::ElideResults,
        )
    };
    assert_eq!(why(Circumstances { restore_tool: None, ..cold }), Some(StandDown::NoRestorePath));
    assert_eq!(why(Circumstances { restore_tool: Some("other"), ..cold }), Some(StandDown::NoRestorePath));
    assert_eq!(why(Circumstances { keeps_originals: false, ..cold }), Some(StandDown::OriginalsOff));
    assert_eq!(why(Circumstances { backed_off: &[Lever::ElideResults], ..cold }), Some(StandDown::ReRead));
    assert_eq!(why(Circumstances { resting: &[Lever::ElideResults], ..cold }), Some(StandDown::Resting));
    assert_eq!(why(warm), Some(StandDown::Joined));
}

#[test]
fn thinking_behind_an_edit_keeps_it_from_being_made_where_it_may_be_bound() {
    let thinking = json!({ "type": "thinking", "thinking": "t", "signature": "s" });
    let mut answer = call("a", "Bash", "x");
    answer["content"].as_array_mut().unwrap().insert(0, thinking);
    let large = prose(1, 30_000);
    let opening = vec![user("go"), call("z", "Bash", "x"), result("z", large.as_str())];
    let mut later = opening.clone();
    later.extend([answer, result("a", "y"), user("b"), user("c"), user("d")]);
    let cold =
        Circumstances { cold: Some(Cold::Model), restore_tool: Some("restore"), ..Circumstances::default() };
    // Who made the thinking is not known, then known to be a model that does not bind it, then one that does.
    for (asked, cuts) in [(None, false), (Some(OLDER), true), (Some("claude-opus-5-5"), false)] {
        let mut journal = Memory::new();
        if let Some(model) = asked {
            for end in [1, 3] {
                let mut request = body(opening[..end].to_vec());
                request["model"] = model.into();
                planned(&request, &Policy::default(), &Circumstances::default(), &mut journal);
            }
        }
        let (_, outcome) = planned(&body(later.clone()), &Policy::default(), &cold, &mut journal);
        let action = outcome.action(Lever::ElideResults).unwrap();
        assert_eq!(action.decided > 0, cuts, "{asked:?}: {action:?}");
    }
}

#[test]
fn breakpoints_are_set_where_there_are_none() {
    let mut request = body(vec![user(&prose(1, 5_000)), call("a", "Read", "x"), result("a", "y")]);
    request["messages"][0]["content"] = request["messages"][0]["content"][0]["text"].clone();
    let (sent, outcome) = fresh(&request, &Policy::default());
    let mark = json!({ "type": "ephemeral" });
    assert_eq!(sent["system"], json!([{ "type": "text", "text": "Short.", "cache_control": mark }]));
    assert_eq!(sent["messages"][0]["content"][0]["cache_control"], mark);
    assert_eq!(sent["messages"][2]["content"][0]["cache_control"], mark);
    assert_eq!(outcome.splices.len(), 3);
    assert!(!outcome.must_commit());
    request["system"] = json!([{ "type": "text", "text": "Short.", "cache_control": mark }]);
    let (_, outcome) = fresh(&request, &Policy::default());
    assert_eq!(reason(&outcome, Lever::PlaceBreakpoints), Some(StandDown::ClientMarks));
    request["system"] = "Short.".into();
    request["model"] = "someone-elses".into();
    let (_, outcome) = fresh(&request, &Policy::default());
    assert_eq!(reason(&outcome, Lever::PlaceBreakpoints), Some(StandDown::UnknownModel));
    request["model"] = OLDER.into();
    let single = Circumstances { likely_single: true, ..Circumstances::default() };
    request["system"] = "Short.".into();
    let (_, outcome) = planned(&request, &Policy::default(), &single, &mut Memory::new());
    assert_eq!(reason(&outcome, Lever::PlaceBreakpoints), Some(StandDown::OneRequest));
}

#[test]
fn nothing_new_is_decided_where_it_must_not_be() {
    let text = prose(1, 2_000);
    let both = json!({ "role": "user", "content": [{ "type": "text", "text": text }, { "type": "text", "text": text }] });
    let request = body(vec![both]);
    let policy = denying(&["git_*"]);
    let why = |request: &Value, circumstances: Circumstances<'_>| {
        let (_, outcome) = planned(request, &policy, &circumstances, &mut Memory::new());
        assert_eq!(outcome.body, None);
        reason(&outcome, Lever::Dedup)
    };
    let own = Circumstances::default();
    let mut marked = request.clone();
    marked["system"] = json!([{ "type": "text", "text": "S.", "cache_control": { "type": "ephemeral" } }]);
    assert_eq!(why(&request, Circumstances { signed: true, ..own }), Some(StandDown::Signed));
    assert_eq!(why(&request, Circumstances { subscription: true, ..own }), Some(StandDown::Subscription));
    assert_eq!(why(&marked, Circumstances { journal: false, ..own }), Some(StandDown::JournalUnavailable));
    marked["messages"][0]["role"] = "stranger".into();
    assert_eq!(why(&marked, own), Some(StandDown::OddShape));
    let twice = r#"{"model":"claude-opus-4-8","messages":[],"messages":[{"role":"user","content":"x"}]}"#;
    for broken in ["{", "[]", "{}", r#"{"messages":[]}"#, twice] {
        let outcome = plan(&mut Parser::new(), broken.as_bytes(), DIALECT, &policy, &own, &Memory::new());
        assert_eq!(outcome.body, None, "{broken}");
        assert!(outcome.actions.iter().skip(1).all(|action| action.stood_down.is_some()));
    }
    // Counting tokens says what would be sent, and leaves the request a first send.
    let mut journal = Memory::new();
    let counting = Circumstances { counting: true, ..own };
    let (counted, outcome) = planned(&request, &policy, &counting, &mut journal);
    assert!(outcome.records.is_empty() && journal.is_empty());
    assert_eq!(planned(&request, &policy, &own, &mut journal).0, counted);
    let mut edits = request.clone();
    edits["context_management"] = json!({ "edits": [{ "type": "clear_tool_uses_20250919" }] });
    let (_, outcome) = fresh(&edits, &policy);
    assert_eq!(reason(&outcome, Lever::Dedup), Some(StandDown::ClientEdits));
}

#[test]
fn no_two_levers_touch_the_same_text() {
    // Large reads of a file that changed since, one of them repeated and one with a long run in it: each lever would have
    // all of them.
    let large = prose(1, 20_000);
    let runs = format!("{}\n{}", prose(2, 20_000), "the same line again\n".repeat(200));
    let mut messages = vec![user("go")];
    for (id, name, text) in
        [("a", "Read", &large), ("b", "Read", &large), ("c", "Read", &runs), ("d", "Read", &prose(3, 20_000))]
    {
        messages.extend([call(id, name, "x.rs"), result(id, text.as_str())]);
    }
    messages.extend([call("e", "Edit", "x.rs"), result("e", "done")]);
    messages.extend([user("1"), user("2"), user("3"), user("4")]);
    let request = body(messages);
    let cold =
        Circumstances { cold: Some(Cold::Idle), restore_tool: Some("restore"), ..Circumstances::default() };
    let mut journal = Memory::new();
    let (sent, outcome) = planned(&request, &Policy::default(), &cold, &mut journal);
    let text = |at: usize| sent["messages"][at]["content"][0]["content"].as_str().unwrap().to_owned();
    assert!(text(2) == large, "what is pointed to stays, however large and old it is");
    assert!(text(4).starts_with("[This is, byte for byte"));
    assert!(text(6).starts_with("Part 2:") && text(6).contains("[The line above stands 199 more times"));
    assert!(text(8).contains("an earlier state of x.rs"));
    let touched: Vec<_> = outcome.splices.iter().map(|splice| splice.at.start).collect();
    let mut once = touched.clone();
    once.dedup();
    assert_eq!(touched, once);
    // And from then on nothing is left to fight about.
    let (again, outcome) = planned(&request, &Policy::default(), &cold, &mut journal);
    assert_eq!(again, sent);
    assert!(!outcome.must_commit());
}

#[test]
fn what_the_judge_binds_is_never_taken_to_be_free() {
    let families = ["fable", "mythos", "opus", "sonnet", "haiku"];
    let mut free = 0;
    for family in families {
        for version in ["4-1", "4-5", "4-6", "4-7", "4-8", "5", "5-1", "5-2", "5-5", "5-6", "6", "6-1"] {
            for name in
                [format!("claude-{family}-{version}"), format!("us.anthropic.claude-{family}-{version}-v1:0")]
            {
                let judged = deadweight_testkit::strict::models::model(&name);
                // A name that the judge's table knows by a shorter one only is unknown to us.
                let own = Binding::of(&name);
                assert!(own.may_bind() || !judged.binds_thinking, "{name}: {own:?}");
                free += u32::from(!own.may_bind());
            }
        }
    }
    assert!(free >= 20, "{free}");
}
