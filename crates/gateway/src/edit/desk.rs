//! The decision journal and what is known of it: read before a request is planned, written before its bytes leave.
//!
//! A journal that is deleted or replaced while it is in use is made anew, with all that is known of it: what a provider was
//! sent is done again by this process and by those after it.

use super::keys::Keys;
use super::known::{Known, Records};
use crate::relay::{Level, Note, OnNote};
use deadweight_cache::Digest;
use deadweight_levers::record::{Key, Record};
use deadweight_store::{Cause, Commit, Decision, Journal, JournalError};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What is kept besides the planner's records (whose kinds are small numbers): when a session was last seen, for other
/// gateways on the same journal.
const SEEN: u8 = 0x80;
/// A lever rests for an account and a model.
const RESTS: u8 = 0x81;
/// There are conversations in which something was changed.
const LIVING: Key = (0x82, [0; 32]);

/// How long decisions are kept after their last use: longer than any agent keeps conversations to come back to.
const KEPT_MS: u64 = 60 * DAY_MS;
const DAY_MS: u64 = 86_400_000;

/// How often a session's last request is written down at most.
pub(super) const SEEN_EVERY_MS: u64 = 30_000;

/// How long a journal that cannot be opened is left alone.
const AGAIN: Duration = Duration::from_secs(5);
/// How long its opening may take.
const OPENING: Duration = Duration::from_millis(1_500);
/// The same at the start, when nobody waits yet: one of an earlier release is brought up to date.
const STARTING: Duration = Duration::from_secs(20);
/// How many records are written at once, of those that need not be written together.
const AT_ONCE: usize = 1_000;
/// After how long what need not be waited for is written.
const LATER: Duration = Duration::from_millis(100);

/// What became of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Committed {
    Done,
    /// Somebody decided otherwise before.
    Conflict,
    /// They cannot be written.
    Unavailable,
}

/// The journal.
pub(super) struct Desk {
    file: Option<PathBuf>,
    state: tokio::sync::Mutex<State>,
    known: Mutex<Known>,
    /// Whether something was changed in conversations that may still come back.
    living: AtomicBool,
    /// Whether a journal is made where there is none.
    makes: AtomicBool,
    /// A writing has been arranged.
    arranged: AtomicBool,
    /// What is known is to be written into a journal that may be a new one.
    anew: AtomicBool,
    /// It was told that parts of the journal cannot be opened.
    told_sealed: AtomicBool,
    on_note: OnNote,
}

#[derive(Default)]
struct State {
    journal: Option<Journal>,
    tried: Option<Instant>,
    /// Why it could not be used, as it was told last.
    told: Option<Cause>,
    /// It was told that it was taken away.
    told_gone: bool,
    /// When sessions were last written down.
    seen: HashMap<[u8; 32], u64>,
    /// When conversations were last said to be in use.
    used: HashMap<[u8; 16], u64>,
    living_ms: u64,
    pruned_ms: u64,
}

impl Desk {
    pub(super) fn new(file: Option<PathBuf>, on_note: OnNote) -> Self {
        Self {
            file,
            state: tokio::sync::Mutex::default(),
            known: Mutex::default(),
            living: AtomicBool::new(false),
            makes: AtomicBool::new(false),
            arranged: AtomicBool::new(false),
            anew: AtomicBool::new(false),
            told_sealed: AtomicBool::new(false),
            on_note,
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether something was changed in conversations that may still come back.
    pub(super) fn is_living(&self) -> bool {
        self.living.load(Ordering::Relaxed)
    }

    /// Whether a journal is made where there is none.
    pub(super) fn may_make(&self, makes: bool) {
        self.makes.store(makes, Ordering::Relaxed);
    }

    /// Whether there is a journal. It is made when it is first asked.
    pub(super) fn is_there(&self) -> bool {
        self.file.as_ref().is_some_and(|file| file.exists())
    }

    /// Opens the journal if there is one, and throws away what nobody comes back to.
    pub(super) async fn start(&self, now_ms: u64) {
        if !self.is_there() {
            return;
        }
        let mut state = self.state.lock().await;
        let Some(journal) = self.open_within(&mut state, STARTING).await else { return };
        let outcome = async {
            journal.prune(now_ms, KEPT_MS).await?;
            journal.last_used(LIVING).await
        };
        match outcome.await {
            Ok(living) => self.living.store(living.is_some(), Ordering::Relaxed),
            // What cannot be written can be read.
            Err(error) => {
                let living = journal.last_used(LIVING).await.ok().flatten().is_some();
                self.living.store(living, Ordering::Relaxed);
                self.failed(&mut state, &error);
            }
        }
        state.pruned_ms = now_ms;
    }

    /// The journal, opened if it is not, or is not what is under its name.
    async fn open<'a>(&self, state: &'a mut State) -> Option<&'a mut Journal> {
        self.open_within(state, OPENING).await
    }

    async fn open_within<'a>(&self, state: &'a mut State, within: Duration) -> Option<&'a mut Journal> {
        let file = self.file.as_ref()?;
        if state.journal.as_ref().is_some_and(Journal::is_gone) {
            self.gone(state).await;
        }
        if state.journal.is_none() {
            // Who wants no new decisions still needs the old ones.
            if !self.makes.load(Ordering::Relaxed) && !self.is_there() && !self.known().owes() {
                return None;
            }
            if state.tried.is_some_and(|tried| tried.elapsed() < AGAIN) {
                return None;
            }
            state.tried = Some(Instant::now());
            match tokio::time::timeout(within, Journal::open(file)).await {
                Ok(Ok(journal)) => {
                    self.known().forget_all();
                    // Heads have the hash of what they say for a key.
                    let (heads, _) = Record::head(&Digest::from_bytes([0; 32]));
                    state.journal = Some(journal.by_content(heads));
                }
                Ok(Err(error)) => self.failed(state, &error),
                Err(_) => {
                    let error = JournalError {
                        file: file.clone(),
                        cause: Cause::Locked,
                        detail: "it took too long to open".to_owned(),
                    };
                    self.failed(state, &error);
                }
            }
        }
        state.journal.as_mut()
    }

    /// It was deleted or replaced: what is under its name is opened next, or made.
    async fn gone(&self, state: &mut State) {
        let Some(journal) = state.journal.take() else { return };
        journal.leave().await;
        state.tried = None;
        state.seen.clear();
        state.used.clear();
        self.owe_all();
        if !std::mem::replace(&mut state.told_gone, true)
            && let Some(file) = &self.file
        {
            let error = JournalError { file: file.clone(), cause: Cause::Gone, detail: String::new() };
            let text = format!(
                "{error}; it is made again with what this process knows of it, and that is done again as before. \
                 To forget all decisions, end every gateway before it is deleted"
            );
            (self.on_note)(Note::new(Level::Warning, "journal_gone", text));
        }
    }

    /// What is known is written again, be it into another file.
    fn owe_all(&self) {
        self.known().owe_all();
        self.anew.store(true, Ordering::Relaxed);
    }

    /// Tells once that parts of the journal cannot be opened.
    fn tell_sealed(&self, journal: &Journal) {
        if let Some(error) = journal.unopened()
            && !self.told_sealed.swap(true, Ordering::Relaxed)
        {
            let text = format!(
                "{error}; conversations of which it cannot be read what was decided are left as they come. \
                 If you still have the key, end every gateway and put it back"
            );
            (self.on_note)(Note::new(Level::Warning, "journal_unavailable", text));
        }
    }

    /// Tells once why the journal cannot be used, and leaves one alone that is beyond help.
    fn failed(&self, state: &mut State, error: &JournalError) {
        if error.cause == Cause::Gone {
            // It is noticed, and told, when it is next asked for.
            return;
        }
        if !matches!(error.cause, Cause::Locked | Cause::Full | Cause::ReadOnly) {
            if state.journal.take().is_some() {
                self.owe_all();
            }
            state.tried = Some(Instant::now());
        }
        if state.told.replace(error.cause) != Some(error.cause) {
            let text = format!("{error}; nothing new is changed in requests until it can be used");
            (self.on_note)(Note::new(Level::Warning, "journal_unavailable", text));
        }
    }

    /// Reads what there is about the messages of a request. False: it cannot be.
    pub(super) async fn look(&self, keys: &Keys) -> bool {
        let mut state = self.state.lock().await;
        let Some(journal) = self.open(&mut state).await else { return false };
        match self.read(journal, keys).await {
            Ok(()) => true,
            Err(error) => {
                self.failed(&mut state, &error);
                false
            }
        }
    }

    async fn read(&self, journal: &mut Journal, keys: &Keys) -> Result<(), JournalError> {
        let version = journal.version().await?;
        let missing = {
            let mut known = self.known();
            known.at(version);
            known.missing(keys)
        };
        if !missing.is_empty() {
            let found = journal.read(&missing).await?;
            let mut known = self.known();
            found.iter().filter_map(record).for_each(|record| known.read(record));
            known.looked(keys);
        }
        let heads = self.known().missing_heads(keys);
        if !heads.is_empty() {
            let found = journal.read(&heads).await?;
            let mut known = self.known();
            found.iter().filter_map(record).for_each(|record| known.read(record));
        }
        self.tell_sealed(journal);
        Ok(())
    }

    /// What is known of a request.
    pub(super) fn view(&self, keys: &Keys) -> Records {
        self.known().view(keys)
    }

    /// Puts what is known of messages under the keys that they have since the model spoke.
    pub(super) fn renew(self: &Arc<Self>, keys: &Keys, now_ms: u64) {
        let renamed = self.known().renamed(keys);
        if !renamed.is_empty() {
            self.take(&renamed, now_ms);
        }
    }

    /// Everything is read anew when it is next asked for.
    pub(super) fn doubt(&self) {
        self.known().forget_all();
    }

    /// Writes records, and answers when they are on the disk.
    pub(super) async fn commit(&self, records: &[Record], now_ms: u64) -> Committed {
        let mut state = self.state.lock().await;
        loop {
            let Some(journal) = self.open(&mut state).await else { return Committed::Unavailable };
            let outcome = async {
                if !self.write_pending(journal, now_ms).await? {
                    return Ok(Commit::Conflict);
                }
                let done = journal.commit(&decisions(records), now_ms).await?;
                if done == Commit::Done {
                    journal.touch(LIVING, now_ms).await?;
                }
                Ok::<_, JournalError>(done)
            };
            match outcome.await {
                Ok(Commit::Done) => {
                    state.told = None;
                    state.living_ms = now_ms;
                    self.living.store(true, Ordering::Relaxed);
                    let taken = self.known().take(records, false);
                    return if taken { Committed::Done } else { Committed::Conflict };
                }
                Ok(Commit::Conflict) => return Committed::Conflict,
                Ok(Commit::Sealed) => {
                    self.tell_sealed(journal);
                    return Committed::Unavailable;
                }
                // It was taken away while it was written to: once more, to what is there now.
                Err(error) if error.cause == Cause::Gone && !state.told_gone => self.gone(&mut state).await,
                Err(error) => {
                    self.failed(&mut state, &error);
                    return Committed::Unavailable;
                }
            }
        }
    }

    /// Takes in records of what changes nothing; they are written soon. False: they were decided otherwise meanwhile.
    pub(super) fn take(self: &Arc<Self>, records: &[Record], now_ms: u64) -> bool {
        if !self.known().take(records, true) {
            return false;
        }
        self.arrange(now_ms);
        true
    }

    fn arrange(self: &Arc<Self>, now_ms: u64) {
        if self.arranged.swap(true, Ordering::Relaxed) {
            return;
        }
        let own = Arc::clone(self);
        tokio::spawn(async move {
            tokio::time::sleep(LATER).await;
            own.arranged.store(false, Ordering::Relaxed);
            own.flush(now_ms).await;
        });
    }

    /// Lets go of what is not written yet.
    pub(super) fn abandon(&self) {
        let mut known = self.known();
        let pending = known.pending(usize::MAX);
        known.forget(&pending);
    }

    /// Writes what is not written yet.
    pub(super) async fn flush(&self, now_ms: u64) {
        let mut state = self.state.lock().await;
        let Some(journal) = self.open(&mut state).await else { return };
        if let Err(error) = self.write_pending(journal, now_ms).await {
            self.failed(&mut state, &error);
        }
    }

    /// False: another process has decided one of them otherwise, and was first.
    async fn write_pending(&self, journal: &mut Journal, now_ms: u64) -> Result<bool, JournalError> {
        let mut all = true;
        loop {
            let pending = self.known().pending(AT_ONCE);
            if pending.is_empty() {
                break;
            }
            if journal.commit(&decisions(&pending), now_ms).await? != Commit::Done {
                all = false;
                for record in &pending {
                    // What was decided otherwise is dropped, and read again below.
                    let _ = journal.commit(&decisions(std::slice::from_ref(record)), now_ms).await?;
                }
            }
            self.known().written(pending.len());
        }
        if !all {
            self.known().forget_all();
            self.tell_sealed(journal);
        }
        if self.anew.load(Ordering::Relaxed) {
            if self.is_living() {
                journal.touch(LIVING, now_ms).await?;
            }
            self.anew.store(false, Ordering::Relaxed);
        }
        Ok(all)
    }

    /// Takes back records, and writes others in their place. False: it cannot be done, and nothing was.
    pub(super) async fn replace(&self, old: &[Record], new: &[Record], now_ms: u64) -> bool {
        let mut state = self.state.lock().await;
        let Some(journal) = self.open(&mut state).await else { return false };
        match journal.replace(&decisions(old), &decisions(new), now_ms).await {
            Ok(()) => {
                let mut known = self.known();
                known.forget(old);
                known.take(new, false)
            }
            Err(error) => {
                self.failed(&mut state, &error);
                false
            }
        }
    }

    /// When another gateway last saw a session; later by [`SEEN_EVERY_MS`] at most. `Err`: that is not known.
    pub(super) async fn seen(&self, session: [u8; 32]) -> Result<Option<u64>, ()> {
        let mut state = self.state.lock().await;
        let journal = self.open(&mut state).await.ok_or(())?;
        journal.last_used((SEEN, session)).await.map_err(|error| self.failed(&mut state, &error))
    }

    /// Says that a session was seen and a conversation used, for other gateways and for whoever throws away what is old.
    pub(super) async fn used(&self, session: [u8; 32], conversation: [u8; 16], own: &Keys, now_ms: u64) {
        let mut state = self.state.lock().await;
        let late = |last: Option<&u64>, every: u64| last.is_none_or(|last| now_ms.abs_diff(*last) >= every);
        let tell = late(state.seen.get(&session), SEEN_EVERY_MS);
        let mark = late(state.used.get(&conversation), DAY_MS / 2);
        let prune = now_ms.saturating_sub(state.pruned_ms) >= DAY_MS;
        let living = self.is_living() && now_ms.saturating_sub(state.living_ms) >= DAY_MS;
        let anew = self.anew.load(Ordering::Relaxed);
        if !(tell || mark || prune || living || anew) {
            return;
        }
        let keys: Vec<Key> = match mark {
            true => own.all().flat_map(|chain| Record::of_message(&chain)).collect(),
            false => Vec::new(),
        };
        let heads = self.known().view(own).head_keys();
        let Some(journal) = self.open(&mut state).await else { return };
        let outcome = async {
            if anew {
                self.write_pending(journal, now_ms).await?;
            }
            if tell {
                journal.touch((SEEN, session), now_ms).await?;
            }
            if mark {
                journal.used(&keys, now_ms).await?;
                journal.used(&heads, now_ms).await?;
            }
            if living {
                journal.used(&[LIVING], now_ms).await?;
            }
            if prune {
                journal.prune(now_ms, KEPT_MS).await?;
            }
            Ok::<_, JournalError>(())
        };
        if let Err(error) = outcome.await {
            self.failed(&mut state, &error);
            return;
        }
        remember(&mut state.seen, session, now_ms, tell);
        remember(&mut state.used, conversation, now_ms, mark);
        if prune {
            state.pruned_ms = now_ms;
        }
        if living {
            state.living_ms = now_ms;
        }
    }

    /// Which of these rests are in the journal, and since when.
    pub(super) async fn rests(&self, keys: &[[u8; 32]]) -> Vec<Option<u64>> {
        let mut state = self.state.lock().await;
        let Some(journal) = self.open(&mut state).await else { return vec![None; keys.len()] };
        let mut found = Vec::with_capacity(keys.len());
        for key in keys {
            found.push(journal.last_used((RESTS, *key)).await.ok().flatten());
        }
        found
    }

    /// A lever rests.
    pub(super) async fn rest(&self, key: [u8; 32], now_ms: u64) {
        let mut state = self.state.lock().await;
        let Some(journal) = self.open(&mut state).await else { return };
        if let Err(error) = journal.touch((RESTS, key), now_ms).await {
            self.failed(&mut state, &error);
        }
    }
}

/// Remembers when something was done, of not too many things.
fn remember<K: std::hash::Hash + Eq>(map: &mut HashMap<K, u64>, key: K, now_ms: u64, done: bool) {
    if done {
        if map.len() > 4_096 {
            map.clear();
        }
        map.insert(key, now_ms);
    }
}

fn decisions(records: &[Record]) -> Vec<Decision> {
    let of = |record: &Record| {
        let (kind, key) = record.key();
        Decision { kind, key, body: record.encode() }
    };
    records.iter().map(of).collect()
}

/// What cannot be read (a later version wrote it) is as if it were not there; it cannot be overwritten either.
fn record(decision: &Decision) -> Option<Record> {
    Record::decode(&decision.body).ok()
}
