//! What the relay tells of each request and its answer.
//!
//! An exchange begins when its request has been read to its end ([`Begun`]) and ends once ([`Ended`]), in that order,
//! whatever happens between. What a WebSocket carries comes as [`Frame`]s between the two. Bodies are copies that
//! share memory with what was forwarded: reading, hashing and measuring them is done elsewhere, later, and nothing
//! that is forwarded waits for it.
//!
//! No key is in here: a path comes without its query, and of the headers only those that say something about the
//! request and not about who pays for it.

mod body;
pub(crate) mod keep;
mod queue;

pub use body::{Copied, Hash, Receipt};
pub use queue::{Events, Sink, channel};

use crate::provider::Provider;
use deadweight_wire::Dialect;
use deadweight_wire::usage::Outcome;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// The name of an exchange: 128 random bits, shown as 32 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExchangeId(pub u128);

impl fmt::Display for ExchangeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// Headers that are understood, by their names in lower case. Those that hold keys are never among them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Noted(pub Vec<(&'static str, String)>);

/// The headers of requests that are noted. Agents' session ids: what each agent sends, seen in November 2026.
pub const REQUEST_HEADERS: &[&str] = &[
    "user-agent",
    "content-type",
    "content-encoding",
    "anthropic-version",
    "anthropic-beta",
    "x-claude-code-session-id",
    "session-id",
    "session_id",
    "thread-id",
    "conversation_id",
    "x-session-id",
    "x-session-affinity",
    "x-parent-session-id",
    "x-stainless-retry-count",
    "x-stainless-lang",
    "x-stainless-package-version",
    "x-app",
    "originator",
    "openai-beta",
    "x-goog-api-client",
    "x-openai-subagent",
];

/// The headers of answers that are noted.
pub const ANSWER_HEADERS: &[&str] = &[
    "content-type",
    "content-encoding",
    "request-id",
    "x-request-id",
    "x-amzn-requestid",
    "retry-after",
    "anthropic-organization-id",
    "openai-processing-ms",
    "openai-model",
];

impl Noted {
    /// The first value of this header, whose name is in lower case.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(own, _)| *own == name).map(|(_, value)| value.as_str())
    }
}

/// A request, read to its end.
#[derive(Debug)]
pub struct Begun {
    /// The exchange.
    pub id: ExchangeId,
    /// When its head arrived.
    pub at: SystemTime,
    /// Who was asked.
    pub provider: Provider,
    /// Where: scheme, host and port.
    pub upstream: Arc<str>,
    /// The label of the port it came in by, where that port is one agent's own.
    pub agent: Option<Arc<str>>,
    /// The method.
    pub method: String,
    /// The path as it was sent upstream, without the query: keys live there.
    pub path: String,
    /// The format, as far as the path tells. `None` where only the body can.
    pub dialect: Option<Dialect>,
    /// The headers that are understood.
    pub headers: Noted,
    /// The body as it came in. `whole` is false where it was not read to its end, which happens when the client leaves
    /// and when the provider answers before it has seen all of it.
    pub received: Copied,
    /// The body as it was handed to the connection upstream.
    pub sent: Copied,
    /// What levers changed. `None`: nothing.
    pub edited: Option<Edited>,
}

/// What levers changed in a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Edited {
    /// Every place that was changed, from front to back.
    pub splices: Vec<Spliced>,
    /// What each lever did or why it did nothing.
    pub actions: Vec<LeverAction>,
}

/// One place that was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spliced {
    /// Which bytes of the received body, decoded where it was compressed, were replaced.
    pub at: Range<u64>,
    /// By how many.
    pub length: u64,
    /// By which lever.
    pub lever: &'static str,
}

/// One lever's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeverAction {
    /// The lever.
    pub lever: &'static str,
    /// Its version.
    pub version: u32,
    /// How many things it decided now.
    pub decided: u32,
    /// How many things were done as it had decided before.
    pub replayed: u32,
    /// Why it decided nothing now; `None` where it did.
    pub stood_down: Option<&'static str>,
    /// Bytes it took out, less those it put in (WITNESSED).
    pub saved_bytes: i64,
    /// Where it edits what was sent before, or does not because that would not pay soon enough: after how many requests,
    /// this one included, it costs nothing (FORECAST).
    pub break_even: Option<u64>,
    /// The names of the tools that it left out.
    pub names: Vec<String>,
}

impl LeverAction {
    /// Whether the body is another one for it.
    pub fn edited(&self) -> bool {
        self.lever != "passthrough" && self.decided + self.replayed > 0
    }

    /// Why it changed nothing, in a word; empty where it changed something.
    pub fn reason(&self) -> &'static str {
        match self.stood_down {
            _ if self.edited() => "",
            Some(reason) => reason,
            None => "passed",
        }
    }
}

/// How an exchange ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// The answer was handed on to its last byte. Whether the *provider* said that it was done, [`Answer`] tells.
    Complete,
    /// The client left before that; the provider was cut off at once.
    ClientLeft,
    /// The provider broke off: before its answer, or within it.
    UpstreamCut {
        /// What happened, without addresses and keys.
        detail: String,
    },
    /// No connection to the provider came about.
    Unreachable {
        /// Why, without keys.
        detail: String,
    },
    /// The provider was asked and said nothing for the time that is allowed. Only where a time was set.
    TimedOut,
    /// The gateway answered itself, and sent nothing.
    Refused {
        /// With this status.
        status: u16,
    },
    /// A connection that was upgraded was closed.
    Tunnel,
    /// The gateway was stopped, and did not wait any longer.
    Stopped,
}

impl End {
    /// The word for it in the ledger and in output.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::ClientLeft => "client_left",
            Self::UpstreamCut { .. } => "upstream_cut",
            Self::Unreachable { .. } => "unreachable",
            Self::TimedOut => "timed_out",
            Self::Refused { .. } => "refused",
            Self::Tunnel => "tunnel",
            Self::Stopped => "stopped",
        }
    }

    /// What happened, where there is more to say.
    pub fn detail(&self) -> Option<&str> {
        match self {
            Self::UpstreamCut { detail } | Self::Unreachable { detail } => Some(detail),
            _ => None,
        }
    }
}

/// An exchange that is over.
#[derive(Debug)]
pub struct Ended {
    /// The exchange.
    pub id: ExchangeId,
    /// The status that the client was sent; `None` where it was sent none.
    pub status: Option<u16>,
    /// From the arrival of the request's head to the first byte of the answer's body, or to its head where it has no
    /// body.
    pub first_byte: Option<Duration>,
    /// From the arrival of the request's head to the end.
    pub took: Duration,
    /// How it ended.
    pub end: End,
    /// Length of the answer's body as far as it was handed on, as it is on the wire (still compressed, without the
    /// framing of its transport).
    pub answer_bytes: u64,
    /// The answer's body.
    pub answer: Answer,
    /// The answer's headers that are understood.
    pub headers: Noted,
    /// The provider's own name for the request.
    pub request_id: Option<String>,
    /// What a WebSocket carried.
    pub tunnel: Option<Tunnelled>,
}

/// What was read on the copy of an answer.
#[derive(Debug)]
pub enum Answer {
    /// An event stream of a known dialect, read as it passed. Where it was cut, this is what had been said until then.
    Stream(Box<Outcome>),
    /// The body itself.
    Body {
        /// The body.
        body: Copied,
        /// Its `Content-Encoding`, in lower case, if it has one that is not `identity`.
        encoding: Option<String>,
        /// Whether it is a stream of events: `text/event-stream` that is compressed or whose dialect the path does not
        /// tell, or a binary event stream.
        stream: bool,
    },
    /// Nothing that can be read.
    Unread(Unread),
}

/// Why an answer was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unread {
    /// There was no body.
    Empty,
    /// It is neither JSON nor a stream of events.
    NotText,
    /// It is larger than what is copied.
    TooLarge,
    /// There was no answer.
    Absent,
    /// The reader failed on it, which is a fault of ours.
    Fault,
}

/// What a WebSocket carried.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tunnelled {
    /// From the client: bytes as they are on the wire, frames' heads included.
    pub sent_bytes: u64,
    /// From the client: messages with content.
    pub sent_messages: u64,
    /// To the client: bytes.
    pub received_bytes: u64,
    /// To the client: messages with content.
    pub received_messages: u64,
}

/// Which way a message went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Way {
    /// From the client to the provider.
    Up,
    /// From the provider to the client.
    Down,
}

/// A text message in a WebSocket, whole, unmasked.
#[derive(Debug)]
pub struct Frame {
    /// The exchange that opened the WebSocket.
    pub id: ExchangeId,
    /// When it had passed.
    pub at: SystemTime,
    /// Which way.
    pub way: Way,
    /// Its text. Over the bound, or where the frames could not be followed, `whole` is false.
    pub text: Copied,
    /// Whether it is compressed (`permessage-deflate`), so that it can be read only together with those before it.
    pub compressed: bool,
}

/// What the relay tells.
#[derive(Debug)]
pub enum Event {
    /// A request was read.
    Begun(Box<Begun>),
    /// A message passed in a WebSocket.
    Frame(Box<Frame>),
    /// An exchange is over.
    Ended(Box<Ended>),
}
