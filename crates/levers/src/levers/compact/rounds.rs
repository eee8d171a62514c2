//! A conversation as rounds: what the model said, and what it was answered.
//!
//! A round begins with the model and ends with the user, so whatever rounds are left out, the speakers take turns, calls
//! keep their results, and thinking stays with the turn it belongs to: none of it is ever taken out of a turn that stays.

use deadweight_profiles::work::KEEPS;
use deadweight_wire::anatomy::{Anatomy, BlockKind, Role};
use std::ops::Range;

/// What the model said, and what it was answered.
#[derive(Debug)]
pub(crate) struct Round {
    /// Its messages.
    pub(crate) messages: Range<usize>,
    /// Whether it has to stay, whatever it says: it holds something that cannot be told in text, has no end of its own, or
    /// what it brought is worked by.
    pub(crate) fixed: bool,
    /// Whether a person speaks in it, and not only tools.
    pub(crate) spoken: bool,
}

/// The rounds of a conversation, in order. What the user said before the model spoke is in none.
pub(crate) fn read(anatomy: &Anatomy<'_, '_>) -> Vec<Round> {
    let speaks = |at: usize| anatomy.messages.get(at).is_some_and(|own| own.role == Role::Assistant);
    let mut rounds = Vec::new();
    let mut at = (0..anatomy.messages.len()).find(|at| speaks(*at)).unwrap_or(anatomy.messages.len());
    while at < anatomy.messages.len() {
        let start = at;
        while speaks(at) {
            at += 1;
        }
        while at < anatomy.messages.len() && !speaks(at) {
            at += 1;
        }
        rounds.push(round(anatomy, start..at));
    }
    rounds
}

fn round(anatomy: &Anatomy<'_, '_>, messages: Range<usize>) -> Round {
    let (mut calls, mut results) = (Vec::new(), Vec::new());
    let (mut fixed, mut spoken) = (false, false);
    for own in anatomy.messages.get(messages.clone()).unwrap_or_default() {
        for block in anatomy.blocks_of(own) {
            let id = block.tool_id.and_then(|id| id.as_str());
            match block.kind {
                BlockKind::ToolUse => {
                    calls.push(id);
                    let name = block.tool_name.and_then(|name| name.as_str());
                    fixed |= name.is_none_or(|name| KEEPS.value.contains(&name.as_ref()));
                }
                BlockKind::ToolResult => {
                    results.push(id);
                    fixed |= block.inner.iter().any(|inner| inner.kind != BlockKind::Text);
                }
                BlockKind::Text if own.role == Role::User => {
                    spoken |= block.content.iter().any(|text| {
                        text.as_str().is_some_and(|text| !text.trim_start().starts_with("<system-reminder>"))
                    });
                }
                BlockKind::Text
                | BlockKind::Thinking
                | BlockKind::RedactedThinking
                | BlockKind::Reasoning => {}
                _ => fixed = true,
            }
            fixed |= !block.media.is_empty();
        }
        fixed |= !matches!(own.role, Role::User | Role::Assistant | Role::Tool);
        // Tools that were found are defined where they were found.
        let span = own.value.span();
        fixed |= anatomy.tools.iter().any(|tool| {
            let own = tool.value.span();
            span.start() <= own.start() && own.end() <= span.end()
        });
    }
    calls.sort_unstable();
    results.sort_unstable();
    Round { messages, fixed: fixed || calls != results, spoken }
}
