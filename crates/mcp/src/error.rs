//! Why a server could not be asked.

use crate::explain::Explained;
use crate::listing::Stage;
use crate::spec::Origin;
use std::fmt;
use std::ops::Deref;
use std::path::PathBuf;
use std::time::Duration;

/// A server whose tools could not be listed. It is never zero tools.
///
/// `Display` is the first line only; [`Failure::explain`] gives all three parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListError(Box<Failure>);

/// What a [`ListError`] knows. Texts are harmless to print and hold no secret of the spec.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The name to show for the server.
    pub server: String,
    /// The command line or URL that was tried, as it may be shown.
    pub target: String,
    /// Whether `target` is a URL.
    pub remote: bool,
    /// Where the server is written down, if in a file.
    pub origin: Option<Origin>,
    /// What was being waited for.
    pub stage: Stage,
    /// Time since the start.
    pub elapsed: Duration,
    /// What went wrong.
    pub reason: Reason,
    /// The last lines the server wrote to standard error.
    pub stderr: Vec<String>,
    /// The first lines on standard output that are not protocol; over HTTP, what came in their place.
    pub stdout: Vec<String>,
    /// Answers that came to requests that were never made, as when a server numbers them its own way.
    pub stray_answers: usize,
}

impl Deref for ListError {
    type Target = Failure;

    fn deref(&self) -> &Failure {
        &self.0
    }
}

impl From<Failure> for ListError {
    fn from(failure: Failure) -> Self {
        Self(Box::new(failure))
    }
}

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// No such program.
    ProgramNotFound {
        /// The program.
        program: String,
    },
    /// The program is there but may not be executed.
    ProgramNotExecutable {
        /// The program.
        program: String,
    },
    /// The working directory does not exist.
    NoWorkingDirectory {
        /// The directory, as it may be shown.
        cwd: PathBuf,
    },
    /// The operating system refused to start the program for another reason.
    NotStarted {
        /// What it said.
        detail: String,
    },
    /// The process ended before its list was complete.
    Exited {
        /// Its exit code, if it has one.
        code: Option<i32>,
        /// The signal that ended it, if one did.
        signal: Option<i32>,
    },
    /// The process closed its output, but goes on running.
    OutputClosed,
    /// The time was up.
    TimedOut {
        /// How long it was given.
        limit: Duration,
        /// The request that was not answered.
        waiting_for: &'static str,
        /// Pages read until then; none of them counts.
        pages: usize,
    },
    /// A message was longer than the bound.
    MessageTooLarge {
        /// The bound, in bytes.
        limit: usize,
    },
    /// The pages together were longer than the bound.
    CatalogueTooLarge {
        /// The bound, in bytes.
        limit: usize,
    },
    /// A message was not UTF-8.
    InvalidUtf8 {
        /// Offset of the first such byte in the message.
        offset: usize,
        /// The request that was being answered.
        waiting_for: &'static str,
    },
    /// A message was not JSON.
    InvalidJson {
        /// Offset of the first byte that cannot stand where it stands.
        offset: usize,
        /// What is wrong there.
        detail: String,
        /// The request that was being answered.
        waiting_for: &'static str,
        /// What stands there.
        excerpt: String,
    },
    /// A page of the list, or the answer to the handshake, is not what the protocol asks for.
    Malformed {
        /// The page, counted from 1; `None` in the handshake.
        page: Option<usize>,
        /// What is wrong with it.
        detail: String,
    },
    /// A cursor came a second time: the list has no end.
    RepeatedCursor {
        /// The page that came with it first, counted from 1.
        first: usize,
        /// The page that came with it again.
        again: usize,
    },
    /// The list goes on and on.
    EndlessPages {
        /// Pages read.
        pages: usize,
        /// Different tools on them.
        tools: usize,
        /// Whether the last pages brought no new tool; else there were just too many.
        nothing_new: bool,
    },
    /// The server answered with an error.
    ServerError {
        /// The request.
        method: &'static str,
        /// The error's code.
        code: i64,
        /// Its message.
        message: String,
    },
    /// The server speaks none of the protocol versions known here.
    UnsupportedProtocol {
        /// The versions it offers.
        supported: Vec<String>,
    },
    /// The URL cannot be used.
    BadUrl {
        /// Why.
        detail: String,
    },
    /// A header cannot be sent.
    BadHeader {
        /// Its name.
        name: String,
    },
    /// No connection, or it broke.
    Unreachable {
        /// What the network said.
        detail: String,
    },
    /// What came back is no whole answer of HTTP.
    BadHttp {
        /// What is wrong with it.
        detail: String,
    },
    /// An answer that is compressed, which was not asked for.
    Compressed {
        /// With what (`Content-Encoding`), harmless to print.
        encoding: String,
    },
    /// The server wants a login (HTTP 401).
    LoginNeeded {
        /// Where it describes how to log in (`resource_metadata` of `WWW-Authenticate`).
        resource_metadata: Option<String>,
        /// The scope it asks for.
        scope: Option<String>,
        /// Whether credentials were sent, and refused.
        credentials_sent: bool,
    },
    /// An HTTP status that means no.
    HttpStatus {
        /// The status.
        status: u16,
        /// The beginning of what came with it.
        excerpt: String,
    },
    /// A redirect to another origin, which is not followed.
    RedirectedElsewhere {
        /// Where to, without userinfo and query.
        to: String,
    },
    /// More redirects in a row than are followed.
    TooManyRedirects,
    /// An answer that is neither JSON nor an event stream.
    NotMcp {
        /// Its content type.
        content_type: String,
        /// The beginning of it.
        excerpt: String,
    },
    /// The server forgot the session, and did so again after a new one was opened.
    SessionLost,
    /// The event stream ended without the answer.
    StreamEnded {
        /// The request that was not answered.
        waiting_for: &'static str,
    },
    /// The old SSE transport named an address on another origin for messages, which is not used.
    ForeignEndpoint {
        /// The address, without userinfo and query.
        endpoint: String,
    },
    /// A variable in the configuration has no value and no default.
    UnsetVariable {
        /// The variable.
        name: String,
        /// The line it stands on.
        line: usize,
    },
    /// The configuration wants a value that only an editor can ask a person for.
    NeedsInput {
        /// The placeholder, such as `${input:token}`.
        placeholder: String,
        /// The line it stands on.
        line: usize,
    },
    /// The server's entry in the configuration cannot be used.
    BadEntry {
        /// What is wrong with it.
        detail: String,
        /// The line.
        line: usize,
    },
}

impl Reason {
    /// A stable name for it, for machines.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::ProgramNotFound { .. } => "program_not_found",
            Self::ProgramNotExecutable { .. } => "program_not_executable",
            Self::NoWorkingDirectory { .. } => "no_working_directory",
            Self::NotStarted { .. } => "not_started",
            Self::Exited { .. } => "exited",
            Self::OutputClosed => "output_closed",
            Self::TimedOut { .. } => "timed_out",
            Self::MessageTooLarge { .. } => "message_too_large",
            Self::CatalogueTooLarge { .. } => "catalogue_too_large",
            Self::InvalidUtf8 { .. } => "invalid_utf8",
            Self::InvalidJson { .. } => "invalid_json",
            Self::Malformed { .. } => "malformed",
            Self::RepeatedCursor { .. } => "repeated_cursor",
            Self::EndlessPages { .. } => "endless_pages",
            Self::ServerError { .. } => "server_error",
            Self::UnsupportedProtocol { .. } => "unsupported_protocol",
            Self::BadUrl { .. } => "bad_url",
            Self::BadHeader { .. } => "bad_header",
            Self::Unreachable { .. } => "unreachable",
            Self::BadHttp { .. } => "bad_http",
            Self::Compressed { .. } => "compressed",
            Self::LoginNeeded { .. } => "login_needed",
            Self::HttpStatus { .. } => "http_status",
            Self::RedirectedElsewhere { .. } => "redirected_elsewhere",
            Self::TooManyRedirects => "too_many_redirects",
            Self::NotMcp { .. } => "not_mcp",
            Self::SessionLost => "session_lost",
            Self::StreamEnded { .. } => "stream_ended",
            Self::ForeignEndpoint { .. } => "foreign_endpoint",
            Self::UnsetVariable { .. } => "unset_variable",
            Self::NeedsInput { .. } => "needs_input",
            Self::BadEntry { .. } => "bad_entry",
        }
    }
}

#[cfg(feature = "client")]
impl Reason {
    /// The same reason, with `scrub` applied to every text in it that came from the server.
    pub(crate) fn scrubbed(mut self, scrub: impl Fn(&str) -> String) -> Self {
        match &mut self {
            Self::ServerError { message: text, .. }
            | Self::HttpStatus { excerpt: text, .. }
            | Self::NotMcp { excerpt: text, .. }
            | Self::InvalidJson { excerpt: text, .. }
            | Self::Malformed { detail: text, .. }
            | Self::Unreachable { detail: text }
            | Self::BadHttp { detail: text }
            | Self::RedirectedElsewhere { to: text }
            | Self::ForeignEndpoint { endpoint: text }
            | Self::Compressed { encoding: text } => *text = scrub(text),
            Self::LoginNeeded { resource_metadata, scope, .. } => {
                resource_metadata.iter_mut().chain(scope).for_each(|text| *text = scrub(text));
            }
            Self::UnsupportedProtocol { supported } => {
                supported.iter_mut().for_each(|text| *text = scrub(text));
            }
            _ => {}
        }
        self
    }
}

/// A duration for people: tenths below ten seconds, whole seconds above.
fn seconds(time: Duration) -> String {
    let tenths = time.as_millis().div_ceil(100);
    if tenths < 100 && !tenths.is_multiple_of(10) {
        format!("{}.{} s", tenths / 10, tenths % 10)
    } else {
        format!("{} s", time.as_secs_f64().round())
    }
}

/// A number with its thousands separated.
fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 page`, `2 pages`.
fn counted(number: usize, noun: &str) -> String {
    format!("{} {noun}{}", thousands(number), if number == 1 { "" } else { "s" })
}

fn signal_name(signal: i32) -> String {
    let name = match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        15 => "SIGTERM",
        _ => return format!("signal {signal}"),
    };
    name.to_owned()
}

impl fmt::Display for ListError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.headline())
    }
}

impl std::error::Error for ListError {}

impl Failure {
    fn headline(&self) -> String {
        let server = format!("the server `{}`", self.server);
        let after = seconds(self.elapsed);
        match &self.reason {
            Reason::ProgramNotFound { program } => {
                format!("{server} could not be started: there is no program `{program}`")
            }
            Reason::ProgramNotExecutable { program } => {
                format!("{server} could not be started: `{program}` may not be executed")
            }
            Reason::NoWorkingDirectory { .. } => {
                format!("{server} could not be started: its working directory does not exist")
            }
            Reason::NotStarted { detail } => format!("{server} could not be started: {detail}"),
            Reason::Exited { code, signal } => {
                let how = match (code, signal) {
                    (_, Some(signal)) => format!("by {}", signal_name(*signal)),
                    (Some(code), None) => format!("exit code {code}"),
                    (None, None) => "exit code unknown".to_owned(),
                };
                format!("{server} ended before it listed its tools ({how}, after {after})")
            }
            Reason::OutputClosed => {
                format!("{server} closed its output before it listed its tools (after {after})")
            }
            Reason::TimedOut { limit, waiting_for, pages } => {
                let read = match pages {
                    0 => String::new(),
                    pages => format!(", after {} that do not count", counted(*pages, "page")),
                };
                format!("{server} did not answer `{waiting_for}` within {}{read}", seconds(*limit))
            }
            Reason::MessageTooLarge { limit } => {
                format!("{server} sent a message of more than {} bytes", thousands(*limit))
            }
            Reason::CatalogueTooLarge { limit } => {
                format!("{server} sent pages of more than {} bytes together", thousands(*limit))
            }
            Reason::InvalidUtf8 { offset, waiting_for } => format!(
                "{server} sent bytes that are not UTF-8 (byte {} of its answer to `{waiting_for}`)",
                thousands(*offset)
            ),
            Reason::InvalidJson { offset, detail, waiting_for, .. } => format!(
                "{server} sent broken JSON: {detail} (byte {} of its answer to `{waiting_for}`)",
                thousands(*offset)
            ),
            Reason::Malformed { page: Some(page), detail } => {
                format!("page {} of the tools of {server} is malformed: {detail}", thousands(*page))
            }
            Reason::Malformed { page: None, detail } => format!("{server} gave a malformed answer: {detail}"),
            Reason::RepeatedCursor { first, again } => format!(
                "the tool list of {server} has no end: page {} leads back to where page {} led",
                thousands(*again),
                thousands(*first)
            ),
            Reason::EndlessPages { pages, tools, nothing_new: true } => format!(
                "the tool list of {server} has no end: {} with {}, and nothing new on the last ones",
                counted(*pages, "page"),
                counted(*tools, "tool")
            ),
            Reason::EndlessPages { pages, tools, nothing_new: false } => format!(
                "the tool list of {server} has no end in sight: {} with {} so far",
                counted(*pages, "page"),
                counted(*tools, "tool")
            ),
            Reason::ServerError { method, code, message } => {
                let message = if message.is_empty() { "no message" } else { message };
                format!("{server} answered `{method}` with error {code}: {message}")
            }
            Reason::UnsupportedProtocol { supported } => {
                let offered =
                    if supported.is_empty() { "no version".to_owned() } else { supported.join(", ") };
                format!("{server} speaks no protocol version known here (it offers {offered})")
            }
            Reason::BadUrl { detail } => format!("the URL of {server} cannot be used: {detail}"),
            Reason::BadHeader { name } => format!("the header `{name}` for {server} cannot be sent"),
            Reason::Unreachable { detail } => format!("no connection to {server}: {detail}"),
            Reason::BadHttp { detail } => format!("{server} gave no whole HTTP answer: {detail}"),
            Reason::Compressed { encoding } => {
                format!("{server} compressed its answer with {encoding}, which nobody asked for")
            }
            Reason::LoginNeeded { credentials_sent: false, .. } => {
                format!("{server} needs a login (HTTP 401)")
            }
            Reason::LoginNeeded { credentials_sent: true, .. } => {
                format!("{server} refused the credentials it was given (HTTP 401)")
            }
            Reason::HttpStatus { status, .. } => format!("{server} answered with HTTP {status}"),
            Reason::RedirectedElsewhere { .. } => format!("{server} redirects to another address"),
            Reason::TooManyRedirects => format!("{server} redirects in circles"),
            Reason::NotMcp { content_type, .. } => {
                format!("{server} answered with {content_type}, which is not MCP")
            }
            Reason::SessionLost => format!("{server} forgot the session twice"),
            Reason::StreamEnded { waiting_for } => {
                format!("{server} ended its event stream without an answer to `{waiting_for}`")
            }
            Reason::ForeignEndpoint { .. } => format!("{server} wants its messages sent to another address"),
            Reason::UnsetVariable { name, line } => {
                format!("{server} needs the variable `{name}`, which is not set (line {line})")
            }
            Reason::NeedsInput { placeholder, line } => {
                format!("{server} needs a value that only an editor asks for: {placeholder} (line {line})")
            }
            Reason::BadEntry { detail, line } => {
                format!("the entry of {server} cannot be used: {detail} (line {line})")
            }
        }
    }

    /// Whether standard error speaks of an environment variable that is missing.
    fn misses_variable(&self) -> bool {
        let complains = |line: &str| {
            let lower = line.to_lowercase();
            ["not set", "missing", "required", "undefined", "must be set", "not found", "not provided"]
                .iter()
                .any(|words| lower.contains(words))
        };
        let names_one = |line: &str| {
            line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).any(|word| {
                word.len() > 3
                    && word.contains('_')
                    && word.starts_with(|c: char| c.is_ascii_uppercase())
                    && word.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
            })
        };
        self.stderr.iter().any(|line| complains(line) && names_one(line))
    }

    fn advice(&self) -> String {
        match &self.reason {
            Reason::ProgramNotFound { .. } => "install it, or check its spelling and PATH".to_owned(),
            Reason::ProgramNotExecutable { program } => format!("chmod +x {program}"),
            Reason::NoWorkingDirectory { .. } => "create it, or correct the server's \"cwd\"".to_owned(),
            Reason::Exited { .. } | Reason::OutputClosed if self.misses_variable() => match &self.origin {
                Some(origin) => {
                    format!("set it in the environment, or in the server's \"env\" in {origin}")
                }
                None => "set it in the environment".to_owned(),
            },
            Reason::Exited { .. } | Reason::OutputClosed => {
                "run the command by itself: an MCP server waits for input and does not end".to_owned()
            }
            Reason::TimedOut { limit, .. } => {
                let longer =
                    format!("a longer wait, --timeout {}, if it is slow", limit.as_secs().max(1) * 2);
                match self.remote {
                    true => format!("{longer}; else check that an MCP server listens at this address"),
                    false => format!(
                        "{longer} (a first start may download a lot); \
                         else check that this command starts an MCP server"
                    ),
                }
            }
            Reason::LoginNeeded { credentials_sent: false, .. } => {
                "log in with a client that can, and pass its token: --header 'Authorization: Bearer TOKEN'"
                    .to_owned()
            }
            Reason::LoginNeeded { credentials_sent: true, .. } => {
                "a new token: this one may have expired or be meant for another server".to_owned()
            }
            Reason::HttpStatus { status: 403, .. } => {
                "a token with more rights, or ask the server's owner for access".to_owned()
            }
            Reason::HttpStatus { status: 404 | 405, .. } | Reason::NotMcp { .. } => {
                "check the path: MCP endpoints often end in /mcp or /sse".to_owned()
            }
            Reason::HttpStatus { status: 429 | 500..=599, .. } => "again later".to_owned(),
            Reason::RedirectedElsewhere { to } if !to.contains('…') && to.contains("://") => {
                format!("if you trust that address: --url {to}")
            }
            Reason::RedirectedElsewhere { .. } => "if you trust that address, name it with --url".to_owned(),
            Reason::Unreachable { detail } if detail.contains("certificate") => {
                "trust its issuer: add it to the system's certificates, or name it in SSL_CERT_FILE"
                    .to_owned()
            }
            Reason::Unreachable { .. } => "check that the server runs, and its address and port".to_owned(),
            Reason::BadHttp { .. } => {
                "check the address: http or https, host, port; what listens there may be no web server"
                    .to_owned()
            }
            Reason::Compressed { .. } => {
                "a newer version of the server, or of the proxy before it".to_owned()
            }
            Reason::UnsetVariable { name, .. } => {
                format!("export {name}=…, or write a default: ${{{name}:-…}}")
            }
            Reason::NeedsInput { .. } => {
                "write ${VARIABLE} instead, and set that in the environment".to_owned()
            }
            Reason::Malformed { page: None, .. } if self.remote => {
                "check that an MCP server listens at this address".to_owned()
            }
            Reason::Malformed { page: None, .. } => "check that this command starts an MCP server".to_owned(),
            Reason::BadUrl { .. } => "an address such as https://host/mcp".to_owned(),
            Reason::RepeatedCursor { .. }
            | Reason::EndlessPages { .. }
            | Reason::Malformed { page: Some(_), .. }
            | Reason::InvalidJson { .. }
            | Reason::InvalidUtf8 { .. } => {
                "a newer version of the server, or tell its author: no client can read this list".to_owned()
            }
            _ => String::new(),
        }
    }

    /// All three parts: what was wrong, where, what to do.
    pub fn explain(&self) -> Explained {
        let label = if self.remote { "url" } else { "command" };
        let mut text = Explained::new(self.headline()).with(label, self.target.clone());
        text = match &self.reason {
            Reason::NoWorkingDirectory { cwd } => {
                text.with("cwd", crate::harmless::line(&cwd.to_string_lossy()))
            }
            Reason::InvalidJson { excerpt, .. } => text.with("there", excerpt.clone()),
            Reason::HttpStatus { excerpt, .. } | Reason::NotMcp { excerpt, .. } => {
                text.with("answer", excerpt.clone())
            }
            Reason::LoginNeeded { resource_metadata, scope, .. } => text
                .with("login", resource_metadata.clone().unwrap_or_default())
                .with("scope", scope.clone().unwrap_or_default()),
            Reason::RedirectedElsewhere { to } => text.with("to", to.clone()),
            Reason::ForeignEndpoint { endpoint } => text.with("to", endpoint.clone()),
            _ => text,
        };
        let origin = self.origin.as_ref().map(|origin| crate::harmless::line(&origin.to_string()));
        let stray = match self.stray_answers {
            0 => String::new(),
            count => format!("{} with an id that no request had", counted(count, "answer")),
        };
        let (label, noise) = match &self.reason {
            // There it is the answer that is shown already, or that nobody can read.
            Reason::HttpStatus { .. } | Reason::NotMcp { .. } | Reason::Compressed { .. } => ("", Vec::new()),
            _ if self.remote => ("also sent", self.stdout.clone()),
            _ => ("stdout", self.stdout.clone()),
        };
        text.with("file", origin.unwrap_or_default())
            .with("got", stray)
            .with_lines(label, noise)
            .with_lines("stderr", self.stderr.clone())
            .with("try", self.advice())
    }
}
