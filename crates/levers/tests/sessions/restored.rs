//! The way back: the tool is found in the request, what comes back is what was cut, and asking too often is seen.

use super::decided::{body, call, planned, result, user};
use super::gateway::{DIALECT, prefix};
use deadweight_levers::{
    AskedAgain, Circumstances, Cold, Lever, Memory, Policy, RESTORE_SAYS, asked_again, restore_tool,
};
use deadweight_testkit::sessions::{OLDER, prose};
use deadweight_wire::Dialect;
use deadweight_wire::anatomy::Anatomy;
use deadweight_wire::json::Parser;
use serde_json::{Value, json};
use std::collections::BTreeMap;

fn found(body: &Value, dialect: Dialect) -> Option<String> {
    let bytes = body.to_string().into_bytes();
    Parser::new().scope(&bytes, |document| restore_tool(&Anatomy::read(document.unwrap(), dialect)))
}

#[test]
fn the_tool_is_found_as_each_agent_shows_it() {
    let says = format!("{RESTORE_SAYS}, by the id in its place.");
    let schema = json!({ "type": "object", "properties": {} });
    let anthropic = |name: &str, says: &str| {
        json!({ "model": OLDER, "max_tokens": 1, "messages": [{ "role": "user", "content": "x" }],
            "tools": [{ "name": "Read", "description": "Reads.", "input_schema": schema },
                      { "name": name, "description": says, "input_schema": schema }] })
    };
    for name in ["mcp__deadweight__restore", "deadweight_restore", "mcp_own_restore", "restore"] {
        assert_eq!(found(&anthropic(name, &says), DIALECT).as_deref(), Some(name));
    }
    assert_eq!(found(&anthropic("mcp__db__restore", "Restores a database."), DIALECT), None);
    assert_eq!(found(&anthropic("restore_more", &says), DIALECT), None);
    let mut deferred = anthropic("mcp__deadweight__restore", &says);
    deferred["tools"][1]["defer_loading"] = true.into();
    assert_eq!(found(&deferred, DIALECT), None);
    let mut chosen = anthropic("mcp__deadweight__restore", &says);
    for (choice, way) in [
        (json!({ "type": "none" }), false),
        (json!({ "type": "tool", "name": "Read" }), false),
        (json!({ "type": "tool", "name": "mcp__deadweight__restore" }), true),
        (json!({ "type": "auto" }), true),
    ] {
        chosen["tool_choice"] = choice;
        assert_eq!(found(&chosen, DIALECT).is_some(), way, "{}", chosen["tool_choice"]);
    }
    let chat = json!({ "model": "gpt-5", "messages": [{ "role": "user", "content": "x" }], "tools": [
        { "type": "function", "function": { "name": "deadweight_restore", "description": says, "parameters": schema } }
    ] });
    assert_eq!(found(&chat, Dialect::OpenaiChat).as_deref(), Some("deadweight_restore"));
    let responses = json!({ "model": "gpt-5", "input": "x", "tools": [
        { "type": "namespace", "name": "mcp__deadweight", "description": "d", "tools": [
            { "type": "function", "name": "restore", "description": says, "parameters": schema }
        ] }
    ] });
    assert_eq!(found(&responses, Dialect::OpenaiResponses).as_deref(), Some("restore"));
    let gemini = json!({ "contents": [{ "role": "user", "parts": [{ "text": "x" }] }], "tools": [
        { "functionDeclarations": [{ "name": "mcp_deadweight_restore", "description": says }] }
    ] });
    assert_eq!(found(&gemini, Dialect::GeminiGenerate).as_deref(), Some("mcp_deadweight_restore"));
}

fn again(body: &Value, journal: &Memory) -> BTreeMap<Lever, AskedAgain> {
    let bytes = body.to_string().into_bytes();
    let prefix = prefix(&bytes);
    Parser::new()
        .scope(&bytes, |document| asked_again(&Anatomy::read(document.unwrap(), DIALECT), &prefix, journal))
}

#[test]
fn what_is_asked_for_again_is_counted() {
    let mut messages = vec![user("go")];
    for at in 0..8 {
        let id = format!("t{at}");
        messages.extend([call(&id, "Read", &format!("src/{at}.rs")), result(&id, prose(at, 20_000))]);
    }
    messages.extend([user("a"), user("b"), user("c"), user("d")]);
    let cold =
        Circumstances { cold: Some(Cold::Idle), restore_tool: Some("restore"), ..Circumstances::default() };
    let mut journal = Memory::new();
    let (_, outcome) = planned(&body(messages.clone()), &Policy::default(), &cold, &mut journal);
    assert_eq!(outcome.originals.len(), 8);
    assert_eq!(
        again(&body(messages.clone()), &journal)[&Lever::ElideResults],
        AskedAgain { cut: 8, asked: 0 }
    );
    // By the tool, by reading the file again, and both for one: three of eight are too much, two are not.
    let mut restored = call("r", "mcp__deadweight__restore", "x");
    restored["content"][0]["input"] = json!({ "id": outcome.originals[0].id, "offset": 0 });
    messages.extend([restored, result("r", "…"), call("s", "Read", "src/0.rs"), result("s", "…")]);
    messages.extend([call("u", "Read", "src/5.rs"), result("u", "…")]);
    let own = again(&body(messages.clone()), &journal)[&Lever::ElideResults];
    assert_eq!((own, own.is_too_much()), (AskedAgain { cut: 8, asked: 2 }, false));
    messages.extend([call("v", "Read", "src/7.rs"), result("v", "…")]);
    let own = again(&body(messages.clone()), &journal)[&Lever::ElideResults];
    assert_eq!((own, own.is_too_much()), (AskedAgain { cut: 8, asked: 3 }, true));
    // Nothing was cut of a conversation that nobody decided about.
    assert!(again(&body(messages), &Memory::new()).is_empty());
}

#[test]
fn a_view_that_is_asked_for_again_is_counted() {
    let mut messages = vec![user("go")];
    for at in 0..40 {
        let id = format!("t{at}");
        messages.extend([call(&id, "Read", &format!("src/{at}.rs")), result(&id, prose(at, 4_000))]);
    }
    let mut policy = Policy::default();
    policy.switches.insert(Lever::ElideResults, false);
    (policy.thresholds.history, policy.thresholds.view) = (20_000, 4_000);
    let cold =
        Circumstances { cold: Some(Cold::Idle), restore_tool: Some("restore"), ..Circumstances::default() };
    let mut journal = Memory::new();
    let (_, outcome) = planned(&body(messages.clone()), &policy, &cold, &mut journal);
    assert!(outcome.left_out.len() > 40);
    let gone = outcome.left_out[0] as usize;
    let path = messages[gone]["content"][0]["input"]["file_path"].as_str().unwrap().to_owned();
    messages.extend([call("u", "Read", &path), result("u", "…")]);
    let mut restored = call("r", "restore", "x");
    restored["content"][0]["input"] = json!({ "id": outcome.originals[0].id, "offset": 512 });
    messages.extend([restored, result("r", "…")]);
    let own = again(&body(messages), &journal)[&Lever::CompactHistory];
    assert_eq!((own.asked, own.is_too_much()), (2, false));
    assert_eq!(own.cut as usize, outcome.left_out.len() + 1);
}
