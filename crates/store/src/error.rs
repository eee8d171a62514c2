//! What can be wrong with a ledger.

use sqlx::error::DatabaseError;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A ledger that cannot be opened, written or read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Error {
    /// The file.
    pub file: PathBuf,
    /// What is wrong.
    pub cause: Cause,
    /// What the system said, in its words; empty where the cause says it all.
    pub detail: String,
}

/// What is wrong with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cause {
    /// The disk is full, or the file has reached its bound.
    Full,
    /// Another program holds it.
    Locked,
    /// The file is damaged, or no SQLite database at all.
    Corrupt,
    /// It may be read but not written.
    ReadOnly,
    /// It, or its folder, cannot be opened or made.
    Unopened,
    /// A later release of deadweight has changed its shape.
    Newer,
    /// It is the database of another program.
    Foreign,
    /// It was deleted or replaced while it was written to. What comes is written all the same: to the file that is there
    /// now, or to a new one.
    Gone,
    /// Parts of it were sealed with a key that is not there any more.
    Sealed,
    /// Anything else that the system or SQLite says.
    Other,
}

impl Error {
    pub(crate) fn new(file: &Path, cause: Cause, detail: impl Into<String>) -> Self {
        Self { file: file.to_owned(), cause, detail: detail.into() }
    }

    pub(crate) fn of_io(file: &Path, error: &io::Error) -> Self {
        let cause = match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Cause::Full,
            io::ErrorKind::ReadOnlyFilesystem => Cause::ReadOnly,
            _ => Cause::Unopened,
        };
        let text = error.to_string();
        Self::new(file, cause, text.split(" (os error").next().unwrap_or_default())
    }

    pub(crate) fn of_sqlite(file: &Path, error: &sqlx::Error) -> Self {
        let Some(error) = error.as_database_error() else {
            return Self::new(file, Cause::Other, error.to_string());
        };
        Self::new(file, cause_of(error), error.message())
    }

    /// What can be done about it.
    #[must_use]
    pub const fn remedy(&self) -> &'static str {
        match self.cause {
            Cause::Full => "make room on that disk, or name another file: --ledger FILE",
            Cause::Locked => "end the program that holds it, or name another file: --ledger FILE",
            Cause::Corrupt => "move that file away (a new one is made), or name another: --ledger FILE",
            Cause::ReadOnly | Cause::Unopened => {
                "name a file that may be written to: --ledger FILE, or say --ledger off"
            }
            Cause::Newer => {
                "use the release of deadweight that wrote it, or name another file: --ledger FILE"
            }
            Cause::Gone => "what comes goes to the file that is there now, or to a new one",
            Cause::Foreign | Cause::Sealed | Cause::Other => {
                "name another file: --ledger FILE, or say --ledger off"
            }
        }
    }
}

/// SQLite's result codes, the extended ones reduced to their primary one.
fn cause_of(error: &dyn DatabaseError) -> Cause {
    let code = error.code().and_then(|code| code.parse::<i32>().ok()).unwrap_or(0);
    match code & 0xff {
        5 | 6 => Cause::Locked,
        8 => Cause::ReadOnly,
        11 | 26 => Cause::Corrupt,
        13 => Cause::Full,
        14 => Cause::Unopened,
        _ => Cause::Other,
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.cause {
            Cause::Full => "the ledger cannot grow: its disk is full",
            Cause::Locked => "the ledger is locked by another program",
            Cause::Corrupt => "the ledger is damaged, or no ledger",
            Cause::ReadOnly => "the ledger may not be written to",
            Cause::Unopened => "the ledger cannot be opened",
            Cause::Newer => "the ledger was written by a later release of deadweight",
            Cause::Foreign => "the file is the database of another program, not a ledger",
            Cause::Gone => "the ledger was deleted or replaced while it was in use",
            Cause::Sealed | Cause::Other => "the ledger cannot be used",
        };
        f.write_str(what)?;
        if self.detail.is_empty() { Ok(()) } else { write!(f, " ({})", self.detail) }
    }
}
