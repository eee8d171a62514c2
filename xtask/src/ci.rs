//! `cargo xtask ci`: every check that a change must pass, the quick ones first.

use std::time::Instant;

use crate::shell::{self, cargo};
use crate::{Result, length, place, say, test, tools};

/// Runs all steps; the first that fails ends the run.
///
/// # Errors
///
/// What the failing step says.
pub fn run() -> Result {
    let begun = Instant::now();
    step("format", || {
        shell::run(cargo().args(["fmt", "--all", "--check"]))?;
        shell::run(
            cargo()
                .args(["fmt", "--check", "--manifest-path"])
                .arg(place::workspace().join("fuzz/Cargo.toml")),
        )
    })?;
    step("lints", || {
        shell::run(cargo().args([
            "clippy",
            "--workspace",
            "--all-targets",
            "--locked",
            "--",
            "-D",
            "warnings",
        ]))
    })?;
    step("documentation", || {
        shell::run(cargo().env("RUSTDOCFLAGS", "-D warnings").args([
            "doc",
            "--workspace",
            "--no-deps",
            "--locked",
        ]))
    })?;
    step("licences", || {
        tools::ensure(&[tools::DENY])?;
        shell::run(cargo().args([
            "deny",
            "--locked",
            "check",
            "--hide-inclusion-graph",
            "licenses",
            "bans",
            "sources",
        ]))
    })?;
    say(format_args!("== tests (after {})", length(begun.elapsed())));
    // Last, so that the runner's own closing line is the last line of all.
    test::run(&test::Arguments::default())
}

fn step(name: &str, work: impl FnOnce() -> Result) -> Result {
    let begun = Instant::now();
    say(format_args!("== {name}"));
    work()?;
    say(format_args!("== {name}: {}", length(begun.elapsed())));
    Ok(())
}
