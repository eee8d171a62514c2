//! What became of the cached prefix from one request of a conversation to the next.
//!
//! A [`Turn`] names what the request *is* (the first of its conversation, the same plus more, a retry, …) or, when some of
//! what the request before had put into the cache could not be read again, *why*: [`Turn::kind`] is the cause that stands
//! furthest to the front of the prompt, since from there on all is lost whatever else changed; the others follow in
//! [`Turn::causes`]. How many tokens were kept and lost is an estimate of what could be read, from content sizes.
//!
//! # What counts as cached
//!
//! - Anthropic: what stands before a marker of an earlier request, if nothing before it changed, its time has not run
//!   out, and a marker of this request looks at it: at its own block and at those before, [`LOOKBACK`] in all.
//! - Others cache by themselves: everything that did not change, as long as [`Lifetimes::automatic`] says.
//!
//! The minimum sizes below which nothing is cached are not looked at here: they depend on the model; [`model`](crate::model) looks at
//! them. Cache that another conversation warmed (the same tools and system prompt) is not
//! seen here either; what a first request reads is in the provider's counters.
//!
//! [`Turn::agrees`] holds a turn against those counters. Shares are compared, never tokens: the two are counted by
//! different people.

use crate::lineage::{Relation, Snapshot};
use crate::prefix::Prefix;
use deadweight_estimate::{Estimated, Tokens};
use deadweight_wire::Dialect;

/// At how many blocks a marker looks for an entry, its own among them (Anthropic's documentation of prompt caching, 2026-11).
pub const LOOKBACK: u32 = 20;

/// How long a cache entry lives after its last use, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lifetimes {
    /// One that was asked for with 5 minutes.
    pub five_minutes: u64,
    /// One that was asked for with an hour.
    pub hour: u64,
    /// One that the provider makes by itself; `None`: nothing is said about its end, and no loss is put down to it.
    pub automatic: Option<u64>,
}

impl Lifetimes {
    /// As documented in November 2026. Anthropic: five minutes or an hour, as asked. OpenAI: in memory some five to ten
    /// minutes, never more than an hour. Gemini: implicit caching names no time.
    #[must_use]
    pub const fn of(dialect: Dialect) -> Self {
        let automatic = match dialect {
            Dialect::AnthropicMessages | Dialect::GeminiGenerate => None,
            Dialect::OpenaiChat | Dialect::OpenaiResponses => Some(3_600_000),
        };
        Self { five_minutes: 300_000, hour: 3_600_000, automatic }
    }
}

/// What a request is, or what broke its cached prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// The first request of a conversation.
    First,
    /// The first that was seen of a conversation which has gone on for a while.
    Joined,
    /// What was there, and more.
    Append,
    /// The same messages again.
    Retry,
    /// It follows on what the provider keeps; what that is cannot be seen.
    Partial,
    /// Another model: no cache is shared.
    Model,
    /// A tool came, went or changed.
    ToolSet,
    /// The same tools in another order.
    ToolOrder,
    /// The system prompt changed.
    System,
    /// `tool_choice` or `thinking` changed, on which the messages' cache hangs.
    Settings,
    /// The client compacted the history.
    Compaction,
    /// A message that had been sent changed, or went, and what follows it stayed.
    History {
        /// The index of the first message that is another.
        at: u32,
    },
    /// The conversation goes on differently from an earlier message on: it was edited, taken back, or asked aside.
    Branch {
        /// The index of the first message that is another.
        at: u32,
    },
    /// The time of the cache entries ran out.
    TtlLapse,
    /// More blocks were added than a marker looks at.
    Lookback,
    /// The request has no cache marker where the one before had some.
    Unmarked,
}

impl Kind {
    /// The name used in output and in the ledger.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Joined => "joined",
            Self::Append => "append",
            Self::Retry => "retry",
            Self::Partial => "partial",
            Self::Model => "model",
            Self::ToolSet => "tool_set",
            Self::ToolOrder => "tool_order",
            Self::System => "system",
            Self::Settings => "settings",
            Self::Compaction => "compaction",
            Self::History { .. } => "history",
            Self::Branch { .. } => "branch",
            Self::TtlLapse => "ttl_lapse",
            Self::Lookback => "lookback",
            Self::Unmarked => "unmarked",
        }
    }

    /// Whether it is a reason for a loss, not just what the request is.
    #[must_use]
    pub const fn is_cause(self) -> bool {
        !matches!(self, Self::First | Self::Joined | Self::Append | Self::Retry | Self::Partial)
    }

    /// For a cause that stands in the messages, the index of the first message that is another.
    #[must_use]
    pub const fn at(self) -> Option<u32> {
        match self {
            Self::History { at } | Self::Branch { at } => Some(at),
            _ => None,
        }
    }
}

/// One request beside the one before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// The first of the causes; without any, what the request is.
    pub kind: Kind,
    /// Everything that changed in what was cached, in the order of the prompt.
    pub causes: Vec<Kind>,
    /// What can be read from the cache of what this conversation put there (ESTIMATED).
    pub kept: Tokens<Estimated>,
    /// What the conversation had put there and cannot be read again: it is written, or paid in full, once more
    /// (ESTIMATED).
    pub lost: Tokens<Estimated>,
    /// What the whole request weighs (ESTIMATED).
    pub total: Tokens<Estimated>,
    /// How long after the request before it began, in milliseconds; `None` for the first. A clock that went back is 0.
    pub gap: Option<u64>,
}

/// What the request before had in the cache and what of it stands in this one.
struct Common {
    /// The first block that is another, counted as [`crate::prefix::Mark::index`] is.
    blocks: u32,
    /// What stands before it.
    tokens: u64,
    causes: Vec<Kind>,
}

/// Holds a request against the one before it in its conversation.
///
/// `relation` is what [`Lineages`](crate::lineage::Lineages) found out; `at` is when the request began, in milliseconds
/// on any clock that `previous` was taken by.
#[must_use]
pub fn class(
    previous: Option<&Snapshot>,
    now: &Prefix,
    relation: Relation,
    at: u64,
    lifetimes: &Lifetimes,
) -> Turn {
    let plain = match relation {
        Relation::First => Kind::First,
        Relation::Joined => Kind::Joined,
        Relation::Retry => Kind::Retry,
        Relation::Partial => Kind::Partial,
        _ => Kind::Append,
    };
    let total = now.tokens();
    let Some(previous) = previous.filter(|_| relation != Relation::Partial) else {
        let none = Tokens::ZERO;
        return Turn { kind: plain, causes: Vec::new(), kept: none, lost: none, total, gap: None };
    };
    let mut common = common(previous, now, relation);
    let cached = Cached::of(previous, now, &common, at, lifetimes);
    if cached.reach == 0 {
        // Nothing was in the cache that could have been lost; what changed is told all the same.
    } else if cached.lapsed == Lapsed::All {
        let first = usize::from(common.causes.first() == Some(&Kind::Model));
        common.causes.insert(first, Kind::TtlLapse);
    } else if cached.lapsed == Lapsed::Some {
        common.causes.push(Kind::TtlLapse);
    } else if cached.out_of_reach {
        common.causes.push(if now.marks.is_empty() { Kind::Unmarked } else { Kind::Lookback });
    }
    Turn {
        kind: common.causes.first().copied().unwrap_or(plain),
        causes: common.causes,
        kept: Tokens::new(cached.kept),
        lost: Tokens::new(cached.reach.saturating_sub(cached.kept)),
        total,
        gap: Some(at.saturating_sub(previous.at)),
    }
}

/// How far two requests are the same, and what ends it.
fn common(previous: &Snapshot, now: &Prefix, relation: Relation) -> Common {
    let mut causes = Vec::new();
    let mut end: Option<(u32, u64)> = None;
    if previous.model.is_some() && now.model.is_some() && previous.model != now.model {
        causes.push(Kind::Model);
        end = Some((0, 0));
    }
    let head = &previous.head;
    let tools = head.tools.iter().zip(&now.tools).take_while(|(own, part)| own.is(part)).count();
    if tools < head.tools.len() || tools < now.tools.len() {
        causes.push(if head.same_tools(now) { Kind::ToolOrder } else { Kind::ToolSet });
        let tokens = tools.checked_sub(1).and_then(|last| head.tools.get(last)).map_or(0, |own| own.tokens);
        end = end.or(Some((tools as u32, u64::from(tokens))));
    }
    let system = head.system.iter().zip(&now.system).take_while(|(own, part)| own.is(part)).count();
    let before = head.tools.last().map_or(0, |own| u64::from(own.tokens));
    if system < head.system.len() || system < now.system.len() {
        causes.push(Kind::System);
        let tokens = system.checked_sub(1).and_then(|last| head.system.get(last)).map_or(0, |own| own.tokens);
        end = end.or(Some(((head.tools.len() + system) as u32, before + u64::from(tokens))));
    }
    let head_blocks = (head.tools.len() + head.system.len()) as u32;
    let head_tokens = before + head.system.last().map_or(0, |own| u64::from(own.tokens));
    if head.settings != now.settings.short() {
        causes.push(Kind::Settings);
        end = end.or(Some((head_blocks, head_tokens)));
    }
    match relation {
        Relation::Compaction { .. } => causes.push(Kind::Compaction),
        Relation::History { at } => causes.push(Kind::History { at }),
        Relation::Branch { at } => causes.push(Kind::Branch { at }),
        _ => {}
    }
    let (blocks, tokens) = end.unwrap_or_else(|| {
        let same = previous.common(now);
        match same.checked_sub(1).and_then(|last| previous.nodes.get(last)) {
            Some(node) => (head_blocks + node.blocks, head_tokens + u64::from(node.tokens)),
            None => (head_blocks, head_tokens),
        }
    });
    Common { blocks, tokens, causes }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lapsed {
    No,
    Some,
    All,
}

struct Cached {
    /// What the conversation had in the cache at most.
    reach: u64,
    kept: u64,
    lapsed: Lapsed,
    /// Whether something alive and unchanged is not read because no marker of this request reaches it.
    out_of_reach: bool,
}

impl Cached {
    fn of(previous: &Snapshot, now: &Prefix, common: &Common, at: u64, lifetimes: &Lifetimes) -> Self {
        if now.dialect != Dialect::AnthropicMessages {
            return Self::automatic(previous, common, at, lifetimes);
        }
        let points = &previous.points;
        let reach = points.iter().map(|point| u64::from(point.tokens)).max().unwrap_or(0);
        let mut best = Self { reach, kept: 0, lapsed: Lapsed::No, out_of_reach: false };
        let (mut unchanged, mut alive) = (0, 0);
        for point in points.iter().filter(|point| point.index < common.blocks) {
            let tokens = u64::from(point.tokens);
            unchanged = unchanged.max(tokens);
            if !point.alive(at, lifetimes) {
                continue;
            }
            alive = alive.max(tokens);
            if now.marks.iter().any(|mark| reaches(mark.index, point.index)) {
                best.kept = best.kept.max(tokens);
            }
        }
        best.out_of_reach = best.kept < alive;
        if !points.is_empty() && !points.iter().any(|point| point.alive(at, lifetimes)) {
            best.lapsed = Lapsed::All;
        } else if alive < unchanged {
            best.lapsed = Lapsed::Some;
        }
        best
    }

    /// For providers that cache by themselves.
    fn automatic(previous: &Snapshot, common: &Common, at: u64, lifetimes: &Lifetimes) -> Self {
        let warm = previous.warm.map(|warm| at.saturating_sub(warm));
        let reach = if warm.is_some() { previous.tokens() } else { 0 };
        let lapsed = warm.zip(lifetimes.automatic).is_some_and(|(gap, life)| gap >= life);
        let kept = if lapsed { 0 } else { common.tokens.min(reach) };
        Self { reach, kept, lapsed: if lapsed { Lapsed::All } else { Lapsed::No }, out_of_reach: false }
    }
}

/// Whether a marker finds the entry of an earlier one.
pub(crate) const fn reaches(mark: u32, entry: u32) -> bool {
    entry <= mark && mark - entry < LOOKBACK
}

/// What the provider said about the cache (OBSERVED).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Observed<'a> {
    /// Tokens read from the cache.
    pub cache_read: Option<u64>,
    /// Tokens of the whole prompt.
    pub prompt: Option<u64>,
    /// `diagnostics.cache_miss_reason.type`, where the provider gave one.
    pub miss_reason: Option<&'a str>,
}

/// Whether the provider's counters say what a turn says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Agreement {
    /// They do.
    Agrees,
    /// The provider read clearly less than could be read.
    ReadLess,
    /// The provider read clearly more than this conversation can have put there.
    ReadMore,
    /// The provider names another reason.
    OtherReason,
    /// The provider did not say enough.
    Unknown,
}

impl Agreement {
    /// The name used in output and in the ledger.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::ReadLess => "read_less",
            Self::ReadMore => "read_more",
            Self::OtherReason => "other_reason",
            Self::Unknown => "unknown",
        }
    }
}

impl Turn {
    /// Holds the turn against the provider's counters. The shares of the prompt that were kept and that were read may
    /// differ by 15 of 100: one is estimated from bytes, the other counted. What a first request reads was put there by
    /// others, so its counters agree whatever they are.
    #[must_use]
    pub fn agrees(&self, observed: &Observed<'_>) -> Agreement {
        if let Some(reason) = observed.miss_reason {
            match self.explains(reason) {
                Some(true) => return Agreement::Agrees,
                Some(false) => return Agreement::OtherReason,
                None => {}
            }
        }
        let (Some(read), Some(prompt)) = (observed.cache_read, observed.prompt.filter(|&prompt| prompt > 0))
        else {
            return Agreement::Unknown;
        };
        match self.kind {
            Kind::First | Kind::Joined => return Agreement::Agrees,
            Kind::Partial => return Agreement::Unknown,
            _ => {}
        }
        let share = |part: u64, of: u64| (u128::from(part) * 100 / u128::from(of.max(1))) as i64;
        let (kept, read) = (share(self.kept.get(), self.total.get()), share(read, prompt));
        match read - kept {
            ..-15 => Agreement::ReadLess,
            16.. => Agreement::ReadMore,
            _ => Agreement::Agrees,
        }
    }

    /// Whether a miss reason of the provider is among the causes; `None` for one that says nothing about the request.
    fn explains(&self, reason: &str) -> Option<bool> {
        let among = |fits: fn(Kind) -> bool| Some(self.causes.iter().any(|&cause| fits(cause)));
        match reason {
            "model_changed" => among(|cause| cause == Kind::Model),
            "tools_changed" => among(|cause| matches!(cause, Kind::ToolSet | Kind::ToolOrder)),
            "system_changed" => among(|cause| cause == Kind::System),
            "messages_changed" => among(|cause| {
                matches!(
                    cause,
                    Kind::Settings | Kind::Compaction | Kind::History { .. } | Kind::Branch { .. }
                )
            }),
            _ => None,
        }
    }
}
