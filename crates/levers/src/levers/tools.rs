//! `prune-tools` and `steady-prefix`: which tools go out, and in which order; `defer-tools` is asked in between.
//!
//! Both are decided for a conversation. The policy that was in force at its first request is kept and applied by name alone
//! to whatever tools come later, so that the set stays what the provider has cached. Tools that are needed stay: what the
//! history has called, what the request pins or names, and `StructuredOutput`, by which agents have a model answer in a
//! form.

use crate::circumstances::Circumstances;
use crate::lever::{Lever, StandDown};
use crate::levers::{defer, late};
use crate::plan::stage::Stage;
use crate::policy::{Policy, ToolRule};
use crate::record;
use crate::text::rebuilt;
use deadweight_cache::Digest;
use deadweight_cache::prefix::Prefix;
use deadweight_wire::Dialect;
use deadweight_wire::anatomy::{Anatomy, Block, BlockKind, Tool};
use deadweight_wire::json::{Kind, Parser, Value};
use deadweight_wire::splice::Edits;
use std::collections::BTreeSet;

/// Tools that are never left out.
const NEVER: &[&str] = &["StructuredOutput"];

/// What becomes of the tools of a request.
pub(crate) struct Head {
    /// The tools that go, by their index.
    pub(crate) removed: Vec<usize>,
    /// The tools that wait until they are searched for, by their index.
    pub(crate) deferred: Vec<usize>,
    /// The search that is put behind the last tool.
    pub(crate) search: Option<&'static str>,
    /// Tools that came late: what is put behind the list, what is said, and what becomes of what was said before.
    pub(crate) late: late::Answer,
    /// The tools in whose place other text stands: another tool, or the same with a marker.
    pub(crate) replaced: Vec<(usize, String, Lever)>,
    /// What is to be remembered.
    pub(crate) now: record::Head,
    /// The names of those that go.
    pub(crate) pruned: Vec<String>,
    /// The names of those that the model can call.
    pub(crate) offered: BTreeSet<String>,
    /// What was decided now, or why nothing was.
    pub(crate) pruning: Result<u32, StandDown>,
    /// How many go as it was decided before.
    pub(crate) pruning_again: u32,
    /// What was decided now, or why nothing was.
    pub(crate) deferring: Result<u32, StandDown>,
    /// How many wait as it was decided before.
    pub(crate) deferring_again: u32,
    /// What was decided now, or why nothing was.
    pub(crate) steadying: Result<u32, StandDown>,
    /// Whether they are put in order as it was decided before.
    pub(crate) steadying_again: u32,
}

/// A tool of the list that can be edited.
pub(crate) struct Slot<'a, 'id, 'd> {
    pub(crate) index: usize,
    pub(crate) tool: &'a Tool<'id, 'd>,
    pub(crate) name: String,
    /// Its hash, for those that are in the rendered prefix.
    pub(crate) hash: Option<Digest>,
}

/// The tools of the request's own list; `None` where tools stand elsewhere too, or deeper.
fn slots<'a, 'id, 'd>(anatomy: &'a Anatomy<'id, 'd>, prefix: &Prefix) -> Option<Vec<Slot<'a, 'id, 'd>>> {
    if anatomy.dialect == Dialect::GeminiGenerate || !anatomy.namespaces.is_empty() {
        return None;
    }
    let list = anatomy.document.root().get("tools")?;
    let elements: BTreeSet<usize> = list.elements().map(|tool| tool.span().start()).collect();
    let mut hashes = prefix.tools.iter();
    let mut slots = Vec::new();
    for (index, tool) in anatomy.tools.iter().enumerate() {
        if !elements.contains(&tool.value.span().start()) {
            continue;
        }
        let name = tool.name?.as_str()?.into_owned();
        let hash = if tool.deferred { None } else { Some(hashes.next()?.hash) };
        slots.push(Slot { index, tool, name, hash });
    }
    // Were there others before them, the hashes would not be theirs.
    (hashes.next().is_none() && slots.len() == elements.len() && !slots.is_empty()).then_some(slots)
}

/// Why levers may decide nothing new about tools.
#[derive(Clone, Copy)]
pub(crate) struct Barred {
    pub(crate) prune: Option<StandDown>,
    pub(crate) defer: Option<StandDown>,
    pub(crate) steady: Option<StandDown>,
}

/// Decides about the tools.
pub(crate) fn decide(
    anatomy: &Anatomy<'_, '_>,
    prefix: &Prefix,
    policy: &Policy,
    circumstances: &Circumstances<'_>,
    stage: &Stage,
    barred: Barred,
) -> Head {
    let Barred { prune, defer, steady } = barred;
    let before = stage.head.as_deref();
    let mut head = Head {
        removed: Vec::new(),
        deferred: Vec::new(),
        search: None,
        late: late::Answer::default(),
        replaced: Vec::new(),
        now: record::Head {
            rule: before.and_then(|own| own.rule.clone()),
            kept: before.map(|own| own.kept.clone()).unwrap_or_default(),
            hot: before.and_then(|own| own.hot.clone()),
            edits: None,
            order: Vec::new(),
            reordered: false,
            system: prefix.system_hash(),
            hour: before.is_some_and(|own| own.hour),
            late: before.map(|own| own.late.clone()).unwrap_or_default(),
        },
        pruned: Vec::new(),
        offered: BTreeSet::new(),
        pruning: Err(prune.unwrap_or(StandDown::NoTools)),
        pruning_again: 0,
        deferring: Err(defer.unwrap_or(StandDown::NoTools)),
        deferring_again: 0,
        steadying: Err(steady.unwrap_or(StandDown::NoTools)),
        steadying_again: 0,
    };
    let Some(slots) = slots(anatomy, prefix) else {
        let names = anatomy.tools.iter().filter(|tool| !tool.deferred);
        head.offered = names.filter_map(|tool| Some(tool.name?.as_str()?.into_owned())).collect();
        return head;
    };
    prune_tools(&mut head, &slots, anatomy, policy, circumstances, stage, prune);
    let mut gone: BTreeSet<usize> = head.removed.iter().copied().collect();
    let waits = defer::decide(&slots, &gone, anatomy, policy, circumstances, stage, defer);
    head.now.hot = waits.hot;
    (head.deferring, head.deferring_again) = (waits.decided, waits.again);
    head.search = waits.search;
    head.deferred = waits.tools.iter().map(|(index, _)| *index).collect();
    let waiting = !head.deferred.is_empty();
    // A marker of one that waits goes to the one before, as that of one that goes.
    gone.extend(&head.deferred);
    head.replaced.extend(waits.tools.into_iter().map(|(index, text)| (index, text, Lever::DeferTools)));
    let said = late::decide(&slots, &gone, anatomy, policy, circumstances, stage, steady);
    gone.extend(said.tools.iter().map(|(index, _)| *index));
    head.deferred.extend(said.tools.iter().map(|(index, _)| *index));
    head.replaced.extend(said.tools.iter().map(|(index, text)| (*index, text.clone(), Lever::SteadyPrefix)));
    head.now.late.clone_from(&said.now);
    head.late = said;
    let kept: Vec<&Slot<'_, '_, '_>> =
        slots.iter().filter(|slot| slot.hash.is_some() && !gone.contains(&slot.index)).collect();
    head.offered = kept.iter().map(|slot| slot.name.clone()).collect();
    head.offered.extend(head.late.offered.iter().cloned());
    let order = steady_prefix(&mut head, &kept, before, stage, steady);
    if head.late.changed > 0 {
        head.steadying = Ok(head.late.changed + head.steadying.unwrap_or(0));
    }
    head.steadying_again += head.late.again;
    // A marker stays at the place where the client set it; where that tool goes, it moves to the one before.
    let mut markers: Vec<Option<Value<'_, '_>>> =
        kept.iter().map(|slot| slot.tool.cache_control.map(|mark| mark.value)).collect();
    for slot in slots.iter().filter(|slot| gone.contains(&slot.index)) {
        let Some(mark) = slot.tool.cache_control else { continue };
        let last = kept.iter().rposition(|own| own.index < slot.index);
        if let Some(place) = last.and_then(|last| markers.get_mut(last)) {
            place.get_or_insert(mark.value);
        }
    }
    for ((slot, own), marker) in kept.iter().zip(&order).zip(&markers) {
        let Some(tool) = kept.get(*own) else { continue };
        let here = tool.tool.cache_control.map(|mark| mark.value.span());
        if tool.index == slot.index && here == marker.map(|value| value.span()) {
            continue;
        }
        let lever = match tool.index == slot.index {
            false => Lever::SteadyPrefix,
            true if !head.removed.is_empty() => Lever::PruneTools,
            true if waiting => Lever::DeferTools,
            true => Lever::SteadyPrefix,
        };
        match with_marker(tool.tool, *marker) {
            Some(text) => head.replaced.push((slot.index, text, lever)),
            // Not to be had: the tools go as they came.
            None => return untouched(head, &slots),
        }
    }
    head
}

/// The tools as the client sent them.
fn untouched(mut head: Head, slots: &[Slot<'_, '_, '_>]) -> Head {
    head.removed.clear();
    head.deferred.clear();
    head.search = None;
    head.late = late::Answer::default();
    head.replaced.clear();
    head.pruned.clear();
    head.now.order = slots.iter().filter_map(|slot| slot.hash).collect();
    head.now.reordered = false;
    (head.pruning, head.pruning_again) = (Err(StandDown::Unproven), 0);
    (head.deferring, head.deferring_again) = (Err(StandDown::Unproven), 0);
    (head.steadying, head.steadying_again) = (Err(StandDown::Unproven), 0);
    head.offered = slots.iter().filter(|slot| slot.hash.is_some()).map(|slot| slot.name.clone()).collect();
    head
}

/// Why the pruning of tools cannot be decided now, if it cannot.
fn too_late(policy: &Policy, circumstances: &Circumstances<'_>, stage: &Stage) -> Option<StandDown> {
    if policy.tools.is_empty() {
        Some(StandDown::NoPolicy)
    } else if stage.is_first() || (stage.head.is_none() && circumstances.pruned_before) {
        // In the second case tools were left out, and what was decided is lost: the policy is what it was decided by. A
        // conversation of which none were goes on as it is.
        None
    } else if stage.cold {
        // A retry of a request goes out as that request did.
        if stage.bound_thinking.is_some() {
            Some(StandDown::ThinkingBound)
        } else if stage.knows_all() {
            Some(StandDown::NotCold)
        } else {
            None
        }
    } else if stage.head.is_some() {
        Some(StandDown::NotCold)
    } else {
        Some(StandDown::Joined)
    }
}

fn prune_tools(
    head: &mut Head,
    slots: &[Slot<'_, '_, '_>],
    anatomy: &Anatomy<'_, '_>,
    policy: &Policy,
    circumstances: &Circumstances<'_>,
    stage: &Stage,
    barred: Option<StandDown>,
) {
    let named = named(anatomy);
    let late = barred.or_else(|| too_late(policy, circumstances, stage));
    if late.is_none() && head.now.rule.as_ref() != Some(&policy.tools) {
        head.now.rule = Some(policy.tools.clone());
        head.now.kept = called(anatomy);
    }
    let late = late.or_else(|| (stage.head.as_deref()?.rule == head.now.rule).then_some(StandDown::NotCold));
    head.pruning = late.map_or(Err(StandDown::NothingFound), Err);
    let Some(rule) = head.now.rule.clone() else { return };
    let denied: Vec<_> = slots.iter().filter(|slot| denies(&rule, &slot.name)).collect();
    // What was once needed stays.
    head.now
        .kept
        .extend(denied.iter().filter(|slot| named.contains(&slot.name)).map(|slot| slot.name.clone()));
    let goes: Vec<_> = denied.iter().filter(|slot| !head.now.kept.contains(&slot.name)).collect();
    let resident =
        |slots: &mut dyn Iterator<Item = &Slot<'_, '_, '_>>| slots.filter(|slot| slot.hash.is_some()).count();
    if !goes.is_empty() && resident(&mut slots.iter()) == resident(&mut goes.iter().map(|slot| **slot)) {
        if late.is_none() {
            head.now.rule = None;
        }
        head.pruning = Err(StandDown::WouldEmpty);
        return;
    }
    head.removed = goes.iter().map(|slot| slot.index).collect();
    head.pruned = goes.iter().map(|slot| slot.name.clone()).collect();
    let count = goes.len() as u32;
    match late {
        Some(_) => head.pruning_again = count,
        None if count > 0 => head.pruning = Ok(count),
        None if !denied.is_empty() => head.pruning = Err(StandDown::Pinned),
        None => {}
    }
}

fn denies(rule: &ToolRule, name: &str) -> bool {
    rule.denies(name) && !NEVER.contains(&name)
}

/// The order in which the tools that stay go out: for each place the index, among them, of the tool.
fn steady_prefix(
    head: &mut Head,
    kept: &[&Slot<'_, '_, '_>],
    before: Option<&record::Head>,
    stage: &Stage,
    barred: Option<StandDown>,
) -> Vec<usize> {
    let own: Vec<Digest> = kept.iter().filter_map(|slot| slot.hash).collect();
    let as_is: Vec<usize> = (0..kept.len()).collect();
    head.now.order.clone_from(&own);
    let Some(before) = before else {
        let reason = if stage.is_first() { StandDown::FirstRequest } else { StandDown::Joined };
        head.steadying = Err(barred.unwrap_or(reason));
        return as_is;
    };
    if own == before.order {
        head.now.reordered = before.reordered;
        head.steadying = Err(barred.unwrap_or(StandDown::AlreadySteady));
        return as_is;
    }
    let set: BTreeSet<_> = own.iter().collect();
    let same = set.len() == own.len() && own.len() == before.order.len();
    if !same || before.order.iter().any(|hash| !set.contains(hash)) {
        head.steadying = Err(barred.unwrap_or(StandDown::SetChanged));
        return as_is;
    }
    if let Some(reason) = barred
        && !before.reordered
    {
        head.steadying = Err(reason);
        return as_is;
    }
    head.now.order.clone_from(&before.order);
    head.now.reordered = true;
    if before.reordered {
        head.steadying = Err(barred.unwrap_or(StandDown::AlreadySteady));
        head.steadying_again = 1;
    } else {
        head.steadying = Ok(1);
    }
    let place = |hash: &Digest| own.iter().position(|own| own == hash);
    before.order.iter().filter_map(place).collect()
}

/// A tool's definition with this marker, or with none, in the place of its own.
pub(super) fn with_marker(tool: &Tool<'_, '_>, marker: Option<Value<'_, '_>>) -> Option<String> {
    let bare = Parser::new().scope(tool.value.raw().as_bytes(), |document| {
        let document = document.ok()?;
        let mut edits = Edits::new(document);
        let own = document.root().entries().filter(|entry| entry.key.is_str("cache_control"));
        own.for_each(|entry| {
            edits.remove(entry);
        });
        if edits.is_empty() {
            return Some(tool.value.raw().to_owned());
        }
        String::from_utf8(edits.apply(&mut Parser::new()).ok()?.into_bytes()).ok()
    })?;
    let member = marker.map(|value| format!("\"cache_control\":{}", value.raw()));
    Some(rebuilt(&bare, 0, &[], member.as_deref()))
}

/// The names of the tools that the history has called.
fn called(anatomy: &Anatomy<'_, '_>) -> BTreeSet<String> {
    let calls = anatomy.blocks().filter(|(_, block)| block.kind == BlockKind::ToolUse);
    calls.filter_map(|(_, block)| Some(block.tool_name?.as_str()?.into_owned())).collect()
}

/// The names of the tools that the request cannot do without: what it pins, and what its messages refer to.
pub(crate) fn named(anatomy: &Anatomy<'_, '_>) -> BTreeSet<String> {
    let mut names = chosen(anatomy);
    let mut note = |value: Option<Value<'_, '_>>| {
        names.extend(value.and_then(|value| value.as_str()).map(std::borrow::Cow::into_owned));
    };
    for (_, block) in anatomy.blocks() {
        for name in referred(block) {
            note(Some(name));
        }
    }
    names
}

/// The names of the tools that the request pins.
pub(super) fn chosen(anatomy: &Anatomy<'_, '_>) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut note = |value: Option<Value<'_, '_>>| {
        names.extend(value.and_then(|value| value.as_str()).map(std::borrow::Cow::into_owned));
    };
    // Every dialect has forms of its own for it, and more come: any word in it may be a name.
    let choice = anatomy.document.root().get("tool_choice");
    // And a tool may say which others call it.
    let callers = anatomy.tools.iter().filter_map(|tool| tool.value.get("allowed_callers"));
    let mut open: Vec<Value<'_, '_>> = choice.into_iter().chain(callers).collect();
    while let Some(value) = open.pop() {
        match value.kind() {
            Kind::String => note(Some(value)),
            Kind::Array => open.extend(value.elements()),
            Kind::Object => open.extend(value.entries().map(|entry| entry.value)),
            _ => {}
        }
    }
    names
}

/// A text as a JSON string.
pub(crate) fn json_string(text: &str) -> String {
    crate::text::quoted(text).into()
}

/// The names that a block refers to.
fn referred<'id, 'd>(block: &Block<'id, 'd>) -> Vec<Value<'id, 'd>> {
    let own =
        block.tool_name.filter(|_| matches!(block.kind, BlockKind::ToolReference | BlockKind::ToolChange));
    let inner = block.inner.iter().filter(|inner| inner.kind == BlockKind::ToolReference);
    own.into_iter().chain(inner.flat_map(|inner| block.inner_content(inner).iter().copied())).collect()
}
