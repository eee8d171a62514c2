//! `cargo xtask soak`: the lazy proxy and the gateway against the world, longer than a run of the tests may take.

mod clients;
pub mod gateway;
mod restarts;
mod servers;

use clap::ValueEnum;

use crate::fixtures::Layout;
use crate::{Failure, Result, provision, say};

/// What `cargo xtask soak` can be told.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// What to do; everything when nothing is named
    #[arg(value_enum)]
    parts: Vec<Part>,
    /// Only these clients
    #[arg(long, value_enum)]
    client: Vec<Layout>,
    /// Only the SDKs
    #[arg(long, conflicts_with = "client")]
    sdks: bool,
    /// Set by the chore itself once it is cut off from the network
    #[arg(long, hide = true)]
    cut_off: bool,
}

/// A part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Real clients, bare and through the proxy, against a scripted model
    Clients,
    /// Real clients, straight and through `deadweight run`, against a scripted provider
    Gateway,
    /// The public servers that install, listed bare and through the proxy
    Servers,
    /// A thousand reconnects and restarts, byte for byte
    Restarts,
}

/// Runs the parts.
///
/// # Errors
///
/// When something cannot be installed, or does not hold.
pub fn run(arguments: &Arguments) -> Result {
    if !arguments.cut_off {
        provision::system()?;
    }
    let parts = if arguments.parts.is_empty() { Part::value_variants() } else { &arguments.parts };
    let mut failed = Vec::new();
    for part in parts {
        let done = match part {
            Part::Clients => clients::run(&arguments.client, arguments.cut_off),
            Part::Gateway => gateway::run(&arguments.client, arguments.sdks, arguments.cut_off),
            Part::Servers => servers::run(arguments.cut_off),
            Part::Restarts => restarts::run(),
        };
        if let Err(failure) = done {
            say(format_args!("{part:?}: {failure}"));
            failed.push(format!("{part:?}").to_lowercase());
        }
    }
    if failed.is_empty() {
        Ok(())
    } else {
        Err(Failure::new(format!("does not hold: {}", failed.join(", "))))
    }
}
