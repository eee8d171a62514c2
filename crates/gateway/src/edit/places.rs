//! Where a request stands in its conversation, and whether what the provider has cached of that is known to be gone.

use super::keys::Keys;
use crate::measure::session;
use crate::relay::Asked;
use deadweight_cache::lineage::{Limits, Lineages, Placement, Relation};
use deadweight_cache::prefix::Prefix;
use deadweight_cache::watch::{Kind, Lifetimes};
use deadweight_levers::Cold;
use deadweight_price::ttl::Pauses;
use deadweight_store::Lineage;
use deadweight_wire::Dialect;
use deadweight_wire::anatomy::{Anatomy, Role};
use deadweight_wire::dialect::model_of_path;
use deadweight_wire::json::Parser;
use std::collections::{HashMap, HashSet};

/// How many sessions it is remembered of when they were seen.
const MOST: usize = 4_096;
/// What is idle for no longer than this is nowhere cold.
pub(super) const TEN_MINUTES: u64 = 600_000;
/// The longer of the times that entries live for.
pub(super) const HOUR_MS: u64 = 3_600_000;

/// What is read of a request before it is planned.
pub(super) struct Facts {
    pub(super) prefix: Prefix,
    /// What decisions about it are kept under.
    pub(super) keys: Keys,
    pub(super) session: String,
    pub(super) model: Option<String>,
    /// Who asks, by the name that the ledger has for it.
    pub(super) agent: Option<String>,
    /// Whether it offers tools.
    pub(super) offers: bool,
    /// Who says each message.
    roles: Vec<Role>,
}

/// When a conversation asked which model.
#[derive(Debug, Clone, Default)]
struct Models {
    /// Whether that is known from its first request on.
    all: bool,
    seen: Vec<(String, u64)>,
}

/// How many models of a conversation are remembered.
const MOST_MODELS: usize = 16;

impl Facts {
    /// Reads a body. `None`: it is not JSON.
    pub(super) fn read(parser: &mut Parser, asked: &Asked, body: &[u8]) -> Option<Self> {
        parser.scope(body, |document| {
            let anatomy = Anatomy::read(document.ok()?, asked.dialect);
            let mut prefix = Prefix::read(&anatomy);
            let of_body = anatomy.model.and_then(|model| model.as_str()).map(|model| model.into_owned());
            let model = of_body.or_else(|| model_of_path(&asked.path).map(|model| model.into_owned()));
            if prefix.model.is_none() {
                prefix.model = model.as_deref().map(Into::into);
            }
            let session = session::named(&asked.headers).unwrap_or_else(|| prefix.session().to_string());
            let roles: Vec<Role> = anatomy.messages.iter().map(|message| message.role).collect();
            Some(Self {
                keys: Keys::of(&prefix, &roles, &asked.holder, &session),
                session,
                model,
                agent: session::whose(asked.agent.as_deref(), &asked.headers, &anatomy),
                offers: !anatomy.tools.is_empty(),
                roles,
                prefix,
            })
        })
    }

    /// Whether a request went by, behind the first `known` messages, that was not seen here: somebody else spoke before
    /// the model's last words.
    fn missed(&self, known: usize) -> bool {
        let new = self.roles.get(known..).unwrap_or_default();
        let last = new.iter().rposition(|role| *role == Role::Assistant);
        last.is_some_and(|last| new.iter().take(last).any(|role| *role != Role::Assistant))
    }
}

/// A request in its conversation.
pub(super) struct Placed {
    pub(super) placement: Placement,
    /// Milliseconds since a request of its session began here; `None`: none is remembered, or some went by unseen.
    pub(super) idle: Option<u64>,
    /// How long the longest-lived cache entry of the conversation lives; `None`: nobody says.
    pub(super) lives: Option<u64>,
    /// What the pauses of the conversation have come to, this request included.
    pub(super) pauses: Pauses,
    /// Milliseconds since the conversation asked this model before; `None`: that is not known.
    model_idle: Option<u64>,
    /// Whether tools were left out of requests of its session.
    pub(super) pruned: bool,
}

impl Placed {
    /// It is cached for an hour, because we asked for that.
    pub(super) fn lives_for_hour(&mut self) {
        self.lives = self.lives.map(|lives| lives.max(HOUR_MS));
    }

    /// Whether what is cached is known to be gone.
    pub(super) fn cold(&self, idle: Option<u64>) -> Option<Cold> {
        let mut causes = self.placement.turn.causes.clone();
        // A conversation that goes back to a model finds what that one has cached.
        let gone = self
            .model_idle
            .zip(self.lives)
            .is_some_and(|(idle, lives)| idle > lives.saturating_mul(2) && idle > TEN_MINUTES);
        causes.retain(|cause| *cause != Kind::Model || gone);
        Cold::proven(self.placement.relation, &causes, idle, self.lives)
    }
}

/// When a session was seen, and what it asked for.
#[derive(Debug, Clone, Copy)]
struct Seen {
    at_ms: u64,
    /// Whether it may have asked for entries that live for an hour.
    hour: bool,
}

/// A conversation's last request.
#[derive(Debug, Clone, Copy)]
struct Pace {
    at_ms: u64,
    tokens: u64,
    pauses: Pauses,
}

/// The conversations that are known.
pub(super) struct Places {
    lineages: Lineages,
    seen: HashMap<String, Seen>,
    paces: HashMap<[u8; 16], Pace>,
    models: HashMap<[u8; 16], Models>,
    /// Sessions in which tools were left out.
    pruned: HashSet<String>,
}

impl Places {
    /// `pruned`: the sessions in which tools were left out.
    pub(super) fn new(remembered: &[Lineage], pruned: Vec<String>) -> Self {
        let mut own = Self {
            lineages: Lineages::new(Limits::default()),
            seen: HashMap::new(),
            paces: HashMap::new(),
            models: HashMap::new(),
            pruned: pruned.into_iter().collect(),
        };
        for lineage in remembered.iter().rev() {
            // What cannot be read is a conversation that is met in the middle.
            if own.lineages.restore(&lineage.session, &lineage.state).is_ok() {
                let hour = own.lineages.asked_for_hour(&lineage.session).unwrap_or(true);
                own.seen.insert(lineage.session.clone(), Seen { at_ms: lineage.at_ms, hour });
            }
        }
        own
    }

    /// Places a request, and remembers it.
    pub(super) fn place(&mut self, facts: &Facts, at_ms: u64) -> Placed {
        let lifetimes = Lifetimes::of(facts.prefix.dialect);
        let placement = self.lineages.place(&facts.session, &facts.prefix, at_ms, &lifetimes);
        let mut placed = self.placed(placement, facts, at_ms, &lifetimes);
        let conversation = *placed.placement.conversation.as_bytes();
        placed.pauses = self.paced(conversation, facts, at_ms);
        self.asks(conversation, placed.placement.relation, facts, at_ms);
        let hour = asks_for_hour(&facts.prefix);
        if self.seen.len() >= MOST && !self.seen.contains_key(&facts.session) {
            self.seen.clear();
        }
        let seen = self.seen.entry(facts.session.clone()).or_insert(Seen { at_ms, hour });
        *seen = Seen { at_ms: seen.at_ms.max(at_ms), hour: seen.hour || hour };
        placed
    }

    /// What the pauses of a conversation have come to with this request.
    fn paced(&mut self, conversation: [u8; 16], facts: &Facts, at_ms: u64) -> Pauses {
        if self.paces.len() >= MOST && !self.paces.contains_key(&conversation) {
            self.paces.clear();
        }
        let tokens = facts.prefix.tokens().get();
        let last = self.paces.get(&conversation).copied();
        let mut pauses = last.map(|last| last.pauses).unwrap_or_default();
        pauses.take(last.map(|last| (at_ms.saturating_sub(last.at_ms), last.tokens)), tokens);
        self.paces.insert(conversation, Pace { at_ms, tokens, pauses });
        pauses
    }

    /// A conversation asks a model.
    fn asks(&mut self, conversation: [u8; 16], relation: Relation, facts: &Facts, at_ms: u64) {
        if self.models.len() >= MOST && !self.models.contains_key(&conversation) {
            self.models.clear();
        }
        let all = relation == Relation::First;
        let own = self.models.entry(conversation).or_insert_with(|| Models { all, seen: Vec::new() });
        let model = facts.model.clone().unwrap_or_default();
        own.seen.retain(|(seen, _)| *seen != model);
        if own.seen.len() >= MOST_MODELS {
            own.seen.remove(0);
            own.all = false;
        }
        own.seen.push((model, at_ms));
    }

    /// How long a conversation has not asked this model; `None`: that is not known.
    fn model_idle(&self, conversation: &[u8; 16], facts: &Facts, at_ms: u64) -> Option<u64> {
        let own = self.models.get(conversation)?;
        let model = facts.model.as_deref().unwrap_or_default();
        match own.seen.iter().find(|(seen, _)| seen == model) {
            Some((_, seen)) => Some(at_ms.saturating_sub(*seen)),
            None => own.all.then_some(u64::MAX),
        }
    }

    /// Tools are left out of a request of a session.
    pub(super) fn prunes(&mut self, session: &str) {
        if self.pruned.len() >= MOST {
            self.pruned.clear();
        }
        self.pruned.insert(session.to_owned());
    }

    /// Something of a session is cached for an hour, because we asked for that.
    pub(super) fn hours(&mut self, session: &str) {
        if let Some(seen) = self.seen.get_mut(session) {
            seen.hour = true;
        }
    }

    /// Where a request would be placed. Nothing is remembered.
    pub(super) fn peek(&self, facts: &Facts, at_ms: u64) -> Placed {
        let lifetimes = Lifetimes::of(facts.prefix.dialect);
        let mut lineages = Lineages::new(Limits::default());
        if let Some(state) = self.lineages.save(&facts.session) {
            let _ = lineages.restore(&facts.session, &state);
        }
        let placement = lineages.place(&facts.session, &facts.prefix, at_ms, &lifetimes);
        self.placed(placement, facts, at_ms, &lifetimes)
    }

    fn placed(&self, placement: Placement, facts: &Facts, at_ms: u64, lifetimes: &Lifetimes) -> Placed {
        let seen = self.seen.get(&facts.session);
        let unseen = matches!(placement.relation, Relation::Extends | Relation::Branch { .. })
            && facts.missed(placement.known as usize);
        let hour = asks_for_hour(&facts.prefix) || seen.is_none_or(|seen| seen.hour);
        let lives = match facts.prefix.dialect {
            Dialect::AnthropicMessages if hour => Some(lifetimes.hour),
            Dialect::AnthropicMessages => Some(lifetimes.five_minutes),
            _ => lifetimes.automatic,
        };
        let idle = seen.filter(|_| !unseen).map(|seen| at_ms.saturating_sub(seen.at_ms));
        let model_idle = self.model_idle(placement.conversation.as_bytes(), facts, at_ms);
        let pruned = self.pruned.contains(&facts.session);
        Placed { placement, idle, lives, pauses: Pauses::default(), model_idle, pruned }
    }

    /// A request was not answered, and warmed no cache.
    pub(super) fn failed(&mut self, session: &str, placement: &Placement) {
        self.lineages.failed(session, placement);
    }
}

fn asks_for_hour(prefix: &Prefix) -> bool {
    prefix.marks.iter().any(|mark| mark.hour)
}
