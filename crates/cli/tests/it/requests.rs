//! `deadweight footprint` on captured requests.

use crate::sandbox::Sandbox;
use deadweight_testkit::layouts::{self, Size};

/// The body of a layout.
fn body(name: &str) -> String {
    layouts::all(Size::SMALL).into_iter().find(|layout| layout.name == name).unwrap().body
}

#[test]
fn claude_code() {
    let sandbox = Sandbox::new().file("request.json", body("claude_code")).env("COLUMNS", "80");
    assert_run!(sandbox.run(&["footprint", "request.json", "--top", "5", "--window", "200k"]));
}

#[test]
fn claude_code_with_its_own_tool_search() {
    let sandbox = Sandbox::new().file("request.json", body("claude_code_tool_search"));
    assert_run!(sandbox.run(&["footprint", "request.json"]));
}

#[test]
fn codex_with_tools_in_its_input() {
    assert_run!(
        Sandbox::new()
            .file("request.json", body("codex_additional_tools"))
            .run(&["footprint", "request.json"])
    );
}

#[test]
fn a_delta_has_no_total() {
    assert_run!(
        Sandbox::new().file("request.json", body("previous_response")).run(&["footprint", "request.json"])
    );
}

#[test]
fn gemini_as_markdown() {
    let sandbox = Sandbox::new().file("request.json", body("gemini_cli"));
    assert_run!(sandbox.run(&["footprint", "request.json", "--markdown", "--top", "2"]));
}

#[test]
fn as_json() {
    let sandbox = Sandbox::new().file("request.json", body("aider"));
    assert_run!(sandbox.run(&["footprint", "request.json", "--json"]));
}

#[test]
fn every_layout_is_recognised() {
    for layout in layouts::all(Size::SMALL) {
        let sandbox = Sandbox::new().file("request.json", &layout.body);
        let run = sandbox.run(&["footprint", "request.json", "--json"]);
        assert!(run.starts_with("exit: 0\n"), "{}: {run}", layout.name);
        assert!(run.contains(r#""schema": "deadweight/request-footprint/1""#), "{}: {run}", layout.name);
        assert!(run.contains(&format!(r#""dialect": "{}""#, layout.dialect)), "{}: {run}", layout.name);
        assert!(run.ends_with("--- stderr ---\n"), "{}: {run}", layout.name);
    }
}

#[test]
fn a_request_with_its_servers_names_them() {
    let sandbox = Sandbox::new()
        .file("request.json", r#"{"model":"m","tools":[{"type":"function","function":{"name":"ring","parameters":{}}}],"messages":[{"role":"user","content":"hello"}]}"#)
        .file("house.json", r#"[{"name":"ring","inputSchema":{}}]"#);
    let run = sandbox.run(&["footprint", "request.json", "house.json", "--json"]);
    let reports: Vec<&str> = run.lines().filter(|line| line.starts_with('{')).collect();
    assert_eq!(reports.len(), 2, "{run}");
    assert!(reports[1].contains(r#""origin":{"kind":"mcp","server":"house"}"#), "{run}");
}

#[test]
fn two_requests_side_by_side() {
    let sandbox = Sandbox::new()
        .file("before.json", body("claude_code"))
        .file("after.json", body("claude_code_tool_search"));
    assert_run!(sandbox.run(&["footprint", "after.json", "--compare", "before.json", "--top", "4"]));
}

#[test]
fn what_is_odd_is_named() {
    let odd = r#"{"model":"m","model":"n","messages":[{"role":"wizard","content":[{"type":"spell","text":"x"}]},{"role":"user","content":7}]}"#;
    assert_run!(Sandbox::new().file("request.json", odd).run(&[
        "footprint",
        "request.json",
        "--dialect",
        "anthropic-messages"
    ]));
}
