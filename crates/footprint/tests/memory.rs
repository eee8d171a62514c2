//! Memory files: sections, comments and imports, from tables of cases and as laws.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test says what is wrong by failing")]

use deadweight_estimate::estimator;
use deadweight_footprint::memory::{
    AnomalyKind, ImportLink, ImportOutcome, Load, Memory, Outline, SectionKind, Shown, SkillSource, Source,
    Unread, imports, price,
};
use deadweight_profiles::memory::ImportSyntax;
use proptest::prelude::*;

/// `depth:level:line:title=own` of every section; front matter is level `f`, what stands before headings `p`.
fn sections(text: &str) -> Vec<String> {
    Outline::read(text)
        .sections
        .iter()
        .map(|section| {
            let level = match section.kind {
                SectionKind::FrontMatter => String::from("f"),
                SectionKind::Preamble => String::from("p"),
                SectionKind::Heading(level) => level.to_string(),
            };
            format!("{}:{level}:{}:{}={}", section.depth, section.line, section.title, section.own.len())
        })
        .collect()
}

#[test]
fn headings_and_what_only_looks_like_one() {
    for (text, expected) in [
        ("", vec![]),
        ("text\n", vec!["0:p:1:=5"]),
        ("\n \n", vec!["0:p:1:=3"]),
        ("# A\n", vec!["0:1:1:A=4"]),
        ("before\n# A\nx\n", vec!["0:p:1:=7", "0:1:2:A=6"]),
        ("\n\n# A\nx\n", vec!["0:1:3:A=8"]),
        (
            "# A\n## B\n### C\n## D\n# E\n",
            vec!["0:1:1:A=4", "1:2:2:B=5", "2:3:3:C=6", "1:2:4:D=5", "0:1:5:E=4"],
        ),
        // Levels that are left out, and that come back.
        ("## A\n# B\n#### C\n## D\n", vec!["0:2:1:A=5", "0:1:2:B=4", "1:4:3:C=7", "1:2:4:D=5"]),
        ("###### A\n####### no\n", vec!["0:6:1:A=20"]),
        // Closing hashes.
        (
            "# A #\n## B ####   \n# C#\n# D \\#\n## #\n#\n",
            vec!["0:1:1:A=6", "1:2:2:B=13", "0:1:3:C#=5", "0:1:4:D \\#=7", "1:2:5:=5", "0:1:6:=2"],
        ),
        // Indentation: three spaces at most.
        ("   # A\n    # code\n", vec!["0:1:1:A=18"]),
        ("x\n    # lazy\n# A\n", vec!["0:p:1:=13", "0:1:3:A=4"]),
        ("#no\n#\tyes\n", vec!["0:p:1:=4", "0:1:2:yes=6"]),
        // Fences.
        ("```\n# no\n```\n# A\n", vec!["0:p:1:=13", "0:1:4:A=4"]),
        ("~~~ sh\n# no\n```\n# no\n~~~\n# A\n", vec!["0:p:1:=25", "0:1:6:A=4"]),
        ("````\n```\n# no\n```\n# no\n````\n# A\n", vec!["0:p:1:=28", "0:1:7:A=4"]),
        ("```\n# no\n````\n# A\n", vec!["0:p:1:=14", "0:1:4:A=4"]),
        ("  ```\n# no\n   ```\n# A\n", vec!["0:p:1:=18", "0:1:4:A=4"]),
        ("```\n# no\n    ```\n# no\n```\n# A\n", vec!["0:p:1:=26", "0:1:6:A=4"]),
        ("- ```\n  # no\n  ```\n# A\n", vec!["0:p:1:=19", "0:1:4:A=4"]),
        ("# A\n```\n# open to the end\n", vec!["0:1:1:A=26"]),
        ("``` a`b\n# A\n", vec!["0:p:1:=8", "0:1:2:A=4"]),
        // Comments and other HTML, lists, quotes, underlines.
        ("<!--\n# no\n\n# no\n-->\n# A\n", vec!["0:p:1:=20", "0:1:6:A=4"]),
        ("<div>\n# no\n</div>\n\n# A\n", vec!["0:p:1:=19", "0:1:5:A=4"]),
        ("- # no\n\n> # no\n\n# A\n", vec!["0:p:1:=16", "0:1:5:A=4"]),
        ("Title\n=====\n\nOther\n---\n# A\n", vec!["0:p:1:=23", "0:1:6:A=4"]),
        // Front matter.
        ("---\n# no: x\n---\n# A\n", vec!["0:f:1:=16", "0:1:4:A=4"]),
        ("---\na: b\n---\n\ntext\n", vec!["0:f:1:=13", "0:p:4:=6"]),
        ("---\na: b\n---\n", vec!["0:f:1:=13"]),
        ("---\nno: end\n# A\n", vec!["0:p:1:=12", "0:1:3:A=4"]),
        // Line ends and byte order marks.
        ("a\r\n# A\r\nx\r\n## B\r\n", vec!["0:p:1:=3", "0:1:2:A=8", "1:2:4:B=6"]),
        ("\u{feff}# A\nx", vec!["0:1:1:A=8"]),
        ("\u{feff}---\r\na: b\r\n---\r\n# A\r\n", vec!["0:f:1:=19", "0:1:4:A=5"]),
        ("# Ünï *x* `y`\n", vec!["0:1:1:Ünï *x* `y`=16"]),
    ] {
        assert_eq!(sections(text), expected, "{text:?}");
    }
}

#[test]
fn inclusive_sections_hold_those_below() {
    let text = "p\n# A\n## B\n### C\n## D\n# E\n";
    let outline = Outline::read(text);
    let inclusive: Vec<&str> =
        outline.sections.iter().map(|section| &text[section.inclusive.clone()]).collect();
    assert_eq!(inclusive, ["p\n", "# A\n## B\n### C\n## D\n", "## B\n### C\n", "### C\n", "## D\n", "# E\n"]);
}

#[test]
fn comments_that_stand_on_their_own() {
    for (text, expected) in [
        ("<!-- a -->\n", vec!["<!-- a -->"]),
        ("<!-- a\n\n# b\n--> after\n", vec!["<!-- a\n\n# b\n-->"]),
        ("<!-- a --> x <!-- b -->\n", vec!["<!-- a -->", "<!-- b -->"]),
        ("text <!-- inline --> text\n", vec![]),
        ("```\n<!-- code -->\n```\n", vec![]),
        ("    <!-- code -->\n", vec![]),
        ("<!-- open\n", vec![]),
        ("<div>\n<!-- in -->\n</div>\n", vec![]),
        ("---\na: <!-- b -->\n---\n", vec![]),
    ] {
        let outline = Outline::read(text);
        let comments: Vec<&str> = outline.comments.iter().map(|span| &text[span.clone()]).collect();
        let expected: Vec<&str> = expected;
        assert_eq!(comments, expected, "{text:?}");
        assert_eq!(outline.comment_bytes(), expected.iter().map(|comment| comment.len()).sum::<usize>());
    }
}

fn paths(text: &str, syntax: ImportSyntax) -> Vec<String> {
    imports(text, &Outline::read(text), syntax).into_iter().map(|import| import.path).collect()
}

/// Each line as it was tried with the real clients: Claude Code 2.1.332, gemini-cli 0.61, qwen-code 0.24. What
/// they looked for on disk is written out; nothing where they looked for nothing.
#[test]
fn imports_as_the_agents_read_them() {
    const NOT: Option<&str> = None;
    for (text, claude, gemini, qwen) in [
        ("@a.md", Some("a.md"), Some("a.md"), Some("a.md")),
        ("text @a.md rest", Some("a.md"), Some("a.md"), Some("a.md")),
        ("@./a.md", Some("./a.md"), Some("./a.md"), Some("./a.md")),
        ("@../a.md", Some("../a.md"), Some("../a.md"), Some("../a.md")),
        ("@~/a.md", Some("~/a.md"), NOT, NOT),
        ("@/a.md", Some("/a.md"), Some("/a.md"), Some("/a.md")),
        ("see `@a.md` here", NOT, NOT, NOT),
        ("see ``x @a.md y`` here", NOT, NOT, NOT),
        ("```\n@a.md\n```", NOT, NOT, NOT),
        ("~~~\n@a.md\n~~~", NOT, Some("a.md"), NOT),
        ("para\n\n    @a.md", NOT, Some("a.md"), NOT),
        ("  - ```\n    @a.md\n    ```", NOT, NOT, NOT),
        ("<!-- @a.md -->", NOT, Some("a.md"), Some("a.md")),
        ("<!-- c --> @a.md", Some("a.md"), Some("a.md"), Some("a.md")),
        ("<!-- open @a.md\nend", NOT, Some("a.md"), Some("a.md")),
        ("<div>@a.md</div>", NOT, NOT, NOT),
        ("<div>\n@a.md\n</div>", NOT, Some("a.md"), Some("a.md")),
        ("mail <a @a.md>", Some("a.md>"), Some("a.md>"), Some("a.md>")),
        ("foo@a.md", NOT, NOT, NOT),
        ("(@a.md)", NOT, NOT, NOT),
        ("( @a.md )", Some("a.md"), Some("a.md"), Some("a.md")),
        ("\"@a.md\"", NOT, NOT, NOT),
        ("@\"a.md\"", NOT, NOT, NOT),
        ("see @a.md.", Some("a.md."), Some("a.md."), Some("a.md.")),
        ("see @a.md, and", Some("a.md,"), Some("a.md,"), Some("a.md,")),
        ("@a\\ b.md", Some("a b.md"), Some("a\\"), Some("a\\")),
        ("@..\\a.md", Some(".."), Some("..\\a.md"), Some("..\\a.md")),
        ("x\\@a.md", NOT, NOT, NOT),
        ("@a.md#section", Some("a.md"), Some("a.md#section"), Some("a.md#section")),
        ("**@a.md**", Some("a.md"), NOT, NOT),
        ("*@a.md*", Some("a.md"), NOT, NOT),
        ("_@a.md_", Some("a.md"), NOT, NOT),
        ("~~@a.md~~", NOT, NOT, NOT),
        ("- @a.md", Some("a.md"), Some("a.md"), Some("a.md")),
        ("- [ ] @a.md", Some("a.md"), Some("a.md"), Some("a.md")),
        ("1. @a.md", Some("a.md"), Some("a.md"), Some("a.md")),
        ("> @a.md", Some("a.md"), Some("a.md"), Some("a.md")),
        ("## @a.md", Some("a.md"), Some("a.md"), Some("a.md")),
        ("Title @a.md\n====", Some("a.md"), Some("a.md"), Some("a.md")),
        ("[link @a.md](x)", Some("a.md"), Some("a.md](x)"), Some("a.md](x)")),
        ("[link](@a.md)", NOT, NOT, NOT),
        ("![alt @a.md](p)", NOT, Some("a.md](p)"), Some("a.md](p)")),
        ("[ref]: @a.md", NOT, Some("a.md"), Some("a.md")),
        ("| a |\n|---|\n| @a.md |", Some("a.md"), Some("a.md"), Some("a.md")),
        ("@_u.md", Some("_u.md"), NOT, NOT),
        ("@-h.md", Some("-h.md"), NOT, NOT),
        ("@1d.md", Some("1d.md"), NOT, NOT),
        (
            "@my_long_name*s.md",
            Some("my_long_name*s.md"),
            Some("my_long_name*s.md"),
            Some("my_long_name*s.md"),
        ),
        ("@ü.md", NOT, NOT, NOT),
        ("@d/ü.md", Some("d/ü.md"), Some("d/ü.md"), Some("d/ü.md")),
        ("@.hidden/a.md", Some(".hidden/a.md"), Some(".hidden/a.md"), Some(".hidden/a.md")),
        ("@noext and", Some("noext"), Some("noext"), Some("noext")),
        ("@a.md\tx", Some("a.md"), Some("a.md"), Some("a.md")),
        ("@a.md\u{a0}x", Some("a.md"), Some("a.md\u{a0}x"), Some("a.md\u{a0}x")),
        ("@@a.md", NOT, NOT, NOT),
        ("@a%20b.md", Some("a%20b.md"), Some("a%20b.md"), Some("a%20b.md")),
        ("@ a.md", NOT, NOT, NOT),
        ("@/", NOT, Some("/"), Some("/")),
        ("---\nref: \" @a.md\"\n---\nx", NOT, Some("a.md\""), Some("a.md\"")),
        ("@a.md\r\n", Some("a.md"), Some("a.md"), Some("a.md")),
    ] {
        for (syntax, expected) in [
            (ImportSyntax::ClaudeCode, claude),
            (ImportSyntax::GeminiCli, gemini),
            (ImportSyntax::QwenCode, qwen),
        ] {
            let found = paths(text, syntax);
            assert_eq!(found.first().map(String::as_str), expected, "{text:?} for {syntax:?}");
            assert!(found.len() <= 1, "{text:?} for {syntax:?}: {found:?}");
        }
    }
}

#[test]
fn imports_have_their_place() {
    let text = "# A\n\nsee @one.md and @two\\ x.md#y\n\n<!-- c --> @three.md\n- @four.md\n";
    let found = imports(text, &Outline::read(text), ImportSyntax::ClaudeCode);
    let seen: Vec<(u64, &str, &str)> =
        found.iter().map(|import| (import.line, import.path.as_str(), &text[import.span.clone()])).collect();
    assert_eq!(
        seen,
        [
            (3, "one.md", "@one.md"),
            (3, "two x.md", "@two\\ x.md#y"),
            (5, "three.md", "@three.md"),
            (6, "four.md", "@four.md"),
        ]
    );
}

fn source(path: &str, text: &str, agents: &[&'static str]) -> Source {
    Source {
        path: path.to_owned(),
        in_project: !path.starts_with('~'),
        text: text.to_owned(),
        loads: agents.iter().map(|agent| Load { agent, imported_by: None, times: 1 }).collect(),
        imports: Vec::new(),
    }
}

fn skill(path: &str, name: &str, description: &str, agents: &[&'static str]) -> SkillSource {
    SkillSource {
        path: path.to_owned(),
        in_project: true,
        plugin: None,
        agents: agents.to_vec(),
        shown: Some(Shown { name: name.to_owned(), description: description.to_owned(), cut: false }),
        file_bytes: 1_000,
        oddities: Vec::new(),
    }
}

#[test]
fn a_report() {
    let mut main =
        source("CLAUDE.md", "---\na: b\n---\n# A\n<!-- why -->\ntext\n## B\nmore text\n", &["claude-code"]);
    main.imports = vec![
        ImportLink {
            line: 6,
            written: "gone.md".into(),
            target: "gone.md".into(),
            outcome: ImportOutcome::Missing,
            agents: vec!["claude-code"],
        },
        ImportLink {
            line: 7,
            written: "~/x.md".into(),
            target: "~/x.md".into(),
            outcome: ImportOutcome::Asks,
            agents: vec!["claude-code"],
        },
    ];
    let mut twice = source("part.md", "four words of text\n", &["claude-code", "gemini-cli"]);
    twice.loads[1].times = 3;
    let mut hidden = skill("h/SKILL.md", "", "", &["claude-code"]);
    hidden.shown = None;
    let found = Memory {
        files: vec![main, twice],
        skills: vec![skill("s/SKILL.md", "name", "What it is for.", &["claude-code", "codex"]), hidden],
        unread: vec![Unread { path: "bad.md".into(), in_project: true, reason: "it is not UTF-8".into() }],
    };
    let calibrated = estimator("calibrated").unwrap();
    let report = price(&found, calibrated.as_ref());
    assert_eq!(
        report.files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(),
        ["CLAUDE.md", "part.md"]
    );
    let main = &report.files[0];
    assert_eq!((main.bytes, main.tokens.get()), (50, 13));
    assert_eq!((main.front_matter.bytes, main.comments.bytes), (13, 12));
    let parts: Vec<_> = main
        .sections
        .iter()
        .map(|part| {
            (part.kind, part.title.as_str(), part.bytes, part.inclusive_bytes, part.inclusive_tokens.get())
        })
        .collect();
    assert_eq!(
        parts,
        [("front_matter", "", 13, 13, 3), ("heading", "A", 22, 37, 9), ("heading", "B", 15, 15, 4),]
    );
    assert_eq!((report.memory.bytes, report.skill_listings.bytes, report.total.bytes), (69, 19, 88));
    let carried: Vec<_> = report
        .agents
        .iter()
        .map(|one| (one.agent, one.memory.bytes, one.files, one.skill_listings.bytes, one.skills))
        .collect();
    assert_eq!(carried, [("claude-code", 69, 2, 19, 1), ("codex", 0, 0, 19, 1), ("gemini-cli", 57, 1, 0, 0)]);
    assert_eq!(report.anomalies.len(), 1);
    assert_eq!((report.anomalies[0].kind, report.anomalies[0].line), (AnomalyKind::MissingImport, Some(6)));
    assert_eq!(report.failures[0].reason, "it is not UTF-8");
    assert!(!report.skills[1].listed && report.skills[1].bytes == 0);

    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["schema"], "deadweight/memory-footprint/1");
    assert_eq!(json["provenance"]["estimator"], "calibrated/1");
    assert_eq!(json["files"][0]["imports"][1]["outcome"], "asks");
    assert_eq!(json["anomalies"][0]["kind"], "missing_import");
}

#[test]
fn what_codex_cuts_off_is_said() {
    let big = source("AGENTS.md", &"x".repeat(40_000), &["codex", "opencode"]);
    let found = Memory { files: vec![big], ..Memory::default() };
    let report = price(&found, estimator("chars4").unwrap().as_ref());
    let kinds: Vec<_> = report.anomalies.iter().map(|one| (one.kind, one.detail.clone().unwrap())).collect();
    assert_eq!(kinds, [(AnomalyKind::CutOff, String::from("codex sends 32768 B of 40000 B"))]);
}

fn markdown() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[ ]{0,4}#{0,7}[ \t]?[a-zé#]{0,5}[ #]{0,3}",
        "[ ]{0,4}[`~]{2,5}[a-z`]{0,3}",
        "[ ]{0,3}<!--[ a-z@.]{0,6}(-->)?[ @a.]{0,4}",
        "(---|===|\\.\\.\\.)[ ]?",
        "[-*>] ?[a-z@./ \\\\]{0,12}",
        "[@a-z.`<>\\[\\]()*_~|\\\\ \u{a0}😀]{0,20}",
        "",
    ];
    let line = (piece, prop_oneof![Just("\n"), Just("\r\n"), Just("\r"), Just("\n\n")]);
    (any::<bool>(), proptest::collection::vec(line, 0..30)).prop_map(|(mark, lines)| {
        let mut text = String::from(if mark { "\u{feff}" } else { "" });
        for (piece, end) in lines {
            text.push_str(&piece);
            text.push_str(end);
        }
        text
    })
}

proptest! {
    #[test]
    fn own_sections_make_up_the_file(text in markdown()) {
        let outline = Outline::read(&text);
        let mut at = 0;
        for section in &outline.sections {
            prop_assert_eq!(section.own.start, at);
            prop_assert!(section.own.end > at);
            prop_assert!(section.inclusive.start == section.own.start && section.inclusive.end >= section.own.end);
            at = section.own.end;
        }
        prop_assert_eq!(at, text.len());
        // Every inclusive span ends where a section does, and nesting is by depth.
        for (index, section) in outline.sections.iter().enumerate() {
            let below = outline.sections[index + 1..].iter().take_while(|one| one.depth > section.depth).last();
            prop_assert_eq!(section.inclusive.end, below.map_or(section.own.end, |last| last.own.end));
        }
    }

    #[test]
    fn the_price_is_that_of_the_whole(text in markdown(), name in prop_oneof![Just("calibrated"), Just("chars4")]) {
        let chosen = estimator(name).unwrap();
        let found = Memory { files: vec![source("CLAUDE.md", &text, &["claude-code"])], ..Memory::default() };
        let report = price(&found, chosen.as_ref());
        let file = &report.files[0];
        prop_assert_eq!(file.bytes, text.len() as u64);
        prop_assert_eq!(file.sections.iter().map(|one| one.bytes).sum::<u64>(), file.bytes);
        let top = file.sections.iter().filter(|one| one.depth == 0);
        prop_assert_eq!(top.map(|one| one.inclusive_bytes).sum::<u64>(), file.bytes);
        prop_assert_eq!(file.tokens, chosen.count(deadweight_estimate::Surface::Prose, &text));
        prop_assert_eq!(report.agents[0].memory.bytes, file.bytes);
    }

    #[test]
    fn places_are_true(text in markdown()) {
        let outline = Outline::read(&text);
        let mut last = 0;
        for comment in &outline.comments {
            prop_assert!(comment.start >= last);
            prop_assert!(text[comment.clone()].starts_with("<!--") && text[comment.clone()].ends_with("-->"));
            last = comment.end;
        }
        for syntax in [ImportSyntax::ClaudeCode, ImportSyntax::GeminiCli, ImportSyntax::QwenCode] {
            let mut last = 0;
            for import in imports(&text, &outline, syntax) {
                prop_assert!(import.span.start >= last);
                prop_assert!(text[import.span.clone()].starts_with('@') && !import.path.is_empty());
                prop_assert_eq!(import.line, 1 + text[..import.span.start].matches('\n').count() as u64);
                last = import.span.end;
            }
        }
    }

    #[test]
    fn the_order_of_what_was_found_does_not_matter(texts in proptest::collection::vec("[a#\n]{0,12}", 1..5)) {
        let calibrated = estimator("calibrated").unwrap();
        let mut found = Memory {
            files: texts.iter().enumerate().map(|(at, text)| source(&format!("{at}.md"), text, &["codex"])).collect(),
            ..Memory::default()
        };
        let one = serde_json::to_string(&price(&found, calibrated.as_ref())).unwrap();
        found.files.reverse();
        prop_assert_eq!(one, serde_json::to_string(&price(&found, calibrated.as_ref())).unwrap());
    }
}
