//! The conversations of a session, or of all that a run asked: bounded, and which of them it is about.

use std::collections::{BTreeMap, VecDeque};

/// Something that has turns.
pub(crate) trait Counted: Default {
    /// How many requests of it were answered.
    fn turns(&self) -> u64;
}

/// Conversations by their key, in the order in which they were first seen; at most so many. Where there are too many, the
/// one with the fewest turns goes, the oldest of these.
#[derive(Debug, Clone)]
pub(crate) struct Conversations<K, C> {
    by_key: BTreeMap<K, C>,
    order: VecDeque<K>,
    most: usize,
}

impl<K: Ord + Clone, C: Counted> Conversations<K, C> {
    pub(crate) const fn new(most: usize) -> Self {
        Self { by_key: BTreeMap::new(), order: VecDeque::new(), most }
    }

    /// The conversation of this key, which is made where there is none.
    pub(crate) fn of(&mut self, key: K) -> &mut C {
        if !self.by_key.contains_key(&key) {
            if self.order.len() >= self.most
                && let Some(small) = self.smallest()
            {
                self.by_key.remove(&small);
                self.order.retain(|own| *own != small);
            }
            self.order.push_back(key.clone());
        }
        self.by_key.entry(key).or_default()
    }

    fn smallest(&self) -> Option<K> {
        let turns = |key: &&K| self.by_key.get(*key).map_or(0, Counted::turns);
        self.order.iter().min_by_key(turns).cloned()
    }

    /// The one that all of it is about: that with most turns, the first of these. Titles and sub-agents are shorter.
    pub(crate) fn main(&self) -> Option<(&K, &C)> {
        let all = self.order.iter().filter_map(|key| Some((key, self.by_key.get(key)?)));
        all.reduce(|best, one| if one.1.turns() > best.1.turns() { one } else { best })
    }

    pub(crate) fn len(&self) -> usize {
        self.by_key.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default)]
    struct Turns(u64);

    impl Counted for Turns {
        fn turns(&self) -> u64 {
            self.0
        }
    }

    #[test]
    fn the_longest_is_what_it_is_about_and_the_first_of_equals() {
        let mut all = Conversations::<&str, Turns>::new(3);
        assert!(all.main().is_none());
        for (key, turns) in [("z", 2), ("a", 2), ("m", 1)] {
            all.of(key).0 += turns;
        }
        assert_eq!(all.main().unwrap().0, &"z");
        all.of("a").0 += 1;
        assert_eq!(all.main().unwrap().0, &"a");
        // The smallest makes room.
        all.of("n").0 += 1;
        assert_eq!((all.len(), all.by_key.contains_key("m")), (3, false));
    }
}
