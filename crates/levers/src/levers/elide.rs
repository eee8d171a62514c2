//! `elide-results`: large results that have scrolled past are cut to head and tail; reads that are out of date go first.
//!
//! What is cut can be had back: the marker in its place names the id that the original is kept under and the tool to ask
//! with. Where the model cannot call that tool in this very request, nothing is cut.

use crate::leaf::Leaf;
use crate::lever::{Lever, StandDown};
use crate::levers::calls::{Call, Does};
use crate::plan::{Ground, When, Wish};
use crate::policy::Thresholds;
use crate::restore::RESTORE_TOOL;
use crate::text::{floor_boundary, hash, restore_id};
use deadweight_wire::anatomy::Anatomy;
use deadweight_wire::json::Kind;

/// Whether the client has the provider edit or compact the conversation. A pointer or a restore id could then outlive what
/// it stands for.
pub(crate) fn provider_edits(anatomy: &Anatomy<'_, '_>) -> bool {
    anatomy.document.root().get("context_management").is_some_and(|own| match own.kind() {
        Kind::Object => own.get("edits").is_none_or(|edits| edits.elements().next().is_some()),
        Kind::Array => own.elements().next().is_some(),
        _ => false,
    })
}

pub(crate) fn ask(ground: &Ground<'_, '_, '_>) -> Result<Vec<Wish>, StandDown> {
    let (policy, circumstances) = (ground.policy, ground.circumstances);
    if circumstances.backed_off.contains(&Lever::ElideResults) {
        return Err(StandDown::ReRead);
    }
    if !ground.stage.cold && !policy.elide_at_first_send {
        return Err(StandDown::NotCold);
    }
    let tool = ground.way_back()?;
    let limits = &policy.thresholds;
    let old = ground.anatomy.messages.len().saturating_sub(limits.recent);
    let open = |leaf: &&Leaf<'_, '_>| {
        leaf.result
            && !leaf.value.has_lone_surrogate()
            && match ground.open(leaf.at) {
                Some(When::Cold) => (leaf.at.message as usize) < old,
                Some(When::First) => {
                    (policy.elide_at_first_send && !is_restored(ground, leaf))
                        || (leaf.at.message as usize) < old
                }
                _ => false,
            }
    };
    let mut wishes = Vec::new();
    let (mut any, mut large) = (false, false);
    for leaf in ground.leaves.iter().filter(open) {
        any = true;
        if leaf.len() <= limits.stale.min(limits.result) {
            continue;
        }
        large = true;
        let text = leaf.text();
        let id = restore_id(&hash(&text));
        let back = match tool {
            Some(tool) => format!(" To read all of it again, call {tool} with the id {id}."),
            None => String::new(),
        };
        let stale = stale(ground, leaf).filter(|_| leaf.len() > limits.stale);
        let cut = match stale {
            Some(why) => Some(format!("[{} bytes are left out here: {why}.{back}]", text.len())),
            None if leaf.len() > limits.result => cut(&text, limits, &back),
            None => None,
        };
        if let Some(cut) = cut.filter(|cut| cut.len() + 64 < text.len()) {
            wishes.push(Wish { at: leaf.at, text: cut, refers: None, keep: circumstances.keeps_originals });
        }
    }
    match (wishes.is_empty(), any, large) {
        (false, ..) => Ok(wishes),
        (true, false, _) => Err(StandDown::NothingNew),
        (true, true, false) => Err(StandDown::UnderThreshold),
        (true, true, true) => Err(StandDown::NothingFound),
    }
}

/// The call that a result answers.
fn call<'g, 'd>(ground: &'g Ground<'_, '_, 'd>, leaf: &Leaf<'_, '_>) -> Option<&'g Call<'d>> {
    let message = ground.anatomy.messages.get(leaf.at.message as usize)?;
    let block = ground.anatomy.blocks_of(message).get(leaf.at.block as usize)?;
    ground.calls.get(&block.tool_id?.as_str()?)
}

/// Whether the model has asked for just this to be given back: it would have to ask again, and again.
fn is_restored(ground: &Ground<'_, '_, '_>, leaf: &Leaf<'_, '_>) -> bool {
    let Some(call) = call(ground, leaf) else { return false };
    call.name.ends_with(RESTORE_TOOL) || ground.circumstances.restore_tool == Some(&*call.name)
}

/// Why a result is out of date, if it is.
fn stale(ground: &Ground<'_, '_, '_>, leaf: &Leaf<'_, '_>) -> Option<String> {
    let call = call(ground, leaf)?;
    let path = call.path.as_deref()?;
    match ground.calls.superseded(call)? {
        Does::Changes => {
            Some(format!("this is an earlier state of {path}, which was changed later in this conversation"))
        }
        _ => Some(format!("{path} was read again, as a whole, later in this conversation")),
    }
}

/// A text cut to head and tail, at ends of lines where there are any near.
fn cut(text: &str, limits: &Thresholds, back: &str) -> Option<String> {
    let head = floor_boundary(text, limits.head);
    let start = text.get(..head)?;
    let head = start.rfind('\n').map_or(head, |at| if at * 2 > head { at + 1 } else { head });
    let tail = floor_boundary(text, text.len().saturating_sub(limits.tail));
    let end = text.get(tail..)?;
    let tail = end.find('\n').map_or(tail, |at| if at * 2 < end.len() { tail + at + 1 } else { tail });
    if tail <= head {
        return None;
    }
    let (start, middle, end) = (text.get(..head)?, text.get(head..tail)?, text.get(tail..)?);
    let lines = middle.lines().count();
    Some(format!(
        "{start}\n[{} bytes ({lines} lines) of {} are left out here.{back}]\n{end}",
        middle.len(),
        text.len()
    ))
}

#[cfg(test)]
mod tests {
    use super::cut;
    use crate::policy::Thresholds;

    #[test]
    fn head_and_tail_stay() {
        let limits = Thresholds { result: 200, head: 40, tail: 20, ..Thresholds::default() };
        let text: String = (0..100).map(|line| format!("line {line}\n")).collect();
        let short = cut(&text, &limits, " Ask.").unwrap();
        assert_eq!(
            short,
            "line 0\nline 1\nline 2\nline 3\nline 4\n\n[739 bytes (93 lines) of 790 are left out here. Ask.]\nline 98\nline 99\n"
        );
        assert!(short.len() < limits.result);
        assert!(cut("ä".repeat(60).as_str(), &limits, "").unwrap().starts_with("ää"));
        assert_eq!(cut("short", &limits, ""), None);
    }
}
