//! How many tokens a piece is: its bytes are merged, always the two neighbours that make the token of the lowest
//! rank, the leftmost of equals, until no two neighbours make one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::vocabulary::Vocabulary;

/// The rank of what is no token.
const NONE: u32 = u32::MAX;

/// The longest piece whose next merge is looked for by going through all its parts. Hardly a word is longer; a
/// longer piece keeps its possible merges in a heap, as its time would grow with the square of its length.
const SHORT: usize = 64;

/// What merging works on, kept from piece to piece for its memory.
#[derive(Default)]
pub(super) struct Merger {
    parts: Vec<Part>,
    links: Vec<Link>,
    heap: BinaryHeap<Reverse<(u32, usize)>>,
}

/// A part of a short piece.
#[derive(Clone, Copy)]
struct Part {
    start: usize,
    /// Of the token it makes with the next part.
    rank: u32,
}

/// A part of a long piece, at the index of its first byte.
#[derive(Clone, Copy)]
struct Link {
    before: usize,
    next: usize,
    /// Of the token it makes with the next part; [`NONE`] too where no part begins any more.
    rank: u32,
}

impl Merger {
    /// The number of tokens in `piece`.
    pub(super) fn count(&mut self, vocabulary: &Vocabulary, piece: &[u8]) -> usize {
        if vocabulary.rank(piece).is_some() {
            1
        } else if piece.len() <= SHORT {
            self.count_short(vocabulary, piece)
        } else {
            self.count_long(vocabulary, piece)
        }
    }

    fn count_short(&mut self, vocabulary: &Vocabulary, piece: &[u8]) -> usize {
        let rank = |start: usize, end: Option<usize>| match end {
            Some(end) => vocabulary.rank(&piece[start..end]).unwrap_or(NONE),
            None => NONE,
        };
        let end_of = |parts: &[Part], index: usize| match parts.get(index + 2) {
            Some(after) => Some(after.start),
            None => (index + 2 == parts.len()).then_some(piece.len()),
        };
        let parts = &mut self.parts;
        parts.clear();
        parts.extend((0..piece.len()).map(|start| Part { start, rank: NONE }));
        for index in 0..parts.len() {
            parts[index].rank = rank(index, end_of(parts, index));
        }
        while let Some((index, lowest)) = parts.iter().enumerate().min_by_key(|(_, part)| part.rank)
            && lowest.rank != NONE
        {
            parts.remove(index + 1);
            parts[index].rank = rank(parts[index].start, end_of(parts, index));
            if let Some(before) = index.checked_sub(1) {
                parts[before].rank = rank(parts[before].start, end_of(parts, before));
            }
        }
        parts.len()
    }

    fn count_long(&mut self, vocabulary: &Vocabulary, piece: &[u8]) -> usize {
        let Self { links, heap, .. } = self;
        let end = piece.len();
        links.clear();
        links.extend((0..end).map(|start| Link {
            before: start.wrapping_sub(1),
            next: start + 1,
            rank: NONE,
        }));
        heap.clear();
        // Looks up what the part at `start` makes with the next one.
        let renew = |links: &mut [Link], heap: &mut BinaryHeap<_>, start: usize| {
            let rank = match links.get(links[start].next) {
                Some(next) => vocabulary.rank(&piece[start..next.next]).unwrap_or(NONE),
                None => NONE,
            };
            links[start].rank = rank;
            if rank != NONE {
                heap.push(Reverse((rank, start)));
            }
        };
        for start in 0..end {
            renew(links, heap, start);
        }
        let mut count = end;
        while let Some(Reverse((rank, start))) = heap.pop() {
            // What was pushed before a neighbour changed is void.
            if links[start].rank != rank {
                continue;
            }
            let gone = links[start].next;
            let next = links[gone].next;
            links[gone].rank = NONE;
            links[start].next = next;
            if let Some(after) = links.get_mut(next) {
                after.before = start;
            }
            count -= 1;
            renew(links, heap, start);
            let before = links[start].before;
            if before < end {
                renew(links, heap, before);
            }
        }
        count
    }
}
