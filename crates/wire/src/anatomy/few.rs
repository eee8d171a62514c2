//! A list that is nearly always empty or of one.

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

#[cfg(test)]
mod tests {
    use super::Few;

    #[test]
    fn keeps_the_order_of_pushes() {
        let mut few = Few::default();
        for n in 0..4 {
            assert_eq!(few.len(), n);
            few.push(n);
        }
        assert_eq!(&*few, &[0, 1, 2, 3]);
    }
}
