//! One line of the ledger.

/// A call of a tool, as it is recorded: who and how large, never what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// When it began, in milliseconds since 1970 (UTC).
    pub at_ms: u64,
    /// What it was.
    pub kind: Kind,
    /// The label of the server; empty where a search was about all of them.
    pub server: String,
    /// The tool's own name; empty for a search.
    pub tool: String,
    /// The client's name and version as it gives them, if it does.
    pub client: String,
    /// Which connection or conversation it belongs to, if that is known.
    pub session: String,
    /// Bytes of the arguments as the client sent them.
    pub bytes_in: u64,
    /// Bytes of the result or error as the client was sent it.
    pub bytes_out: u64,
    /// How long the client waited, in microseconds.
    pub duration_us: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// Whether the tool's schema had been loaded before in this connection (or was never left out).
    pub loaded: bool,
    /// The surface that the client was shown: `eager`, `stubs` or `search`.
    pub surface: String,
}

/// What a line is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A tool was called.
    Call,
    /// A tool's schema was loaded; one line for each tool.
    Load,
    /// Tools were searched.
    Search,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Call, Self::Load, Self::Search];

    /// The word that the ledger has for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Load => "load",
            Self::Search => "search",
        }
    }
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// With a result.
    Ok,
    /// With a result that says `isError`.
    ToolError,
    /// With a protocol error.
    RpcError,
    /// It was not passed on: not allowed, not valid, or to be confirmed first.
    Refused,
    /// The client took it back.
    Cancelled,
    /// The server ended before it answered.
    Crashed,
    /// No answer came in time.
    TimedOut,
}

impl Outcome {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Ok,
        Self::ToolError,
        Self::RpcError,
        Self::Refused,
        Self::Cancelled,
        Self::Crashed,
        Self::TimedOut,
    ];

    /// The word that the ledger has for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::ToolError => "tool_error",
            Self::RpcError => "rpc_error",
            Self::Refused => "refused",
            Self::Cancelled => "cancelled",
            Self::Crashed => "crashed",
            Self::TimedOut => "timed_out",
        }
    }
}

/// The longest that a name is written down, in bytes. A client may call a tool anything.
const LONGEST: usize = 256;

/// `text`, cut at a character where it is too long.
pub(crate) fn bounded(text: &str) -> &str {
    let mut end = text.len().min(LONGEST);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The largest number that is kept: more than any time in milliseconds, size, count or price can be, and so little that a
/// hundred thousand of them can be added up.
const LARGEST: u64 = 1 << 46;

/// A number as SQLite has it.
pub(crate) fn stored(number: u64) -> i64 {
    i64::try_from(number.min(LARGEST)).unwrap_or(i64::MAX)
}

/// A number that SQLite had.
pub(crate) fn read(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_between_characters() {
        assert_eq!(bounded("get_file"), "get_file");
        let long = "é".repeat(200);
        assert_eq!(bounded(&long).len(), 256);
        let odd = format!("a{long}");
        assert_eq!(bounded(&odd).len(), 255);
    }

    #[test]
    fn numbers_fit() {
        assert_eq!(read(stored(7)), 7);
        assert_eq!(read(stored(u64::MAX)), LARGEST);
        assert_eq!(read(-1), 0);
    }
}
