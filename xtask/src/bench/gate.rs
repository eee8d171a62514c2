//! The whole command holding a dump against its lock, and pricing the same dump: what the gate adds.

use std::fs;
use std::process::Command;
use std::time::Duration;

use super::measure::{median, time};
use super::pricing::{TOOLS, dump};
use super::{millis, nothing, release, verdict};
use crate::{Result, place, print};

const RUNS: usize = 61;
/// How much longer than pricing the gate may take.
const BAR: Duration = Duration::from_millis(5);
const ESTIMATORS: [&str; 2] = ["calibrated", "o200k"];

pub(super) fn run() -> Result<bool> {
    let deadweight = release()?;
    let folder = place::target().join("bench-gate");
    fs::create_dir_all(&folder)?;
    let (dump, size) = dump(&folder)?;
    let lock = |estimator: &str| folder.join(format!("{estimator}.lock"));
    let price = |estimator: &str| {
        let mut command = Command::new(&deadweight);
        command.args(["footprint", "--json", "--estimator", estimator]).arg(&dump);
        command
    };
    let gate = |estimator: &str| {
        let mut command = Command::new(&deadweight);
        command.args(["gate", "--json", "--lock"]).arg(lock(estimator)).arg(&dump);
        command
    };
    for estimator in ESTIMATORS {
        // A lock of an earlier run is no part of this one.
        if lock(estimator).exists() {
            fs::remove_file(lock(estimator))?;
        }
        time(gate(estimator).args(["--update", "--allow-ci", "--estimator", estimator]))?;
    }
    // Every round runs each of them once, so that what else the machine does meets them alike.
    let mut times: Vec<[Vec<Duration>; 2]> = ESTIMATORS.iter().map(|_| Default::default()).collect();
    let mut floor = Vec::new();
    for _ in 0..RUNS {
        floor.push(time(&mut nothing(&deadweight))?);
        for (estimator, [priced, held]) in ESTIMATORS.iter().zip(&mut times) {
            priced.push(time(&mut price(estimator))?);
            held.push(time(&mut gate(estimator))?);
        }
    }
    print(format_args!(
        "holding a dump of {TOOLS} tools, {size} bytes, against its lock; whole process, medians of {RUNS} runs"
    ));
    print(format_args!("  {:12} {:>8.2} ms", "(--version)", millis(median(floor))));
    let mut all = true;
    for (estimator, [priced, held]) in ESTIMATORS.iter().zip(times) {
        let (priced, held) = (millis(median(priced)), millis(median(held)));
        let holds = held - priced <= millis(BAR);
        all &= holds;
        print(format_args!(
            "  {estimator:12} {priced:>8.2} ms priced, {held:.2} ms held: {:+.2} ms   {} {:.0} ms",
            held - priced,
            verdict(holds),
            millis(BAR)
        ));
    }
    Ok(all)
}
