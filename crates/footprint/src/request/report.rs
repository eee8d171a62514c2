//! The report on a request, as it is serialised.

use crate::basis::{Basis, Price};
use crate::catalogue::SortBy;
use crate::origin::Origin;
use deadweight_estimate::{Estimated, Stamp, Tokens};
use serde::Serialize;

/// The id of the JSON a [`RequestFootprint`] serialises to.
pub const SCHEMA: &str = "deadweight/request-footprint/1";

/// What one request carries.
#[derive(Debug, Clone, Serialize)]
pub struct RequestFootprint {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// Who counted.
    pub provenance: Stamp,
    /// What was counted, and how.
    pub basis: Basis,
    /// The request's format, such as `anthropic-messages`.
    pub dialect: &'static str,
    /// The model it names.
    pub model: Option<String>,
    /// The agent that sent it, where its text gives it away.
    pub agent: Option<&'static str>,
    /// Why it is not the whole prompt, when it is not (`previous_response`, `frame`, …). Such a request has no total.
    pub delta: Option<&'static str>,
    /// The length of the body.
    pub body_bytes: u64,
    /// Bytes in no slice. `Σ slices' wire_bytes + envelope_bytes = body_bytes`.
    pub envelope_bytes: u64,
    /// The four parts.
    pub slices: Slices,
    /// Text that is repeated on every turn though it stands in the first messages; part of the slices it stands
    /// in, and beside the floor.
    pub standing: Standing,
    /// System and tools: what every turn pays.
    pub floor: Part,
    /// All four; `None` for a delta.
    pub total: Option<Part>,
    /// Number of the tools the model reads.
    pub tool_count: u64,
    /// How many of them are listed in `tools`.
    pub shown: u64,
    /// The tools the model reads, heaviest first. With `namespaces`, their content bytes sum to those of the tools
    /// slice.
    pub tools: Vec<RequestTool>,
    /// What namespaces add to their tools: names and descriptions of their own.
    pub namespaces: NamespaceFootprint,
    /// Tools whose definitions stand in the body and are left out of the prompt until they are searched for: in the
    /// wire bytes of the tools slice, in no content bytes and no tokens.
    pub deferred: Vec<RequestTool>,
    /// Whose the tools are, heaviest first; `tools` added up.
    pub origins: Vec<OriginFootprint>,
    /// The blocks of system and messages by slice and kind.
    pub blocks: Vec<BlockFootprint>,
    /// The images.
    pub images: Vec<Image>,
    /// The largest slice, and the levers that could cut it.
    pub largest: Option<Levers>,
    /// What is valid JSON and not what the dialect says.
    pub anomalies: Vec<AnomalyEntry>,
}

impl RequestFootprint {
    /// Sorts the tools; they come heaviest first, and that stays the order among equals.
    pub fn sort(&mut self, by: SortBy) {
        self.tools.sort_by(|a, b| match by {
            SortBy::Tokens => (b.tokens, b.content_bytes).cmp(&(a.tokens, a.content_bytes)),
            SortBy::Description => {
                (b.description_tokens, b.description_bytes).cmp(&(a.description_tokens, a.description_bytes))
            }
            SortBy::Schema => b.schema_bytes.cmp(&a.schema_bytes),
            SortBy::Name => a.name.cmp(&b.name),
        });
    }

    /// Keeps the first `top` tools of the listing and returns what those it dropped come to. Totals stay those of
    /// the whole request.
    pub fn keep(&mut self, top: usize) -> Price {
        let dropped = self.tools.get(top..).unwrap_or_default();
        let bytes = dropped.iter().map(|tool| tool.content_bytes).sum();
        let tokens = dropped.iter().map(|tool| tool.tokens).sum();
        self.tools.truncate(top);
        self.shown = self.tools.len() as u64;
        Price { bytes, tokens }
    }
}

/// The four parts of a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Slices {
    /// System prompt and developer instructions that lead the request.
    pub system: Part,
    /// Tool definitions, wherever they stand.
    pub tools: Part,
    /// Every message but the last.
    pub history: Part,
    /// The last message.
    pub tail: Part,
}

/// A part of a request, or the sum of some.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Part {
    /// Its length in the body.
    pub wire_bytes: u64,
    /// What the model reads of it, in bytes.
    pub content_bytes: u64,
    /// Its tokens.
    pub tokens: Tokens<Estimated>,
    /// Its share of the tokens of all four slices, in per cent.
    pub pct: f64,
}

/// One tool of a request.
#[derive(Debug, Clone, Serialize)]
pub struct RequestTool {
    /// Its name as the model sees it.
    pub name: String,
    /// The namespace it stands in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Whose it is.
    pub origin: Origin,
    /// Length of its definition in the body.
    pub wire_bytes: u64,
    /// Name, description and schema as sent.
    pub content_bytes: u64,
    /// Their tokens.
    pub tokens: Tokens<Estimated>,
    /// Share of the tokens of all four slices, in per cent.
    pub pct: f64,
    /// Bytes of the description.
    pub description_bytes: u64,
    /// Tokens of the description on its own.
    pub description_tokens: Tokens<Estimated>,
    /// Bytes of the schema as sent.
    pub schema_bytes: u64,
    /// Whether it is marked to be left out until searched for. In `tools`, such a tool has been found.
    pub deferred: bool,
    /// How often the messages of this request call it.
    pub calls: u64,
}

/// What namespaces add to their tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct NamespaceFootprint {
    /// How many namespaces.
    pub count: u64,
    /// Their names and descriptions.
    pub content_bytes: u64,
    /// Their tokens.
    pub tokens: Tokens<Estimated>,
}

/// The tools of one origin, added up.
#[derive(Debug, Clone, Serialize)]
pub struct OriginFootprint {
    /// Whose they are.
    pub origin: Origin,
    /// How many.
    pub tool_count: u64,
    /// Length of their definitions in the body.
    pub wire_bytes: u64,
    /// What the model reads of them.
    pub content_bytes: u64,
    /// Their tokens. With a ratio, origins need not sum to the slice: each is rounded down.
    pub tokens: Tokens<Estimated>,
    /// Share of the tokens of all four slices, in per cent.
    pub pct: f64,
}

/// The blocks of one kind in one slice, added up.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BlockFootprint {
    /// The slice, such as `history`.
    pub slice: &'static str,
    /// The kind, such as `tool_result`.
    pub kind: &'static str,
    /// For a kind this version does not know, the type the blocks name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub type_name: Option<String>,
    /// How many.
    pub count: u64,
    /// Their length in the body.
    pub wire_bytes: u64,
    /// What the model reads of them.
    pub content_bytes: u64,
    /// Their tokens, images by size included. With a ratio, kinds need not sum to the slice: each is rounded down.
    pub tokens: Tokens<Estimated>,
}

/// Text that is repeated on every turn though it stands in the first messages.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Standing {
    /// What the model reads of it.
    pub content_bytes: u64,
    /// Its tokens.
    pub tokens: Tokens<Estimated>,
    /// Its share of the tokens of all four slices, in per cent.
    pub pct: f64,
    /// Its parts by what they are.
    pub parts: Vec<StandingPart>,
}

/// One piece of standing text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StandingPart {
    /// What it is: `memory_file`, `tool_names`, `skills`, `agents`, `server_instructions`, `environment`, `reminder`,
    /// `system_message`.
    pub kind: &'static str,
    /// The slice it stands in.
    pub slice: &'static str,
    /// Bytes and tokens.
    #[serde(flatten)]
    pub price: Price,
}

/// An image of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Image {
    /// The slice it stands in.
    pub slice: &'static str,
    /// Width and height in pixels, when its header is in the request.
    pub size: Option<(u32, u32)>,
    /// What it costs.
    pub tokens: Tokens<Estimated>,
}

/// The largest slice and what could cut it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Levers {
    /// The slice.
    pub slice: &'static str,
    /// The levers, in the order in which to look at them.
    pub levers: &'static [Lever],
}

/// A lever that could cut a slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Lever {
    /// Its name.
    pub name: &'static str,
    /// What it does, in one clause.
    pub does: &'static str,
}

/// Something valid JSON that the dialect does not know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AnomalyEntry {
    /// What, such as `unknown_block`.
    pub kind: &'static str,
    /// The type, key, role or member it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Byte offset in the body.
    pub offset: u64,
}
