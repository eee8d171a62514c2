//! What a scripted server does.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A server's script. It travels as JSON.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Script {
    /// `serverInfo.name`; also found in the command line of every process that plays this script.
    pub name: String,
    /// `serverInfo.version`.
    pub version: Option<String>,
    /// The server's instructions.
    pub instructions: Option<String>,
    /// Which protocol it speaks.
    pub era: Era,
    /// The version that answers `initialize`; else the one that was asked for.
    pub protocol_version: Option<String>,
    /// Whether the capability `tools` is left out, and `tools/list` refused.
    pub no_tools: bool,
    /// The pages of tools.
    pub pages: Vec<Page>,
    /// Lists that take the place of `pages` when [`Act::List`] says so.
    pub later: Vec<Vec<Page>>,
    /// A file to which every message that comes is appended, one a line, whatever process plays the script.
    pub record: Option<String>,
    /// Instead of `pages`: a list without an end.
    pub endless: Option<Endless>,
    /// What is done at certain points: at the `start`, when the input has ended (`end`), and instead of or
    /// before the answer to a method. `tools/call:NAME` is the call of one tool, and goes before `tools/call`.
    pub on: BTreeMap<String, Vec<Act>>,
    /// Whether it goes on running when its input has ended.
    pub linger: bool,
    /// How it behaves over HTTP.
    pub http: HttpScript,
}

/// The eras of the protocol.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Era {
    /// Versions with `initialize`.
    #[default]
    Legacy,
    /// 2026-07-28.
    Modern,
    /// Both.
    Both,
}

/// One page of tools.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Page {
    /// Tools, written as compact JSON.
    pub tools: Vec<Value>,
    /// More tools, as raw JSON text.
    pub raw: Vec<String>,
    /// More tools, made up.
    pub generate: Option<Generate>,
    /// `nextCursor`, where it is not the plain one of the following page.
    pub next: Option<Value>,
}

/// Made-up tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Generate {
    /// How many.
    pub tools: usize,
    /// Bytes of each description.
    pub description: usize,
}

/// A list without an end: every page has a new cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endless {
    /// New tools on every page; with 0, the same tool again and again.
    pub new_tools: usize,
}

/// Something done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Act {
    /// Wait so many milliseconds.
    Sleep(u64),
    /// Write a line to standard output (over HTTP: an event).
    Stdout(String),
    /// Write these bytes, in hexadecimal, to standard output, without a line end.
    StdoutHex(String),
    /// Write a line to standard error.
    Stderr(String),
    /// Write so many bytes of lines to standard error.
    StderrFlood(usize),
    /// Write the value of an environment variable to standard error.
    StderrEnv(String),
    /// Send the client a request and wait for its reply, which must hold this `result` or `error`.
    Ask {
        /// The method.
        method: String,
        /// The member `result` or `error` of the reply.
        reply: Value,
    },
    /// Send so many `ping`s and wait for no reply.
    Pings(usize),
    /// Send a notification.
    Notify(String),
    /// Answer with this text, in which `$ID` stands for the request's id.
    Answer(String),
    /// Answer with these bytes, in hexadecimal, as one line.
    AnswerHex(String),
    /// Answer with an error.
    Error {
        /// Its code.
        code: i64,
        /// Its message.
        message: String,
    },
    /// Answer as usual, so that what follows comes after the answer.
    Proceed,
    /// Answer with a text of so many bytes.
    AnswerText(usize),
    /// Keep the usual answer back until [`Act::Release`].
    Hold,
    /// Send what was kept back.
    Release,
    /// From now on, serve the list of this number: 0 is `pages`, 1 the first of `later`.
    List(usize),
    /// Do this only as long as the file is not there; it is made first.
    Once {
        /// The file.
        file: String,
        /// What is done.
        acts: Vec<Act>,
    },
    /// Answer nothing.
    Silence,
    /// End with an exit code.
    Exit(i32),
    /// End by a signal, given by its number.
    Signal(i32),
    /// Close standard output and go on running.
    CloseStdout,
    /// Start a process that runs for ever and keeps the standard streams open.
    Grandchild,
}

/// How a server behaves over HTTP.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HttpScript {
    /// Whether it is a server of the transport of 2024-11-05: a stream at GET, POSTs to an endpoint.
    pub old_sse: bool,
    /// What the `endpoint` event says, where it is not the plain truth.
    pub endpoint: Option<String>,
    /// Whether answers are event streams.
    pub events: bool,
    /// Bytes of an event stream that are sent at once; all that is ready if 0.
    pub dribble: usize,
    /// Whether an event stream ends before the answer; the answer is given to a GET with the last event's id.
    pub resume: bool,
    /// Whether an event stream ends before the answer, for good.
    pub cut: bool,
    /// Whether there are sessions, which every request but `initialize` must name.
    pub session: bool,
    /// How many requests the first, the second, … session lives; the others live for ever.
    pub session_lives: Vec<usize>,
    /// The `WWW-Authenticate` of a 401 for everybody without `Authorization: Bearer good`.
    pub auth: Option<String>,
    /// A redirect for every request to `/`: status and location.
    pub redirect: Option<(u16, String)>,
    /// Fixed answers by JSON-RPC method, or by `GET`.
    pub fixed: BTreeMap<String, Fixed>,
    /// The path whose requests get the fixed answers; all if empty.
    pub fixed_path: String,
    /// The content type of JSON answers, where it is not `application/json`.
    pub content_type: Option<String>,
}

/// A fixed HTTP answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fixed {
    /// The status.
    pub status: u16,
    /// The content type.
    pub content_type: String,
    /// The body.
    pub body: String,
}

impl Script {
    /// A script without tools.
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), version: Some("1.0".to_owned()), ..Self::default() }
    }

    /// Adds a simple tool to the last page.
    #[must_use]
    pub fn tool(self, name: &str) -> Self {
        let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}});
        let tool = json!({"name": name, "description": format!("Does {name}."), "inputSchema": schema});
        self.raw_tool(tool.to_string())
    }

    /// Adds a tool to the last page, as raw JSON.
    #[must_use]
    pub fn raw_tool(mut self, json: impl Into<String>) -> Self {
        if self.pages.is_empty() {
            self.pages.push(Page::default());
        }
        if let Some(page) = self.pages.last_mut() {
            page.raw.push(json.into());
        }
        self
    }

    /// Adds a page.
    #[must_use]
    pub fn page(mut self, page: Page) -> Self {
        self.pages.push(page);
        self
    }

    /// Adds things to do at a point.
    #[must_use]
    pub fn on(mut self, point: &str, acts: impl IntoIterator<Item = Act>) -> Self {
        self.on.entry(point.to_owned()).or_default().extend(acts);
        self
    }

    /// The script as JSON, for the command line of `scripted-mcp`.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}
