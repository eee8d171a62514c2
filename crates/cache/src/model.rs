//! The provider's prompt cache, as far as it is documented: what a request would read and write (FORECAST).
//!
//! Unlike [`watch`](crate::watch), which says what one conversation lost from one request to the next, this is the cache of a
//! whole account: a sub-agent reads the tools and system prompt that another one wrote.
//!
//! - An entry is a rendered prefix (model, tools, system, the settings, messages) that ends with a block. One letter more or
//!   less before its end, and it is another.
//! - Anthropic: a marker finds an entry at its own block or at one before it, [`LOOKBACK`] blocks in all; the longest that any
//!   marker finds is read. From there on each marker writes up to its block, for the time it asks for.
//! - Others: what is the same is read in steps of [`Rules::step`] tokens, and all is written.
//! - Prefixes below [`Rules::minimum`] are neither written nor read.
//! - An entry can be read once the answer to the request that wrote it has begun ([`Cache::respond`]); until then requests
//!   beside it write it again. Its time counts from the *start* of that request, and again from the start of each that reads
//!   it.
//!
//! What is not modelled: entries that the provider drops early or keeps longer, routing between machines, a marker for an hour
//! on what was written for five minutes (it is read, and keeps its time). A marker inside a message is taken to stand for the
//! whole message's fate: what was cached up to it is found only as long as the message is the same.

use crate::hash::Digest;
use crate::prefix::{Mark, Prefix};
use crate::watch::{LOOKBACK, Lifetimes};
use deadweight_estimate::{Forecast as Forecasted, Tokens};
use deadweight_wire::Dialect;
use deadweight_wire::usage::Counters;
use std::collections::HashMap;

/// What the provider's cache does for one model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// The least prefix that is cached, in tokens. It depends on the model; the price book knows it where it is known.
    pub minimum: u64,
    /// Whether it caches what markers ask for; else by itself.
    pub marked: bool,
    /// Where it caches by itself: in steps of how many tokens it reads.
    pub step: u64,
    /// How long entries live.
    pub lifetimes: Lifetimes,
}

impl Rules {
    /// The rules of a dialect's provider for a model with this least prefix. OpenAI reads in steps of 128 tokens (its
    /// documentation of prompt caching, 2026-11); of Gemini no step is documented.
    #[must_use]
    pub const fn of(dialect: Dialect, minimum: u64) -> Self {
        let step = match dialect {
            Dialect::OpenaiChat | Dialect::OpenaiResponses => 128,
            Dialect::AnthropicMessages | Dialect::GeminiGenerate => 1,
        };
        let marked = matches!(dialect, Dialect::AnthropicMessages);
        Self { minimum, marked, step, lifetimes: Lifetimes::of(dialect) }
    }
}

/// What becomes of a request's prompt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Forecast {
    /// Read from the cache.
    pub read: Tokens<Forecasted>,
    /// Written to it for five minutes, or by the provider's own accord.
    pub write_5m: Tokens<Forecasted>,
    /// Written to it for an hour.
    pub write_1h: Tokens<Forecasted>,
    /// Neither.
    pub uncached: Tokens<Forecasted>,
}

impl Forecast {
    /// The whole prompt.
    #[must_use]
    pub fn total(&self) -> Tokens<Forecasted> {
        self.read + self.write_5m + self.write_1h + self.uncached
    }

    /// The same in the shape of a provider's counters, to be priced. Nobody counted them: what comes of it is FORECAST.
    #[must_use]
    pub fn counters(&self) -> Counters {
        Counters {
            input_uncached: Some(self.uncached.get()),
            cache_read: Some(self.read.get()),
            cache_write_5m: Some(self.write_5m.get()),
            cache_write_1h: Some(self.write_1h.get()),
            ..Counters::default()
        }
    }
}

type Key = [u8; 16];

#[derive(Debug, Clone, Copy)]
struct Entry {
    tokens: u64,
    hour: bool,
    /// When it was last written or read, by the start of the request.
    at: u64,
}

/// What a request will have written once its answer begins.
#[derive(Debug, Clone)]
#[must_use = "what is not handed to `Cache::respond` is never in the cache"]
pub struct Pending {
    writes: Vec<(Key, Entry)>,
    at: u64,
}

/// The cache of one account, in the mind.
#[derive(Debug, Clone)]
pub struct Cache {
    entries: HashMap<Key, Entry>,
    limit: usize,
}

impl Cache {
    /// An empty cache that remembers at most `limit` entries, about 50 bytes each.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { entries: HashMap::new(), limit: limit.max(1) }
    }

    /// How many entries it remembers, expired ones among them.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether it remembers none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// A request begins at `at` (milliseconds on one clock): what it reads is refreshed. What it writes can be read by
    /// others once its answer begins: hand `Pending` to [`respond`](Self::respond) then, or drop it if it fails.
    pub fn begin(&mut self, prefix: &Prefix, rules: &Rules, at: u64) -> (Forecast, Pending) {
        let rendered = Rendered::of(prefix);
        if rules.marked {
            self.marked(prefix, &rendered, rules, at)
        } else {
            self.automatic(prefix, &rendered, rules, at)
        }
    }

    /// The answer to a request begins: what it wrote can be read.
    pub fn respond(&mut self, pending: Pending, rules: &Rules) {
        for (key, new) in pending.writes {
            let entry = self.entries.entry(key).or_insert(new);
            entry.hour |= new.hour;
            entry.at = entry.at.max(new.at);
        }
        self.bound(pending.at, rules);
    }

    /// The tokens of an entry that is alive.
    fn alive(&self, key: &Key, rules: &Rules, at: u64) -> Option<u64> {
        let entry = self.entries.get(key)?;
        let age = at.saturating_sub(entry.at);
        rules.life(entry.hour).is_none_or(|life| age < life).then_some(entry.tokens)
    }

    fn refresh(&mut self, key: &Key, at: u64) {
        if let Some(entry) = self.entries.get_mut(key) {
            entry.at = entry.at.max(at);
        }
    }

    /// Anthropic.
    fn marked(
        &mut self,
        prefix: &Prefix,
        rendered: &Rendered<'_>,
        rules: &Rules,
        at: u64,
    ) -> (Forecast, Pending) {
        let mut read: Option<(u64, u32)> = None;
        for mark in &prefix.marks {
            let first = (mark.index + 1).saturating_sub(LOOKBACK);
            // The nearest entry is the longest that this marker finds.
            let found = (first..=mark.index).rev().find_map(|index| {
                let tokens = self.alive(&rendered.key(index)?, rules, at)?;
                (tokens >= rules.minimum).then_some((tokens, index))
            });
            read = read.max(found);
        }
        if let Some(key) = read.and_then(|(_, index)| rendered.key(index)) {
            self.refresh(&key, at);
        }
        let mut reached = read.map_or(0, |(tokens, _)| tokens);
        let mut out = Forecast { read: Tokens::new(reached), ..Forecast::default() };
        let mut pending = Pending { writes: Vec::new(), at };
        for Mark { index, tokens, hour, .. } in &prefix.marks {
            let Some(key) = rendered.key(*index).filter(|_| tokens.get() >= rules.minimum) else { continue };
            if tokens.get() <= reached {
                // It stands on what was read; a marker of its own keeps its own entry.
                if self.alive(&key, rules, at).is_some() {
                    self.refresh(&key, at);
                }
                continue;
            }
            let written = Tokens::new(tokens.get() - reached);
            if *hour {
                out.write_1h += written
            } else {
                out.write_5m += written
            }
            reached = tokens.get();
            pending.writes.push((key, Entry { tokens: reached, hour: *hour, at }));
        }
        out.uncached = Tokens::new(prefix.tokens().get().saturating_sub(reached));
        (out, pending)
    }

    /// Providers that cache by themselves: every whole message ends an entry.
    fn automatic(
        &mut self,
        prefix: &Prefix,
        rendered: &Rendered<'_>,
        rules: &Rules,
        at: u64,
    ) -> (Forecast, Pending) {
        let total = prefix.tokens().get();
        let ends = rendered.ends();
        let found =
            ends.iter().rev().find_map(|&index| Some((self.alive(&rendered.key(index)?, rules, at)?, index)));
        let mut read = found.map_or(0, |(tokens, _)| tokens);
        read -= read % rules.step.max(1);
        if read < rules.minimum {
            read = 0;
        }
        let mut pending = Pending { writes: Vec::new(), at };
        for &index in &ends {
            let Some(key) = rendered.key(index) else { continue };
            if found.is_some_and(|(_, found)| index <= found) {
                self.refresh(&key, at);
            } else if let Some(tokens) = rendered.tokens(index) {
                pending.writes.push((key, Entry { tokens, hour: false, at }));
            }
        }
        let rest = Tokens::new(total.saturating_sub(read));
        let written = total >= rules.minimum;
        let none = Tokens::ZERO;
        let (write_5m, uncached) = if written { (rest, none) } else { (none, rest) };
        (Forecast { read: Tokens::new(read), write_5m, write_1h: none, uncached }, pending)
    }

    /// Forgets what has expired, and then what expires first.
    fn bound(&mut self, now: u64, rules: &Rules) {
        if self.entries.len() <= self.limit {
            return;
        }
        let left = |entry: &Entry| {
            let life = rules.life(entry.hour).unwrap_or(u64::MAX);
            life.saturating_sub(now.saturating_sub(entry.at))
        };
        self.entries.retain(|_, entry| left(entry) > 0);
        let goal = self.limit - self.limit / 8;
        if self.entries.len() <= goal {
            return;
        }
        let mut order: Vec<_> = self.entries.iter().map(|(key, entry)| (left(entry), *key)).collect();
        order.sort_unstable();
        for (_, key) in order.iter().take(self.entries.len() - goal) {
            self.entries.remove(key);
        }
    }
}

impl Rules {
    /// How long an entry lives; `None`: nothing is said about its end.
    const fn life(&self, hour: bool) -> Option<u64> {
        match (self.marked, hour) {
            (false, _) => self.lifetimes.automatic,
            (true, true) => Some(self.lifetimes.hour),
            (true, false) => Some(self.lifetimes.five_minutes),
        }
    }
}

/// A request as the cache sees it: for each block, the hash of everything up to and with it, and its size.
struct Rendered<'p> {
    prefix: &'p Prefix,
    /// Of tools and system blocks: chain and tokens.
    head: Vec<(Digest, u64)>,
    /// What the messages' entries hang on before the messages.
    base: Digest,
    head_tokens: u64,
}

impl<'p> Rendered<'p> {
    fn of(prefix: &'p Prefix) -> Self {
        let model = prefix.model.as_deref().unwrap_or_default();
        let mut chain = Digest::of_parts("cache", &[prefix.dialect.name().as_bytes(), model.as_bytes()]);
        let mut head = Vec::with_capacity(prefix.tools.len() + prefix.system.len());
        let segments = [(&prefix.tools, prefix.tools_tokens), (&prefix.system, prefix.system_tokens)];
        let mut before = 0;
        for (parts, all) in segments {
            // A tool that moves between the segments is another prefix.
            chain = Digest::of_parts("segment", &[chain.as_bytes()]);
            let mut tokens = before;
            for part in parts {
                chain = Digest::chain(&chain, &part.hash);
                tokens += part.tokens.get();
                head.push((chain, tokens));
            }
            before += all.get();
            // Rounded down part by part, put right at the segment's end.
            if let Some(last) = head.last_mut().filter(|_| !parts.is_empty()) {
                last.1 = before;
            }
        }
        let base = Digest::of_parts("messages", &[chain.as_bytes(), prefix.settings.as_bytes()]);
        Self { prefix, head, base, head_tokens: before }
    }

    /// The message that a block is of.
    fn message(&self, index: u32) -> Option<usize> {
        let block = index.checked_sub(self.head.len() as u32)?;
        let messages = &self.prefix.messages;
        let at = messages.partition_point(|link| link.blocks <= block);
        (at < messages.len()).then_some(at)
    }

    /// The entry that ends with a block.
    fn key(&self, index: u32) -> Option<Key> {
        if let Some((chain, _)) = self.head.get(index as usize) {
            return Some(chain.short());
        }
        let message = self.prefix.messages.get(self.message(index)?)?;
        let place = index.to_le_bytes();
        let parts: [&[u8]; 3] = [self.base.as_bytes(), message.chain.as_bytes(), &place];
        Some(Digest::of_parts("entry", &parts).short())
    }

    /// What the entry holds that ends with the last block of a tool, a system block or a message.
    fn tokens(&self, index: u32) -> Option<u64> {
        if let Some((_, tokens)) = self.head.get(index as usize) {
            return Some(*tokens);
        }
        let link = self.prefix.messages.get(self.message(index)?)?;
        Some(self.head_tokens + link.tokens.get())
    }

    /// The last blocks of the tools, of the system slice and of every message.
    fn ends(&self) -> Vec<u32> {
        let (tools, head) = (self.prefix.tools.len() as u32, self.head.len() as u32);
        let mut before = head;
        let messages = self.prefix.messages.iter().filter_map(|link| {
            let end = head + link.blocks;
            let own = (end > before).then(|| end - 1);
            before = end;
            own
        });
        let mut ends: Vec<_> = [tools.checked_sub(1), head.checked_sub(1)].into_iter().flatten().collect();
        ends.dedup();
        ends.extend(messages);
        ends
    }
}
