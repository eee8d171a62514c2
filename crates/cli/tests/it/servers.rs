//! `deadweight footprint` on servers: those that answer, and every way in which they do not.

use crate::sandbox::{Sandbox, server};
use deadweight_testkit::scripted_mcp::http::ScriptedHttp;
use deadweight_testkit::scripted_mcp::{Act, Endless, Page, Script};
use serde_json::json;

/// Two tools.
fn house() -> Script {
    Script::named("house").tool("open_door").tool("ring_bell")
}

/// Runs `footprint` on one scripted server.
fn ask(script: &Script, flags: &[&str]) -> String {
    let sandbox = Sandbox::new().script("script.json", script);
    let args: Vec<&str> =
        ["footprint"].iter().chain(flags).copied().chain(["--", server(), "@script.json"]).collect();
    sandbox.run(&args)
}

#[test]
fn a_server() {
    let mut script = house();
    script.instructions = Some("Knock before you open a door.".to_owned());
    assert_run!(ask(&script, &[]));
}

#[test]
fn a_server_told_about() {
    assert_run!(ask(&house(), &["--verbose", "--name", "mine"]));
}

#[test]
fn text_before_the_protocol() {
    assert_run!(ask(&house().on("start", [Act::Stdout("\u{1b}[32mServer ready\u{1b}[0m".into())]), &["-q"]));
    assert_run!(ask(
        &house().on("start", [Act::Stdout("\u{1b}[32mServer ready\u{1b}[0m".into())]),
        &["--top", "1"]
    ));
}

#[test]
fn a_server_without_tools() {
    let mut script = Script::named("bare");
    script.no_tools = true;
    assert_run!(ask(&script, &[]));
}

#[test]
fn a_server_that_dies_at_start() {
    let script = house().on("start", [Act::Stderr("Error: HOUSE_KEY is not set".into()), Act::Exit(1)]);
    assert_run!(ask(&script, &[]));
}

#[test]
fn a_server_that_is_killed() {
    assert_run!(ask(&house().on("tools/list", [Act::Signal(9)]), &[]));
}

#[test]
fn a_program_that_is_not_there() {
    assert_run!(Sandbox::new().run(&["footprint", "--", "no-such-program", "--flag"]));
}

#[test]
fn a_server_that_never_answers() {
    assert_run!(ask(&house().on("initialize", [Act::Silence]), &["--timeout", "0.3"]));
}

#[test]
fn a_server_whose_list_never_comes() {
    assert_run!(ask(&house().on("tools/list", [Act::Silence]), &["--timeout", "0.5"]));
}

#[test]
fn a_repeated_cursor() {
    let page = |name: &str| Page {
        raw: vec![format!(r#"{{"name":"{name}","inputSchema":{{}}}}"#)],
        next: Some(json!("again")),
        ..Page::default()
    };
    assert_run!(ask(&Script::named("circle").page(page("a")).page(page("b")), &[]));
}

#[test]
fn an_endless_list() {
    let mut script = Script::named("endless");
    script.endless = Some(Endless { new_tools: 0 });
    assert_run!(ask(&script, &[]));
}

#[test]
fn an_error_instead_of_a_list() {
    assert_run!(ask(
        &house().on("tools/list", [Act::Error { code: -32603, message: "the database is locked".into() }]),
        &[]
    ));
}

#[test]
fn broken_json_from_a_server() {
    assert_run!(ask(
        &house().on(
            "tools/list",
            [Act::Answer(r#"{"jsonrpc":"2.0","id":$ID,"result":{"tools":[{"name":}]}}"#.into())]
        ),
        &[]
    ));
}

#[test]
fn invalid_utf8_from_a_server() {
    let hex: String = b"{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"tools\":[{\"name\":\"\xff\"}]}}"
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_run!(ask(&house().on("tools/list", [Act::AnswerHex(hex)]), &[]));
}

#[test]
fn duplicate_names_and_boolean_schemas() {
    let script = house()
        .tool("open_door")
        .raw_tool(r#"{"name":"any","description":"Takes anything.","inputSchema":true}"#);
    assert_run!(ask(&script, &[]));
}

#[test]
fn a_huge_list() {
    let mut script = Script::named("huge");
    script.pages = vec![Page {
        generate: Some(deadweight_testkit::scripted_mcp::Generate { tools: 5_000, description: 400 }),
        ..Page::default()
    }];
    assert_run!(ask(&script, &["--top", "2"]));
}

#[test]
fn a_server_over_http() {
    let http = ScriptedHttp::start(house()).unwrap();
    let run = Sandbox::new().run(&["footprint", "--url", &http.url(), "--top", "1"]);
    assert!(run.contains("house 1.0 · 2 tools"), "{run}");
}

#[test]
fn a_login_is_needed() {
    let mut script = house();
    script.http.auth = Some(
        r#"Bearer resource_metadata="http://127.0.0.1/.well-known/oauth-protected-resource""#.to_owned(),
    );
    let http = ScriptedHttp::start(script).unwrap();
    assert_run!(Sandbox::new().run(&["footprint", "--url", &http.url()]));
}

#[test]
fn a_login_is_refused_and_not_shown() {
    let mut script = house();
    script.http.auth = Some("Bearer".to_owned());
    let http = ScriptedHttp::start(script).unwrap();
    let sandbox = Sandbox::new().env("HOUSE_TOKEN", "tr0ub4dor");
    let run =
        sandbox.run(&["footprint", "--url", &http.url(), "--header", "Authorization: Bearer ${HOUSE_TOKEN}"]);
    assert!(!run.contains("tr0ub4dor"), "{run}");
    assert_run!(run);
}

#[test]
fn a_login_with_a_header() {
    let mut script = house();
    script.http.auth = Some("Bearer".to_owned());
    let http = ScriptedHttp::start(script).unwrap();
    let sandbox = Sandbox::new().env("HOUSE_TOKEN", "good");
    let run = sandbox.run(&[
        "footprint",
        "--url",
        &http.url(),
        "--header",
        "Authorization: Bearer ${HOUSE_TOKEN}",
        "-q",
    ]);
    assert!(run.contains("house 1.0 · 2 tools"), "{run}");
}

#[test]
fn nobody_listens() {
    assert_run!(Sandbox::new().run(&["footprint", "--url", "http://127.0.0.1:9/mcp?key=secret"]));
}

#[test]
fn a_url_that_is_none() {
    assert_run!(Sandbox::new().run(&["footprint", "--url", "mcp.example.com"]));
}

/// A config with one good server and some that cannot be asked.
fn config() -> Sandbox {
    let good = json!({"command": server(), "args": ["@house.json"]});
    let config = json!({"mcpServers": {
        "house": good,
        "garden": {"command": server(), "args": ["@garden.json"]},
        "broken": {"command": server(), "args": ["@broken.json"]},
        "unset": {"command": server(), "args": ["@house.json"], "env": {"KEY": "${GARDEN_KEY}"}},
        "off": {"command": server(), "disabled": true},
    }});
    Sandbox::new()
        .script("house.json", &house())
        .script("garden.json", &Script::named("garden").tool("water"))
        .script("broken.json", &house().on("start", [Act::Exit(3)]))
        .file(".mcp.json", serde_json::to_string_pretty(&config).unwrap())
}

#[test]
fn one_failing_server_does_not_hide_the_others() {
    assert_run!(config().run(&["footprint"]));
}

#[test]
fn failures_are_listed_in_markdown() {
    assert_run!(config().run(&["footprint", "--markdown", "-q"]));
}

#[test]
fn failures_are_listed_in_json() {
    let run = config().run(&["footprint", ".mcp.json", "--json", "-q"]);
    assert!(run.starts_with("exit: 3\n"), "{run}");
    let (_, failures) = run.split_once("\"failures\": ").unwrap();
    assert!(
        failures.contains("\"server\": \"broken\"") && failures.contains("\"server\": \"unset\""),
        "{run}"
    );
    assert!(run.contains("\"tool_count\": 3,"), "{run}");
}

#[test]
fn configs_of_every_format() {
    let server = server();
    let codex = format!("[mcp_servers.house]\ncommand = {server:?}\nargs = [\"@house.json\"]\n");
    let formats = [
        (
            "a.json",
            json!({"mcpServers": {"house": {"command": server, "args": ["@house.json"]}}}).to_string(),
        ),
        (
            "b.json",
            json!({"servers": {"house": {"type": "stdio", "command": server, "args": ["@house.json"]}}})
                .to_string(),
        ),
        (
            "c.json",
            json!({"mcp": {"house": {"type": "local", "command": [server, "@house.json"]}}}).to_string(),
        ),
        (
            "d.json",
            format!(
                "// ours\n{{\"mcpServers\": {{\"house\": {{\"command\": {server:?}, \"args\": [\"@house.json\",],}},}}}}"
            ),
        ),
        ("e.toml", codex),
    ];
    for (file, text) in formats {
        let sandbox = Sandbox::new().script("house.json", &house()).file(file, &text);
        let run = sandbox.run(&["footprint", file, "-q"]);
        assert!(run.contains("house 1.0 · 2 tools"), "{file}: {run}");
        assert!(run.starts_with("exit: 0\n") && run.ends_with("--- stderr ---\n"), "{file}: {run}");
    }
}

#[test]
fn a_config_without_servers() {
    assert_run!(Sandbox::new().file(".mcp.json", r#"{"mcpServers":{}}"#).run(&["footprint"]));
}

#[test]
fn a_config_that_is_broken() {
    assert_run!(
        Sandbox::new()
            .file(
                ".mcp.json",
                "{\n  \"mcpServers\": {\n    \"a\": { \"command\": \"x\" \"args\": [] }\n  }\n}"
            )
            .run(&["footprint"])
    );
}

#[test]
fn two_versions_of_a_server() {
    let sandbox = Sandbox::new().script("old.json", &house()).script("new.json", &house().tool("close_door"));
    let base = format!("{} @old.json", server());
    assert_run!(sandbox.run(&["footprint", "--compare", &base, "--", server(), "@new.json"]));
}

#[cfg(unix)]
#[test]
fn servers_end_when_the_command_is_told_to_end() {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};
    let sandbox = Sandbox::new();
    let mut child = Command::new(env!("CARGO_BIN_EXE_deadweight"))
        .args(["footprint", "--", "sh", "-c", "echo $$ >pid; sleep 1000 & wait"])
        .current_dir(sandbox.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let file = sandbox.path().join("pid");
    let pid = loop {
        match std::fs::read_to_string(&file) {
            Ok(text) if text.ends_with('\n') => break text.trim().to_owned(),
            _ => std::thread::sleep(std::time::Duration::from_millis(10)),
        }
    };
    let killed = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    assert_eq!(child.wait().unwrap().code(), Some(143));
    assert_eq!(BufReader::new(child.stdout.take().unwrap()).lines().count(), 0);
    // The whole group is gone: the shell and its sleep.
    let left = Command::new("ps").args(["-o", "pid=", "-g", &pid]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&left.stdout).trim(), "", "group {pid}");
}
