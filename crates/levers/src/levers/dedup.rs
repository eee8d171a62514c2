//! `dedup`: what stands earlier in the same request becomes a pointer to it, and a long run of equal lines one line.
//!
//! The model has the same information: the text stands above, in full, unchanged. That text is out of bounds for all levers
//! from then on, and a pointer is put in place only as long as it stands there.

use crate::leaf::{At, Leaf};
use crate::lever::StandDown;
use crate::plan::{Ground, Wish};
use crate::text::opening;
use deadweight_wire::anatomy::Block;
use std::borrow::Cow;
use std::collections::HashMap;

/// A run of fewer lines is left.
const RUN: usize = 4;

pub(crate) fn ask(ground: &Ground<'_, '_, '_>) -> Result<Vec<Wish>, StandDown> {
    let limits = &ground.policy.thresholds;
    let open = |leaf: &Leaf<'_, '_>| ground.open(leaf.at).is_some() && !leaf.value.has_lone_surrogate();
    let least = limits.repeated.min(limits.run);
    if !ground.leaves.iter().any(|leaf| leaf.len() >= least && open(leaf)) {
        let any = ground.leaves.iter().any(open);
        return Err(if any { StandDown::UnderThreshold } else { StandDown::NothingNew });
    }
    let mut wishes: Vec<Wish> = Vec::new();
    // The texts that can be pointed to, by length: most lengths occur once, and then nothing is compared.
    let mut by_length: HashMap<usize, Vec<(At, Cow<'_, str>)>> = HashMap::new();
    for leaf in ground.leaves.iter().filter(|leaf| leaf.len() >= least) {
        if ground.puts.contains_key(&leaf.at) || ground.gone.contains(&leaf.at.message) {
            continue;
        }
        let text = leaf.text();
        let same = by_length.entry(leaf.len()).or_default();
        let mut wish = None;
        if open(leaf) {
            let target = same.iter().find(|(_, own)| *own == text).map(|(at, _)| *at);
            wish = match target.filter(|_| leaf.len() >= limits.repeated) {
                Some(target) => Some((pointer(ground, target, &text), Some(target))),
                None if leaf.result => runs(&text, limits.run).map(|text| (text, None)),
                None => None,
            };
            wish = wish.filter(|(own, _)| own.len() + 64 < text.len());
        }
        match wish {
            Some((text, refers)) => wishes.push(Wish { at: leaf.at, text, refers, keep: false }),
            None => same.push((leaf.at, text)),
        }
    }
    if wishes.is_empty() { Err(StandDown::NothingFound) } else { Ok(wishes) }
}

fn pointer(ground: &Ground<'_, '_, '_>, target: At, text: &str) -> String {
    let block = ground.anatomy.messages.get(target.message as usize);
    let block: Option<&Block<'_, '_>> =
        block.and_then(|own| ground.anatomy.blocks_of(own).get(target.block as usize));
    let call =
        block.and_then(|block| block.tool_id?.as_str()).and_then(|id| Some((ground.calls.get(&id)?, id)));
    let what = match call {
        Some((call, id)) => format!("the result of the earlier call {}({}), id {id}", call.name, call.input),
        None => "what stands in an earlier message of this conversation".to_owned(),
    };
    format!(
        "[This is, byte for byte, the same as {what}, which stands above in full: {} bytes that begin with \"{}\". It is not \
         repeated here.]",
        text.len(),
        opening(text, 80)
    )
}

/// A text with its long runs of equal lines told by their number; `None` where there is none.
fn runs(text: &str, least: usize) -> Option<String> {
    let mut out = String::new();
    let mut found = false;
    let mut lines = text.split_inclusive('\n').peekable();
    while let Some(line) = lines.next() {
        out.push_str(line);
        let mut more = 0_usize;
        while lines.next_if_eq(&line).is_some() {
            more += 1;
        }
        if more + 1 >= RUN && more * line.len() >= least {
            out.push_str(&format!("[The line above stands {more} more times, one after the other.]\n"));
            found = true;
        } else {
            for _ in 0..more {
                out.push_str(line);
            }
        }
    }
    found.then_some(out)
}

#[cfg(test)]
mod tests {
    use super::runs;

    #[test]
    fn runs_are_told_by_their_number() {
        let text = format!("a\n{}b", "same line\n".repeat(200));
        let cut = runs(&text, 1_000).unwrap();
        assert_eq!(cut, "a\nsame line\n[The line above stands 199 more times, one after the other.]\nb");
        assert_eq!(runs(&cut, 1_000), None);
        assert_eq!(runs(&"x\ny\n".repeat(1_000), 1_000), None);
        assert_eq!(runs("", 0), None);
    }
}
