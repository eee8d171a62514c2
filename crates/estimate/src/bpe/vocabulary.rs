//! A vocabulary: the tokens of a tokenizer and their ranks.

use super::layout::{EMPTY, Key, LONGEST, OFFSETS, RANK_BIT, RANKS};

/// A vocabulary where it lies in the binary. Nothing is loaded: the pages a count touches are all there is to read.
pub(super) struct Vocabulary {
    slots: &'static [[u8; 8]],
    bytes: &'static [u8],
}

impl Vocabulary {
    /// The vocabulary of a file made by the build script; evaluated at compile time.
    pub(super) const fn new(file: &'static [u8]) -> Self {
        let (slots, rest) = file.split_at(8);
        let slots = u64::from_le_bytes(slots.as_chunks().0[0]) as usize;
        let (slots, bytes) = rest.split_at(8 * slots);
        Self { slots: slots.as_chunks().0, bytes }
    }

    /// The rank of `token`: the lower it is, the earlier its parts are merged into it.
    pub(super) fn rank(&self, token: &[u8]) -> Option<u32> {
        if token.len() > LONGEST {
            return None;
        }
        let key = Key::of(token);
        let mut index = key.slot(self.slots.len());
        loop {
            let slot = u64::from_le_bytes(self.slots[index]);
            if slot == EMPTY {
                return None;
            }
            if slot & key.mask == key.bits && (key.is_whole() || self.at(slot, token.len()) == token) {
                return Some((slot >> RANK_BIT & (RANKS - 1)) as u32);
            }
            index += 1;
            if index == self.slots.len() {
                index = 0;
            }
        }
    }

    fn at(&self, slot: u64, length: usize) -> &'static [u8] {
        let start = (slot & (OFFSETS - 1)) as usize;
        &self.bytes[start..start + length]
    }
}
