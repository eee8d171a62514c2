//! Makes the card: of the sessions that every change is tried on, or of more. `cargo xtask scorecard` runs it.
//!
//! `scorecard COUNT FOLDER`: plays so many sessions, and writes `scorecard.json` and `SCORECARD.md` into the folder.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a chore that ends where it cannot go on")]

#[path = "../tests/sessions/gateway.rs"]
mod gateway;
#[path = "../tests/sessions/measure.rs"]
mod measure;
#[path = "../tests/sessions/optins.rs"]
mod optins;

use deadweight_scorecard::markdown;
use deadweight_testkit::sessions::set;
use std::path::PathBuf;

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let count = arguments.next().and_then(|count| count.parse().ok()).unwrap_or(20);
    let folder = PathBuf::from(arguments.next().unwrap_or_else(|| ".".to_owned()));
    let card = measure::measured(&set(count))?;
    let mut json = serde_json::to_string_pretty(&card)?;
    json.push('\n');
    std::fs::write(folder.join("scorecard.json"), json)?;
    std::fs::write(folder.join("SCORECARD.md"), markdown::page(&card))
}
