//! Servers asked for their tools: all at once, with one line of progress, ended whole when told to end.

use crate::exit::Trouble;
use crate::render::harmless::{cut_middle, harmless, short};
use crate::render::number::{count, seconds};
use deadweight_footprint::catalogue::Server;
use deadweight_mcp::{
    Anomaly, Explained, ListError, Listing, Options, Progress, ServerSpec, Stage, Text, Transport,
    TransportKind, list_all,
};
use std::io::Write;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How servers are asked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asking {
    /// How long each may take.
    pub(crate) timeout: Duration,
    /// Whether a person sees the progress.
    pub(crate) progress: bool,
}

/// Asks all servers at once. Without servers nothing is started, not even a runtime.
pub(crate) fn ask(specs: &[ServerSpec], asking: Asking) -> Result<Vec<Result<Listing, ListError>>, Trouble> {
    if specs.is_empty() {
        return Ok(Vec::new());
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| {
        Trouble::unmeasured("the servers could not be asked")
            .at("system", crate::target::file::system(&error))
    })?;
    let line = Line::new(specs, asking.progress);
    let options = Options::default().with_timeout(asking.timeout);
    let on_progress = |progress: Progress<'_>| line.tell(progress);
    runtime.block_on(async {
        // Before anything is started: what is started is ended when this process is told to end.
        let told_to_end = deadweight_mcp::told_to_end().map_err(|error| {
            Trouble::unmeasured("the servers could not be asked: signals cannot be caught")
                .at("system", crate::target::file::system(&error))
        })?;
        tokio::select! {
            biased;
            signal = told_to_end => {
                line.clear();
                deadweight_mcp::end_all(options.grace);
                // As a shell reports it; there is nothing to print.
                std::process::exit(128 + signal);
            }
            answers = list_all(specs, &options, &on_progress) => {
                line.clear();
                Ok(answers)
            }
        }
    })
}

/// The line of progress.
struct Line {
    shown: bool,
    started: Instant,
    state: Mutex<State>,
}

struct State {
    servers: Vec<(String, Option<Stage>, usize, usize)>,
    drawn: Option<Instant>,
}

/// Before this much time has passed there is nothing to tell.
const QUIET: Duration = Duration::from_millis(700);
/// The line is not drawn more often than this.
const OFTEN: Duration = Duration::from_millis(100);

impl Line {
    fn new(specs: &[ServerSpec], shown: bool) -> Self {
        let servers = specs.iter().map(|spec| (spec.display_name(), None, 0, 0)).collect();
        Self { shown, started: Instant::now(), state: Mutex::new(State { servers, drawn: None }) }
    }

    fn tell(&self, progress: Progress<'_>) {
        if !self.shown {
            return;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(server) = state.servers.get_mut(progress.index) {
            *server = (progress.server.to_owned(), Some(progress.stage), progress.pages, progress.tools);
        }
        let fresh = state.drawn.is_none_or(|drawn| drawn.elapsed() >= OFTEN);
        if self.started.elapsed() >= QUIET && fresh {
            state.drawn = Some(Instant::now());
            let columns = terminal_size::terminal_size_of(std::io::stderr())
                .map_or(80, |(width, _)| usize::from(width.0));
            let text = state.text(self.started.elapsed());
            let _ = write!(std::io::stderr(), "\r\x1b[K  {}", cut_middle(&text, columns.saturating_sub(3)));
        }
    }

    fn clear(&self) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.drawn.is_some() {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

impl State {
    fn text(&self, elapsed: Duration) -> String {
        let time = seconds(elapsed);
        if let [(name, stage, pages, tools)] = self.servers.as_slice() {
            let doing = match stage {
                None | Some(Stage::Starting) => "starting".to_owned(),
                Some(Stage::Listing) if *pages > 0 => {
                    format!(
                        "{} on {}",
                        count(*tools as u64, "tool", "tools"),
                        count(*pages as u64, "page", "pages")
                    )
                }
                Some(Stage::Listing) => "listing its tools".to_owned(),
                Some(Stage::Ending) => "ending".to_owned(),
            };
            return format!("{}: {doing} · {time}", harmless(name));
        }
        let waiting: Vec<&str> = self
            .servers
            .iter()
            .filter(|server| server.1 != Some(Stage::Ending))
            .map(|server| server.0.as_str())
            .collect();
        let answered = self.servers.len() - waiting.len();
        format!(
            "{answered} of {} answered · {time} · waiting for {}",
            count(self.servers.len() as u64, "server", "servers"),
            harmless(&waiting.join(", "))
        )
    }
}

/// What a server is, taken from what may be shown of it, not from what is used: a variable put in may be a key.
fn source(transport: &Transport) -> String {
    match transport {
        Transport::Stdio { command, args, .. } => {
            let args: Vec<String> = args.iter().map(|arg| arg.shown().to_owned()).collect();
            deadweight_lock::source_of_command(command.shown(), &args)
        }
        Transport::Http { url, .. } | Transport::Sse { url, .. } => source_of_url(url),
    }
}

/// A server that answered, as something to price.
pub(crate) fn server(spec: &ServerSpec, listing: Listing) -> Server {
    let source = source(&spec.transport);
    let (name, version) = listing.server_info.map_or((None, None), |info| (Some(info.name), info.version));
    // A server without any name is called by its URL, which may have a key in its path.
    let unnamed = matches!(&spec.transport, Transport::Http { url, .. } | Transport::Sse { url, .. } if url.shown() == listing.label);
    let label = if unnamed { source.clone() } else { listing.label };
    Server {
        label,
        name,
        version,
        protocol_version: Some(listing.protocol_version),
        instructions: listing.instructions,
        tools: listing.tools.iter().map(|tool| tool.to_vec()).collect(),
        source: Some(source),
    }
}

/// Scheme, host and path of a URL. What of it is not written down as it is came out of a variable, may be a secret,
/// and is `-`.
fn source_of_url(url: &Text) -> String {
    let source = deadweight_lock::source_of_url(url.reveal());
    let written = deadweight_lock::source_of_url(url.shown());
    let plain = |part: &str| part.is_empty() || written.split('/').any(|known| known == part);
    let (scheme, rest) = source.split_once("://").unwrap_or(("https", &source));
    let parts: Vec<&str> = rest.split('/').map(|part| if plain(part) { part } else { "-" }).collect();
    format!("{scheme}://{}", parts.join("/"))
}

/// How a server answered, for `--verbose`.
pub(crate) fn told(listing: &Listing) -> String {
    let transport = match listing.transport {
        TransportKind::Stdio => "stdio",
        TransportKind::Http => "streamable HTTP",
        TransportKind::Sse => "SSE",
    };
    format!(
        "{}: {} on {} over {transport}, protocol {}, after {}",
        short(&listing.label),
        count(listing.tools.len() as u64, "tool", "tools"),
        count(listing.pages as u64, "page", "pages"),
        short(&listing.protocol_version),
        seconds(listing.elapsed)
    )
}

/// What was odd about the way a server answered. (What is odd in its list, the report says.)
pub(crate) fn odd(listing: &Listing) -> Vec<String> {
    let mut out = Vec::new();
    let label = short(&listing.label);
    if !listing.tools_supported {
        out.push(format!("{label} offers no tools"));
    }
    for anomaly in &listing.anomalies {
        match anomaly {
            Anomaly::StdoutNoise { lines, sample } => out.push(format!(
                "{label} {} what is no protocol message ({}; strict clients refuse that): {sample}",
                if listing.transport == TransportKind::Stdio { "wrote to stdout" } else { "sent" },
                count(*lines as u64, "line", "lines")
            )),
            Anomaly::UnknownProtocolVersion { version } => {
                out.push(format!("{label} speaks protocol version {version}, which is not known here"));
            }
            Anomaly::SessionRenewed => {
                out.push(format!("{label} lost its session in the middle of the list and was asked again"));
            }
            Anomaly::StrayAnswers { count: answers } => {
                let requests = count(*answers as u64, "request", "requests");
                out.push(format!("{label} answered {requests} that nobody made, or that had its answer"));
            }
            _ => {}
        }
    }
    out
}

impl From<Explained> for Trouble {
    fn from(explained: Explained) -> Self {
        let mut trouble = Self::unmeasured(explained.what);
        for (label, lines) in explained.details {
            trouble = trouble.at(label, lines.join("\n"));
        }
        trouble
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_variable_holds_is_no_part_of_a_source() {
        let url = Text::shown_as("https://h/hunter2/mcp", "https://h/${KEY}/mcp");
        assert_eq!(source(&Transport::Http { url, headers: Vec::new() }), "https://h/-/mcp");
        let args = vec![Text::shown_as("hunter2", "${KEY}")];
        let stdio = Transport::Stdio { command: Text::plain("npx"), args, env: Vec::new(), cwd: None };
        assert_eq!(source(&stdio), "command:npx");
    }

    #[test]
    fn sources_hold_nothing_that_a_variable_held() {
        for (value, written, expected) in [
            ("https://h/s/hunter2/mcp?k=v", "https://h/s/${TOKEN}/mcp?…", "https://h/s/-/mcp"),
            ("https://h/hunter2", "${URL}", "https://-/-"),
            ("https://h/mcp", "${BASE:-https://other}/mcp", "https://-/mcp"),
            ("https://u:hunter2@h/", "https://…@h/", "https://h/"),
            ("https://h:1", "https://${HOST}", "https://-"),
        ] {
            let source = source_of_url(&Text::shown_as(value, written));
            assert_eq!(source, expected, "{written}");
            assert!(deadweight_lock::is_clean_source(&source), "{source}");
        }
        assert_eq!(source_of_url(&Text::plain("https://h:1/a/b")), "https://h:1/a/b");
    }
}
