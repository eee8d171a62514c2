//! What a request carries, as the ledger keeps it. All tokens are ESTIMATED, by the estimator that is named.

use serde::{Deserialize, Serialize};

/// What a request carries.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Footprint {
    /// Who counted, such as `calibrated/1`.
    pub estimator: String,
    /// The system prompt.
    pub system: Slice,
    /// The tool definitions.
    pub tools: Slice,
    /// Every message but the last.
    pub history: Slice,
    /// The last message.
    pub tail: Slice,
    /// Bytes of the body in no slice.
    pub envelope_bytes: u64,
    /// Text that is repeated on every turn though it stands in the messages; part of the slices.
    pub standing: Vec<StandingPart>,
    /// Why the body is not the whole prompt, where it is not; it then has no total.
    pub delta: Option<String>,
    /// How many tools the model reads.
    pub tool_count: u64,
    /// How many more are sent, and left out of the prompt until they are searched for.
    pub deferred_count: u64,
    /// The body from its beginning to its end as the provider reads it (tools, system, messages), with its cache
    /// breakpoints. Neighbours of a kind may be joined; at most [`Footprint::SEGMENTS`] are kept.
    pub layout: Vec<Segment>,
}

impl Footprint {
    /// How many segments are kept of a request: what comes after is joined to the last.
    pub const SEGMENTS: usize = 200;

    /// System and tools: what every turn pays, in tokens.
    #[must_use]
    pub const fn floor(&self) -> u64 {
        self.system.tokens.saturating_add(self.tools.tokens)
    }

    /// All four slices, in tokens; `None` for a delta.
    #[must_use]
    pub fn total(&self) -> Option<u64> {
        self.delta.is_none().then(|| self.sent())
    }

    /// All four slices as far as they were sent, in tokens.
    #[must_use]
    pub const fn sent(&self) -> u64 {
        self.floor().saturating_add(self.history.tokens).saturating_add(self.tail.tokens)
    }

    /// Standing text, in tokens.
    #[must_use]
    pub fn standing_tokens(&self) -> u64 {
        self.standing.iter().fold(0, |sum, part| sum.saturating_add(part.tokens))
    }

    /// The slices with their names, in the order in which they are reported.
    #[must_use]
    pub const fn slices(&self) -> [(&'static str, Slice); 4] {
        [("system", self.system), ("tools", self.tools), ("history", self.history), ("tail", self.tail)]
    }
}

/// One of the four parts of a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Slice {
    /// Its length in the body, in bytes.
    pub wire_bytes: u64,
    /// What the model reads of it, in bytes.
    pub content_bytes: u64,
    /// Its tokens.
    pub tokens: u64,
}

/// One kind of standing text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StandingPart {
    /// What it is, such as `memory_file`.
    pub kind: String,
    /// What the model reads of it, in bytes.
    pub content_bytes: u64,
    /// Its tokens.
    pub tokens: u64,
}

/// A stretch of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    /// The slice it is part of: `system`, `tools`, `history`, `tail`.
    pub slice: String,
    /// What it is: the kind of a block (`text`, `tool_use`, `tool_result` …), or `tools`.
    pub kind: String,
    /// How many blocks or tools it joins.
    pub count: u64,
    /// What the model reads of it, in bytes.
    pub content_bytes: u64,
    /// Its tokens. With a ratio they need not add up to those of the slice: each is rounded down.
    pub tokens: u64,
    /// The time to live of the cache breakpoint at its end, `5m` or `1h`; `None` where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub breakpoint: Option<String>,
}
