//! Tools that arrive when the list is cached already: told of where they arrive, and not in the list.
//!
//! Their definitions stand behind the list with `defer_loading`, which is outside of what is cached, and a message of the
//! system's behind the user's last one says that they came. One that the client no longer sends goes in the same way; its
//! definition stays, because what was said of it does. A message of the system's is legal behind one of the user's, before
//! the model's words or at the end (the provider's own errors say so, November 2026): nowhere else is anything said.

use super::defer::is_deferrable;
use super::tools::{Slot, with_marker};
use crate::circumstances::Circumstances;
use crate::lever::StandDown;
use crate::plan::stage::Stage;
use crate::policy::Policy;
use crate::record::{Behind, Late};
use crate::text::{quoted, rebuilt};
use deadweight_cache::Digest;
use deadweight_profiles::models::TOOL_CHANGES;
use deadweight_wire::Dialect;
use deadweight_wire::anatomy::Anatomy;
use std::collections::{BTreeMap, BTreeSet};

/// What it needs in the header of betas.
pub(crate) const BETA: &str = "mid-conversation-tool-changes-2026-07-01";

/// What becomes of the tools that came late.
#[derive(Debug, Clone, Default)]
pub(crate) struct Answer {
    /// Those of the list that wait, by their index, and what stands in their place.
    pub(crate) tools: Vec<(usize, String)>,
    /// Definitions that the client no longer sends: they are put behind the list.
    pub(crate) back: Vec<String>,
    /// What is said of them, by the message it stands behind.
    pub(crate) behind: BTreeMap<u32, String>,
    /// What is said behind the last message now.
    pub(crate) says: Option<Behind>,
    /// What is to be remembered.
    pub(crate) now: Vec<Late>,
    /// The names of those that the model can call.
    pub(crate) offered: BTreeSet<String>,
    /// How many came or went now.
    pub(crate) changed: u32,
    /// How many are told of as it was decided before.
    pub(crate) again: u32,
}

/// Decides about the tools that are left. `gone`: those that are pruned, or wait for another reason.
pub(crate) fn decide(
    slots: &[Slot<'_, '_, '_>],
    gone: &BTreeSet<usize>,
    anatomy: &Anatomy<'_, '_>,
    policy: &Policy,
    circumstances: &Circumstances<'_>,
    stage: &Stage,
    barred: Option<StandDown>,
) -> Answer {
    let before = stage.head.as_ref().map(|head| head.late.clone()).unwrap_or_default();
    let asis = Answer { now: before.clone(), ..Answer::default() };
    if !speaks(anatomy, circumstances, stage) {
        return asis;
    }
    let may = policy.late_tools && barred.is_none() && may_say(circumstances, stage);
    attempt(slots, gone, stage, before, may).unwrap_or(asis)
}

/// Whether the model, and the way to it, take what would be said.
fn speaks(anatomy: &Anatomy<'_, '_>, circumstances: &Circumstances<'_>, stage: &Stage) -> bool {
    anatomy.dialect == Dialect::AnthropicMessages
        && anatomy.document.root().get("anthropic_version").is_none()
        && circumstances.appends_betas
        && TOOL_CHANGES.value.contains(&stage.model.as_str())
}

/// Whether something new can be said behind the last message, and is remembered.
fn may_say(circumstances: &Circumstances<'_>, stage: &Stage) -> bool {
    let Some(last) = stage.len().checked_sub(1) else { return false };
    !circumstances.counting && !stage.joined && !stage.knows(last) && stage.may_follow(last)
}

fn attempt(
    slots: &[Slot<'_, '_, '_>],
    gone: &BTreeSet<usize>,
    stage: &Stage,
    before: Vec<Late>,
    may: bool,
) -> Option<Answer> {
    let mut own = Answer::default();
    // What was said, where it may stand, and by that which tools are there.
    let mut here: BTreeSet<&str> = BTreeSet::new();
    for message in 0..stage.len() {
        let Some(behind) = stage.behind(message).filter(|_| stage.may_follow(message)) else { continue };
        own.behind.insert(message as u32, behind.json.to_string());
        for (name, came) in &behind.changes {
            if *came {
                here.insert(name)
            } else {
                here.remove(name.as_str())
            };
        }
    }
    let left = || slots.iter().filter(|slot| !gone.contains(&slot.index));
    let mut changes: Vec<(String, bool)> = Vec::new();
    for mut late in before {
        let slot = left().find(|slot| slot.name == late.name);
        let (is, was) = (slot.is_some(), here.contains(late.name.as_str()));
        match slot {
            Some(slot) => {
                if let Some(hash) = slot.hash {
                    let text = waiting(slot)?;
                    if hash != late.hash {
                        // Another definition behind the name: from where it is told of on, all is new.
                        (late.hash, late.json) = (hash, text.as_str().into());
                    }
                    own.tools.push((slot.index, text));
                }
            }
            None => own.back.push(late.json.to_string()),
        }
        if is != was && may {
            changes.push((late.name.clone(), is));
        }
        if if may { is } else { is && was } {
            own.offered.insert(late.name.clone());
        }
        own.again += 1;
        own.now.push(late);
    }
    let came = if may { new(slots, gone, stage, &own.now) } else { Vec::new() };
    for slot in came {
        let (hash, text) = (slot.hash?, waiting(slot)?);
        own.now.push(Late { name: slot.name.clone(), hash, json: text.as_str().into() });
        own.tools.push((slot.index, text));
        own.offered.insert(slot.name.clone());
        changes.push((slot.name.clone(), true));
    }
    own.changed = changes.len() as u32;
    if !changes.is_empty() {
        let last = stage.len().checked_sub(1)?;
        let json = said(&changes);
        own.behind.insert(last as u32, json.clone());
        own.says = Some(Behind { json: json.into(), changes });
    }
    Some(own)
}

/// The tools that came now: none, unless all that is cached is still there, and each of them can wait.
fn new<'s, 'a, 'id, 'd>(
    slots: &'s [Slot<'a, 'id, 'd>],
    gone: &BTreeSet<usize>,
    stage: &Stage,
    late: &[Late],
) -> Vec<&'s Slot<'a, 'id, 'd>> {
    let cached: BTreeSet<Digest> = match &stage.head {
        // Where nothing is cached, and nothing bound to what was, they come into the list.
        Some(head) if !stage.cold || stage.binding.may_bind() => head.order.iter().copied().collect(),
        _ => BTreeSet::new(),
    };
    let known = |slot: &&Slot<'_, '_, '_>| late.iter().any(|own| own.name == slot.name);
    let resident: Vec<&Slot<'_, '_, '_>> = slots
        .iter()
        .filter(|slot| slot.hash.is_some() && !gone.contains(&slot.index))
        .filter(|slot| !known(slot))
        .collect();
    let has = |hash: &Digest| resident.iter().any(|slot| slot.hash.as_ref() == Some(hash));
    let all = !cached.is_empty() && cached.iter().all(has);
    let mut more: Vec<_> = resident
        .iter()
        .filter(|slot| slot.hash.is_some_and(|hash| !cached.contains(&hash)))
        .copied()
        .collect();
    let mut names = BTreeSet::new();
    if !all
        || !more
            .iter()
            .all(|slot| is_deferrable(slot, Dialect::AnthropicMessages) && names.insert(&slot.name))
    {
        more.clear();
    }
    more
}

/// The definition as it waits.
fn waiting(slot: &Slot<'_, '_, '_>) -> Option<String> {
    Some(rebuilt(&with_marker(slot.tool, None)?, 0, &[], Some("\"defer_loading\":true")))
}

/// The message that says it.
fn said(changes: &[(String, bool)]) -> String {
    let each: Vec<String> = changes
        .iter()
        .map(|(name, came)| {
            let kind = if *came { "tool_addition" } else { "tool_removal" };
            format!(
                "{{\"type\":\"{kind}\",\"tool\":{{\"type\":\"tool_reference\",\"name\":{}}}}}",
                quoted(name)
            )
        })
        .collect();
    format!("{{\"role\":\"system\",\"content\":[{}]}}", each.join(","))
}
