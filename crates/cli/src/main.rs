//! The `deadweight` command: arguments in, text or JSON out. What it prints is computed in the crates
//! below; here are only targets, rendering and exit codes.

mod args;
mod ask;
mod commands;
mod exit;
mod render;
mod settings;
mod signals;
mod target;

use clap::Parser;
use std::process::ExitCode;

/// The gateway and the proxy run for weeks, and what a burst took has to be given back.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = args::Cli::parse();
    signals::catch();
    let outcome = settings::readable_environment().and_then(|()| run(cli.command));
    let exit = outcome.unwrap_or_else(|trouble| {
        trouble.print();
        trouble.exit
    });
    ExitCode::from(exit as u8)
}

fn run(command: args::Command) -> Result<exit::Exit, exit::Trouble> {
    match command {
        args::Command::Footprint(footprint) => commands::footprint::run(&footprint),
        args::Command::Gate(gate) => commands::gate::run(&gate),
        args::Command::Gateway(gateway) => commands::gateway::run(&gateway),
        args::Command::Mcp(mcp) => commands::mcp::run(&mcp),
        args::Command::Run(run) => commands::run::run(&run),
        args::Command::Scorecard(scorecard) => commands::scorecard::run(&scorecard),
        args::Command::Top(top) => commands::top::run(&top),
        args::Command::Ledger(ledger) => commands::ledger::run(&ledger),
        args::Command::Restore(restore) => commands::restore::run(&restore),
    }
}
