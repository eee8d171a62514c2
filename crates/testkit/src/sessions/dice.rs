//! Numbers that only look random.

/// A row of numbers that follows from its seed, on every machine.
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// The row of this seed.
    pub fn new(seed: u64) -> Self {
        let mut dice = Self(seed ^ 0x9E37_79B9_7F4A_7C15);
        dice.below(2);
        dice
    }

    /// The next number, below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound.max(1)
    }

    /// Whether the next number is one of `bound`.
    pub fn one_in(&mut self, bound: u64) -> bool {
        self.below(bound) == 0
    }
}
