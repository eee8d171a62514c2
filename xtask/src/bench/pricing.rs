//! The whole command pricing a generated dump of 200 tools: what a person waits for, and what it needs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use deadweight_testkit::layouts::text::{prose, tool};
use serde_json::{Value, json};

use super::measure::{median, peak_memory, time};
use super::{millis, nothing, release, verdict};
use crate::{Result, place, print};

pub(super) const TOOLS: usize = 200;
const RUNS: usize = 41;
const MIB: u64 = 1 << 20;

/// What one estimator may take for it.
struct Bar {
    estimator: &'static str,
    time: Duration,
    memory: u64,
}

const BARS: [Bar; 2] = [
    Bar { estimator: "calibrated", time: Duration::from_millis(15), memory: 60 * MIB },
    // Most of it is loading the vocabulary.
    Bar { estimator: "o200k", time: Duration::from_millis(150), memory: 60 * MIB },
];

pub(super) fn run() -> Result<bool> {
    let deadweight = release()?;
    let (dump, size) = dump(&place::target())?;
    let command = |estimator: &str| {
        let mut command = Command::new(&deadweight);
        command.args(["footprint", "--json", "--estimator", estimator]).arg(&dump);
        command
    };
    // Every round runs each of them once, so that what else the machine does meets them alike.
    let mut times: Vec<Vec<Duration>> = BARS.iter().map(|_| Vec::new()).collect();
    let mut floor = Vec::new();
    for _ in 0..RUNS {
        floor.push(time(&mut nothing(&deadweight))?);
        for (bar, times) in BARS.iter().zip(&mut times) {
            times.push(time(&mut command(bar.estimator))?);
        }
    }
    print(format_args!(
        "pricing a dump of {TOOLS} tools, {} bytes; whole process, medians of {RUNS} runs",
        size
    ));
    let fastest = |times: &[Duration]| millis(times.iter().min().copied().unwrap_or_default());
    print(format_args!("  {:12} {:>9} {:>9} {:>10}", "", "median", "fastest", "memory"));
    let quickest = fastest(&floor);
    print(format_args!("  {:12} {:>6.2} ms {:>6.2} ms", "(--version)", millis(median(floor)), quickest));
    let mut held = true;
    for (bar, times) in BARS.iter().zip(times) {
        let quickest = fastest(&times);
        let (took, memory) = (median(times), peak_memory(&command(bar.estimator))?);
        let holds = took < bar.time && memory < bar.memory;
        held &= holds;
        print(format_args!(
            "  {:12} {:>6.2} ms {:>6.2} ms {:>6.1} MiB   {} {:.0} ms and {} MiB",
            bar.estimator,
            millis(took),
            quickest,
            memory as f64 / MIB as f64,
            verdict(holds),
            millis(bar.time),
            bar.memory / MIB
        ));
    }
    Ok(held)
}

/// Writes a dump of [`TOOLS`] tools into `folder`; answers with its path and size in bytes.
pub(super) fn dump(folder: &Path) -> Result<(PathBuf, usize)> {
    let path = folder.join("bench-dump.json");
    let bytes = json!({ "tools": (0..TOOLS).map(definition).collect::<Vec<_>>() }).to_string();
    fs::write(&path, &bytes)?;
    Ok((path, bytes.len()))
}

/// A definition of the size that real ones have: about a kilobyte.
fn definition(at: usize) -> Value {
    let text = tool(7, at);
    let description = format!("{}\n\n{}", text.description, prose(at as u64, 400));
    json!({ "name": text.name, "description": description, "inputSchema": text.schema })
}
