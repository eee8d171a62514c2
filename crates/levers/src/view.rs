//! What was decided before, as far as it can be read.

use crate::record::{Head, Key, Record, RecordError, Sent, Turned};
use deadweight_cache::Digest;
use deadweight_cache::prefix::Prefix;
use std::collections::HashMap;
use std::sync::Arc;

/// A read-only view of the journal.
pub trait Decisions {
    /// What was decided about the message at this chain hash when it was first sent.
    fn sent(&self, chain: &Digest) -> Option<Arc<Sent>>;

    /// Whether that message was ever sent to a model that binds thinking, after it had been sent to one that does not.
    fn bound(&self, chain: &Digest) -> bool;

    /// What was decided at the cold start at which a request ended with the message at this chain hash.
    fn turned(&self, chain: &Digest) -> Option<Arc<Turned>>;

    /// Whether the provider refused the thinking in the message at this chain hash, and is asked to drop such thinking.
    fn unbound(&self, chain: &Digest) -> bool;

    /// The head of this key.
    fn head(&self, key: &Digest) -> Option<Arc<Head>>;
}

/// Whether the breakpoints that we set in a conversation are for an hour.
#[must_use]
pub fn caches_for_hour(prefix: &Prefix, decisions: &dyn Decisions) -> bool {
    let head = prefix.messages.iter().rev().find_map(|link| decisions.sent(&link.chain)?.head);
    head.and_then(|key| decisions.head(&key)).is_some_and(|head| head.hour)
}

/// Decisions in memory. It grows without bound: whoever keeps one for long throws away what it can read again.
#[derive(Debug, Clone, Default)]
pub struct Memory {
    sent: HashMap<Key, Arc<Sent>>,
    bound: HashMap<Key, ()>,
    turned: HashMap<Key, Arc<Turned>>,
    unbound: HashMap<Key, ()>,
    head: HashMap<Key, Arc<Head>>,
}

impl Memory {
    /// Nothing decided.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether it knows nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many records it holds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.sent.len() + self.bound.len() + self.turned.len() + self.unbound.len() + self.head.len()
    }

    /// Takes a record in. Of two of one key the first stays.
    pub fn take(&mut self, record: Record) {
        let key = record.key();
        match record {
            Record::Sent(own) => {
                self.sent.entry(key).or_insert_with(|| Arc::new(own));
            }
            Record::Bound(_) => {
                self.bound.insert(key, ());
            }
            Record::Unbound(_) => {
                self.unbound.insert(key, ());
            }
            Record::Turned(own) => {
                self.turned.entry(key).or_insert_with(|| Arc::new(own));
            }
            Record::Head(own) => {
                self.head.entry(key).or_insert_with(|| Arc::new(own));
            }
        }
    }

    /// All of it as bytes, one record after the other, sorted.
    #[must_use]
    pub fn save(&self) -> Vec<Vec<u8>> {
        let sent = self.sent.values().map(|own| Record::Sent(Sent::clone(own)));
        let bound = self.bound.keys().map(|(_, chain)| Record::Bound(Digest::from_bytes(*chain)));
        let turned = self.turned.values().map(|own| Record::Turned(Turned::clone(own)));
        let unbound = self.unbound.keys().map(|(_, chain)| Record::Unbound(Digest::from_bytes(*chain)));
        let head = self.head.values().map(|own| Record::Head(Head::clone(own)));
        let all = sent.chain(bound).chain(turned).chain(unbound).chain(head);
        let mut all: Vec<_> = all.map(|record| record.encode()).collect();
        all.sort_unstable();
        all
    }

    /// What [`save`](Self::save) gave.
    ///
    /// # Errors
    /// A record cannot be read.
    pub fn restore<B: AsRef<[u8]>>(records: impl IntoIterator<Item = B>) -> Result<Self, RecordError> {
        let mut memory = Self::new();
        for record in records {
            memory.take(Record::decode(record.as_ref())?);
        }
        Ok(memory)
    }
}

impl Decisions for Memory {
    fn sent(&self, chain: &Digest) -> Option<Arc<Sent>> {
        self.sent.get(&Record::sent(chain)).cloned()
    }

    fn bound(&self, chain: &Digest) -> bool {
        self.bound.contains_key(&Record::bound(chain))
    }

    fn turned(&self, chain: &Digest) -> Option<Arc<Turned>> {
        self.turned.get(&Record::turned(chain)).cloned()
    }

    fn unbound(&self, chain: &Digest) -> bool {
        self.unbound.contains_key(&Record::unbound(chain))
    }

    fn head(&self, key: &Digest) -> Option<Arc<Head>> {
        self.head.get(&Record::head(key)).cloned()
    }
}
