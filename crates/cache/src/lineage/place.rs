//! Finding the conversation of a request.

use super::snapshot::{Snapshot, own_of};
use super::{Conversation, ConversationId, Lineages, Session};
use crate::prefix::Prefix;
use crate::watch::{self, Lifetimes, Turn};
use std::collections::HashSet;

/// What a request is to the history it belongs to; see [the module](super).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Relation {
    /// The first request of a conversation.
    First,
    /// The first that was seen of a conversation that has gone on for a while.
    Joined,
    /// A known history and more.
    Extends,
    /// A known history once more.
    Retry,
    /// A known history up to a message, and then something new or nothing.
    Branch {
        /// The index of the first message that is another.
        at: u32,
    },
    /// A known history in which a message changed or went, while messages behind it stayed.
    History {
        /// The index of the first message that is another.
        at: u32,
    },
    /// A known history, compacted by the client.
    Compaction {
        /// The index of the first message that is another.
        at: u32,
    },
    /// It follows on what the provider keeps.
    Partial,
}

impl Relation {
    /// The name used in output and in the ledger.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Joined => "joined",
            Self::Extends => "extends",
            Self::Retry => "retry",
            Self::Branch { .. } => "branch",
            Self::History { .. } => "history",
            Self::Compaction { .. } => "compaction",
            Self::Partial => "partial",
        }
    }
}

/// Where a request belongs, and what became of the cached prefix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// Its conversation.
    pub conversation: ConversationId,
    /// Which request of the conversation it is, from 1.
    pub request: u64,
    /// What it is to the history it belongs to.
    pub relation: Relation,
    /// What became of the cached prefix.
    pub turn: Turn,
    /// How many of its messages stood at the same place in the history it belongs to: what follows is new.
    pub known: u32,
    /// The chain hash of its last message, shortened: which history it is.
    chain: Option<[u8; 16]>,
}

/// A history and what a request is to it.
struct Found {
    conversation: usize,
    tip: usize,
    relation: Relation,
}

impl Lineages {
    /// Finds the conversation of a request and remembers it. `at` is when the request began, in milliseconds on one
    /// clock; a clock that goes back does no harm.
    ///
    /// The request is taken to be answered; when it was not, say so ([`Lineages::failed`]): then it has warmed no cache.
    pub fn place(&mut self, session: &str, now: &Prefix, at: u64, lifetimes: &Lifetimes) -> Placement {
        self.placed(session, None, now, at, lifetimes)
    }

    /// The same of a request whose conversation is known from elsewhere, where it has this name: it goes on with that one
    /// though its messages may no longer show it, and a conversation that begins is called so.
    pub fn place_as(
        &mut self,
        session: &str,
        conversation: ConversationId,
        now: &Prefix,
        at: u64,
        lifetimes: &Lifetimes,
    ) -> Placement {
        self.placed(session, Some(conversation), now, at, lifetimes)
    }

    fn placed(
        &mut self,
        session: &str,
        name: Option<ConversationId>,
        now: &Prefix,
        at: u64,
        lifetimes: &Lifetimes,
    ) -> Placement {
        self.clock += 1;
        let (clock, limits) = (self.clock, self.limits);
        let known = self.sessions.entry(session.into()).or_default();
        known.used = clock;
        let before = known.messages();
        let found = known.find(now).or_else(|| known.named(name?, now));
        let relation = match &found {
            Some(found) => found.relation,
            None if now.partial => Relation::Partial,
            None if now.answered || now.summarised => Relation::Joined,
            None => Relation::First,
        };
        let previous =
            found.as_ref().and_then(|found| known.conversations.get(found.conversation)?.tips.get(found.tip));
        let turn = watch::class(previous, now, relation, at, lifetimes);
        let same = previous
            .filter(|_| relation != Relation::Partial)
            .map_or(0, |history| history.common(now) as u32);
        let conversation = match &found {
            Some(found) => {
                let tip = (relation != Relation::Partial).then(|| Snapshot::of(now, at, previous, lifetimes));
                known.go_on(found, tip, limits.tips.max(1))
            }
            None => {
                let tip = Snapshot::of(now, at, None, lifetimes);
                let new = name.unwrap_or_else(|| ConversationId::new(session, known.begun, now.chain()));
                known.begin(new, tip, limits.conversations.max(1))
            }
        };
        let (conversation, request) = conversation.map_or((ConversationId::from_bytes([0; 16]), 1), |own| {
            own.used = clock;
            own.requests += 1;
            (own.id, own.requests)
        });
        let after = known.messages();
        self.messages = self.messages + after - before;
        self.evict();
        let chain =
            (relation != Relation::Partial).then(|| now.chain().map_or([0; 16], |chain| chain.short()));
        Placement { conversation, request, relation, turn, known: same, chain }
    }

    /// Says that a request was not answered (the provider refused it, or could not be reached): it has put nothing into
    /// a cache. What is no longer remembered is left alone.
    pub fn failed(&mut self, session: &str, placement: &Placement) {
        let Some(chain) = placement.chain else { return };
        let conversations = self.sessions.get_mut(session).map(|session| &mut session.conversations);
        let own = conversations.into_iter().flatten().find(|own| own.id == placement.conversation);
        let tips = own.into_iter().flat_map(|own| own.tips.iter_mut().rev());
        let tip = tips.into_iter().find(|tip| tip.nodes.last().map_or([0; 16], |node| node.chain) == chain);
        if let Some(tip) = tip {
            tip.failed();
        }
    }
}

impl Session {
    /// The history that a request belongs to.
    fn find(&self, now: &Prefix) -> Option<Found> {
        if now.partial {
            let last = self.conversations.iter().enumerate().max_by_key(|(_, own)| own.used)?;
            let tip = last.1.tips.len().checked_sub(1)?;
            return Some(Found { conversation: last.0, tip, relation: Relation::Partial });
        }
        let tips = || {
            let all = self.conversations.iter().enumerate();
            all.flat_map(|(at, own)| {
                own.tips.iter().enumerate().map(move |(tip, history)| (at, tip, own.used, history))
            })
        };
        // The history that is wholly in the request, else the one it shares most with; of equals the one used last.
        let best = tips()
            .map(|(at, tip, used, history)| {
                let same = history.common(now);
                (same == history.len() && same > 0, same, used, tip, at, history)
            })
            .filter(|&(_, same, ..)| same > 0)
            .max_by_key(|&(whole, same, used, tip, ..)| (whole, same, used, tip));
        if let Some((whole, same, _, tip, conversation, history)) = best {
            let relation = match (whole, same == now.messages.len()) {
                (true, true) => Relation::Retry,
                (true, false) => Relation::Extends,
                (false, true) => Relation::Branch { at: same as u32 },
                (false, false) => {
                    relation(history, now, same).unwrap_or(Relation::Branch { at: same as u32 })
                }
            };
            return Some(Found { conversation, tip, relation });
        }
        // Not even the first message is the same. The whole may still be an old history whose beginning changed.
        let kept = tips()
            .filter_map(|(conversation, tip, used, history)| {
                let relation = relation(history, now, 0)?;
                Some((shared(history, now, 0).0, used, tip, Found { conversation, tip, relation }))
            })
            .max_by_key(|&(shared, used, tip, _)| (shared, used, tip));
        if let Some((.., found)) = kept {
            return Some(found);
        }
        if !now.summarised {
            return None;
        }
        // A summary, and nothing of what it sums up: of the longest histories with this system prompt the last one.
        let mine = tips()
            .filter(|(.., history)| {
                history.len() > now.messages.len() || history.tokens() > now.tokens().get()
            })
            .filter(|(.., history)| history.nodes.len() > 1)
            .max_by_key(|&(_, tip, used, history)| (history.head.same_system(now), used, tip));
        mine.map(|(conversation, tip, ..)| Found {
            conversation,
            tip,
            relation: Relation::Compaction { at: 0 },
        })
    }

    /// The last history of the conversation of that name, whose messages were changed from the first one on.
    fn named(&self, name: ConversationId, now: &Prefix) -> Option<Found> {
        let conversation = self.conversations.iter().position(|own| own.id == name)?;
        let tips = &self.conversations.get(conversation)?.tips;
        let tip = tips.len().checked_sub(1)?;
        let shorter = now.messages.len() < tips.get(tip)?.len();
        let relation = if shorter { Relation::Compaction { at: 0 } } else { Relation::History { at: 0 } };
        Some(Found { conversation, tip, relation })
    }

    /// Goes on with a conversation: the history that was extended or repeated gives way to the new one, others stay.
    fn go_on(&mut self, found: &Found, tip: Option<Snapshot>, tips: usize) -> Option<&mut Conversation> {
        let own = self.conversations.get_mut(found.conversation)?;
        if let Some(tip) = tip {
            if matches!(found.relation, Relation::Extends | Relation::Retry) {
                own.tips.remove(found.tip);
            }
            own.tips.push(tip);
            if own.tips.len() > tips {
                own.tips.remove(0);
            }
        }
        Some(own)
    }

    fn begin(&mut self, id: ConversationId, tip: Snapshot, most: usize) -> Option<&mut Conversation> {
        self.begun += 1;
        if self.conversations.len() >= most
            && let Some((oldest, _)) = self.conversations.iter().enumerate().min_by_key(|(_, own)| own.used)
        {
            self.conversations.remove(oldest);
        }
        self.conversations.push(Conversation { id, requests: 0, used: 0, tips: vec![tip] });
        self.conversations.last_mut()
    }
}

/// How many of the messages of a request behind the first `same` stood in a history behind its first `same`, and whether
/// the first of them has moved to the front.
fn shared(history: &Snapshot, now: &Prefix, same: usize) -> (usize, bool) {
    let rest = history.nodes.get(same..).unwrap_or_default();
    let known: HashSet<u64> = rest.iter().map(|node| node.own).filter(|&own| own != 0).collect();
    let mut shared = 0;
    let mut moved = None;
    for (at, link) in now.messages.iter().enumerate().skip(same) {
        let Some(own) = own_of(link).filter(|own| known.contains(own)) else { continue };
        shared += 1;
        if moved.is_none() {
            let was = history.nodes.iter().skip(same).position(|node| node.own == own).map(|was| was + same);
            moved = was.map(|was| was > at);
        }
    }
    (shared, moved.unwrap_or(false))
}

/// What a request is to a history with which it shares only the first `same` messages; `None`: a branch, or, if it shares
/// nothing at all, none of its business.
fn relation(history: &Snapshot, now: &Prefix, same: usize) -> Option<Relation> {
    let at = same as u32;
    let (shared, moved) = shared(history, now, same);
    let shorter = now.messages.len() < history.len();
    let rest = (history.len() - same).min(now.messages.len() - same);
    // At least half of what can be the same: one message in common (a file that two agents read) is not a history.
    let kept = shared > 0 && shared * 2 + 1 >= rest;
    // A summary that the history has too was made before: who goes back behind it only branches.
    let summed = now.summary.is_some_and(|summary| summary >= at);
    if shorter && ((summed && (kept || same > 0)) || (kept && moved)) {
        return Some(Relation::Compaction { at });
    }
    kept.then_some(Relation::History { at })
}
