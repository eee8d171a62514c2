//! Why a lock could not be read, where, and what to do.

use std::fmt;

/// A lock that cannot be read. It is never overwritten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockError {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// What is wrong there.
    pub what: String,
    /// What to do about it.
    pub remedy: String,
}

impl LockError {
    /// An error at a byte offset of a text.
    pub(crate) fn at(
        lines: &Lines<'_>,
        offset: usize,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        let (line, column) = lines.position(offset);
        Self { line, column, what: what.into(), remedy: remedy.into() }
    }
}

impl fmt::Display for LockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.what)
    }
}

impl std::error::Error for LockError {}

/// Where the lines of a text begin, found once: a lock has a place for every entry.
pub(crate) struct Lines<'t> {
    text: &'t str,
    begins: Vec<usize>,
}

impl<'t> Lines<'t> {
    pub(crate) fn of(text: &'t str) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Self { text, begins: std::iter::once(0).chain(breaks).collect() }
    }

    /// The line, from 1, of a byte offset.
    pub(crate) fn line(&self, offset: usize) -> usize {
        self.begins.partition_point(|begin| *begin <= offset.min(self.text.len()))
    }

    /// Line and column in characters, both from 1, of a byte offset.
    fn position(&self, offset: usize) -> (usize, usize) {
        let line = self.line(offset);
        let begin = self.begins.get(line - 1).copied().unwrap_or_default();
        let before = self.text.get(begin..offset.min(self.text.len())).unwrap_or_default();
        (line, before.chars().count() + 1)
    }
}
