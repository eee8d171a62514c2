//! What a set of MCP servers adds to every request: its tools, priced.

mod price;
mod report;
mod saving;
pub(crate) mod tool;

pub use price::price;
pub use report::{
    Anomaly, AnomalyKind, CatalogueFootprint, Failure, SCHEMA, Served, ServerFootprint, SortBy, ToolFootprint,
};
pub use saving::{Change, Lists, Saving, saving};

/// Servers and what they handed out, as it came.
#[derive(Debug, Clone, Default)]
pub struct Catalogue {
    /// The servers that answered.
    pub servers: Vec<Server>,
    /// The servers that could not be measured. They are never priced at 0: they are listed.
    pub failures: Vec<Failure>,
}

/// One server and its tools.
#[derive(Debug, Clone, Default)]
pub struct Server {
    /// The label it is known by (DESIGN's order: `--name`, the config's key, its own name, the file's stem).
    pub label: String,
    /// The name it gives itself.
    pub name: Option<String>,
    /// The version it gives itself.
    pub version: Option<String>,
    /// The protocol version it speaks.
    pub protocol_version: Option<String>,
    /// Its instructions.
    pub instructions: Option<String>,
    /// The raw bytes of each tool definition, in the order of its list, all pages joined.
    pub tools: Vec<Vec<u8>>,
    /// Where it came from, in words without secrets: a command's first word, a URL without its query, a file.
    pub source: Option<String>,
}
