//! What the environment says. Every variable that the command reads itself is read here.
//!
//! | variable | meaning |
//! |---|---|
//! | `NO_COLOR` | set and not empty: no colours, unless `--color always` |
//! | `COLUMNS` | the width of the output, where it does not go to a terminal that tells its own |
//!
//! Variables that MCP configs name in `${VAR}` are read where the config is.

use crate::args::Color;
use std::io::IsTerminal;

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

    /// The width at which sentences are wrapped.
    pub(crate) fn sentence(self) -> usize {
        self.columns.unwrap_or(100).clamp(40, 120)
    }
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
