//! `defer-tools` and `server-edit`: what the provider is asked to do, how long it is asked, and why it is not.

use super::decided::{body, call, planned, reason, result, user};
use super::gateway::DIALECT;
use deadweight_levers::plan::plan;
use deadweight_levers::{Circumstances, Cold, Lever, Memory, Policy, Profile, StandDown, ToolRule};
use deadweight_testkit::sessions::{OLDER, prose, tool};
use deadweight_testkit::strict::{Judge, Request, Verdict};
use deadweight_wire::Dialect;
use deadweight_wire::json::Parser;
use serde_json::{Value, json};
use std::time::Duration;

const BETA: &str = "context-management-2025-06-27";

fn accepted(sent: &Value, betas: &[&str]) {
    let headers: Vec<_> =
        betas.iter().map(|beta| ("anthropic-beta".to_owned(), (*beta).to_owned())).collect();
    let bytes = sent.to_string().into_bytes();
    let request = Request { path: "/v1/messages", headers: &headers, body: &bytes, at: Duration::ZERO };
    if let Verdict::Refused(refusal) = Judge::default().judge(request) {
        panic!("{}: {}", refusal.rule, refusal.message);
    }
}

fn only(lever: Lever) -> Policy {
    let mut policy = Policy { profile: Profile::Faithful, ..Policy::default() };
    policy.switches.insert(lever, true);
    policy.thresholds.deferred = 400;
    policy
}

fn hot() -> Vec<String> {
    vec!["Read".to_owned(), "gone".to_owned()]
}

#[test]
fn cold_tools_wait_for_the_providers_search() {
    let hot = hot();
    let own = Circumstances { hot: Some(&hot), restore_tool: Some("restore"), ..Circumstances::default() };
    let mut journal = Memory::new();
    let mark = json!({ "type": "ephemeral" });
    let mut request = body(vec![user("go")]);
    request["tools"].as_array_mut().unwrap().push(tool("StructuredOutput", 4, 300));
    request["tools"][2]["cache_control"] = mark.clone();
    let (sent, outcome) = planned(&request, &only(Lever::DeferTools), &own, &mut journal);
    accepted(&sent, &outcome.betas);
    let waits = |sent: &Value| -> Vec<String> {
        let tools = sent["tools"].as_array().unwrap().iter();
        tools
            .filter(|tool| tool["defer_loading"] == true)
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(waits(&sent), ["Bash", "git_push"]);
    assert_eq!(
        sent["tools"][5],
        json!({ "type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25" })
    );
    // No breakpoint on one that waits: it goes to the one before that does not.
    assert_eq!(sent["tools"][0]["cache_control"], mark);
    assert!(sent["tools"][2].get("cache_control").is_none());
    assert_eq!(outcome.action(Lever::DeferTools).unwrap().decided, 2);
    assert!(outcome.must_commit() && outcome.betas.is_empty());
    // Later, with a tool that came meanwhile, switched off and after a restart: as it was decided, by name.
    let mut journal = Memory::restore(journal.save()).unwrap();
    request["messages"].as_array_mut().unwrap().extend([call("a", "Bash", "x"), result("a", "y")]);
    request["tools"].as_array_mut().unwrap().insert(1, tool("late", 9, 300));
    let off = Policy { profile: Profile::Faithful, ..Policy::default() };
    let (sent, outcome) = planned(&request, &off, &Circumstances::default(), &mut journal);
    accepted(&sent, &outcome.betas);
    assert_eq!(waits(&sent), ["late", "Bash", "git_push"]);
    let action = outcome.action(Lever::DeferTools).unwrap();
    assert_eq!((action.decided, action.replayed, action.stood_down), (0, 3, Some(StandDown::Off)));
    // What the request pins is offered.
    request["tool_choice"] = json!({ "type": "tool", "name": "git_push" });
    let (sent, _) = planned(&request, &off, &Circumstances::default(), &mut journal);
    assert_eq!(waits(&sent), ["late", "Bash"]);
    // Tokens are counted without a search, which the provider would refuse.
    let counting = Circumstances { counting: true, ..Circumstances::default() };
    let (counted, outcome) = planned(&request, &off, &counting, &mut journal);
    assert_eq!(counted, request);
    assert_eq!(reason(&outcome, Lever::DeferTools), Some(StandDown::Off));
}

#[test]
fn deferring_and_pruning_and_order_go_together() {
    let hot = hot();
    let own = Circumstances { hot: Some(&hot), ..Circumstances::default() };
    let mut policy = only(Lever::DeferTools);
    policy.switches.insert(Lever::PruneTools, true);
    policy.switches.insert(Lever::SteadyPrefix, true);
    policy.tools = ToolRule { deny: vec!["git_*".into()], allow: Vec::new() };
    let mut journal = Memory::new();
    let mut request = body(vec![user("go")]);
    request["tools"].as_array_mut().unwrap().push(tool("StructuredOutput", 4, 300));
    let (first, outcome) = planned(&request, &policy, &own, &mut journal);
    accepted(&first, &outcome.betas);
    let names = |sent: &Value, waits: bool| -> Vec<String> {
        let tools = sent["tools"].as_array().unwrap().iter();
        let tools = tools.filter(|tool| (tool["defer_loading"] == true) == waits);
        tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&first, false), ["Read", "StructuredOutput", "tool_search_tool_bm25"]);
    assert_eq!(names(&first, true), ["Bash", "restore"]);
    // In another order: what is in the prompt stands as it stood.
    request["messages"].as_array_mut().unwrap().extend([call("a", "Read", "x"), result("a", "y")]);
    request["tools"].as_array_mut().unwrap().reverse();
    let (second, outcome) = planned(&request, &policy, &own, &mut journal);
    accepted(&second, &outcome.betas);
    assert_eq!(names(&second, false), names(&first, false));
    assert_eq!(reason(&outcome, Lever::SteadyPrefix), None);
    assert_eq!(outcome.pruned, ["git_push"]);
}

#[test]
fn why_no_tool_is_deferred() {
    let hot = hot();
    let own = Circumstances { hot: Some(&hot), ..Circumstances::default() };
    let why = |request: &Value, policy: &Policy, own: &Circumstances<'_>| {
        let (sent, outcome) = planned(request, policy, own, &mut Memory::new());
        assert_eq!(sent, *request);
        reason(&outcome, Lever::DeferTools)
    };
    let policy = only(Lever::DeferTools);
    let plain = body(vec![user("go")]);
    assert_eq!(
        why(&plain, &Policy { profile: Profile::Faithful, ..Policy::default() }, &own),
        Some(StandDown::Off)
    );
    assert_eq!(why(&plain, &policy, &Circumstances::default()), Some(StandDown::NoUse));
    let mut unknown = plain.clone();
    unknown["model"] = "claude-3-5-haiku-20241022".into();
    assert_eq!(why(&unknown, &policy, &own), Some(StandDown::UnknownModel));
    let mut defers = plain.clone();
    defers["tools"][3]["defer_loading"] = true.into();
    assert_eq!(why(&defers, &policy, &own), Some(StandDown::ClientDefers));
    let mut searches = plain.clone();
    searches["tools"]
        .as_array_mut()
        .unwrap()
        .push(json!({ "type": "tool_search_tool_regex", "name": "tool_search_tool_regex" }));
    assert_eq!(why(&searches, &policy, &own), Some(StandDown::ClientDefers));
    let none = ["gone".to_owned()];
    assert_eq!(why(&plain, &policy, &Circumstances { hot: Some(&none), ..own }), Some(StandDown::WouldEmpty));
    let mut large = policy.clone();
    large.thresholds.deferred = 1 << 20;
    assert_eq!(why(&plain, &large, &own), Some(StandDown::UnderThreshold));
    let met = body(vec![user("go"), call("a", "Read", "x"), result("a", "y")]);
    assert_eq!(why(&met, &policy, &own), Some(StandDown::Joined));
    let counting = Circumstances { counting: true, ..own };
    assert_eq!(why(&plain, &policy, &counting), Some(StandDown::Counting));
}

#[test]
fn openai_searches_for_functions() {
    let function = |name: &str| json!({ "type": "function", "name": name, "description": prose(1, 900), "parameters": {} });
    let request = json!({ "model": "gpt-5.5-2026-04-01", "input": "go", "tools": [
        function("Read"), function("other"), { "type": "web_search" }
    ] });
    let hot = hot();
    let own = Circumstances { hot: Some(&hot), ..Circumstances::default() };
    let policy = only(Lever::DeferTools);
    let sent = |request: &Value, dialect| {
        let bytes = request.to_string().into_bytes();
        let outcome = plan(&mut Parser::new(), &bytes, dialect, &policy, &own, &Memory::new());
        let why = reason(&outcome, Lever::DeferTools);
        (outcome.body.map(|body| serde_json::from_slice::<Value>(&body).unwrap()), why)
    };
    let (body, _) = sent(&request, Dialect::OpenaiResponses);
    let tools = body.unwrap()["tools"].clone();
    assert_eq!(tools[0], function("Read"));
    assert_eq!(tools[1]["defer_loading"], true);
    assert_eq!(tools[2], json!({ "type": "web_search" }));
    assert_eq!(tools[3], json!({ "type": "tool_search" }));
    let chat = json!({ "model": "gpt-5.5", "messages": [{ "role": "user", "content": "go" }], "tools": [
        { "type": "function", "function": { "name": "Read", "description": prose(1, 900), "parameters": {} } }
    ] });
    assert_eq!(sent(&chat, Dialect::OpenaiChat), (None, Some(StandDown::UnsupportedDialect)));
}

#[test]
fn the_provider_is_asked_to_edit_from_the_first_request_on() {
    let mut journal = Memory::new();
    let own = Circumstances { appends_betas: true, ..Circumstances::default() };
    let text = prose(1, 2_000);
    let mut request = body(vec![user("go")]);
    request["tools"].as_array_mut().unwrap().push(tool("Skill", 4, 300));
    let mut policy = only(Lever::ServerEdit);
    for lever in [Lever::Dedup, Lever::ElideResults, Lever::CompactHistory] {
        policy.switches.insert(lever, true);
    }
    let (sent, outcome) = planned(&request, &policy, &own, &mut journal);
    accepted(&sent, &outcome.betas);
    assert_eq!(outcome.betas, [BETA]);
    assert_eq!(
        sent["context_management"],
        json!({ "edits": [{
            "type": "clear_tool_uses_20250919",
            "trigger": { "type": "input_tokens", "value": 100_000 },
            "keep": { "type": "tool_uses", "value": 8 },
            "clear_at_least": { "type": "input_tokens", "value": 20_000 },
            "exclude_tools": ["Skill"]
        }] })
    );
    let mut bare = sent.clone();
    bare.as_object_mut().unwrap().remove("context_management");
    assert_eq!(bare, request);
    // The same bytes from then on, also switched off; and nothing else touches messages.
    request["messages"].as_array_mut().unwrap().extend([
        call("a", "Read", "x"),
        result("a", text.as_str()),
        call("b", "Read", "x"),
        result("b", text.as_str()),
    ]);
    let cold = Circumstances { cold: Some(Cold::Idle), ..own };
    for (policy, own) in [
        (&policy, &own),
        (&policy, &cold),
        (&Policy { profile: Profile::Faithful, ..Policy::default() }, &own),
    ] {
        let (again, outcome) = planned(&request, policy, own, &mut journal);
        accepted(&again, &outcome.betas);
        assert_eq!(again["context_management"], sent["context_management"]);
        assert_eq!(again["messages"], request["messages"]);
        let on = policy.on(Lever::Dedup);
        let expected = if on { StandDown::ServerEdits } else { StandDown::Off };
        assert_eq!(reason(&outcome, Lever::Dedup), Some(expected));
        assert_eq!(outcome.action(Lever::ServerEdit).unwrap().replayed, 1);
    }
    // Where the client takes it up itself, it is the client's.
    request["context_management"] = json!({ "edits": [] });
    let (sent, outcome) = planned(&request, &policy, &own, &mut journal);
    assert_eq!((&sent, reason(&outcome, Lever::ServerEdit)), (&request, Some(StandDown::ClientEdits)));
    assert!(outcome.betas.is_empty());
}

#[test]
fn why_the_provider_is_not_asked() {
    let policy = only(Lever::ServerEdit);
    let why = |request: &Value, dialect: Dialect| {
        let bytes = request.to_string().into_bytes();
        let own = Circumstances { appends_betas: true, ..Circumstances::default() };
        let outcome = plan(&mut Parser::new(), &bytes, dialect, &policy, &own, &Memory::new());
        assert_eq!(outcome.body, None);
        reason(&outcome, Lever::ServerEdit)
    };
    let plain = body(vec![user("go")]);
    let mut bedrock = plain.clone();
    bedrock["anthropic_version"] = "bedrock-2023-05-31".into();
    assert_eq!(why(&bedrock, DIALECT), Some(StandDown::UnsupportedDialect));
    assert_eq!(why(&plain, Dialect::OpenaiChat), Some(StandDown::UnsupportedDialect));
    let mut unknown = plain.clone();
    unknown["model"] = "someone-elses".into();
    assert_eq!(why(&unknown, DIALECT), Some(StandDown::UnknownModel));
    let met = body(vec![user("go"), call("a", "Read", "x"), result("a", "y")]);
    assert_eq!(why(&met, DIALECT), Some(StandDown::Joined));
    let bare = json!({ "model": OLDER, "max_tokens": 9, "messages": [user("go")] });
    assert_eq!(why(&bare, DIALECT), Some(StandDown::NoTools));
    // Whoever cannot announce it must not ask for it, now or later.
    let mut journal = Memory::new();
    let own = Circumstances { appends_betas: true, ..Circumstances::default() };
    assert_eq!(planned(&plain, &policy, &own, &mut journal).1.betas, [BETA]);
    let (sent, outcome) = planned(&plain, &policy, &Circumstances::default(), &mut journal);
    assert_eq!((&sent, reason(&outcome, Lever::ServerEdit)), (&plain, Some(StandDown::NoBetas)));
}
