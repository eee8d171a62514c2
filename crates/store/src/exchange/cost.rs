//! What the provider counted, what it costs, and what its cache made of it.

use serde::Serialize;

/// What the provider counted, OBSERVED, in tokens. `None`: it did not say; that is never 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Observed {
    /// Read at the full price.
    pub uncached: Option<u64>,
    /// Read from the cache.
    pub cache_read: Option<u64>,
    /// Written to the cache for five minutes.
    pub cache_write_5m: Option<u64>,
    /// Written to the cache for an hour.
    pub cache_write_1h: Option<u64>,
    /// Written to the cache for a time that was not said.
    pub cache_write_unspecified: Option<u64>,
    /// The answer, thinking included.
    pub output: Option<u64>,
    /// Of the answer, the thinking.
    pub reasoning: Option<u64>,
    /// The whole prompt, cached or not.
    pub prompt: Option<u64>,
}

impl Observed {
    /// Everything that was written to the cache; `None` where nothing was said of writes.
    #[must_use]
    pub fn cache_write(&self) -> Option<u64> {
        [self.cache_write_5m, self.cache_write_1h, self.cache_write_unspecified]
            .into_iter()
            .flatten()
            .reduce(u64::saturating_add)
    }
}

/// What an exchange costs: prices from a book times OBSERVED counters, so ESTIMATED. In nano-USD (1,000,000,000 are a
/// dollar).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Cost {
    /// The part that was read at the full price.
    pub uncached: u64,
    /// What was read from the cache.
    pub cache_read: u64,
    /// What was written to it for five minutes, or for a time that was not said.
    pub cache_write_5m: u64,
    /// What was written to it for an hour.
    pub cache_write_1h: u64,
    /// The answer.
    pub output: u64,
    /// The prompt's cost in tokens at the full input price: what it would be worth uncached.
    pub equivalent_tokens: Option<u64>,
    /// The day of the prices, such as `2026-11-20`.
    pub price_date: String,
}

impl Cost {
    /// The prompt, in nano-USD.
    #[must_use]
    pub const fn input(&self) -> u64 {
        self.uncached
            .saturating_add(self.cache_read)
            .saturating_add(self.cache_write_5m)
            .saturating_add(self.cache_write_1h)
    }

    /// All of it, in nano-USD.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.input().saturating_add(self.output)
    }
}

/// Whether a request, as it was sent, went on from the cached prefix.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct CacheWatch {
    /// The first reason why it did not, or that it did: `first`, `append`, `tool_set`, `tool_order`, `system`,
    /// `history`, `model`, `ttl_lapse`, `compaction`, `joined`, `retry`, `branch`; `edited`: a lever changed what had been
    /// sent before.
    pub class: String,
    /// The reasons that came after the first.
    pub also: Vec<String>,
    /// Tokens of the prefix that stayed as it was, ESTIMATED.
    pub kept_tokens: u64,
    /// Tokens that had been sent before and have to be read anew, ESTIMATED.
    pub lost_tokens: u64,
    /// What that costs more than reading them from the cache, in nano-USD, ESTIMATED; `None` without a price.
    pub lost_nano: Option<u64>,
    /// Since the turn before began, in milliseconds; `None` for the first.
    pub gap_ms: Option<u64>,
    /// The provider's own reason for a miss, where it gives one.
    pub miss_reason: Option<String>,
    /// Whether the provider's counters bear this out; `None` where they do not say.
    pub agrees: Option<bool>,
    /// What would have become of the cached prefix, had levers changed nothing in this conversation; `None` where that is
    /// the same.
    pub received: Option<AsReceived>,
}

/// What would have become of the cached prefix, had a request and those before it been sent as they came.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct AsReceived {
    /// The first reason why it would not have gone on from it, or that it would, in the words of [`CacheWatch::class`].
    pub class: String,
    /// The reasons that came after the first.
    pub also: Vec<String>,
    /// Tokens that would have had to be read anew, ESTIMATED.
    pub lost_tokens: u64,
    /// What that would have cost more than reading them from the cache, in nano-USD, ESTIMATED; `None` without a price.
    pub lost_nano: Option<u64>,
}
