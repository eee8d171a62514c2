//! From edits of values to cuts of bytes: what each edit is about, whether edits overlap, which commas come
//! and go.

use super::{Action, Change, Cut, Reason, SpliceError};
use crate::json::{Document, Kind, Node, Parser, Span};
use std::collections::BTreeMap;

/// The cuts that make the changes, in the order of the text.
pub(super) fn cuts(
    doc: Document<'_, '_>,
    changes: &[Change<'_>],
    parser: &mut Parser,
) -> Result<Vec<Cut>, SpliceError> {
    let mut plan = Plan::default();
    let mut touched = Vec::with_capacity(changes.len());
    let places = places(doc, changes)?;
    for (change, place) in changes.iter().zip(places) {
        let offset = change.span.start();
        check_text(&change.action, parser)
            .map_err(|error| SpliceError { reason: Reason::TextNotJson(error), offset })?;
        let touch = plan.add(doc, &change.action, place).map_err(|reason| SpliceError { reason, offset })?;
        touched.push((place.index, touch));
    }
    check_overlap(doc.nodes(), touched)?;
    let mut cuts = plan.singles;
    for (container, appended) in plan.containers {
        container_cuts(doc, container, &appended, &plan.slots, &mut cuts);
    }
    cuts.sort_by_key(|cut| (cut.range.start, cut.range.end));
    Ok(cuts)
}

fn check_text(action: &Action, parser: &mut Parser) -> Result<(), crate::json::Error> {
    match action {
        Action::Remove => Ok(()),
        Action::Replace(text)
        | Action::InsertBefore(text)
        | Action::InsertAfter(text)
        | Action::Append(text) => parser.scope(text, |doc| doc.map(|_| ())),
        Action::AppendEntry { key, value, .. } => {
            parser.scope(key, |doc| doc.map(|_| ()))?;
            parser.scope(value, |doc| doc.map(|_| ()))
        }
    }
}

/// What a span names.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// The node; for an entry, its key.
    index: u32,
    role: Role,
    /// Whether the span is that of a whole entry, which has the role [`Role::Key`].
    entry: bool,
}

/// What a node is to the container around it.
#[derive(Debug, Clone, Copy)]
enum Role {
    Root,
    Element { array: u32 },
    Key { object: u32 },
    EntryValue,
}

/// Finds what each change is about.
fn places(doc: Document<'_, '_>, changes: &[Change<'_>]) -> Result<Vec<Place>, SpliceError> {
    let not_a_value = |span: Span<'_>| SpliceError { reason: Reason::NotAValue, offset: span.start() };
    // Nodes stand in the order of their first bytes, and no two share one.
    let mut wanted = Vec::with_capacity(changes.len());
    for (number, Change { span, .. }) in changes.iter().enumerate() {
        let index = doc
            .nodes()
            .binary_search_by_key(&span.start(), |node| node.start as usize)
            .map_err(|_| not_a_value(*span))?;
        wanted.push((index, number));
    }
    wanted.sort_unstable();
    let roles = roles(doc.nodes(), wanted.iter().map(|&(index, _)| index));
    let mut places: Vec<(usize, Place)> = Vec::with_capacity(changes.len());
    for ((index, number), role) in wanted.into_iter().zip(roles) {
        let span = changes[number].span;
        let end_of = |index: usize| doc.nodes().get(index).map(|node| node.end as usize);
        let whole = end_of(index) == Some(span.end());
        let entry = matches!(role, Role::Key { .. }) && end_of(index + 1) == Some(span.end());
        if !entry && (!whole || matches!(role, Role::Key { .. })) {
            return Err(not_a_value(span));
        }
        places.push((number, Place { index: index as u32, role, entry }));
    }
    places.sort_unstable_by_key(|(number, _)| *number);
    Ok(places.into_iter().map(|(_, place)| place).collect())
}

/// The role of each wanted node; the indices ascend. One walk over the nodes, without recursion.
fn roles(nodes: &[Node], wanted: impl Iterator<Item = usize>) -> Vec<Role> {
    let mut wanted = wanted.peekable();
    let mut roles = Vec::new();
    // The open containers, and whether the next child of an object is a key.
    let mut open: Vec<(u32, bool)> = Vec::new();
    for (index, node) in nodes.iter().enumerate() {
        if wanted.peek().is_none() {
            break;
        }
        while open.pop_if(|(container, _)| nodes[*container as usize].aux as usize <= index).is_some() {}
        let role = match open.last_mut() {
            None => Role::Root,
            Some((array, _)) if nodes[*array as usize].kind == Kind::Array => Role::Element { array: *array },
            Some((object, key_next)) => {
                *key_next = !*key_next;
                if *key_next { Role::EntryValue } else { Role::Key { object: *object } }
            }
        };
        while wanted.next_if_eq(&index).is_some() {
            roles.push(role);
        }
        if matches!(node.kind, Kind::Array | Kind::Object) {
            open.push((index as u32, true));
        }
    }
    roles
}

/// What a change does to the nodes of its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Touch {
    /// It replaces or removes them, up to this index.
    Covers(u32),
    /// It puts something beside them.
    Beside,
    /// It puts something into them.
    Inside,
}

/// No change may touch what another replaces or removes, but one may put something beside it.
fn check_overlap(nodes: &[Node], mut touched: Vec<(u32, Touch)>) -> Result<(), SpliceError> {
    touched.sort_unstable();
    let offset = |index: u32| nodes.get(index as usize).map_or(0, |node| node.start as usize);
    let mut covered = 0..0;
    for (index, touch) in touched {
        if index < covered.end && !(touch == Touch::Beside && index == covered.start) {
            let reason = Reason::Overlap { with: offset(covered.start) };
            return Err(SpliceError { reason, offset: offset(index) });
        }
        if let Touch::Covers(end) = touch {
            covered = index..end;
        }
    }
    Ok(())
}

/// The changes, ordered by what they are about.
#[derive(Debug, Default)]
struct Plan<'c> {
    /// Cuts in which no comma has a part.
    singles: Vec<Cut>,
    /// By the first node of an element or entry.
    slots: BTreeMap<u32, Slot<'c>>,
    /// The containers with such slots, and what is put at the end of them.
    containers: BTreeMap<u32, Vec<&'c [u8]>>,
}

/// What becomes of an element or an entry.
#[derive(Debug, Default)]
struct Slot<'c> {
    before: Vec<&'c [u8]>,
    itself: Fate<'c>,
    after: Vec<&'c [u8]>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Fate<'c> {
    #[default]
    Kept,
    Removed,
    Replaced(&'c [u8]),
}

impl<'c> Plan<'c> {
    /// Takes a change in.
    fn add(&mut self, doc: Document<'_, '_>, action: &'c Action, place: Place) -> Result<Touch, Reason> {
        let Place { index, role, entry } = place;
        match action {
            Action::Replace(_) if entry => Err(Reason::NotAValue),
            Action::Replace(text) => {
                if let Role::Element { array } = role {
                    self.slot(array, index).itself = Fate::Replaced(text);
                } else if let Some(node) = doc.nodes().get(index as usize) {
                    self.singles
                        .push(Cut { range: node.start as usize..node.end as usize, text: text.clone() });
                }
                Ok(Touch::Covers(after(doc.nodes(), index)))
            }
            Action::Remove => match role {
                Role::Root => Err(Reason::RemovesRoot),
                Role::EntryValue => Err(Reason::RemovesEntryValue),
                Role::Element { array } => {
                    self.slot(array, index).itself = Fate::Removed;
                    Ok(Touch::Covers(after(doc.nodes(), index)))
                }
                Role::Key { object } => {
                    self.slot(object, index).itself = Fate::Removed;
                    Ok(Touch::Covers(after(doc.nodes(), index + 1)))
                }
            },
            Action::InsertBefore(text) | Action::InsertAfter(text) => {
                let Role::Element { array } = role else { return Err(Reason::NotAnElement) };
                let slot = self.slot(array, index);
                let list = if matches!(action, Action::InsertBefore(_)) {
                    &mut slot.before
                } else {
                    &mut slot.after
                };
                list.push(text);
                Ok(Touch::Beside)
            }
            Action::Append(text) => {
                let array = |node: &Node| node.kind == Kind::Array;
                if entry || !doc.nodes().get(index as usize).is_some_and(array) {
                    return Err(Reason::NotAnArray);
                }
                self.containers.entry(index).or_default().push(text);
                Ok(Touch::Inside)
            }
            Action::AppendEntry { key, entry: text, .. } => {
                let nodes = doc.nodes();
                if entry || !nodes.get(index as usize).is_some_and(|node| node.kind == Kind::Object) {
                    return Err(Reason::NotAnObject);
                }
                let same = |child: &Child| {
                    let key_of = nodes.get(child.index as usize);
                    key_of.and_then(|node| doc.bytes().get(node.start as usize..node.end as usize))
                        == Some(key.as_slice())
                };
                let plain = key.len() >= 2 && key.first() == Some(&b'"') && !key.contains(&b'\\');
                let list = self.containers.entry(index).or_default();
                let twice = list.iter().any(|own| {
                    own.strip_prefix(key.as_slice()).is_some_and(|rest| rest.first() == Some(&b':'))
                });
                if !plain || twice || children(nodes, index).iter().any(same) {
                    return Err(Reason::BadKey);
                }
                list.push(text);
                Ok(Touch::Inside)
            }
        }
    }

    fn slot(&mut self, container: u32, index: u32) -> &mut Slot<'c> {
        self.containers.entry(container).or_default();
        self.slots.entry(index).or_default()
    }
}

/// The index of the node after a value.
fn after(nodes: &[Node], index: u32) -> u32 {
    match nodes.get(index as usize) {
        Some(node) if matches!(node.kind, Kind::Array | Kind::Object) => node.aux,
        _ => index + 1,
    }
}

/// The cuts in one container, slot by slot. A slot in which nothing is left takes the comma before it; those
/// at the start, before the first in which something is left, the comma after.
fn container_cuts(
    doc: Document<'_, '_>,
    container: u32,
    appended: &[&[u8]],
    slots: &BTreeMap<u32, Slot<'_>>,
    cuts: &mut Vec<Cut>,
) {
    let Some(node) = doc.nodes().get(container as usize) else { return };
    let children = children(doc.nodes(), container);
    let Some(last) = children.len().checked_sub(1) else {
        let inside = node.start as usize + 1;
        cuts.push(Cut { range: inside..inside, text: appended.join(&b","[..]) });
        return;
    };
    let untouched = Slot::default();
    // Whether something is left in a slot before, and where the last of them ends.
    let mut left_to: Option<usize> = None;
    // The empty slots since then: where the first starts, where the last ends.
    let mut empty: Option<(usize, usize)> = None;
    for (number, child) in children.iter().enumerate() {
        let slot = slots.get(&child.index).unwrap_or(&untouched);
        let appended = if number == last { appended } else { &[] };
        let behind = || slot.after.iter().chain(appended).copied();
        let itself = match slot.itself {
            Fate::Replaced(text) => Some(text),
            Fate::Kept | Fate::Removed => None,
        };
        let Child { start, end, .. } = *child;
        if slot.itself == Fate::Removed && slot.before.is_empty() && behind().next().is_none() {
            empty = Some((empty.map_or(start, |(start, _)| start), end));
            continue;
        }
        if let Some((first, last)) = empty.take() {
            let range = match left_to {
                Some(end) => comma_after(doc.bytes(), end)..last,
                None => first..start,
            };
            cuts.push(Cut { range, text: Vec::new() });
        }
        left_to = Some(end);
        if slot.itself != Fate::Kept {
            let texts: Vec<&[u8]> = slot.before.iter().copied().chain(itself).chain(behind()).collect();
            cuts.push(Cut { range: start..end, text: texts.join(&b","[..]) });
            continue;
        }
        let before: Vec<u8> =
            slot.before.iter().flat_map(|text| [text, &b","[..]]).flatten().copied().collect();
        let behind: Vec<u8> = behind().flat_map(|text| [&b","[..], text]).flatten().copied().collect();
        for (at, text) in [(start, before), (end, behind)] {
            if !text.is_empty() {
                cuts.push(Cut { range: at..at, text });
            }
        }
    }
    if let Some((first, last)) = empty {
        let start = left_to.map_or(first, |end| comma_after(doc.bytes(), end));
        cuts.push(Cut { range: start..last, text: Vec::new() });
    }
}

/// An element or entry.
struct Child {
    index: u32,
    start: usize,
    end: usize,
}

fn children(nodes: &[Node], container: u32) -> Vec<Child> {
    let mut children = Vec::new();
    let Some(node) = nodes.get(container as usize) else { return children };
    let of_object = node.kind == Kind::Object;
    let mut index = container + 1;
    while index < node.aux {
        let value = if of_object { index + 1 } else { index };
        let [first, last] = [index, value].map(|index| nodes.get(index as usize));
        let (Some(first), Some(last)) = (first, last) else { break };
        children.push(Child { index, start: first.start as usize, end: last.end as usize });
        index = after(nodes, value);
    }
    children
}

/// The offset of the comma that follows a value which ends at `end`; between them is nothing but white space.
fn comma_after(bytes: &[u8], end: usize) -> usize {
    let rest = bytes.get(end..).unwrap_or_default();
    end + rest.iter().take_while(|byte| **byte != b',').count()
}
