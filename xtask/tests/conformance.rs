//! The official conformance suites, against the fixture server bare and through the proxy: on one eager server nothing
//! may differ, on the other surfaces only what `xtask/conformance/differences.txt` names and explains.

#![allow(clippy::unwrap_used, reason = "a test says what is wrong by failing")]

use deadweight_testkit::conformance::Served;
use xtask::conformance::{self, JULY_2026, JUNE_2025, LEGACY, NEWEST, NOVEMBER_2025, Suite};

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
