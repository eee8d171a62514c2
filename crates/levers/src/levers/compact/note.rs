//! What stands in the place of the rounds that were left out: one note, and how to have them back.

use super::rounds::Round;
use crate::text::{hash, opening, restore_id};
use deadweight_cache::Digest;
use deadweight_wire::anatomy::{Anatomy, BlockKind, Role};
use std::fmt::Write as _;

/// How a note begins. It tells a text of ours from what a user says.
pub(crate) const OPENING: &str = "[Note of the gateway deadweight, not of the user: to save tokens, ";

/// How many rounds a note names at most, and how much of each it tells.
const NAMED: usize = 32;
const TOLD: usize = 100;

/// The messages that were left out, one line each, exactly as the client sent them.
pub(super) struct LeftOut {
    pub(super) text: String,
    pub(super) hash: Digest,
    /// Where each round begins in it.
    offsets: Vec<usize>,
}

impl LeftOut {
    pub(super) fn of(anatomy: &Anatomy<'_, '_>, rounds: &[&Round]) -> Self {
        let (mut text, mut offsets) = (String::new(), Vec::with_capacity(rounds.len()));
        for round in rounds {
            offsets.push(text.len());
            for own in anatomy.messages.get(round.messages.clone()).unwrap_or_default() {
                text.push_str(own.value.raw());
                text.push('\n');
            }
        }
        Self { hash: hash(&text), text, offsets }
    }
}

/// The note. `tool`: by which the model asks for what was left out.
pub(super) fn write(
    anatomy: &Anatomy<'_, '_>,
    all: usize,
    rounds: &[&Round],
    left_out: &LeftOut,
    tool: Option<&str>,
) -> String {
    let mut note =
        format!("{OPENING}{} of this conversation's {all} exchanges are left out below.", rounds.len());
    if let Some(tool) = tool {
        let id = restore_id(&left_out.hash);
        let _ = write!(
            note,
            " To read what was left out ({} bytes), call {tool} with the id {id} and the offset to read from.",
            left_out.text.len()
        );
    }
    note.push_str(" Left out, by offset:");
    // What people said is told first, then what is latest.
    let mut order: Vec<usize> = (0..rounds.len()).collect();
    order.sort_by_key(|at| (!rounds.get(*at).is_some_and(|round| round.spoken), std::cmp::Reverse(*at)));
    order.truncate(NAMED);
    order.sort_unstable();
    for at in &order {
        let (Some(round), Some(offset)) = (rounds.get(*at), left_out.offsets.get(*at)) else { continue };
        let _ = write!(note, "\n- {offset}: {}", told(anatomy, round));
    }
    if rounds.len() > order.len() {
        let _ = write!(note, "\n- and {} more", rounds.len() - order.len());
    }
    note.push(']');
    note
}

/// What a round is about, on one line.
fn told(anatomy: &Anatomy<'_, '_>, round: &Round) -> String {
    let (mut said, mut calls, mut answer) = (String::new(), Vec::new(), String::new());
    for own in anatomy.messages.get(round.messages.clone()).unwrap_or_default() {
        for block in anatomy.blocks_of(own) {
            let text = || {
                let text = block.content.first().and_then(|text| text.as_str());
                opening(&text.unwrap_or_default(), TOLD)
            };
            match (block.kind, own.role) {
                (BlockKind::ToolUse, _) => {
                    calls.extend(block.tool_name.and_then(|name| name.as_str()).map(|name| {
                        let input = block
                            .content
                            .get(1)
                            .map(|input| opening(&input.as_str().unwrap_or_else(|| input.raw().into()), 60));
                        format!("{name}({})", input.unwrap_or_default())
                    }));
                }
                (BlockKind::Text, Role::Assistant) if said.is_empty() => said = text(),
                (BlockKind::Text, Role::User) if round.spoken && answer.is_empty() => answer = text(),
                _ => {}
            }
        }
    }
    calls.truncate(3);
    let mut parts = Vec::new();
    if !calls.is_empty() {
        parts.push(calls.join(", "));
    } else if !said.is_empty() {
        parts.push(format!("you said \"{said}\""));
    }
    if !answer.is_empty() {
        parts.push(format!("the user said \"{answer}\""));
    }
    if parts.is_empty() { "…".to_owned() } else { parts.join("; ") }
}
