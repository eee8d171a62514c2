//! What a round is worth to the present task.
//!
//! Integers only, and nothing but what the request says: the same request gives the same view. A round is worth what it
//! shares with the task (words that few rounds have count for more), what of it lasts (what people said, what was
//! concluded, what was changed; a read of a file that changed since lasts least), and how late it is.

use super::rounds::Round;
use crate::levers::calls::{Calls, Does};
use crate::text::floor_boundary;
use deadweight_wire::anatomy::{Anatomy, Block, BlockKind, Role};
use deadweight_wire::json::Value;
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

/// How much of each text is looked at, in bytes.
const SEEN: usize = 1 << 10;
/// How many words of the task are looked for.
const WORDS: usize = 256;
/// What each of the three counts at most.
const SHARED: u64 = 90;
const LATE: u64 = 25;
const SAID: u64 = 45;
const CONCLUDED: u64 = 25;
const CHANGED: u64 = 15;
const READ: u64 = 8;

/// What each round is worth. `task`: the messages that say what is worked on.
pub(super) fn worth(
    anatomy: &Anatomy<'_, '_>,
    calls: &Calls<'_>,
    rounds: &[Round],
    task: impl Iterator<Item = usize>,
) -> Vec<u64> {
    let mut words: BTreeSet<String> = BTreeSet::new();
    for message in task {
        each_text(anatomy, message, |text| {
            words.extend(split(text).take(WORDS).map(str::to_owned));
        });
    }
    let words: Vec<String> = words.into_iter().take(WORDS).collect();
    let index: HashMap<&str, usize> = words.iter().map(String::as_str).zip(0..).collect();
    let mut spread = vec![0_usize; words.len()];
    let shared: Vec<BTreeSet<usize>> = rounds
        .iter()
        .map(|round| {
            let mut own = BTreeSet::new();
            for message in round.messages.clone() {
                each_text(anatomy, message, |text| {
                    own.extend(split(text).filter_map(|word| index.get(word).copied()));
                });
            }
            own.iter().for_each(|word| spread[*word] += 1);
            own
        })
        .collect();
    let count = rounds.len().max(1);
    let rarity = |word: &usize| match spread[*word] {
        0 => 0,
        // Twice as rare is one more; what stands in most rounds says nothing.
        own => u64::from((count / own).max(1).ilog2()) * 8,
    };
    rounds
        .iter()
        .zip(&shared)
        .enumerate()
        .map(|(at, (round, shared))| {
            let shared: u64 = shared.iter().map(rarity).sum();
            let late = LATE * at as u64 / count as u64;
            shared.min(SHARED) + late + lasting(anatomy, calls, round)
        })
        .collect()
}

/// What of a round lasts.
fn lasting(anatomy: &Anatomy<'_, '_>, calls: &Calls<'_>, round: &Round) -> u64 {
    let mut worth = if round.spoken { SAID } else { 0 };
    let (mut called, mut says, mut changes, mut reads) = (false, false, false, false);
    for own in anatomy.messages.get(round.messages.clone()).unwrap_or_default() {
        for block in anatomy.blocks_of(own) {
            says |= block.kind == BlockKind::Text && own.role == Role::Assistant;
            if block.kind != BlockKind::ToolUse {
                continue;
            }
            called = true;
            let call = block.tool_id.and_then(|id| id.as_str()).and_then(|id| calls.get(&id));
            match call.map(|call| (call.does, calls.superseded(call))) {
                Some((Does::Changes, _)) => changes = true,
                Some((Does::Reads | Does::ReadsPart, Some(_))) => {}
                _ => reads = true,
            }
        }
    }
    worth += if says && !called { CONCLUDED } else { 0 };
    worth += if changes { CHANGED } else { 0 };
    worth + if reads || says { READ } else { 0 }
}

/// The beginnings of what a message says.
fn each_text(anatomy: &Anatomy<'_, '_>, message: usize, mut take: impl FnMut(&str)) {
    let Some(own) = anatomy.messages.get(message) else { return };
    for block in anatomy.blocks_of(own).iter().filter(|block| is_read(block)) {
        for value in block.content.iter() {
            let text = text(*value);
            take(text.get(..floor_boundary(&text, SEEN)).unwrap_or_default());
        }
    }
}

const fn is_read(block: &Block<'_, '_>) -> bool {
    matches!(block.kind, BlockKind::Text | BlockKind::ToolUse | BlockKind::ToolResult)
}

fn text<'d>(value: Value<'_, 'd>) -> Cow<'d, str> {
    value.as_str().unwrap_or_else(|| value.raw().into())
}

/// Words that can tell one thing from another: names, paths and the like.
fn split(text: &str) -> impl Iterator<Item = &str> {
    let inside = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    text.split(move |c: char| !inside(c))
        .map(|word| word.trim_matches(['.', '/', '-']))
        .filter(|word| word.len() >= 4 && word.chars().any(char::is_alphabetic))
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn words_are_names_and_paths() {
        let text = "Fix src/a_b.rs, the `Parser` — not 12345 or it. Größe!";
        assert_eq!(split(text).collect::<Vec<_>>(), ["src/a_b.rs", "Parser", "Größe"]);
    }
}
