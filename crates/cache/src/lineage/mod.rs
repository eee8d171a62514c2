//! Whose conversation a request is.
//!
//! A session (what a client's session header names, else [`Prefix::session`](crate::prefix::Prefix::session)) holds several conversations: that of the
//! main agent, those of its sub-agents, requests for a title. They share headers, and model, tools and system prompt may
//! change within each, so a request belongs to the conversation whose normalised messages it continues:
//!
//! | the request's messages | relation | conversation |
//! |---|---|---|
//! | continue a known history | [`Relation::Extends`] | that one |
//! | are a known history | [`Relation::Retry`] | that one |
//! | share its beginning, then differ, and what follows is new | [`Relation::Branch`] | that one |
//! | are the beginning of a known history | [`Relation::Branch`] | that one |
//! | differ somewhere, and go on with messages that were there before | [`Relation::History`] | that one |
//! | are fewer, and begin with a summary or with messages moved to the front | [`Relation::Compaction`] | that one |
//! | share nothing; the model has not spoken yet | [`Relation::First`] | a new one |
//! | share nothing; the model has spoken, or a summary stands first | [`Relation::Joined`] | a new one |
//! | follow on what the provider keeps | [`Relation::Partial`] | the session's last one |
//!
//! Each conversation keeps its latest histories ([`Limits::tips`]), so that a question asked aside (for a summary, say)
//! does not hide the history that it was asked about. All is bounded, and the least recently used goes first.
//!
//! The state of a session can be saved and restored ([`Lineages::save`], [`Lineages::restore`]): what it says afterwards
//! is the same.

mod place;
mod snapshot;
mod state;

pub use place::{Placement, Relation};
pub use snapshot::Snapshot;
pub use state::RestoreError;

use crate::hash::{Digest, hex};
use std::collections::BTreeMap;
use std::fmt;

/// Names a conversation: 32 hexadecimal digits. The same requests in the same order give the same names.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConversationId([u8; 16]);

impl ConversationId {
    /// The id with these bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    fn new(session: &str, number: u64, chain: Option<Digest>) -> Self {
        let chain = chain.map_or([0; 32], |chain| *chain.as_bytes());
        let parts: [&[u8]; 3] = [session.as_bytes(), &number.to_le_bytes(), &chain];
        Self(Digest::of_parts("conversation", &parts).short())
    }
}

impl fmt::Display for ConversationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        hex(f, &self.0)
    }
}

impl fmt::Debug for ConversationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        hex(f, &self.0)
    }
}

/// How much is kept at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Sessions.
    pub sessions: usize,
    /// Conversations of one session.
    pub conversations: usize,
    /// Histories of one conversation.
    pub tips: usize,
    /// Messages of all histories: 32 bytes each.
    pub messages: usize,
}

impl Default for Limits {
    /// 512 sessions of 64 conversations with 4 histories each, and 200,000 messages (6.4 MB) in all.
    fn default() -> Self {
        Self { sessions: 512, conversations: 64, tips: 4, messages: 200_000 }
    }
}

/// The conversations of all sessions.
#[derive(Debug, Clone)]
pub struct Lineages {
    limits: Limits,
    sessions: BTreeMap<Box<str>, Session>,
    /// Counts requests: what is used last has the highest.
    clock: u64,
    /// The messages of all histories.
    messages: usize,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Session {
    /// How many conversations it has had.
    begun: u64,
    used: u64,
    conversations: Vec<Conversation>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Conversation {
    id: ConversationId,
    /// How many requests it has had.
    requests: u64,
    used: u64,
    /// Its latest histories, the last used at the end. Never empty.
    tips: Vec<Snapshot>,
}

impl Conversation {
    fn messages(&self) -> usize {
        self.tips.iter().map(Snapshot::len).sum()
    }
}

impl Session {
    fn messages(&self) -> usize {
        self.conversations.iter().map(Conversation::messages).sum()
    }
}

impl Lineages {
    /// Nothing known.
    #[must_use]
    pub const fn new(limits: Limits) -> Self {
        Self { limits, sessions: BTreeMap::new(), clock: 0, messages: 0 }
    }

    /// How many sessions, conversations and messages are kept.
    #[must_use]
    pub fn size(&self) -> (usize, usize, usize) {
        let conversations = self.sessions.values().map(|session| session.conversations.len()).sum();
        (self.sessions.len(), conversations, self.messages)
    }

    /// Forgets what was used least recently until everything is within its bounds. What has just been used stays.
    fn evict(&mut self) {
        if self.sessions.len() > self.limits.sessions.max(1) {
            let oldest = self.sessions.iter().min_by_key(|(_, session)| session.used);
            if let Some(name) = oldest.map(|(name, _)| name.clone()) {
                self.forget(&name);
            }
        }
        if self.messages <= self.limits.messages {
            return;
        }
        // An eighth more than needed, so that this is not done at every request.
        let goal = self.limits.messages - self.limits.messages / 8;
        let mut order: Vec<_> = self
            .sessions
            .iter()
            .flat_map(|(name, session)| {
                session.conversations.iter().map(move |own| (own.used, name.clone(), own.id))
            })
            .collect();
        order.sort_unstable_by_key(|(used, ..)| *used);
        order.pop();
        for (_, name, id) in order {
            if self.messages <= goal {
                break;
            }
            let Some(session) = self.sessions.get_mut(&name) else { continue };
            let before = session.messages();
            session.conversations.retain(|own| own.id != id);
            self.messages -= before - session.messages();
            if session.conversations.is_empty() {
                self.sessions.remove(&name);
            }
        }
    }

    /// Whether anything of a session is remembered.
    #[must_use]
    pub fn knows(&self, session: &str) -> bool {
        self.sessions.contains_key(session)
    }

    /// Whether a session has asked for a cache entry that lives for an hour, as far as its histories are remembered. `None`
    /// for one that is not known.
    #[must_use]
    pub fn asked_for_hour(&self, session: &str) -> Option<bool> {
        let own = self.sessions.get(session)?;
        let mut tips = own.conversations.iter().flat_map(|own| &own.tips);
        Some(tips.any(|tip| tip.points.iter().any(|point| point.hour)))
    }

    /// Forgets a session.
    pub fn forget(&mut self, session: &str) {
        if let Some(session) = self.sessions.remove(session) {
            self.messages -= session.messages();
        }
    }
}
