//! What is set outside of the arguments: variables of the environment that every command reads, and the settings of the
//! proxy ([`proxy`]), of the gateway ([`gateway`]), its levers ([`levers`]) and of the ledger ([`ledger`]), listed in
//! [`known`].
//!
//! | variable | meaning |
//! |---|---|
//! | `NO_COLOR` | set and not empty: no colours, unless `--color always` |
//! | `COLUMNS` | the width of the output, where it does not go to a terminal that tells its own |
//! | `CI` | set, and neither empty, `0` nor `false`: the gate does not write the lock |
//! | `GITHUB_ACTIONS` | `true`: the gate annotates, and writes to `GITHUB_STEP_SUMMARY` |
//! | `GITHUB_STEP_SUMMARY`, `GITHUB_WORKSPACE` | where the summary goes, and what paths of annotations start from |
//!
//! | `DEADWEIGHT_…` | settings of the proxy |
//! | `DEADWEIGHT_CLIENT_SECRET` | `mcp login`: the secret of a client that was registered by hand |
//! | `DEADWEIGHT_GATEWAY` | `top`, `mcp --own`: where a running gateway is; `run` sets it for its agent |
//! | `DEADWEIGHT_SERVING` | set for servers by the proxy: the configs that are being served |
//! | `ANTHROPIC_API_KEY`, `OPENAI_API_KEY`, `GEMINI_API_KEY` | `gateway --hold-keys`: the keys that are held |
//! | `HTTPS_PROXY`, `ALL_PROXY`, `NO_PROXY` | `gateway`: the proxy between the gateway and its providers |
//! | `DISPLAY`, `WAYLAND_DISPLAY` | `mcp login`: there is a desktop whose browser can be opened |
//! | `XDG_DATA_HOME`, `XDG_CONFIG_HOME`, `XDG_CACHE_HOME`, `HOME` | where the ledger, the user's settings and manifests are |
//!
//! Variables that MCP configs name in `${VAR}` are read where the config is.

mod file;
pub(crate) mod gateway;
mod known;
pub(crate) mod ledger;
pub(crate) mod levers;
pub(crate) mod prices;
pub(crate) mod proxy;
mod routes;
pub(crate) mod token;

pub(crate) use known::Key;

use crate::args::Color;
use crate::exit::Trouble;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// How the output is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Screen {
    /// Its width in cells; none where there is no bound, as in a file.
    pub(crate) columns: Option<usize>,
    /// Whether a person looks at it: bars are drawn.
    pub(crate) terminal: bool,
}

impl Screen {
    /// The screen that standard output is.
    pub(crate) fn of_stdout() -> Self {
        let terminal = std::io::stdout().is_terminal();
        let own = terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| usize::from(width.0));
        let told = || std::env::var("COLUMNS").ok()?.parse::<usize>().ok();
        let columns = own.or_else(told).filter(|&columns| columns > 0);
        Self { columns: columns.or(terminal.then_some(80)), terminal }
    }

    /// The screen that standard error is.
    pub(crate) fn of_stderr() -> Self {
        let terminal = std::io::stderr().is_terminal();
        let own = terminal_size::terminal_size_of(std::io::stderr()).map(|(width, _)| usize::from(width.0));
        let told = || std::env::var("COLUMNS").ok()?.parse::<usize>().ok();
        let columns = own.or_else(told).filter(|&columns| columns > 0);
        Self { columns: columns.or(terminal.then_some(80)), terminal }
    }

    /// The width at which sentences are wrapped.
    pub(crate) fn sentence(self) -> usize {
        self.columns.unwrap_or(100).clamp(40, 120)
    }
}

/// The files of settings that count here, of those that there are.
pub(crate) fn files(env: proxy::Env<'_>, directory: &Path) -> Vec<PathBuf> {
    file::of_project(directory).into_iter().chain(file::of_user(env)).collect()
}

/// Whether progress is shown: only to a person.
pub(crate) fn progress_wanted(quiet: bool) -> bool {
    !quiet && std::io::stderr().is_terminal()
}

/// Sets the colours of both streams.
pub(crate) fn set_colors(color: Color) {
    match color {
        Color::Always => anstream::ColorChoice::Always.write_global(),
        Color::Never => anstream::ColorChoice::Never.write_global(),
        // anstream looks at the stream, NO_COLOR and TERM itself.
        Color::Auto => {}
    }
}

/// Refuses a variable of ours that cannot be read as text: a token that is as good as not set would let everybody in.
pub(crate) fn readable_environment() -> Result<(), Trouble> {
    let broken = std::env::vars_os().find(|(name, value)| {
        name.to_str().is_some_and(|name| name.starts_with("DEADWEIGHT_")) && value.to_str().is_none()
    });
    match broken {
        None => Ok(()),
        Some((name, _)) => {
            let name = name.to_string_lossy().into_owned();
            Err(Trouble::usage(format!("the environment variable {name} holds bytes that are no UTF-8"))
                .attempt(format!("set it again as text, or take it away: unset {name}")))
        }
    }
}

/// Whether this is a run of continuous integration.
pub(crate) fn in_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| !matches!(value.as_str(), "" | "0" | "false"))
}

/// What GitHub Actions tells a step.
#[derive(Debug)]
pub(crate) struct Actions {
    /// The file that becomes the step's summary.
    pub(crate) summary: Option<PathBuf>,
    workspace: Option<PathBuf>,
}

impl Actions {
    /// A path as the repository has it, which is what annotations name.
    pub(crate) fn in_repository(&self, path: &Path) -> Option<String> {
        let (real, root) = (path.canonicalize().ok()?, self.workspace.as_deref()?.canonicalize().ok()?);
        Some(real.strip_prefix(root).ok()?.display().to_string().replace('\\', "/"))
    }
}

/// GitHub Actions, when this is a step of it.
pub(crate) fn github_actions() -> Option<Actions> {
    let place = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    std::env::var("GITHUB_ACTIONS")
        .is_ok_and(|value| value == "true")
        .then(|| Actions { summary: place("GITHUB_STEP_SUMMARY"), workspace: place("GITHUB_WORKSPACE") })
}
