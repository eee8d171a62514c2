//! Memory files found in folders made for the test.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test says what is wrong by failing")]

mod common;

use common::{Place, links, loads, paths, unread};
use deadweight_agents::{Search, memory};
use deadweight_footprint::memory::ImportOutcome::{
    Asks, Loaded, LoadedBefore, Missing, NotImported, Refused, TooDeep, Unreadable,
};

/// Only what Claude Code loads of `p`, which is the project.
fn claude(place: &Place) -> deadweight_footprint::memory::Memory {
    memory::discover(&Search::of_project(place.path("p")).with_home(place.path("h")).only(["claude-code"]))
}

#[test]
fn every_agent_finds_its_own() {
    let place = Place::new(&[
        ("p/CLAUDE.md", "a"),
        ("p/CLAUDE.local.md", "a"),
        ("p/.claude/CLAUDE.md", "a"),
        ("p/.claude/rules/x.md", "a"),
        ("p/.claude/rules/deep/er/y.md", "a"),
        ("p/.claude/rules/tied.md", "---\npaths: src/**\n---\na"),
        ("p/.claude/rules/UPPER.MD", "a"),
        ("p/AGENTS.md", "a"),
        ("p/AGENTS.override.md", "a"),
        ("p/GEMINI.md", "a"),
        ("p/QWEN.md", "a"),
        ("p/CONTEXT.md", "a"),
        ("p/sub/CLAUDE.md", "a"),
        ("p/.gemini/GEMINI.md", "a"),
        ("h/.claude/CLAUDE.md", "a"),
        ("h/.claude/rules/h.md", "a"),
        ("h/.codex/AGENTS.md", "a"),
        ("h/.config/opencode/AGENTS.md", "a"),
        ("h/.gemini/GEMINI.md", "a"),
        ("h/.qwen/QWEN.md", "a"),
        ("h/AGENTS.md", "a"),
    ]);
    let found = memory::discover(&Search::of_project(place.path("p")).with_home(place.path("h")));
    assert_eq!(
        loads(&found),
        [
            ".claude/CLAUDE.md: claude-code",
            ".claude/rules/deep/er/y.md: claude-code",
            ".claude/rules/x.md: claude-code",
            "AGENTS.md: opencode, qwen-code",
            "AGENTS.override.md: codex",
            "CLAUDE.local.md: claude-code",
            "CLAUDE.md: claude-code",
            "GEMINI.md: gemini-cli",
            "QWEN.md: qwen-code",
            "~/.claude/CLAUDE.md: claude-code",
            "~/.claude/rules/h.md: claude-code",
            "~/.codex/AGENTS.md: codex",
            "~/.config/opencode/AGENTS.md: opencode",
            "~/.gemini/GEMINI.md: gemini-cli",
            "~/.qwen/QWEN.md: qwen-code",
        ]
    );
    assert!(found.files.iter().all(|file| file.in_project != file.path.starts_with('~')));

    // What everybody has.
    let shared = memory::discover(&Search::of_project(place.path("p")).shared());
    assert!(!paths(&shared).contains(&String::from("CLAUDE.local.md")) && shared.files.len() == 8);

    // The project alone.
    let found = memory::discover(&Search::of_project(place.path("p")));
    assert!(found.files.iter().all(|file| file.in_project));
    assert_eq!(found.files.len(), 9);
}

#[test]
fn the_first_name_that_is_there_stands_for_the_others() {
    let of = |files: &[(&str, &str)], agent| {
        let place = Place::new(files);
        paths(&memory::discover(&Search::of_project(place.path("p")).only([agent])))
    };
    assert_eq!(of(&[("p/AGENTS.md", "a")], "codex"), ["AGENTS.md"]);
    assert_eq!(of(&[("p/CLAUDE.md", "a"), ("p/CONTEXT.md", "a")], "opencode"), ["CLAUDE.md"]);
    assert_eq!(of(&[("p/CONTEXT.md", "a")], "opencode"), ["CONTEXT.md"]);
    assert_eq!(of(&[("p/AGENTS.md/x", "a")], "codex"), [""; 0]);
}

#[test]
fn above_the_project_as_far_as_each_agent_looks() {
    let place = Place::new(&[
        ("CLAUDE.md", "a"),
        ("AGENTS.md", "a"),
        ("QWEN.md", "a"),
        ("GEMINI.md", "a"),
        ("r/.git/HEAD", ""),
        ("r/CLAUDE.md", "a"),
        ("r/AGENTS.md", "a"),
        ("r/GEMINI.md", "a"),
        ("r/s/CLAUDE.md", "@../x.md"),
        ("r/s/AGENTS.md", "a"),
        ("r/s/GEMINI.md", "a"),
        ("r/x.md", "a"),
    ]);
    let above = |agent: &str| {
        // As the home it gives names that do not depend on where the test runs.
        let search =
            Search::of_project(place.path("r/s")).with_home(place.path("")).with_above().only([agent]);
        let mut found = paths(&memory::discover(&search));
        found.retain(|path| !path.starts_with('/'));
        found
    };
    assert_eq!(above("claude-code"), ["CLAUDE.md", "~/CLAUDE.md", "~/r/CLAUDE.md"]);
    assert_eq!(above("codex"), ["AGENTS.md", "~/r/AGENTS.md"]);
    assert_eq!(above("gemini-cli"), ["GEMINI.md", "~/r/GEMINI.md"]);
    assert_eq!(above("qwen-code"), ["AGENTS.md", "~/AGENTS.md", "~/QWEN.md", "~/r/AGENTS.md"]);
}

#[test]
fn imports_lead_where_they_lead() {
    let place = Place::new(&[
        (
            "p/CLAUDE.md",
            "@a.md\n@./d/b.md\n@gone.md\n@d\n@x.pdf\n@noext\n@../out.md\n@~/h.md\n@a.md\n@/gone/for/ever.md\n\
             thanks @someone, see @types/node and @example.com\n",
        ),
        ("p/a.md", "see @d/b.md"),
        ("p/d/b.md", "@../a.md @c.md"),
        ("p/d/c.md", "end"),
        ("p/x.pdf", "a"),
        ("p/noext", "a"),
        ("p/orphan.md", "a"),
        ("out.md", "a"),
        ("h/h.md", "a"),
    ]);
    let found = claude(&place);
    assert_eq!(paths(&found), ["CLAUDE.md", "a.md", "d/b.md", "d/c.md", "noext"]);
    assert_eq!(
        links(&found, "CLAUDE.md"),
        [
            (1, "a.md", Loaded),
            (2, "./d/b.md", LoadedBefore),
            (3, "gone.md", Missing),
            (5, "x.pdf", NotImported),
            (6, "noext", Loaded),
            (7, "../out.md", Asks),
            (8, "~/h.md", Asks),
            (9, "a.md", LoadedBefore),
            (10, "/gone/for/ever.md", Missing),
        ]
    );
    assert_eq!(links(&found, "d/b.md"), [(1, "../a.md", LoadedBefore), (1, "c.md", Loaded)]);
    let a = found.files.iter().find(|file| file.path == "a.md").unwrap();
    assert_eq!(a.loads[0].imported_by.as_deref(), Some("CLAUDE.md"));
    let target = |line| found.files[0].imports.iter().find(|link| link.line == line).unwrap().target.clone();
    assert_eq!(target(2), "d/b.md");
    assert_eq!(target(8), "~/h.md");
}

#[test]
fn the_users_own_files_import_from_anywhere() {
    let place =
        Place::new(&[("h/.claude/CLAUDE.md", "@~/h.md\n@../../out.md\n"), ("h/h.md", "a"), ("out.md", "a")]);
    let found = claude(&place);
    assert_eq!(found.files.len(), 3);
    assert_eq!(links(&found, "~/.claude/CLAUDE.md"), [(1, "~/h.md", Loaded), (2, "../../out.md", Loaded)]);
    assert!(found.files.iter().all(|file| !file.in_project));
}

/// A chain of files of which each imports the next.
fn chain(place: &Place, length: usize) {
    for at in 1..=length {
        place.write(&format!("p/{at}.md"), &format!("@{}.md", at + 1));
    }
}

#[test]
fn depth_is_bounded() {
    let place = Place::new(&[("p/CLAUDE.md", "@1.md"), ("p/GEMINI.md", "@./1.md")]);
    chain(&place, 10);
    let found = claude(&place);
    assert_eq!(paths(&found), ["1.md", "2.md", "3.md", "4.md", "CLAUDE.md"]);
    assert_eq!(links(&found, "4.md"), [(1, "5.md", TooDeep)]);
    place.write("p/1.md", "@./n2.md");
    for at in 2..=10 {
        place.write(&format!("p/n{at}.md"), &format!("@./n{}.md", at + 1));
    }
    let found = memory::discover(&Search::of_project(place.path("p")).only(["gemini-cli"]));
    assert_eq!(paths(&found), ["1.md", "GEMINI.md", "n2.md", "n3.md", "n4.md", "n5.md"]);
    assert_eq!(links(&found, "n5.md"), [(1, "./n6.md", TooDeep)]);
}

#[test]
fn circles_end() {
    let place = Place::new(&[
        ("p/CLAUDE.md", "@a.md @CLAUDE.md"),
        ("p/a.md", "@b.md"),
        ("p/b.md", "@a.md @CLAUDE.md @b.md"),
    ]);
    let found = claude(&place);
    assert_eq!(paths(&found), ["CLAUDE.md", "a.md", "b.md"]);
    assert_eq!(
        links(&found, "b.md"),
        [(1, "CLAUDE.md", LoadedBefore), (1, "a.md", LoadedBefore), (1, "b.md", LoadedBefore),]
    );
}

/// gemini-cli puts a file in at every import of it; the main file may come once more.
#[test]
fn repeated_imports_are_counted_as_often() {
    let place = Place::new(&[
        ("p/GEMINI.md", "@./a.md and @./a.md\n@./b.md\n@../out.md"),
        ("p/a.md", "text"),
        ("p/b.md", "@./a.md"),
        ("out.md", "a"),
    ]);
    let found = memory::discover(&Search::of_project(place.path("p")).only(["gemini-cli"]));
    let a = found.files.iter().find(|file| file.path == "a.md").unwrap();
    let times: Vec<_> =
        a.loads.iter().map(|load| (load.imported_by.as_deref().unwrap(), load.times)).collect();
    assert_eq!(times, [("GEMINI.md", 2), ("b.md", 1)]);
    assert_eq!(links(&found, "GEMINI.md").last().unwrap().2, Refused);
}

#[test]
fn imports_without_end_are_cut() {
    let place = Place::new(&[("p/GEMINI.md", "")]);
    let many = "@./x.md ".repeat(60);
    for name in ["GEMINI.md", "x.md"] {
        place.write(&format!("p/{name}"), &many);
    }
    for (at, next) in [("x", "y"), ("y", "z"), ("z", "w"), ("w", "v")] {
        place.write(&format!("p/{at}.md"), &format!("@./{next}.md ").repeat(60));
    }
    let found = memory::discover(&Search::of_project(place.path("p")).only(["gemini-cli"]));
    let loads: u64 = found.files.iter().flat_map(|file| &file.loads).map(|load| load.times).sum();
    assert_eq!(loads, 501);
    assert!(found.files.iter().flat_map(|file| &file.imports).any(|link| link.outcome.name() == "too_many"));
}

#[test]
fn text_is_kept_byte_for_byte() {
    let text = "\u{feff}# A\r\n@a.md\r\n\r\ntail";
    let place = Place::new(&[("p/CLAUDE.md", text), ("p/a.md", "x\r\n")]);
    let found = claude(&place);
    assert_eq!(found.files[0].text, text);
    assert_eq!(found.files[1].text, "x\r\n");
    assert_eq!(found.files[0].imports[0].line, 2);
}

#[test]
fn what_cannot_be_read_is_told() {
    let place = Place::new(&[("p/CLAUDE.md", "@bad.md\n@huge.md\n@fine.md\n@bad.md"), ("p/fine.md", "a")]);
    place.bytes("p/bad.md", b"caf\xE9");
    place.bytes("p/huge.md", &vec![b'a'; 8 * 1024 * 1024 + 1]);
    place.bytes("p/CLAUDE.local.md", b"\xFF\xFEa\0");
    let found = claude(&place);
    assert_eq!(paths(&found), ["CLAUDE.md", "fine.md"]);
    assert_eq!(
        unread(&found),
        [
            "CLAUDE.local.md: it is not UTF-8 (byte 0)",
            "bad.md: it is not UTF-8 (byte 3)",
            "huge.md: it is larger than 8388608 B",
        ]
    );
    assert_eq!(links(&found, "CLAUDE.md")[..2], [(1, "bad.md", Unreadable), (2, "huge.md", Unreadable)]);
}

#[test]
fn the_largest_file_is_read() {
    let place = Place::new(&[]);
    place.bytes("p/CLAUDE.md", &vec![b'a'; 8 * 1024 * 1024]);
    assert_eq!(claude(&place).files[0].text.len(), 8 * 1024 * 1024);
}

#[test]
fn one_file_as_a_target() {
    let place = Place::new(&[
        ("p/CLAUDE.md", "@notes/a.md"),
        ("p/notes/a.md", "@b.md"),
        ("p/notes/b.md", "b"),
        ("p/AGENTS.md", "@notes/b.md"),
        ("p/other.md", "@notes/b.md"),
        ("h/.claude/CLAUDE.md", "@../../out.md"),
        ("out.md", "a"),
    ]);
    let search = Search::of_project(place.path("p")).with_home(place.path("h"));
    let of = |name: &str| memory::of_file(place.path(name), &search);
    assert_eq!(
        loads(&of("p/CLAUDE.md")),
        ["CLAUDE.md: claude-code", "notes/a.md: claude-code", "notes/b.md: claude-code",]
    );
    assert_eq!(loads(&of("p/AGENTS.md")), ["AGENTS.md: codex, opencode, qwen-code", "notes/b.md: qwen-code"]);
    assert_eq!(loads(&of("p/other.md")), ["notes/b.md: claude-code", "other.md: claude-code"]);
    assert_eq!(of("h/.claude/CLAUDE.md").files.len(), 2);
    let gone = of("p/gone.md");
    assert!(gone.files.is_empty() && gone.unread.is_empty());
}

#[test]
fn the_same_files_give_the_same_answer() {
    let place = Place::new(&[
        ("p/CLAUDE.md", "@a.md @b.md"),
        ("p/GEMINI.md", "@./b.md @./a.md"),
        ("p/a.md", "@b.md"),
        ("p/b.md", "@a.md"),
        ("p/AGENTS.md", "a"),
    ]);
    let search = Search::of_project(place.path("p"));
    let one = memory::discover(&search);
    assert_eq!(one, memory::discover(&search));
    assert!(one.files.is_sorted_by(|a, b| a.path < b.path));
}

#[cfg(unix)]
mod links_on_disk {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn one_file_under_two_names_is_loaded_once() {
        let place = Place::new(&[("p/AGENTS.md", "text"), ("p/d/x.md", "x")]);
        symlink("AGENTS.md", place.path("p/CLAUDE.md")).unwrap();
        symlink("../AGENTS.md", place.path("p/d/l.md")).unwrap();
        symlink("d", place.path("p/e")).unwrap();
        place.write("p/CLAUDE.local.md", "@d/x.md @e/x.md @d/l.md @AGENTS.md");
        let found = claude(&place);
        assert_eq!(paths(&found), ["CLAUDE.local.md", "CLAUDE.md", "d/x.md"]);
        assert_eq!(
            links(&found, "CLAUDE.local.md"),
            [
                (1, "AGENTS.md", LoadedBefore),
                (1, "d/l.md", LoadedBefore),
                (1, "d/x.md", Loaded),
                (1, "e/x.md", LoadedBefore),
            ]
        );
    }

    #[test]
    fn links_in_a_circle_and_to_nowhere() {
        let place = Place::new(&[("p/CLAUDE.md", "@one.md @nowhere.md"), ("p/.claude/rules/a.md", "a")]);
        symlink("two.md", place.path("p/one.md")).unwrap();
        symlink("one.md", place.path("p/two.md")).unwrap();
        symlink("gone.md", place.path("p/nowhere.md")).unwrap();
        symlink("loop.md", place.path("p/CLAUDE.local.md.tmp")).unwrap();
        symlink("..", place.path("p/.claude/rules/up")).unwrap();
        symlink("nothing.md", place.path("p/CLAUDE.local.md")).unwrap();
        let found = claude(&place);
        assert_eq!(paths(&found), [".claude/rules/a.md", "CLAUDE.md"]);
        assert_eq!(
            unread(&found),
            [
                "CLAUDE.local.md: it is a link that leads nowhere",
                "nowhere.md: it is a link that leads nowhere",
                "one.md: its links lead in a circle",
            ]
        );
        assert_eq!(links(&found, "CLAUDE.md"), [(1, "nowhere.md", Unreadable), (1, "one.md", Unreadable)]);
    }

    #[test]
    fn a_link_out_of_the_project_is_outside() {
        let place = Place::new(&[("p/CLAUDE.md", "@in.md"), ("p/GEMINI.md", "@./in.md"), ("secret.md", "s")]);
        symlink("../secret.md", place.path("p/in.md")).unwrap();
        assert_eq!(links(&claude(&place), "CLAUDE.md"), [(1, "in.md", Asks)]);
        let found = memory::discover(&Search::of_project(place.path("p")).only(["gemini-cli"]));
        assert_eq!(links(&found, "GEMINI.md"), [(1, "./in.md", Refused)]);
    }

    #[test]
    fn pipes_are_not_opened_and_locked_files_are_told() {
        use std::os::unix::fs::PermissionsExt;
        let place = Place::new(&[
            ("p/CLAUDE.md", "a"),
            ("p/.claude/CLAUDE.md", "a"),
            ("p/.claude/rules/x/y.md", "a"),
        ]);
        let made =
            std::process::Command::new("mkfifo").arg(place.path("p/CLAUDE.local.md")).status().unwrap();
        assert!(made.success());
        let locked = place.path("p/.claude/CLAUDE.md");
        std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o0)).unwrap();
        // Root may read everything.
        let may = std::fs::read(&locked).is_ok();
        let told = unread(&claude(&place));
        assert!(told.contains(&String::from("CLAUDE.local.md: it is no regular file")), "{told:?}");
        assert_eq!(told.contains(&String::from(".claude/CLAUDE.md: it may not be read")), !may, "{told:?}");
    }
}
