//! How a vocabulary lies in its file. The build script writes it, [`Vocabulary`](super::vocabulary) reads it.
//!
//! The file is the number of slots, the slots, and the bytes of the tokens that no slot can hold; numbers are
//! little-endian and of 64 bits. The slots are an open-addressing table: a token lies in the slot that its [`Key`]
//! names or in the next one free. A slot is [`EMPTY`], or from its highest bit down:
//!
//! | token | 1 bit | 18 bits | 45 bits |
//! |---|---|---|---|
//! | up to 5 bytes | 1 | rank | 0 (2 bits), length (3), the bytes, the first lowest (40) |
//! | longer | 0 | rank | tag (16), length (8), where it begins in the bytes (21) |
//!
//! So a search looks at the bytes of a token only if it is long and its tag is right, and all else it needs is in
//! the slot.

/// A slot without a token.
pub(crate) const EMPTY: u64 = u64::MAX;

/// The most bytes of a token.
pub(crate) const LONGEST: usize = 255;

/// Ranks are below this.
pub(crate) const RANKS: u64 = 1 << 18;

/// Where tokens begin is below this.
pub(crate) const OFFSETS: u64 = 1 << 21;

/// The rank begins at this bit.
pub(crate) const RANK_BIT: u32 = 45;

const INLINE: usize = 5;
const SHORT: u64 = 1 << 63;
const RANK: u64 = (RANKS - 1) << RANK_BIT;

/// What a token is searched by.
#[derive(Clone, Copy)]
pub(crate) struct Key {
    /// Its slot without the rank and, if it is long, without the place of its bytes.
    pub(crate) bits: u64,
    /// The bits of a slot to compare.
    pub(crate) mask: u64,
    hash: u64,
}

impl Key {
    /// The key of `token`, which has at most [`LONGEST`] bytes.
    pub(crate) fn of(token: &[u8]) -> Self {
        let length = token.len() as u64;
        if token.len() <= INLINE {
            let bytes = token.iter().rev().fold(0, |bytes, byte| bytes << 8 | u64::from(*byte));
            let bits = SHORT | length << 40 | bytes;
            Self { bits, mask: !RANK, hash: fold(bits) }
        } else {
            let (words, rest) = token.as_chunks::<8>();
            let last = rest.iter().rev().fold(length, |last, byte| last << 8 | u64::from(*byte));
            let hash = words.iter().fold(fold(last), |hash, word| fold(hash ^ u64::from_le_bytes(*word)));
            let bits = (hash & 0xFFFF) << 29 | length << 21;
            Self { bits, mask: !(RANK | (OFFSETS - 1)), hash }
        }
    }

    /// Whether all of the token is in its bits.
    pub(crate) const fn is_whole(self) -> bool {
        self.bits & SHORT != 0
    }

    /// Where a search for it begins, among so many slots.
    pub(crate) fn slot(self, slots: usize) -> usize {
        ((u128::from(self.hash) * slots as u128) >> 64) as usize
    }
}

/// Mixes by a multiplication whose halves are laid onto each other.
fn fold(word: u64) -> u64 {
    let product = u128::from(word ^ 0x9E37_79B9_7F4A_7C15) * 0xD1B5_4A32_D192_ED03;
    product as u64 ^ (product >> 64) as u64
}
