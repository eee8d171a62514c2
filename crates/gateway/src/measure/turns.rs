//! The place of a request in its conversation, and what became of the provider's cache.

use super::request::Sent;
use deadweight_cache::lineage::{Limits, Lineages, Placement, Relation};
use deadweight_cache::prefix::Prefix;
use deadweight_cache::watch::{Agreement, Kind, Lifetimes, Observed, Turn};
use deadweight_store::{AsReceived, CacheWatch, Lineage};
use deadweight_wire::usage::Outcome;

/// The conversations that are known.
pub(super) struct Turns {
    /// As the clients have them. They say whose a request is.
    lineages: Lineages,
    /// As they were sent, of the sessions in which something was changed: what the provider's cache goes by.
    sent: Lineages,
}

/// A request in its conversation.
pub(super) struct Placed {
    /// Which.
    pub placement: Placement,
    /// The same of what was sent, where something was changed in the session.
    sent: Option<Placement>,
}

impl Turns {
    /// What is remembered. What cannot be read is a conversation that is met in the middle.
    pub(super) fn new(remembered: &[Lineage]) -> Self {
        let mut own =
            Self { lineages: Lineages::new(Limits::default()), sent: Lineages::new(Limits::default()) };
        for lineage in remembered.iter().rev() {
            let _ = own.lineages.restore(&lineage.session, &lineage.state);
            if let Some(sent) = &lineage.sent {
                let _ = own.sent.restore(&lineage.session, sent);
            }
        }
        own
    }

    /// Places a request: `received` as it came, `sent` as it was sent where that is another.
    pub(super) fn place(
        &mut self,
        session: &str,
        received: &Prefix,
        sent: Option<&Sent>,
        at_ms: u64,
    ) -> Placed {
        let lifetimes = Lifetimes::of(received.dialect);
        let known = self.sent.knows(session);
        // Until now everything was sent as it came, unless this goes on with something that is not remembered.
        if !known
            && sent.is_some_and(|sent| !sent.goes_on)
            && let Some(state) = self.lineages.save(session)
        {
            let _ = self.sent.restore(session, &state);
        }
        let placement = self.lineages.place(session, received, at_ms, &lifetimes);
        let sent = (known || sent.is_some()).then(|| {
            let prefix = sent.map_or(received, |sent| &sent.prefix);
            self.sent.place_as(session, placement.conversation, prefix, at_ms, &lifetimes)
        });
        Placed { placement, sent }
    }

    /// The request was not answered, and warmed no cache.
    pub(super) fn failed(&mut self, session: &str, placed: &Placed) {
        self.lineages.failed(session, &placed.placement);
        if let Some(sent) = &placed.sent {
            self.sent.failed(session, sent);
        }
    }

    /// What has to be kept of a session for after a restart.
    pub(super) fn save(&self, session: &str) -> Option<Vec<u8>> {
        self.lineages.save(session)
    }

    /// The same of what was sent in it.
    pub(super) fn save_sent(&self, session: &str) -> Option<Vec<u8>> {
        self.sent.save(session)
    }
}

impl Placed {
    /// What became of the prefix that the provider has.
    fn turn(&self) -> &Turn {
        self.sent.as_ref().map_or(&self.placement.turn, |sent| &sent.turn)
    }

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
        let (turn, client) = (self.turn(), &self.placement.turn);
        let mut words = match self.sent {
            Some(_) => words(turn, client),
            None => of_client(turn),
        };
        let own = of_client(client);
        let same = words == own && turn.lost == client.lost;
        CacheWatch {
            class: words.remove(0),
            also: words,
            kept_tokens: turn.kept.get(),
            lost_tokens: turn.lost.get(),
            lost_nano: None,
            gap_ms: client.gap,
            miss_reason: None,
            agrees: None,
            received: (!same).then(|| received(own, client.lost.get())),
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
        watch.agrees = match self.turn().agrees(&observed) {
            Agreement::Unknown => None,
            agreement => Some(agreement == Agreement::Agrees),
        };
    }
}

/// The words for what a request is, or for what broke its prefix, the first first.
fn of_client(turn: &Turn) -> Vec<String> {
    let more = turn.causes.iter().skip(1).map(|cause| cause.name().to_owned());
    std::iter::once(turn.kind.name().to_owned()).chain(more).collect()
}

fn received(mut words: Vec<String>, lost_tokens: u64) -> AsReceived {
    AsReceived { class: words.remove(0), also: words, lost_tokens, lost_nano: None }
}

/// What a lever did to what had been sent before, in the word of the ledger.
const EDITED: &str = "edited";

/// Whether a cause stands in the messages.
const fn in_messages(kind: Kind) -> bool {
    matches!(kind, Kind::Compaction | Kind::History { .. } | Kind::Branch { .. })
}

/// The words for what was sent: what the client did is called what it is to the client, and what it did not do was done by
/// a lever.
fn words(sent: &Turn, client: &Turn) -> Vec<String> {
    let word = |kind: Kind| {
        let of_client = match kind {
            Kind::ToolSet | Kind::ToolOrder => {
                client.causes.iter().find(|own| matches!(own, Kind::ToolSet | Kind::ToolOrder))
            }
            kind if in_messages(kind) => client.causes.iter().find(|own| in_messages(**own)),
            Kind::System | Kind::Settings => client.causes.iter().find(|own| **own == kind),
            // Times and marks are what they are; and so is what a request is when nothing broke.
            _ => return kind.name(),
        };
        of_client.map_or(EDITED, |own| own.name())
    };
    let mut words: Vec<String> = Vec::new();
    let all = std::iter::once(sent.kind).chain(sent.causes.iter().skip(1).copied());
    for own in all.map(word) {
        if words.iter().all(|known| known != own) {
            words.push(own.to_owned());
        }
    }
    words
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
