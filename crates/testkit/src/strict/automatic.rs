//! Caches that need no marks: every prefix of whole items is kept.

use std::time::Duration;

use super::bill::Usage;
use super::cache::{Cache, Hash, hash};
use super::json::Json;
use super::measure;
use super::models::Model;

/// How long a prefix is kept after its last use. Providers promise a few minutes and often keep it longer.
const KEPT: Duration = Duration::from_secs(300);

/// Prefixes, each with all its tokens.
#[derive(Debug, Clone)]
pub(super) struct Chain(Vec<(Hash, u64)>);

impl Chain {
    pub(super) fn new(start: &str, model: &str) -> Self {
        Self(vec![(hash(&[start.as_bytes(), b"\0", model.as_bytes()]), 0)])
    }

    /// One more item.
    pub(super) fn add(&mut self, what: &str, json: &Json<'_>, tokens: u64) {
        let mut buffer = what.as_bytes().to_vec();
        json.write(&mut buffer, None);
        let (end, before) = self.0.last().copied().unwrap_or_default();
        self.0.push((hash(&[&end, &buffer]), before + tokens));
    }

    pub(super) fn tokens(&self) -> u64 {
        self.0.last().map_or(0, |end| end.1)
    }
}

/// Reads and writes the cache, and counts. Tokens that were read are a whole number of `step`s.
pub(super) fn charge(
    cache: &mut Cache,
    own: &Model,
    at: Duration,
    chain: &Chain,
    step: u64,
    writes: &mut Vec<Hash>,
) -> Usage {
    let total = chain.tokens();
    let keepable = chain.0.iter().filter(|(_, tokens)| *tokens >= own.fewest_cached);
    let mut read = 0;
    for (prefix, tokens) in keepable {
        if cache.has(prefix, at) {
            read = tokens / step * step;
        }
        cache.write(*prefix, at, KEPT);
        writes.push(*prefix);
    }
    // Where writing costs nothing extra, it is not counted either.
    let written = if own.write == 1_000 || total < own.fewest_cached { 0 } else { total - read };
    Usage { input: total - read - written, read, write_5m: written, write_1h: 0, output: 0 }
}

/// Tokens of an image in a data URL; of any other address, the most that an image costs.
pub(super) fn image_url(url: &str) -> u64 {
    measure::image(url.split_once(";base64,").map_or("", |(_, data)| data))
}
