//! Levers that rest: a provider refused an edit of theirs, for one account and one model.

use super::desk::Desk;
use deadweight_levers::Lever;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// How long a lever rests. Providers change, and so do we.
const RESTS_MS: u64 = 7 * 86_400_000;
/// How many pairs of account and model are remembered.
const MOST: usize = 1_024;

/// For an account and a model, the levers that rest and until when.
type Resting = Vec<(Lever, u64)>;

/// Who rests where.
#[derive(Debug, Default)]
pub(super) struct Rests(Mutex<HashMap<[u8; 32], Resting>>);

/// What an account and a model are known by. No key can be had from it.
pub(super) fn place(account: Option<[u8; 32]>, model: &str) -> [u8; 32] {
    let mut hasher = Sha256::new();
    hasher.update(account.unwrap_or_default());
    hasher.update(model.as_bytes());
    hasher.finalize().into()
}

fn key(place: &[u8; 32], lever: Lever) -> [u8; 32] {
    let mut hasher = Sha256::new();
    hasher.update(place);
    hasher.update(lever.name().as_bytes());
    hasher.finalize().into()
}

impl Rests {
    /// The levers that rest.
    pub(super) async fn of(&self, desk: &Desk, place: [u8; 32], now_ms: u64) -> Vec<Lever> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&place).cloned();
        let resting = match known {
            Some(resting) => resting,
            None => {
                let keys = Lever::ALL.map(|lever| key(&place, lever));
                let since = desk.rests(&keys).await;
                let pairs = Lever::ALL.into_iter().zip(since);
                let resting: Resting =
                    pairs.filter_map(|(lever, since)| Some((lever, since? + RESTS_MS))).collect();
                self.with(place, |own| own.clone_from(&resting));
                resting
            }
        };
        resting.into_iter().filter(|(_, until)| now_ms < *until).map(|(lever, _)| lever).collect()
    }

    /// These rest from now on.
    pub(super) async fn rest(&self, desk: &Desk, place: [u8; 32], levers: &[Lever], now_ms: u64) {
        self.with(place, |own| {
            own.retain(|(lever, _)| !levers.contains(lever));
            own.extend(levers.iter().map(|lever| (*lever, now_ms.saturating_add(RESTS_MS))));
        });
        for lever in levers {
            desk.rest(key(&place, *lever), now_ms).await;
        }
    }

    fn with(&self, place: [u8; 32], change: impl FnOnce(&mut Resting)) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MOST && !all.contains_key(&place) {
            all.clear();
        }
        change(all.entry(place).or_default());
    }
}
