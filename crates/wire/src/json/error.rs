//! Why a text is not JSON, and where.

use std::fmt;

/// A text that is not JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Error {
    /// Byte offset of the first byte that cannot stand where it stands; the length of the text when it
    /// ends too early.
    pub offset: usize,
    /// What is wrong there.
    pub kind: ErrorKind,
}

/// What is wrong at an [`Error`]'s offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The text ends inside a value, or holds none.
    UnexpectedEnd,
    /// A value was expected.
    ExpectedValue,
    /// A key in double quotes was expected.
    ExpectedKey,
    /// A colon was expected after a key.
    ExpectedColon,
    /// A comma or the end of the container was expected.
    ExpectedCommaOrEnd,
    /// Something other than white space follows the value.
    TrailingData,
    /// A number breaks the grammar (`01`, `1.`, `-`).
    InvalidNumber,
    /// An escape sequence in a string is unknown or cut short.
    InvalidEscape,
    /// A control character stands unescaped in a string.
    ControlCharacter,
    /// The bytes are not UTF-8.
    InvalidUtf8,
    /// The text has 4 GiB or more.
    TooLarge,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            ErrorKind::UnexpectedEnd => "the JSON ends too early",
            ErrorKind::ExpectedValue => "expected a value",
            ErrorKind::ExpectedKey => "expected a key in double quotes",
            ErrorKind::ExpectedColon => "expected `:` after the key",
            ErrorKind::ExpectedCommaOrEnd => "expected `,` or the end of the array or object",
            ErrorKind::TrailingData => "something follows the JSON value",
            ErrorKind::InvalidNumber => "the number breaks the JSON grammar",
            ErrorKind::InvalidEscape => "the string holds an invalid escape",
            ErrorKind::ControlCharacter => "the string holds an unescaped control character",
            ErrorKind::InvalidUtf8 => "the bytes are not UTF-8",
            ErrorKind::TooLarge => "the text has 4 GiB or more",
        };
        write!(f, "{what} (byte {})", self.offset)
    }
}

impl std::error::Error for Error {}
