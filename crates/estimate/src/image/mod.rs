//! What an image costs: by its pixels, never by the length of its base64.

mod base64;
mod header;

use crate::provenance::{Estimated, Tokens};

/// The most an image costs on Anthropic, and the cost of one whose size is unknown.
pub const ANTHROPIC_MAX: u64 = 1_600;

const ANTHROPIC_PIXELS_PER_TOKEN: u64 = 750;

/// Width and height in pixels, neither of them 0.
pub type Size = (u32, u32);

/// The tokens of an image on Anthropic: `width × height / 750`, rounded down, between 1 and 1,600; 1,600 when the
/// size is unknown.
///
/// Source: the provider's public documentation on vision, read in autumn 2026. About (width × height) / 750 tokens;
/// an image of more than about 1,600 tokens, or over 1,568 pixels on its long edge, is scaled down first. The long
/// edge is left out here: it lowers the cost only of images with a side more than twice the other. Newer models are
/// documented to see patches of 28 × 28 pixels (784, so about 4 % fewer tokens), some at a higher resolution, whose
/// large images cost more than 1,600: for those this is a lower bound.
#[must_use]
pub fn anthropic_tokens(size: Option<Size>) -> Tokens<Estimated> {
    let Some((width, height)) = size else { return Tokens::new(ANTHROPIC_MAX) };
    let pixels = u64::from(width) * u64::from(height);
    Tokens::new((pixels / ANTHROPIC_PIXELS_PER_TOKEN).clamp(1, ANTHROPIC_MAX))
}

/// The size of a PNG, JPEG, GIF or WebP image, from its bytes or as many of its first bytes as there are.
///
/// `None` if they are no such image, end before the size, or give a side of 0.
#[must_use]
pub fn size(bytes: &[u8]) -> Option<Size> {
    header::size(&bytes)
}

/// The size of an image given as base64 text, or as a `data:` URL that holds base64.
///
/// Only the few bytes that are looked at are decoded, however long the text is and wherever in it the size stands.
/// The standard and the URL-safe alphabet are read, with or without padding; text broken into lines is copied once
/// without its white space. `None` as in [`size`], and for a `data:` URL that is not base64.
#[must_use]
pub fn size_of_base64(text: &str) -> Option<Size> {
    let text = match text.split_at_checked(5) {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("data:") => base64::payload(rest)?,
        _ => text,
    };
    let text = base64::without_line_breaks(text.as_bytes());
    header::size(&base64::Text(&text))
}

/// Bytes that can be looked at anywhere.
trait Source {
    /// The `N` bytes from `offset` on, if they are there.
    fn at<const N: usize>(&self, offset: usize) -> Option<[u8; N]>;
}

impl Source for &[u8] {
    fn at<const N: usize>(&self, offset: usize) -> Option<[u8; N]> {
        self.get(offset..)?.first_chunk().copied()
    }
}
