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
    /// An error at a byte offset of `text`.
    pub(crate) fn at(text: &str, offset: usize, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        let (line, column) = position(text, offset);
        Self { line, column, what: what.into(), remedy: remedy.into() }
    }
}

impl fmt::Display for LockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.what)
    }
}

impl std::error::Error for LockError {}

/// Line and column, both from 1, of a byte offset.
pub(crate) fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset.min(text.len())).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (line, column)
}
