//! What is known of the journal in memory.
//!
//! Records never change, so what was read once is right for as long as nobody else has written: then all of it is
//! forgotten and read again, save what waits to be written.

use super::keys::Keys;
use deadweight_cache::Digest;
use deadweight_levers::Decisions;
use deadweight_levers::record::{Head, Key, Record, Sent, Turned};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// How many records are kept in memory.
const MOST: usize = 300_000;

/// Records, by what they are about.
#[derive(Debug, Clone, Default)]
pub(super) struct Records {
    sent: HashMap<Digest, Arc<Sent>>,
    bound: HashSet<Digest>,
    turned: HashMap<Digest, Arc<Turned>>,
    unbound: HashSet<Digest>,
    head: HashMap<Digest, Arc<Head>>,
}

impl Records {
    fn len(&self) -> usize {
        self.sent.len() + self.bound.len() + self.turned.len() + self.unbound.len() + self.head.len()
    }

    /// The keys of the heads.
    pub(super) fn head_keys(&self) -> Vec<Key> {
        self.head.keys().map(Record::head).collect()
    }

    /// Without these.
    pub(super) fn leave_out(&mut self, records: &[Record]) {
        records.iter().for_each(|record| self.forget(record));
    }

    fn take(&mut self, record: Record) {
        match record {
            Record::Sent(own) => drop(self.sent.entry(own.chain).or_insert_with(|| Arc::new(own))),
            Record::Bound(chain) => drop(self.bound.insert(chain)),
            Record::Unbound(chain) => drop(self.unbound.insert(chain)),
            Record::Turned(own) => drop(self.turned.entry(own.chain).or_insert_with(|| Arc::new(own))),
            Record::Head(own) => drop(self.head.entry(own.key()).or_insert_with(|| Arc::new(own))),
        }
    }

    /// All of them.
    fn all(&self) -> Vec<Record> {
        let sent = self.sent.values().map(|own| Record::Sent((**own).clone()));
        let bound = self.bound.iter().copied().map(Record::Bound);
        let turned = self.turned.values().map(|own| Record::Turned((**own).clone()));
        let unbound = self.unbound.iter().copied().map(Record::Unbound);
        let head = self.head.values().map(|own| Record::Head((**own).clone()));
        // A head is there before what names it.
        head.chain(sent).chain(bound).chain(turned).chain(unbound).collect()
    }

    fn contradicts(&self, record: &Record) -> bool {
        match record {
            Record::Sent(own) => self.sent.get(&own.chain).is_some_and(|known| **known != *own),
            Record::Turned(own) => self.turned.get(&own.chain).is_some_and(|known| **known != *own),
            Record::Bound(_) | Record::Unbound(_) | Record::Head(_) => false,
        }
    }

    fn forget(&mut self, record: &Record) {
        match record {
            Record::Sent(own) => drop(self.sent.remove(&own.chain)),
            Record::Bound(chain) => drop(self.bound.remove(chain)),
            Record::Unbound(chain) => drop(self.unbound.remove(chain)),
            Record::Turned(own) => drop(self.turned.remove(&own.chain)),
            Record::Head(_) => {}
        }
    }
}

impl Decisions for Records {
    fn sent(&self, chain: &Digest) -> Option<Arc<Sent>> {
        self.sent.get(chain).cloned()
    }

    fn bound(&self, chain: &Digest) -> bool {
        self.bound.contains(chain)
    }

    fn turned(&self, chain: &Digest) -> Option<Arc<Turned>> {
        self.turned.get(chain).cloned()
    }

    fn unbound(&self, chain: &Digest) -> bool {
        self.unbound.contains(chain)
    }

    fn head(&self, key: &Digest) -> Option<Arc<Head>> {
        self.head.get(key).cloned()
    }
}

/// The journal in memory.
#[derive(Debug, Default)]
pub(super) struct Known {
    records: Records,
    /// The messages of which everything was read that there is.
    looked: HashSet<Digest>,
    /// The state of the file that this is.
    version: Option<i64>,
    /// What is not in the file yet.
    pending: Vec<Record>,
}

impl Known {
    /// The file is in this state now.
    pub(super) fn at(&mut self, version: i64) {
        if self.version != Some(version) || self.records.len() > MOST {
            self.forget_all();
            self.version = Some(version);
        }
    }

    /// Everything has to be read again.
    pub(super) fn forget_all(&mut self) {
        self.records = Records::default();
        self.looked.clear();
        self.version = None;
        for record in &self.pending {
            self.records.take(record.clone());
        }
    }

    /// The file cannot be used any more: all that is known is to be written into the one that comes after it, or into the same
    /// where that is mended.
    pub(super) fn owe_all(&mut self) {
        self.pending = self.records.all();
        self.looked.clear();
        self.version = None;
    }

    /// Whether something is not in the file yet.
    pub(super) fn owes(&self) -> bool {
        !self.pending.is_empty()
    }

    /// The keys of what has to be read for a request.
    pub(super) fn missing(&self, keys: &Keys) -> Vec<Key> {
        let new = keys.all().filter(|chain| !self.looked.contains(chain));
        new.flat_map(|chain| Record::of_message(&chain)).collect()
    }

    /// The keys of the heads that a request needs and that are not known.
    pub(super) fn missing_heads(&self, keys: &Keys) -> Vec<Key> {
        let heads = keys.all().filter_map(|chain| self.records.sent.get(&chain)?.head);
        let new: HashSet<Digest> = heads.filter(|head| !self.records.head.contains_key(head)).collect();
        new.iter().map(Record::head).collect()
    }

    /// This is what the file has.
    pub(super) fn read(&mut self, record: Record) {
        self.records.take(record);
    }

    /// All of a request was read.
    pub(super) fn looked(&mut self, keys: &Keys) {
        self.looked.extend(keys.all());
    }

    /// Takes in records; `pending`: they are to be written later. False, and nothing is taken, where one of them was
    /// decided otherwise meanwhile.
    pub(super) fn take(&mut self, records: &[Record], pending: bool) -> bool {
        if records.iter().any(|record| self.records.contradicts(record)) {
            return false;
        }
        for record in records {
            self.records.take(record.clone());
        }
        if pending {
            self.pending.extend_from_slice(records);
        }
        true
    }

    /// These were never acted on.
    pub(super) fn forget(&mut self, records: &[Record]) {
        records.iter().for_each(|record| self.records.forget(record));
        let keys: HashSet<Key> = records.iter().map(Record::key).collect();
        self.pending.retain(|record| !keys.contains(&record.key()));
    }

    /// The oldest of what is not in the file yet. It stays here until it is said to be written.
    pub(super) fn pending(&self, most: usize) -> Vec<Record> {
        self.pending.iter().take(most).cloned().collect()
    }

    /// So many of the oldest of these are in the file.
    pub(super) fn written(&mut self, count: usize) {
        self.pending.drain(..count.min(self.pending.len()));
    }

    /// What is known of a request.
    pub(super) fn view(&self, keys: &Keys) -> Records {
        let mut view = Records::default();
        for chain in keys.all() {
            let head = self.records.sent.get(&chain).and_then(|own| own.head);
            if let Some((key, head)) = head.and_then(|key| Some((key, self.records.head.get(&key)?))) {
                view.head.insert(key, Arc::clone(head));
            }
        }
        for chain in keys.prefix.messages.iter().map(|link| link.chain) {
            if let Some(own) = self.records.sent.get(&chain) {
                view.sent.insert(chain, Arc::clone(own));
            }
            if self.records.bound.contains(&chain) {
                view.bound.insert(chain);
            }
            if self.records.unbound.contains(&chain) {
                view.unbound.insert(chain);
            }
            if let Some(own) = self.records.turned.get(&chain) {
                view.turned.insert(chain, Arc::clone(own));
            }
        }
        for record in self.renamed(keys) {
            view.take(record);
        }
        view
    }

    /// What is known of messages under the keys that they had before the model spoke, and not under those that they have
    /// now.
    pub(super) fn renamed(&self, keys: &Keys) -> Vec<Record> {
        let own = &self.records;
        let mut all = Vec::new();
        for (before, now) in keys.renamed() {
            if let (Some(sent), None) = (own.sent.get(before), own.sent.get(now)) {
                all.push(Record::Sent(Sent::clone(sent)));
            }
            if let (Some(turned), None) = (own.turned.get(before), own.turned.get(now)) {
                all.push(Record::Turned(Turned::clone(turned)));
            }
            if own.bound.contains(before) && !own.bound.contains(now) {
                all.push(Record::Bound(*before));
            }
            if own.unbound.contains(before) && !own.unbound.contains(now) {
                all.push(Record::Unbound(*before));
            }
        }
        all.into_iter().map(|record| keys.rename(record)).collect()
    }
}
