//! Walks through folders, within bounds.

use crate::read::{in_words, is_missing};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The most folders that one walk goes into.
const MOST: usize = 2_000;

/// What a walk came upon.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    /// The files, sorted.
    pub(crate) files: Vec<PathBuf>,
    /// Folders that could not be read, with the reason in words.
    pub(crate) unread: Vec<(PathBuf, String)>,
}

/// The files in a folder and in those up to `depth` levels below it, by the rules of `takes`. Links are followed,
/// each folder is visited once.
pub(crate) fn walk(folder: &Path, depth: u32, takes: &dyn Fn(&Path) -> bool, hidden: bool) -> Walk {
    let mut found = Walk::default();
    let mut seen = BTreeSet::new();
    let mut waiting = vec![(folder.to_owned(), depth)];
    while let Some((folder, depth)) = waiting.pop() {
        // A folder that links lead back to has been seen under its real name.
        if !seen.insert(fs::canonicalize(&folder).unwrap_or_else(|_| folder.clone())) {
            continue;
        }
        if seen.len() > MOST {
            found.unread.push((folder, format!("there are more than {MOST} folders")));
            break;
        }
        match entries(&folder) {
            Ok(entries) => {
                for path in entries {
                    if path.is_dir() {
                        let is_hidden =
                            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
                        if depth > 0 && (hidden || !is_hidden) {
                            waiting.push((path, depth - 1));
                        }
                    } else if takes(&path) {
                        found.files.push(path);
                    }
                }
            }
            Err(error) if is_missing(&error) => {}
            Err(error) => found.unread.push((folder, in_words(&error))),
        }
    }
    found.files.sort();
    found.unread.sort();
    found
}

/// What is in a folder, sorted.
pub(crate) fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<_>>()?;
    entries.sort();
    Ok(entries)
}

/// The folders from `root` upward, `root` first; those above it as far as `above` allows.
pub(crate) fn upward(root: &Path, above: Option<deadweight_profiles::memory::Climb>) -> Vec<PathBuf> {
    use deadweight_profiles::memory::Climb;
    let mut all = root.ancestors().map(Path::to_owned);
    let repository = || root.ancestors().position(|folder| folder.join(".git").exists());
    let count = match above {
        None => 1,
        Some(Climb::Everything) => usize::MAX,
        Some(Climb::Repository) => repository().map_or(1, |at| at + 1),
        Some(Climb::AboveRepository) => repository().map_or(1, |at| at + 2),
    };
    all.by_ref().take(count).collect()
}
