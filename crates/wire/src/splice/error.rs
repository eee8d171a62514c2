//! Why edits cannot be applied, and where.

use crate::json;
use std::fmt;

/// Edits that cannot be applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpliceError {
    /// What is wrong.
    pub reason: Reason,
    /// Byte offset, in the document, of the place that the edit is about.
    pub offset: usize,
}

/// What is wrong with an edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The span is not that of one value (for a removal: of one element or entry).
    NotAValue,
    /// A removal is about the whole text.
    RemovesRoot,
    /// A removal is about the value of an entry; without it the key cannot stand.
    RemovesEntryValue,
    /// An insertion is to stand beside something that is not an element of an array.
    NotAnElement,
    /// An insertion is to stand at the end of something that is not an array.
    NotAnArray,
    /// An entry is to stand at the end of something that is not an object.
    NotAnObject,
    /// The key of an entry that is to be put in is not a string, or is there already.
    BadKey,
    /// The text to put in is not one JSON value; the error's offset is in that text.
    TextNotJson(json::Error),
    /// The place is inside, or the same as, one that another edit replaces or removes.
    Overlap {
        /// Offset of that other place.
        with: usize,
    },
    /// The result is not JSON, or has 4 GiB or more; the error's offset is in the result.
    ResultNotJson(json::Error),
    /// A byte outside the edits changed. This is a fault of this module; it is checked all the same.
    OutsideChanged,
}

impl fmt::Display for SpliceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let offset = self.offset;
        match self.reason {
            Reason::NotAValue => write!(f, "the span at byte {offset} is not that of one value"),
            Reason::RemovesRoot => f.write_str("the whole text cannot be removed"),
            Reason::RemovesEntryValue => {
                write!(f, "the value at byte {offset} cannot be removed without its key")
            }
            Reason::NotAnElement => write!(f, "the value at byte {offset} is not an element of an array"),
            Reason::NotAnArray => write!(f, "the value at byte {offset} is not an array"),
            Reason::NotAnObject => write!(f, "the value at byte {offset} is not an object"),
            Reason::BadKey => {
                write!(f, "the object at byte {offset} cannot have an entry of that key put in")
            }
            Reason::TextNotJson(error) => {
                write!(f, "the text to put in at byte {offset} is not one JSON value: {error}")
            }
            Reason::Overlap { with } => {
                write!(
                    f,
                    "the edit at byte {offset} lies in what the edit at byte {with} replaces or removes"
                )
            }
            Reason::ResultNotJson(error) => write!(f, "the edited text is not JSON: {error}"),
            Reason::OutsideChanged => write!(f, "bytes outside the edits changed, from byte {offset} on"),
        }
    }
}

impl std::error::Error for SpliceError {}
