//! SARIF 2.1.0: one result a failed check, at the lock's line.

use super::failed;
use crate::reason::Reason;
use crate::report::Report;
use deadweight_lock::Level;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The report as SARIF. `lock` is the lock's path as the repository has it, `version` the program's.
pub fn sarif(report: &Report, lock: &str, version: &str) -> String {
    let reasons: BTreeSet<Reason> = failed(report).filter_map(|check| check.reason).collect();
    let rules: Vec<Value> = reasons
        .iter()
        .map(|reason| {
            json!({
                "id": reason.name(),
                "defaultConfiguration": {"level": level(reason.default_level())},
            })
        })
        .collect();
    let results: Vec<Value> = failed(report)
        .map(|check| {
            // Whole names: two that are cut to the same are two results.
            let about: Vec<&str> =
                [&check.subject.server, &check.subject.name].into_iter().flatten().map(String::as_str).collect();
            let name = check.reason.map_or("", |reason| reason.name());
            json!({
                "ruleId": name,
                "level": level(check.level),
                "message": {"text": check.message},
                "locations": [{"physicalLocation": {
                    "artifactLocation": {"uri": uri(lock)},
                    "region": {"startLine": check.line.unwrap_or(1)},
                }}],
                "partialFingerprints": {"deadweight/1": format!("{name} {} {}", check.surface.name(), about.join("/"))},
            })
        })
        .collect();
    let report = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {"name": "deadweight", "version": version, "rules": rules}},
            "results": results,
        }],
    });
    format!("{report:#}\n")
}

const fn level(level: Level) -> &'static str {
    match level {
        Level::Warn => "warning",
        Level::Error => "error",
    }
}

/// A relative path as a URI reference.
fn uri(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.replace('\\', "/").bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => {
                out.push(byte as char);
            }
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}
