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

use crate::programs::program;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The binary `scripted-mcp`: the one `DEADWEIGHT_SCRIPTED_MCP` names, else one that cargo is asked to build
/// (once in each process; when it is built already, that takes a moment).
///
/// # Panics
///
/// When it does not build.
pub fn path() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        std::env::var_os("DEADWEIGHT_SCRIPTED_MCP").map_or_else(|| program("scripted-mcp"), PathBuf::from)
    })
}
