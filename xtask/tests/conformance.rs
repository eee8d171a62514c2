//! The official conformance suites, against the fixture server bare and through the proxy: on one eager server nothing
//! may differ, deferred only what `xtask/conformance/differences.txt` names and explains.

#![allow(clippy::unwrap_used, reason = "a test says what is wrong by failing")]

use std::fs;
use std::process::Command;

use deadweight_testkit::client::Listening;
use deadweight_testkit::conformance::Served;
use xtask::conformance::{self, JULY_2026, JUNE_2025, LEGACY, NEWEST, NOVEMBER_2025, Suite};
use xtask::{place, test};

/// Every check of a suite passes against the bare server, or is skipped for one of these reasons.
fn bare(suite: Suite, checks: usize) {
    const SKIPPED: [&str; 2] = [
        // Skills are an extension that the fixture does not offer.
        "sep-2640-",
        // The suite's own scenario is not written yet.
        "tasks-status-notifications",
    ];
    let served = Served::start().unwrap();
    let results = conformance::run(suite, &served.url()).unwrap();
    for ((scenario, check, _), verdict) in &results {
        let may_skip = SKIPPED.iter().any(|prefix| scenario.starts_with(prefix));
        let fine = verdict.status == "SUCCESS" || (may_skip && verdict.status == "SKIPPED");
        assert!(fine, "{scenario}: {check}: {}: {}", verdict.status, verdict.why);
    }
    let passed = results.values().filter(|verdict| verdict.status == "SUCCESS").count();
    assert!(passed >= checks, "{passed} checks passed; {checks} did when this was written");
}

#[test]
fn bare_up_to_2025_11_25() {
    bare(LEGACY, 47);
}

#[test]
fn bare_newest_of_each_scenario() {
    bare(NEWEST, 234);
}

#[test]
fn bare_2025_06_18() {
    bare(JUNE_2025, 56);
}

#[test]
fn bare_2025_11_25() {
    bare(NOVEMBER_2025, 84);
}

#[test]
fn bare_2026_07_28() {
    bare(JULY_2026, 152);
}

/// What goes otherwise through the proxy than bare.
fn proxied(suite: Suite, surface: &str) -> Vec<String> {
    let served = Served::start().unwrap();
    let bare = conformance::run(suite, &served.url()).unwrap();
    let home =
        std::env::temp_dir().join(format!("deadweight-conformance-home-{}-{surface}", std::process::id()));
    fs::create_dir_all(&home).unwrap();
    let mut command = Command::new(test::deadweight().unwrap());
    command.args([
        "mcp",
        "--url",
        &served.url(),
        "--http",
        "127.0.0.1:0",
        "--surface",
        surface,
        "--schema-budget",
        "0",
    ]);
    command.env("HOME", &home).current_dir(&home);
    let proxy = Listening::start(&mut command).unwrap();
    let through = conformance::run(suite, proxy.url()).unwrap();
    drop(proxy);
    fs::remove_dir_all(&home).unwrap();
    conformance::differences(&bare, &through)
}

fn eager(suite: Suite) {
    assert_eq!(proxied(suite, "eager"), Vec::<String>::new(), "differences on one eager server");
}

#[test]
fn eager_up_to_2025_11_25() {
    eager(LEGACY);
}

#[test]
fn eager_newest_of_each_scenario() {
    eager(NEWEST);
}

#[test]
fn eager_2025_06_18() {
    eager(JUNE_2025);
}

#[test]
fn eager_2025_11_25() {
    eager(NOVEMBER_2025);
}

#[test]
fn eager_2026_07_28() {
    eager(JULY_2026);
}

/// Deferred, only what is explained differs: checks that look for a schema in the list.
fn stubs(suite: Suite) {
    let explained = fs::read_to_string(place::workspace().join("xtask/conformance/differences.txt")).unwrap();
    let explained: Vec<&str> =
        explained.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    let found = proxied(suite, "stubs");
    let unexplained: Vec<&String> =
        found.iter().filter(|line| !explained.iter().any(|prefix| line.starts_with(prefix))).collect();
    assert_eq!(
        unexplained,
        Vec::<&String>::new(),
        "differences that xtask/conformance/differences.txt does not name"
    );
}

#[test]
fn stubs_up_to_2025_11_25() {
    stubs(LEGACY);
}

#[test]
fn stubs_2025_11_25() {
    stubs(NOVEMBER_2025);
}

#[test]
fn stubs_2026_07_28() {
    stubs(JULY_2026);
}

#[test]
fn stubs_newest_of_each_scenario() {
    stubs(NEWEST);
}
