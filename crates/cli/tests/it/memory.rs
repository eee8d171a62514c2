//! `deadweight footprint` on memory files and skills.

use crate::sandbox::{Sandbox, TOOLS};

const CLAUDE: &str = "\
---
owner: platform
---
# Acme API

Read @docs/style.md and @docs/gone.md first. Ask @alice.

<!-- Keep this file short:
     every line is sent on every turn. -->

## Commands

```sh
# not a heading
make test
```

### Database

Run `make db` before the tests. Never touch production.

## Style

Small functions. See @../notes.md and @logo.png.
";

fn project() -> Sandbox {
    Sandbox::new()
        .file("p/CLAUDE.md", CLAUDE)
        .file("p/docs/style.md", "# Style\n\nTabs, never spaces.\n\n## Names\n\nLong ones.\n")
        .file("p/logo.png", "no text")
        .file("notes.md", "mine\n")
        .file(
            "p/.claude/skills/review/SKILL.md",
            "---\nname: review\ndescription: Reviews a change. Use before every commit.\n---\n# Review\n\nHow.\n",
        )
        .file(
            "p/.claude/skills/release/SKILL.md",
            "---\ndescription: Releases: cuts one\ndisable-model-invocation: true\n---\n# Release\n",
        )
        .file("p/.claude/skills/empty/SKILL.md", "# A title stands in\n")
}

#[test]
fn a_memory_file_with_what_it_imports() {
    assert_run!(project().run(&["footprint", "-C", "p", "CLAUDE.md"]));
}

#[test]
fn memory_and_skills_in_80_columns() {
    let sandbox = project().env("COLUMNS", "80");
    assert_run!(sandbox.run(&["footprint", "-C", "p", "CLAUDE.md", ".claude/skills", "--window", "200k"]));
}

#[test]
fn a_memory_file_as_json() {
    assert_run!(project().run(&["footprint", "-C", "p", "CLAUDE.md", "--json"]));
}

#[test]
fn memory_and_skills_as_markdown() {
    assert_run!(project().run(&[
        "footprint",
        "-C",
        "p",
        "CLAUDE.md",
        ".claude/skills",
        "--markdown",
        "--top",
        "2"
    ]));
}

#[test]
fn one_skill() {
    assert_run!(project().run(&["footprint", "-C", "p", ".claude/skills/review/SKILL.md"]));
}

#[test]
fn only_the_heaviest_sections() {
    let sections: String = (1..=30).map(|at| format!("## Part {at}\n{}\n", "word ".repeat(at))).collect();
    let sandbox = Sandbox::new().file("AGENTS.md", format!("# All\n{sections}"));
    assert_run!(sandbox.run(&["footprint", "AGENTS.md", "--top", "3"]));
}

#[test]
fn harmful_titles_and_paths_are_harmless() {
    let sandbox = Sandbox::new()
        .file("CLAUDE.md", "# \u{1b}[31mred\u{202e}gnp\n@a\u{200b}b.md\n# a | b\n")
        .file("s/x/SKILL.md", "---\nname: \"\\e[31m|x\"\ndescription: \"\\u202E\"\n---\n");
    for form in [&["--color", "never"][..], &["--markdown"], &["-v"]] {
        let mut args = vec!["footprint", "CLAUDE.md", "s"];
        args.extend(form);
        let run = sandbox.run(&args);
        assert!(!run.contains(['\u{1b}', '\u{202e}', '\u{200b}']), "{run}");
    }
}

#[test]
fn what_cannot_be_read_is_never_zero() {
    let sandbox = Sandbox::new()
        .file("CLAUDE.md", b"# A\n@ok.md\n@bad.md\n")
        .file("bad.md", b"caf\xE9")
        .file("ok.md", "fine\n");
    assert_run!(sandbox.run(&["footprint", "CLAUDE.md"]));
    let run = sandbox.run(&["footprint", "bad.md", "--json"]);
    assert!(run.starts_with("exit: 3") && run.contains("\"total\": null"), "{run}");
}

#[test]
fn an_empty_memory_file_weighs_nothing() {
    let run = Sandbox::new().file("AGENTS.md", "").run(&["footprint", "AGENTS.md"]);
    assert!(run.starts_with("exit: 0") && run.contains("AGENTS.md · ≈ 0 tok on every turn (0 B)"), "{run}");
}

#[test]
fn errors_say_what_to_do() {
    let sandbox = project();
    let runs: Vec<String> = [
        &["footprint", "p/GEMINI.md"][..],
        &["footprint", "p/docs", "--as", "skills"],
        &["footprint", "-", "--as", "memory"],
        &["footprint", "p/CLAUDE.md", "--compare", "p/docs/style.md"],
        &["gate", "p/CLAUDE.md"],
    ]
    .into_iter()
    .map(|args| format!("$ deadweight {}\n{}", args.join(" "), sandbox.run(args)))
    .collect();
    assert_run!(runs.join("\n"));
}

#[test]
fn with_tools_there_are_two_reports() {
    let sandbox = project().file("p/house.json", TOOLS);
    let run = sandbox.run(&["footprint", "-C", "p", "house.json", "CLAUDE.md", "--json"]);
    let lines: Vec<&str> = run.lines().filter(|line| line.starts_with('{')).collect();
    assert_eq!(lines.len(), 2, "{run}");
    assert!(
        lines[0].contains("\"deadweight/footprint/1\"")
            && lines[1].contains("\"deadweight/memory-footprint/1\"")
    );
}

#[test]
fn any_name_may_be_said_to_be_a_memory_file() {
    let sandbox = Sandbox::new().file("rules.mdc", "# A\nx\n");
    assert_run!(sandbox.run(&["footprint", "rules.mdc", "--as", "memory", "-v"]));
}

#[test]
fn a_page() {
    let sandbox = project();
    sandbox.run(&["footprint", "-C", "p", "CLAUDE.md", ".claude/skills", "-q", "--html", "page.html"]);
    let page = std::fs::read_to_string(sandbox.path().join("p/page.html")).unwrap();
    for part in ["<!DOCTYPE html>", "Database", "docs/style.md", "release", "imported by CLAUDE.md"] {
        assert!(page.contains(part), "{part}");
    }
    for outside in ["<script", "<link", "<img", "url(", "@import", " src=", " href="] {
        assert!(!page.contains(outside), "{outside}");
    }
}
