//! Where in a text a byte lies, as a person looks for it.

/// A place in a text: line and column count from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) line: usize,
    pub(crate) column: usize,
    pub(crate) byte: usize,
}

impl Place {
    /// The place of the byte at `offset`.
    pub(crate) fn of(text: &[u8], offset: usize) -> Self {
        let before = text.get(..offset.min(text.len())).unwrap_or(text);
        let line_start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        Self {
            line: before.iter().filter(|&&byte| byte == b'\n').count() + 1,
            column: String::from_utf8_lossy(before.get(line_start..).unwrap_or_default()).chars().count() + 1,
            byte: offset,
        }
    }

    /// `FILE:LINE:COLUMN (byte N)`.
    pub(crate) fn in_file(self, file: &str) -> String {
        let Self { line, column, byte } = self;
        format!("{file}:{line}:{column} (byte {})", crate::render::number::thousands(byte as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_lines_and_characters() {
        let text = "{\n  \"é\": x\n}".as_bytes();
        let at = text.iter().position(|&byte| byte == b'x').unwrap();
        assert_eq!(Place::of(text, at), Place { line: 2, column: 8, byte: at });
        assert_eq!(Place::of(text, 0), Place { line: 1, column: 1, byte: 0 });
        assert_eq!(Place::of(text, 999).line, 3);
        assert_eq!(Place::of(b"", 0).in_file("a.json"), "a.json:1:1 (byte 0)");
    }
}
