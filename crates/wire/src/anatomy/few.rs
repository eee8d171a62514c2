//! Lists that are nearly always empty or of one: an anatomy holds thousands of them.

use std::ops::Deref;

/// A list that keeps its first element in place, since most blocks have one text and no image: reading a
/// request then allocates per message, not per block.
#[derive(Debug, Clone, Default)]
pub enum Few<T> {
    /// Nothing.
    #[default]
    None,
    /// One element.
    One(T),
    /// Two or more.
    Many(Vec<T>),
}

impl<T> Few<T> {
    /// Appends an element.
    pub fn push(&mut self, item: T) {
        *self = match std::mem::take(self) {
            Self::None => Self::One(item),
            Self::One(first) => Self::Many(vec![first, item]),
            Self::Many(mut all) => {
                all.push(item);
                Self::Many(all)
            }
        };
    }
}

impl<T> Deref for Few<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Self::None => &[],
            Self::One(item) => std::slice::from_ref(item),
            Self::Many(all) => all,
        }
    }
}

impl<'a, T> IntoIterator for &'a Few<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// A list that is nearly always empty, and then takes no more room than a pointer.
#[derive(Debug, Clone)]
#[expect(clippy::box_collection, reason = "a pointer instead of three: it is empty in nearly every block")]
pub struct Rare<T>(Option<Box<Vec<T>>>);

impl<T> Rare<T> {
    /// Nothing.
    pub const NONE: Self = Self(None);

    /// Appends an element.
    pub fn push(&mut self, item: T) {
        self.0.get_or_insert_default().push(item);
    }
}

impl<T> Default for Rare<T> {
    fn default() -> Self {
        Self::NONE
    }
}

impl<T> Deref for Rare<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.0.as_ref().map_or(&[], |all| all)
    }
}

impl<'a, T> IntoIterator for &'a Rare<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::{Few, Rare};

    #[test]
    fn both_keep_the_order_of_pushes() {
        let (mut few, mut rare) = (Few::default(), Rare::default());
        for n in 0..4 {
            assert_eq!((few.len(), rare.len()), (n, n));
            few.push(n);
            rare.push(n);
        }
        assert_eq!(&*few, &[0, 1, 2, 3]);
        assert_eq!(&*rare, &[0, 1, 2, 3]);
    }
}
