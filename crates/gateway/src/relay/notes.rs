//! What belongs into a log. Nothing in here was sent by a client, save what was made harmless: no key, no body, no query.

use std::fmt;
use std::sync::Arc;

/// How much a note matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// It is good to know.
    Info,
    /// Something is not as it should be.
    Warning,
}

/// One note, for a person as a sentence and for programs as fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// How much it matters.
    pub level: Level,
    /// What happened, from a closed list of words.
    pub event: &'static str,
    /// The sentence, without a full stop.
    pub text: String,
    /// What it is about.
    pub fields: Vec<(&'static str, String)>,
}

impl Note {
    pub(crate) fn new(level: Level, event: &'static str, text: impl Into<String>) -> Self {
        Self { level, event, text: text.into(), fields: Vec::new() }
    }

    #[must_use]
    pub(crate) fn with(mut self, name: &'static str, value: impl fmt::Display) -> Self {
        self.fields.push((name, plain(&value.to_string())));
        self
    }
}

/// Whoever keeps a log.
pub type OnNote = Arc<dyn Fn(Note) + Send + Sync>;

#[derive(Clone)]
pub(crate) struct Notes(pub(crate) OnNote);

impl Notes {
    pub(crate) fn tell(&self, note: Note) {
        (self.0)(note);
    }
}

impl fmt::Debug for Notes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Notes")
    }
}

/// A text without control characters, and not long.
pub(crate) fn plain(text: &str) -> String {
    let mut out: String =
        text.chars().take(300).map(|c| if c.is_control() { '\u{FFFD}' } else { c }).collect();
    if text.chars().nth(300).is_some() {
        out.push('…');
    }
    out
}
