//! What must be the same after an edit, whatever was edited.

use crate::levers::defer::SEARCHES;
use crate::levers::late::Answer;
use crate::levers::recover::{self, Place};
use crate::levers::server_edit::MEMBER;
use crate::plan::splice::Members;
use deadweight_wire::anatomy::{Anatomy, AnomalyKind, BlockKind, Message, Role, Tool};
use deadweight_wire::json::{Kind, Parser, Value};
use std::collections::{BTreeMap, BTreeSet};

/// The most blocks that may be marked.
const MARKS: usize = 4;

/// Reads the result of an edit again and holds it against what was received. `None`: something is not as it must be.
///
/// `gone`: the messages that were to be left out.
/// `members`: what was to be put into the members of the request.
/// `late`: what was to be said of tools that came late.
pub(super) fn holds(
    old: &Anatomy<'_, '_>,
    sent: &[u8],
    gone: &BTreeSet<u32>,
    members: Members<'_>,
    late: &Answer,
) -> Option<()> {
    Parser::new().scope(sent, |document| {
        let new = Anatomy::read(document.ok()?, old.dialect);
        let same = same_messages(old, &new, gone, &late.behind)
            && takes_turns(old, gone)
            && same_members(old, &new, members)
            && marks_fit(old, &new)
            && tools_fit(old, &new, late)
            && doubled(&new) <= doubled(old)
            && new.system.len() == old.system.len();
        same.then_some(())
    })
}

/// How many members stand twice in one object.
fn doubled(anatomy: &Anatomy<'_, '_>) -> usize {
    anatomy.anomalies.iter().filter(|own| matches!(own.kind, AnomalyKind::DuplicateKey(_))).count()
}

/// The members of the request: the same keys in the same order, and, save where messages, tools and system stand, the same
/// bytes; behind them those that were put in.
fn same_members(old: &Anatomy<'_, '_>, new: &Anatomy<'_, '_>, members: Members<'_>) -> bool {
    let (one, other) = (old.document.root(), new.document.root());
    let thinking = (members.unbinds == Some(Place::New)).then_some((recover::THINKING, recover::ADAPTIVE));
    let edits = members.edits.map(|edits| (MEMBER, edits));
    let count = one.entries().count();
    let mut added = other.entries().skip(count);
    let put = thinking.into_iter().chain(edits).all(|(key, value)| {
        added.next().is_some_and(|own| own.key.is_str(key) && bytes(own.value) == value.as_bytes())
    });
    put && added.next().is_none()
        && other.entries().count() >= count
        && one.entries().zip(other.entries()).all(|(one, other)| {
            let unbound = members.unbinds == Some(Place::Own) && one.key.is_str(recover::THINKING);
            bytes(one.key) == bytes(other.key)
                && (bytes(one.value) == bytes(other.value)
                    || (unbound && is_unbound(one.value, other.value))
                    || ["messages", "input", "contents", "tools", "system", "request"]
                        .iter()
                        .any(|key| one.key.is_str(key)))
        })
}

/// Whether the second is the first with the one member behind its last by which thinking may be dropped.
fn is_unbound(one: Value<'_, '_>, other: Value<'_, '_>) -> bool {
    let count = one.entries().count();
    let mut added = other.entries().skip(count);
    let put = added
        .next()
        .is_some_and(|own| own.key.is_str(recover::BINDING) && bytes(own.value) == recover::DROP.as_bytes());
    put && added.next().is_none()
        && one
            .entries()
            .zip(other.entries())
            .all(|(one, other)| bytes(one.key) == bytes(other.key) && bytes(one.value) == bytes(other.value))
}

fn same_messages(
    old: &Anatomy<'_, '_>,
    new: &Anatomy<'_, '_>,
    gone: &BTreeSet<u32>,
    behind: &BTreeMap<u32, String>,
) -> bool {
    let mut rest = new.messages.iter();
    let mut stays = (0..).zip(&old.messages).filter(|(at, _)| !gone.contains(at));
    let same = stays.all(|(at, one)| {
        rest.next().is_some_and(|other| same_message(old, one, new, other))
            && behind
                .get(&at)
                .is_none_or(|text| rest.next().is_some_and(|said| bytes(said.value) == text.as_bytes()))
    });
    same && rest.next().is_none()
}

/// Where messages are left out: the first and the last stay, across each gap the speaker changes as it did before, and
/// calls go with their results.
fn takes_turns(old: &Anatomy<'_, '_>, gone: &BTreeSet<u32>) -> bool {
    if gone.is_empty() {
        return true;
    }
    let last = old.messages.len().saturating_sub(1);
    if gone.contains(&0) || gone.contains(&(last as u32)) {
        return false;
    }
    let is_model = |at: usize| old.messages.get(at).is_some_and(|own| own.role == Role::Assistant);
    let mut before = 0;
    let (mut calls, mut results) = (Vec::new(), Vec::new());
    for (at, own) in old.messages.iter().enumerate() {
        if gone.contains(&(at as u32)) {
            for block in old.blocks_of(own) {
                match block.kind {
                    BlockKind::ToolUse => calls.push(block.tool_id.map(bytes)),
                    BlockKind::ToolResult => results.push(block.tool_id.map(bytes)),
                    _ => {}
                }
            }
        } else {
            if at > before + 1 && (is_model(before) || !is_model(at)) {
                return false;
            }
            before = at;
        }
    }
    calls.sort_unstable();
    results.sort_unstable();
    calls == results
}

fn same_message<'o, 'b, 'n, 'a>(
    old: &Anatomy<'o, 'b>,
    one: &Message<'o, 'b>,
    new: &Anatomy<'n, 'a>,
    other: &Message<'n, 'a>,
) -> bool {
    let (before, after) = (old.blocks_of(one), new.blocks_of(other));
    one.role == other.role
        && before.len() == after.len()
        && before.iter().zip(after).all(|(before, after)| {
            before.kind == after.kind
                && same(before.tool_id, after.tool_id)
                && same(before.tool_name, after.tool_name)
                && before.inner.len() == after.inner.len()
                && before.media.len() == after.media.len()
                && before.content.len() == after.content.len()
                && before.content.iter().zip(&after.content).all(|(before, after)| {
                    bytes(*before) == bytes(*after) || (texts(*before, *after) && !is_blank(*after))
                })
                && (before.kind == BlockKind::ToolResult
                    || before.kind == BlockKind::Text
                    || bytes(before.value) == bytes(after.value)
                    || after.cache_control.is_some())
        })
}

/// A value as it stands. (`Value::raw` would check its UTF-8 once more.)
fn bytes<'d>(value: Value<'_, 'd>) -> &'d [u8] {
    value.document().slice(value.span())
}

fn same(one: Option<Value<'_, '_>>, other: Option<Value<'_, '_>>) -> bool {
    one.map(bytes) == other.map(bytes)
}

fn texts(one: Value<'_, '_>, other: Value<'_, '_>) -> bool {
    one.kind() == Kind::String && other.kind() == Kind::String
}

fn is_blank(value: Value<'_, '_>) -> bool {
    value.as_str().is_none_or(|text| text.trim().is_empty())
}

/// No mark more than there may be; where the client set any, not more than it did.
fn marks_fit(old: &Anatomy<'_, '_>, new: &Anatomy<'_, '_>) -> bool {
    let (before, after) = (old.marks().count(), new.marks().count());
    let thinking =
        new.blocks().any(|(_, block)| crate::leaf::is_thinking(block) && block.cache_control.is_some());
    let deferred = new.tools.iter().any(|tool| tool.deferred && tool.cache_control.is_some());
    let was = old.tools.iter().any(|tool| tool.deferred && tool.cache_control.is_some());
    let fits = if before == 0 { after <= MARKS } else { after <= before };
    fits && !thinking && (!deferred || was)
}

/// Whatever is named has its definition, and not all that is left is deferred.
fn tools_fit(old: &Anatomy<'_, '_>, new: &Anatomy<'_, '_>, late: &Answer) -> bool {
    let before: BTreeSet<_> = old.tools.iter().filter_map(|tool| tool.name?.as_str()).collect();
    let after: BTreeSet<_> = new.tools.iter().filter_map(|tool| tool.name?.as_str()).collect();
    // A search may have been put in, where tools came to wait for it.
    let deferred = |anatomy: &Anatomy<'_, '_>| anatomy.tools.iter().filter(|tool| tool.deferred).count();
    let is_late = |name: &str| late.now.iter().any(|own| own.name == name);
    let put = || after.difference(&before).filter(|name| !is_late(name));
    let search = put().count();
    let known = put().all(|name| SEARCHES.contains(&name.as_ref()));
    if !known
        || search > usize::from(deferred(new) > deferred(old))
        || new.tools.len() > old.tools.len() + search + late.back.len()
    {
        return false;
    }
    // The search alone is not enough.
    let own = |tool: &Tool<'_, '_>| tool.name.is_none_or(|name| !SEARCHES.iter().any(|own| name.is_str(own)));
    let resident = |anatomy: &Anatomy<'_, '_>| anatomy.tools.iter().any(|tool| !tool.deferred && own(tool));
    let emptied = resident(old) && !resident(new);
    let named = crate::levers::tools::named(old);
    !emptied && named.iter().all(|name| after.contains(name.as_str()) || !before.contains(name.as_str()))
}
