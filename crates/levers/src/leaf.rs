//! The texts of a request that can be put in place of: those of tool results, and what users say.

use deadweight_wire::anatomy::{Anatomy, Block, BlockKind, Role};
use deadweight_wire::json::{Kind, Value};
use std::borrow::Cow;

/// Where a text stands: message, block, and which of the texts of the block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct At {
    pub(crate) message: u32,
    pub(crate) block: u32,
    pub(crate) leaf: u32,
}

/// One text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Leaf<'id, 'd> {
    pub(crate) at: At,
    /// The string.
    pub(crate) value: Value<'id, 'd>,
    /// Whether it is (a part of) a tool's answer.
    pub(crate) result: bool,
}

impl<'d> Leaf<'_, 'd> {
    /// The text, decoded.
    pub(crate) fn text(&self) -> Cow<'d, str> {
        self.value.as_str().unwrap_or_default()
    }

    /// The length of the text, decoded, in bytes.
    pub(crate) fn len(&self) -> usize {
        self.value.decoded_len().unwrap_or(0)
    }
}

/// The texts of a block, each with its index: that of the value in [`Block::content`], so that a string and an array of
/// one text block have the same.
pub(crate) fn of_block<'a, 'id, 'd>(
    block: &'a Block<'id, 'd>,
    role: Role,
) -> impl Iterator<Item = (u32, Value<'id, 'd>)> + use<'a, 'id, 'd> {
    let whole = match block.kind {
        BlockKind::ToolResult => true,
        BlockKind::Text => role == Role::User,
        _ => false,
    };
    let plain = whole && block.inner.is_empty();
    let own = block.content.iter().take(if plain { usize::MAX } else { 0 }).enumerate();
    let inner = block.inner.iter().filter(move |inner| {
        whole
            && block.kind == BlockKind::ToolResult
            && inner.kind == BlockKind::Text
            && inner.content.len() == 1
    });
    let inner = inner.filter_map(|inner| {
        let at = inner.content.start;
        Some((at, block.content.get(at)?))
    });
    own.chain(inner).filter(|(_, value)| value.kind() == Kind::String).map(|(at, value)| (at as u32, *value))
}

/// All texts of a request, in order.
pub(crate) fn all<'id, 'd>(anatomy: &Anatomy<'id, 'd>) -> Vec<Leaf<'id, 'd>> {
    let mut leaves = Vec::new();
    for (message, own) in anatomy.messages.iter().enumerate() {
        for (number, block) in anatomy.blocks_of(own).iter().enumerate() {
            let result = block.kind == BlockKind::ToolResult;
            leaves.extend(of_block(block, own.role).map(|(leaf, value)| {
                let at = At { message: message as u32, block: number as u32, leaf };
                Leaf { at, value, result }
            }));
        }
    }
    leaves
}

/// Whether a block is thinking that a provider signs.
pub(crate) const fn is_thinking(block: &Block<'_, '_>) -> bool {
    matches!(block.kind, BlockKind::Thinking | BlockKind::RedactedThinking)
}
