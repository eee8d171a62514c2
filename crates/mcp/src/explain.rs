//! An error for a person: what was wrong, where, and what to do.

use std::fmt;

/// A text of three parts: one line that says what was wrong, then labelled lines that say where, then
/// what to try. All of it is harmless to print and holds no secret.
///
/// `Display` prints the lines below each other, the labelled ones indented and aligned, without a
/// line break at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explained {
    /// What was wrong, one line without a full stop.
    pub what: String,
    /// Labels with their lines, in the order in which they are to be shown.
    pub details: Vec<(&'static str, Vec<String>)>,
}

impl Explained {
    /// A text without details yet.
    pub fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), details: Vec::new() }
    }

    /// Adds a line under a label; an empty one is left out.
    #[must_use]
    pub fn with(mut self, label: &'static str, line: impl Into<String>) -> Self {
        let line = line.into();
        if !line.is_empty() {
            self.details.push((label, vec![line]));
        }
        self
    }

    /// Adds several lines under one label; none at all are left out.
    #[must_use]
    pub fn with_lines(mut self, label: &'static str, lines: Vec<String>) -> Self {
        if !lines.is_empty() {
            self.details.push((label, lines));
        }
        self
    }
}

impl fmt::Display for Explained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        let width = self.details.iter().map(|(label, _)| label.len()).max().unwrap_or(0);
        for (label, lines) in &self.details {
            for (index, line) in lines.iter().enumerate() {
                let label = if index == 0 { label } else { "" };
                write!(f, "\n  {label:width$}  {line}")?;
            }
        }
        Ok(())
    }
}

/// What the operating system said, without its number, which helps nobody.
pub(crate) fn system(error: &std::io::Error) -> String {
    error.to_string().split(" (os error").next().unwrap_or_default().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_line_up() {
        let text = Explained::new("it broke")
            .with("command", "npx x")
            .with("empty", "")
            .with_lines("stderr", vec!["one".into(), "two".into()])
            .with("try", "again");
        assert_eq!(
            text.to_string(),
            "it broke\n  command  npx x\n  stderr   one\n           two\n  try      again"
        );
    }
}
