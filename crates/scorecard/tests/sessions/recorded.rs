//! What real clients send, recorded by `cargo xtask fixtures` into `recorded/`: nothing of it is committed, so this runs
//! only where somebody has recorded; `cargo xtask test` does so for the clients that the tests run.
//!
//! A recording is short: the client asks, calls a tool, and is done. So its last round, a call and its result in the client's
//! own layout, goes on: more of the same, with large results, as a session of an hour has them.

use crate::measure::{Agent, Laid, also_alone, inert, judged, laid, lived};
use deadweight_levers::Lever;
use deadweight_testkit::layouts::Layout;
use deadweight_testkit::layouts::text::prose;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// How many rounds a recording goes on for.
const ROUNDS: usize = 7;
/// How long a result is, in bytes.
const LONG: usize = 40_000;

/// Where formats have what was said.
const SAID: [&str; 3] = ["messages", "input", "contents"];

/// One recording: its requests in the order in which they were sent.
fn recording(folder: &Path) -> Option<Agent> {
    let index: Value = serde_json::from_slice(&fs::read(folder.join("index.json")).ok()?).unwrap();
    let name: &'static str = index["layout"].as_str()?.to_owned().leak();
    let requests = index["requests"].as_array()?.iter().filter(|request| request["generation"] == true);
    let headers = requests.clone().next_back().into_iter().flat_map(|request| request["headers"].as_array());
    let headers = headers.flatten().map(|header| (header[0].as_str(), header[1].as_str()));
    let headers = headers.filter_map(|(name, value)| Some((name?.to_owned(), value?.to_owned())));
    // What a provider's bodies need of headers.
    let headers = headers.filter(|(name, _)| name.to_ascii_lowercase().starts_with("anthropic-")).collect();
    let layouts = requests.map(|request| Layout {
        name,
        dialect: "",
        path: request["path"].as_str().unwrap().to_owned().leak(),
        body: fs::read_to_string(folder.join(request["body"].as_str().unwrap())).unwrap(),
    });
    Some(Agent { name, layouts: layouts.collect(), headers })
}

fn said(body: &Value) -> Option<(&'static str, &Vec<Value>)> {
    SAID.into_iter().find_map(|key| Some((key, body.get(key)?.as_array()?)))
}

/// Takes the marks out of a value; whether there were any.
fn unmark(value: &mut Value) -> bool {
    match value {
        Value::Object(members) => {
            let marked = members.remove("cache_control").is_some();
            members.values_mut().fold(marked, |marked, member| unmark(member) | marked)
        }
        Value::Array(items) => items.iter_mut().fold(false, |marked, item| unmark(item) | marked),
        _ => false,
    }
}

/// Marks the last block of what was said, as clients do.
fn mark(messages: &mut [Value]) {
    let Some(last) = messages.last_mut() else { return };
    if let Some(text) = last["content"].as_str().map(str::to_owned) {
        last["content"] = json!([{ "type": "text", "text": text }]);
    }
    if let Some(block) = last["content"].as_array_mut().and_then(|blocks| blocks.last_mut()) {
        block["cache_control"] = json!({ "type": "ephemeral" });
    }
}

/// The text of the first result in a value.
fn result(value: &mut Value) -> Option<&mut String> {
    fn text(value: &mut Value) -> Option<&mut String> {
        match value {
            Value::String(text) => Some(text),
            Value::Array(items) => items.iter_mut().find_map(text),
            Value::Object(members) => {
                let names = ["text", "output", "content", "result"];
                let name = names.into_iter().find(|name| members.contains_key(*name))?;
                text(members.get_mut(name)?)
            }
            _ => None,
        }
    }
    let kinds = ["tool_result", "function_call_output", "custom_tool_call_output"];
    let name = if value.get("functionResponse").is_some() {
        "functionResponse"
    } else if kinds.iter().any(|kind| value["type"] == *kind) || value["role"] == "tool" {
        if value.get("output").is_some() { "output" } else { "content" }
    } else {
        return match value {
            Value::Array(items) => items.iter_mut().find_map(result),
            Value::Object(members) => members.values_mut().find_map(result),
            _ => None,
        };
    };
    match name {
        "functionResponse" => text(&mut value[name]["response"]),
        name => text(&mut value[name]),
    }
}

/// The ids by which calls and results belong together.
fn ids(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                match member.as_str() {
                    Some(id) if ["id", "tool_use_id", "call_id", "tool_call_id"].contains(&name.as_str()) => {
                        found.push(id.to_owned());
                    }
                    _ => ids(member, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| ids(item, found)),
        _ => {}
    }
}

/// The same round, later: with ids of its own, and a long result.
fn again(round: &[Value], number: usize) -> Vec<Value> {
    let mut round = Value::Array(round.to_vec());
    let mut own = Vec::new();
    ids(&round, &mut own);
    own.sort();
    own.dedup();
    let mut text = round.to_string();
    for id in own {
        text = text.replace(&format!("\"{id}\""), &format!("\"{id}{number}\""));
    }
    round = serde_json::from_str(&text).unwrap();
    let long = format!("Round {number}. {}", prose(number as u64, LONG));
    match result(&mut round) {
        Some(result) => *result = long,
        // Who has no tools is given what it asks for by its user.
        None => {
            if let Some(last) = round.as_array_mut().and_then(|round| round.last_mut()) {
                last["content"] = long.into();
            }
        }
    }
    match round {
        Value::Array(round) => round,
        _ => Vec::new(),
    }
}

/// The last request of a conversation, and what it added to the one before.
fn last_round(requests: &[Layout]) -> Option<(&Layout, Value, Vec<Value>)> {
    let read = |layout: &Layout| {
        let mut body: Value = serde_json::from_str(&layout.body).unwrap();
        for key in SAID {
            body.get_mut(key).map(unmark);
        }
        body
    };
    let mut found = None;
    for (one, other) in requests.iter().zip(requests.iter().skip(1)) {
        let (before, after) = (read(one), read(other));
        let (Some((_, before)), Some((_, now))) = (said(&before), said(&after)) else { continue };
        if let Some(round) = now.strip_prefix(before.as_slice()).filter(|round| !round.is_empty()) {
            found = Some((other, after.clone(), round.to_vec()));
        }
    }
    found.or_else(|| {
        // A client without tools is asked again.
        let only = requests.last()?;
        let round = vec![json!({ "role": "assistant", "content": "Done." }), json!({ "role": "user" })];
        Some((only, read(only), round))
    })
}

/// A recording that goes on.
fn grown(requests: &[Layout]) -> Vec<Layout> {
    let Some((layout, body, round)) = last_round(requests) else { return Vec::new() };
    let mut recorded: Value = serde_json::from_str(&layout.body).unwrap();
    let marked = SAID.into_iter().any(|key| recorded.get_mut(key).is_some_and(unmark));
    let later = (0..=ROUNDS).map(|rounds| {
        let mut body = body.clone();
        let key = said(&body).map(|(key, _)| key).unwrap();
        let messages = body[key].as_array_mut().unwrap();
        (1..=rounds).for_each(|number| messages.extend(again(&round, number)));
        if marked {
            mark(messages);
        }
        lived(&Layout { body: body.to_string(), ..layout.clone() }, rounds)
    });
    later.collect()
}

fn recordings() -> Vec<Agent> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../recorded");
    let Ok(entries) = fs::read_dir(&root) else {
        println!("skipped: nothing is recorded on this machine (cargo xtask fixtures)");
        return Vec::new();
    };
    let mut all: Vec<_> = entries.filter_map(|entry| recording(&entry.unwrap().path())).collect();
    all.sort_by_key(|agent| agent.name);
    all
}

#[test]
fn real_clients_cause_no_errors() {
    for agent in recordings() {
        let laid = laid(&agent, &judged()).unwrap();
        println!("{}", laid.told());
        assert_eq!(laid.errors, 0, "{}", laid.told());
    }
}

#[test]
fn real_clients_that_go_on_find_no_lever_inert() {
    let agents: Vec<Agent> =
        recordings().into_iter().map(|agent| Agent { layouts: grown(&agent.layouts), ..agent }).collect();
    if agents.is_empty() {
        return;
    }
    let mut all: Vec<Laid> = agents.iter().map(|agent| laid(agent, &judged()).unwrap()).collect();
    also_alone(&mut all, &agents).unwrap();
    for laid in &all {
        println!("{}", laid.told());
        assert_eq!(laid.errors, 0, "{}", laid.told());
    }
    // Each lever has clients that it is for: those that bind no thinking, or set no breakpoints of their own.
    let recorded = |name: &str| agents.iter().any(|agent| agent.name == name);
    let mut inert = inert(&all);
    inert.retain(|lever| *lever != Lever::PlaceBreakpoints || recorded("aider-anthropic"));
    if ["claude", "codex-gpt55", "codex-gpt6"].into_iter().all(recorded) {
        assert!(inert.is_empty(), "did nothing on any client: {inert:?}");
    }
}
