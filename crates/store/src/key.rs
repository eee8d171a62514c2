//! The key of a machine: 32 random bytes in a file for its owner alone, beside what is sealed with it.
//!
//! Originals are sealed with the key itself, the journal with keys that are derived from it, one for each purpose.

use crate::private;
use chacha20poly1305::{KeyInit, XChaCha20Poly1305};
use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// How long it is, in bytes.
pub(crate) const LENGTH: usize = 32;

/// A key.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Key([u8; LENGTH]);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

/// The file of the key that a file or folder is sealed with: `originals.key` in the same folder.
pub(crate) fn key_beside(file: &Path) -> PathBuf {
    file.with_file_name("originals.key")
}

impl Key {
    /// The key in a file. It is an error where there is none.
    pub(crate) fn read(place: &Path) -> io::Result<Self> {
        let bytes = fs::read(place)?;
        let not_one = || {
            let text = format!("{} is not a key: put the key that was there back", place.display());
            io::Error::new(io::ErrorKind::InvalidData, text)
        };
        bytes.try_into().map(Self).map_err(|_| not_one())
    }

    /// The key in a file, which is made where there is none. Of two processes that make it, one wins, and both have its key.
    pub(crate) fn made(place: &Path) -> io::Result<Self> {
        match Self::read(place) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            outcome => return outcome,
        }
        let mut key = [0_u8; LENGTH];
        getrandom::fill(&mut key).map_err(io::Error::other)?;
        if let Some(folder) = place.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            private::make_folder(folder)?;
        }
        let beside = private::beside(place)?;
        let written = write(&beside, &key);
        // It is linked whole. That fails where there is one by now, which stays, and on file systems without links.
        let made = written.and_then(|()| match fs::hard_link(&beside, place) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => write(place, &key),
            _ => Ok(()),
        });
        let _ = fs::remove_file(&beside);
        match made {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        // What is sealed should not be on the disk before the name of its key is. Not every file system can say that.
        #[cfg(unix)]
        if let Some(folder) = place.parent() {
            let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            let _ = fs::File::open(folder).and_then(|folder| folder.sync_all());
        }
        Self::read(place)
    }

    /// A key for one purpose alone.
    pub(crate) fn derived(&self, purpose: &str) -> Self {
        Self(blake3::derive_key(purpose, &self.0))
    }

    /// What seals with it.
    pub(crate) fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new((&self.0).into())
    }

    pub(crate) fn bytes(&self) -> &[u8; LENGTH] {
        &self.0
    }
}

/// Writes a key to a file that is not there yet.
fn write(place: &Path, key: &[u8; LENGTH]) -> io::Result<()> {
    let mut file = private::make(place)?;
    file.write_all(key)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_make_one_key_for_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let place = key_beside(&folder.path().join("decisions.sqlite"));
        let keys: Vec<Key> = std::thread::scope(|scope| {
            let all: Vec<_> = (0..8).map(|_| scope.spawn(|| Key::made(&place).unwrap())).collect();
            all.into_iter().map(|one| one.join().unwrap()).collect()
        });
        assert!(keys.iter().all(|key| *key == Key::read(&place).unwrap()));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(&place).unwrap().permissions().mode() & 0o777, 0o600);
        }
        // One that is none is not written over.
        fs::write(&place, b"short").unwrap();
        assert_eq!(Key::made(&place).unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert_eq!(fs::read(&place).unwrap(), b"short");
        assert_ne!(keys[0].derived("a"), keys[0].derived("b"));
    }
}
