//! What an image costs: by its pixels, never by the length of its base64.

use crate::provenance::{Estimated, Tokens};

/// The most an image costs on Anthropic, and the cost of one whose size is unknown.
pub const ANTHROPIC_MAX: u64 = 1_600;

const ANTHROPIC_PIXELS_PER_TOKEN: u64 = 750;

/// Width and height in pixels.
pub type Size = (u32, u32);

/// The tokens of an image on Anthropic: `width × height / 750`, between 1 and 1,600; 1,600 when the size is
/// unknown.
///
/// Source: the provider's public documentation on vision (autumn 2026): about (width × height) / 750 tokens, after
/// images over about 1,600 tokens have been scaled down to that.
#[must_use]
pub fn anthropic_tokens(size: Option<Size>) -> Tokens<Estimated> {
    let Some((width, height)) = size else { return Tokens::new(ANTHROPIC_MAX) };
    let pixels = u64::from(width) * u64::from(height);
    Tokens::new((pixels / ANTHROPIC_PIXELS_PER_TOKEN).clamp(1, ANTHROPIC_MAX))
}

/// The size of a PNG, JPEG, GIF or WebP image, from its first bytes; `None` if the bytes are no such image or end
/// before the size.
#[must_use]
pub fn size(header: &[u8]) -> Option<Size> {
    match header {
        [0x89, b'P', b'N', b'G', 0x0D, 0x0A, 0x1A, 0x0A, _, _, _, _, b'I', b'H', b'D', b'R', rest @ ..] => {
            let (width, rest) = rest.split_first_chunk()?;
            let (height, _) = rest.split_first_chunk()?;
            Some((u32::from_be_bytes(*width), u32::from_be_bytes(*height)))
        }
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', w0, w1, h0, h1, ..] => {
            Some((u16::from_le_bytes([*w0, *w1]).into(), u16::from_le_bytes([*h0, *h1]).into()))
        }
        _ => None,
    }
}
