//! `deadweight gate`: every verdict and every refusal as a person reads it.

use crate::sandbox::{Sandbox, server};
use deadweight_testkit::scripted_mcp::{Act, Script};
use serde_json::{Value, json};
use std::process::Command;

/// Tools of a given weight: name, description and a schema of one described parameter.
pub(crate) fn tools(weights: &[(&str, usize, usize)]) -> String {
    let tool = |&(name, description, schema): &(&str, usize, usize)| {
        json!({
            "name": name,
            "description": "d".repeat(description),
            "inputSchema": {"type": "object", "properties": {"p": {"description": "s".repeat(schema)}}},
        })
    };
    json!({ "tools": weights.iter().map(tool).collect::<Vec<_>>() }).to_string()
}

pub(crate) const HOUSE: [(&str, usize, usize); 3] =
    [("open_door", 900, 4_000), ("ring_bell", 900, 4_000), ("list_rooms", 90, 400)];

/// A project with three tools, pinned.
pub(crate) fn pinned() -> Sandbox {
    let sandbox = Sandbox::new().file("house.json", tools(&HOUSE));
    let first = sandbox.run(&["gate", "--update", "house.json"]);
    assert!(first.starts_with("exit: 0"), "{first}");
    sandbox
}

/// The same project with other tools.
fn with(weights: &[(&str, usize, usize)]) -> Sandbox {
    pinned().file("house.json", tools(weights))
}

/// The project, with lines of its lock replaced.
pub(crate) fn with_lock(sandbox: Sandbox, from: &str, to: &str) -> Sandbox {
    let path = sandbox.path().join("deadweight.lock");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{from} is not in\n{text}");
    sandbox.file("deadweight.lock", text.replacen(from, to, 1))
}

pub(crate) fn gate(sandbox: &Sandbox) -> String {
    sandbox.run(&["gate", "house.json"])
}

#[test]
fn the_first_lock() {
    let sandbox = Sandbox::new().file("house.json", tools(&HOUSE));
    assert_run!(gate(&sandbox));
    assert_run!(sandbox.run(&["gate", "--update", "house.json"]));
    assert_run!(std::fs::read_to_string(sandbox.path().join("deadweight.lock")).unwrap());
    assert_run!(gate(&sandbox));
    assert_run!(sandbox.run(&["gate", "--update", "house.json"]));
}

#[test]
fn growth_is_refused_and_committed_with_its_reason() {
    let sandbox = with(&[
        ("open_door", 900, 4_500),
        ("ring_bell", 900, 3_900),
        ("list_rooms", 90, 400),
        ("wave", 20, 10),
    ]);
    assert_run!(gate(&sandbox));
    assert_run!(sandbox.run(&["gate", "house.json", "--format", "markdown"]));
    assert_run!(sandbox.run(&["gate", "house.json", "--format", "github"]));
    assert_run!(sandbox.run(&["gate", "house.json", "--format", "junit"]));
    assert_run!(sandbox.run(&["gate", "house.json", "--format", "sarif"]));
    assert_run!(sandbox.run(&["gate", "house.json", "--json"]));
    assert_run!(sandbox.run(&["gate", "house.json", "--quiet"]));
    let before = std::fs::read(sandbox.path().join("deadweight.lock")).unwrap();
    assert_run!(sandbox.run(&["gate", "house.json", "--update"]));
    assert_eq!(std::fs::read(sandbox.path().join("deadweight.lock")).unwrap(), before);
    assert_run!(sandbox.run(&["gate", "house.json", "--update", "--reason", "doors can be held open (#88)"]));
    assert_run!(gate(&sandbox));
}

#[test]
fn a_reduction_is_stale_until_it_is_banked() {
    let sandbox = with(&[("open_door", 300, 2_000), ("ring_bell", 300, 3_000), ("list_rooms", 90, 400)]);
    assert_run!(gate(&sandbox));
    assert_run!(sandbox.run(&["gate", "--update", "house.json"]));
    assert_run!(gate(&sandbox));
}

#[test]
fn descriptions_alone() {
    assert_run!(gate(&with(&[
        ("open_door", 990, 3_910),
        ("ring_bell", 900, 4_000),
        ("list_rooms", 90, 400)
    ])));
    assert_run!(gate(&with(&[
        ("open_door", 100, 4_800),
        ("ring_bell", 900, 4_000),
        ("list_rooms", 90, 400)
    ])));
}

#[test]
fn no_tools_left() {
    assert_run!(gate(&with(&[])));
}

#[test]
fn what_no_sum_may_hide() {
    let moved = [("open_door", 900, 4_200), ("ring_bell", 900, 3_700), ("wave", 90, 300)];
    assert_run!(gate(&with(&moved)));
    let strict =
        "[checks]\nTOOL_GREW = \"error\"\nTOOL_ADDED = \"error\"\nDEFINITION_CHANGED = \"error\"\n\n[slack]";
    assert_run!(gate(&with_lock(with(&moved), "[slack]", strict)));
}

#[test]
fn ceilings() {
    let limits = "basis = \"name + description + compact inputSchema\"\nceiling_tokens = 2000\nmax_tool_tokens = { limit = 1000, reason = \"the doors\" }\nmax_tools = 2";
    assert_run!(gate(&with_lock(pinned(), "basis = \"name + description + compact inputSchema\"", limits)));
    let roomy = limits
        .replace("= 2000", "= 9000")
        .replace("= 1000", "= 2000")
        .replace("max_tools = 2", "max_tools = 3");
    assert_run!(gate(&with_lock(pinned(), "basis = \"name + description + compact inputSchema\"", &roomy)));
}

#[test]
fn another_estimator() {
    assert_run!(pinned().run(&["gate", "house.json", "--estimator", "o200k"]));
    assert_run!(gate(&with_lock(pinned(), "calibrated/1", "calibrated/9")));
    let sandbox = pinned();
    assert_run!(sandbox.run(&["gate", "--update", "house.json", "--estimator", "o200k"]));
    assert_run!(gate(&sandbox));
}

#[test]
fn an_entry_that_was_raised_by_hand() {
    assert_run!(gate(&with_lock(pinned(), "\nbytes = 5", "\nbytes = 6")));
}

/// A scripted server with instructions.
pub(crate) fn house(instructions: &str) -> Script {
    let mut script = Script::named("house").tool("open_door");
    script.instructions = Some(instructions.to_owned());
    script
}

#[test]
fn instructions_of_a_server() {
    let sandbox = Sandbox::new().script("s.json", &house(&"i".repeat(3_000)));
    let args = ["gate", "--", server(), "@s.json"];
    assert_run!(sandbox.run(&["gate", "--update", "--", server(), "@s.json"]));
    let sandbox = sandbox.script("s.json", &house(&"i".repeat(3_100)));
    assert_run!(sandbox.run(&args));
    let sandbox = sandbox.script("s.json", &house(&"i".repeat(1_000)));
    assert_run!(sandbox.run(&args));
}

/// A project that carries memory files and a skill, and no server.
fn carried(memory: usize, imported: usize, skill: usize) -> Sandbox {
    let skill =
        format!("---\nname: review\ndescription: {}\n---\n\n{}\n", "r".repeat(skill), "body ".repeat(900));
    Sandbox::new()
        .file("CLAUDE.md", format!("# House\n\n{}\n\n@docs/doors.md\n", "m".repeat(memory)))
        .file("docs/doors.md", "i".repeat(imported))
        .file(".claude/skills/review/SKILL.md", skill)
}

#[test]
fn memory_files_and_skills() {
    let pinned = |memory, imported, skill| {
        let sandbox = carried(4_000, 2_000, 900);
        let first = sandbox.run(&["gate", "--update"]);
        assert!(first.starts_with("exit: 0"), "{first}");
        let other = carried(memory, imported, skill);
        for name in ["CLAUDE.md", "docs/doors.md", ".claude/skills/review/SKILL.md"] {
            std::fs::copy(other.path().join(name), sandbox.path().join(name)).unwrap();
        }
        sandbox
    };
    assert_run!(carried(4_000, 2_000, 900).run(&["gate", "--update"]));
    assert_run!(pinned(4_000, 2_000, 900).run(&["gate"]));
    assert_run!(pinned(4_000, 2_300, 900).run(&["gate"]));
    assert_run!(pinned(4_000, 500, 900).run(&["gate"]));
    assert_run!(pinned(4_000, 2_000, 930).run(&["gate"]));
    assert_run!(pinned(4_000, 2_000, 300).run(&["gate"]));
    // What a skill says when it is used is not carried on every turn.
    let sandbox = pinned(4_000, 2_000, 900);
    let path = sandbox.path().join(".claude/skills/review/SKILL.md");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{text}{}", "more ".repeat(500))).unwrap();
    let held = sandbox.run(&["gate"]);
    assert!(held.starts_with("exit: 0"), "{held}");
    // What cannot be read is not nothing.
    assert_run!(pinned(4_000, 2_000, 900).file("docs/doors.md", b"caf\xe9").run(&["gate"]));
    // The lock has them, so a run on a server holds them too; one that is narrowed does not.
    let sandbox = pinned(9_000, 2_000, 900).file("house.json", tools(&HOUSE));
    assert_run!(sandbox.run(&["gate", "house.json"]));
}

#[test]
fn a_server_that_cannot_be_asked() {
    let dead = house("x").on("start", [Act::Stderr("HOUSE_KEY is not set".into()), Act::Exit(1)]);
    let config = json!({"mcpServers": {
        "house": {"command": server(), "args": ["@house.json"]},
        "shed": {"command": server(), "args": ["@shed.json"]},
    }});
    let sandbox = Sandbox::new()
        .script("house.json", &house("x"))
        .script("shed.json", &house("y"))
        .file(".mcp.json", config.to_string());
    assert_run!(sandbox.run(&["gate", "--update"]));
    let sandbox = sandbox.script("shed.json", &dead);
    assert_run!(sandbox.run(&["gate"]));
    assert_run!(sandbox.run(&["gate", "--only", "house"]));
    assert_run!(sandbox.run(&["gate", "--only", "hose"]));
    assert_run!(sandbox.run(&["gate", "--update"]));
    // A server that was not among the targets is not measured either.
    assert_run!(sandbox.run(&["gate", "--name", "house", "--", server(), "@house.json"]));
    // The project no longer has it: an update drops it.
    let left = json!({"mcpServers": {"house": {"command": server(), "args": ["@house.json"]}}});
    let sandbox = sandbox.file(".mcp.json", left.to_string());
    assert_run!(sandbox.run(&["gate", "--update"]));
}

#[test]
fn no_secret_gets_into_the_lock() {
    let config = json!({"mcpServers": {"house": {
        "command": server(),
        "args": ["@house.json", "--token", "hunter2-secret"],
        "env": {"HOUSE_KEY": "hunter2-secret"},
    }}});
    let sandbox = Sandbox::new().script("house.json", &house("x")).file(".mcp.json", config.to_string());
    let run = sandbox.run(&["gate", "--update", "--verbose"]);
    assert!(run.starts_with("exit: 0"), "{run}");
    let lock = std::fs::read_to_string(sandbox.path().join("deadweight.lock")).unwrap();
    assert!(lock.contains("source = \"command:"), "{lock}");
    assert!(!lock.contains("hunter2") && !run.contains("hunter2"), "{lock}{run}");
}

#[test]
fn a_broken_lock_is_told_with_its_place_and_left_alone() {
    let sandbox = with_lock(pinned(), "floor = 250", "floor = \"much\"");
    let before = std::fs::read(sandbox.path().join("deadweight.lock")).unwrap();
    assert_run!(gate(&sandbox));
    assert_run!(sandbox.run(&["gate", "--update", "house.json"]));
    assert_eq!(std::fs::read(sandbox.path().join("deadweight.lock")).unwrap(), before);
    assert_run!(gate(&with_lock(pinned(), "[slack]", "ceilng_tokens = 9\n[slack]")));
    assert_run!(gate(&with_lock(pinned(), "[slack]", "[checks]\nFLOOR_BUDGET_EXCEDED = \"warn\"\n[slack]")));
    assert_run!(gate(&with_lock(pinned(), "[slack]", "[checks]\nUNMEASURED = \"warn\"\n[slack]")));
    assert_run!(gate(&with_lock(pinned(), "[slack]", "<<<<<<< mine\n[slack]")));
    assert_run!(gate(&pinned().file("deadweight.lock", b"version = 1\n# \xff\n")));
}

#[test]
fn calls_that_cannot_be_meant() {
    assert_run!(pinned().env("CI", "true").run(&["gate", "--update", "house.json"]));
    let allowed = pinned().env("CI", "true").run(&["gate", "--update", "--allow-ci", "house.json"]);
    assert!(allowed.starts_with("exit: 0"), "{allowed}");
    let request = json!({"model": "m", "max_tokens": 1, "system": "Be brief.", "messages": [{"role": "user", "content": "go"}]});
    assert_run!(pinned().file("request.json", request.to_string()).run(&["gate", "request.json"]));
    let twice = pinned().file("other/house.json", tools(&HOUSE));
    assert_run!(twice.run(&["gate", "house.json", "other/house.json"]));
    assert_run!(pinned().run(&["gate", "house.json", "--estimator", "guess"]));
    assert_run!(pinned().run(&["gate", "house.json", "--base", "HEAD"]));
    assert_run!(Sandbox::new().run(&["gate"]));
    assert_run!(Sandbox::new().run(&["gate", "-h"]));
}

pub(crate) fn git(sandbox: &Sandbox, args: &[&str]) {
    let mut git = Command::new("git");
    git.current_dir(sandbox.path()).env("HOME", sandbox.path()).args([
        "-c",
        "user.name=t",
        "-c",
        "user.email=t@t",
    ]);
    let output = git.args(args).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn two_locks_in_review() {
    let sandbox = pinned();
    git(&sandbox, &["init", "-q"]);
    git(&sandbox, &["commit", "-q", "--allow-empty", "-m", "nothing yet"]);
    assert_run!(sandbox.run(&["gate", "--base", "HEAD"]));
    git(&sandbox, &["add", "-A"]);
    git(&sandbox, &["commit", "-q", "-m", "pinned"]);
    assert_run!(sandbox.run(&["gate", "--base", "HEAD"]));
    assert_run!(sandbox.run(&["gate", "--base", "no-such-branch"]));
    assert_run!(sandbox.run(&["gate", "--base", "--output=oops"]));
    let sandbox = sandbox
        .file("house.json", tools(&[("open_door", 900, 4_500), ("ring_bell", 900, 3_000), ("wave", 9, 9)]));
    let update = sandbox.run(&["gate", "--update", "--reason", "held open", "house.json"]);
    assert!(update.starts_with("exit: 0"), "{update}");
    assert_run!(sandbox.run(&["gate", "--base", "HEAD"]));
    let sandbox = with_lock(sandbox, "reason = \"held open\"\n", "");
    let sandbox = with_lock(sandbox, "floor = 250", "floor = 900");
    assert_run!(sandbox.run(&["gate", "--base", "HEAD"]));
    // The base can be a file, and no repository is needed then.
    let other = pinned();
    let lock = std::fs::read(other.path().join("deadweight.lock")).unwrap();
    let run = other.file("earlier.lock", lock).run(&["gate", "--base", "earlier.lock"]);
    assert!(run.starts_with("exit: 0"), "{run}");
}

#[test]
fn in_github_actions_annotations_and_the_summary_come_by_themselves() {
    let sandbox = with(&[("open_door", 900, 4_500), ("ring_bell", 900, 4_000), ("list_rooms", 90, 400)]);
    let workspace = sandbox.path().to_str().unwrap().to_owned();
    let summary = sandbox.path().join("summary.md");
    let sandbox = sandbox
        .env("GITHUB_ACTIONS", "true")
        .env("GITHUB_WORKSPACE", &workspace)
        .env("GITHUB_STEP_SUMMARY", summary.to_str().unwrap());
    assert_run!(gate(&sandbox));
    assert_run!(std::fs::read_to_string(&summary).unwrap());
    // A report for another program is not mixed with them.
    let json = sandbox.run(&["gate", "house.json", "--json"]);
    assert!(!json.contains("::error"), "{json}");
}

#[test]
fn the_order_of_the_list_is_no_matter() {
    let sandbox = pinned();
    let text = std::fs::read_to_string(sandbox.path().join("house.json")).unwrap();
    let mut dump: Value = serde_json::from_str(&text).unwrap();
    dump["tools"].as_array_mut().unwrap().reverse();
    let sandbox = sandbox.file("house.json", dump.to_string());
    assert_eq!(gate(&sandbox), gate(&pinned()));
}

#[test]
fn every_refusal_has_its_text_here() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/snapshots");
    let mut texts = String::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().unwrap().to_str().unwrap().starts_with("it__gate__") {
            texts.push_str(&std::fs::read_to_string(path).unwrap());
        }
    }
    for reason in deadweight_gate::Reason::ALL {
        let told = texts.lines().any(|line| line.contains(&format!("REFUSED  {reason} ")))
            || texts.lines().any(|line| line.contains(&format!("error: {reason} ")))
            || (*reason == deadweight_gate::Reason::Unmeasured && texts.contains("\n  UNMEASURED  "));
        assert!(told, "no snapshot shows how {reason} refuses");
    }
}
