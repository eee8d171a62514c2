//! What the provider is asked to do itself, `server-edit` and `defer-tools`: announced in the header that takes it, done
//! again for ever, and never where it cannot be announced or nothing is known of what is used.

use super::faults::{OLDER, long};
use super::machine::Machine;
use deadweight_gateway::edit::Settings;
use deadweight_levers::{Lever, Policy, Profile};
use deadweight_testkit::sessions::tool;
use deadweight_testkit::strict::{Account, Exchange};
use deadweight_testkit::upstream::{Recorded, Response};
use serde_json::{Value, json};
use std::time::Duration;

const CONTEXT: &str = "context-management-2025-06-27";
const OTHER: &str = "interleaved-thinking-2025-05-14";
const KEY: (&str, &str) = ("x-api-key", "sk-ant-api03-test");
const SESSION: (&str, &str) = ("x-claude-code-session-id", "s");

fn only(lever: Lever) -> Policy {
    let mut policy = Policy { profile: Profile::Faithful, ..Policy::default() };
    policy.switches.insert(lever, true);
    policy
}

/// A conversation of so many calls, each with a result of so many bytes.
fn body(turns: usize, bytes: usize) -> Value {
    let mut messages = vec![json!({ "role": "user", "content": "Please do the work." })];
    for turn in 0..turns {
        let id = format!("toolu_{turn}");
        let mut text = long(turn).repeat(bytes / long(turn).len() + 1);
        text.truncate(bytes);
        messages.push(json!({ "role": "assistant", "content": [
            { "type": "tool_use", "id": id, "name": "Read", "input": { "file_path": format!("src/{turn}.rs") } }
        ]}));
        messages.push(json!({ "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": id, "content": text }
        ]}));
    }
    let tools = ["Read", "Bash"].map(|name| json!({ "name": name, "input_schema": { "type": "object" } }));
    json!({ "model": OLDER, "max_tokens": 9, "messages": messages, "tools": tools })
}

fn sent(machine: &Machine, path: &str, headers: &[(&str, &str)], body: &Value) -> Exchange {
    machine.advance(Duration::from_secs(20));
    let reply = machine.post(0, path, headers, body.to_string().as_bytes());
    assert_eq!(reply.status, 200, "{}", String::from_utf8_lossy(&reply.body));
    machine.provider.take_exchanges().pop().unwrap()
}

fn json_of(request: &Recorded) -> Value {
    serde_json::from_slice(&request.body).unwrap()
}

fn betas(request: &Recorded) -> Vec<&str> {
    let all = request.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("anthropic-beta"));
    all.map(|(_, value)| value.as_str()).collect()
}

fn without(mut body: Value, member: &str) -> Value {
    body.as_object_mut().unwrap().remove(member);
    body
}

#[test]
fn the_provider_edits_from_the_first_request_on_whatever_becomes_of_the_gateway() {
    let mut machine = Machine::new(Settings::of(only(Lever::ServerEdit)), 1);
    let headers = [KEY, SESSION, ("anthropic-beta", OTHER)];
    let first = sent(&machine, "/v1/messages", &headers, &body(0, 0)).request;
    // Behind what the client names, in one line with it; nothing else is another.
    assert_eq!(betas(&first), [format!("{OTHER},{CONTEXT}")]);
    let asked = json_of(&first)["context_management"].clone();
    assert_eq!(asked["edits"][0]["type"], "clear_tool_uses_20250919");
    assert_eq!(without(json_of(&first), "context_management"), body(0, 0));
    let mut cleared = 0;
    for turns in 1..14 {
        match turns {
            3 => machine.restart(),
            5 => machine.crash(),
            // What was asked for is asked for again, whatever is switched off.
            7 => machine.set(Settings::of(Policy { profile: Profile::Faithful, ..Policy::default() })),
            9 => machine.restart(),
            _ => {}
        }
        let body = body(turns, 60_000);
        let bare = [KEY, SESSION];
        let headers = if turns % 2 == 0 { &headers[..] } else { &bare };
        let own = sent(&machine, "/v1/messages", headers, &body);
        assert_eq!(json_of(&own.request)["context_management"], asked, "{turns}");
        assert_eq!(without(json_of(&own.request), "context_management"), body);
        let named = if turns % 2 == 0 { format!("{OTHER},{CONTEXT}") } else { CONTEXT.to_owned() };
        assert_eq!(betas(&own.request), [named]);
        cleared += own.verdict.accepted().unwrap().applied_edits.len();
        // Who counts tokens counts what would be read.
        let counted = sent(&machine, "/v1/messages/count_tokens", headers, &without(body, "max_tokens"));
        assert_eq!(json_of(&counted.request)["context_management"], asked);
        assert!(betas(&counted.request)[0].ends_with(CONTEXT));
    }
    assert!(cleared > 0, "the provider was asked and has cleared nothing");
    assert!(machine.noted("edit_refused").is_empty());
}

#[test]
fn clouds_are_never_asked() {
    let mut machine = Machine::new(Settings::of(only(Lever::ServerEdit)), 1);
    let cloud = |version: &str, turns| {
        let mut body = without(body(turns, 2_000), "model");
        body["anthropic_version"] = version.into();
        body
    };
    let bedrock = "/model/us.anthropic.claude-opus-4-8-v1:0/invoke";
    let vertex = "/v1/projects/p/locations/l/publishers/anthropic/models/claude-opus-4-8:rawPredict";
    for (path, version) in [(bedrock, "bedrock-2023-05-31"), (vertex, "vertex-2023-10-16")] {
        for turns in 0..2 {
            let own = sent(&machine, path, &[SESSION], &cloud(version, turns)).request;
            assert_eq!(json_of(&own), cloud(version, turns));
            assert!(betas(&own).is_empty());
        }
    }
    machine.stop();
    for record in machine.records.lock().unwrap().iter() {
        let action = record.levers.iter().find(|own| own.lever == "server-edit").unwrap();
        assert_eq!((action.edited, action.reason.as_str()), (false, "no_betas"));
    }
    // A conversation that began at the provider's own address goes to a cloud as the client has it, and back again as before.
    machine.go_on();
    let other = |mut body: Value| {
        body["messages"][0]["content"] = "Please do other work.".into();
        body
    };
    let own = [KEY, ("x-claude-code-session-id", "other")];
    assert_eq!(betas(&sent(&machine, "/v1/messages", &own, &other(body(0, 0))).request), [CONTEXT]);
    let there = sent(&machine, bedrock, &own[1..], &other(cloud("bedrock-2023-05-31", 1))).request;
    assert!(betas(&there).is_empty() && json_of(&there).get("context_management").is_none());
    let back = sent(&machine, "/v1/messages", &own, &other(body(2, 2_000))).request;
    assert_eq!(betas(&back), [CONTEXT]);
}

#[test]
fn an_account_that_lacks_the_beta_gets_what_the_client_sent() {
    let machine = Machine::new(Settings::of(only(Lever::ServerEdit)), 1);
    let message = format!("Unexpected value(s) `{CONTEXT}` for the `anthropic-beta` header.");
    let error = json!({ "type": "error", "error": { "type": "invalid_request_error", "message": message } });
    machine.say(Response::json(400, &error));
    let headers = [KEY, SESSION, ("anthropic-beta", OTHER)];
    let reply = machine.post(0, "/v1/messages", &headers, body(0, 0).to_string().as_bytes());
    assert_eq!(reply.status, 200);
    let arrived = machine.provider.take_exchanges();
    assert_eq!(arrived.len(), 2);
    assert_eq!(betas(&arrived[0].request), [format!("{OTHER},{CONTEXT}")]);
    assert_eq!((json_of(&arrived[1].request), betas(&arrived[1].request)), (body(0, 0), vec![OTHER]));
    // It is not asked again: neither in this conversation nor, for a week, in another.
    let again = sent(&machine, "/v1/messages", &headers, &body(1, 2_000)).request;
    assert_eq!((json_of(&again), betas(&again)), (body(1, 2_000), vec![OTHER]));
    let other = [KEY, ("x-claude-code-session-id", "other")];
    let mut another = body(0, 0);
    another["messages"][0]["content"] = "Please do other work.".into();
    let begun = sent(&machine, "/v1/messages", &other, &another).request;
    assert_eq!((json_of(&begun), betas(&begun)), (another, vec![]));
    assert_eq!(machine.noted("edit_refused").len(), 1);
}

/// A request of an agent that lists tools, of which two weigh much, and has called some.
fn work(session: &str, called: &[&str]) -> Value {
    let names = ["Read", "restore", "mcp__git__log", "mcp__git__push", "WebSearch"];
    let tools = names.map(|name| tool(name, 1, if name.starts_with("mcp__") { 3_000 } else { 200 }));
    let mut messages = vec![json!({ "role": "user", "content": format!("Please do work {session}.") })];
    for (at, name) in called.iter().enumerate() {
        let id = format!("toolu_{at}");
        messages.push(json!({ "role": "assistant", "content": [
            { "type": "tool_use", "id": id, "name": name, "input": { "file_path": "x" } }
        ]}));
        messages.push(json!({ "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": id, "content": "done" }
        ]}));
    }
    json!({ "model": OLDER, "max_tokens": 9, "messages": messages, "tools": tools })
}

fn waits(request: &Recorded) -> Vec<String> {
    let tools = json_of(request)["tools"].as_array().unwrap().clone();
    let waits = tools.iter().filter(|tool| tool["defer_loading"] == true);
    waits.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

fn defers() -> Settings {
    let mut policy = only(Lever::DeferTools);
    policy.thresholds.deferred = 1_000;
    Settings::of(policy)
}

/// Sessions of Claude Code in each of which these tools are called.
fn sessions(machine: &Machine, names: &[&str], called: &[&str]) {
    for name in names {
        let headers = [KEY, ("x-claude-code-session-id", *name)];
        for turns in 0..=called.len() {
            let own = sent(machine, "/v1/messages", &headers, &work(name, &called[..turns])).request;
            assert_eq!(json_of(&own), work(name, &called[..turns]));
        }
    }
}

fn reason(machine: &Machine, session: &str) -> String {
    let records = machine.records.lock().unwrap();
    let last = records.iter().rfind(|record| record.session == session).unwrap();
    last.levers.iter().find(|own| own.lever == "defer-tools").unwrap().reason.clone()
}

#[test]
fn tools_that_the_ledger_knows_as_idle_wait_until_they_are_searched_for() {
    let mut machine = Machine::new(defers(), 1);
    sessions(&machine, &["one", "two"], &["Read", "WebSearch"]);
    // Two sessions are too few to go by, and a session without calls tells nothing.
    sessions(&machine, &["idle"], &[]);
    machine.restart();
    sessions(&machine, &["three"], &["Read"]);
    machine.restart();
    let headers = |name: &'static str| [KEY, ("x-claude-code-session-id", name), ("anthropic-beta", OTHER)];
    let first = sent(&machine, "/v1/messages", &headers("four"), &work("four", &[])).request;
    assert_eq!(waits(&first), ["mcp__git__log", "mcp__git__push"]);
    let tools = json_of(&first)["tools"].clone();
    assert_eq!(tools[5]["type"], "tool_search_tool_bm25_20251119");
    assert_eq!(betas(&first), [OTHER], "tool search is for everybody");
    // The model finds one of them and calls it: what waits stays what it was, here and after whatever happens.
    let called = ["Read", "mcp__git__log", "Read"];
    for turns in 1..=called.len() {
        match turns {
            1 => machine.restart(),
            2 => machine.crash(),
            _ => machine.set(Settings::of(Policy { profile: Profile::Faithful, ..Policy::default() })),
        }
        let own = sent(&machine, "/v1/messages", &headers("four"), &work("four", &called[..turns])).request;
        assert_eq!(json_of(&own)["tools"], tools, "{turns}");
        // A search is nothing that can be counted.
        let count = without(work("four", &called[..turns]), "max_tokens");
        let counted = sent(&machine, "/v1/messages/count_tokens", &headers("four"), &count).request;
        assert_eq!(json_of(&counted), count);
    }
    // The next session has it, since it was used; the other one still waits.
    machine.set(defers());
    machine.restart();
    let next = sent(&machine, "/v1/messages", &headers("five"), &work("five", &[])).request;
    assert_eq!(waits(&next), ["mcp__git__push"]);
    machine.stop();
    assert_eq!((reason(&machine, "two"), reason(&machine, "three")), ("no_use".into(), "nothing_new".into()));
    assert_eq!(reason(&machine, "five"), "");
    assert!(machine.noted("edit_refused").is_empty());
}

#[test]
fn nothing_waits_for_an_agent_that_the_ledger_does_not_know() {
    let mut machine = Machine::new(defers(), 1);
    sessions(&machine, &["one", "two", "three"], &["Read"]);
    machine.restart();
    for headers in [&[KEY, ("x-opencode-session", "x"), ("user-agent", "opencode/1.18")][..], &[KEY]] {
        let name = format!("x{}", headers.len());
        let own = sent(&machine, "/v1/messages", headers, &work(&name, &[])).request;
        assert_eq!(json_of(&own), work(&name, &[]));
    }
    machine.stop();
    let records = machine.records.lock().unwrap();
    for record in records.iter().rev().take(2) {
        let own = record.levers.iter().find(|own| own.lever == "defer-tools").unwrap();
        assert_eq!(own.reason, "no_use", "{:?}", record.agent);
    }
}

#[test]
fn an_account_whose_search_needs_a_beta_gets_what_the_client_sent() {
    let mut machine = Machine::of_account(defers(), Account::OLD);
    sessions(&machine, &["one", "two", "three"], &["Read"]);
    machine.restart();
    let headers = [KEY, ("x-claude-code-session-id", "four")];
    let reply = machine.post(0, "/v1/messages", &headers, work("four", &[]).to_string().as_bytes());
    assert_eq!(reply.status, 200);
    let arrived = machine.provider.take_exchanges();
    assert_eq!((arrived.len(), json_of(&arrived.last().unwrap().request)), (2, work("four", &[])));
}
