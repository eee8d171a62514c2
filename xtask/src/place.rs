//! Where things are: the workspace, the build folder, the user's cache.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{Context, Failure, Result};

/// The workspace's root: the folder above this package.
pub fn workspace() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package)
}

/// The folder cargo builds into.
pub fn target() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(target) => workspace().join(target),
        None => workspace().join("target"),
    }
}

/// A folder of this name in the user's cache, made when it is not there: what is large to install is kept outside
/// the clone and used again.
///
/// # Errors
///
/// When the user has no cache that can be written.
pub fn cache(name: &str) -> Result<PathBuf> {
    let var = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let root = var("DEADWEIGHT_CACHE")
        .or_else(|| var("XDG_CACHE_HOME").map(|cache| cache.join("deadweight")))
        .or_else(|| var("HOME").map(|home| home.join(".cache/deadweight")))
        .ok_or_else(|| Failure::new("no place for what the tests install: set HOME or DEADWEIGHT_CACHE"))?;
    let folder = root.join(name);
    fs::create_dir_all(&folder).context(format_args!("cannot make {}", folder.display()))?;
    Ok(folder)
}
