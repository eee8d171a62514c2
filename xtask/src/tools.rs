//! Cargo's companions that the chores call, installed when they are not there.

use crate::shell::{answers, cargo, run};
use crate::{Context, Result, say};

/// A program from crates.io that cargo calls as a subcommand.
#[derive(Debug, Clone, Copy)]
pub struct Tool {
    subcommand: &'static str,
    package: &'static str,
    /// The version that is installed where there is none; one that is there already is taken as it is.
    version: &'static str,
}

/// Runs the tests, each in a process of its own, with a limit on their time.
pub const NEXTEST: Tool = Tool { subcommand: "nextest", package: "cargo-nextest", version: "0.9.143" };
/// Checks the licences and the sources of what the project links.
pub const DENY: Tool = Tool { subcommand: "deny", package: "cargo-deny", version: "0.20.2" };
/// Builds and runs the fuzz targets.
pub const FUZZ: Tool = Tool { subcommand: "fuzz", package: "cargo-fuzz", version: "0.13.2" };

/// Makes sure that each of `tools` answers.
///
/// # Errors
///
/// When one is missing and cannot be installed.
pub fn ensure(tools: &[Tool]) -> Result {
    for tool in tools {
        if answers("cargo", &[tool.subcommand, "--version"]) {
            continue;
        }
        say(format_args!("{} is not here yet: installing it", tool.package));
        // Its own build folder is a temporary one: it shares nothing with the workspace.
        run(cargo().env_remove("CARGO_TARGET_DIR").args([
            "install",
            "--locked",
            "--quiet",
            "--version",
            tool.version,
            tool.package,
        ]))
        .context(format_args!("{} cannot be installed", tool.package))?;
    }
    Ok(())
}
