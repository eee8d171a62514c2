//! The file as people and merges see it.
#![allow(clippy::unwrap_used)]

use deadweight_lock::{
    FileEntry, Hash, Level, Lock, Marks, PolicyKind, ServerEntry, TextPrice, ToolEntry, ToolKey, ToolPrice,
    read, update,
};
use proptest::prelude::*;
use std::process::Command;

fn price(bytes: u64) -> ToolPrice {
    ToolPrice {
        bytes,
        description_bytes: bytes / 4,
        tokens: None,
        description_tokens: None,
        hash: Hash::of_text(&bytes.to_string()),
    }
}

fn tool(bytes: u64) -> ToolEntry {
    ToolEntry { price: Some(price(bytes)), ..ToolEntry::default() }
}

fn sample() -> Lock {
    let mut lock = Lock::new("calibrated/1", "name + description + compact inputSchema");
    let source = Some("npm:@modelcontextprotocol/server-github@2025.4.8".to_owned());
    lock.servers.insert("github".to_owned(), ServerEntry { source, ..ServerEntry::default() });
    for (name, bytes) in [("a", 999), ("b", 1101), ("create issue.é", 1175), ("d", 1222)] {
        lock.tools.insert(ToolKey::new("github", name), tool(bytes));
    }
    let text = TextPrice { bytes: 740, tokens: None, hash: Hash::of_text("memory") };
    lock.memory.insert("CLAUDE.md".to_owned(), FileEntry { price: text, reason: None, line: 0 });
    lock
}

/// A lock without its line numbers, which are no part of what it says.
fn unplaced(mut lock: Lock) -> Lock {
    lock.servers.values_mut().for_each(|entry| entry.line = 0);
    lock.tools.values_mut().for_each(|entry| entry.line = 0);
    lock.skills.values_mut().chain(lock.memory.values_mut()).for_each(|entry| entry.line = 0);
    lock.checks.values_mut().for_each(|check| check.line = 0);
    lock.rules.iter_mut().for_each(|rule| rule.line = 0);
    let slack = &mut lock.slack;
    for setting in [
        &mut slack.floor,
        &mut slack.descriptions,
        &mut slack.instructions,
        &mut slack.skills,
        &mut slack.memory,
    ] {
        setting.line = 0;
    }
    lock
}

#[test]
fn a_new_file_reads_back_and_is_sorted() {
    let text = update(None, &sample()).unwrap();
    assert_eq!(unplaced(read(&text).unwrap()), sample(), "{text}");
    let headers: Vec<&str> = text.lines().filter(|line| line.starts_with('[')).collect();
    assert_eq!(
        headers,
        [
            "[slack]",
            "[server.github]",
            "[tool.github.a]",
            "[tool.github.b]",
            "[tool.github.\"create issue.é\"]",
            "[tool.github.d]",
            "[memory.\"CLAUDE.md\"]"
        ]
    );
    let lock = read(&text).unwrap();
    let line = lock.tools[&ToolKey::new("github", "b")].line;
    assert_eq!(text.lines().nth(line - 1), Some("[tool.github.b]"));
}

const BY_HAND: &str = r#"# ours
version = 1 # the shape
estimator = "calibrated/1"
basis = "name + description + compact inputSchema"
ceiling_tokens = { limit = 9000, reason = "two large servers" }
max_tools = 40

[checks]
TOOL_GREW = "error"
DEFINITION_CHANGED = { level = "warn", reason = "the vendor re-words weekly" }

# policy first
[policy.deny]
delete_repository = "never from an agent"

[slack]
floor = 300
descriptions = { limit = 200, reason = "as before" }

[tool.github.z]  # the last
bytes = 10
description_bytes = 1
hash = "sha256-1:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
eager = "used on every turn"

# about a
[tool.github.a]
hash = "sha256-1:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
bytes = 10 # small
description_bytes = 1
deny = true

# the end
"#;

#[test]
fn what_a_person_wrote_stays() {
    let mut lock = read(BY_HAND).unwrap();
    assert_eq!(lock.ceiling_tokens.as_ref().unwrap().limit, 9000);
    assert_eq!(lock.checks["TOOL_GREW"].level, Level::Error);
    assert_eq!(lock.rules[0].kind, PolicyKind::Deny);
    lock.tools.get_mut(&ToolKey::new("github", "a")).unwrap().price = Some(price(20));
    lock.tools.insert(ToolKey::new("github", "m"), tool(30));
    let text = update(Some(BY_HAND), &lock).unwrap();
    for line in BY_HAND.lines().filter(|line| line.contains('#') && !line.contains("small")) {
        assert!(text.contains(line), "{line}\n{text}");
    }
    for kept in [
        "bytes = 20 # small",
        "eager = \"used on every turn\"",
        "deny = true",
        "reason = \"the vendor re-words weekly\"",
        "floor = 300",
    ] {
        assert!(text.contains(kept), "{kept}\n{text}");
    }
    let headers: Vec<&str> = text.lines().filter(|line| line.starts_with('[')).collect();
    assert_eq!(
        headers,
        [
            "[checks]",
            "[policy.deny]",
            "[slack]",
            "[tool.github.a]",
            "[tool.github.m]",
            "[tool.github.z]  # the last"
        ]
    );
    assert_eq!(update(Some(&text), &read(&text).unwrap()).unwrap(), text, "stable under rewriting");
    let windows = BY_HAND.replace('\n', "\r\n");
    assert_eq!(update(Some(&windows), &lock).unwrap(), text.replace('\n', "\r\n"));
}

#[test]
fn other_spellings_of_an_entry_are_read_and_rewritten() {
    let hash = Hash::of_text("x");
    let text = format!(
        "version = 1\nestimator = \"chars4/1\"\nbasis = \"b\"\ntool.s.b.bytes = 4\ntool.s.b.description_bytes = 1\ntool.s.b.hash = \"{hash}\"\n\n[tool.s]\n"
    );
    assert!(read(&text).is_err(), "TOML itself refuses to define a table twice");
    let text = format!(
        "version = 1\nestimator = \"chars4/1\"\nbasis = \"b\"\n[tool.s]\na = {{ bytes = 4, description_bytes = 1, hash = \"{hash}\" }}\nb.bytes = 4\nb.description_bytes = 1\nb.hash = \"{hash}\"\n"
    );
    let lock = read(&text).unwrap();
    let written = update(Some(&text), &lock).unwrap();
    assert_eq!(unplaced(read(&written).unwrap()), unplaced(lock), "{written}");
    assert!(written.contains("[tool.s.a]\nbytes = 4\n"), "{written}");
}

#[test]
fn comments_stay_whatever_an_entry_is_spelt_like() {
    let hash = Hash::of_text("x");
    let text = format!(
        "\u{feff}version = 1\nestimator = \"chars4/1\"\nbasis = \"b\"\n\
         # above the group\n[tool.s] # behind the group\n\
         # above a\na = {{ bytes = 4, description_bytes = 1, hash = \"{hash}\" }} # behind a\n\
         # above b\nb.bytes = 4 # behind b\n# within b\nb.description_bytes = 1\nb.hash = \"{hash}\"\n\
         # above c\nc = {{ # head of c\n  bytes = 4, # behind bytes of c\n  # within c\n  description_bytes = 1,\n  \
         hash = \"{hash}\" # end of c\n}}\n\n\
         \t# above d\n\t[tool.s.d]\t# behind d\n\tbytes\t=\t4\t# tabs\n\n# alone\n\tdescription_bytes=1\n\
         \thash = '{hash}'\n# the end\n"
    );
    let lock = read(&text).unwrap();
    for text in [text.clone(), text.replace('\n', "\r\n")] {
        let written = update(Some(&text), &lock).unwrap();
        assert_eq!(unplaced(read(&written).unwrap()), unplaced(lock.clone()), "{written}");
        for comment in text.lines().filter_map(|line| Some(line[line.find('#')?..].trim_end())) {
            assert_eq!(
                written.matches(comment).count(),
                text.matches(comment).count(),
                "{comment}\n{written}"
            );
        }
        assert!(written.starts_with('\u{feff}'), "{written:?}");
        assert_eq!(update(Some(&written), &lock).unwrap(), written);
    }
}

#[test]
fn every_break_has_its_place() {
    let good = update(None, &sample()).unwrap();
    for (from, to, line_of, what) in [
        ("version = 1", "version = 2", "version = 2", "another version"),
        ("version = 1\n", "", "#", "`version` is missing"),
        ("floor = 250", "floor = -1", "floor = -1", "whole number"),
        ("floor = 250", "flor = 250", "flor", "unknown key `flor`"),
        ("[slack]", "ceilng_tokens = 9\n[slack]", "ceilng", "unknown key `ceilng_tokens`"),
        ("bytes = 999", "bytes = \"999\"", "bytes = \"999\"", "whole number"),
        ("bytes = 999", "", "[tool.github.a]", "only some of"),
        ("sha256-1:", "sha256-9:", "sha256-9:", "no hash"),
        ("[tool.github.b]", "[tool.github.a]", "[tool.github.a]", "duplicate"),
        ("[tool.github.b]", "<<<<<<< mine\n[tool.github.b]", "<<<<<<<", "merge conflict"),
        ("npm:@modelcontextprotocol", "https://u:p@h", "source", "may be a secret"),
        ("bytes = 999", "bytes = 999\ndeny = 3", "deny = 3", "the reason as a text"),
        ("bytes = 999", "bytes = 999 oops", "bytes = 999 oops", ""),
    ] {
        let text = good.replacen(from, to, 1);
        assert_ne!(text, good);
        let error = read(&text).unwrap_err();
        assert!(error.what.contains(what), "{error}");
        assert!(!error.remedy.is_empty());
        let line = text.lines().nth(error.line - 1).unwrap();
        assert!(line.contains(line_of), "{error}: {line}");
        assert_eq!(update(Some(&text), &sample()).unwrap_err(), error, "never overwritten");
    }
}

#[test]
fn a_tool_that_is_gone_keeps_its_policy() {
    let mut lock = sample();
    let deny = Marks { deny: Some("never".to_owned()), ..Marks::default() };
    lock.tools.insert(ToolKey::new("github", "gone"), ToolEntry { marks: deny, ..ToolEntry::default() });
    let text = update(None, &lock).unwrap();
    assert!(text.contains("[tool.github.gone]\ndeny = \"never\"\n"), "{text}");
    assert_eq!(unplaced(read(&text).unwrap()), lock);
}

/// A lock whose tools `names` were set to a price each; 0 takes a tool away.
fn changed(names: &[(&str, u64)]) -> Lock {
    let mut lock = sample();
    lock.tools.insert(ToolKey::new("slack", "post"), tool(700));
    lock.servers.entry("slack".to_owned()).or_default();
    for (name, bytes) in names {
        let (server, name) = name.split_once('/').unwrap_or(("github", name));
        let key = ToolKey::new(server, name);
        if *bytes == 0 {
            lock.tools.remove(&key);
            continue;
        }
        let entry = lock.tools.entry(key).or_default();
        (entry.price, entry.reason) = (Some(price(*bytes)), Some(format!("because of {name}")));
    }
    lock
}

/// A git repository of its own, which nothing of this machine's settings reaches.
fn git(folder: &std::path::Path, args: &[&str]) -> bool {
    let mut git = Command::new("git");
    for name in ["GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"] {
        git.env_remove(name);
    }
    git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1").current_dir(folder);
    git.args(["-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main"]).args(args);
    git.output().unwrap().status.success()
}

/// Merges two branches with git itself; `None` is a conflict.
fn merge(base: &str, ours: &str, theirs: &str) -> Result<String, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deadweight.lock");
    let commit = |text: &str| {
        std::fs::write(&path, text).unwrap();
        assert!(git(folder.path(), &["add", "-A"]) && git(folder.path(), &["commit", "-qm", "lock"]));
    };
    assert!(git(folder.path(), &["init", "-q"]));
    commit(base);
    assert!(git(folder.path(), &["checkout", "-qb", "theirs"]));
    commit(theirs);
    assert!(git(folder.path(), &["checkout", "-q", "main"]));
    commit(ours);
    let merged = git(folder.path(), &["merge", "-q", "theirs"]);
    let text = std::fs::read_to_string(&path).unwrap();
    if merged { Ok(text) } else { Err(text) }
}

#[test]
fn two_people_who_update_different_tools_merge() {
    let base = update(None, &changed(&[])).unwrap();
    for (ours, theirs) in [
        // Neighbours, one and several, with the names that need quotes.
        (vec![("a", 1)], vec![("b", 2)]),
        (vec![("b", 1)], vec![("create issue.é", 2)]),
        (vec![("a", 1), ("d", 3)], vec![("b", 2), ("create issue.é", 4)]),
        // The last tool of one server and the first of the next.
        (vec![("d", 1)], vec![("slack/post", 2)]),
        // New ones, in different places; one beside a changed one.
        (vec![("aa", 1)], vec![("c", 2)]),
        (vec![("0", 1), ("zz", 5)], vec![("bb", 2)]),
        (vec![("c", 1)], vec![("b", 2)]),
        // One goes, its neighbours move.
        (vec![("b", 0)], vec![("a", 2), ("create issue.é", 4)]),
        (vec![("a", 0), ("d", 9)], vec![("b", 2)]),
        // A whole server of one's own.
        (vec![("jira/search", 1)], vec![("d", 2)]),
    ] {
        let merged = merge(
            &base,
            &update(Some(&base), &changed(&ours)).unwrap(),
            &update(Some(&base), &changed(&theirs)).unwrap(),
        );
        let both: Vec<_> = ours.iter().chain(&theirs).copied().collect();
        let merged = merged.unwrap_or_else(|text| panic!("{ours:?} and {theirs:?}: {text}"));
        assert_eq!(unplaced(read(&merged).unwrap()), changed(&both), "{ours:?} and {theirs:?}");
    }
}

#[test]
fn the_same_tool_twice_is_a_conflict_that_is_named() {
    let base = update(None, &changed(&[])).unwrap();
    let side = |bytes| update(Some(&base), &changed(&[("b", bytes)])).unwrap();
    let text = merge(&base, &side(1), &side(2)).unwrap_err();
    let error = read(&text).unwrap_err();
    assert!(error.what.contains("merge conflict"), "{error}");
    assert!(text.lines().nth(error.line - 1).unwrap().starts_with("<<<<<<< "), "{error}");
    assert_eq!(update(Some(&text), &sample()).unwrap_err(), error);
}

fn arbitrary() -> impl Strategy<Value = Lock> {
    let name = prop_oneof!["[a-z_.-]{1,8}", any::<String>()];
    let tools = prop::collection::btree_map((name.clone(), name.clone()), (0u64..5000, any::<bool>()), 0..12);
    let files = prop::collection::btree_map(name, (0u64..5000, any::<String>()), 0..4);
    (tools, files.clone(), files, any::<bool>()).prop_map(|(tools, skills, memory, bpe)| {
        let mut lock = Lock::new(if bpe { "o200k/1" } else { "calibrated/1" }, "fields");
        for ((server, name), (bytes, eager)) in tools {
            lock.servers.entry(server.clone()).or_default();
            let mut entry = tool(bytes);
            if let Some(price) = entry.price.as_mut().filter(|_| bpe) {
                (price.tokens, price.description_tokens) = (Some(bytes / 5), Some(bytes / 20));
            }
            entry.marks.eager = eager.then(|| name.clone());
            lock.tools.insert(ToolKey::new(server, name), entry);
        }
        for (own, from) in [(&mut lock.skills, skills), (&mut lock.memory, memory)] {
            for (path, (bytes, reason)) in from {
                let price = TextPrice { bytes, tokens: bpe.then_some(bytes / 5), hash: Hash::of_text(&path) };
                own.insert(path, FileEntry { price, reason: Some(reason), line: 0 });
            }
        }
        lock
    })
}

proptest! {
    #[test]
    fn any_lock_survives_writing_and_any_other_can_take_its_place(a in arbitrary(), b in arbitrary()) {
        let text = update(None, &a).unwrap();
        prop_assert_eq!(&unplaced(read(&text).unwrap()), &a);
        prop_assert_eq!(&update(Some(&text), &a).unwrap(), &text);
        let other = update(Some(&text), &b).unwrap();
        prop_assert_eq!(&unplaced(read(&other).unwrap()), &b);
        let entries = |text: &str| text[text.find("[slack]").unwrap()..].to_owned();
        prop_assert_eq!(entries(&other), entries(&update(None, &b).unwrap()), "the way there leaves no trace");
    }

    #[test]
    fn no_text_makes_the_reader_panic(noise in any::<String>(), at in any::<prop::sample::Index>()) {
        let mut text = update(None, &sample()).unwrap();
        let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        text.insert_str(places[at.index(places.len())], &noise);
        let _ = read(&text).map_err(|error| assert!(error.line > 0 && error.column > 0));
    }
}
