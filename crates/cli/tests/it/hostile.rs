//! What servers, configs and requests of bad will put into names, and what of it may be seen.

use crate::sandbox::{Sandbox, server};
use deadweight_testkit::scripted_mcp::Script;
use serde_json::{Value, json};

const FORMS: [&[&str]; 4] = [&[], &["--markdown"], &["--json"], &["--verbose"]];

/// Names that want to be markup, a row of a table, a command to the terminal, or just too much.
fn names() -> Vec<String> {
    vec![
        "<script>alert(1)</script>".to_owned(),
        "\"'><img src=x onerror=alert(1)>".to_owned(),
        "a | b ` c \\| d".to_owned(),
        "line\nbreak\r\u{1b}[2J\u{202e}\u{0}".to_owned(),
        "n".repeat(100_000),
        format!("e{}", "\u{301}".repeat(100_000)),
        "<!-- --> ]]> {{x}}".to_owned(),
    ]
}

#[test]
fn names_stay_names_in_every_form() {
    let names = names();
    let tools: Vec<Value> =
        names.iter().map(|name| json!({"name": name, "description": name, "inputSchema": {}})).collect();
    let request = json!({
        "model": names[0], "max_tokens": 1, "system": "s", "tools": tools,
        "messages": [{"role": "user", "content":
            names.iter().map(|name| json!({"type": name})).collect::<Vec<_>>()}],
    });
    let sandbox = Sandbox::new()
        .file("tools.json", json!({"tools": tools}).to_string())
        .file("request.json", request.to_string());
    for target in ["tools.json", "request.json"] {
        for form in FORMS {
            let output = sandbox
                .command(&[&["footprint", "--html", "page.html", target][..], form].concat())
                .output()
                .unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            let page = std::fs::read_to_string(sandbox.path().join("page.html")).unwrap();
            assert_eq!(output.status.code(), Some(0), "{target} {form:?}");
            for told in [&text, &page] {
                assert!(!told.contains(|c: char| c.is_control() && c != '\n'), "{target} {form:?}");
                assert!(!told.contains('\u{202e}') || form == ["--json"], "{target} {form:?}");
            }
            for markup in ["<script", "<img", "<!--"] {
                assert!(!page.contains(markup), "{target}: {markup}");
            }
            // Nobody reads longer lines; a page is what it is for seven tools.
            assert!(page.len() < 60_000, "{target}: {}", page.len());
            match form {
                ["--json"] => {
                    let report: Value = serde_json::from_str(&text).unwrap();
                    let told: Vec<&str> = report["tools"]
                        .as_array()
                        .unwrap()
                        .iter()
                        .filter_map(|tool| tool["name"].as_str())
                        .collect();
                    assert!(names.iter().all(|name| told.contains(&name.as_str())), "{target}");
                }
                ["--markdown"] => {
                    let bars = |row: &str| row.replace("\\\\", "").replace("\\|", "").matches('|').count();
                    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
                    let all = |columns: usize| rows.iter().filter(|row| bars(row) == columns).count();
                    assert_eq!(rows.len(), all(6), "{text}");
                    assert!(text.lines().all(|line| line.chars().count() < 2_000), "{target}");
                }
                _ => assert!(text.lines().all(|line| line.chars().count() < 2_000), "{target} {form:?}"),
            }
        }
    }
}

#[test]
fn a_request_of_many_kinds_is_summed_up() {
    let blocks: Vec<Value> = (0..500).map(|at| json!({"type": format!("kind-{at}")})).collect();
    let request = json!({"model": "m", "max_tokens": 1, "system": "s", "messages": [{"role": "user", "content": blocks}]});
    let sandbox = Sandbox::new().file("request.json", request.to_string());
    let lines = |args: &[&str]| sandbox.run(args).lines().count();
    let short = sandbox.run(&["footprint", "request.json"]);
    assert!(short.contains("481 more kinds (--verbose shows all)"), "{short}");
    assert!(short.lines().count() < 60, "{short}");
    assert!(lines(&["footprint", "--verbose", "request.json"]) > 500);
}

#[test]
fn what_variables_hold_is_in_no_output() {
    const SECRET: &str = "hunter2hunter2";
    let script = Script::named("house").tool("open_door").to_json();
    let config = json!({"mcpServers": {
        "works": {"command": server(), "args": [script, "${TOKEN}"], "env": {"A_TOKEN": "${TOKEN}"}},
        "path": {"url": "http://127.0.0.1:1/s/${TOKEN}/mcp"},
        "url": {"url": "${TOKEN}"},
        "command": {"command": "${TOKEN}"},
        "folder": {"command": "x", "cwd": "/no/${TOKEN}"},
        "file": {"command": "x", "envFile": "${TOKEN}/env"},
        "header": {"url": "http://127.0.0.1:1/", "headers": {"X-Key": "${TOKEN}"}},
    }});
    let sandbox = Sandbox::new().file("mcp.json", config.to_string()).env("TOKEN", SECRET);
    for form in FORMS {
        let told = sandbox.run(&[&["footprint", "--html", "page.html", "mcp.json"][..], form].concat());
        let page = std::fs::read_to_string(sandbox.path().join("page.html")).unwrap();
        assert!(told.starts_with("exit: 3"), "{told}");
        assert!(!told.contains(SECRET) && !page.contains(SECRET), "{form:?}: {told}");
        assert!(told.contains("open_door") && told.contains("${TOKEN}"), "{form:?}: {told}");
    }
}

#[test]
fn a_server_that_is_reached_by_a_secret_path_is_listed_without_it() {
    let http = deadweight_testkit::scripted_mcp::http::ScriptedHttp::start(Script::named("house").tool("a"))
        .unwrap();
    let url = http.url().replace("/mcp", "/${DOOR}");
    let config = json!({"mcpServers": {"house": {"url": url}}});
    let sandbox = Sandbox::new().file("mcp.json", config.to_string()).env("DOOR", "mcp");
    let told = sandbox.run(&["footprint", "--json", "mcp.json"]);
    assert!(told.starts_with("exit: 0"), "{told}");
    assert!(told.contains("/-\"") && !told.contains("/mcp\""), "{told}");
}
