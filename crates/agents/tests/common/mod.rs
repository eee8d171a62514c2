//! Folders made for a test, and short forms of what was found in them.

#![allow(clippy::unwrap_used, dead_code, reason = "a test says what is wrong by failing; each uses its part")]

use deadweight_footprint::memory::{ImportOutcome, Memory};
use std::fs;
use std::path::PathBuf;

/// A folder that is gone with the test.
pub(crate) struct Place {
    root: PathBuf,
    _kept: tempfile::TempDir,
}

impl Place {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let kept = tempfile::tempdir().unwrap();
        let place = Self { root: kept.path().canonicalize().unwrap(), _kept: kept };
        fs::create_dir_all(place.path("p")).unwrap();
        fs::create_dir_all(place.path("h")).unwrap();
        for (name, text) in files {
            place.write(name, text);
        }
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        self.bytes(name, text.as_bytes());
    }

    pub(crate) fn bytes(&self, name: &str, bytes: &[u8]) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

pub(crate) fn paths(found: &Memory) -> Vec<String> {
    found.files.iter().map(|file| file.path.clone()).collect()
}

/// `path: agents` of every file.
pub(crate) fn loads(found: &Memory) -> Vec<String> {
    let agents = |file: &deadweight_footprint::memory::Source| {
        file.loads.iter().map(|load| load.agent).collect::<Vec<_>>().join(", ")
    };
    found.files.iter().map(|file| format!("{}: {}", file.path, agents(file))).collect()
}

/// Line, path as it is written, outcome of every import in a file.
pub(crate) fn links<'m>(found: &'m Memory, path: &str) -> Vec<(u64, &'m str, ImportOutcome)> {
    let file = found.files.iter().find(|file| file.path == path).unwrap();
    file.imports.iter().map(|link| (link.line, link.written.as_str(), link.outcome)).collect()
}

pub(crate) fn unread(found: &Memory) -> Vec<String> {
    found.unread.iter().map(|unread| format!("{}: {}", unread.path, unread.reason)).collect()
}
