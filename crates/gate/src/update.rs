//! The lock that a measurement asks for.

use crate::budget::{rose, text_rose};
use crate::measured::Measured;
use deadweight_lock::{FileEntry, Lock, ServerEntry, TextPrice, ToolEntry};
use std::collections::{BTreeMap, BTreeSet};

/// A lock brought up to date, and what about it had to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Update {
    /// The new lock. Settings and policy are those of the old one.
    pub lock: Lock,
    /// The entries that rose or came, as `server/tool` or path, sorted; empty when nothing did.
    pub raised: Vec<String>,
}

/// Entries rose or came, and no reason was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoReason {
    /// The entries, as `server/tool` or path, sorted.
    pub raised: Vec<String>,
}

/// Brings `old` up to date with `measured`. What was not measured stays as it is; a server that is no longer
/// among complete targets goes; the policy of a server or tool that is gone stays. The first lock needs no reason.
///
/// # Errors
/// When an entry rose or came and `reason` says nothing.
pub fn update(
    old: Option<&Lock>,
    measured: &Measured,
    estimator: &str,
    reason: Option<&str>,
) -> Result<Update, NoReason> {
    let reason = reason.map(str::trim).filter(|reason| !reason.is_empty());
    let mut lock = old.cloned().unwrap_or_else(|| Lock::new(estimator, &measured.basis));
    // Prices on another basis are other prices: what was not measured now cannot be kept beside them, and
    // nothing can be said to have risen.
    let rebased = lock.estimator != estimator || lock.basis != measured.basis;
    (lock.estimator, lock.basis) = (estimator.to_owned(), measured.basis.clone());
    let first = old.is_none();
    let mut raised = BTreeSet::new();
    let mut told = |grew: bool, what: String, before: Option<String>| {
        if !grew || first {
            return before;
        }
        raised.insert(what);
        reason.map(str::to_owned).or(before)
    };

    let labels = measured.labels();
    let now = measured.tools();
    let kept_away = |label: &str| measured.unmeasured.iter().any(|failure| failure.server == label);
    let gone = |label: &str| {
        let asked = labels.contains(label) || kept_away(label);
        (measured.complete && measured.only.is_none() && !asked) || (rebased && !labels.contains(label))
    };
    // What goes leaves its policy behind: a server that is switched off for a day has not been allowed what
    // was denied to it.
    lock.servers.retain(|label, entry| {
        if gone(label) {
            let (marks, line) = (std::mem::take(&mut entry.marks), entry.line);
            *entry = ServerEntry { marks, line, ..ServerEntry::default() };
        }
        !gone(label) || !entry.marks.is_empty()
    });
    for (key, entry) in &mut lock.tools {
        let unlisted = labels.contains(key.server.as_str()) && !now.contains_key(key);
        if unlisted || gone(&key.server) {
            (entry.price, entry.reason) = (None, None);
        }
    }
    lock.tools.retain(|_, entry| entry.price.is_some() || !entry.marks.is_empty());

    for server in measured.servers.iter().filter(|server| labels.contains(server.label.as_str())) {
        let entry = lock.servers.entry(server.label.clone()).or_insert_with(ServerEntry::default);
        entry.source = server.source.clone().or_else(|| entry.source.take());
        let grew = match (&entry.instructions, &server.instructions) {
            (Some(old), Some(new)) => !rebased && text_rose(old, new),
            (None, Some(_)) => true,
            (_, None) => false,
        };
        let what = format!("{} instructions", server.label);
        entry.reason = told(grew, what, entry.reason.take());
        entry.instructions = server.instructions;
        if entry.instructions.is_none() {
            entry.reason = None;
        }
    }
    for (key, price) in now {
        let entry = lock.tools.entry(key.clone()).or_insert_with(ToolEntry::default);
        let grew = entry.price.is_none_or(|old| !rebased && rose(&old, &price));
        entry.reason = told(grew, format!("{}/{}", key.server, key.name), entry.reason.take());
        entry.price = Some(price);
    }
    for (entries, now) in [(&mut lock.skills, &measured.skills), (&mut lock.memory, &measured.memory)] {
        if let Some(now) = now {
            files(entries, now, rebased, &mut told);
        } else if rebased {
            entries.clear();
        }
    }
    let raised: Vec<String> = raised.into_iter().collect();
    if raised.is_empty() || reason.is_some() { Ok(Update { lock, raised }) } else { Err(NoReason { raised }) }
}

fn files(
    entries: &mut BTreeMap<String, FileEntry>,
    now: &BTreeMap<String, TextPrice>,
    rebased: bool,
    told: &mut impl FnMut(bool, String, Option<String>) -> Option<String>,
) {
    entries.retain(|path, _| now.contains_key(path));
    for (path, price) in now {
        let old = entries.remove(path);
        let grew = old.as_ref().is_none_or(|old| !rebased && text_rose(&old.price, price));
        let (line, before) = old.map_or((0, None), |old| (old.line, old.reason));
        let reason = told(grew, path.clone(), before);
        entries.insert(path.clone(), FileEntry { price: *price, reason, line });
    }
}
