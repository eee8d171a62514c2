//! The classes of characters that the tokenizers' splitting rules speak of. Shared with the build script, which
//! makes the table from the Unicode data of `regex-syntax`.

/// `\p{Lu}`, `\p{Lt}`, and what has no case: `\p{Lm}`, `\p{Lo}`, `\p{M}`.
pub(crate) const UPPER: u8 = 1;
/// `\p{Ll}`, and what has no case: `\p{Lm}`, `\p{Lo}`, `\p{M}`.
pub(crate) const LOWER: u8 = 2;
/// `\p{L}`; marks are not letters.
pub(crate) const LETTER: u8 = 4;
/// `\p{N}`.
pub(crate) const NUMBER: u8 = 8;
/// `\s`.
pub(crate) const SPACE: u8 = 16;
/// `\r` and `\n`.
pub(crate) const NEWLINE: u8 = 32;

/// How many characters share a page of the table.
pub(crate) const PAGE: usize = 256;
/// How many pages of characters there are.
pub(crate) const PAGES: usize = 0x11_0000 / PAGE;
