//! The MCP server that the official conformance suites are run against, bare and behind the proxy.
//!
//! It offers every tool, prompt and resource that the suites ask for, in both eras of the protocol: over streamable HTTP
//! inside a test's own process ([`Served`]), and by the binary `conformance-server` over HTTP or standard streams. What
//! its tools say and when follows from the suites' own instructions; nothing in it is meant to be useful.

mod content;
mod definitions;
mod http;
mod protocol;
mod rounds;
mod server;
mod stdio;
mod tasks;
mod tools;

pub use http::Served;

use std::io::Write;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

/// Serves as the command line says: `--stdio`, or `--http` on a free port, which is told on standard error as
/// `listening on http://127.0.0.1:PORT/mcp`.
pub fn main() -> ExitCode {
    let tell = |line: &str| drop(writeln!(std::io::stderr(), "{line}"));
    match std::env::args().nth(1).as_deref() {
        Some("--stdio") => stdio::serve(),
        Some("--http") => match Served::start() {
            Ok(served) => {
                tell(&format!("listening on {}", served.url()));
                loop {
                    thread::sleep(Duration::from_secs(3600));
                }
            }
            Err(error) => tell(&format!("conformance-server: {error}")),
        },
        _ => tell("usage: conformance-server --stdio | --http"),
    }
    ExitCode::from(2)
}
