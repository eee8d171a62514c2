//! The lock as a file: read whole, written whole or not at all.

use super::broken;
use crate::args::Gate;
use crate::exit::Trouble;
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
        let bytes = match std::fs::read(path) {
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

    /// Writes the lock beside its place and moves it there; answers whether its text is another one.
    pub(super) fn write(&self, text: &str) -> Result<bool, Trouble> {
        if self.text() == Some(text) {
            return Ok(false);
        }
        // A link stays a link: what it points to is written.
        let target = std::fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
        let folder =
            target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let draft = folder.join(format!(".{name}.{}", std::process::id()));
        let written = std::fs::File::create(&draft)
            .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
            .and_then(|()| match std::fs::metadata(&target) {
                Ok(metadata) => std::fs::set_permissions(&draft, metadata.permissions()),
                Err(_) => Ok(()),
            })
            .and_then(|()| std::fs::rename(&draft, &target));
        written.map_err(|error| {
            let _ = std::fs::remove_file(&draft);
            Trouble::unmeasured("the lock could not be written; it is as it was")
                .at("lock", self.shown())
                .at("system", error.to_string())
                .attempt("name a file with --lock in a directory that may be written to")
        })?;
        Ok(true)
    }
}
