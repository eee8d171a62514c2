//! Looking at single bytes inside base64 text, without decoding what lies before them.

use std::borrow::Cow;

use super::Source;

/// Base64 text (RFC 4648, either alphabet) without white space.
pub(super) struct Text<'t>(pub(super) &'t [u8]);

impl Text<'_> {
    /// The six bits of the character at `index`; `None` at padding, at anything foreign, and behind the end.
    fn sextet(&self, index: usize) -> Option<u8> {
        Some(match *self.0.get(index)? {
            upper @ b'A'..=b'Z' => upper - b'A',
            lower @ b'a'..=b'z' => lower - b'a' + 26,
            digit @ b'0'..=b'9' => digit - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        })
    }

    /// The byte at `offset` of the decoded text: part of two characters.
    fn byte(&self, offset: usize) -> Option<u8> {
        let first = (offset / 3).checked_mul(4)?.checked_add(offset % 3)?;
        let (left, right) = (self.sextet(first)?, self.sextet(first + 1)?);
        Some(match offset % 3 {
            0 => left << 2 | right >> 4,
            1 => left << 4 | right >> 2,
            _ => left << 6 | right,
        })
    }
}

impl Source for Text<'_> {
    fn at<const N: usize>(&self, offset: usize) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        for (index, byte) in bytes.iter_mut().enumerate() {
            *byte = self.byte(offset.checked_add(index)?)?;
        }
        Some(bytes)
    }
}

/// The base64 text of a `data:` URL, from what stands behind `data:`.
pub(super) fn payload(url: &str) -> Option<&str> {
    let (media_type, payload) = url.split_once(',')?;
    let (_, encoding) = media_type.rsplit_once(';')?;
    encoding.trim().eq_ignore_ascii_case("base64").then_some(payload)
}

/// Lines are at most 76 characters where base64 is broken into lines, so a look at the beginning tells.
pub(super) fn without_line_breaks(text: &[u8]) -> Cow<'_, [u8]> {
    if text.iter().take(128).any(u8::is_ascii_whitespace) {
        Cow::Owned(text.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect())
    } else {
        Cow::Borrowed(text)
    }
}
