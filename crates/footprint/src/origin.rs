//! Whose a tool is.

use serde::Serialize;

/// Whose a tool is.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Origin {
    /// The agent's own.
    Builtin,
    /// An MCP server's.
    Mcp {
        /// The server's label.
        server: String,
    },
    /// Not known.
    Unknown,
}
