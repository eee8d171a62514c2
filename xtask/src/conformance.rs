//! The official conformance suites of MCP, run against a server, and their results held against each other.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

use crate::{Context, Failure, Result, provision};

/// A run of one suite: every scenario, or those of one version of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Suite {
    /// The suite's name in `xtask/conformance`.
    program: &'static str,
    /// The version to which it is held; each scenario's own newest if `None`.
    version: Option<&'static str>,
}

/// The suite that knows the legacy era, up to 2025-11-25.
pub const LEGACY: Suite = Suite { program: "conformance-0.1.16", version: None };
/// The suite that knows both eras, with the extensions.
pub const NEWEST: Suite = Suite { program: "conformance-0.2.0", version: None };
/// Its scenarios as 2025-06-18 has them.
pub const JUNE_2025: Suite = Suite { program: "conformance-0.2.0", version: Some("2025-06-18") };
/// Its scenarios as 2025-11-25 has them.
pub const NOVEMBER_2025: Suite = Suite { program: "conformance-0.2.0", version: Some("2025-11-25") };
/// Its scenarios as 2026-07-28 has them.
pub const JULY_2026: Suite = Suite { program: "conformance-0.2.0", version: Some("2026-07-28") };

/// What a suite logs beside its checks.
const LOG: [&str; 4] = ["outgoing-request", "incoming-response", "incoming-sse-event", "stream-closed"];

/// One check: the scenario, the check, and which of several checks of that name it is.
pub type Check = (String, String, usize);

/// How a check went.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Verdict {
    /// `SUCCESS`, `FAILURE`, `WARNING`, `SKIPPED`; what is for information only counts as `SUCCESS`.
    pub status: String,
    /// What the suite says about it.
    pub why: String,
}

/// How every check of a run went.
pub type Results = BTreeMap<Check, Verdict>;

/// Runs a suite against the server at `url`.
///
/// # Errors
///
/// When the suite cannot be installed, does not run, or leaves no results.
pub fn run(suite: Suite, url: &str) -> Result<Results> {
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    let suites = provision::suites()?;
    let number = RUNS.fetch_add(1, Ordering::SeqCst);
    let folder = std::env::temp_dir().join(format!("deadweight-conformance-{}-{number}", std::process::id()));
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    let mut command = Command::new(suites.node());
    command.arg(suites.program(suite.program)).args(["server", "--url", url, "--suite", "all", "-o"]);
    command.arg(&folder).current_dir(&folder).stdin(Stdio::null());
    if let Some(version) = suite.version {
        command.args(["--spec-version", version]);
    }
    // It fails when a check does; which ones is read from what it leaves.
    let output = command.output().context("the conformance suite does not start")?;
    let results = read(&folder)?;
    if results.is_empty() {
        let told = String::from_utf8_lossy(&output.stderr);
        return Err(Failure::new(format!("the conformance suite leaves no results:\n{told}")));
    }
    fs::remove_dir_all(&folder)?;
    Ok(results)
}

fn read(folder: &Path) -> Result<Results> {
    let mut results = Results::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        // `server-SCENARIO-2026-11-30T21-55-06-487Z`
        let scenario = name.strip_prefix("server-").unwrap_or(&name);
        let scenario = scenario.get(..scenario.len().saturating_sub(25)).unwrap_or_default();
        let Ok(text) = fs::read_to_string(entry.path().join("checks.json")) else { continue };
        let checks: Value = serde_json::from_str(&text).context("a suite's results")?;
        for check in checks.as_array().into_iter().flatten() {
            let word = |name: &str| check[name].as_str().unwrap_or_default().to_owned();
            if LOG.contains(&word("id").as_str()) {
                continue;
            }
            let id = format!("{} {}", word("id"), word("name"));
            let status = if check["status"] == "INFO" { "SUCCESS".to_owned() } else { word("status") };
            let count = results
                .range((scenario.to_owned(), id.clone(), 0)..)
                .take_while(|((s, c, _), _)| s == scenario && *c == id)
                .count();
            let why = word("errorMessage");
            results.insert((scenario.to_owned(), id, count), Verdict { status, why });
        }
    }
    Ok(results)
}

/// The checks that went otherwise in `other` than in `base`, those that only one of them has among them, one a line.
pub fn differences(base: &Results, other: &Results) -> Vec<String> {
    let mut lines = Vec::new();
    for check in base.keys().chain(other.keys().filter(|check| !base.contains_key(*check))) {
        let (before, after) = (base.get(check), other.get(check));
        let status = |verdict: Option<&Verdict>| {
            verdict.map_or("absent", |verdict| verdict.status.as_str()).to_owned()
        };
        if status(before) != status(after) {
            let (scenario, id, count) = check;
            let why = after.or(before).map(|verdict| verdict.why.as_str()).unwrap_or_default();
            let number = if *count == 0 { String::new() } else { format!(" ({})", count + 1) };
            lines.push(format!("{scenario}: {id}{number}: {} -> {}: {why}", status(before), status(after)));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results(checks: &[(&str, &str)]) -> Results {
        let verdict = |status: &&str| Verdict { status: (*status).to_owned(), why: "because".to_owned() };
        checks.iter().map(|(id, status)| (("s".to_owned(), (*id).to_owned(), 0), verdict(status))).collect()
    }

    #[test]
    fn every_kind_of_difference_is_told() {
        let base = results(&[("a", "SUCCESS"), ("b", "SUCCESS"), ("c", "SUCCESS")]);
        let other = results(&[("a", "SUCCESS"), ("b", "FAILURE"), ("d", "SUCCESS")]);
        assert_eq!(
            differences(&base, &other),
            [
                "s: b: SUCCESS -> FAILURE: because",
                "s: c: SUCCESS -> absent: because",
                "s: d: absent -> SUCCESS: because"
            ]
        );
        assert_eq!(differences(&base, &base), Vec::<String>::new());
    }
}
