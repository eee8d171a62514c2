//! The inside of strings: where they end, how long they are when decoded, and whether they are valid.

use super::error::{Error, ErrorKind};

/// What a scanner found out about a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Text {
    /// Offset of the closing quote.
    pub(super) end: usize,
    /// How many bytes fewer the decoded string has than its escaped form; 0 only when nothing is escaped.
    pub(super) saved: u32,
    /// Whether an escape names half of a surrogate pair.
    pub(super) lone_surrogate: bool,
}

/// A way to scan strings. All implementations answer alike, errors included.
pub(super) trait Scan: Copy {
    /// Scans the string whose opening quote is the byte before `start`.
    fn string(self, bytes: &[u8], start: usize) -> Result<Text, Error>;
}

/// The scanner for every machine: 8 bytes at a time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Portable;

impl Scan for Portable {
    #[inline(always)]
    fn string(self, bytes: &[u8], start: usize) -> Result<Text, Error> {
        Strings::new(start).finish(bytes)
    }
}

/// One string being scanned.
#[derive(Debug, Clone, Copy)]
pub(super) struct Strings {
    /// Everything before is scanned; never inside an escape.
    pub(super) at: usize,
    /// Everything before is known to be UTF-8, and the byte here starts a character.
    pub(super) checked: usize,
    /// As in [`Text`].
    pub(super) saved: u32,
    /// As in [`Text`].
    pub(super) lone_surrogate: bool,
}

impl Strings {
    /// A scan that stands at the start of a string.
    #[inline(always)]
    pub(super) const fn new(start: usize) -> Self {
        Self { at: start, checked: start, saved: 0, lone_surrogate: false }
    }

    /// Scans what is left, 8 bytes at a time.
    pub(super) fn finish(mut self, bytes: &[u8]) -> Result<Text, Error> {
        let mut beyond_ascii = u64::from(self.checked < self.at);
        loop {
            let (stop, high) = find_stop(bytes, self.at);
            beyond_ascii |= high;
            self.at = stop;
            match bytes.get(stop) {
                Some(b'"') => break,
                Some(b'\\') => self.escapes(bytes)?,
                Some(_) => return Err(self.fault(bytes, stop, ErrorKind::ControlCharacter)),
                None => return Err(self.fault(bytes, stop, ErrorKind::UnexpectedEnd)),
            }
        }
        if beyond_ascii != 0
            && let Err(error) = std::str::from_utf8(&bytes[self.checked..self.at])
        {
            return Err(Error { offset: self.checked + error.valid_up_to(), kind: ErrorKind::InvalidUtf8 });
        }
        Ok(self.text())
    }

    /// The result, when [`Self::at`] is the closing quote.
    #[inline(always)]
    pub(super) const fn text(self) -> Text {
        Text { end: self.at, saved: self.saved, lone_surrogate: self.lone_surrogate }
    }

    /// Takes the escape whose backslash is at [`Self::at`], and every escape that follows it at once.
    pub(super) fn escapes(&mut self, bytes: &[u8]) -> Result<(), Error> {
        while bytes.get(self.at) == Some(&b'\\') {
            let escape = self.at + 1;
            match bytes.get(escape) {
                Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                    self.at += 2;
                    self.saved += 1;
                }
                Some(b'u') => {
                    let unit = hex4(bytes, escape + 1)
                        .map_err(|error| self.fault(bytes, error.offset, error.kind))?;
                    self.at += 6;
                    self.saved += match unit {
                        0..0x80 => 5,
                        0x80..0x800 => 4,
                        0xD800..0xDC00 if low_surrogate_follows(bytes, self.at) => {
                            self.at += 6;
                            8
                        }
                        0xD800..0xE000 => {
                            self.lone_surrogate = true;
                            3
                        }
                        _ => 3,
                    };
                }
                Some(_) => return Err(self.fault(bytes, escape, ErrorKind::InvalidEscape)),
                None => return Err(self.fault(bytes, escape, ErrorKind::UnexpectedEnd)),
            }
        }
        Ok(())
    }

    /// The leftmost error of a string in which `kind` was met at `offset`.
    #[cold]
    #[inline(never)]
    pub(super) fn fault(&self, bytes: &[u8], offset: usize, kind: ErrorKind) -> Error {
        let seen = bytes.get(self.checked..bytes.len().min(offset + 1)).unwrap_or_default();
        match std::str::from_utf8(seen) {
            Err(error) if error.error_len().is_some() => {
                Error { offset: self.checked + error.valid_up_to(), kind: ErrorKind::InvalidUtf8 }
            }
            _ => Error { offset, kind },
        }
    }
}

/// Reads four hexadecimal digits.
#[inline]
fn hex4(bytes: &[u8], at: usize) -> Result<u32, Error> {
    if let Some(&[a, b, c, d]) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
        let [a, b, c, d] = [a, b, c, d].map(|byte| u32::from(HEX_DIGITS[usize::from(byte)]));
        if (a | b | c | d) < 16 {
            return Ok(a << 12 | b << 8 | c << 4 | d);
        }
    }
    for offset in at..at + 4 {
        match bytes.get(offset) {
            Some(byte) if byte.is_ascii_hexdigit() => {}
            Some(_) => return Err(Error { offset, kind: ErrorKind::InvalidEscape }),
            None => break,
        }
    }
    Err(Error { offset: bytes.len(), kind: ErrorKind::UnexpectedEnd })
}

/// The value of each byte as a hexadecimal digit; 16 or more for those that are none.
const HEX_DIGITS: [u8; 256] = {
    let mut table = [0xFF; 256];
    let mut value = 0;
    while value < 16 {
        table[b"0123456789abcdef"[value] as usize] = value as u8;
        table[b"0123456789ABCDEF"[value] as usize] = value as u8;
        value += 1;
    }
    table
};

/// Whether the second half of a surrogate pair stands at `at`.
fn low_surrogate_follows(bytes: &[u8], at: usize) -> bool {
    bytes.get(at..at + 2) == Some(b"\\u")
        && hex4(bytes, at + 2).is_ok_and(|unit| (0xDC00..0xE000).contains(&unit))
}

const ONES: u64 = u64::MAX / 255;
const HIGHS: u64 = ONES << 7;

/// The first quote, backslash or control character at or after `at` (the length of `bytes` when there is
/// none), and something other than zero when a byte on the way is beyond ASCII. That answer may take in up
/// to 7 bytes after the stop.
#[inline(always)]
fn find_stop(bytes: &[u8], mut at: usize) -> (usize, u64) {
    let mut beyond_ascii = 0;
    while let Some(chunk) = bytes.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        let word = u64::from_le_bytes(*chunk);
        let quote = word ^ (ONES * b'"' as u64);
        let backslash = word ^ (ONES * b'\\' as u64);
        // A byte below a bound borrows into its high bit; of the bits found, the lowest is always right.
        let stops = (quote.wrapping_sub(ONES) & !quote)
            | (backslash.wrapping_sub(ONES) & !backslash)
            | (word.wrapping_sub(ONES * 0x20) & !word);
        beyond_ascii |= word & HIGHS;
        if stops & HIGHS != 0 {
            return (at + (stops & HIGHS).trailing_zeros() as usize / 8, beyond_ascii);
        }
        at += 8;
    }
    while let Some(&byte) = bytes.get(at) {
        beyond_ascii |= u64::from(byte & 0x80);
        if byte == b'"' || byte == b'\\' || byte < 0x20 {
            break;
        }
        at += 1;
    }
    (at, beyond_ascii)
}
