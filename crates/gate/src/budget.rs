//! Budgets: what entries sum to. One arithmetic for what the lock allows and for what was measured.

use deadweight_estimate::{Counting, Estimator, Surface as Text};
use deadweight_lock::{Lock, Setting, TextPrice, ToolPrice};
use serde::Serialize;
use std::fmt;

/// What a budget is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Surface {
    /// All tools: name, description and schema.
    Floor,
    /// The tools' descriptions alone.
    Descriptions,
    /// The servers' instructions.
    Instructions,
    /// The skills' descriptions that are always in context.
    Skills,
    /// The memory files.
    Memory,
    /// One tool.
    Tool,
    /// The number of tools.
    ToolCount,
    /// A server as a whole.
    Server,
    /// The lock itself.
    Lock,
}

impl Surface {
    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Floor => "floor",
            Self::Descriptions => "descriptions",
            Self::Instructions => "instructions",
            Self::Skills => "skills",
            Self::Memory => "memory",
            Self::Tool => "tool",
            Self::ToolCount => "tool_count",
            Self::Server => "server",
            Self::Lock => "lock",
        }
    }

    /// The slack that the lock sets for it.
    pub(crate) const fn slack(self, lock: &Lock) -> Option<&Setting> {
        match self {
            Self::Floor => Some(&lock.slack.floor),
            Self::Descriptions => Some(&lock.slack.descriptions),
            Self::Instructions => Some(&lock.slack.instructions),
            Self::Skills => Some(&lock.slack.skills),
            Self::Memory => Some(&lock.slack.memory),
            Self::Tool | Self::ToolCount | Self::Server | Self::Lock => None,
        }
    }
}

impl fmt::Display for Surface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The slack that counts: never more than a fifth of the budget.
pub(crate) fn effective_slack(setting: u64, budget: u64) -> u64 {
    setting.min(budget / 5)
}

/// Turns prices into tokens: a ratio takes the floor of a byte sum, a tokenizer sums what the prices carry.
#[derive(Clone, Copy)]
pub(crate) struct Pricer<'e> {
    counting: Counting<'e>,
}

impl<'e> Pricer<'e> {
    pub(crate) fn new(estimator: &'e dyn Estimator) -> Self {
        Self { counting: estimator.counting() }
    }

    fn sum(self, surface: Text, parts: impl Iterator<Item = (u64, Option<u64>)>) -> u64 {
        let (mut bytes, mut tokens) = (0u64, 0u64);
        for (own_bytes, own_tokens) in parts {
            bytes = bytes.saturating_add(own_bytes);
            tokens = tokens.saturating_add(own_tokens.unwrap_or_default());
        }
        match self.counting {
            Counting::Ratio(ratios) => ratios.of(surface).floor(bytes),
            Counting::Text(_) => tokens,
        }
    }

    /// The tokens of tools together.
    pub(crate) fn tools<'p>(self, prices: impl Iterator<Item = &'p ToolPrice>) -> u64 {
        self.sum(Text::ToolDefinition, prices.map(|price| (price.bytes, price.tokens)))
    }

    /// The tokens of tools' descriptions together.
    pub(crate) fn descriptions<'p>(self, prices: impl Iterator<Item = &'p ToolPrice>) -> u64 {
        self.sum(
            Text::ToolDefinition,
            prices.map(|price| (price.description_bytes, price.description_tokens)),
        )
    }

    /// The tokens of one tool.
    pub(crate) fn tool(self, price: &ToolPrice) -> u64 {
        self.tools(std::iter::once(price))
    }

    /// The tokens of texts together.
    pub(crate) fn texts<'p>(self, prices: impl Iterator<Item = &'p TextPrice>) -> u64 {
        self.sum(Text::Prose, prices.map(|price| (price.bytes, price.tokens)))
    }

    /// Whether entries must carry tokens.
    pub(crate) const fn needs_tokens(self) -> bool {
        matches!(self.counting, Counting::Text(_))
    }
}

/// Whether a tool costs more than it did, in bytes or in tokens.
pub(crate) fn grew(base: &ToolPrice, now: &ToolPrice) -> bool {
    now.bytes > base.bytes || more(base.tokens, now.tokens)
}

/// Whether any budget that a tool's price is part of rises with it: its description has one of its own.
pub(crate) fn rose(base: &ToolPrice, now: &ToolPrice) -> bool {
    grew(base, now)
        || now.description_bytes > base.description_bytes
        || more(base.description_tokens, now.description_tokens)
}

/// The same for texts.
pub(crate) fn text_rose(base: &TextPrice, now: &TextPrice) -> bool {
    now.bytes > base.bytes || more(base.tokens, now.tokens)
}

fn more(base: Option<u64>, now: Option<u64>) -> bool {
    matches!((base, now), (Some(base), Some(now)) if now > base)
}
