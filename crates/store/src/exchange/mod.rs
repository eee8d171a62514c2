//! One request and its answer, as they passed through the gateway: sizes, hashes, names, times, counters, money.
//! Nothing in a record is text of a prompt or of an answer.

mod cost;
mod footprint;
mod table;
mod tools;

pub use cost::{AsReceived, CacheWatch, Cost, Observed};
pub use footprint::{Footprint, Segment, Slice, StandingPart};
pub use tools::{Origin, ToolLine, ToolSet};

pub(crate) use table::{details, read, write};
pub(crate) use tools::{KnownSets, read_set};

use serde::Serialize;
use std::sync::Arc;

/// One request and its answer. Recording one with an `id` that is there already replaces it, so that a long answer can
/// be written down when it begins and again when it ends.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Exchange {
    /// What it is called: 32 hex digits.
    pub id: String,
    /// When its head arrived, in milliseconds since 1970 (UTC).
    pub at_ms: u64,
    /// The provider it went to, such as `anthropic`.
    pub provider: String,
    /// What was asked for.
    #[serde(rename = "kind")]
    pub asked: Asked,
    /// The request's format, such as `anthropic-messages`; `None` where it has none that we know.
    pub dialect: Option<String>,
    /// The method.
    pub method: String,
    /// The path without its query, where keys may stand.
    pub path: String,
    /// The model it names.
    pub model: Option<String>,
    /// The agent that sent it, such as `claude-code`; `None` where nothing gives it away.
    pub agent: Option<String>,
    /// The key of the session: what the agent calls it, else a hash. Empty where there is none.
    pub session: String,
    /// The conversation within the session: a line of requests each of which goes on where the last one ended.
    pub conversation: String,
    /// The number of this turn within its conversation, from 1; `None` for what is no turn of one.
    pub turn: Option<u64>,
    /// How it ended.
    pub ended: Ended,
    /// What came in and what went out.
    pub receipt: Receipt,
    /// What it carries, ESTIMATED; `None` where it was not measured.
    pub footprint: Option<Footprint>,
    /// Why it was not measured, in a word or a short sentence; `None` where it was.
    pub unmeasured: Option<String>,
    /// What the provider counted, OBSERVED.
    pub usage: Observed,
    /// What that costs, ESTIMATED; `None` where the model has no known price or nothing was counted.
    pub cost: Option<Cost>,
    /// Whether it went on from the cached prefix, and what was lost; `None` where that could not be told.
    pub cache: Option<CacheWatch>,
    /// The tools it carries. Reading many exchanges leaves them out.
    #[serde(serialize_with = "shared")]
    pub tools: Option<Arc<ToolSet>>,
    /// The tools that were called since the turn before, with how often: name as sent, count.
    pub calls: Vec<(String, u64)>,
    /// What each lever did.
    pub levers: Vec<LeverAction>,
}

impl Exchange {
    /// Whether it was answered: by a success that came to its end. What was refused, cut off or left was not, nor what
    /// failed within a stream that had begun well. An answer that ended properly without the close its format has counts as
    /// one: not every server sends it.
    #[must_use]
    pub fn is_answered(&self) -> bool {
        let ended = &self.ended;
        ended.how == "complete"
            && ended.status.is_some_and(|status| (200..300).contains(&status))
            && ended.error.as_deref().is_none_or(|error| error == "truncated")
    }

    /// Whether it is a turn: a request for an answer of a model that was answered.
    #[must_use]
    pub fn is_turn(&self) -> bool {
        self.asked == Asked::Generate && self.is_answered()
    }
}

fn shared<S: serde::Serializer>(set: &Option<Arc<ToolSet>>, serializer: S) -> Result<S::Ok, S::Error> {
    set.as_deref().serialize(serializer)
}

/// The method of a record that is no request: a pass that the provider made behind an answer, and billed beside it.
pub const PASS: &str = "PASS";

/// What a request asks for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Asked {
    /// An answer of a model.
    Generate,
    /// How many tokens a prompt has.
    Count,
    /// Anything else: lists of models, files, checks.
    #[default]
    Other,
}

impl Asked {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Generate, Self::Count, Self::Other];

    /// The word that the ledger has for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Generate => "generate",
            Self::Count => "count",
            Self::Other => "other",
        }
    }

    pub(crate) fn of_word(word: &str) -> Self {
        Self::ALL.into_iter().find(|asked| asked.word() == word).unwrap_or_default()
    }
}

/// How an exchange ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Ended {
    /// In a word: `open` (not yet), `complete`, `client_left`, `upstream_cut`, `unreachable`, `timed_out`, `refused` (by
    /// us), `stopped` (with the gateway), `tunnel`.
    pub how: String,
    /// The status of the answer; `None` where there was none.
    pub status: Option<u16>,
    /// The type of the provider's error, such as `overloaded_error`, or what the system said; never its text.
    pub error: Option<String>,
    /// The provider's own name for the request.
    pub request_id: Option<String>,
    /// Whether the answer was a stream of events.
    pub streamed: bool,
    /// Until the first byte of the answer, in microseconds.
    pub first_byte_us: Option<u64>,
    /// Until its end, in microseconds.
    pub took_us: u64,
    /// Bytes of the answer's body as passed on.
    pub answer_bytes: u64,
}

/// What came in and what went out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Receipt {
    /// Bytes of the body as it was received.
    pub received_bytes: u64,
    /// SHA-256 of it in hex; `None` where it was too large to be looked at.
    pub received_sha256: Option<String>,
    /// Bytes of the body as it was sent.
    pub sent_bytes: u64,
    /// SHA-256 of it in hex.
    pub sent_sha256: Option<String>,
    /// Where they differ, in order of place. Empty: not at all.
    pub splices: Vec<Splice>,
}

impl Receipt {
    /// Whether the body that was sent is another one than that which was received.
    #[must_use]
    pub fn changed(&self) -> bool {
        !self.splices.is_empty()
            || self.received_bytes != self.sent_bytes
            || self.received_sha256 != self.sent_sha256
    }
}

/// One place where the body was changed; where and how much, never what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, serde::Deserialize)]
pub struct Splice {
    /// The offset in the body as received.
    pub at: u64,
    /// How many bytes were taken out.
    pub removed: u64,
    /// How many bytes were put in.
    pub inserted: u64,
    /// The lever that did it.
    pub lever: String,
}

impl LeverAction {
    /// Whether the lever did what it is there for: it edited, or it is there to let the body pass as it is.
    #[must_use]
    pub fn fired(&self) -> bool {
        self.edited || self.reason == "passed"
    }
}

/// What one lever did to one request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct LeverAction {
    /// Its name.
    pub lever: String,
    /// Whether it changed the body.
    pub edited: bool,
    /// How many things it decided for this request.
    pub decided: u64,
    /// How many things were done again as it had decided before.
    pub replayed: u64,
    /// Why it changed nothing, one word of its closed list, or `passed` (the body passed as it is), `refused` (the provider
    /// did not take it) or `held_out` (the session is left as it is to be compared with others); empty where it edited.
    pub reason: String,
    /// How many splices are its own.
    pub splices: u64,
    /// Bytes that it took out of the body, less those it put in.
    pub bytes: i64,
    /// The same in tokens, ESTIMATED by the estimator of the footprint.
    pub tokens: i64,
    /// Where it edits what was sent before, or does not because that would not pay soon enough: after how many requests,
    /// this one included, it costs nothing, FORECAST. `None` where it never does, and for everything else.
    pub break_even: Option<u64>,
    /// The names of the tools that it left out of the request, as sent. A ledger keeps as many as 64 KiB hold.
    pub names: Vec<String>,
}
