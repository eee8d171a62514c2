//! The scanner for x86-64 with AVX2, chosen when the program runs. The only unsafe code of the workspace.
//!
//! It classifies 64 bytes of a string at a time into bit masks, finds the escapes among them by arithmetic
//! on the masks, counts them with one instruction, and checks UTF-8 where a byte is beyond ASCII. What is
//! rare (an escape with `\u`, an error, the last bytes of a text) is left to the code of the portable scanner.
//!
//! What it gains, measured by `cargo bench -p deadweight-wire --bench footprint_pass` (medians of 101 rounds,
//! an EPYC with AVX2): parsing a code-heavy request of 1 MB 4.6 times as fast as the portable scanner (8.0 against
//! 1.74 GB/s, `serde_json`'s `IgnoredAny` 1.94), one that is all tool definitions 1.7 times (2.17 against 1.30,
//! `IgnoredAny` 1.69). Without it the pass would be slower than a parser that yields nothing.
#![allow(unsafe_code)]

use super::error::{Error, ErrorKind};
use super::parse::tape;
use super::text::{Scan, Strings, Text};
use super::value::Node;
use std::arch::x86_64::*;

/// Proof that this machine has AVX2, BMI1 and POPCNT.
#[derive(Debug, Clone, Copy)]
pub(super) struct Avx2(());

impl Avx2 {
    /// The proof, where it can be had. The answer is cached by the standard library.
    pub(super) fn detect() -> Option<Self> {
        (is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("popcnt"))
        .then_some(Self(()))
    }

    /// [`tape`] with this scanner, compiled as a whole with its instructions.
    pub(super) fn tape(self, bytes: &[u8], nodes: &mut Vec<Node>) -> Result<(), Error> {
        #[target_feature(enable = "avx2,bmi1,popcnt")]
        fn with_features(scan: Avx2, bytes: &[u8], nodes: &mut Vec<Node>) -> Result<(), Error> {
            tape(scan, bytes, nodes)
        }
        // SAFETY: `self` exists only where `detect` has found these features.
        unsafe { with_features(self, bytes, nodes) }
    }
}

impl Scan for Avx2 {
    #[inline(always)]
    fn string(self, bytes: &[u8], start: usize) -> Result<Text, Error> {
        // SAFETY: `self` exists only where `detect` has found these features.
        unsafe { string(bytes, start) }
    }
}

/// Scans a string: a short one without escapes at a glance, any other in blocks of 64 bytes.
#[inline]
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn string(bytes: &[u8], start: usize) -> Result<Text, Error> {
    if let Some(block) = bytes.get(start..).and_then(<[u8]>::first_chunk::<32>) {
        let block = load::<0, 32>(block);
        // The sign bit of a byte is what the mask takes: a byte beyond ASCII stops here too.
        let stops = mask(_mm256_or_si256(enders(block), _mm256_or_si256(equal(block, b'\\'), block)));
        let end = start + stops.trailing_zeros() as usize;
        if stops != 0 && bytes.get(end) == Some(&b'"') {
            return Ok(Text { end, saved: 0, lone_surrogate: false });
        }
    }
    long_string(bytes, start)
}

/// Bytes of a block.
const BLOCK: usize = 64;
/// Bytes before a block that [`not_utf8`] looks at.
const BEFORE: usize = 3;

/// What is known about the bytes of a block; bit `i` of a mask is byte `i`.
struct Block<'a> {
    /// The block, after the bytes before it.
    window: &'a [u8; BEFORE + BLOCK],
    low: __m256i,
    high: __m256i,
    /// Quotes and control characters.
    enders: u64,
    backslashes: u64,
    beyond_ascii: u64,
}

#[inline(never)]
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn long_string(bytes: &[u8], start: usize) -> Result<Text, Error> {
    let mut string = Strings::new(start);
    // From block to block: whether the last byte started an escape, and whether the last bytes may be an
    // unfinished character. Where the next block lies depends on neither, so it is loaded ahead.
    let (mut cut, mut unfinished) = (0, 0);
    while let Some(block) = block(bytes, string.at) {
        let starts = escape_starts(block.backslashes & !cut);
        let escaped = starts << 1 | cut;
        let stops = block.enders & !escaped;
        let unknown = escaped & !simple_escapes(&block);
        if stops | unknown | block.beyond_ascii | unfinished == 0 {
            string.saved += escaped.count_ones();
            string.at += BLOCK;
            cut = starts >> (BLOCK - 1);
            continue;
        }
        // Everything up to and with the first stop, and nothing behind it.
        let stop = (stops | unknown) & (stops | unknown).wrapping_neg();
        let seen = stop | stop.wrapping_sub(1);
        if block.beyond_ascii & seen | unfinished != 0 && not_utf8(&block) & seen != 0 {
            return Err(string.fault(bytes, bytes.len(), ErrorKind::InvalidUtf8));
        }
        if stop == 0 {
            string.saved += escaped.count_ones();
            string.at += BLOCK;
            cut = starts >> (BLOCK - 1);
            unfinished = block.beyond_ascii >> (BLOCK - 3);
            continue;
        }
        string.saved += (escaped & (stop - 1)).count_ones();
        string.at += stop.trailing_zeros() as usize;
        if stops & stop == 0 {
            // An escape that is not of the simple kind; its backslash is the byte before.
            string.at -= 1;
            string.escapes(bytes)?;
            (cut, unfinished) = (0, 0);
            continue;
        }
        if bytes.get(string.at) != Some(&b'"') {
            return Err(string.fault(bytes, string.at, ErrorKind::ControlCharacter));
        }
        return Ok(string.text());
    }
    string.at -= cut as usize;
    string.checked = if unfinished == 0 { string.at } else { character_start(bytes, start, string.at) };
    string.finish(bytes)
}

/// Where a check of UTF-8 must start so that it takes in the character which may be unfinished at `at`.
#[cold]
fn character_start(bytes: &[u8], start: usize, at: usize) -> usize {
    let before = bytes.get(start..at).unwrap_or_default();
    let continued = before.iter().rev().take(3).take_while(|&&byte| byte & 0xC0 == 0x80).count();
    at - before.len().min(continued + 1)
}

/// Loads and classifies the block at `at`; `None` where fewer than 64 bytes are left or fewer than 3 lie
/// before.
#[inline]
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn block(bytes: &[u8], at: usize) -> Option<Block<'_>> {
    let window = bytes.get(at.checked_sub(BEFORE)?..)?.first_chunk()?;
    let (low, high) = (load::<BEFORE, _>(window), load::<{ BEFORE + 32 }, _>(window));
    Some(Block {
        window,
        low,
        high,
        enders: both(mask(enders(low)), mask(enders(high))),
        backslashes: both(mask(equal(low, b'\\')), mask(equal(high, b'\\'))),
        beyond_ascii: both(mask(low), mask(high)),
    })
}

/// The backslashes that start an escape, given that the byte before the block does not: in each run of
/// backslashes the first, the third and so on.
const fn escape_starts(backslashes: u64) -> u64 {
    const EVEN: u64 = u64::MAX / 3;
    let runs = backslashes & !(backslashes << 1);
    // Adding its first bit to a run carries through the run and clears it. (The bit that appears behind it
    // is no backslash.)
    let from_even = backslashes & !backslashes.wrapping_add(runs & EVEN);
    (from_even & EVEN) | (backslashes & !from_even & !EVEN)
}

/// The bytes that stand for an escape when they follow a backslash, without the `u` of `\u`.
#[inline]
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn simple_escapes(block: &Block<'_>) -> u64 {
    // Each byte's halves are looked up; the byte is in the set when they share a bit.
    //            bit   0      1      2            3
    // high half       2x     5x     6x           7x
    // low half       " /     \      b f n        r t
    const HIGH: [u8; 16] = table([(0x2, 1), (0x5, 2), (0x6, 4), (0x7, 8), (0, 0), (0, 0)]);
    const LOW: [u8; 16] = table([(0x2, 1 | 4 | 8), (0xF, 1), (0xC, 2), (0x6, 4), (0xE, 4), (0x4, 8)]);
    let simple = |bytes| {
        let shared = _mm256_and_si256(look_up(&LOW, low_halves(bytes)), look_up(&HIGH, high_halves(bytes)));
        !mask(_mm256_cmpeq_epi8(shared, _mm256_setzero_si256()))
    };
    both(simple(block.low), simple(block.high))
}

const fn table(entries: [(usize, u8); 6]) -> [u8; 16] {
    let mut table = [0; 16];
    let mut next = 0;
    while next < entries.len() {
        let (half, bits) = entries[next];
        table[half] |= bits;
        next += 1;
    }
    table
}

/// Where the bytes of a block are not UTF-8, given that those before it are (but for a character that the
/// block continues). The bit set is that of the byte at which the fault shows: the second byte of a sequence
/// that cannot start so, the byte where another was due.
///
/// Two bytes that follow each other are judged by three of their halves (the method of Keiser and Lemire,
/// "Validating UTF-8 in less than one instruction per byte"); whether a second and a third continuation
/// are due follows from the bytes two and three places before.
#[inline]
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn not_utf8(block: &Block<'_>) -> u64 {
    let faults = |bytes: __m256i, one_before: __m256i, two_before: __m256i, three_before: __m256i| {
        let pair = _mm256_and_si256(
            _mm256_and_si256(
                look_up(&utf8::FIRST_HIGH, high_halves(one_before)),
                look_up(&utf8::FIRST_LOW, low_halves(one_before)),
            ),
            look_up(&utf8::SECOND_HIGH, high_halves(bytes)),
        );
        // The high bit says that a second or third continuation is due; only then may two follow each other.
        let third = _mm256_subs_epu8(two_before, splat(0xE0 - 0x80));
        let fourth = _mm256_subs_epu8(three_before, splat(0xF0 - 0x80));
        let due = _mm256_and_si256(_mm256_or_si256(third, fourth), splat(utf8::TWO_CONTINUATIONS));
        !mask(_mm256_cmpeq_epi8(_mm256_xor_si256(pair, due), _mm256_setzero_si256()))
    };
    let window = block.window;
    both(
        faults(block.low, load::<2, _>(window), load::<1, _>(window), load::<0, _>(window)),
        faults(block.high, load::<34, _>(window), load::<33, _>(window), load::<32, _>(window)),
    )
}

/// The tables by which [`not_utf8`] judges two bytes that follow each other: a pair is at fault in the ways
/// whose bits all three tables have.
mod utf8 {
    /// A lead byte without a continuation.
    const TOO_SHORT: u8 = 1 << 0;
    /// A continuation after ASCII.
    const TOO_LONG: u8 = 1 << 1;
    /// `C0` and `C1`: two bytes for what needs one.
    const OVERLONG_2: u8 = 1 << 2;
    /// `E0 80..9F`: three bytes for what needs two.
    const OVERLONG_3: u8 = 1 << 3;
    /// `ED A0..BF`.
    const SURROGATE: u8 = 1 << 4;
    /// `F4 90..BF`, and `F5..FF` before the same.
    const TOO_LARGE: u8 = 1 << 5;
    /// `F0 80..8F`, four bytes for what needs three, and `F5..FF` before the same.
    const OVERLONG_4: u8 = 1 << 6;
    /// A continuation after a continuation: a fault unless one is due.
    pub(super) const TWO_CONTINUATIONS: u8 = 1 << 7;

    /// By the high half of the first byte.
    pub(super) const FIRST_HIGH: [u8; 16] = {
        let mut table = [TOO_LONG; 16];
        let mut half = 8;
        while half < 16 {
            table[half] = match half {
                0x8..=0xB => TWO_CONTINUATIONS,
                0xC => TOO_SHORT | OVERLONG_2,
                0xD => TOO_SHORT,
                0xE => TOO_SHORT | OVERLONG_3 | SURROGATE,
                _ => TOO_SHORT | TOO_LARGE | OVERLONG_4,
            };
            half += 1;
        }
        table
    };

    /// By the low half of the first byte.
    pub(super) const FIRST_LOW: [u8; 16] = {
        let mut table = [0; 16];
        let mut half = 0;
        while half < 16 {
            table[half] = TOO_SHORT
                | TOO_LONG
                | TWO_CONTINUATIONS
                | match half {
                    0x0 => OVERLONG_2 | OVERLONG_3 | OVERLONG_4,
                    0x1 => OVERLONG_2,
                    0x2 | 0x3 => 0,
                    0x4 => TOO_LARGE,
                    0xD => TOO_LARGE | OVERLONG_4 | SURROGATE,
                    _ => TOO_LARGE | OVERLONG_4,
                };
            half += 1;
        }
        table
    };

    /// By the high half of the second byte.
    pub(super) const SECOND_HIGH: [u8; 16] = {
        let mut table = [TOO_SHORT; 16];
        let any = TOO_LONG | TWO_CONTINUATIONS | OVERLONG_2;
        table[0x8] = any | OVERLONG_3 | OVERLONG_4;
        table[0x9] = any | OVERLONG_3 | TOO_LARGE;
        table[0xA] = any | SURROGATE | TOO_LARGE;
        table[0xB] = any | SURROGATE | TOO_LARGE;
        table
    };
}

/// Quotes and control characters.
#[inline]
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn enders(bytes: __m256i) -> __m256i {
    let control = _mm256_cmpeq_epi8(_mm256_max_epu8(bytes, splat(0x1F)), splat(0x1F));
    _mm256_or_si256(equal(bytes, b'"'), control)
}

#[inline]
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn equal(bytes: __m256i, byte: u8) -> __m256i {
    _mm256_cmpeq_epi8(bytes, splat(byte))
}

#[inline]
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn splat(byte: u8) -> __m256i {
    _mm256_set1_epi8(byte.cast_signed())
}

/// The sign bits of the bytes, the first byte's lowest.
#[inline]
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn mask(bytes: __m256i) -> u32 {
    _mm256_movemask_epi8(bytes).cast_unsigned()
}

const fn both(low: u32, high: u32) -> u64 {
    low as u64 | (high as u64) << 32
}

#[inline]
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn low_halves(bytes: __m256i) -> __m256i {
    _mm256_and_si256(bytes, splat(0x0F))
}

#[inline]
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn high_halves(bytes: __m256i) -> __m256i {
    low_halves(_mm256_srli_epi16(bytes, 4))
}

/// Replaces each byte (below 16) by its entry in the table.
#[inline]
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn look_up(table: &[u8; 16], halves: __m256i) -> __m256i {
    // SAFETY: the pointer is that of 16 readable bytes; the load needs no alignment.
    let table = unsafe { _mm_loadu_si128(table.as_ptr().cast()) };
    _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(table), halves)
}

/// Loads the 32 bytes at `AT`.
#[inline]
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn load<const AT: usize, const N: usize>(bytes: &[u8; N]) -> __m256i {
    const { assert!(AT + 32 <= N) };
    // SAFETY: the assertion above holds the 32 bytes within the array; the load needs no alignment.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().add(AT).cast()) }
}

#[cfg(test)]
mod tests {
    use super::{Avx2, Scan, escape_starts};
    use crate::json::text::Portable;

    #[test]
    fn escapes_start_at_every_other_backslash_of_a_run() {
        let mut state = 1u64;
        for _ in 0..100_000 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let backslashes = state | state.rotate_left(u32::from(state.to_be_bytes()[0]));
            let (mut starts, mut escaped) = (0, false);
            for bit in (0..64).map(|bit| 1 << bit) {
                let starts_here = backslashes & bit != 0 && !escaped;
                starts |= if starts_here { bit } else { 0 };
                escaped = starts_here;
            }
            assert_eq!(escape_starts(backslashes), starts, "{backslashes:b}");
        }
        assert_eq!(escape_starts(u64::MAX), u64::MAX / 3);
    }

    /// Every byte and its escape, and every sequence of up to four bytes that UTF-8 tells apart, where
    /// blocks begin and end.
    #[test]
    fn bytes_are_judged_as_the_portable_scanner_judges_them() {
        let Some(avx2) = Avx2::detect() else { return };
        let same = |insert: &[u8]| {
            // A block goes from 3 to 67. Behind what is inserted there is much, or less than a block.
            for lead in [3, 31, 61, 64, 65, 66, 67] {
                for tail in ["b\"", &"b\",".repeat(40)] {
                    let mut text = vec![b'"'; 3];
                    text.resize(lead, b'a');
                    text.extend(insert);
                    text.extend(tail.bytes());
                    assert_eq!(avx2.string(&text, 3), Portable.string(&text, 3), "{insert:x?} at {lead}");
                }
            }
        };
        for byte in 0..=255 {
            same(&[byte]);
            same(&[b'\\', byte]);
            same(&[b'\\', b'\\', byte]);
        }
        let edges = [
            0x41, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE,
            0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF,
        ];
        for first in edges {
            for second in edges {
                same(&[first, second]);
                for third in [0x41, 0x80, 0xBF, 0xC2] {
                    same(&[first, second, third]);
                    for fourth in [0x41, 0x80, 0xBF, 0xC2] {
                        same(&[first, second, third, fourth]);
                    }
                }
            }
        }
    }
}
