//! The place of a request in its conversation, and what became of the provider's cache.

use deadweight_cache::lineage::{Lineages, Placement, Relation};
use deadweight_cache::prefix::Prefix;
use deadweight_cache::watch::{Agreement, Lifetimes, Observed};
use deadweight_store::CacheWatch;
use deadweight_wire::usage::Outcome;

/// The conversations that are known.
pub(super) struct Turns {
    lineages: Lineages,
}

/// A request in its conversation.
pub(super) struct Placed {
    /// Which.
    pub placement: Placement,
}

impl Turns {
    pub(super) const fn new(lineages: Lineages) -> Self {
        Self { lineages }
    }

    pub(super) fn place(&mut self, session: &str, prefix: &Prefix, at_ms: u64) -> Placed {
        let lifetimes = Lifetimes::of(prefix.dialect);
        Placed { placement: self.lineages.place(session, prefix, at_ms, &lifetimes) }
    }

    /// The request was not answered, and warmed no cache.
    pub(super) fn failed(&mut self, session: &str, placed: &Placed) {
        self.lineages.failed(session, &placed.placement);
    }

    /// What has to be kept of a session for after a restart.
    pub(super) fn save(&self, session: &str) -> Option<Vec<u8>> {
        self.lineages.save(session)
    }
}

impl Placed {
    /// The tools called since the request before, with how often. `calls` are all calls in the request.
    pub(super) fn calls(&self, calls: &[(usize, String)]) -> Vec<(String, u64)> {
        let from = match self.placement.relation {
            Relation::First | Relation::Joined | Relation::Partial => 0,
            Relation::Extends | Relation::Branch { .. } => self.placement.known as usize,
            // Nothing was called: what stands there was there before, in another place.
            Relation::Retry | Relation::History { .. } | Relation::Compaction { .. } => usize::MAX,
        };
        let mut counts: Vec<(String, u64)> = Vec::new();
        for (_, name) in calls.iter().filter(|(at, _)| *at >= from) {
            match counts.iter_mut().find(|(own, _)| own == name) {
                Some((_, count)) => *count += 1,
                None => counts.push((name.clone(), 1)),
            }
        }
        counts
    }

    /// What became of the cached prefix, before the provider has said anything.
    pub(super) fn watch(&self) -> CacheWatch {
        let turn = &self.placement.turn;
        CacheWatch {
            class: turn.kind.name().to_owned(),
            also: turn.causes.iter().skip(1).map(|cause| cause.name().to_owned()).collect(),
            kept_tokens: turn.kept.get(),
            lost_tokens: turn.lost.get(),
            lost_nano: None,
            gap_ms: turn.gap,
            miss_reason: None,
            agrees: None,
        }
    }

    /// Sets the provider's counters beside it.
    pub(super) fn settle(
        &self,
        watch: &mut CacheWatch,
        outcome: Option<&Outcome>,
        usage: deadweight_store::Observed,
    ) {
        let raw = outcome.and_then(|outcome| outcome.about.cache_miss_reason.as_deref());
        watch.miss_reason = raw.map(miss_reason);
        let observed = Observed {
            cache_read: usage.cache_read,
            prompt: usage.prompt,
            miss_reason: watch.miss_reason.as_deref(),
        };
        watch.agrees = match self.placement.turn.agrees(&observed) {
            Agreement::Unknown => None,
            agreement => Some(agreement == Agreement::Agrees),
        };
    }
}

/// The type in `{"type":"tools_changed",…}`; a bare string is taken as it is, anything else says nothing that is known.
fn miss_reason(raw: &str) -> String {
    deadweight_wire::json::Parser::new().scope(raw.as_bytes(), |document| {
        let Ok(document) = document else { return "unknown".to_owned() };
        let root = document.root();
        let word = root.get("type").and_then(|kind| kind.as_str()).or_else(|| root.as_str());
        word.map_or_else(|| "unknown".to_owned(), |word| word.into_owned())
    })
}
