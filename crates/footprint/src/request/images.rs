//! What an image costs: by its size, which its first bytes say.

use deadweight_estimate::image::{self, Size};
use deadweight_wire::anatomy::{Media, MediaForm};

/// How much base64 is decoded to find the size. Most headers say it in the first bytes; a JPEG may carry a preview
/// and other segments before it.
const REACHES: [usize; 2] = [1 << 10, 512 << 10];

/// The size of an image whose bytes are in the request.
pub(super) fn size(media: &Media<'_, '_>) -> Option<Size> {
    let raw = media.source?.raw();
    let inside = raw.strip_prefix('"')?.strip_suffix('"')?;
    let text = match media.form {
        MediaForm::Base64 => inside,
        MediaForm::DataUrl => inside.split_once(',')?.1,
        _ => return None,
    };
    REACHES.iter().find_map(|reach| image::size(&decode(text, *reach)))
}

/// Decodes base64, plain or URL-safe, from its beginning: at most `reach` characters of it, and not past the first
/// character that is none (a JSON writer may escape `/`, which is read).
fn decode(text: &str, reach: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(reach.min(text.len()) / 4 * 3);
    let (mut bits, mut held) = (0u32, 0u32);
    for byte in text.bytes().take(reach) {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'\\' => continue,
            _ => break,
        };
        bits = (bits << 6) | u32::from(six);
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push((bits >> held) as u8);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_decoded_up_to_what_is_none() {
        assert_eq!(decode("aGVsbG8gd29ybGQ=", 1024), b"hello world");
        assert_eq!(decode("aGVsbG8gd29ybGQ=", 8), b"hello ");
        assert_eq!(decode("_-8\\/Pw==", 1024), [0xff, 0xef, 0x3f, 0x3f]);
        assert_eq!(decode("", 1024), b"");
        assert_eq!(decode("é", 1024), b"");
    }
}
