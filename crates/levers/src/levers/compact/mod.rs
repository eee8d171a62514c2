//! `compact-history`: a long history gives way to a planned view of it.
//!
//! Whole rounds go (what the model said, with everything it was answered), and one note behind the first thing the user
//! said tells that they did, what they were about, and how to read them again. Messages that stay keep every byte.
//!
//! Why whole rounds and not shorter texts in place: a view has to be of bounded size however long the history is, and a
//! stub for each block is not; a round begins with the model and ends with the user, so that speakers take turns, calls
//! keep their results and no thinking is taken from a turn that stays, whichever rounds go; and the proof has only to
//! find that the messages which are left are the ones that were there. What cannot be told in text (pictures, references
//! to tools, what the provider compacted) is not left out.
//!
//! What stays: what the user said first and last, what the model is at (the last messages), what is fixed
//! ([`rounds::Round::fixed`]), what something that stays points to; then, up to the size of the view, what is worth most to
//! the present task ([`worth`]). At each cold start the view is planned anew out of the whole history. Where the user allows
//! it, it is also planned when the model's window is nearly full, if that pays.

pub(crate) mod note;
pub(crate) mod rounds;
mod worth;

use crate::circumstances::Cold;
use crate::leaf::{At, Leaf};
use crate::lever::{Lever, StandDown};
use crate::plan::{Ground, Original};
use crate::text::restore_id;
use crate::worth::Not;
use deadweight_profiles::work::SUMMARY_REQUESTS;
use deadweight_wire::anatomy::{BlockKind, Role};
use rounds::Round;
use std::collections::{BTreeMap, BTreeSet};

/// What is left out, and what stands in its place.
pub(crate) struct View {
    /// The messages that are left out.
    pub(crate) gone: BTreeSet<u32>,
    /// The text behind which the note stands, and both together.
    pub(crate) at: At,
    pub(crate) text: String,
    /// What was left out, where originals are kept.
    pub(crate) original: Option<Original>,
    /// After how many requests it has paid for itself.
    pub(crate) break_even: Option<u64>,
}

pub(crate) fn ask(ground: &Ground<'_, '_, '_>) -> Result<View, Not> {
    let circumstances = ground.circumstances;
    if circumstances.backed_off.contains(&Lever::CompactHistory) {
        return Err(StandDown::ReRead.into());
    }
    let cold = ground.stage.cold;
    if !cold {
        is_full(ground)?;
    }
    if is_summarised(ground) {
        return Err(StandDown::Summarised.into());
    }
    if ground.stage.bound_thinking.is_some() {
        return Err(StandDown::ThinkingBound.into());
    }
    let tool = ground.way_back()?;
    let limits = &ground.policy.thresholds;
    let messages = ground.anatomy.messages.len();
    let history = messages.checked_sub(2).and_then(|last| ground.prefix.messages.get(last));
    if cold && history.is_none_or(|history| history.tokens.get() <= limits.history) {
        return Err(StandDown::UnderThreshold.into());
    }
    let rounds = rounds::read(ground.anatomy);
    let sizes: Vec<u64> = rounds.iter().map(|round| size(ground, round)).collect();
    let kept = kept(ground, &rounds, &sizes);
    let left_out: Vec<&Round> =
        rounds.iter().zip(0..).filter(|(_, at)| !kept.contains(at)).map(|(round, _)| round).collect();
    let gone: BTreeSet<u32> =
        left_out.iter().flat_map(|round| round.messages.clone()).map(|at| at as u32).collect();
    let saved: u64 = sizes.iter().zip(0..).filter(|(_, at)| !kept.contains(at)).map(|(size, _)| size).sum();
    if gone.is_empty() || saved < limits.history / 8 {
        return Err(StandDown::NothingFound.into());
    }
    if gone == *ground.gone {
        return Err(StandDown::NothingNew.into());
    }
    let leaf = place(ground, &rounds).ok_or(StandDown::NothingFound)?;
    let original = note::LeftOut::of(ground.anatomy, &left_out);
    let told = note::write(ground.anatomy, rounds.len(), &left_out, &original, tool);
    let text = format!("{}\n\n{told}", leaf.text());
    let break_even = pays(ground, &gone, saved.saturating_sub(tokens(told.len() as u64)))?;
    let original = circumstances.keeps_originals.then(|| Original {
        id: restore_id(&original.hash),
        hash: original.hash,
        text: original.text,
    });
    Ok(View { gone, at: leaf.at, text, original, break_even })
}

/// Whether somebody else sums the conversation up: the client, now; the client, just before; or a gateway behind which this
/// one stands.
fn is_summarised(ground: &Ground<'_, '_, '_>) -> bool {
    let Some(last) = ground.anatomy.messages.last() else { return false };
    let asks = ground.anatomy.blocks_of(last).iter().any(|block| {
        let texts = || block.content.iter().filter_map(|text| text.as_str());
        let asked = |text: &str| SUMMARY_REQUESTS.iter().any(|words| text.contains(words.value));
        block.kind == BlockKind::Control
            || (block.kind == BlockKind::Text && texts().any(|text| asked(&text)))
    });
    let noted = ground
        .leaves
        .iter()
        .take_while(|leaf| leaf.at.message == 0)
        .any(|leaf| leaf.text().contains(note::OPENING));
    asks || noted || ground.circumstances.cold == Some(Cold::Compacted)
}

/// Whether the user wants it without a cold start too, and the model's window is nearly full.
fn is_full(ground: &Ground<'_, '_, '_>) -> Result<(), StandDown> {
    if !ground.policy.compact_when_full {
        return Err(StandDown::NotCold);
    }
    if ground.stage.joined {
        return Err(StandDown::Joined);
    }
    if ground.stage.turned {
        return Err(StandDown::NothingNew);
    }
    let window = ground.circumstances.window.ok_or(StandDown::UnknownModel)?;
    let gone: u64 = ground.gone.iter().map(|at| message_tokens(ground, *at as usize)).sum();
    let sent = ground.prefix.tokens().get().saturating_sub(gone);
    let full = u128::from(window) * u128::from(ground.policy.thresholds.full) / 100;
    if u128::from(sent) < full { Err(StandDown::UnderThreshold) } else { Ok(()) }
}

/// After how many requests it has paid, where it does so soon enough.
fn pays(ground: &Ground<'_, '_, '_>, gone: &BTreeSet<u32>, saved: u64) -> Result<Option<u64>, Not> {
    // The note stands behind the first message: from there on everything is written anew, save what was gone before.
    let stays = |at: &usize| {
        let at = *at as u32;
        !gone.contains(&at) && !ground.gone.contains(&at)
    };
    let all = 0..ground.anatomy.messages.len();
    let behind: u64 = all.filter(stays).map(|at| message_tokens(ground, at)).sum();
    let back: u64 = ground.gone.difference(gone).map(|at| message_tokens(ground, *at as usize)).sum();
    let known: u64 = ground.gone.intersection(gone).map(|at| message_tokens(ground, *at as usize)).sum();
    crate::worth::gate(ground, saved.saturating_sub(known + back), behind)
}

/// The rounds that stay, by their index.
fn kept(ground: &Ground<'_, '_, '_>, rounds: &[Round], sizes: &[u64]) -> BTreeSet<usize> {
    let limits = &ground.policy.thresholds;
    let recent = ground.anatomy.messages.len().saturating_sub(limits.recent.max(1));
    let spoke_last = rounds.iter().rposition(|round| round.spoken);
    let must: BTreeSet<usize> = rounds
        .iter()
        .enumerate()
        .filter(|(at, round)| {
            // What came with a message of the system's would go with it.
            let followed = || round.messages.clone().any(|at| ground.stage.behind(at).is_some());
            round.fixed || Some(*at) == spoke_last || round.messages.end > recent || followed()
        })
        .map(|(at, _)| at)
        .collect();
    let pointed = pointed(ground, rounds);
    let mut kept = BTreeSet::new();
    let mut used = 0_u64;
    for at in &must {
        used += take(*at, &pointed, sizes, &mut kept);
    }
    let task = (recent..ground.anatomy.messages.len())
        .chain(spoke_last.and_then(|at| rounds.get(at)).map_or(0..1, |round| round.messages.clone()));
    let worth = worth::worth(ground.anatomy, ground.calls, rounds, task);
    let mut order: Vec<usize> = (0..rounds.len()).filter(|at| !kept.contains(at)).collect();
    // By worth for its size; small ones are not free, and of two alike the later one is better.
    let key = |at: &usize| {
        let worth = worth.get(*at).copied().unwrap_or(0);
        let size = sizes.get(*at).copied().unwrap_or(0);
        (std::cmp::Reverse(worth * 1_000_000 / (size + 400)), std::cmp::Reverse(*at))
    };
    order.sort_by_key(key);
    for at in order {
        let mut more = kept.clone();
        let adds = take(at, &pointed, sizes, &mut more);
        if used + adds <= limits.view {
            used += adds;
            kept = more;
        }
    }
    kept
}

/// Takes a round, with those that it points to; what they weigh.
fn take(
    at: usize,
    pointed: &BTreeMap<usize, BTreeSet<usize>>,
    sizes: &[u64],
    kept: &mut BTreeSet<usize>,
) -> u64 {
    let (mut open, mut weight) = (vec![at], 0);
    while let Some(at) = open.pop() {
        if kept.insert(at) {
            weight += sizes.get(at).copied().unwrap_or(0);
            open.extend(pointed.get(&at).into_iter().flatten());
        }
    }
    weight
}

/// Which rounds hold what a text that was put into a round points to.
fn pointed(ground: &Ground<'_, '_, '_>, rounds: &[Round]) -> BTreeMap<usize, BTreeSet<usize>> {
    let of = |message: u32| rounds.iter().position(|round| round.messages.contains(&(message as usize)));
    let mut pointed: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for (at, target) in ground.pointers() {
        if let (Some(from), Some(to)) = (of(at.message), of(target.message))
            && from != to
        {
            pointed.entry(from).or_default().insert(to);
        }
    }
    pointed
}

/// The last text of the user's before the model spoke, that nothing was put in the place of and nothing points to.
fn place<'a, 'id, 'd>(ground: &Ground<'a, 'id, 'd>, rounds: &[Round]) -> Option<&'a Leaf<'id, 'd>> {
    let start = rounds.first()?.messages.start;
    ground.leaves.iter().rfind(|leaf| {
        let message = leaf.at.message as usize;
        let free = |at: &At| {
            ground.puts.get(at).is_none_or(|(put, _)| put.lever == Lever::CompactHistory)
                && !ground.protected.contains(at)
        };
        message < start
            && !leaf.result
            && ground.anatomy.messages.get(message).is_some_and(|own| own.role == Role::User)
            && !leaf.value.has_lone_surrogate()
            && free(&leaf.at)
    })
}

/// What a round weighs as it would be sent.
fn size(ground: &Ground<'_, '_, '_>, round: &Round) -> u64 {
    round.messages.clone().map(|at| message_tokens(ground, at)).sum()
}

/// What a message weighs as it would be sent (ESTIMATED), framing included.
fn message_tokens(ground: &Ground<'_, '_, '_>, at: usize) -> u64 {
    let Some(own) = ground.anatomy.messages.get(at) else { return 0 };
    tokens((own.value.span().len() as u64).saturating_sub(ground.cut(at as u32)))
}

/// Tokens of so many bytes of prose (ESTIMATED, `calibrated`).
const fn tokens(bytes: u64) -> u64 {
    bytes * 4 / 15
}
