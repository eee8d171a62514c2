//! Files of the user's, read whole: plain ones, of a size that is bounded.
//!
//! Whatever lies under a well-known name may be a link to a device that never ends, or a pipe that nobody writes to. It is
//! refused with a reason rather than waited for.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// Reads a plain file of at most `most` bytes. A descriptor that was handed over open (`/dev/stdin`, `/dev/fd/N`) may be a
/// pipe.
///
/// # Errors
///
/// When it cannot be read, is a device, a pipe or a socket, or is larger.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let handed_over =
        path == Path::new("/dev/stdin") || path.starts_with("/dev/fd") || path.starts_with("/proc/self/fd");
    if !handed_over {
        // Before it is opened: to open a pipe is to wait for whoever writes to it.
        is_plain(&fs::metadata(path)?)?;
    }
    let file = File::open(path)?;
    if !handed_over {
        is_plain(&file.metadata()?)?;
    }
    bounded(file, most)
}

/// Reads a text, under the same conditions.
///
/// # Errors
///
/// As for [`read`], and when it is not UTF-8.
pub fn text(path: &Path, most: u64) -> io::Result<String> {
    String::from_utf8(read(path, most)?)
        .map_err(|_| io::Error::new(ErrorKind::InvalidData, "it is not UTF-8"))
}

/// Reads all that comes, unless it is more than `most` bytes.
///
/// # Errors
///
/// When it cannot be read, or is more.
pub fn bounded(from: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let what = format!("it is larger than {} MB", most >> 20);
        return Err(io::Error::new(ErrorKind::FileTooLarge, what));
    }
    Ok(bytes)
}

/// A folder is left to whoever reads it, since the system has a word for that.
fn is_plain(about: &fs::Metadata) -> io::Result<()> {
    if about.is_file() || about.is_dir() {
        return Ok(());
    }
    Err(io::Error::new(ErrorKind::InvalidInput, "it is no plain file"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_files_of_a_bounded_size_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name);
        let why = |name: &str, most| read(&place(name), most).unwrap_err().to_string();
        fs::write(place("plain"), "text").unwrap();
        std::os::unix::fs::symlink(place("plain"), place("link")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", place("zero")).unwrap();
        let made = std::process::Command::new("mkfifo").arg(place("pipe")).status().unwrap();
        assert!(made.success());
        assert_eq!(text(&place("link"), 4).unwrap(), "text");
        assert_eq!((why("zero", 4), why("pipe", 4)), (why("zero", 1 << 30), "it is no plain file".into()));
        fs::write(place("large"), vec![b'x'; (1 << 20) + 1]).unwrap();
        assert_eq!(why("large", 1 << 20), "it is larger than 1 MB");
        assert_eq!(read(&place("nothing"), 4).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(read(folder.path(), 4).unwrap_err().kind(), ErrorKind::IsADirectory);
        fs::write(place("bytes"), b"\xff").unwrap();
        assert_eq!(text(&place("bytes"), 4).unwrap_err().kind(), ErrorKind::InvalidData);
    }
}
