//! Three real MCP servers, installed with exact versions and priced by the real command.
//!
//! What a server costs depends on what it is installed with: with these pins (`xtask/servers`) the first two write their
//! schemas with zod 3, which leaves out most parameters' descriptions in the one and adds `additionalProperties` in the
//! other. Installed alone, with zod 4, `everything` has 4,368 bytes instead of 3,434 and `filesystem` 7,370 instead of
//! 7,776.
//!
//! The expected figures were taken on 2026-11-30 from what these versions returned over stdio: `bytes` is name +
//! description + compact `inputSchema`, `tokens` is `o200k_base` over the same three with a newline between them,
//! summed over the tools, counted by an independent tokenizer.

#![allow(clippy::unwrap_used, reason = "a test says what is wrong by failing")]

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;
use xtask::{provision, test};

struct Expected {
    tools: u64,
    bytes: u64,
    o200k: u64,
}

/// Runs `deadweight footprint --json` on a server and gives its report.
fn footprint(server: PathBuf, arguments: &[&str], estimator: &str) -> Value {
    let output = Command::new(test::deadweight().unwrap())
        .args(["footprint", "--json", "--estimator", estimator, "--"])
        .arg(server)
        .args(arguments)
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{told}", output.status);
    serde_json::from_slice(&output.stdout).unwrap()
}

fn holds(server: PathBuf, arguments: &[&str], expected: &Expected) {
    let report = footprint(server, arguments, "o200k");
    assert_eq!(report["schema"], "deadweight/footprint/1");
    assert_eq!(report["provenance"]["kind"], "ESTIMATED");
    assert_eq!(report["failures"], Value::Array(Vec::new()));
    let got = ["tool_count", "floor_bytes", "floor_tokens"].map(|name| report[name].as_u64().unwrap());
    assert_eq!(got, [expected.tools, expected.bytes, expected.o200k], "tools, bytes, o200k tokens");
    let tools = report["tools"].as_array().unwrap();
    let sum = |name: &str| tools.iter().map(|tool| tool[name].as_u64().unwrap()).sum::<u64>();
    assert_eq!([sum("bytes"), sum("tokens")], [expected.bytes, expected.o200k], "sums over the tools");
}

#[test]
fn server_everything_2026_8_31() {
    let server = provision::servers().unwrap().npm("mcp-server-everything");
    holds(server.clone(), &[], &Expected { tools: 13, bytes: 3_434, o200k: 809 });
    // The default estimator: 9 bytes of a definition are 2 tokens, rounded down.
    let report = footprint(server, &[], "calibrated");
    assert_eq!(report["floor_tokens"], 3_434 * 2 / 9);
}

#[test]
fn server_filesystem_2026_8_31() {
    let server = provision::servers().unwrap().npm("mcp-server-filesystem");
    let folder = std::env::temp_dir();
    holds(server, &[folder.to_str().unwrap()], &Expected { tools: 14, bytes: 7_776, o200k: 1_637 });
}

#[test]
fn mcp_server_time_2026_10_19() {
    let server = provision::servers().unwrap().python("mcp-server-time");
    holds(server, &["--local-timezone=UTC"], &Expected { tools: 2, bytes: 1_044, o200k: 245 });
}
