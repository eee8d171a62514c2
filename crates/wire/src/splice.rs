//! Changing a text: the only way from the bytes of a [`Document`] to other bytes.
//!
//! A list of [`Edits`] names values of one document and says what becomes of them. Applying it builds the
//! new bytes, proves them, and gives a [`Spliced`], which cannot be had in another way:
//!
//! - every text put in is itself one JSON value, and the result is JSON again: it is parsed;
//! - every byte outside the edits is the byte it was, in its order: it is compared;
//! - undoing the edits gives the old bytes exactly ([`Spliced::inverse`]).
//!
//! What is edited is named by a [`Span`] (or a [`Value`](crate::json::Value) or
//! [`Entry`](crate::json::Entry)) of the same document. Spans come from nowhere but a parsed document and
//! cannot be taken from one to another, so nothing is ever located by searching for bytes, and of two equal
//! keys the one that was looked up is the one that is changed:
//!
//! ```
//! use deadweight_wire::{json::Parser, splice::Edits};
//!
//! let body = br#"{"a": [1, 2, 3], "a": [1, 2, 3]}"#;
//! let spliced = Parser::new().scope(body, |doc| {
//!     let doc = doc.map_err(|error| error.to_string())?;
//!     let array = doc.root().get("a").ok_or("no such key")?;
//!     let second = array.elements().nth(1).ok_or("too short")?;
//!     let mut edits = Edits::new(doc);
//!     edits.remove(second).append(array, "4");
//!     edits.apply(&mut Parser::new()).map_err(|error| error.to_string())
//! })?;
//! assert_eq!(spliced.bytes(), br#"{"a": [1, 2, 3], "a": [1, 3,4]}"#);
//! assert_eq!(spliced.inverse().bytes(), body);
//! # Ok::<(), String>(())
//! ```
//!
//! A span of another document is of another type, even if the documents are of the same bytes:
//!
//! ```compile_fail,E0521
//! use deadweight_wire::{json::Parser, splice::Edits};
//!
//! Parser::new().scope(b"[1]", |one| {
//!     Parser::new().scope(b"[1]", |other| {
//!         if let (Ok(one), Ok(other)) = (one, other) {
//!             Edits::new(one).remove(other.root());
//!         }
//!     });
//! });
//! ```
//!
//! (It would compile with `one.root()` in the place of `other.root()`.)
//!
//! ```
//! # use deadweight_wire::{json::Parser, splice::Edits};
//! # Parser::new().scope(b"[1]", |one| {
//! #     Parser::new().scope(b"[1]", |other| {
//! #         if let (Ok(one), Ok(_other)) = (one, other) {
//! Edits::new(one).remove(one.root());
//! #         }
//! #     });
//! # });
//! ```
//!
//! Nor can a span outlive its document, be made of offsets, or a proof of bytes:
//!
//! ```compile_fail
//! # use deadweight_wire::{json::{Parser, Span}, splice::Edits};
//! let escaped = Parser::new().scope(b"[1]", |doc| doc.map(|doc| doc.root().span()));
//! ```
//!
//! ```compile_fail,E0277
//! # use deadweight_wire::{json::Parser, splice::Edits};
//! # Parser::new().scope(b"[1]", |doc| {
//! #     if let Ok(doc) = doc {
//! Edits::new(doc).remove(0..3);
//! #     }
//! # });
//! ```
//!
//! ```compile_fail,E0451
//! # use deadweight_wire::splice::Spliced;
//! let bytes = Spliced { bytes: b"[]".to_vec(), edits: Vec::new(), removed: Vec::new() };
//! ```

mod error;
mod plan;

pub use error::{Reason, SpliceError};

use crate::json::{Document, Parser, Span};
use std::ops::Range;

/// What is to become of one place of a document.
#[derive(Debug, Clone)]
struct Change<'id> {
    /// The value or entry it is about.
    span: Span<'id>,
    action: Action,
}

#[derive(Debug, Clone)]
enum Action {
    Replace(Vec<u8>),
    Remove,
    InsertBefore(Vec<u8>),
    InsertAfter(Vec<u8>),
    Append(Vec<u8>),
    /// A key and its value, and both together.
    AppendEntry {
        key: Vec<u8>,
        value: Vec<u8>,
        entry: Vec<u8>,
    },
}

/// A list of edits of one document. Nothing is checked before [`Edits::apply`].
#[derive(Debug, Clone)]
pub struct Edits<'id, 'd> {
    doc: Document<'id, 'd>,
    changes: Vec<Change<'id>>,
}

impl<'id, 'd> Edits<'id, 'd> {
    /// No edit yet.
    pub const fn new(doc: Document<'id, 'd>) -> Self {
        Self { doc, changes: Vec::new() }
    }

    /// Whether nothing is to be edited.
    pub const fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Puts `text`, one JSON value, in the place of a value.
    pub fn replace(&mut self, value: impl Into<Span<'id>>, text: impl Into<Vec<u8>>) -> &mut Self {
        self.change(value, Action::Replace(text.into()))
    }

    /// Removes an element of an array, or an entry of an object, with the comma that is then too many.
    pub fn remove(&mut self, element_or_entry: impl Into<Span<'id>>) -> &mut Self {
        self.change(element_or_entry, Action::Remove)
    }

    /// Inserts `text`, one JSON value, before an element of an array; behind what was inserted there by an
    /// earlier call. The element itself may be replaced or removed by another edit.
    pub fn insert_before(&mut self, element: impl Into<Span<'id>>, text: impl Into<Vec<u8>>) -> &mut Self {
        self.change(element, Action::InsertBefore(text.into()))
    }

    /// Inserts `text`, one JSON value, after an element of an array; behind what was inserted there by an
    /// earlier call. The element itself may be replaced or removed by another edit.
    pub fn insert_after(&mut self, element: impl Into<Span<'id>>, text: impl Into<Vec<u8>>) -> &mut Self {
        self.change(element, Action::InsertAfter(text.into()))
    }

    /// Inserts `text`, one JSON value, at the end of an array, which may be empty.
    pub fn append(&mut self, array: impl Into<Span<'id>>, text: impl Into<Vec<u8>>) -> &mut Self {
        self.change(array, Action::Append(text.into()))
    }

    /// Puts an entry at the end of an object, which may be empty. `key` is a JSON string with its quotes and must not be
    /// there yet; `value` is one JSON value.
    pub fn append_entry(
        &mut self,
        object: impl Into<Span<'id>>,
        key: &str,
        value: impl Into<Vec<u8>>,
    ) -> &mut Self {
        let value = value.into();
        let entry = [key.as_bytes(), b":", &value].concat();
        self.change(object, Action::AppendEntry { key: key.as_bytes().to_vec(), value, entry })
    }

    fn change(&mut self, span: impl Into<Span<'id>>, action: Action) -> &mut Self {
        self.changes.push(Change { span: span.into(), action });
        self
    }

    /// Builds the new bytes and proves them. `parser` is used to parse the texts put in and the result.
    ///
    /// # Errors
    ///
    /// When an edit is not about what it must be about, when two touch the same bytes, when a text put in is
    /// not one JSON value; see [`Reason`]. Nothing is changed then.
    pub fn apply(&self, parser: &mut Parser) -> Result<Spliced, SpliceError> {
        let old = self.doc.bytes();
        let spliced = Spliced::build(old, &plan::cuts(self.doc, &self.changes, parser)?);
        spliced.prove(old, parser)?;
        Ok(spliced)
    }
}

/// A range of the old bytes and what stands in its place.
#[derive(Debug)]
struct Cut {
    range: Range<usize>,
    text: Vec<u8>,
}

/// One range of bytes that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    old: Range<usize>,
    new: Range<usize>,
}

impl Edit {
    /// Where the bytes lay that were taken out; empty, at the place of insertion, when there were none.
    pub const fn before(&self) -> &Range<usize> {
        &self.old
    }

    /// Where the bytes lie that stand in their place; empty when there are none.
    pub const fn after(&self) -> &Range<usize> {
        &self.new
    }
}

/// Bytes that follow from those of a document by edits, proven as the module says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spliced {
    bytes: Vec<u8>,
    /// Ascending, without overlap.
    edits: Vec<Edit>,
    /// What the edits took out, one behind the other.
    removed: Vec<u8>,
}

impl Spliced {
    /// The new bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The new bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// What differs, in order. Commas that came or went are part of it.
    pub fn edits(&self) -> &[Edit] {
        &self.edits
    }

    /// The way back: its bytes are those that were edited.
    #[must_use]
    pub fn inverse(&self) -> Self {
        let mut removed = self.removed.as_slice();
        let cuts: Vec<Cut> = self
            .edits
            .iter()
            .map(|edit| {
                let (text, rest) = removed.split_at_checked(edit.old.len()).unwrap_or_default();
                removed = rest;
                Cut { range: edit.new.clone(), text: text.to_vec() }
            })
            .collect();
        Self::build(&self.bytes, &cuts)
    }

    /// Makes the cuts, which are in order.
    fn build(old: &[u8], cuts: &[Cut]) -> Self {
        let added: usize = cuts.iter().map(|cut| cut.text.len()).sum();
        let mut bytes = Vec::with_capacity(old.len() + added);
        let (mut edits, mut removed, mut kept_to) = (Vec::with_capacity(cuts.len()), Vec::new(), 0);
        for Cut { range, text } in cuts {
            bytes.extend_from_slice(old.get(kept_to..range.start).unwrap_or_default());
            let start = bytes.len();
            bytes.extend_from_slice(text);
            removed.extend_from_slice(old.get(range.clone()).unwrap_or_default());
            edits.push(Edit { old: range.clone(), new: start..bytes.len() });
            kept_to = range.end;
        }
        bytes.extend_from_slice(old.get(kept_to..).unwrap_or_default());
        Self { bytes, edits, removed }
    }

    /// Checks what this type stands for, without trust in how it was built.
    fn prove(&self, old: &[u8], parser: &mut Parser) -> Result<(), SpliceError> {
        let (mut old_at, mut new_at) = (0, 0);
        let ends = Edit { old: old.len()..old.len(), new: self.bytes.len()..self.bytes.len() };
        for edit in self.edits.iter().chain([&ends]) {
            let kept = old.get(old_at..edit.old.start);
            if kept.is_none() || kept != self.bytes.get(new_at..edit.new.start) {
                return Err(SpliceError { reason: Reason::OutsideChanged, offset: old_at });
            }
            (old_at, new_at) = (edit.old.end, edit.new.end);
        }
        parser.scope(&self.bytes, |doc| match doc {
            Ok(_) => Ok(()),
            Err(error) => Err(SpliceError { reason: Reason::ResultNotJson(error), offset: 0 }),
        })
    }
}
