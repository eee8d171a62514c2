//! Scripted MCP servers: well-behaved ones, and every fault a client must survive.
//!
//! One [`Script`] is played over standard streams by the binary `scripted-mcp` (found, and built when
//! needed, by [`path`]), and over HTTP inside the test's own process by [`http::ScriptedHttp`].
//!
//! ```
//! use deadweight_testkit::scripted_mcp::{Act, Script};
//!
//! let script = Script::named("slow").tool("echo").on("start", [Act::Sleep(50), Act::Stdout("hello".into())]);
//! assert!(script.to_json().contains(r#""name":"slow""#));
//! ```

pub mod http;
mod play;
mod script;
pub mod stdio;

pub use script::{Act, Endless, Era, Fixed, Generate, HttpScript, Page, Script};

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The binary `scripted-mcp`: the one `DEADWEIGHT_SCRIPTED_MCP` names, else one that cargo is asked to build
/// (once in each process; when it is built already, that takes a moment).
///
/// # Panics
///
/// When it does not build.
#[expect(clippy::panic, reason = "only tests call this, and they cannot go on without it")]
pub fn path() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| match locate() {
        Ok(path) => path,
        Err(problem) => panic!("the scripted MCP server could not be built: {problem}"),
    })
}

fn locate() -> Result<PathBuf, String> {
    if let Some(path) = std::env::var_os("DEADWEIGHT_SCRIPTED_MCP") {
        return Ok(path.into());
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["build", "--quiet", "--package", "deadweight-testkit", "--bin", "scripted-mcp"])
        .args(["--message-format", "json-render-diagnostics"]);
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
