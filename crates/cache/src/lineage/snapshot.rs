//! One request as it is remembered: enough to say what the next one shares with it.

use crate::prefix::{Part, Prefix};
use crate::watch::Lifetimes;
use deadweight_wire::Dialect;
use std::sync::Arc;

/// How many cache entries of a history are remembered.
const POINTS: usize = 24;
/// Of these, how many at the front are never dropped: those of tools and system prompt.
const FRONT: usize = 4;

/// A request as it is remembered: 32 bytes for each message, 20 for each tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// When it began, in milliseconds.
    pub(crate) at: u64,
    /// When the last request began that put this history into a cache of the provider's own making.
    pub(crate) warm: Option<u64>,
    pub(crate) model: Option<Box<str>>,
    pub(crate) head: Arc<Head>,
    pub(crate) nodes: Vec<Node>,
    /// What is in the cache after it.
    pub(crate) points: Vec<Point>,
    /// What was in it before: still there if the request failed.
    pub(crate) before: Vec<Point>,
    /// The same of `warm`.
    pub(crate) warm_before: Option<u64>,
}

/// What stands before the messages; shared by the requests that have it in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) tools: Vec<Slim>,
    pub(crate) system: Vec<Slim>,
    pub(crate) settings: [u8; 16],
}

/// A tool or a system block: its hash, and the tokens up to and with it within its segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slim {
    pub(crate) hash: [u8; 16],
    pub(crate) tokens: u32,
}

/// A message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) chain: [u8; 16],
    /// The beginning of its own hash; 0 for a message that says too little to be known again.
    pub(crate) own: u64,
    /// Tokens of the messages up to and with it.
    pub(crate) tokens: u32,
    /// Blocks of the messages up to and with it.
    pub(crate) blocks: u32,
}

/// A cache entry: it ends with a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Point {
    /// The index of its last block.
    pub(crate) index: u32,
    /// What it holds, in tokens.
    pub(crate) tokens: u32,
    pub(crate) hour: bool,
    /// When it was last written or read.
    pub(crate) at: u64,
}

impl Point {
    pub(crate) const fn alive(&self, now: u64, lifetimes: &Lifetimes) -> bool {
        let life = if self.hour { lifetimes.hour } else { lifetimes.five_minutes };
        now.saturating_sub(self.at) < life
    }
}

impl Slim {
    pub(crate) fn is(&self, part: &Part) -> bool {
        self.hash == part.hash.short()
    }
}

fn narrow(tokens: u64) -> u32 {
    u32::try_from(tokens).unwrap_or(u32::MAX)
}

/// The beginning of a message's own hash.
fn own(bytes: &[u8; 32]) -> u64 {
    let mut first = [0; 8];
    first.copy_from_slice(&bytes[..8]);
    u64::from_le_bytes(first).max(1)
}

impl Head {
    fn of(prefix: &Prefix) -> Self {
        let slim = |parts: &[Part], all: u64| {
            let mut sum = 0;
            let mut slim: Vec<_> = parts
                .iter()
                .map(|part| {
                    sum += part.tokens.get();
                    Slim { hash: part.hash.short(), tokens: narrow(sum) }
                })
                .collect();
            // What was rounded down part by part is put right at the end.
            if let Some(last) = slim.last_mut() {
                last.tokens = narrow(all);
            }
            slim
        };
        Self {
            tools: slim(&prefix.tools, prefix.tools_tokens.get()),
            system: slim(&prefix.system, prefix.system_tokens.get()),
            settings: prefix.settings.short(),
        }
    }

    /// Whether a request has the same tools, in whatever order.
    pub(crate) fn same_tools(&self, now: &Prefix) -> bool {
        let mut own: Vec<_> = self.tools.iter().map(|tool| tool.hash).collect();
        let mut other: Vec<_> = now.tools.iter().map(|tool| tool.hash.short()).collect();
        own.sort_unstable();
        other.sort_unstable();
        own == other
    }

    pub(crate) fn same_system(&self, now: &Prefix) -> bool {
        self.system.len() == now.system.len()
            && self.system.iter().zip(&now.system).all(|(own, part)| own.is(part))
    }
}

impl Snapshot {
    /// Remembers a request that began at `at` (milliseconds) and follows `previous`.
    #[must_use]
    pub fn of(prefix: &Prefix, at: u64, previous: Option<&Self>, lifetimes: &Lifetimes) -> Self {
        let head = Head::of(prefix);
        let head = match previous {
            Some(previous) if *previous.head == head => Arc::clone(&previous.head),
            _ => Arc::new(head),
        };
        let nodes = prefix.messages.iter().map(|link| Node {
            chain: link.chain.short(),
            own: if link.telling { own(link.own.as_bytes()) } else { 0 },
            tokens: narrow(link.tokens.get()),
            blocks: link.blocks,
        });
        let mut out = Self {
            at,
            warm: Some(at),
            model: prefix.model.clone(),
            head,
            nodes: nodes.collect(),
            points: Vec::new(),
            before: Vec::new(),
            warm_before: None,
        };
        if let Some(previous) = previous {
            out.inherit(previous, prefix, at, lifetimes);
        }
        out.points.clone_from(&out.before);
        if prefix.dialect == Dialect::AnthropicMessages {
            out.write(prefix, at, lifetimes);
        }
        out
    }

    /// Takes over what is still in the cache.
    fn inherit(&mut self, previous: &Self, prefix: &Prefix, at: u64, lifetimes: &Lifetimes) {
        if previous.model != self.model {
            return;
        }
        let same = previous.common_blocks(prefix);
        self.before = previous
            .points
            .iter()
            .copied()
            .filter(|point| point.index < same && point.alive(at, lifetimes))
            .collect();
        self.warm_before = previous.warm;
    }

    /// Adds what this request writes, and refreshes what it reads.
    fn write(&mut self, prefix: &Prefix, at: u64, _lifetimes: &Lifetimes) {
        // The longest entry that a marker of this request finds is read; reading it keeps all it stands on.
        let read = self
            .points
            .iter()
            .filter(|point| prefix.marks.iter().any(|mark| crate::watch::reaches(mark.index, point.index)))
            .map(|point| point.index)
            .max();
        for point in &mut self.points {
            if read.is_some_and(|read| point.index <= read) {
                point.at = at;
            }
        }
        for mark in &prefix.marks {
            let new = Point { index: mark.index, tokens: narrow(mark.tokens.get()), hour: mark.hour, at };
            match self.points.binary_search_by_key(&mark.index, |point| point.index) {
                Ok(found) => {
                    if let Some(point) = self.points.get_mut(found) {
                        *point = Point { hour: point.hour || new.hour, ..new };
                    }
                }
                Err(place) => self.points.insert(place, new),
            }
        }
        while self.points.len() > POINTS {
            let dropped = self.points.remove(FRONT);
            // What lives for an hour is not forgotten with the place where it was asked for.
            if let Some(point) = self.points.get_mut(FRONT - 1) {
                point.hour |= dropped.hour;
            }
        }
    }

    /// Takes back what a request that failed was said to have put into the cache.
    pub(crate) fn failed(&mut self) {
        self.points.clone_from(&self.before);
        self.warm = self.warm_before;
    }

    /// When it began, in milliseconds.
    #[must_use]
    pub const fn at(&self) -> u64 {
        self.at
    }

    /// How many messages it has.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether it has no messages.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// How many messages at the beginning a request shares with it. A chain hash stands for all before it, so halving
    /// finds the place.
    #[must_use]
    pub fn common(&self, now: &Prefix) -> usize {
        let (mut same, mut end) = (0, self.nodes.len().min(now.messages.len()));
        while same < end {
            let at = same + (end - same) / 2;
            let equal = match (self.nodes.get(at), now.messages.get(at)) {
                (Some(node), Some(link)) => node.chain == link.chain.short(),
                _ => false,
            };
            if equal {
                same = at + 1;
            } else {
                end = at;
            }
        }
        same
    }

    /// How many blocks at the beginning a request shares with it; the settings count where the messages begin.
    fn common_blocks(&self, now: &Prefix) -> u32 {
        let head = &self.head;
        let tools = head.tools.iter().zip(&now.tools).take_while(|(own, part)| own.is(part)).count();
        if tools < head.tools.len() || tools < now.tools.len() {
            return tools as u32;
        }
        let system = head.system.iter().zip(&now.system).take_while(|(own, part)| own.is(part)).count();
        let blocks = (tools + system) as u32;
        if system < head.system.len() || system < now.system.len() || head.settings != now.settings.short() {
            return blocks;
        }
        let last = self.common(now).checked_sub(1).and_then(|last| self.nodes.get(last));
        blocks + last.map_or(0, |node| node.blocks)
    }

    /// What it weighs, in tokens.
    pub(crate) fn tokens(&self) -> u64 {
        let last = |slim: &[Slim]| slim.last().map_or(0, |own| u64::from(own.tokens));
        let messages = self.nodes.last().map_or(0, |node| u64::from(node.tokens));
        last(&self.head.tools) + last(&self.head.system) + messages
    }
}

/// The beginning of the own hash of a message that says enough to be known again.
pub(crate) fn own_of(link: &crate::prefix::Link) -> Option<u64> {
    link.telling.then(|| own(link.own.as_bytes()))
}
