//! What other gates of the field get wrong, one test each.

use crate::gate::{gate, house, pinned, tools, with_lock};
use crate::sandbox::{Sandbox, server};
use deadweight_testkit::scripted_mcp::{Act, Endless, Page, Script};
use serde_json::{Value, json};

fn page(names: &[&str], weight: usize, next: Option<Value>) -> Page {
    let description = "d".repeat(weight);
    let tools = names
        .iter()
        .map(|name| json!({"name": name, "description": description, "inputSchema": {"type": "object"}}))
        .collect();
    Page { tools, next, ..Page::default() }
}

/// A server of two pages; the second one weighs what it is told.
fn paged(second: usize) -> Script {
    Script::named("paged").page(page(&["a", "b"], 9, Some(json!("2")))).page(page(&["c", "d"], second, None))
}

fn pin(sandbox: &Sandbox, args: &[&str]) -> String {
    let pinned = sandbox.run(&[&["gate", "--update"], args].concat());
    assert!(pinned.starts_with("exit: 0"), "{pinned}");
    pinned
}

#[test]
fn a_second_page_is_held_like_the_first() {
    let sandbox = Sandbox::new().script("s.json", &paged(9));
    assert!(pin(&sandbox, &["--", server(), "@s.json"]).contains("4 tools"));
    let heavier = sandbox.script("s.json", &paged(900)).run(&["gate", "--", server(), "@s.json"]);
    assert!(heavier.starts_with("exit: 1") && heavier.contains("FLOOR_BUDGET_EXCEEDED"), "{heavier}");
}

#[test]
fn special_tokens_are_text() {
    let odd = json!({"tools": [
        {"name": "odd", "description": "<|endoftext|><|fim_prefix|> one", "inputSchema": {"enum": ["<|endofprompt|>"]}},
    ]});
    for estimator in ["calibrated", "chars4", "o200k", "cl100k"] {
        let sandbox = Sandbox::new().file("odd.json", odd.to_string());
        pin(&sandbox, &["odd.json", "--estimator", estimator]);
        let held = sandbox.run(&["gate", "odd.json"]);
        assert!(held.starts_with("exit: 0"), "{held}");
    }
}

#[test]
fn an_endless_list_is_not_measured_and_not_over_budget() {
    let sandbox = Sandbox::new().script("s.json", &paged(9));
    pin(&sandbox, &["--", server(), "@s.json"]);
    for new_tools in [0, 1] {
        let mut endless = Script::named("paged").tool("a");
        endless.endless = Some(Endless { new_tools });
        let refused = Sandbox::new()
            .file("deadweight.lock", std::fs::read(sandbox.path().join("deadweight.lock")).unwrap())
            .script("s.json", &endless)
            .run(&["gate", "--", server(), "@s.json"]);
        assert!(refused.starts_with("exit: 3") && !refused.contains("BUDGET"), "{refused}");
    }
}

#[test]
fn boolean_schemas_and_names_that_come_twice_are_held() {
    let odd = |description: &str| {
        json!({"tools": [
            {"name": "twice", "description": "one", "inputSchema": true},
            {"name": "twice", "description": description, "inputSchema": {"type": "object"}},
            {"name": "sub", "inputSchema": {"properties": {"a": true, "b": false}, "additionalProperties": false}},
        ]})
        .to_string()
    };
    let sandbox = Sandbox::new().file("odd.json", odd("two"));
    assert!(pin(&sandbox, &["odd.json"]).contains("3 tools"));
    let held = sandbox.run(&["gate", "odd.json"]);
    assert!(held.starts_with("exit: 0") && !held.contains("WARNS"), "{held}");
    let heavier = sandbox.file("odd.json", odd(&"two".repeat(90))).run(&["gate", "odd.json"]);
    assert!(heavier.starts_with("exit: 1") && heavier.contains("twice"), "{heavier}");
}

#[test]
fn sixty_thousand_tokens_of_servers_do_not_pass_a_limit_of_a_hundred() {
    let many = |own: &str| {
        let names: Vec<String> = (0..60).map(|at| format!("{own}_{at}")).collect();
        tools(&names.iter().map(|name| (name.as_str(), 900, 1_800)).collect::<Vec<_>>())
    };
    let sandbox = Sandbox::new().file("a.json", many("a")).file("b.json", many("b"));
    pin(&sandbox, &["a.json", "b.json"]);
    let limited = with_lock(sandbox, "[slack]", "[slack]\n").run(&["gate", "a.json", "b.json"]);
    assert!(limited.starts_with("exit: 0"), "{limited}");
    for (limit, reason) in [
        ("ceiling_tokens = 100", "CEILING_EXCEEDED"),
        ("max_tool_tokens = 100", "TOOL_TOO_LARGE"),
        ("max_tools = 100", "TOOL_COUNT_EXCEEDED"),
    ] {
        let sandbox = Sandbox::new().file("a.json", many("a")).file("b.json", many("b"));
        pin(&sandbox, &["a.json", "b.json"]);
        let sandbox = with_lock(sandbox, "[slack]", &format!("{limit}\n\n[slack]"));
        let refused = sandbox.run(&["gate", "a.json", "b.json"]);
        assert!(refused.starts_with("exit: 1") && refused.contains(reason), "{refused}");
    }
}

#[test]
fn growth_of_one_token_is_not_printed_and_passed() {
    let by = |more: usize| {
        let grown = [("open_door", 900, 4_000 + more), ("ring_bell", 900, 4_000), ("list_rooms", 90, 400)];
        gate(&pinned().file("house.json", tools(&grown)))
    };
    assert!(by(0).starts_with("exit: 0"));
    // One token is four and a half bytes, and the floor of the sum rises by one within five.
    let refused = by(5);
    assert!(refused.starts_with("exit: 1") && refused.contains("(+1)"), "{refused}");
}

#[test]
fn a_tool_that_goes_does_not_hide_one_that_grows() {
    let sandbox = pinned().file("house.json", tools(&[("open_door", 900, 8_000), ("list_rooms", 90, 400)]));
    let told = gate(&sandbox);
    assert!(told.contains("WARNS  TOOL_GREW  `open_door`"), "{told}");
    let refused = gate(&with_lock(sandbox, "[slack]", "[checks]\nTOOL_GREW = \"error\"\n\n[slack]"));
    assert!(refused.starts_with("exit: 1") && refused.contains("REFUSED  TOOL_GREW"), "{refused}");
}

#[test]
fn a_dead_server_has_its_own_code_and_is_not_zero() {
    let sandbox = Sandbox::new().script("s.json", &house("x"));
    pin(&sandbox, &["--name", "house", "--", server(), "@s.json"]);
    let dead = house("x").on("start", [Act::Exit(1)]);
    let args = ["gate", "--name", "house", "--json", "--", server(), "@s.json"];
    let run = sandbox.script("s.json", &dead).run(&args);
    assert!(run.starts_with("exit: 3") && !run.contains("BUDGET_EXCEEDED"), "{run}");
    let report = run.split_once("--- stdout ---\n").unwrap().1.split_once("--- stderr").unwrap().0;
    let report: Value = serde_json::from_str(report).unwrap();
    assert_eq!(
        (&report["verdict"], &report["failures"][0]["server"]),
        (&json!("unmeasured"), &json!("house"))
    );
    let checks = report["checks"].as_array().unwrap();
    assert!(
        checks.iter().all(|check| check["reason"] == "UNMEASURED" && check["measured"].is_null()),
        "{checks:?}"
    );
    // A dump that cannot be read is the same: one fact, and no number.
    let sandbox = pinned().file("house.json", "{\"tools\": [");
    let told = gate(&sandbox);
    assert!(told.starts_with("exit: 3") && told.matches("UNMEASURED").count() == 1, "{told}");
}

#[test]
fn counts_do_not_change_with_the_network() {
    for estimator in ["calibrated", "o200k", "cl100k"] {
        let sandbox = Sandbox::new().file("house.json", tools(&[("open_door", 90, 400)]));
        pin(&sandbox, &["house.json", "--estimator", estimator]);
        let online = sandbox.run(&["gate", "house.json", "--json"]);
        assert!(online.starts_with("exit: 0"), "{online}");
        // Every way out leads to a port where nobody listens, and nothing has ever been fetched.
        let mut offline = sandbox.env("HOME", "/nonexistent").env("XDG_CACHE_HOME", "/nonexistent");
        for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"] {
            offline = offline.env(name, "http://127.0.0.1:9");
        }
        assert_eq!(offline.run(&["gate", "house.json", "--json"]), online);
        // In a namespace without any network, where the system lets one be made.
        let mut alone = std::process::Command::new("unshare");
        alone.args(["--map-root-user", "--net", "true"]).stderr(std::process::Stdio::null());
        if alone.status().is_ok_and(|status| status.success()) {
            let mut alone = std::process::Command::new("unshare");
            alone.args([
                "--map-root-user",
                "--net",
                env!("CARGO_BIN_EXE_deadweight"),
                "gate",
                "house.json",
                "--json",
            ]);
            let output = alone.current_dir(offline.path()).output().unwrap();
            assert!(online.contains(std::str::from_utf8(&output.stdout).unwrap()) && output.status.success());
        }
    }
}

#[test]
fn who_asked_for_json_gets_json() {
    let sandbox =
        Sandbox::new().file("house.json", tools(&[("open_door", 9, 9)])).file("broken.lock", "version = \n");
    assert_run!(sandbox.run(&["gate", "--json", "house.json"]));
    assert_run!(sandbox.run(&["gate", "--format", "json", "--lock", "broken.lock", "house.json"]));
    assert_run!(sandbox.run(&["gate", "--json", "--update", "--lock", "broken.lock", "house.json"]));
    assert_run!(sandbox.run(&["gate", "--json", "--base", "nowhere", "--lock", "broken.lock"]));
}
