//! The lock as a file: read whole, written whole or not at all.

use super::broken;
use crate::args::Gate;
use crate::exit::Trouble;
use crate::target::file::LARGEST_LOCK;
use deadweight_lock::{Lock, read};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A lock on disk; it may not be there yet.
#[derive(Debug)]
pub(super) struct LockFile {
    path: PathBuf,
    found: Option<(String, Lock)>,
}

impl LockFile {
    /// Reads the lock at `path`.
    pub(super) fn read(path: &Path) -> Result<Self, Trouble> {
        let bytes = match deadweight_mcp::file::read(path, LARGEST_LOCK) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Self { path: path.to_owned(), found: None });
            }
            Err(error) => {
                return Err(Trouble::unmeasured("the lock could not be read")
                    .at("lock", path.display().to_string())
                    .at("system", error.to_string())
                    .attempt("name a file with --lock that may be read"));
            }
        };
        let text = String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            let place = crate::target::place::Place::of(error.as_bytes(), at);
            Trouble::unmeasured("the lock is not UTF-8")
                .at("lock", place.in_file(&path.display().to_string()))
                .attempt("take the committed one back (git checkout -- deadweight.lock)")
        })?;
        let lock = read(&text).map_err(|error| broken(path, &error))?;
        Ok(Self { path: path.to_owned(), found: Some((text, lock)) })
    }

    pub(super) fn lock(&self) -> Option<&Lock> {
        self.found.as_ref().map(|(_, lock)| lock)
    }

    pub(super) fn text(&self) -> Option<&str> {
        self.found.as_ref().map(|(text, _)| text.as_str())
    }

    pub(super) fn shown(&self) -> String {
        self.path.display().to_string()
    }

    /// There is no lock to hold anything against.
    pub(super) fn missing(&self, args: &Gate) -> Trouble {
        Trouble::unmeasured("there is no lock to hold anything against")
            .at("lock", self.shown())
            .attempt(super::output::first_command(args))
    }

    /// Writes the lock beside its place and moves it there; answers whether its text is another one. What
    /// somebody else wrote meanwhile is not written over.
    pub(super) fn write(&self, text: &str) -> Result<bool, Trouble> {
        if self.text() == Some(text) {
            return Ok(false);
        }
        let fail = |error: &io::Error| {
            Trouble::unmeasured("the lock could not be written; it is as it was")
                .at("lock", self.shown())
                .at("system", error.to_string())
                .attempt("name a file with --lock in a directory that may be written to")
        };
        let target = followed(&self.path);
        let (draft, mut file) = draft(&target).map_err(|error| fail(&error))?;
        let written = file
            .write_all(text.as_bytes())
            .and_then(|()| file.sync_all())
            .and_then(|()| match std::fs::metadata(&target) {
                Ok(metadata) => std::fs::set_permissions(&draft, metadata.permissions()),
                Err(_) => Ok(()),
            })
            .map_err(|error| fail(&error))
            .and_then(|()| self.unchanged(&target))
            .and_then(|()| std::fs::rename(&draft, &target).map_err(|error| fail(&error)));
        if written.is_err() {
            let _ = std::fs::remove_file(&draft);
        }
        written.map(|()| true)
    }

    /// Whether the lock still is what was read before the servers were asked, which takes its time.
    fn unchanged(&self, target: &Path) -> Result<(), Trouble> {
        let now = deadweight_mcp::file::read(target, LARGEST_LOCK).ok();
        if now.as_deref() == self.text().map(str::as_bytes) {
            return Ok(());
        }
        Err(Trouble::unmeasured("the lock was changed while the servers were asked; it was not written over")
            .at("lock", self.shown())
            .attempt("run the update again"))
    }
}

/// What a path leads to: a link stays a link, and what it points to is written, there or not yet.
fn followed(path: &Path) -> PathBuf {
    if let Ok(real) = std::fs::canonicalize(path) {
        return real;
    }
    match std::fs::read_link(path) {
        Ok(link) => path.parent().unwrap_or(Path::new("")).join(link),
        Err(_) => path.to_owned(),
    }
}

/// A new file beside `target`; one that is there already is left alone.
fn draft(target: &Path) -> io::Result<(PathBuf, std::fs::File)> {
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let mut attempt = 0u8;
    loop {
        let draft = folder.join(format!(".{name}.{}.{attempt}", std::process::id()));
        match std::fs::File::create_new(&draft) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < u8::MAX => attempt += 1,
            outcome => return outcome.map(|file| (draft, file)),
        }
    }
}
