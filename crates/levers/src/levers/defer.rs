//! `defer-tools`: tools that are hardly used wait outside the prompt until the provider's own tool search finds them.
//!
//! Which tools stay is decided at a conversation's first request, from what is known of their use, and kept by name: a tool
//! that comes later is deferred, which changes nothing in what is cached. The search is put behind the last tool.

use super::tools::{Slot, chosen, with_marker};
use crate::circumstances::Circumstances;
use crate::lever::StandDown;
use crate::plan::stage::Stage;
use crate::policy::Policy;
use crate::text::rebuilt;
use deadweight_profiles::models::SEARCH_TOOLS;
use deadweight_wire::Dialect;
use deadweight_wire::anatomy::{Anatomy, BlockKind};
use std::collections::BTreeSet;

/// Tools that are always offered.
const NEVER: &[&str] = &["StructuredOutput"];

/// The names by which the provider's searches are known once they are put in.
pub(crate) const SEARCHES: &[&str] = &["tool_search_tool_bm25", "tool_search"];

/// What becomes of the tools.
pub(crate) struct Deferred {
    /// The names that stay, where anything is deferred.
    pub(crate) hot: Option<BTreeSet<String>>,
    /// The tools that are deferred, by their index, and what stands in their place.
    pub(crate) tools: Vec<(usize, String)>,
    /// The search that is put behind them.
    pub(crate) search: Option<&'static str>,
    /// How many were decided now; or why none.
    pub(crate) decided: Result<u32, StandDown>,
    /// How many are deferred as it was decided before.
    pub(crate) again: u32,
}

/// Decides about the tools that are left. `gone`: those that are pruned.
pub(crate) fn decide(
    slots: &[Slot<'_, '_, '_>],
    gone: &BTreeSet<usize>,
    anatomy: &Anatomy<'_, '_>,
    policy: &Policy,
    circumstances: &Circumstances<'_>,
    stage: &Stage,
    barred: Option<StandDown>,
) -> Deferred {
    let before = stage.head.as_ref().and_then(|head| head.hot.clone());
    let none = |hot, reason| Deferred {
        hot,
        tools: Vec::new(),
        search: None,
        decided: Err(barred.unwrap_or(reason)),
        again: 0,
    };
    if circumstances.counting {
        return none(before, StandDown::Counting);
    }
    let (hot, new) = match before {
        Some(hot) => (hot, false),
        None => match barred.or_else(|| too_late(anatomy, circumstances, stage)) {
            Some(reason) => return none(None, reason),
            None => (first(slots, circumstances), true),
        },
    };
    let chosen = chosen(anatomy);
    let stays = |name: &str| hot.contains(name) || chosen.contains(name) || NEVER.contains(&name);
    let left = || slots.iter().filter(|slot| !gone.contains(&slot.index));
    let cold: Vec<_> =
        left().filter(|slot| is_deferrable(slot, anatomy.dialect) && !stays(&slot.name)).collect();
    let resident = left().filter(|slot| slot.hash.is_some()).count();
    if resident == cold.len() {
        return none((!new).then_some(hot), StandDown::WouldEmpty);
    }
    let weight: usize = cold.iter().map(|slot| slot.tool.value.span().len()).sum();
    if new && weight < policy.thresholds.deferred {
        return none(None, StandDown::UnderThreshold);
    }
    let marked = |text: String| rebuilt(&text, 0, &[], Some("\"defer_loading\":true"));
    let tools: Option<Vec<_>> =
        cold.iter().map(|slot| Some((slot.index, marked(with_marker(slot.tool, None)?)))).collect();
    let Some(tools) = tools else { return none((!new).then_some(hot), StandDown::Unproven) };
    let count = tools.len() as u32;
    let search = (count > 0 && !has_search(anatomy)).then(|| search(anatomy.dialect));
    Deferred {
        hot: Some(hot),
        tools,
        search,
        decided: if new { Ok(count) } else { Err(barred.unwrap_or(StandDown::NothingNew)) },
        again: if new { 0 } else { count },
    }
}

/// Why nothing can be decided now.
fn too_late(
    anatomy: &Anatomy<'_, '_>,
    circumstances: &Circumstances<'_>,
    stage: &Stage,
) -> Option<StandDown> {
    if !matches!(anatomy.dialect, Dialect::AnthropicMessages | Dialect::OpenaiResponses) {
        return Some(StandDown::UnsupportedDialect);
    }
    let own = stage.model.as_str();
    let knows = SEARCH_TOOLS
        .value
        .iter()
        .any(|name| *name == own || name.strip_suffix('*').is_some_and(|start| own.starts_with(start)));
    let refers = || anatomy.blocks().any(|(_, block)| block.kind == BlockKind::ToolReference);
    if !knows {
        Some(StandDown::UnknownModel)
    } else if has_search(anatomy) || anatomy.tools.iter().any(|tool| tool.deferred) || refers() {
        Some(StandDown::ClientDefers)
    } else if circumstances.hot.is_none() {
        Some(StandDown::NoUse)
    } else if stage.is_first() {
        None
    } else {
        Some(if stage.head.is_some() { StandDown::NothingNew } else { StandDown::Joined })
    }
}

/// What stays: the tools that are used, and the one by which what was cut can be had back.
fn first(slots: &[Slot<'_, '_, '_>], circumstances: &Circumstances<'_>) -> BTreeSet<String> {
    let used = circumstances.hot.unwrap_or_default();
    let names = slots.iter().map(|slot| slot.name.clone());
    names.filter(|name| used.contains(name) || circumstances.restore_tool == Some(name.as_str())).collect()
}

/// Whether a tool can be deferred: it is a client's own with a schema, and the client says nothing of it.
pub(super) fn is_deferrable(slot: &Slot<'_, '_, '_>, dialect: Dialect) -> bool {
    let tool = slot.tool;
    let of_client = tool.server_type.is_none() && tool.schema.is_some();
    let kind = tool.value.get("type");
    let plain = match dialect {
        Dialect::OpenaiResponses => kind.is_some_and(|kind| kind.is_str("function")),
        _ => kind.is_none_or(|kind| kind.is_str("custom")),
    };
    slot.hash.is_some() && of_client && plain && tool.value.get("defer_loading").is_none()
}

fn has_search(anatomy: &Anatomy<'_, '_>) -> bool {
    anatomy.tools.iter().any(|tool| {
        tool.server_type.and_then(|kind| kind.as_str()).is_some_and(|kind| kind.starts_with("tool_search"))
    })
}

const fn search(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::OpenaiResponses => "{\"type\":\"tool_search\"}",
        _ => "{\"type\":\"tool_search_tool_bm25_20251119\",\"name\":\"tool_search_tool_bm25\"}",
    }
}
