//! The copy of a compressed body, read. What was forwarded stays as it was.

use std::borrow::Cow;
use std::io::{self, Read};

/// What a compressed body says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decoded<'b> {
    /// Its bytes, as far as they could be read. They are the body's own where nothing was to be undone.
    pub bytes: Cow<'b, [u8]>,
    /// Whether that is all of it: not cut, not damaged, not larger than was allowed.
    pub whole: bool,
}

/// Encodings that are undone one after the other. A body names few; a header can name any number.
const MOST_ENCODINGS: usize = 4;

/// Undoes a `Content-Encoding`. At most `most` bytes come out, so that a small body cannot fill the memory. `None`: an
/// encoding that is not known.
pub(crate) fn decode<'b>(encoding: &str, bytes: &'b [u8], most: usize) -> Option<Decoded<'b>> {
    let names: Vec<&str> = encoding.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    if names.len() > MOST_ENCODINGS {
        return None;
    }
    let mut body = Decoded { bytes: Cow::Borrowed(bytes), whole: true };
    // The last one that is named was put on last.
    for name in names.into_iter().rev().filter(|name| !name.eq_ignore_ascii_case("identity")) {
        let (bytes, whole) = one(&name.to_ascii_lowercase(), &body.bytes, most)?;
        body = Decoded { bytes: Cow::Owned(bytes), whole: whole && body.whole };
    }
    Some(body)
}

/// What comes of undoing one encoding, and whether that is all of it.
fn one(name: &str, bytes: &[u8], most: usize) -> Option<(Vec<u8>, bool)> {
    Some(match name {
        "gzip" | "x-gzip" => read(flate2::read::MultiGzDecoder::new(bytes), most),
        // By the standard with zlib's frame; some send it bare.
        "deflate" if zlib(bytes) => read(flate2::read::ZlibDecoder::new(bytes), most),
        "deflate" => read(flate2::read::DeflateDecoder::new(bytes), most),
        "br" => read(brotli_decompressor::Decompressor::new(bytes, 4096), most),
        "zstd" => match ruzstd::decoding::StreamingDecoder::new(bytes) {
            Ok(decoder) => read(decoder, most),
            Err(_) => (Vec::new(), false),
        },
        _ => return None,
    })
}

/// Whether the bytes begin as a zlib frame does (RFC 1950): method 8, and a check over the first two bytes.
fn zlib(bytes: &[u8]) -> bool {
    match bytes {
        [method, flags, ..] => {
            method & 0x0f == 8 && (u16::from(*method) << 8 | u16::from(*flags)).is_multiple_of(31)
        }
        _ => false,
    }
}

fn read(decoder: impl Read, most: usize) -> (Vec<u8>, bool) {
    let mut bytes = Vec::new();
    // One more than is allowed tells whether there was more.
    let limit = (most as u64).saturating_add(1);
    let read: io::Result<usize> = decoder.take(limit).read_to_end(&mut bytes);
    let whole = read.is_ok() && bytes.len() <= most;
    bytes.truncate(most);
    (bytes, whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn zlib(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
    }

    /// `{"a":1}` eight times, as brotli's reference encoder writes it in one uncompressed block.
    fn brotli(bytes: &[u8]) -> Vec<u8> {
        // A stream of one uncompressed meta-block (RFC 7932 section 9.2): WBITS 16, MLEN - 1 in 16 bits, ISUNCOMPRESSED.
        let length = u32::try_from(bytes.len() - 1).unwrap();
        // Bits from the lowest: WBITS=0, ISLAST=0, MNIBBLES=00, MLEN-1 (16), ISUNCOMPRESSED=1, then padding to a byte.
        let head: u32 = length << 4 | 1 << 20;
        let mut out = head.to_le_bytes()[..3].to_vec();
        out.extend_from_slice(bytes);
        // ISLAST=1, ISLASTEMPTY=1.
        out.push(0b11);
        out
    }

    #[test]
    fn every_encoding_is_undone_and_a_cut_one_says_so() {
        let body = br#"{"model":"m","messages":[]}"#.repeat(40);
        for (name, packed) in
            [("gzip", gzip(&body)), ("deflate", zlib(&body)), ("zstd", zstd(&body)), ("br", brotli(&body))]
        {
            let decoded = decode(name, &packed, 1 << 20).unwrap();
            assert_eq!(decoded, Decoded { bytes: body.clone().into(), whole: true }, "{name}");
            let cut = decode(name, &packed[..packed.len() - 6], 1 << 20).unwrap();
            assert!(!cut.whole && body.starts_with(&cut.bytes), "{name}");
        }
    }

    #[test]
    fn encodings_are_undone_from_the_last_to_the_first() {
        let body = b"hello hello hello".to_vec();
        let packed = zstd(&gzip(&body));
        assert_eq!(decode(" gzip, ZSTD", &packed, 1 << 20).unwrap().bytes, body);
        for nothing in ["identity", "", "Identity, identity"] {
            let decoded = decode(nothing, &body, 100).unwrap();
            assert!(matches!(decoded.bytes, Cow::Borrowed(bytes) if bytes == body), "{nothing}");
        }
        assert!(decode("gzip, compress", &packed, 100).is_none());
        assert!(decode("gzip,gzip,gzip,gzip,gzip", &packed, 100).is_none());
    }

    #[test]
    fn a_small_body_cannot_fill_the_memory() {
        let bomb = gzip(&vec![b' '; 8 << 20]);
        assert!(bomb.len() < 10_000);
        let decoded = decode("gzip", &bomb, 65_536).unwrap();
        assert_eq!((decoded.bytes.len(), decoded.whole), (65_536, false));
    }
}
