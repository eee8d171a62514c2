//! What is known of a request besides its bytes.

use crate::lever::Lever;
use deadweight_cache::lineage::Relation;
use deadweight_cache::watch::Kind;
use deadweight_price::Rates;
use deadweight_price::ttl::Pauses;

/// Why what the provider has cached of a conversation is known to be gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cold {
    /// Nothing was asked for more than twice the time that entries live, and for more than ten minutes.
    Idle,
    /// Another model.
    Model,
    /// The client has compacted the conversation.
    Compacted,
}

impl Cold {
    /// The name used in output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Model => "model",
            Self::Compacted => "compacted",
        }
    }

    /// Whether the cache is proven to be gone.
    ///
    /// `relation` and `causes` are what the lineage and the cache watch say of the request. `idle`: milliseconds since any
    /// request began that shares this conversation's beginning (the session's last one is a safe choice); `None` where
    /// that is not known. `lives`: for how many milliseconds the longest-lived entry of the conversation is kept after its
    /// last use; `None` where nobody says.
    #[must_use]
    pub fn proven(
        relation: Relation,
        causes: &[Kind],
        idle: Option<u64>,
        lives: Option<u64>,
    ) -> Option<Self> {
        const TEN_MINUTES: u64 = 600_000;
        if matches!(relation, Relation::Joined | Relation::Partial | Relation::First) {
            return None;
        }
        if matches!(relation, Relation::Compaction { .. }) {
            return Some(Self::Compacted);
        }
        if causes.contains(&Kind::Model) {
            return Some(Self::Model);
        }
        let (idle, lives) = (idle?, lives?);
        (idle > lives.saturating_mul(2) && idle > TEN_MINUTES).then_some(Self::Idle)
    }
}

/// What is known of a request besides its bytes. All of it is found out by who calls the planner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Circumstances<'a> {
    /// The model, where the path names it and not the body.
    pub model: Option<&'a str>,
    /// Whether tools were left out of requests of this conversation, whether or not the journal knows of it.
    pub pruned_before: bool,
    /// Whether what the provider has cached of it is known to be gone.
    pub cold: Option<Cold>,
    /// Whether it looks as if no second request were to come.
    pub likely_single: bool,
    /// The name under which the model can call for what was cut, as far as one is known.
    pub restore_tool: Option<&'a str>,
    /// Whether originals are kept.
    pub keeps_originals: bool,
    /// Whether the journal can be written.
    pub journal: bool,
    /// Whether a subscription pays and not an account.
    pub subscription: bool,
    /// Whether the body is signed.
    pub signed: bool,
    /// Whether tokens are only counted: nothing is recorded, so that the request itself is still a first send.
    pub counting: bool,
    /// Levers of which the provider refused an edit for this account and model.
    pub resting: &'a [Lever],
    /// Levers of whose cuts too much was asked for again.
    pub backed_off: &'a [Lever],
    /// Whether what the body needs can be appended to the header `anthropic-beta`
    /// ([`Outcome::betas`](crate::plan::Outcome::betas)).
    pub appends_betas: bool,
    /// The tools that are used, where that is known.
    pub hot: Option<&'a [String]>,
    /// The largest prompt that the model takes, in tokens, where that is known.
    pub window: Option<u64>,
    /// What the model's tokens cost, where that is known.
    pub rates: Option<Rates>,
    /// Whether the conversation is cached for an hour; else for five minutes.
    pub hour: bool,
    /// What its pauses have come to, this request included.
    pub pauses: Pauses,
}

impl Default for Circumstances<'_> {
    /// An ordinary first request, with a journal.
    fn default() -> Self {
        Self {
            model: None,
            pruned_before: false,
            cold: None,
            likely_single: false,
            restore_tool: None,
            keeps_originals: true,
            journal: true,
            subscription: false,
            signed: false,
            counting: false,
            resting: &[],
            backed_off: &[],
            appends_betas: false,
            hot: None,
            window: None,
            rates: None,
            hour: false,
            pauses: Pauses::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cold_start_is_proven() {
        let proven = |idle, lives| Cold::proven(Relation::Extends, &[], Some(idle), lives);
        let minutes = |minutes: u64| minutes * 60_000;
        assert_eq!(proven(minutes(10), Some(minutes(5))), None);
        assert_eq!(proven(minutes(10) + 1, Some(minutes(5))), Some(Cold::Idle));
        assert_eq!(proven(minutes(60), Some(minutes(60))), None);
        assert_eq!(proven(minutes(121), Some(minutes(60))), Some(Cold::Idle));
        assert_eq!(proven(minutes(9), Some(1)), None);
        assert_eq!(proven(minutes(999), None), None);
        assert_eq!(Cold::proven(Relation::Joined, &[Kind::Model], None, None), None);
        assert_eq!(Cold::proven(Relation::Extends, &[Kind::Model], None, None), Some(Cold::Model));
    }
}
