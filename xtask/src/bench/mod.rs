//! `cargo xtask bench`: how fast, as ratios taken in one run.

mod gate;
mod gateway;
mod measure;
mod pricing;
mod relay;
mod servers;

use clap::ValueEnum;

use crate::shell::{self, cargo};
use crate::{Context, Failure, Result, place, provision, say};

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// What `cargo xtask bench` can be told.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The benches to run; all of them when none is named
    #[arg(value_enum)]
    names: Vec<Bench>,
    /// Fail when a bar is missed; without it, misses are only shown
    #[arg(long)]
    check: bool,
    /// Of the gateway's bench only this: a load by its name, such as "2 MB", or `hold`, what it holds. Several times for
    /// several. Everybody else is measured all the same
    #[arg(long, value_name = "PART")]
    part: Vec<String>,
}

/// A bench.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Bench {
    /// The pass over a request's bytes, against `serde_json` on the same bytes
    Pass,
    /// What it takes to make a chain of hashes of a request, against the pass
    Prefix,
    /// Planning an edited request and proving it, against the pass
    Levers,
    /// The whole command pricing a dump of 200 tools, by estimator: time and memory
    Pricing,
    /// The whole command holding a dump of 200 tools against its lock, against pricing it
    Gate,
    /// The whole command asking twenty slow servers, against the slowest alone
    Servers,
    /// The lazy proxy: what it adds to a call, beside a byte relay and two other proxies; 10,000 tools; 100,000 calls
    Relay,
    /// The gateway under a paced load, beside a bare relay and other gateways; what it holds
    Gateway,
    /// How well and how fast tools are found, by words and with a model: recall on public sets of requests, abstention,
    /// 10,000 tools
    Search,
    /// What surfaces take off the lists of real servers, gross, net and as break-even; a list of 10,000 tools
    Lazy,
}

/// Runs the benches.
///
/// # Errors
///
/// When something does not build or run; with `--check`, when a bar is missed.
pub fn run(arguments: &Arguments) -> Result {
    let benches = if arguments.names.is_empty() { Bench::value_variants() } else { &arguments.names };
    let mut missed = Vec::new();
    for bench in benches {
        let held = match bench {
            Bench::Pass => own("deadweight-wire", "footprint_pass", arguments.check).map(|()| true),
            Bench::Prefix => own("deadweight-cache", "prefix", arguments.check).map(|()| true),
            Bench::Levers => own("deadweight-levers", "plan", arguments.check).map(|()| true),
            Bench::Search => search(arguments.check).map(|()| true),
            Bench::Lazy => own("deadweight-mcp", "lazy", arguments.check).map(|()| true),
            Bench::Pricing => pricing::run(),
            Bench::Gate => gate::run(),
            Bench::Servers => servers::run(),
            Bench::Relay => relay::run(),
            Bench::Gateway => gateway::run(&arguments.part),
        };
        let name = bench.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
        if !held.context(format_args!("bench {name}"))? {
            missed.push(name);
        }
        crate::print("");
    }
    match missed.as_slice() {
        [] => Ok(()),
        _ if !arguments.check => {
            say(format_args!("missed: {}", missed.join(", ")));
            Ok(())
        }
        _ => Err(Failure::new(format!("missed: {}", missed.join(", ")))),
    }
}

/// Searching, by words and with the model that the tests have; its vectors are kept from run to run.
fn search(check: bool) -> Result {
    let mut bench = cargo();
    bench.env("DEADWEIGHT_MODEL", provision::model()?).env("DEADWEIGHT_VECTORS", place::cache("vectors")?);
    started(bench, "deadweight-search", "quality", check)
}

/// A bench that lies with its crate.
fn own(package: &str, name: &str, check: bool) -> Result {
    started(cargo(), package, name, check)
}

fn started(mut bench: Command, package: &str, name: &str, check: bool) -> Result {
    bench.args(["bench", "--locked", "--quiet", "--package", package, "--bench", name]);
    if check {
        bench.args(["--", "--check"]);
    }
    shell::run(&mut bench)
}

/// The command as people run it: built for release.
fn release() -> Result<PathBuf> {
    shell::run(cargo().args(["build", "--release", "--locked", "--quiet", "--package", "deadweight-cli"]))?;
    Ok(place::target().join("release/deadweight"))
}

/// The command doing nothing: what starting a process costs on this machine.
fn nothing(deadweight: &Path) -> Command {
    let mut command = Command::new(deadweight);
    command.arg("--version");
    command
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// `holds` or `MISSES`, for a table.
fn verdict(holds: bool) -> &'static str {
    if holds { "holds" } else { "MISSES" }
}
