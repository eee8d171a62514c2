//! How a command ends: its exit code, and errors that say what was wrong, where, and what to do.

use crate::render::harmless::{harmless, harmless_lines, width};
use anstyle::{AnsiColor, Style};
use std::borrow::Cow;
use std::io::{self, Write};

/// The exit codes, the same for every command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    /// Done.
    Done = 0,
    /// A gate or a check refused.
    Refused = 1,
    /// The command was called wrongly.
    Usage = 2,
    /// Something could not be measured.
    Unmeasured = 3,
}

/// An error for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Trouble {
    /// The code the command ends with.
    pub(crate) exit: Exit,
    /// What was wrong, in one sentence without a full stop.
    pub(crate) what: String,
    /// Where it was and what to do: a label and a text each.
    pub(crate) details: Vec<(&'static str, String)>,
}

impl Trouble {
    /// A gate refused.
    pub(crate) fn refused(what: impl Into<String>) -> Self {
        Self { exit: Exit::Refused, what: what.into(), details: Vec::new() }
    }

    /// The command was called wrongly.
    pub(crate) fn usage(what: impl Into<String>) -> Self {
        Self { exit: Exit::Usage, what: what.into(), details: Vec::new() }
    }

    /// Something could not be measured.
    pub(crate) fn unmeasured(what: impl Into<String>) -> Self {
        Self { exit: Exit::Unmeasured, what: what.into(), details: Vec::new() }
    }

    /// Adds a line that says where.
    #[must_use]
    pub(crate) fn at(mut self, label: &'static str, text: impl Into<String>) -> Self {
        self.details.push((label, text.into()));
        self
    }

    /// Adds a line that says what to do.
    #[must_use]
    pub(crate) fn attempt(self, text: impl Into<String>) -> Self {
        self.at("try", text)
    }

    /// Adds what git said, when it said anything.
    #[must_use]
    pub(crate) fn said(self, text: String) -> Self {
        if text.is_empty() { self } else { self.at("git", text) }
    }

    /// The error as text, with its styles.
    pub(crate) fn render(&self) -> String {
        let red = AnsiColor::Red.on_default().bold();
        let dim = Style::new().dimmed();
        let mut out = format!("{red}error:{red:#} {}\n", harmless(&self.what));
        let wide = self.details.iter().map(|(label, _)| width(label)).max().unwrap_or(0);
        for (label, text) in &self.details {
            let fill = " ".repeat(wide - width(label));
            for (at, line) in harmless_lines(text).lines().enumerate() {
                if at == 0 {
                    out.push_str(&format!("  {dim}{label}{dim:#}{fill}  {line}\n"));
                } else {
                    out.push_str(&format!("  {}  {line}\n", " ".repeat(wide)));
                }
            }
        }
        out
    }

    /// The sentence and its details on one line, for reports.
    pub(crate) fn reason(&self) -> String {
        let mut out = self.what.clone();
        for (label, text) in self.details.iter().filter(|(label, _)| *label != "try" && *label != "command") {
            out.push_str(&format!("; {label}: {}", text.lines().next().unwrap_or_default()));
        }
        out
    }

    /// The error as JSON: what was wrong, and its details by their labels.
    pub(crate) fn json(&self) -> serde_json::Value {
        let mut details = serde_json::Map::new();
        for (label, text) in &self.details {
            details.entry(*label).or_insert_with(|| text.as_str().into());
        }
        serde_json::json!({ "what": self.what, "details": details })
    }

    /// Writes the error to standard error.
    pub(crate) fn print(&self) {
        let _ = anstream::stderr().write_all(inert(&self.render()).as_bytes());
    }
}

/// Writes a report to standard output. A reader that has seen enough (`| head`) is no error.
pub(crate) fn print(text: &str) -> Result<(), Trouble> {
    let mut out = anstream::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Trouble::unmeasured(format!("the report could not be written: {error}"))
                .at("to", "standard output"))
        }
        _ => Ok(()),
    }
}

/// Tells a person something beside the report, on standard error.
pub(crate) fn note(text: &str) {
    let dim = Style::new().dimmed();
    let text = format!("{dim}note:{dim:#} {}\n", harmless(text));
    let _ = anstream::stderr().write_all(inert(&text).as_bytes());
}

/// Tells a person that something is not as they may think, on standard error.
pub(crate) fn warn(text: &str) {
    let yellow = AnsiColor::Yellow.on_default();
    let text = format!("{yellow}warning:{yellow:#} {}\n", harmless(text));
    let _ = anstream::stderr().write_all(inert(&text).as_bytes());
}

/// Writes a report for a person to standard output.
pub(crate) fn print_told(text: &str) -> Result<(), Trouble> {
    print(&inert(text))
}

/// Text that gives GitHub Actions no command, where this is a step of it: whatever a server calls its tools,
/// a line that begins with `::` or has `##[` in it is obeyed there.
fn inert(text: &str) -> Cow<'_, str> {
    if crate::settings::github_actions().is_some() { without_commands(text) } else { Cow::Borrowed(text) }
}

fn without_commands(text: &str) -> Cow<'_, str> {
    if !text.contains("::") && !text.contains("##[") {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for line in text.split_inclusive('\n') {
        let line = line.replace("##[", "## [");
        let inner = line.trim_start();
        match inner.strip_prefix("::") {
            Some(rest) => out.extend([&line[..line.len() - inner.len()], ": :", rest]),
            None => out.push_str(&line),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::without_commands;

    #[test]
    fn no_line_is_a_command() {
        let text = "a ::error::b\n  ::stop-commands::x\n##[add-mask]y ##[z]\n";
        assert_eq!(without_commands(text), "a ::error::b\n  : :stop-commands::x\n## [add-mask]y ## [z]\n");
    }
}
