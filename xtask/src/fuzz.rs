//! `cargo xtask fuzz`: the fuzz targets, each for a while.
//!
//! They run on the stable toolchain: libFuzzer needs two unstable compiler flags, which `RUSTC_BOOTSTRAP=1` opens for
//! this build alone. What a run finds is kept in the user's cache and grown from there; only the seeds are committed.

use std::fs;
use std::path::{Path, PathBuf};

use crate::shell::{self, cargo};
use crate::{Context, Failure, Result, place, tools};

/// What `cargo xtask fuzz` can be told.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The target to run; all of them when none is named
    target: Option<String>,
    /// How long each target runs
    #[arg(long, default_value_t = 60)]
    seconds: u32,
}

/// Runs every target for a while, from the committed seeds alone and by the same dice each time: what a change
/// must pass does not depend on luck. New ground is for `cargo xtask fuzz`.
///
/// # Errors
///
/// When one does not build, or finds an input that breaks a law.
pub fn rehearse(seconds: u32) -> Result {
    tools::ensure(&[tools::FUZZ])?;
    for target in targets()? {
        let corpus = place::target().join("fuzz-rehearsal").join(&target);
        if corpus.exists() {
            fs::remove_dir_all(&corpus)?;
        }
        let dice = ["-seed=1".to_owned(), format!("-runs={REHEARSED}"), format!("-max_total_time={seconds}")];
        one(&target, &corpus, &dice).context(format_args!("fuzz target {target}"))?;
    }
    Ok(())
}

/// How many inputs a rehearsal tries at most.
const REHEARSED: u32 = 20_000;

/// Runs the fuzz targets.
///
/// # Errors
///
/// When one does not build, or finds an input that breaks a law: the input's path is then the last thing printed.
pub fn run(arguments: &Arguments) -> Result {
    tools::ensure(&[tools::FUZZ])?;
    let all = targets()?;
    let chosen = match &arguments.target {
        None => all,
        Some(name) if all.contains(name) => vec![name.clone()],
        Some(name) => {
            return Err(Failure::new(format!("no fuzz target `{name}`; there are: {}", all.join(", "))));
        }
    };
    for target in &chosen {
        let corpus = place::cache("fuzz")?.join(target);
        one(target, &corpus, &[format!("-max_total_time={}", arguments.seconds)])
            .context(format_args!("fuzz target {target}"))?;
    }
    Ok(())
}

fn one(target: &str, corpus: &Path, limits: &[String]) -> Result {
    let seeds = place::workspace().join("fuzz/seeds").join(target);
    fs::create_dir_all(corpus)?;
    let mut fuzz = cargo();
    fuzz.env("RUSTC_BOOTSTRAP", "1").env("CARGO_TARGET_DIR", place::target().join("fuzz"));
    fuzz.args(["fuzz", "run", "--fuzz-dir", "fuzz", target]).arg(corpus).arg(&seeds);
    // Limits that a slow or greedy input breaks; the log is kept short.
    fuzz.args([
        "--",
        "-timeout=10",
        "-rss_limit_mb=2048",
        "-max_len=16384",
        "-print_final_stats=1",
        "-verbosity=0",
    ]);
    fuzz.args(limits);
    shell::run(&mut fuzz)
}

/// The names of the targets: the files of `fuzz/targets`.
fn targets() -> Result<Vec<String>> {
    let folder = place::workspace().join("fuzz/targets");
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder).context(format_args!("cannot read {}", folder.display()))? {
        let path: PathBuf = entry?.path();
        if path.extension().is_some_and(|extension| extension == "rs") {
            names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
        }
    }
    names.sort();
    Ok(names)
}
