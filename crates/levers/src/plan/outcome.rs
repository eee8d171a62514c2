//! What comes of planning.

use super::splice::Sent;
use crate::lever::{Lever, StandDown};
use crate::policy::Policy;
use crate::record::Record;
use deadweight_cache::Digest;
use deadweight_cache::prefix::Prefix;
use std::collections::BTreeMap;
use std::ops::Range;

/// One place of the body that was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Splice {
    /// Which bytes of the received body were replaced.
    pub at: Range<usize>,
    /// By how many.
    pub length: usize,
    /// By which lever.
    pub lever: Lever,
}

/// The original of something that was cut, to be kept so that it can be had back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Original {
    /// What the model was told to ask for.
    pub id: String,
    /// The hash (BLAKE3) of the text.
    pub hash: Digest,
    /// The text, decoded. Of messages that were left out: those messages as they came, one line each.
    pub text: String,
}

/// What one lever did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Action {
    /// The lever.
    pub lever: Lever,
    /// Its version.
    pub version: u16,
    /// How many things it decided now.
    pub decided: u32,
    /// How many things were done as it had decided before.
    pub replayed: u32,
    /// Why it decided nothing now; `None` where it did.
    pub stood_down: Option<StandDown>,
    /// Bytes it took out of the body, less those it put in (WITNESSED).
    pub saved_bytes: i64,
    /// Where it decided to edit what was sent before, or did not because that would not pay soon enough: after how many
    /// requests, this one included, it costs nothing (FORECAST).
    pub break_even: Option<u64>,
}

impl Action {
    /// Whether the request is another for this lever.
    #[must_use]
    pub const fn edited(&self) -> bool {
        self.decided + self.replayed > 0
    }
}

/// What is to be sent, and what has to be done before it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The body to send; `None`: the one that was received, byte for byte.
    pub body: Option<Vec<u8>>,
    /// Every place that was changed, from front to back.
    pub splices: Vec<Splice>,
    /// What has to be in the journal before the body leaves.
    pub records: Vec<Record>,
    /// What has to be kept so that it can be had back.
    pub originals: Vec<Original>,
    /// The names of the tools that were left out.
    pub pruned: Vec<String>,
    /// The messages that were left out, by their index.
    pub left_out: Vec<u32>,
    /// The messages behind which one of the system's was put, by their index.
    pub added: Vec<u32>,
    /// What has to be in the header `anthropic-beta` for the body that is sent: whatever is not there yet is appended, and
    /// nothing is taken out.
    pub betas: Vec<&'static str>,
    /// Whether it may be our doing should the provider refuse this for thinking that is bound to something else: something
    /// is changed, or what was changed before is not known.
    pub may_be_ours: bool,
    /// Whether that may be written down then ([`recovery`](Self::recovery)): the user asked for it.
    pub recovers: bool,
    /// Whether breakpoints are for an hour from now on in this conversation, and were not before.
    pub upgrades: bool,
    /// What each lever did, or why it did nothing: all of them, in their order.
    pub actions: Vec<Action>,
}

impl Outcome {
    /// Nothing is touched, for one reason.
    pub(super) fn passed(policy: &Policy, reason: StandDown) -> Self {
        let mut tally = Tally::default();
        for lever in Lever::ALL {
            let reason = if policy.on(lever) { reason } else { StandDown::Off };
            tally.answer(lever, Err(reason));
        }
        Self::made(Made::default(), tally)
    }

    pub(super) fn made(made: Made, mut tally: Tally) -> Self {
        let Made {
            sent,
            records,
            originals,
            pruned,
            left_out,
            added,
            betas,
            may_be_ours,
            recovers,
            upgrades,
        } = made;
        let (body, splices) = match sent {
            Some(sent) => (Some(sent.spliced.into_bytes()), sent.splices),
            None => (None, Vec::new()),
        };
        let passed = if body.is_none() { Ok(1) } else { Err(StandDown::Edited) };
        tally.answer(Lever::Passthrough, passed);
        let actions = Lever::ALL.into_iter().map(|lever| {
            let (decided, stood_down) = match tally.answers.get(&lever) {
                Some(Ok(decided)) => (*decided, None),
                Some(Err(reason)) => (0, Some(*reason)),
                None => (0, Some(StandDown::NothingFound)),
            };
            let own = splices.iter().filter(|splice| splice.lever == lever);
            let saved = own.map(|splice| splice.at.len() as i64 - splice.length as i64).sum();
            let replayed = tally.replays.get(&lever).copied().unwrap_or(0);
            let tells = decided > 0 || stood_down == Some(StandDown::NotWorthIt);
            let break_even = tally.break_even.get(&lever).copied().filter(|_| tells);
            Action {
                lever,
                version: lever.version(),
                decided,
                replayed,
                stood_down,
                saved_bytes: saved,
                break_even,
            }
        });
        let actions = actions.collect();
        Self {
            body,
            splices,
            records,
            originals,
            pruned,
            left_out,
            added,
            betas,
            may_be_ours,
            recovers,
            upgrades,
            actions,
        }
    }

    /// What is to be in the journal after the provider refused this request for thinking that is bound to something else, so
    /// that what continues it goes on without such thinking. `message`: the index of the message that the refusal names; the
    /// last one, where it names none. `None`: nothing is.
    #[must_use]
    pub fn recovery(&self, prefix: &Prefix, message: Option<usize>) -> Option<Record> {
        if !self.recovers || !self.may_be_ours {
            return None;
        }
        let stays = |at: &usize| !self.left_out.contains(&(*at as u32));
        // Each stands as often as there are messages of what is sent that come of it.
        let times = |at: usize| std::iter::repeat_n(at, 1 + usize::from(self.added.contains(&(at as u32))));
        let place = match message {
            Some(sent) => (0..prefix.messages.len()).filter(stays).flat_map(times).nth(sent),
            None => prefix.messages.len().checked_sub(1),
        };
        prefix.messages.get(place?).map(|link| Record::Unbound(link.chain))
    }

    /// What a lever did.
    #[must_use]
    pub fn action(&self, lever: Lever) -> Option<&Action> {
        self.actions.iter().find(|action| action.lever == lever)
    }

    /// Whether something new was decided that changes what is sent: then the body must not leave before the records are
    /// in the journal. Otherwise they may be written later; until then the caller's own memory has to know them.
    #[must_use]
    pub fn must_commit(&self) -> bool {
        let journaled = |lever| !matches!(lever, Lever::Passthrough | Lever::PlaceBreakpoints);
        self.upgrades || self.actions.iter().any(|action| action.decided > 0 && journaled(action.lever))
    }
}

/// What an outcome is made of.
#[derive(Default)]
pub(super) struct Made {
    pub(super) sent: Option<Sent>,
    pub(super) records: Vec<Record>,
    pub(super) originals: Vec<Original>,
    pub(super) pruned: Vec<String>,
    pub(super) left_out: Vec<u32>,
    pub(super) added: Vec<u32>,
    pub(super) betas: Vec<&'static str>,
    pub(super) may_be_ours: bool,
    pub(super) recovers: bool,
    pub(super) upgrades: bool,
}

/// What the levers answered so far.
#[derive(Debug, Default)]
pub(super) struct Tally {
    answers: BTreeMap<Lever, Result<u32, StandDown>>,
    replays: BTreeMap<Lever, u32>,
    break_even: BTreeMap<Lever, u64>,
}

impl Tally {
    pub(super) fn answer(&mut self, lever: Lever, answer: Result<u32, StandDown>) {
        self.answers.insert(lever, answer);
    }

    pub(super) fn breaks_even(&mut self, lever: Lever, requests: Option<u64>) {
        if let Some(requests) = requests {
            self.break_even.insert(lever, requests);
        }
    }

    /// Takes back so much of what a lever decided: it is not sent.
    pub(super) fn withdraw(&mut self, lever: Lever, count: u32) {
        if let Some(Ok(decided)) = self.answers.get(&lever).copied() {
            let left = decided.saturating_sub(count);
            self.answer(lever, if left == 0 { Err(StandDown::NothingFound) } else { Ok(left) });
        }
    }

    pub(super) fn replayed(&mut self, lever: Lever) {
        *self.replays.entry(lever).or_default() += 1;
    }

    pub(super) fn replays(&mut self, lever: Lever, count: u32) {
        if count > 0 {
            *self.replays.entry(lever).or_default() += count;
        }
    }
}
