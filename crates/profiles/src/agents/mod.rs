//! One file for each family of agents.

pub(crate) mod aider;
pub(crate) mod claude;
pub(crate) mod codex;
pub(crate) mod editors;
pub(crate) mod gemini;
pub(crate) mod opencode;

use crate::types::Fact;

/// When the measurements were taken: real clients against a scripted upstream on loopback.
const MEASURED: &str = "2026-11";
/// The source of those measurements.
const LOOPBACK: &str = "measured with the real client against a scripted upstream";

const fn measured<T: Copy>(value: T) -> Fact<T> {
    Fact { value, date: MEASURED, source: LOOPBACK }
}

/// What stands in requests that people have published; seen, not measured here.
const fn captured<T: Copy>(value: T) -> Fact<T> {
    Fact { value, date: "2026-11", source: "requests of that agent in public captures and transcripts" }
}

/// The name an agent gives in `clientInfo`, as servers log it.
const fn announced<T: Copy>(value: T) -> Fact<T> {
    Fact { value, date: "2026-11", source: "`clientInfo` in public logs of MCP servers" }
}
