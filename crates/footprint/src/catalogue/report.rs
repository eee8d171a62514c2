//! The report on a catalogue, as it is serialised.

use crate::advice::{Advice, Savings};
use crate::basis::{Basis, Price};
use deadweight_estimate::{Estimated, Stamp, Tokens};
use serde::Serialize;

/// The id of the JSON a [`CatalogueFootprint`] serialises to.
pub const SCHEMA: &str = "deadweight/footprint/1";

/// What a catalogue adds to every request. Its floor is its tools.
#[derive(Debug, Clone, Serialize)]
pub struct CatalogueFootprint {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// Who counted.
    pub provenance: Stamp,
    /// What was counted, and how.
    pub basis: Basis,
    /// Number of tools of all servers, malformed ones included.
    pub tool_count: u64,
    /// Bytes of name, description and compact input schema of all tools.
    pub floor_bytes: u64,
    /// Their tokens: with a ratio the floor of the byte sum, with a tokenizer the sum over the tools.
    pub floor_tokens: Tokens<Estimated>,
    /// The descriptions alone, which are part of the floor.
    pub descriptions: Price,
    /// The compact input schemas alone, which are part of the floor.
    pub schemas: Price,
    /// What is served beside the floor, whoever sends it on.
    pub served: Served,
    /// The servers' instructions, as prose; beside the floor, though many agents send them on every turn.
    pub instructions: Price,
    /// How many tools are listed in `tools`.
    pub shown: u64,
    /// The servers, heaviest first.
    pub servers: Vec<ServerFootprint>,
    /// The tools, heaviest first (see [`CatalogueFootprint::sort`]).
    pub tools: Vec<ToolFootprint>,
    /// What could be sent less, the largest saving first.
    pub advice: Vec<Advice>,
    /// What following all of it would save: parts that two rules name are counted once.
    pub savings: Savings,
    /// What is not as the protocol says.
    pub anomalies: Vec<Anomaly>,
    /// The servers that could not be measured.
    pub failures: Vec<Failure>,
}

/// One server of a catalogue.
#[derive(Debug, Clone, Serialize)]
pub struct ServerFootprint {
    /// Its label.
    pub server: String,
    /// The name it gives itself.
    pub name: Option<String>,
    /// The version it gives itself.
    pub version: Option<String>,
    /// The protocol version it speaks.
    pub protocol_version: Option<String>,
    /// Where it came from.
    pub source: Option<String>,
    /// Number of its tools.
    pub tool_count: u64,
    /// Bytes of name, description and compact input schema of its tools.
    pub bytes: u64,
    /// Their tokens. With a ratio, servers' tokens need not sum to the floor: each is rounded down.
    pub tokens: Tokens<Estimated>,
    /// Share of the floor, in per cent.
    pub pct: f64,
    /// Bytes of the names.
    pub name_bytes: u64,
    /// Bytes of the descriptions.
    pub description_bytes: u64,
    /// Tokens of the descriptions.
    pub description_tokens: Tokens<Estimated>,
    /// Bytes of the compact input schemas.
    pub schema_bytes: u64,
    /// Tokens of the compact input schemas.
    pub schema_tokens: Tokens<Estimated>,
    /// What it serves beside them.
    pub served: Served,
    /// Its instructions, as prose.
    pub instructions: Price,
}

/// One tool of a catalogue.
#[derive(Debug, Clone, Serialize)]
pub struct ToolFootprint {
    /// Its server's label.
    pub server: String,
    /// Its name; the JSON as it stands when that is not a string, empty when there is none.
    pub name: String,
    /// Its place in its server's list, from 0.
    pub position: u64,
    /// `name_bytes + description_bytes + schema_bytes`.
    pub bytes: u64,
    /// Their tokens.
    pub tokens: Tokens<Estimated>,
    /// Share of the floor, in per cent.
    pub pct: f64,
    /// Bytes of the name.
    pub name_bytes: u64,
    /// Bytes of the description.
    pub description_bytes: u64,
    /// Tokens of the description on its own.
    pub description_tokens: Tokens<Estimated>,
    /// Bytes of the compact input schema.
    pub schema_bytes: u64,
    /// Tokens of the compact input schema on its own.
    pub schema_tokens: Tokens<Estimated>,
    /// What is served beside them.
    pub served: Served,
}

/// What is served with tools and not counted into the floor: some agents send it, most do not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Served {
    /// `title`, for people.
    pub title: Price,
    /// `outputSchema`, compact.
    pub output_schema: Price,
    /// `annotations`, compact.
    pub annotations: Price,
    /// `icons`, compact.
    pub icons: Price,
    /// `_meta`, compact.
    pub meta: Price,
    /// `execution`, compact.
    pub execution: Price,
}

/// Something in a catalogue that is not as the protocol says; it was priced all the same.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Anomaly {
    /// The server's label.
    pub server: String,
    /// The tool's name as in [`ToolFootprint::name`]; empty when it concerns the server.
    pub tool: String,
    /// What.
    pub kind: AnomalyKind,
    /// More, where there is more to say: the member's name, the byte offset, the number of copies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// The kinds of [`Anomaly`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum AnomalyKind {
    /// The definition is not JSON; all its bytes are counted as its schema.
    InvalidJson,
    /// The definition is no object; its compact text is counted as its schema.
    NotAnObject,
    /// No name.
    MissingName,
    /// No description.
    MissingDescription,
    /// No input schema.
    MissingSchema,
    /// The input schema is `true` or `false`: legal JSON Schema, refused by several clients.
    BooleanSchema,
    /// A member of another type than the protocol says; its compact text is counted.
    WrongType,
    /// A member that occurs twice in a definition; the last one counts.
    DuplicateKey,
    /// A name that the same server lists more than once; each copy is counted.
    DuplicateName,
    /// Two servers with one label.
    DuplicateServer,
}

/// A server that could not be measured.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Failure {
    /// Its label.
    pub server: String,
    /// Why, in words without secrets.
    pub reason: String,
}

/// By what the tools of a report are sorted; ties are broken by tokens, bytes, server, name and position.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum SortBy {
    /// Heaviest first.
    #[default]
    Tokens,
    /// Heaviest description first.
    Description,
    /// Heaviest input schema first.
    Schema,
    /// By name, then server.
    Name,
}
