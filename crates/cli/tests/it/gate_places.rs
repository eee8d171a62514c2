//! Locks in odd places and odd forms: folders, links, worktrees, moves, and what happens while servers are asked.

use crate::gate::{HOUSE, git, house, pinned, tools, with_lock};
use crate::sandbox::{Sandbox, server};
use deadweight_testkit::scripted_mcp::http::ScriptedHttp;
use serde_json::json;
use std::path::Path;

fn lock(sandbox: &Sandbox) -> String {
    std::fs::read_to_string(sandbox.path().join("deadweight.lock")).unwrap()
}

/// What a run may not end with, told with the run.
fn ends(run: &str, code: u8, with: &str) {
    assert!(run.starts_with(&format!("exit: {code}\n")) && run.contains(with), "{code}, {with}: {run}");
}

fn committed(sandbox: &Sandbox) {
    git(sandbox, &["init", "-q"]);
    git(sandbox, &["add", "-A"]);
    git(sandbox, &["commit", "-q", "-m", "pinned"]);
}

/// A project in `packages/house`, pinned.
fn monorepo() -> Sandbox {
    let sandbox =
        Sandbox::new().file("packages/house/house.json", tools(&HOUSE)).file("README.md", "# All\n");
    ends(&sandbox.run(&["gate", "-C", "packages/house", "--update", "house.json"]), 0, "WROTE");
    sandbox
}

/// The reason, and with it the slack, is gone: a review refuses.
fn loosened(sandbox: Sandbox, path: &str) -> Sandbox {
    let text = std::fs::read_to_string(sandbox.path().join(path)).unwrap();
    sandbox.file(path, text.replace("floor = 250", "floor = 900"))
}

#[test]
fn a_lock_in_a_subfolder_is_reviewed_and_annotated_where_it_is() {
    let sandbox = monorepo();
    committed(&sandbox);
    let sandbox = loosened(sandbox, "packages/house/deadweight.lock");
    ends(&sandbox.run(&["gate", "-C", "packages/house", "--base", "HEAD"]), 1, "RAISE_WITHOUT_CAUSE");
    ends(
        &sandbox.run(&["gate", "--lock", "packages/house/deadweight.lock", "--base", "HEAD"]),
        1,
        "`slack.floor`",
    );
    // Annotations and SARIF name it from the root of the repository.
    let place = "packages/house/deadweight.lock";
    for form in ["github", "sarif"] {
        ends(&sandbox.run(&["gate", "-C", "packages/house", "--base", "HEAD", "--format", form]), 1, place);
    }
    let workspace = sandbox.path().to_str().unwrap().to_owned();
    let sandbox = sandbox.env("GITHUB_ACTIONS", "true").env("GITHUB_WORKSPACE", &workspace);
    for format in ["text", "github"] {
        let run = sandbox.run(&["gate", "-C", "packages/house", "--base", "HEAD", "--format", format]);
        ends(&run, 1, "::error file=packages/house/deadweight.lock,line=");
        let run = sandbox.run(&[
            "gate",
            "-C",
            "packages",
            "--lock",
            "../packages/house/deadweight.lock",
            "--base",
            "HEAD",
        ]);
        ends(&run, 1, "::error file=packages/house/deadweight.lock,line=");
    }
}

#[test]
fn a_lock_that_was_moved_is_not_a_first_lock() {
    let sandbox = monorepo();
    committed(&sandbox);
    git(&sandbox, &["mv", "packages/house", "packages/home"]);
    let sandbox = loosened(sandbox, "packages/home/deadweight.lock");
    git(&sandbox, &["add", "-A"]);
    ends(&sandbox.run(&["gate", "-C", "packages/home", "--base", "HEAD"]), 1, "`slack.floor`");
    // As git words a file at a revision.
    let base = "HEAD:packages/house/deadweight.lock";
    ends(&sandbox.run(&["gate", "-C", "packages/home", "--base", base]), 1, "`slack.floor`");
    ends(&sandbox.run(&["gate", "-C", "packages/home", "--base", "HEAD:nowhere.lock"]), 3, "no lock there");
    ends(&sandbox.run(&["gate", "-C", "packages/home", "--base", "HEAD:README.md"]), 3, "HEAD:README.md:1:");
}

#[test]
fn odd_revisions_are_told_and_nothing_is_run_by_them() {
    let sandbox = pinned();
    committed(&sandbox);
    for base in
        [" ", "HEAD~9", "--help", "-C/", "HEAD..HEAD", ":", ":/nothing", "@{99}", "HEAD^{tree}", "a\nb", "🏠"]
    {
        let run = sandbox.run(&["gate", &format!("--base={base}")]);
        ends(&run, 3, "error: ");
        assert!(!run.contains("usage"), "{base}: {run}");
    }
    for base in
        ["HEAD", "@", "HEAD^{commit}", "HEAD:deadweight.lock", "HEAD:./deadweight.lock", "deadweight.lock"]
    {
        ends(&sandbox.run(&["gate", &format!("--base={base}")]), 0, "HOLDS");
    }
    ends(&sandbox.run(&["gate", "--base", "HEAD^{/pinned}"]), 0, "HOLDS");
}

#[test]
fn a_worktree_of_its_own_is_reviewed_like_any() {
    let sandbox = pinned();
    committed(&sandbox);
    git(&sandbox, &["worktree", "add", "-q", "-b", "other", "other"]);
    ends(&sandbox.run(&["gate", "-C", "other", "--base", "HEAD"]), 0, "HOLDS");
    let sandbox = loosened(sandbox, "other/deadweight.lock");
    ends(&sandbox.run(&["gate", "-C", "other", "--base", "HEAD"]), 1, "`slack.floor`");
}

#[cfg(unix)]
#[test]
fn a_link_stays_a_link_and_what_it_leads_to_is_meant() {
    use std::os::unix::fs::symlink;
    let sandbox = Sandbox::new().file("house.json", tools(&HOUSE)).file("locks/keep", "");
    let path = sandbox.path().join("deadweight.lock");
    let is_link = || path.symlink_metadata().unwrap().is_symlink();
    symlink("locks/shared.lock", &path).unwrap();
    ends(&sandbox.run(&["gate", "house.json"]), 3, "no lock");
    ends(&sandbox.run(&["gate", "--update", "house.json"]), 0, "WROTE");
    assert!(is_link() && sandbox.path().join("locks/shared.lock").is_file());
    committed(&sandbox);
    ends(&sandbox.run(&["gate", "--base", "HEAD"]), 0, "HOLDS");
    let sandbox = sandbox.file("house.json", tools(&HOUSE[..2]));
    ends(&sandbox.run(&["gate", "--update", "house.json"]), 0, "WROTE");
    assert!(is_link());
    let sandbox = loosened(sandbox, "locks/shared.lock");
    ends(&sandbox.run(&["gate", "--base", "HEAD"]), 1, "`slack.floor`");
}

#[test]
fn places_that_cannot_be_a_lock_are_told_and_nothing_is_left_behind() {
    let sandbox = Sandbox::new().file("house.json", tools(&HOUSE)).file("folder/x", "");
    let names = |path: &Path| std::fs::read_dir(path).unwrap().count();
    let before = names(sandbox.path());
    for (lock, said) in [
        ("folder", "could not be read"),
        ("house.json/x", "could not be read"),
        ("none/x.lock", "could not be written"),
    ] {
        let run = sandbox.run(&["gate", "--update", "--lock", lock, "house.json"]);
        ends(&run, 3, said);
        assert!(run.contains("try "), "{run}");
    }
    assert_eq!((names(sandbox.path()), names(&sandbox.path().join("folder"))), (before, 1));
    // Nor where everything can be read and nothing be written.
    if !Path::new("/proc/self").is_dir() {
        return;
    }
    ends(
        &sandbox.run(&["gate", "--update", "--lock", "/proc/deadweight.lock", "house.json"]),
        3,
        "could not be written",
    );
}

#[test]
fn what_somebody_else_wrote_meanwhile_is_not_written_over() {
    // The server itself changes the lock while it is asked.
    let line = format!("printf '# mine\\n' >> deadweight.lock; exec {} @s.json", server());
    let sandbox = Sandbox::new().script("s.json", &house("x"));
    let args = ["--name", "house", "--", "sh", "-c", &line];
    ends(&sandbox.run(&[&["gate", "--update"], &args[..]].concat()), 3, "was changed while");
    assert_eq!(lock(&sandbox), "# mine\n");
    let sandbox = with_lock(pinned(), "[slack]", "[slack]").script("s.json", &house("x"));
    let before = lock(&sandbox);
    ends(&sandbox.run(&[&["gate", "--update", "--reason", "y"], &args[..]].concat()), 3, "was changed while");
    assert_eq!(lock(&sandbox), before + "# mine\n");
    assert!(
        std::fs::read_dir(sandbox.path())
            .unwrap()
            .all(|entry| { !entry.unwrap().file_name().to_str().unwrap().starts_with(".deadweight") })
    );
}

#[test]
fn two_updates_at_once_leave_one_whole_lock() {
    let sandbox = Sandbox::new().file("house.json", tools(&HOUSE));
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| sandbox.run(&["gate", "--update", "house.json"]));
        }
    });
    ends(&sandbox.run(&["gate", "house.json"]), 0, "HOLDS");
    assert_eq!(std::fs::read_dir(sandbox.path()).unwrap().count(), 2, "no drafts stay");
}

#[test]
fn locks_of_other_editors_are_read_and_keep_their_form() {
    for form in [
        |text: &str| text.replace('\n', "\r\n"),
        |text: &str| format!("\u{feff}{text}"),
        |text: &str| format!("\u{feff}{}", text.replace('\n', "\r\n")),
        |text: &str| text.replace(" = ", "\t=\t"),
        |text: &str| text.replace("\n\n", "\n\n# said by a person\n\n"),
        |text: &str| text.trim_end().to_owned(),
    ] {
        let sandbox = pinned();
        let text = form(&lock(&sandbox));
        let sandbox = sandbox.file("deadweight.lock", &text);
        ends(&sandbox.run(&["gate", "house.json"]), 0, "HOLDS");
        ends(&sandbox.run(&["gate", "--update", "house.json"]), 0, "deadweight.lock");
        assert_eq!(lock(&sandbox).trim_end(), text.trim_end());
    }
}

#[test]
fn a_server_that_is_switched_off_is_not_measured_and_keeps_its_policy() {
    let config = |off: bool| {
        json!({"mcpServers": {
            "house": {"command": server(), "args": ["@s.json"]},
            "shed": {"command": server(), "args": ["@s.json"], "disabled": off},
        }})
        .to_string()
    };
    let sandbox = Sandbox::new().script("s.json", &house("x")).file(".mcp.json", config(false));
    ends(&sandbox.run(&["gate", "--update"]), 0, "WROTE");
    let sandbox = with_lock(sandbox, "[tool.shed.open_door]\n", "[tool.shed.open_door]\ndeny = \"never\"\n");
    let sandbox = sandbox.file(".mcp.json", config(true));
    ends(&sandbox.run(&["gate"]), 3, "`shed`");
    ends(&sandbox.run(&["gate", "--only", "house"]), 0, "HOLDS");
    ends(&sandbox.run(&["gate", "--update"]), 0, "WROTE");
    assert!(lock(&sandbox).contains("[tool.shed.open_door]\ndeny = \"never\"\n"), "{}", lock(&sandbox));
    ends(&sandbox.run(&["gate"]), 0, "HOLDS");
    let sandbox = sandbox.file(".mcp.json", config(false));
    ends(&sandbox.run(&["gate", "--update", "--reason", "the shed is back"]), 0, "WROTE");
    assert!(lock(&sandbox).contains("deny = \"never\""), "{}", lock(&sandbox));
}

#[test]
fn no_key_in_a_url_gets_into_the_lock() {
    let served = ScriptedHttp::start(house("x")).unwrap();
    let key = "hunter2-s3cr3t";
    for (path, variable) in [("/mcp?key=hunter2-s3cr3t", ""), ("/mcp?key=${HOUSE_KEY}", key)] {
        let url = served.at(path).replace("http://", "http://hunter2:s3cr3t@");
        let config = json!({"mcpServers": {"house": {"type": "http", "url": url, "headers": {"Authorization": format!("Bearer {key}")}}}});
        let sandbox = Sandbox::new().file(".mcp.json", config.to_string()).env("HOUSE_KEY", variable);
        let run = sandbox.run(&["gate", "--update", "--verbose"]);
        ends(&run, 0, "WROTE");
        let text = lock(&sandbox);
        assert!(text.contains("source = \"http://127.0.0.1:"), "{text}");
        assert!(!text.contains("hunter2") && !text.contains("s3cr3t"), "{text}");
        ends(&sandbox.run(&["gate"]), 0, "HOLDS");
    }
}

#[test]
fn a_lock_without_tools_says_that_it_holds() {
    let sandbox = Sandbox::new().file("CLAUDE.md", "# House\n\nRules.\n");
    ends(&sandbox.run(&["gate", "--update"]), 0, "1 text");
    committed(&sandbox);
    ends(&sandbox.run(&["gate", "--base", "HEAD"]), 0, "HOLDS  every raise says why");
    let empty = Sandbox::new().file("none.json", r#"{"tools": []}"#);
    ends(&empty.run(&["gate", "--update", "none.json"]), 0, "0 tools");
    ends(&empty.run(&["gate", "none.json"]), 0, "HOLDS  nothing is carried");
}
