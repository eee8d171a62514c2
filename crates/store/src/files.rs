//! The files of a database that is open: whether what is under its name is still what was opened.
//!
//! A file that was deleted can be written to for ever, and nobody will see it. What is under its name counts.

use sqlx::sqlite::SqliteConnection;
use sqlx::{Connection, Executor};
use std::path::{Path, PathBuf};

/// The files of a database, as they were when it was opened.
#[derive(Debug, Default)]
pub(crate) struct Files {
    main: Option<FileId>,
    log: Option<FileId>,
}

impl Files {
    /// What is under the name of a database that has just been opened.
    pub(crate) fn of(file: &Path) -> Self {
        Self { main: FileId::of(file), log: FileId::of(&beside(file, "-wal")) }
    }

    /// Whether the database was deleted or replaced since.
    pub(crate) fn are_gone(&self, file: &Path) -> bool {
        FileId::of(file) != self.main
    }

    /// Closes a database that was deleted or replaced, so that another one can be opened under its name.
    pub(crate) async fn leave(&self, file: &Path, mut connection: SqliteConnection) {
        // Whoever moved it away has all of it then.
        let _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").await;
        let _ = connection.close().await;
        // What is left of its log would be read into the file that took its place.
        let log = beside(file, "-wal");
        if self.log.is_some() && FileId::of(&log) == self.log {
            let _ = std::fs::remove_file(log);
            let _ = std::fs::remove_file(beside(file, "-shm"));
        }
    }
}

/// A file that SQLite keeps beside a database.
fn beside(file: &Path, end: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// Tells a file from another one of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileId(u64, u64);

impl FileId {
    /// `None` where there is no file.
    #[cfg(unix)]
    fn of(file: &Path) -> Option<Self> {
        use std::os::unix::fs::MetadataExt;
        std::fs::metadata(file).ok().map(|about| Self(about.dev(), about.ino()))
    }

    /// Elsewhere a file that is open cannot be taken away.
    #[cfg(not(unix))]
    fn of(_: &Path) -> Option<Self> {
        None
    }
}
