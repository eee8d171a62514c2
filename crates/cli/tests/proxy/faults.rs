//! Servers that hang, die, answer wrongly or not at all.

use std::time::{Duration, Instant};

use deadweight_testkit::processes;
use deadweight_testkit::scripted_mcp::Act;
use serde_json::json;

use crate::case::{Case, PATIENCE, failed, script, text};

#[test]
fn a_call_that_hangs_holds_up_nothing_else() {
    let mut case = Case::new(script("hangs").tool("hang").on("tools/call:hang", [Act::Silence]));
    let hanging = case.ask("hang", &json!({}));
    case.works();
    case.client.request("tools/list", &json!({})).unwrap();
    case.leave(&[hanging]);
}

#[test]
fn a_server_that_never_begins_is_ended_when_its_client_leaves() {
    let mut case =
        Case::silent(script("never-begins").on("initialize", [Act::Silence]), &["--surface", "eager"]);
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "p", "version": "1" } });
    let id = case.client.ask("initialize", &hello).unwrap();
    case.until_received(|message| message["method"] == "initialize");
    case.leave(&[id]);
}

#[test]
fn a_server_that_cannot_be_started_is_told_with_its_name() {
    let home = crate::case::home();
    let mut command =
        crate::case::proxy(home.path(), &["--surface", "eager", "--", "no-such-program-anywhere"]);
    let mut client = deadweight_testkit::client::Client::start(&mut command).unwrap();
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "p", "version": "1" } });
    // The proxy may have ended already.
    let id = client.ask("initialize", &hello).unwrap_or_default();
    let answer = client.answer(id, PATIENCE);
    let told = format!("{} {}", answer.unwrap_or_default(), client.errors());
    assert!(told.contains("no-such-program-anywhere"), "{told}");
    client.close();
    assert!(client.ended(PATIENCE).is_some());
}

#[test]
fn a_server_that_cannot_be_started_is_told_to_whoever_only_tries_it() {
    let home = crate::case::home();
    let run = |command: &[&str]| {
        let flags = [&["--"], command].concat();
        let mut proxy = crate::case::proxy(home.path(), &flags);
        let output = proxy.stdin(std::process::Stdio::null()).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, told) = run(&["no-such-program-anywhere"]);
    assert_eq!(code, Some(3), "{told}");
    assert!(told.contains("no-such-program-anywhere"), "{told}");
    assert_eq!(run(&["/etc"]).0, Some(3));
    assert_eq!(run(&["sh", "-c", "true"]), (Some(0), String::new()));
}

#[test]
fn calls_under_way_end_with_an_error_when_the_server_dies_and_it_is_started_again() {
    let home = crate::case::home();
    let died = home.path().join("died").display().to_string();
    let script = script("dies")
        .tool("die")
        .tool("hang")
        .on("tools/call:hang", [Act::Silence])
        .on("tools/call:die", [Act::Once { file: died, acts: vec![Act::Exit(3)] }]);
    let mut case = Case::new(script);
    let hanging: Vec<u64> = (0..5).map(|_| case.ask("hang", &json!({}))).collect();
    let dying = case.ask("die", &json!({}));
    for id in hanging.into_iter().chain([dying]) {
        let answer = case.answer(id);
        assert!(failed(&answer), "{answer}");
    }
    case.works();
    // The same call again: this time it is answered.
    let id = case.ask("die", &json!({ "text": "again" }));
    let answer = case.answer(id);
    assert_eq!(text(&answer), r#"die {"text":"again"}"#, "{answer}");
    case.leave(&[]);
}

#[test]
fn a_server_that_is_killed_between_calls_is_started_again() {
    let mut case = Case::new(script("killed"));
    case.works();
    for process in processes::with(case.marker()) {
        if process != case.client.id() {
            std::process::Command::new("kill").args(["-KILL", &process.to_string()]).status().unwrap();
        }
    }
    std::thread::sleep(Duration::from_millis(200));
    case.works();
    case.leave(&[]);
}

#[test]
fn a_server_that_dies_at_every_call_never_hangs_its_client_and_comes_back() {
    let mut case = Case::new(script("dies-always").tool("die").on("tools/call:die", [Act::Signal(9)]));
    for _ in 0..4 {
        let id = case.ask("die", &json!({}));
        let answer = case.answer(id);
        assert!(failed(&answer), "{answer}");
    }
    // After so many deaths it may be left alone for a while; until then, calls are answered with the reason.
    let until = Instant::now() + PATIENCE;
    loop {
        let id = case.ask("echo", &json!({ "text": "back" }));
        let answer = case.answer(id);
        if text(&answer) == r#"echo {"text":"back"}"# {
            break;
        }
        assert!(failed(&answer), "{answer}");
        assert!(Instant::now() < until, "it never comes back: {answer}");
        std::thread::sleep(Duration::from_millis(200));
    }
    case.leave(&[]);
}

#[test]
fn what_is_answered_twice_is_passed_on_once() {
    let mut case = Case::new(
        script("twice").tool("twice").on("tools/call:twice", [Act::Proceed, Act::Proceed, Act::Proceed]),
    );
    let id = case.ask("twice", &json!({}));
    case.answer(id);
    case.works();
    let again = case.ask("twice", &json!({}));
    case.answer(again);
    case.works();
    case.leave(&[]);
}

#[test]
fn an_answer_to_nobody_reaches_nobody() {
    let stray = r#"{"jsonrpc":"2.0","id":987654321,"result":{"content":[]}}"#;
    let null = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}"#;
    let mut case = Case::new(
        script("stray")
            .tool("stray")
            .on("tools/call:stray", [Act::Stdout(stray.into()), Act::Stdout(null.into()), Act::Proceed]),
    );
    let id = case.ask("stray", &json!({}));
    case.answer(id);
    case.works();
    assert!(!case.client.seen().iter().any(|line| line.contains("987654321")), "{:#?}", case.client.seen());
    case.leave(&[]);
}

#[test]
fn answers_out_of_order_find_their_requests() {
    let mut case = Case::new(
        script("order")
            .tool("late")
            .tool("last")
            .on("tools/call:late", [Act::Hold])
            .on("tools/call:last", [Act::Proceed, Act::Release]),
    );
    let late: Vec<u64> =
        (0..20).map(|number| case.ask("late", &json!({ "text": number.to_string() }))).collect();
    let last = case.ask("last", &json!({ "text": "last" }));
    let answer = case.answer(last);
    assert_eq!(text(&answer), r#"last {"text":"last"}"#);
    for (number, id) in late.into_iter().enumerate() {
        let answer = case.answer(id);
        assert_eq!(text(&answer), format!(r#"late {{"text":"{number}"}}"#), "{answer}");
    }
    case.leave(&[]);
}

#[test]
fn tools_that_change_between_list_and_call_are_the_servers_business() {
    let mut script =
        script("changes").tool("change").tool("gone").on("tools/call:change", [Act::List(1), Act::Proceed]);
    let echo = script.pages[0].raw[0].clone();
    script.later =
        vec![vec![deadweight_testkit::scripted_mcp::Page { raw: vec![echo], ..Default::default() }]];
    let mut case = Case::new(script);
    assert!(case.client.list().unwrap().contains(r#""gone""#));
    let id = case.ask("change", &json!({}));
    case.answer(id);
    let id = case.ask("gone", &json!({}));
    let answer = case.answer(id);
    assert!(failed(&answer), "{answer}");
    case.works();
    case.leave(&[]);
}

#[test]
fn a_server_that_does_not_want_to_end_is_ended() {
    let mut script = script("lingers");
    script.linger = true;
    let mut case = Case::new(script);
    case.works();
    case.leave(&[]);
}

#[test]
fn what_a_server_has_started_ends_with_it() {
    let mut case = Case::new(script("family").on("start", [Act::Grandchild]));
    case.works();
    assert!(processes::with(case.marker()).len() >= 3, "proxy, server and what it started");
    case.leave(&[]);
}

#[test]
fn a_server_that_closes_its_output_and_goes_on_is_over() {
    let home = crate::case::home();
    let closed = home.path().join("closed").display().to_string();
    let once = Act::Once { file: closed, acts: vec![Act::CloseStdout, Act::Sleep(120_000)] };
    let mut case = Case::new(script("closes").tool("close").on("tools/call:close", [once]));
    let id = case.ask("close", &json!({}));
    let answer = case.answer(id);
    assert!(failed(&answer), "{answer}");
    case.works();
    case.leave(&[]);
}

#[test]
fn two_hundred_calls_under_way_are_each_answered_once() {
    let mut case = Case::new(
        script("many")
            .tool("late")
            .tool("last")
            .on("tools/call:late", [Act::Hold])
            .on("tools/call:last", [Act::Release, Act::Proceed]),
    );
    let late: Vec<u64> =
        (0..200).map(|number| case.ask("late", &json!({ "text": number.to_string() }))).collect();
    let last = case.ask("last", &json!({}));
    case.answer(last);
    for (number, id) in late.into_iter().enumerate() {
        let answer = case.answer(id);
        assert_eq!(text(&answer), format!(r#"late {{"text":"{number}"}}"#));
    }
    case.leave(&[]);
}
