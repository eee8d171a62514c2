//! `deadweight run` as a process: what the program gets, how it ends, what is told.

use crate::sandbox::Sandbox;
use deadweight_store::{Exchange, Recorder, now_ms};
use deadweight_testkit::upstream::{Answer, Response, Turn, Turns, Upstream, Usage};
use serde_json::Value;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A client of a few lines: three turns of a conversation, one of which reads the same path as a person would.
const CLIENT: &str = r#"
import json, os, time, urllib.request
base, messages = os.environ['ANTHROPIC_BASE_URL'], []
tools = [{'name': 'look', 'description': 'Looks.', 'input_schema': {'type': 'object'}}]
for turn in range(3):
    messages.append({'role': 'user', 'content': 'turn %d' % turn})
    body = json.dumps({'model': 'claude-opus-4-8', 'max_tokens': 9, 'system': 'Be kind.', 'messages': messages, 'tools': tools})
    request = urllib.request.Request(base + '/v1/messages', body.encode(), {
        'content-type': 'application/json', 'anthropic-version': '2023-06-01', 'x-api-key': 'sk-ant-dummy'})
    answer = json.load(urllib.request.urlopen(request))
    messages.append({'role': 'assistant', 'content': answer['content']})
for attempt in range(100):
    # What passes is measured a moment later.
    context = json.load(urllib.request.urlopen(os.environ['DEADWEIGHT_GATEWAY'] + '/deadweight/v1/context'))
    if context['turns']['seen'] == 3:
        break
    time.sleep(0.05)
print(context['schema'], context['turns']['seen'], base.startswith('http://127.0.0.1:'))
"#;

fn provider() -> Upstream {
    let usage = |at: u64| Usage { input: 10, cache_read: 100 * at, cache_write: 5, output: 3 };
    let turns = (0..3).map(|at| Turn::text("Yes.").with_usage(usage(at)));
    Upstream::start(turns.collect::<Turns>()).unwrap()
}

#[test]
fn what_was_billed_is_told() {
    for ledger in ["off", "here.sqlite"] {
        let provider = provider();
        let sandbox = Sandbox::new()
            .file("client.py", CLIENT)
            .env("ANTHROPIC_BASE_URL", &format!("{}/base", provider.url()));
        let args = ["run", "--json", "out.json", "--ledger", ledger, "--", "python3", "client.py"];
        let output = sandbox.command(&args).output().unwrap();
        let (told, said) =
            (String::from_utf8(output.stderr).unwrap(), String::from_utf8(output.stdout).unwrap());
        assert!(output.status.success(), "{told}");
        assert_eq!(said, "deadweight/context/1 3 True\n");
        let paths: Vec<String> = provider.requests().into_iter().map(|request| request.path).collect();
        assert_eq!(paths, ["/base/v1/messages"; 3]);
        let report: Value =
            serde_json::from_slice(&std::fs::read(sandbox.path().join("out.json")).unwrap()).unwrap();
        let totals = &report["totals"];
        assert_eq!(report["schema"], "deadweight/run/1");
        let counted = ["requests", "turns", "failed", "prompt", "cache_read", "output", "unchanged"];
        assert_eq!(
            counted.map(|name| totals[name].as_u64()),
            [3, 3, 0, 345, 300, 9, 3].map(Some),
            "{totals}"
        );
        assert!(told.contains("3 turns · 345 tok in (billed as ≈"), "{told}");
        assert!(told.contains("cache: 87 % read"), "{told}");
        assert!(told.contains("bodies unchanged: 3 of 3"), "{told}");
        let recorded = told.contains("receipts: deadweight ledger show ");
        assert_eq!(recorded, ledger != "off", "{told}");
        if ledger != "off" {
            let id = report["session"].as_str().unwrap().get(..8).unwrap();
            let shown =
                sandbox.command(&["ledger", "show", id, "--ledger", ledger, "--json"]).output().unwrap();
            let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
            assert_eq!(shown["sums"]["prompt"], 345, "{shown}");
        }
    }
}

#[test]
fn a_programs_end_is_its_own() {
    let run = |line: &str| {
        let words: Vec<&str> = ["run", "--"].into_iter().chain(["sh", "-c", line]).collect();
        Sandbox::new().command(&words).output().unwrap()
    };
    assert_eq!(run("exit 7").status.code(), Some(7));
    assert_eq!(run("kill -TERM $$").status.code(), Some(143));
    let nothing = run("true");
    assert!(String::from_utf8_lossy(&nothing.stderr).contains("nothing came through the gateway"));
    let missing = Sandbox::new().command(&["run", "--", "no-such-agent"]).output().unwrap();
    assert_eq!(missing.status.code(), Some(127));
    assert!(String::from_utf8_lossy(&missing.stderr).contains("there is no program `no-such-agent`"));
}

#[test]
fn without_a_gateway_the_agent_runs_all_the_same() {
    // The files for Claude Code have no place to go to.
    let sandbox = Sandbox::new()
        .file("claude", "#!/bin/sh\necho \"base=$ANTHROPIC_BASE_URL args=$*\"\n")
        .env("TMPDIR", "/no/such/place");
    Command::new("chmod").arg("+x").arg(sandbox.path().join("claude")).status().unwrap();
    let output = sandbox.command(&["run", "--", "./claude", "-p", "go"]).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "base= args=-p go\n");
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.starts_with("warning: the agent runs without the gateway: "), "{told}");
    assert_eq!(told.lines().count(), 1, "{told}");
}

#[test]
fn signals_are_handed_on() {
    let signals = ["TERM", "INT", "HUP", "QUIT", "USR1", "USR2", "ALRM", "VTALRM", "PROF", "IO", "WINCH"];
    let traps: String = signals
        .iter()
        .enumerate()
        .map(|(at, signal)| format!("trap 'exit {}' {signal}; ", 41 + at))
        .collect();
    let script = format!("{traps}echo ready; while :; do sleep 0.05; done");
    for (at, signal) in signals.iter().enumerate() {
        let code = 41 + i32::try_from(at).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_deadweight"))
            .args(["run", "-q", "--ledger", "off", "--", "sh", "-c", &script])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.take().unwrap()), &mut line)
            .unwrap();
        assert_eq!(line, "ready\n");
        Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status().unwrap();
        let until = Instant::now() + Duration::from_secs(20);
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < until, "{signal} does not end it");
            std::thread::sleep(Duration::from_millis(20));
        };
        assert_eq!(status.code(), Some(code), "{signal}");
    }
}

#[test]
fn what_is_ignored_stays_ignored() {
    // As under `nohup`: neither the agent nor we may end when the terminal goes.
    let script =
        "trap '' HUP; exec \"$0\" run -q --ledger off -- sh -c 'kill -HUP $PPID; kill -HUP $$; echo alive'";
    let output = Command::new("sh").args(["-c", script, env!("CARGO_BIN_EXE_deadweight")]).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "alive\n");
    assert!(output.status.success());
}

/// Asks once, and waits until the ledger has so many lines as it is told: what is old goes with the first line that comes.
const ONE_TURN: &str = r#"
import json, os, sys, time, urllib.request
body = {'model': 'm', 'max_tokens': 9, 'messages': [{'role': 'user', 'content': 'x'}]}
request = urllib.request.Request(os.environ['ANTHROPIC_BASE_URL'] + '/v1/messages', json.dumps(body).encode(), {
    'content-type': 'application/json', 'anthropic-version': '2023-06-01', 'x-api-key': 'sk-ant-dummy'})
urllib.request.urlopen(request).read()
for attempt in range(200):
    figures = os.environ['DEADWEIGHT_GATEWAY'] + '/deadweight/v1/requests?days=all&kind=any'
    count = json.load(urllib.request.urlopen(figures)).get('count')
    if count == int(sys.argv[1]):
        break
    time.sleep(0.05)
print(count)
"#;

#[test]
fn the_ledger_is_kept_as_long_as_the_settings_say() {
    const DAY: u64 = 86_400_000;
    for (setting, left) in [("retention = 0", 3), ("retention = 30", 2), ("", 2)] {
        let provider = provider();
        let settings = format!("[gateway]\nledger = \"kept.sqlite\"\n{setting}\n");
        let sandbox = Sandbox::new()
            .file("client.py", ONE_TURN)
            .file(".config/deadweight/deadweight.toml", settings)
            .env("ANTHROPIC_BASE_URL", &provider.url());
        let file = sandbox.path().join(".config/deadweight/kept.sqlite");
        let recorder = Recorder::start(file, |error| panic!("{error}"));
        for (id, days) in [("0a", 100), ("0b", 1)] {
            recorder.exchange(Exchange {
                id: id.repeat(16),
                at_ms: now_ms() - days * DAY,
                ..Exchange::default()
            });
        }
        assert!(recorder.flush(Duration::from_secs(60)));
        drop(recorder);
        let count = left.to_string();
        let output = sandbox.command(&["run", "-q", "--", "python3", "client.py", &count]).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), count, "{setting}: {told}");
    }
}

/// What an agent with tools of its own and of a server would do: four turns, one of them refused before it is answered.
const AGENT: &str = r#"#!/usr/bin/env python3
import json, os, urllib.error, urllib.request
base, messages = os.environ['ANTHROPIC_BASE_URL'], []
def tool(name, words):
    return {'name': name, 'description': 'does ' * words, 'input_schema': {'type': 'object', 'properties': {}}}
tools = [tool('Bash', 400), tool('NotebookEdit', 90), tool('WebSearch', 71), tool('DeferredToolPlaceholder', 3),
         tool('mcp__github__create_issue', 333), tool('mcp__github__list_issues', 111)]
for turn in range(4):
    messages.append({'role': 'user', 'content': 'turn %d' % turn})
    body = json.dumps({'model': 'claude-opus-4-8', 'max_tokens': 9, 'system': 'Be kind. ' * 50, 'messages': messages, 'tools': tools})
    for attempt in range(2):
        request = urllib.request.Request(base + '/v1/messages', body.encode(), {
            'content-type': 'application/json', 'anthropic-version': '2023-06-01', 'x-api-key': 'sk-ant-dummy',
            'x-claude-code-session-id': '5c1e0f2a-77aa', 'user-agent': 'claude-cli/2.1.332 (external, cli)'})
        try:
            answer = json.load(urllib.request.urlopen(request))
            break
        except urllib.error.HTTPError as error:
            error.read()
    messages.append({'role': 'assistant', 'content': answer['content']})
"#;

/// A machine with that agent as `claude`, a server of the user's, and one of the project's that nobody approved.
fn with_an_agent(provider: &Upstream) -> Sandbox {
    let sandbox = Sandbox::new()
        .file("bin/claude", AGENT)
        .file(
            ".claude.json",
            r#"{"mcpServers":{"github":{"command":"github-mcp","env":{"GITHUB_TOKEN":"s3cret"}}}}"#,
        )
        .file(
            "work/.mcp.json",
            r#"{"mcpServers":{"unknown":{"command":"curl","args":["https://evil.example"]}}}"#,
        )
        .file("work/.git/HEAD", "")
        .file("run/here", "")
        .env("ANTHROPIC_BASE_URL", &provider.url());
    let runtime = sandbox.path().join("run").display().to_string();
    Command::new("chmod").arg("+x").arg(sandbox.path().join("bin/claude")).status().unwrap();
    sandbox.env("XDG_RUNTIME_DIR", &runtime)
}

/// The same on every machine and in every run.
fn settled(run: &str) -> String {
    let run = run.replace(env!("CARGO_BIN_EXE_deadweight"), "[DEADWEIGHT]");
    let mut out = String::new();
    let mut rest = run.as_str();
    while let Some((before, after)) = rest.split_once("/deadweight-run-") {
        out.push_str(before);
        out.push_str("/[RUN]");
        rest = after.trim_start_matches(|c: char| c.is_ascii_hexdigit() || c == '-');
    }
    out + rest
}

#[test]
fn what_a_session_carried() {
    let usage = |at: u64| Usage { input: 10, cache_read: 900 * at, cache_write: 905, output: 30 };
    let overloaded =
        serde_json::json!({ "type": "error", "error": { "type": "overloaded_error", "message": "x" } });
    let turns = (0..4).flat_map(|at| {
        let answer = Answer::from(Turn::text("Yes.").with_usage(usage(at)));
        let refused = (at == 2).then(|| Answer::from(Response::json(529, &overloaded)));
        refused.into_iter().chain([answer]).collect::<Vec<_>>()
    });
    let provider = Upstream::start(turns.collect::<Turns>()).unwrap();
    let sandbox = with_an_agent(&provider);
    let run = sandbox.run(&["run", "-C", "work", "--json", "../out.json", "--", "../bin/claude"]);
    assert_run!(settled(&run));
    let report: Value =
        serde_json::from_slice(&std::fs::read(sandbox.path().join("out.json")).unwrap()).unwrap();
    let floor = &report["floor"];
    let parts: u64 =
        floor["parts"].as_array().unwrap().iter().map(|part| part["tokens"].as_u64().unwrap()).sum();
    assert_eq!(floor["tokens"], parts);
    assert_eq!((&report["totals"]["turns"], &report["totals"]["failed"]), (&Value::from(4), &Value::from(1)));
    let listed: Vec<(&str, &Value)> = report["configured_servers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|server| (server["server"].as_str().unwrap(), &server["listed"]))
        .collect();
    assert_eq!(listed, [("unknown", &Value::Null), ("github", &Value::Bool(false))]);
    // The ledger has the same.
    let show = sandbox.command(&["ledger", "show", "5c1e0f2a", "--json"]).output().unwrap();
    let shown: Value = serde_json::from_slice(&show.stdout).unwrap();
    assert_eq!((&shown["sums"]["turns"], &shown["sums"]["failed"]), (&Value::from(4), &Value::from(1)));
}

#[test]
fn what_would_be_set() {
    let provider = provider();
    let sandbox = with_an_agent(&provider);
    assert_run!(settled(&sandbox.run(&[
        "run",
        "-C",
        "work",
        "--dry-run",
        "--",
        "../bin/claude",
        "-p",
        "what's up"
    ])));
    assert_run!(settled(&sandbox.run(&[
        "run",
        "-C",
        "work",
        "--dry-run",
        "--ledger",
        "off",
        "--",
        "../bin/claude"
    ])));
    assert_run!(sandbox.run(&["run", "-h"]));
    assert!(provider.requests().is_empty());
}
