//! `place-breakpoints`: cache breakpoints where the client set none.
//!
//! Three at most: behind the system prompt (or the tools), at the end of the request, and at the end of the request before,
//! so that it is found however much was said since. They are set anew on every request, as clients do: where a breakpoint
//! stands is nothing that the provider compares.
//!
//! They are for five minutes. Where the user asks for it, they are for an hour from the request on at which the pauses of the
//! conversation have shown that this pays, and then for ever: all of them, so that none for an hour is behind one that is not.

use crate::binding::Binding;
use crate::circumstances::Circumstances;
use crate::lever::StandDown;
use crate::levers::tools::Head;
use crate::plan::stage::Stage;
use crate::policy::Policy;
use deadweight_cache::prefix::Prefix;
use deadweight_wire::Dialect;
use deadweight_wire::anatomy::{Anatomy, Block, BlockKind, Role, Tool};
use deadweight_wire::json::{Kind, Value};

/// Where a breakpoint goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    /// On a tool, by its index.
    Tool(usize),
    /// On a block of the system prompt.
    System(usize),
    /// On a block of a message.
    Block(u32, u32),
}

/// Whether what is set from now on is to be for an hour: decided once, and kept for the conversation.
pub(crate) fn upgrades(
    prefix: &Prefix,
    policy: &Policy,
    circumstances: &Circumstances<'_>,
    stage: &Stage,
) -> bool {
    // What cannot be written down, or would not be, would be forgotten: and then it would change to and fro.
    let can = circumstances.journal && !circumstances.counting && !stage.knows_all();
    let pays = || {
        circumstances.rates.is_some_and(|rates| circumstances.pauses.hour_pays(&rates, prefix.tokens().get()))
    };
    policy.hour_breakpoints && can && !stage.head.as_ref().is_some_and(|head| head.hour) && pays()
}

pub(crate) fn ask(
    anatomy: &Anatomy<'_, '_>,
    prefix: &Prefix,
    policy: &Policy,
    circumstances: &Circumstances<'_>,
    stage: &Stage,
    head: &Head,
) -> Result<Vec<Mark>, StandDown> {
    if anatomy.dialect != Dialect::AnthropicMessages {
        return Err(StandDown::UnsupportedDialect);
    }
    if stage.binding == Binding::Unknown {
        // Not every service that speaks this format takes markers.
        return Err(StandDown::UnknownModel);
    }
    if anatomy.marks().next().is_some() || !prefix.marks.is_empty() {
        return Err(StandDown::ClientMarks);
    }
    if circumstances.likely_single || (!stage.answered && anatomy.tools.is_empty()) {
        return Err(StandDown::OneRequest);
    }
    if stage.head.as_ref().is_some_and(|own| own.system != prefix.system_hash()) {
        return Err(StandDown::VolatileHead);
    }
    if prefix.tokens().get() < policy.thresholds.cached {
        return Err(StandDown::UnderThreshold);
    }
    let mut marks = Vec::new();
    let system = anatomy.system.iter().rposition(markable);
    // Definitions that stand in messages are not of the prefix's front.
    let list = anatomy.document.root().get("tools").map(|list| list.span());
    let listed = |tool: &Tool<'_, '_>| {
        let own = tool.value.span();
        list.is_some_and(|list| list.start() <= own.start() && own.end() <= list.end())
    };
    let tool = anatomy.tools.iter().enumerate().rev();
    let mut tool = tool.filter(|(at, tool)| {
        !tool.deferred
            && tool.server_type.is_none()
            && listed(tool)
            && !names_marker(tool.value)
            && !head.removed.contains(at)
            && !head.deferred.contains(at)
    });
    match (system, tool.next()) {
        (Some(at), _) => marks.push(Mark::System(at)),
        (None, Some((at, _))) => marks.push(Mark::Tool(at)),
        (None, None) => {}
    }
    let answer = anatomy.messages.iter().rposition(|own| own.role == Role::Assistant);
    let before = answer.and_then(|at| at.checked_sub(1)).and_then(|at| last(anatomy, at));
    let end = anatomy.messages.len().checked_sub(1).and_then(|at| last(anatomy, at));
    marks.extend(before.into_iter().chain(end));
    marks.dedup();
    if marks.is_empty() { Err(StandDown::NothingFound) } else { Ok(marks) }
}

/// The last block of a message of the user's, if it can be marked.
fn last(anatomy: &Anatomy<'_, '_>, at: usize) -> Option<Mark> {
    let message = anatomy.messages.get(at).filter(|own| own.role == Role::User)?;
    let blocks = anatomy.blocks_of(message);
    let block = blocks.len().checked_sub(1)?;
    blocks.last().filter(|block| markable(block))?;
    Some(Mark::Block(at as u32, block as u32))
}

fn markable(block: &Block<'_, '_>) -> bool {
    let kind = match block.kind {
        BlockKind::ToolResult | BlockKind::Image | BlockKind::Document => true,
        BlockKind::Text => {
            block.content.iter().all(|text| text.as_str().is_some_and(|text| !text.trim().is_empty()))
        }
        _ => false,
    };
    kind && match block.value.kind() {
        Kind::String => true,
        Kind::Object => !names_marker(block.value),
        _ => false,
    }
}

/// Whether something names a marker already, and be it none (`null`): a second member of that name would be one too many.
fn names_marker(value: Value<'_, '_>) -> bool {
    value.entries().any(|entry| entry.key.is_str("cache_control"))
}
