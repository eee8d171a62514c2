//! The few colours, each with one meaning; everything reads the same without them.

use anstyle::{AnsiColor, Style};

/// What is secondary.
pub(crate) const DIM: Style = Style::new().dimmed();
/// What a line is about.
pub(crate) const STRONG: Style = Style::new().bold();
/// What needs the reader.
pub(crate) const NEEDS_YOU: Style = AnsiColor::Yellow.on_default();
/// What holds, or got lighter.
pub(crate) const HOLDS: Style = AnsiColor::Green.on_default();
/// What failed.
pub(crate) const FAILED: Style = AnsiColor::Red.on_default();
/// Bars of tools.
pub(crate) const BAR: Style = AnsiColor::Cyan.on_default();

/// The colour of a slice, the same everywhere.
pub(crate) fn slice(name: &str) -> Style {
    match name {
        "system" => AnsiColor::Blue,
        "tools" => AnsiColor::Cyan,
        "history" => AnsiColor::Magenta,
        "tail" => AnsiColor::Green,
        _ => AnsiColor::Yellow,
    }
    .on_default()
}

/// `text` in `style`.
pub(crate) fn paint(text: &str, style: Style) -> String {
    format!("{style}{text}{style:#}")
}
