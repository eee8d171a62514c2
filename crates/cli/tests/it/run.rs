//! `deadweight run` as a process: what the program gets, how it ends, what is told.

use crate::sandbox::Sandbox;
use deadweight_testkit::upstream::{Turn, Turns, Upstream, Usage};
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
    for (signal, code) in [("-TERM", 41), ("-INT", 42), ("-HUP", 43)] {
        let script = "trap 'exit 41' TERM; trap 'exit 42' INT; trap 'exit 43' HUP; echo ready; while :; do sleep 0.05; done";
        let mut child = Command::new(env!("CARGO_BIN_EXE_deadweight"))
            .args(["run", "-q", "--ledger", "off", "--", "sh", "-c", script])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.take().unwrap()), &mut line)
            .unwrap();
        assert_eq!(line, "ready\n");
        Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
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
