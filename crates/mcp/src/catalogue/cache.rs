//! The folder in which manifests and decisions are kept: files that only their owner reads, each written in one step.

use super::key::digits;
use super::manifest::{Broken, Manifest};
use super::{decisions, manifest};
use crate::surface::Kept;
use bytes::Bytes;
use deadweight_wire::json::Parser;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

/// So many files of a kind are kept; the oldest go.
const MOST_FILES: usize = 256;

/// A folder of manifests and decisions. Several processes may use it at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    folder: PathBuf,
    /// Where servers are started that do not say where.
    place: PathBuf,
}

/// What was found under a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found<T> {
    /// Nothing was kept.
    Nothing,
    /// This was.
    Is(T),
    /// A file is there and was not used.
    Ignored(CacheError),
}

impl<T> Found<T> {
    /// What was found, if it can be used.
    pub fn usable(self) -> Option<T> {
        match self {
            Self::Is(value) => Some(value),
            Self::Nothing | Self::Ignored(_) => None,
        }
    }
}

/// Why a file could not be used or written. Nothing depends on it: the server is asked instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {what}; it can be deleted", path.display())]
pub struct CacheError {
    /// The file or folder.
    pub path: PathBuf,
    /// What is wrong with it.
    pub what: String,
}

/// What is kept in files of one kind.
struct Drawer {
    name: &'static str,
    most_bytes: usize,
}

const MANIFESTS: Drawer = Drawer { name: "manifests", most_bytes: manifest::MOST_BYTES };
const REFUSALS: Drawer = Drawer { name: "refusals", most_bytes: 64 << 10 };
const DECISIONS: Drawer = Drawer { name: "decisions", most_bytes: decisions::MOST_BYTES };

impl Cache {
    /// The cache in this folder, which is made when something is kept. `place` is the folder in which servers are started:
    /// what they list may depend on it, so that each place has files of its own.
    pub fn new(folder: impl Into<PathBuf>, place: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), place: place.into() }
    }

    /// What a server said when it last listed its tools.
    pub fn manifest(&self, key: &str) -> Found<Manifest> {
        self.found(&MANIFESTS, key, |file| Manifest::decode(&Bytes::from(file)))
    }

    /// Keeps a manifest; answers whether it was worth it. A list without tools never is, and what was kept of that server
    /// before stays.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn keep_manifest(&self, key: &str, manifest: &Manifest) -> Result<bool, CacheError> {
        let Some(file) = manifest.encode() else { return Ok(false) };
        self.write(&MANIFESTS, key, &file).map(|()| true)
    }

    /// Forgets a manifest: the server does not say so any more.
    pub fn forget_manifest(&self, key: &str) {
        // What cannot be deleted is compared with what the server says, as ever.
        let _ = fs::remove_file(self.path(&MANIFESTS, key));
    }

    /// The error object with which a server of the legacy era answers `server/discover`.
    pub fn refusal(&self, key: &str) -> Found<Bytes> {
        self.found(&REFUSALS, key, |file| {
            let file = Bytes::from(file);
            let whole = Parser::new().scope(&file, |document| {
                document.is_ok_and(|document| document.root().get("code").is_some())
            });
            if whole { Ok(file) } else { Err(Broken("it holds no error")) }
        })
    }

    /// Keeps such an answer.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn keep_refusal(&self, key: &str, error: &Bytes) -> Result<(), CacheError> {
        if error.len() > REFUSALS.most_bytes {
            return Ok(());
        }
        self.write(&REFUSALS, key, error)
    }

    /// What was decided.
    pub fn decisions(&self, key: &str) -> Found<Kept> {
        self.found(&DECISIONS, key, |file| decisions::decode(&file))
    }

    /// Keeps decisions.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn keep_decisions(&self, key: &str, kept: &Kept) -> Result<(), CacheError> {
        self.write(&DECISIONS, key, &decisions::encode(kept))
    }

    fn path(&self, drawer: &Drawer, key: &str) -> PathBuf {
        self.folder.join(drawer.name).join(digits(&format!("{}\0{key}", self.place.display())))
    }

    fn found<T>(
        &self,
        drawer: &Drawer,
        key: &str,
        decode: impl FnOnce(Vec<u8>) -> Result<T, Broken>,
    ) -> Found<T> {
        let path = self.path(drawer, key);
        let what = match read(&path, drawer.most_bytes) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Found::Nothing,
            Err(error) => error.to_string(),
            Ok(file) => match decode(file) {
                Ok(value) => return Found::Is(value),
                Err(broken) => broken.to_string(),
            },
        };
        Found::Ignored(CacheError { path, what })
    }

    fn write(&self, drawer: &Drawer, key: &str, bytes: &[u8]) -> Result<(), CacheError> {
        let path = self.path(drawer, key);
        let folder = self.folder.join(drawer.name);
        // Every connection keeps what it decided; nearly always that is there.
        if read(&path, drawer.most_bytes).is_ok_and(|known| known == bytes) {
            return Ok(());
        }
        let written = make_folder(&folder).and_then(|()| replace(&folder, &path, bytes));
        written.map_err(|error| CacheError { path, what: error.to_string() })?;
        thin_out(&folder);
        Ok(())
    }
}

/// Reads a plain file of at most so many bytes.
fn read(path: &Path, most: usize) -> io::Result<Vec<u8>> {
    let about = fs::symlink_metadata(path)?;
    if !about.is_file() {
        return Err(io::Error::other("it is no plain file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(most as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > most {
        return Err(io::Error::other("it is too large"));
    }
    Ok(bytes)
}

/// Makes a folder that only its owner may look into.
fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Puts a file into its place in one step: a reader sees the old one or the new one, whole.
fn replace(folder: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let draft = folder.join(format!("{DRAFT}{}-{number}", std::process::id()));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options
        .open(&draft)
        .and_then(|mut file| file.write_all(bytes))
        .and_then(|()| fs::rename(&draft, path));
    if written.is_err() {
        // It may not be there; then there is nothing to clear away.
        let _ = fs::remove_file(&draft);
    }
    written
}

/// What the names of files begin with that are being written.
const DRAFT: &str = ".draft-";

/// Deletes the oldest files beyond [`MOST_FILES`], drafts that a process left behind among them. Whatever goes wrong
/// is tried again at the next writing.
fn thin_out(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let aged = |entry: fs::DirEntry| {
        let changed = entry.metadata().and_then(|about| about.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
        (changed, entry.path())
    };
    let mut files: Vec<(SystemTime, PathBuf)> = entries.flatten().map(aged).collect();
    if files.len() > MOST_FILES {
        files.sort();
        for (_, path) in files.iter().take(files.len() - MOST_FILES) {
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listing::Era;
    use crate::surface::Shape;

    fn manifest() -> Manifest {
        Manifest {
            era: Era::Legacy,
            version: "2025-06-18".to_owned(),
            opening: Bytes::from_static(b"{}"),
            frame: Bytes::from_static(br#"{"tools":[]}"#),
            tools: vec![Bytes::from_static(br#"{"name":"a"}"#)],
        }
    }

    #[test]
    fn what_is_kept_is_found_and_is_its_owners() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path().join("deep/cache"), "/here");
        assert_eq!(cache.manifest("a"), Found::Nothing);
        assert_eq!(cache.keep_manifest("a", &manifest()), Ok(true));
        assert_eq!(cache.manifest("a"), Found::Is(manifest()));
        // A list without tools replaces nothing.
        assert_eq!(cache.keep_manifest("a", &Manifest { tools: Vec::new(), ..manifest() }), Ok(false));
        assert_eq!(cache.manifest("a"), Found::Is(manifest()));
        assert_eq!(cache.manifest("b"), Found::Nothing);
        assert_eq!(Cache::new(&cache.folder, "/there").manifest("a"), Found::Nothing);
        let kept = Kept { shape: Some(Shape::Stubs), servers: vec![("s".to_owned(), true)] };
        assert_eq!(cache.keep_decisions("a", &kept), Ok(()));
        assert_eq!(cache.decisions("a"), Found::Is(kept));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode(cache.path(&MANIFESTS, "a")), 0o600);
            assert_eq!(mode(cache.folder.join("manifests")), 0o700);
        }
        cache.forget_manifest("a");
        assert_eq!(cache.manifest("a"), Found::Nothing);
        assert_eq!(fs::read_dir(cache.folder.join("manifests")).unwrap().count(), 0);
    }

    #[test]
    fn what_is_broken_is_ignored_with_a_reason() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path(), "/here");
        cache.keep_manifest("a", &manifest()).unwrap();
        let path = cache.path(&MANIFESTS, "a");
        fs::write(&path, b"{}").unwrap();
        let Found::Ignored(error) = cache.manifest("a") else { panic!("it was used") };
        assert_eq!(error.to_string(), format!("{}: it has no first line; it can be deleted", path.display()));
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(matches!(cache.manifest("a"), Found::Ignored(_)));
        assert!(cache.keep_manifest("a", &manifest()).is_err());
        assert_eq!(fs::read_dir(cache.folder.join("manifests")).unwrap().count(), 1);
        // A folder that cannot be made is an error, and nothing else.
        let file = folder.path().join("file");
        fs::write(&file, b"").unwrap();
        assert!(Cache::new(&file, "/here").keep_manifest("a", &manifest()).is_err());
        assert!(matches!(Cache::new(&file, "/here").manifest("a"), Found::Nothing | Found::Ignored(_)));
    }

    #[test]
    fn the_oldest_go_and_many_write_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path(), "/here");
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let cache = &cache;
                scope.spawn(move || {
                    for at in 0..80 {
                        cache.keep_manifest(&format!("{}", (thread * 40 + at) % 160), &manifest()).unwrap();
                        cache.keep_manifest("same", &manifest()).unwrap();
                        assert_eq!(cache.manifest("same"), Found::Is(manifest()));
                    }
                });
            }
        });
        for at in 0..MOST_FILES {
            cache.keep_manifest(&format!("n{at}"), &manifest()).unwrap();
        }
        assert_eq!(fs::read_dir(folder.path().join("manifests")).unwrap().count(), MOST_FILES);
        assert_eq!(cache.manifest(&format!("n{}", MOST_FILES - 1)), Found::Is(manifest()));
    }
}
