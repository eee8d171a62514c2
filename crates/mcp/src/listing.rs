//! What a server answered, and how the asking is steered and watched.

use bytes::Bytes;
use std::time::Duration;

/// Everything a server said about its tools, each definition byte for byte as it was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// The name to show for it: the spec's label, else the server's own name, else a name taken from the
    /// command line or URL.
    pub label: String,
    /// Who the server says it is, if it says so.
    pub server_info: Option<ServerInfo>,
    /// Which era of the protocol was spoken.
    pub era: Era,
    /// The protocol version the two agreed on.
    pub protocol_version: String,
    /// How the server was reached in the end.
    pub transport: TransportKind,
    /// The server's instructions for the model, if it has any.
    pub instructions: Option<String>,
    /// The raw JSON of every tool definition, in the order of the pages.
    pub tools: Vec<Bytes>,
    /// Whether the server has tools at all: `false` when it declares no such capability and refuses
    /// `tools/list` as an unknown method. It then has zero tools, and that is known, not assumed.
    pub tools_supported: bool,
    /// Number of pages the list came in.
    pub pages: usize,
    /// Time from starting or connecting to the end of the list.
    pub elapsed: Duration,
    /// What was odd about it, in the order it was noticed.
    pub anomalies: Vec<Anomaly>,
}

/// A server's name and version as it gives them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerInfo {
    /// `serverInfo.name`.
    pub name: String,
    /// `serverInfo.version`, if it is a string.
    pub version: Option<String>,
}

/// The two kinds of protocol versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Era {
    /// 2024-11-05 to 2025-11-25: an `initialize` handshake opens a session.
    Legacy,
    /// 2026-07-28: no handshake; every request carries the version and the client in `_meta`.
    Modern,
}

/// How a server was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TransportKind {
    /// A process's standard streams.
    Stdio,
    /// Streamable HTTP.
    Http,
    /// The HTTP+SSE transport of 2024-11-05.
    Sse,
}

/// Something odd that did not keep the list from being read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Anomaly {
    /// Two tools of one name. Both are in the list.
    DuplicateName {
        /// The name, as sent.
        name: String,
        /// Index of the first tool of that name.
        first: usize,
        /// Index of the later one.
        again: usize,
    },
    /// Text on standard output that is not protocol.
    StdoutNoise {
        /// How many lines.
        lines: usize,
        /// The first of them, shortened and harmless to print.
        sample: String,
    },
    /// The server asked the client something, and was answered.
    ClientRequest {
        /// The method it asked for, harmless to print.
        method: String,
        /// How often.
        count: usize,
    },
    /// Answers to requests that were never made, or were answered before. Left out.
    StrayAnswers {
        /// How many.
        count: usize,
    },
    /// `initialize` was answered with a protocol version that this client does not know.
    UnknownProtocolVersion {
        /// The version, harmless to print.
        version: String,
    },
    /// The process that was started ended well before its server was done: it had left the work to another.
    LauncherEnded,
    /// The session ended in the middle of the list, which was asked for again from the start.
    SessionRenewed,
}

/// Bounds on one question. The defaults fit real servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// How long the whole question may take, from start to last page. Default 60 s.
    pub timeout: Duration,
    /// How long a server that is told to end may take before it is killed. Default 2 s.
    pub grace: Duration,
    /// Most bytes in one message. Default 256 MiB.
    pub max_message_bytes: usize,
    /// Most bytes in all pages together. Default 512 MiB.
    pub max_catalogue_bytes: usize,
    /// Most pages. Default 10,000.
    pub max_pages: usize,
    /// The file with the logins at servers reached over HTTP; a relayed server that has one there is sent it. Default none.
    pub logins: Option<&'static std::path::Path>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(60),
            grace: Duration::from_secs(2),
            max_message_bytes: 256 << 20,
            max_catalogue_bytes: 512 << 20,
            max_pages: 10_000,
            logins: None,
        }
    }
}

impl Options {
    /// The same bounds with another timeout.
    #[must_use]
    pub const fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }
}

/// How far a question has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress<'s> {
    /// Position of the server in the list given to [`list_all`](crate::list_all); 0 when one was asked.
    pub index: usize,
    /// The name to show for the server.
    pub server: &'s str,
    /// What is being waited for.
    pub stage: Stage,
    /// Time since the start.
    pub elapsed: Duration,
    /// Pages read so far.
    pub pages: usize,
    /// Tools read so far.
    pub tools: usize,
    /// Bytes received so far.
    pub bytes: u64,
}

/// Is told about progress: at every change of stage, at every page, and about twice a second in between.
pub type OnProgress<'a> = &'a (dyn Fn(Progress<'_>) + Send + Sync);

/// The steps of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stage {
    /// The process is being started, or the connection made, and the server's first answer awaited.
    Starting,
    /// The pages of the list are being read.
    Listing,
    /// The server has answered, or failed, and is being ended.
    Ending,
}
