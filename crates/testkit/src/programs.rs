//! The testkit's own programs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// A program of the testkit by its name: found in the folder that `DEADWEIGHT_TESTKIT_BIN` names, else built by cargo
/// (once in each process; when it is built already, that takes a moment).
///
/// # Panics
///
/// When it does not build.
#[expect(clippy::panic, reason = "only tests call this, and they cannot go on without it")]
pub fn program(name: &str) -> PathBuf {
    static BUILT: Mutex<BTreeMap<String, PathBuf>> = Mutex::new(BTreeMap::new());
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(path) = built.get(name) {
        return path.clone();
    }
    let path = match std::env::var_os("DEADWEIGHT_TESTKIT_BIN") {
        Some(folder) => Path::new(&folder).join(name).with_extension(std::env::consts::EXE_EXTENSION),
        None => match build(name) {
            Ok(path) => path,
            Err(problem) => panic!("{name} could not be built: {problem}"),
        },
    };
    built.insert(name.to_owned(), path.clone());
    path
}

fn build(name: &str) -> Result<PathBuf, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["build", "--quiet", "--package", "deadweight-testkit", "--bin", name])
        .args(["--message-format", "json-render-diagnostics"]);
    if name == "bare-hyper-relay" {
        build.args(["--features", name]);
    }
    let output = build.output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    // Cargo says where it put it, whatever the profile and the build folder are.
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter_map(|message| message["executable"].as_str().map(PathBuf::from))
        .next_back()
        .ok_or_else(|| "cargo names no executable".to_owned())
}
