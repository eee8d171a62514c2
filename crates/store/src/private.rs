//! Files and folders for their owner alone, written whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Makes a folder, and those it is in.
pub(crate) fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Makes a file that is not there yet.
pub(crate) fn make(place: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(place)
}

/// A name beside a place that nobody else uses.
pub(crate) fn beside(place: &Path) -> io::Result<PathBuf> {
    let mut unique = [0_u8; 8];
    getrandom::fill(&mut unique).map_err(io::Error::other)?;
    Ok(place.with_extension(format!("part-{:016x}", u64::from_le_bytes(unique))))
}

/// Writes a file beside its place first, and onto the disk.
pub(crate) fn write_whole(place: &Path, parts: &[&[u8]]) -> io::Result<()> {
    let beside = beside(place)?;
    let written = make(&beside).and_then(|mut file| {
        parts.iter().try_for_each(|part| file.write_all(part))?;
        file.sync_data()?;
        fs::rename(&beside, place)
    });
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}
