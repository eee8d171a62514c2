//! A running count under one estimator.

use std::borrow::Cow;

use crate::estimator::{Counting, Estimator, Surface};
use crate::provenance::{Estimated, Tokens};

/// A running count of parts on one [`Surface`].
///
/// A ratio estimator's tokens are the floor of the *sum of bytes*; a tokenizer's are the *sum of the counts* of the
/// parts. A tally knows which, so that a whole slice and a list of parts go through the same code.
///
/// ```
/// use deadweight_estimate::{Surface, Tally, calibrated};
/// let estimator = calibrated();
/// let mut tally = Tally::new(&estimator, Surface::ToolDefinition);
/// tally.add(8, || "whatever".into()); // 8 bytes alone would be 1 token
/// tally.add(10, || unreachable!("a ratio looks at no text"));
/// assert_eq!(tally.bytes(), 18);
/// assert_eq!(tally.tokens().get(), 4);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Tally<'e> {
    counting: Counting<'e>,
    surface: Surface,
    bytes: u64,
    text_tokens: u64,
}

impl<'e> Tally<'e> {
    /// An empty tally.
    #[must_use]
    pub fn new(estimator: &'e dyn Estimator, surface: Surface) -> Self {
        Self { counting: estimator.counting(), surface, bytes: 0, text_tokens: 0 }
    }

    /// Adds a part of `bytes` content bytes. `text` is called only if the estimator reads text, and may hold more
    /// than the counted bytes (separators between a tool's name, description and schema).
    pub fn add<'t>(&mut self, bytes: u64, text: impl FnOnce() -> Cow<'t, str>) {
        self.bytes = self.bytes.saturating_add(bytes);
        if let Counting::Text(counter) = self.counting {
            self.text_tokens = self.text_tokens.saturating_add(counter.count(&text()));
        }
    }

    /// Adds what another tally of the same estimator and surface has counted.
    pub fn merge(&mut self, other: &Self) {
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.text_tokens = self.text_tokens.saturating_add(other.text_tokens);
    }

    /// The content bytes added so far.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The tokens so far: the floor of the byte sum with a ratio, the sum of counts with a tokenizer.
    #[must_use]
    pub fn tokens(&self) -> Tokens<Estimated> {
        Tokens::new(match self.counting {
            Counting::Ratio(ratios) => ratios.of(self.surface).floor(self.bytes),
            Counting::Text(_) => self.text_tokens,
        })
    }
}
