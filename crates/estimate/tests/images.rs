//! Image sizes from headers written by hand, and what they cost.

use base64::prelude::{BASE64_STANDARD, BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE, Engine as _};
use deadweight_estimate::image::{ANTHROPIC_MAX, anthropic_tokens, size, size_of_base64};
use proptest::prelude::*;

fn png(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".to_vec();
    bytes.extend(width.to_be_bytes());
    bytes.extend(height.to_be_bytes());
    bytes.extend([8, 6, 0, 0, 0]);
    bytes
}

fn gif(width: u16, height: u16) -> Vec<u8> {
    let mut bytes = b"GIF89a".to_vec();
    bytes.extend(width.to_le_bytes());
    bytes.extend(height.to_le_bytes());
    bytes.extend([0xF7, 0, 0]);
    bytes
}

/// A segment with its length.
fn segment(marker: u8, data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0xFF, marker];
    bytes.extend((data.len() as u16 + 2).to_be_bytes());
    bytes.extend(data);
    bytes
}

fn frame(marker: u8, width: u16, height: u16) -> Vec<u8> {
    let mut data = vec![8];
    data.extend(height.to_be_bytes());
    data.extend(width.to_be_bytes());
    data.extend([3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1]);
    segment(marker, &data)
}

/// A JPEG whose `Exif` segment, as long as a segment can be, holds a thumbnail with a frame of its own.
fn jpeg(marker: u8, width: u16, height: u16) -> Vec<u8> {
    let mut exif = b"Exif\0\0".to_vec();
    exif.extend([0xFF, 0xD8]);
    exif.extend(frame(0xC0, 160, 120));
    exif.resize(65_533, 0xAB);
    let parts = [
        vec![0xFF, 0xD8],
        segment(0xE0, b"JFIF\0\x01\x01\0\0\x01\0\x01\0\0"),
        segment(0xE1, &exif),
        vec![0xFF, 0xFF], // fill bytes before a marker
        segment(0xDB, &[1; 65]),
        segment(0xC4, &[2; 20]),
        frame(marker, width, height),
        segment(0xDA, &[3; 10]),
    ];
    parts.concat()
}

fn webp(chunk: &[u8; 4], data: &[u8]) -> Vec<u8> {
    let mut bytes = b"RIFF".to_vec();
    bytes.extend((data.len() as u32 + 12).to_le_bytes());
    bytes.extend(b"WEBP");
    bytes.extend(chunk);
    bytes.extend((data.len() as u32).to_le_bytes());
    bytes.extend(data);
    bytes
}

fn webp_lossy(width: u16, height: u16, scale: u16) -> Vec<u8> {
    let mut data = vec![0x30, 0x01, 0x00, 0x9D, 0x01, 0x2A];
    data.extend((width | scale << 14).to_le_bytes());
    data.extend((height | scale << 14).to_le_bytes());
    webp(b"VP8 ", &data)
}

fn webp_lossless(width: u16, height: u16) -> Vec<u8> {
    let bits = u32::from(width - 1) | u32::from(height - 1) << 14 | 1 << 28;
    webp(b"VP8L", &[&[0x2F], &bits.to_le_bytes()[..]].concat())
}

fn webp_extended(width: u32, height: u32) -> Vec<u8> {
    let (width, height) = ((width - 1).to_le_bytes(), (height - 1).to_le_bytes());
    webp(b"VP8X", &[&[0x10, 0, 0, 0], &width[..3], &height[..3]].concat())
}

#[test]
fn each_format_says_its_size() {
    assert_eq!(size(&png(1_092, 1_091)), Some((1_092, 1_091)));
    assert_eq!(size(&png(u32::MAX, 1)), Some((u32::MAX, 1)));
    assert_eq!(size(&gif(640, 479)), Some((640, 479)));
    assert_eq!(size(&webp_lossy(1_024, 767, 0)), Some((1_024, 767)));
    assert_eq!(
        size(&webp_lossy(1_024, 767, 3)),
        Some((1_024, 767)),
        "the scaling bits are no part of the size"
    );
    assert_eq!(size(&webp_lossless(16_384, 1)), Some((16_384, 1)));
    assert_eq!(size(&webp_extended(1 << 24, 2)), Some((1 << 24, 2)));
}

#[test]
fn every_frame_marker_of_jpeg_is_one_and_no_other() {
    for marker in 0xC0..=0xCF {
        let expected = (!matches!(marker, 0xC4 | 0xC8 | 0xCC)).then_some((4_000, 3_000));
        assert_eq!(size(&jpeg(marker, 4_000, 3_000)), expected, "{marker:#x}");
    }
}

#[test]
fn jpeg_gives_up_where_no_frame_can_come() {
    let good = jpeg(0xC2, 9, 7);
    let start = |rest: &[u8]| [&[0xFF, 0xD8][..], rest].concat();
    assert_eq!(size(&start(&[&[0xFF, 0xD0, 0xFF, 0x01][..], &good[2..]].concat())), Some((9, 7)));
    for (what, bytes) in [
        ("end", start(&[&[0xFF, 0xD9], &frame(0xC0, 9, 7)[..]].concat())),
        ("scan", start(&[segment(0xDA, &[1; 10]), frame(0xC0, 9, 7)].concat())),
        ("length under 2", start(&[&[0xFF, 0xE0, 0, 1], &frame(0xC0, 9, 7)[..]].concat())),
        ("no marker", start(&[&segment(0xE0, b"x")[..], b"ab", &frame(0xC0, 9, 7)].concat())),
        ("height to come later", start(&frame(0xC0, 9, 0))),
        ("nothing but fill bytes", start(&[0xFF; 100_000])),
    ] {
        assert_eq!(size(&bytes), None, "{what}");
    }
}

#[test]
fn what_is_no_such_image_has_no_size() {
    let mut no_header = png(1, 1);
    no_header[12..16].copy_from_slice(b"IDAT");
    let mut no_start_code = webp_lossy(1, 1, 0);
    no_start_code[23] = 0;
    let mut no_signature = webp_lossless(1, 1);
    no_signature[20] = 0;
    let cases: [&[u8]; 11] = [
        b"",
        b"<svg xmlns='http://www.w3.org/2000/svg' width='10' height='10'/>",
        b"%PDF-1.7 and more of it here",
        b"RIFF\x10\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x01\0\x01\0\x01\0",
        b"GIF88a\x01\0\x01\0",
        b"BM\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
        &no_header,
        &no_start_code,
        &no_signature,
        &png(0, 5),
        &gif(5, 0),
    ];
    for case in cases {
        assert_eq!(size(case), None, "{case:?}");
        assert_eq!(size_of_base64(&BASE64_STANDARD.encode(case)), None, "{case:?}");
    }
}

#[test]
fn base64_is_read_however_it_is_written() {
    let image = jpeg(0xC1, 1_001, 2_002);
    let expected = Some((1_001, 2_002));
    let text = BASE64_STANDARD.encode(&image);
    assert_eq!(size_of_base64(&text), expected);
    assert_eq!(size_of_base64(&BASE64_STANDARD_NO_PAD.encode(&image)), expected);
    assert_eq!(size_of_base64(&BASE64_URL_SAFE.encode(&image)), expected);
    let lines =
        |end: &str| text.as_bytes().chunks(76).map(String::from_utf8_lossy).collect::<Vec<_>>().join(end);
    assert_eq!(size_of_base64(&lines("\n")), expected);
    assert_eq!(size_of_base64(&lines("\r\n")), expected);
    assert_eq!(size_of_base64(&format!("data:image/jpeg;base64,{text}")), expected);
    assert_eq!(size_of_base64(&format!("DATA:image/jpeg;name=a.jpg;BASE64,{text}")), expected);
    assert_eq!(size_of_base64(&format!("data:;base64,{}", lines("\n"))), expected);
    for none in
        ["", "data:", "data:image/png,", "data:image/png;base64", "https://example.com/a.png", "ä=", "===="]
    {
        assert_eq!(size_of_base64(none), None, "{none}");
    }
    assert_eq!(size_of_base64(&format!("data:image/jpeg,{text}")), None, "not base64");
}

/// Nothing behind the size is looked at, and nothing before it is enough.
#[test]
fn a_prefix_is_enough_when_the_size_is_in_it() {
    for (image, needed) in [
        (png(300, 200), 24),
        (gif(300, 200), 10),
        (webp_lossy(300, 200, 0), 30),
        (webp_lossless(300, 200), 25),
        (webp_extended(300, 200), 30),
        (jpeg(0xC0, 300, 200), jpeg(0xC0, 300, 200).len() - 14 - 10),
    ] {
        for length in (0..image.len().min(64)).chain(needed.saturating_sub(9)..image.len()) {
            let expected = (length >= needed).then_some((300, 200));
            let prefix = &image[..length];
            assert_eq!(size(prefix), expected, "{length} of {needed} bytes");
            assert_eq!(
                size_of_base64(&BASE64_STANDARD.encode(prefix)),
                expected,
                "{length} of {needed} bytes"
            );
        }
    }
}

#[test]
fn cost_follows_the_pixels_between_its_bounds() {
    for (side, tokens) in [
        (None, ANTHROPIC_MAX),
        (Some((1, 1)), 1),
        (Some((27, 27)), 1),
        (Some((750, 1)), 1),
        (Some((750, 2)), 2),
        (Some((200, 200)), 53),
        (Some((1_000, 1_000)), 1_333),
        (Some((1_092, 1_092)), 1_589),
        (Some((1_200, 1_000)), 1_600),
        (Some((8_000, 8_000)), 1_600),
        (Some((u32::MAX, u32::MAX)), 1_600),
    ] {
        assert_eq!(anthropic_tokens(side).get(), tokens, "{side:?}");
    }
}

/// Bytes that begin like an image, then go anywhere.
fn nearly_an_image() -> impl Strategy<Value = Vec<u8>> {
    let begin = prop_oneof![
        Just(Vec::new()),
        Just(png(70, 80)),
        Just(gif(70, 80)),
        Just(jpeg(0xC0, 70, 80)),
        Just(webp_lossy(70, 80, 1)),
        Just(webp_lossless(70, 80)),
        Just(webp_extended(70, 80)),
        Just(vec![0xFF, 0xD8]),
    ];
    let tail =
        prop::collection::vec(prop_oneof![2 => any::<u8>(), 1 => Just(0xFF), 1 => 0xC0..=0xDF_u8], 0..80);
    (begin, any::<prop::sample::Index>(), tail).prop_map(|(mut bytes, cut, tail)| {
        bytes.truncate(cut.index(bytes.len() + 1));
        bytes.extend(tail);
        bytes
    })
}

proptest! {
    /// Whatever the bytes are, they have an answer, and base64 has the same one.
    #[test]
    fn bytes_and_base64_agree(bytes in nearly_an_image()) {
        let expected = size(&bytes);
        prop_assert_eq!(size_of_base64(&BASE64_STANDARD.encode(&bytes)), expected);
        prop_assert!(expected.is_none_or(|(width, height)| width > 0 && height > 0));
        let tokens = anthropic_tokens(expected).get();
        prop_assert!((1..=ANTHROPIC_MAX).contains(&tokens));
    }

    #[test]
    fn any_text_has_an_answer(text in "(data:)?[a-z/;,=]{0,10}(base64,)?[A-Za-z0-9+/=_ \\n-]{0,60}\\PC{0,4}") {
        prop_assert!(size_of_base64(&text).is_none_or(|(width, height)| width > 0 && height > 0));
    }

    /// A second, independent reader finds the same sizes.
    #[test]
    fn sizes_agree_with_another_reader(width in 1..=16_383_u16, height in 1..=16_383_u16, marker in prop::sample::select(vec![0xC0_u8, 0xC1, 0xC2, 0xC3, 0xC5, 0xC9, 0xCF])) {
        let mut plain = jpeg(marker, width, height);
        if let Some(fill) = plain.windows(4).position(|bytes| bytes == [0xFF, 0xFF, 0xFF, 0xDB]) {
            plain.drain(fill..fill + 2); // that reader knows no fill bytes
        }
        let (w, h) = (width.into(), height.into());
        for image in [plain, png(w, h), gif(width, height), webp_lossy(width, height, 0), webp_lossless(width, height), webp_extended(w, h)] {
            let other = imagesize::blob_size(&image).ok().map(|size| (size.width as u32, size.height as u32));
            prop_assert_eq!(size(&image), other);
            prop_assert_eq!(other, Some((w, h)));
        }
    }
}
