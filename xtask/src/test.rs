//! `cargo xtask test`: installs what the tests need, then runs them all.

use std::path::PathBuf;

use crate::fixtures::Layout;
use crate::shell::{self, cargo};
use crate::{Context, Failure, Result, fixtures, fuzz, place, provision, tools};

/// What `cargo xtask test` can be told.
#[derive(Debug, Default, clap::Args)]
pub struct Arguments {
    /// Passed to `cargo nextest run` in place of `--workspace`, as in `-- -p deadweight-wire splice`; only these
    /// tests are run then, without doc tests and fuzzing
    #[arg(last = true)]
    nextest: Vec<String>,
}

/// What is recorded for the tests that read recordings, of the clients that are installed for them.
const RECORDED: [Layout; 4] = [Layout::Claude, Layout::Codex, Layout::CodexGpt55, Layout::CodexGpt6];

/// How long each fuzz target runs at most as a part of the tests.
const FUZZ_SECONDS: u32 = 15;

/// Runs the tests.
///
/// # Errors
///
/// When something that they need cannot be installed, or one of them fails.
pub fn run(arguments: &Arguments) -> Result {
    tools::ensure(&[tools::NEXTEST])?;
    provision::system()?;
    provision::servers()?;
    let model = provision::model()?;
    provision::suites()?;
    provision::browser()?;
    provision::clients()?;
    let whole = arguments.nextest.is_empty();
    if whole {
        shell::run(cargo().args(["test", "--doc", "--workspace", "--locked", "--quiet"]))?;
        fuzz::rehearse(FUZZ_SECONDS)?;
    }
    shell::run(cargo().args(["build", "--workspace", "--exclude", "xtask", "--bins", "--locked"]))?;
    // What real clients send, for the tests named `recorded`.
    fixtures::ensure(&RECORDED)?;
    let mut nextest = cargo();
    nextest
        .args(["nextest", "run", "--locked"])
        .env("DEADWEIGHT_BIN", binary("deadweight"))
        .env("DEADWEIGHT_MODEL", model)
        .env("DEADWEIGHT_SCRIPTED_MCP", binary("scripted-mcp"))
        .env("DEADWEIGHT_TESTKIT_BIN", place::target().join("debug"));
    if std::env::var_os("CI").is_some() {
        nextest.args(["--profile", "ci"]);
    }
    if whole {
        nextest.arg("--workspace");
    }
    shell::run(nextest.args(&arguments.nextest))
}

/// Where cargo puts a binary of the workspace when it builds for tests.
fn binary(name: &str) -> PathBuf {
    place::target().join("debug").join(name).with_extension(std::env::consts::EXE_EXTENSION)
}

/// The command `deadweight` for tests that start it: the one that `cargo xtask test` has just built, else built now.
///
/// # Errors
///
/// When it does not build.
pub fn deadweight() -> Result<PathBuf> {
    if let Some(built) = std::env::var_os("DEADWEIGHT_BIN") {
        return Ok(built.into());
    }
    shell::output(cargo().args(["build", "--package", "deadweight-cli", "--bin", "deadweight"]))?;
    let built = binary("deadweight");
    built.canonicalize().context(format_args!("no command at {}", built.display())).map_err(|failure| {
        Failure::new(format!("{failure}; is the build folder not where CARGO_TARGET_DIR says?"))
    })
}
