//! `cargo xtask scorecard`: what each lever really does, measured in whole sessions and written down.

use std::fs;
use std::path::Path;

use crate::shell::{self, cargo};
use crate::{Context, Failure, Result, place, print, say};

/// The sessions that every change is tried on.
const FEW: usize = 20;
/// All that there are.
const ALL: usize = 200;
/// What is committed.
const FILES: [&str; 2] = ["scorecard.json", "SCORECARD.md"];

/// What `cargo xtask scorecard` can be told.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Write nothing; fail where the committed card is another one, or a bar is missed
    #[arg(long)]
    check: bool,
    /// Play all 200 sessions, print their card, and write nothing
    #[arg(long, conflicts_with = "check")]
    all: bool,
}

/// Makes the card.
///
/// # Errors
///
/// When it cannot be made; with `--check`, when it is not the committed one; with `--all`, when a bar is missed.
pub fn run(arguments: &Arguments) -> Result {
    let folder = place::target().join("scorecard");
    fs::create_dir_all(&folder).context("making a folder for the card")?;
    made(if arguments.all { ALL } else { FEW }, &folder)?;
    if arguments.all {
        let page = fs::read_to_string(folder.join("SCORECARD.md"))?;
        print(&page);
        return missed(&folder);
    }
    let mut other = Vec::new();
    for file in FILES {
        let (new, old) =
            (fs::read(folder.join(file))?, fs::read(place::workspace().join(file)).unwrap_or_default());
        if new == old {
            continue;
        }
        if !arguments.check {
            fs::write(place::workspace().join(file), &new).context(format_args!("writing {file}"))?;
            say(format_args!("{file} is written"));
        }
        other.push(file);
    }
    if arguments.check && !other.is_empty() {
        return Err(Failure::new(format!(
            "{}: not what happens now; cargo xtask scorecard makes it",
            other.join(", ")
        )));
    }
    missed(&folder)
}

/// Makes the card of so many sessions in a folder.
fn made(count: usize, folder: &Path) -> Result {
    let mut make = cargo();
    make.args(["run", "--locked", "--quiet", "--package", "deadweight-scorecard", "--example", "scorecard"]);
    // What takes long is worth a build of its own.
    make.args((count > FEW).then_some("--release"));
    make.arg("--").arg(count.to_string()).arg(folder);
    shell::run(&mut make).context("playing the sessions")
}

/// Whether every bar holds.
fn missed(folder: &Path) -> Result {
    let card: serde_json::Value = serde_json::from_slice(&fs::read(folder.join("scorecard.json"))?)?;
    let bars = card["bars"].as_array().into_iter().flatten().filter(|bar| bar["holds"] != true);
    let missed: Vec<String> = bars
        .map(|bar| {
            format!("{}: {}, asked {}", words(&bar["what"]), words(&bar["found"]), words(&bar["asked"]))
        })
        .collect();
    if missed.is_empty() { Ok(()) } else { Err(Failure::new(format!("missed: {}", missed.join("; ")))) }
}

fn words(value: &serde_json::Value) -> &str {
    value.as_str().unwrap_or_default()
}
