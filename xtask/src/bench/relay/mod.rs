//! The lazy proxy on standard streams: what it adds to a call, beside a bare byte relay and two other proxies; ten
//! thousand tools; two hundred calls under way; a hundred thousand calls.
//!
//! Everything is measured in one run on one machine, in turns, and told as medians and ratios.

mod contest;
mod large;
mod wire;

use std::fs;
use std::path::PathBuf;

use crate::shell::{self, cargo};
use crate::{Result, place, print, provision};

use super::{release, verdict};

/// The other proxies, as PyPI has them.
const OTHERS: [&str; 2] = ["fastmcp==4.2.3", "mcp-compressor==0.38.2"];

/// Bars, printed as something is held against them.
struct Bars {
    held: bool,
}

impl Bars {
    const fn new() -> Self {
        Self { held: true }
    }

    fn hold(&mut self, words: std::fmt::Arguments<'_>, holds: bool) {
        print(format_args!("  {words}: {}", verdict(holds)));
        self.held &= holds;
    }
}

/// The programs of a run.
struct Programs {
    deadweight: PathBuf,
    /// The scripted server, built as what is measured is.
    server: PathBuf,
    byte_relay: PathBuf,
    /// Where the other proxies are installed.
    others: PathBuf,
    /// For homes and settings.
    scratch: PathBuf,
}

pub(super) fn run() -> Result<bool> {
    let deadweight = release()?;
    let mut build = cargo();
    shell::run(build.args([
        "build",
        "--release",
        "--locked",
        "--quiet",
        "--package",
        "deadweight-testkit",
        "--bins",
    ]))?;
    let others =
        provision::kept_as(&format!("bench-proxies-{}", OTHERS.join("-").replace('=', "")), |folder| {
            provision::venv(folder, OTHERS)
        })?;
    let scratch = std::env::temp_dir().join(format!("deadweight-bench-relay-{}", std::process::id()));
    fs::create_dir_all(&scratch)?;
    let built = place::target().join("release");
    let programs = Programs {
        deadweight,
        server: built.join("scripted-mcp"),
        byte_relay: built.join("byte-relay"),
        others,
        scratch: scratch.clone(),
    };
    let held = [contest::run(&programs)?, large::run(&programs)?, contest::long(&programs)?];
    fs::remove_dir_all(&scratch)?;
    Ok(held.into_iter().all(|holds| holds))
}
