//! The cache as the relay's shelf: it answers and keeps, and tells once what is wrong with a file.

use super::{Cache, Found, Kept, Manifest};
use crate::relay::Shelf;
use crate::session::OnNote;
use bytes::Bytes;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// The shelf over this folder; one that keeps nothing where there is none. `place` is where servers are started.
pub(crate) fn shelf(folder: Option<PathBuf>, place: PathBuf, on_note: &OnNote) -> Arc<dyn Shelf> {
    match folder {
        None => Arc::new(Nothing),
        Some(folder) => Arc::new(Disk {
            cache: Cache::new(folder, place),
            on_note: Arc::clone(on_note),
            told: Mutex::new(BTreeSet::new()),
        }),
    }
}

struct Disk {
    cache: Cache,
    on_note: OnNote,
    told: Mutex<BTreeSet<String>>,
}

impl Disk {
    fn used<T>(&self, found: Found<T>) -> Option<T> {
        if let Found::Ignored(error) = &found {
            self.tell(error.to_string());
        }
        found.usable()
    }

    /// Says it, unless it has been said: a folder that cannot be written would be told with every connection.
    fn tell(&self, note: String) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if !told.contains(&note) {
            (self.on_note)(&crate::harmless::line(&note));
            told.insert(note);
        }
    }
}

impl Shelf for Disk {
    fn manifest(&self, key: &str) -> Option<Manifest> {
        self.used(self.cache.manifest(key))
    }

    fn keep_manifest(&self, key: &str, manifest: &Manifest) {
        if let Err(error) = self.cache.keep_manifest(key, manifest) {
            self.tell(error.to_string());
        }
    }

    fn refusal(&self, key: &str) -> Option<Bytes> {
        self.used(self.cache.refusal(key))
    }

    fn keep_refusal(&self, key: &str, error: &Bytes) {
        if let Err(error) = self.cache.keep_refusal(key, error) {
            self.tell(error.to_string());
        }
    }

    fn kept(&self, key: &str) -> Option<Kept> {
        self.used(self.cache.decisions(key))
    }

    fn keep(&self, key: &str, kept: &Kept) {
        if let Err(error) = self.cache.keep_decisions(key, kept) {
            self.tell(error.to_string());
        }
    }
}

struct Nothing;

impl Shelf for Nothing {
    fn manifest(&self, _: &str) -> Option<Manifest> {
        None
    }

    fn keep_manifest(&self, _: &str, _: &Manifest) {}

    fn refusal(&self, _: &str) -> Option<Bytes> {
        None
    }

    fn keep_refusal(&self, _: &str, _: &Bytes) {}

    fn kept(&self, _: &str) -> Option<Kept> {
        None
    }

    fn keep(&self, _: &str, _: &Kept) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listing::Era;
    use bytes::Bytes;

    #[test]
    fn what_is_wrong_is_told_once_and_costs_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let notes = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&notes);
        let on_note: OnNote = Arc::new(move |note: &str| heard.lock().unwrap().push(note.to_owned()));
        let manifest = Manifest {
            era: Era::Legacy,
            version: "2025-06-18".to_owned(),
            opening: Bytes::from_static(b"{}"),
            frame: Bytes::from_static(br#"{"tools":[]}"#),
            tools: vec![Bytes::from_static(b"{}")],
        };
        let good = shelf(Some(folder.path().join("cache")), PathBuf::new(), &on_note);
        good.keep_manifest("a", &manifest);
        assert_eq!(good.manifest("a"), Some(manifest.clone()));
        assert!(notes.lock().unwrap().is_empty());
        std::fs::write(folder.path().join("file"), b"").unwrap();
        let bad = shelf(Some(folder.path().join("file")), PathBuf::new(), &on_note);
        for _ in 0..3 {
            bad.keep_manifest("a", &manifest);
        }
        assert_eq!(notes.lock().unwrap().len(), 1);
        assert_eq!(shelf(None, PathBuf::new(), &on_note).manifest("a"), None);
    }
}
