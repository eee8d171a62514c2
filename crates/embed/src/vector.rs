//! Vectors as they are kept and compared.

use std::sync::Arc;

use sha2::{Digest, Sha256};

/// What 1 is.
const ONE: f32 = 32_767.0;

/// The direction of a text's vector, in numbers of 16 bits: half the room of a float's, and a cosine of two is a sum of
/// integers, exact in whatever order it is taken. What is lost is a few hundred-thousandths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vector(Arc<[i16]>);

impl Vector {
    /// From numbers of length 1, as [`Model::embed`](crate::Model::embed) gives them. Other lengths are brought to 1.
    #[must_use]
    pub fn new(numbers: &[f32]) -> Self {
        let length = numbers.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt();
        let factor = if length > 0.0 && length.is_finite() { (f64::from(ONE) / length) as f32 } else { 0.0 };
        Self(numbers.iter().map(|x| (x * factor).round() as i16).collect())
    }

    /// The direction between several vectors: that of something said in several texts.
    #[must_use]
    pub fn between(vectors: &[Vec<f32>]) -> Self {
        let mut sum = vectors.first().cloned().unwrap_or_default();
        for vector in vectors.iter().skip(1) {
            sum.iter_mut().zip(vector).for_each(|(sum, x)| *sum += x);
        }
        Self::new(&sum)
    }

    /// From what [`numbers`](Self::numbers) gave; `None` where the length is not 1 (or 0).
    pub(crate) fn from_numbers(numbers: Arc<[i16]>) -> Option<Self> {
        let length: i64 = numbers.iter().map(|x| i64::from(*x) * i64::from(*x)).sum();
        let one = f64::from(ONE) * f64::from(ONE);
        (length == 0 || (length as f64 / one - 1.0).abs() < 0.02).then_some(Self(numbers))
    }

    /// As they are kept.
    pub(crate) fn numbers(&self) -> &[i16] {
        &self.0
    }

    /// How much two texts mean the same: 1 for one and the same direction, about 0 for texts that have nothing in
    /// common. Vectors of different models compare to nothing that makes sense.
    #[must_use]
    pub fn cosine(&self, other: &Self) -> f32 {
        // Both are of length 1, so that the sum is within 32 bits at any time.
        let sum = self
            .0
            .iter()
            .zip(other.0.iter())
            .map(|(a, b)| i32::from(*a) * i32::from(*b))
            .fold(0, i32::wrapping_add);
        sum as f32 / (ONE * ONE)
    }
}

/// What a vector is kept under: SHA-256 of the texts that it stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(pub(crate) [u8; 32]);

impl Key {
    /// The key of something that is said in one or several texts.
    #[must_use]
    pub fn of<T: AsRef<str>>(texts: &[T]) -> Self {
        let mut hash = Sha256::new();
        for text in texts {
            hash.update((text.as_ref().len() as u64).to_le_bytes());
            hash.update(text.as_ref());
        }
        Self(hash.finalize().into())
    }
}
