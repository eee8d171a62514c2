//! Ten thousand tools: listed as stubs, and searched behind an aggregate.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use deadweight_testkit::processes;
use deadweight_testkit::scripted_mcp::{Generate, Page, Script};
use serde_json::json;

use super::super::millis;
use super::wire::Wire;
use super::{Bars, Programs};
use crate::{Context, Result, print};

const TOOLS: usize = 10_000;
const DESCRIPTION: usize = 300;
/// So many that a list which is asked for anew, once a second from a server that tells of no changes, stays one in hundreds.
const ASKED: usize = 2000;

/// Bars: indexed within, in milliseconds; a search and a list at the 99th percentile, in milliseconds; memory in bytes.
const INDEXED: f64 = 1000.0;
const SEARCHED: f64 = 5.0;
const LISTED: f64 = 5.0;
const MEMORY: u64 = 80_000_000;

fn last(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times.get(times.len() * 99 / 100).copied().map_or(0.0, millis)
}

pub(super) fn run(programs: &Programs) -> Result<bool> {
    let script = Script {
        pages: vec![Page {
            generate: Some(Generate { tools: TOOLS, description: DESCRIPTION }),
            ..Page::default()
        }],
        ..Script::named("bench-large")
    };
    let server = json!({ "command": programs.server, "args": [script.to_json()] });
    let config = programs.scratch.join("large.mcp.json");
    fs::write(&config, json!({ "mcpServers": { "large": server } }).to_string())?;

    let start = |flags: &[&str]| {
        let mut command = Command::new(&programs.deadweight);
        command.arg("mcp").args(flags).env("HOME", &programs.scratch).current_dir(&programs.scratch);
        command
    };
    let mut command = start(&["--surface", "stubs", "--"]);
    let mut wire = Wire::start(command.arg(&programs.server).arg(script.to_json()), "bench")?;
    wire.request("tools/list", &json!({})).context("the first list")?;
    let mut times = Vec::new();
    for _ in 0..ASKED {
        times.push(wire.time("tools/list", &json!({}), "made_up_9999")?);
    }
    let listed = last(times);
    let stubs_memory = processes::most_resident(wire.id());
    drop(wire);

    let mut command = start(&["--surface", "search", "--config"]);
    let mut wire = Wire::start(command.arg(&config), "bench")?;
    wire.request("tools/list", &json!({})).context("the list of an aggregate")?;
    let search = |words: &str| json!({ "name": "search_tools", "arguments": { "query": words } });
    let begun = Instant::now();
    wire.request("tools/call", &search("work and play")).context("the first search")?;
    let indexed = millis(begun.elapsed());
    let mut times = Vec::new();
    for number in 0..ASKED {
        times.push(wire.time("tools/call", &search(&format!("made up {} work", number * 37)), "made_up")?);
    }
    let searched = last(times);
    let memory = processes::most_resident(wire.id());

    print(format_args!(
        "{TOOLS} tools with descriptions of {DESCRIPTION} bytes, {ASKED} requests each, from outside"
    ));
    let mut bars = Bars::new();
    bars.hold(
        format_args!("first search, with the index made for it: {indexed:.0} ms, under {INDEXED:.0}"),
        indexed < INDEXED,
    );
    bars.hold(
        format_args!("a search, 99th percentile: {searched:.2} ms, under {SEARCHED}"),
        searched < SEARCHED,
    );
    bars.hold(
        format_args!("a list of stubs, 99th percentile: {listed:.2} ms, under {LISTED}"),
        listed < LISTED,
    );
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    bars.hold(
        format_args!(
            "memory at most: {:.1} MB with search, {:.1} MB with stubs, under 80",
            megabytes(memory),
            megabytes(stubs_memory)
        ),
        memory.max(stubs_memory) < MEMORY,
    );
    Ok(bars.held)
}
