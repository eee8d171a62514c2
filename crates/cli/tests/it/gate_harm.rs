//! Names that a server chooses to do harm with, in every form of the report.

use crate::gate::gate;
use crate::sandbox::Sandbox;
use serde_json::{Value, json};

/// What a server may call a tool.
fn names() -> Vec<String> {
    let mut names: Vec<String> = [
        "",
        ".",
        "a.b.c",
        "\"quoted\"",
        "it's",
        "two\nlines",
        "\r\n::error::x",
        "::stop-commands::x",
        "##[stop-commands]x",
        "\u{1b}[2J\u{1b}]0;x\u{7}",
        "\u{202e}gnp.exe",
        "日本語 ツール",
        "👩‍👩‍👧",
        "`tick` @everyone <img src=x> | [a](b)",
        "]]></system-out>",
        "%0A::error::",
        "# no comment",
        "[table]",
        "= 3",
        "\u{0}",
        "\u{feff}",
        "<<<<<<< mine",
        "=======",
        "__proto__",
    ]
    .map(str::to_owned)
    .to_vec();
    names.push("n".repeat(10_000));
    names.push(format!("{}x", "n".repeat(10_000)));
    names
}

fn dump(description: &str) -> String {
    let tool =
        |name: &String| json!({"name": name, "description": description, "inputSchema": {"type": "object"}});
    json!({ "tools": names().iter().map(tool).collect::<Vec<_>>() }).to_string()
}

fn pinned(label: &str) -> Sandbox {
    let sandbox = Sandbox::new().file("house.json", dump("as it was"));
    let first = sandbox.run(&["gate", "--update", "--name", label, "house.json"]);
    assert!(first.starts_with("exit: 0"), "{first}");
    sandbox
}

fn stdout(run: &str) -> &str {
    run.split_once("--- stdout ---\n").unwrap().1.split_once("--- stderr").unwrap().0
}

#[test]
fn any_name_is_pinned_and_held() {
    for label in names() {
        // The command line itself cannot hold a NUL.
        if label.contains('\0') {
            continue;
        }
        let sandbox = pinned(&label);
        let held = sandbox.run(&["gate", "--name", &label, "house.json"]);
        assert!(held.starts_with("exit: 0") && !held.contains("WARNS"), "{label:?}: {held}");
        let again = sandbox.run(&["gate", "--update", "--name", &label, "house.json"]);
        assert!(again.contains("SAME"), "{label:?}: {again}");
    }
}

#[test]
fn every_report_of_them_is_whole_and_harmless() {
    let strict = "[checks]\nTOOL_ADDED = \"error\"\nTOOL_GREW = \"error\"\n\n[slack]";
    let sandbox = crate::gate::with_lock(pinned("house"), "[slack]", strict);
    let sandbox = sandbox.file("house.json", dump(&"grown ".repeat(9)));
    let report = |form: &str| {
        let run = sandbox.run(&["gate", "house.json", "--format", form]);
        assert!(run.starts_with("exit: 1"), "{form}: {run}");
        stdout(&run).to_owned()
    };
    let json: Value = serde_json::from_str(&report("json")).unwrap();
    let mut told: Vec<&str> =
        json["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    let mut all = names();
    told.sort_unstable();
    all.sort_unstable();
    assert_eq!(told, all, "JSON has the names as they are");
    let failed = json["checks"].as_array().unwrap().iter().filter(|check| !check["reason"].is_null()).count();

    let sarif: Value = serde_json::from_str(&report("sarif")).unwrap();
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    assert_eq!(results.len(), failed);
    let prints: std::collections::BTreeSet<String> =
        results.iter().map(|result| result["partialFingerprints"].to_string()).collect();
    assert_eq!(prints.len(), failed, "no two results are taken for one");

    let annotations = report("github");
    assert_eq!(annotations.lines().count(), failed);
    for line in annotations.lines() {
        assert!(
            line.starts_with("::error file=deadweight.lock,line=") || line.starts_with("::warning file=")
        );
        assert!(!line.contains('\u{1b}') && line.len() < 1_000, "{line:?}");
    }
    for form in ["junit", "markdown", "text"] {
        let text = report(form);
        assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{form}: {text:?}");
        assert!(!text.contains('\u{202e}'), "{form}: {text}");
        assert!(form == "text" || !text.contains("<img"), "{form}: {text}");
        assert!(text.lines().all(|line| line.len() < 1_000), "{form}: {text}");
    }
}

#[test]
fn in_github_actions_no_name_is_a_command() {
    let sandbox = pinned("house").file("house.json", dump("grown a little")).env("GITHUB_ACTIONS", "true");
    let run = gate(&sandbox);
    for line in stdout(&run).lines() {
        let own = line.starts_with("::error file=") || line.starts_with("::warning file=");
        assert!(own || !(line.trim_start().starts_with("::") || line.contains("##[")), "{line}");
    }
    let refused = sandbox.run(&["gate", "--update", "house.json"]);
    assert!(refused.starts_with("exit: 1") && !refused.contains("##["), "{refused}");
    assert!(!refused.lines().any(|line| line.trim_start().starts_with("::")), "{refused}");
}

#[test]
fn a_thousand_tools_refused_alike_are_one_fact() {
    let dump = |description: &str| {
        let tool =
            |at: usize| json!({"name": format!("t{at:04}"), "description": description, "inputSchema": {}});
        json!({ "tools": (0..2_000).map(tool).collect::<Vec<_>>() }).to_string()
    };
    let sandbox = Sandbox::new().file("house.json", dump("short"));
    let first = sandbox.run(&["gate", "--update", "house.json"]);
    assert!(first.contains("2,000 tools"), "{first}");
    let strict = "[checks]\nTOOL_GREW = \"error\"\n\n[slack]";
    let sandbox = crate::gate::with_lock(sandbox, "[slack]", strict).file("house.json", dump("not so short"));
    let refused = gate(&sandbox);
    assert!(refused.starts_with("exit: 1") && refused.contains("and 1,988 more"), "{refused}");
    assert!(refused.lines().count() < 60, "{refused}");
    let markdown = sandbox.run(&["gate", "house.json", "--format", "markdown"]);
    assert!(markdown.len() < 60_000, "a comment may have 64 KB; this has {}", markdown.len());
}
