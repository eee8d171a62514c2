//! Reads a file whole, within bounds.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// The largest file that is read; a memory file of this size would fill any context several times over.
pub(crate) const LARGEST: u64 = 8 * 1024 * 1024;

/// What became of reading a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Text {
    /// Its text.
    Here(String),
    /// There is nothing of that name, or a folder.
    Missing,
    /// It is there and could not be read; why, in words.
    Unreadable(String),
}

/// Reads a text file. Only regular files are opened, so that no pipe or device can hold us up.
pub(crate) fn text(path: &Path) -> Text {
    match try_text(path) {
        Ok(text) => text,
        Err(error) if is_missing(&error) => match fs::symlink_metadata(path) {
            Ok(link) if link.is_symlink() => {
                Text::Unreadable(String::from("it is a link that leads nowhere"))
            }
            _ => Text::Missing,
        },
        Err(error) => Text::Unreadable(in_words(&error)),
    }
}

fn try_text(path: &Path) -> io::Result<Text> {
    let about = fs::metadata(path)?;
    if about.is_dir() {
        return Ok(Text::Missing);
    }
    if !about.is_file() {
        return Ok(Text::Unreadable(String::from("it is no regular file")));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return Ok(Text::Unreadable(format!("it is larger than {LARGEST} B")));
    }
    Ok(match String::from_utf8(bytes) {
        Ok(text) => Text::Here(text),
        Err(error) => {
            Text::Unreadable(format!("it is not UTF-8 (byte {})", error.utf8_error().valid_up_to()))
        }
    })
}

/// Whether an error says that there is nothing of that name.
pub(crate) fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::InvalidInput)
}

/// An error in words that do not depend on the system.
pub(crate) fn in_words(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::PermissionDenied => String::from("it may not be read"),
        _ if error.raw_os_error() == Some(ELOOP) => String::from("its links lead in a circle"),
        _ => error.to_string(),
    }
}

/// Too many links on the way; the standard library's name for it is not stable.
#[cfg(target_os = "linux")]
const ELOOP: i32 = 40;
#[cfg(not(target_os = "linux"))]
const ELOOP: i32 = 62;
