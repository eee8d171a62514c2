//! `cargo xtask`: the project's own chores. Each is one file of the library; this one only reads the arguments.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use xtask::{Result, bench, ci, fixtures, fuzz, scorecard, soak, test};

/// The project's own chores.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", disable_version_flag = true)]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Debug, Subcommand)]
enum Chore {
    /// Install what the tests need, then run all of them
    ///
    /// System packages are installed as root only, elsewhere you are told which are missing. Real MCP servers and
    /// other large things go to a cache of the user ($DEADWEIGHT_CACHE, else $XDG_CACHE_HOME/deadweight, else
    /// ~/.cache/deadweight). What cannot be installed fails the run: nothing is skipped.
    Test(test::Arguments),
    /// Every check that a change must pass: format, lints, documentation, licences, tests
    ///
    /// The same as `bash .ci/run`, which only adds a build folder outside of the clone.
    Ci,
    /// Run the fuzz targets, each for a while, from the committed seeds
    Fuzz(fuzz::Arguments),
    /// Measure speed and memory, as ratios and medians taken in one run
    ///
    /// On a quiet machine. Each bench prints its table and whether its bars hold.
    Bench(bench::Arguments),
    /// Record what real clients send, into the ignored folder `recorded/`
    ///
    /// Installs the clients with exact versions into the user's cache, runs each headless with an empty HOME and dummy
    /// keys against a scripted provider and a scripted MCP server on loopback, and writes down every request, keys left
    /// out. The tests named `recorded` then read that folder.
    Fixtures(fixtures::Arguments),
    /// Try the lazy proxy against the world, longer than a run of the tests may take
    ///
    /// Real clients against a scripted model, public servers, a thousand reconnects. What a client sent stays in
    /// `recorded/proxy`, which is not committed.
    Soak(soak::Arguments),
    /// Measure what each lever really does, and write the committed scorecard
    ///
    /// Scripted sessions through the gateway over HTTP, to the strict provider. Some minutes; the same each time.
    Scorecard(scorecard::Arguments),
}

fn main() -> ExitCode {
    let done: Result = match Arguments::parse().chore {
        Chore::Test(arguments) => test::run(&arguments),
        Chore::Ci => ci::run(),
        Chore::Fuzz(arguments) => fuzz::run(&arguments),
        Chore::Bench(arguments) => bench::run(&arguments),
        Chore::Fixtures(arguments) => fixtures::run(&arguments),
        Chore::Soak(arguments) => soak::run(&arguments),
        Chore::Scorecard(arguments) => scorecard::run(&arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            xtask::say(format_args!("error: {failure}"));
            ExitCode::FAILURE
        }
    }
}
