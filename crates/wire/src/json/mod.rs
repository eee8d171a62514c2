//! JSON as spans: one pass validates a text and records where everything in it lies.
//!
//! Decisions this module takes, and keeps in every implementation of the scanner:
//!
//! - UTF-8 is checked; an invalid byte is an error with its offset.
//! - A lone surrogate escape (`\ud800`) is valid JSON and is accepted. It counts as three decoded bytes,
//!   the size of U+FFFD, which is what a lossy decoder puts there.
//! - Numbers are checked against the grammar only; `1e400` is a number. Their text is never rewritten.
//! - Nesting has no bound: nothing here recurses, so depth costs memory (16 bytes a level), not stack.
//!   Whoever walks a document must not recurse over it either.
//! - A text of 4 GiB or more is refused ([`ErrorKind::TooLarge`]): offsets are 32 bits wide.
//! - Duplicate keys are kept; [`Value::get`] answers with the last.

mod error;
mod parse;
mod value;

pub use error::{Error, ErrorKind};
pub use parse::Parser;
pub use value::{Document, Elements, Entries, Entry, Kind, Span, Value};
