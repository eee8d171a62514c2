//! JSON as spans: one pass validates a text and records where everything in it lies.
//!
//! Decisions this module takes, and keeps in every implementation of the scanner:
//!
//! - UTF-8 is checked; an invalid byte is an error with its offset. Of several errors the leftmost is
//!   reported: in `"\xff\q"` it is the byte, not the escape.
//! - A text that ends inside a UTF-8 sequence ends too early ([`ErrorKind::UnexpectedEnd`]); its bytes so
//!   far are not wrong.
//! - A lone surrogate escape (`\ud800`) is valid JSON and is accepted. It counts as three decoded bytes,
//!   the size of U+FFFD, which is what a lossy decoder puts there.
//! - Numbers are checked against the grammar only; `1e400` is a number. Their text is never rewritten.
//! - Nesting has no bound: nothing here recurses, so depth costs memory (16 bytes a level), not stack.
//!   Whoever walks a document must not recurse over it either.
//! - A text of 4 GiB or more is refused ([`ErrorKind::TooLarge`]): offsets are 32 bits wide.
//! - Duplicate keys are kept; [`Value::get`] answers with the last.
//!
//! How it is built: `parse` walks the structure and leaves the inside of strings, which is nearly all of a
//! request, to a scanner. There are two: one for every machine, safe code that looks
//! at 8 bytes at a time, and one for x86-64 with AVX2 (`simd`), chosen when the program runs. They give
//! the same nodes and the same errors; the tests hold them against each other.

mod error;
mod parse;
#[cfg(target_arch = "x86_64")]
mod simd;
#[cfg(test)]
mod tests;
mod text;
mod value;

pub use error::{Error, ErrorKind};
pub use parse::Parser;
pub(crate) use value::Node;
pub use value::{Document, Elements, Entries, Entry, Kind, Span, Value};
