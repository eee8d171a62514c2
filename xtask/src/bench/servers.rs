//! Twenty servers that take their time, asked at once, against the slowest of them asked alone.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use deadweight_testkit::scripted_mcp::{Act, Script, path};
use serde_json::{Map, Value, json};

use super::measure::{median, time};
use super::{millis, release, verdict};
use crate::{Result, place, print};

const SERVERS: u64 = 20;
/// The servers sleep 1, 2, … 20 times as long before they answer.
const STEP: u64 = 50;
const RUNS: usize = 9;
/// How much longer all may take than the slowest alone.
const BAR: f64 = 1.2;

pub(super) fn run() -> Result<bool> {
    let deadweight = release()?;
    let all = config("all", 1..=SERVERS)?;
    let slowest = config("slowest", SERVERS..=SERVERS)?;
    let (mut of_all, mut of_slowest) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        of_slowest.push(time(&mut ask(&deadweight, &slowest))?);
        of_all.push(time(&mut ask(&deadweight, &all))?);
    }
    let (all, slowest) = (median(of_all), median(of_slowest));
    let ratio = all.as_secs_f64() / slowest.as_secs_f64();
    print(format_args!(
        "asking {SERVERS} servers that sleep {STEP} to {} ms; medians of {RUNS} runs",
        SERVERS * STEP
    ));
    print(format_args!("  the slowest alone {:>8.1} ms", millis(slowest)));
    print(format_args!(
        "  all {SERVERS}            {:>8.1} ms   {ratio:.2} times; {} {BAR}",
        millis(all),
        verdict(ratio <= BAR)
    ));
    Ok(ratio <= BAR)
}

fn ask(deadweight: &Path, config: &Path) -> Command {
    let mut command = Command::new(deadweight);
    command.args(["footprint", "--json"]).arg(config);
    command
}

/// A configuration that names the servers of these numbers.
fn config(name: &str, numbers: impl Iterator<Item = u64>) -> Result<PathBuf> {
    let mut servers = Map::new();
    for number in numbers {
        let label = format!("sleeper-{number}");
        let script =
            Script::named(&label).tool("echo").on("initialize", [Act::Sleep(number * STEP), Act::Proceed]);
        servers.insert(label, json!({ "command": path(), "args": [script.to_json()] }));
    }
    let file = place::target().join(format!("bench-{name}.mcp.json"));
    fs::write(&file, json!({ "mcpServers": Value::Object(servers) }).to_string())?;
    Ok(file)
}
