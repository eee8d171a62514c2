//! Where each image format says its size.
//!
//! Sources: PNG (W3C, third edition) §11.2.1; JPEG (ITU-T T.81) annex B; GIF89a §18; WebP container (RFC 9649) and
//! VP8 (RFC 6386) §9.1.

use super::{Size, Source};

pub(super) fn size(image: &impl Source) -> Option<Size> {
    let (width, height) = match image.at(0)? {
        [0x89, b'P', b'N', b'G'] => png(image)?,
        [0xFF, 0xD8, 0xFF, _] => jpeg(image)?,
        [b'G', b'I', b'F', b'8'] => gif(image)?,
        [b'R', b'I', b'F', b'F'] => webp(image)?,
        _ => return None,
    };
    (width > 0 && height > 0).then_some((width, height))
}

/// The signature, then the `IHDR` chunk: length, name, width, height.
fn png(image: &impl Source) -> Option<Size> {
    if &image.at(0)? != b"\x89PNG\r\n\x1a\n" || &image.at(12)? != b"IHDR" {
        return None;
    }
    Some((u32::from_be_bytes(image.at(16)?), u32::from_be_bytes(image.at(20)?)))
}

/// The logical screen, in which all frames lie.
fn gif(image: &impl Source) -> Option<Size> {
    matches!(&image.at(4)?, b"7a" | b"9a").then_some(())?;
    Some((u16::from_le_bytes(image.at(6)?).into(), u16::from_le_bytes(image.at(8)?).into()))
}

/// How many segments and fill bytes are looked at for a frame; a real file has a few dozen.
const JPEG_SEGMENTS: usize = 4_096;

/// Segments are skipped up to the start of a frame. A thumbnail has its frame inside an application segment, so it
/// is skipped with it.
fn jpeg(image: &impl Source) -> Option<Size> {
    let mut offset = 2;
    for _ in 0..JPEG_SEGMENTS {
        let [0xFF, marker] = image.at(offset)? else { return None };
        match marker {
            // A fill byte: the marker is still to come.
            0xFF => offset += 1,
            // TEM and the restarts have no length.
            0x01 | 0xD0..=0xD7 => offset += 2,
            // Start of a frame, of whatever coding; C4 (DHT), C8 (JPG) and CC (DAC) lie between them. After length
            // and precision come height and width.
            0xC0..=0xC3 | 0xC5..=0xC7 | 0xC9..=0xCB | 0xCD..=0xCF => {
                let height = u16::from_be_bytes(image.at(offset.checked_add(5)?)?);
                let width = u16::from_be_bytes(image.at(offset.checked_add(7)?)?);
                return Some((width.into(), height.into()));
            }
            // A second start, an end, a scan before any frame, or no marker at all.
            0x00 | 0xD8..=0xDA => return None,
            _ => {
                let length = u16::from_be_bytes(image.at(offset.checked_add(2)?)?);
                if length < 2 {
                    return None;
                }
                offset = offset.checked_add(2)?.checked_add(length.into())?;
            }
        }
    }
    None
}

/// A RIFF file whose first chunk says the size in one of three ways.
fn webp(image: &impl Source) -> Option<Size> {
    if &image.at(8)? != b"WEBP" {
        return None;
    }
    const DATA: usize = 20;
    match &image.at(12)? {
        // Lossy: a three-byte frame tag, the start code, then twice 14 bits with 2 bits of scaling over them.
        b"VP8 " => {
            if image.at(DATA + 3)? != [0x9D, 0x01, 0x2A] {
                return None;
            }
            let side = |offset| Some(u32::from(u16::from_le_bytes(image.at(offset)?) & 0x3FFF));
            Some((side(DATA + 6)?, side(DATA + 8)?))
        }
        // Lossless: a signature byte, then 14 bits each of width − 1 and height − 1.
        b"VP8L" => {
            let [0x2F] = image.at(DATA)? else { return None };
            let bits = u32::from_le_bytes(image.at(DATA + 1)?);
            Some(((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1))
        }
        // Extended: flags, then 24 bits each of width − 1 and height − 1 of the canvas.
        b"VP8X" => {
            let [w0, w1, w2, h0, h1, h2] = image.at(DATA + 4)?;
            Some((u32::from_le_bytes([w0, w1, w2, 0]) + 1, u32::from_le_bytes([h0, h1, h2, 0]) + 1))
        }
        _ => None,
    }
}
