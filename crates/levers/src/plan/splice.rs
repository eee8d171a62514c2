//! From decisions to splices.

use super::When;
use crate::leaf::{At, Leaf};
use crate::lever::Lever;
use crate::levers::breakpoints::Mark;
use crate::levers::recover::{self, Place};
use crate::levers::server_edit::MEMBER;
use crate::levers::tools::Head;
use crate::plan::outcome::Splice;
use crate::record::Put;
use crate::text::rebuilt;
use deadweight_wire::anatomy::Anatomy;
use deadweight_wire::json::{Kind, Parser};
use deadweight_wire::splice::{Edits, Spliced};
use std::collections::{BTreeMap, BTreeSet};

/// A body that is to be sent, with the proof that nothing else in it changed.
pub(super) struct Sent {
    pub(super) spliced: Spliced,
    pub(super) splices: Vec<Splice>,
}

/// What is put into the members of the request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Members<'e> {
    /// What the provider is asked to edit.
    pub(super) edits: Option<&'e str>,
    /// Where it is asked to drop thinking that is bound to something else.
    pub(super) unbinds: Option<Place>,
}

/// A range of the body, and what stands in its place.
type Cut<'t> = (std::ops::Range<usize>, &'t str);

/// The marker that is set, for five minutes and for an hour.
const MARKERS: [&str; 2] = [
    "\"cache_control\":{\"type\":\"ephemeral\"}",
    "\"cache_control\":{\"type\":\"ephemeral\",\"ttl\":\"1h\"}",
];

/// Makes all edits at once. `Some(None)`: there are none. `None`: they cannot be made.
pub(super) fn apply<'id, 'd>(
    anatomy: &Anatomy<'id, 'd>,
    leaves: &[Leaf<'id, 'd>],
    puts: &BTreeMap<At, (Put, When)>,
    gone: &BTreeSet<u32>,
    head: &Head,
    members: Members<'_>,
    marks: &[Mark],
) -> Option<Option<Sent>> {
    let mut edits = Edits::new(anatomy.document);
    let marker = MARKERS[usize::from(head.now.hour)];
    // Where each lever edits, by the first byte of what it names.
    let mut owners: Vec<(usize, usize, Lever)> = Vec::new();
    for &index in &head.removed {
        let tool = anatomy.tools.get(index)?;
        owners.push((tool.value.span().start(), tool.value.span().end(), Lever::PruneTools));
        edits.remove(tool.value);
    }
    for at in gone {
        let value = anatomy.messages.get(*at as usize)?.value;
        owners.push((value.span().start(), value.span().end(), Lever::CompactHistory));
        edits.remove(value);
    }
    let root = anatomy.document.root();
    if let Some(search) = head.search {
        let list = root.get("tools")?;
        let end = list.elements().last().map_or(list.span().end(), |last| last.span().end());
        owners.push((end, end, Lever::DeferTools));
        edits.append(list, search);
    }
    let end = root.entries().last().map_or(root.span().end(), |last| last.value.span().end());
    match members.unbinds {
        Some(Place::Own) => {
            let own = root.get(recover::THINKING)?;
            let last = own.entries().last()?.value.span().end();
            owners.push((last, last, Lever::RecoverBound));
            edits.append_entry(own, &crate::text::quoted(recover::BINDING), recover::DROP);
        }
        Some(Place::New) => {
            owners.push((end, end, Lever::RecoverBound));
            edits.append_entry(root, &crate::text::quoted(recover::THINKING), recover::ADAPTIVE);
        }
        None => {}
    }
    if let Some(value) = members.edits {
        owners.push((end, end, Lever::ServerEdit));
        edits.append_entry(root, &crate::text::quoted(MEMBER), value);
    }
    for text in &head.late.back {
        let list = root.get("tools")?;
        let end = list.elements().last().map_or(list.span().end(), |last| last.span().end());
        owners.push((end, end, Lever::SteadyPrefix));
        edits.append(list, text.as_str());
    }
    for (message, text) in &head.late.behind {
        let value = anatomy.messages.get(*message as usize)?.value;
        owners.push((value.span().end(), value.span().end(), Lever::SteadyPrefix));
        edits.insert_after(value, text.as_str());
    }
    let marked_tool = marks.iter().find_map(|mark| match mark {
        Mark::Tool(index) => Some(*index),
        _ => None,
    });
    for (index, text, lever) in &head.replaced {
        // Breakpoints are only set where the client set none, and then no tool is rewritten for its marker's sake.
        let tool = anatomy.tools.get(*index)?;
        let text = match marked_tool {
            Some(marked) if marked == *index => rebuilt(text, 0, &[], Some(marker)),
            _ => text.clone(),
        };
        owners.push((tool.value.span().start(), tool.value.span().end(), *lever));
        edits.replace(tool.value, text);
    }
    for mark in marks {
        match *mark {
            Mark::Tool(index) if head.replaced.iter().any(|(own, ..)| *own == index) => {}
            Mark::Tool(index) => {
                let value = anatomy.tools.get(index)?.value;
                owners.push((value.span().start(), value.span().end(), Lever::PlaceBreakpoints));
                edits.replace(value, rebuilt(value.raw(), value.span().start(), &[], Some(marker)));
            }
            Mark::System(index) => {
                let value = anatomy.system.get(index)?.value;
                let text = marked(value.kind(), value.raw(), value.span().start(), &[], marker)?;
                owners.push((value.span().start(), value.span().end(), Lever::PlaceBreakpoints));
                edits.replace(value, text);
            }
            Mark::Block(..) => {}
        }
    }
    // Texts in blocks that get no marker are replaced where they stand; a block that gets one is replaced as a whole, with
    // its texts.
    let mut whole: BTreeMap<(u32, u32), Vec<Cut<'_>>> = BTreeMap::new();
    for mark in marks {
        if let Mark::Block(message, block) = *mark {
            whole.insert((message, block), Vec::new());
        }
    }
    for (at, (put, _)) in puts {
        let found = leaves.binary_search_by_key(at, |leaf| leaf.at).ok()?;
        let span = leaves.get(found)?.value.span();
        owners.push((span.start(), span.end(), put.lever));
        match whole.get_mut(&(at.message, at.block)) {
            Some(cuts) => cuts.push((span.range(), &put.json)),
            None => {
                edits.replace(span, put.json.as_bytes());
            }
        }
    }
    for ((message, block), cuts) in &whole {
        let own = anatomy.messages.get(*message as usize)?;
        let value = anatomy.blocks_of(own).get(*block as usize)?.value;
        let text = marked(value.kind(), value.raw(), value.span().start(), cuts, marker)?;
        if cuts.is_empty() {
            owners.push((value.span().start(), value.span().end(), Lever::PlaceBreakpoints));
        }
        edits.replace(value, text);
    }
    if edits.is_empty() {
        return Some(None);
    }
    let spliced = edits.apply(&mut Parser::new()).ok()?;
    owners.sort_unstable();
    let splices = spliced.edits().iter().map(|edit| {
        let at = edit.before().clone();
        // A comma that goes with an element stands before or behind it.
        let owner = owners.iter().find(|(start, end, _)| *end >= at.start && *start <= at.end);
        let lever = owner.map_or(Lever::Passthrough, |(.., lever)| *lever);
        Splice { at, length: edit.after().len(), lever }
    });
    let splices: Vec<_> = splices.collect();
    // Whoever edits is named.
    if splices.iter().any(|splice| splice.lever == Lever::Passthrough) {
        return None;
    }
    Some(Some(Sent { spliced, splices }))
}

/// A block with a marker: a plain string becomes an array of one text block, which is the same to the provider.
fn marked(kind: Kind, raw: &str, start: usize, cuts: &[Cut<'_>], marker: &str) -> Option<String> {
    match kind {
        Kind::Object => Some(rebuilt(raw, start, cuts, Some(marker))),
        Kind::String => {
            let text = rebuilt(raw, start, cuts, None);
            Some(format!("[{{\"type\":\"text\",\"text\":{text},{marker}}}]"))
        }
        _ => None,
    }
}
