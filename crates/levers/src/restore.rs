//! The way back to what was cut: the tool by which a model asks for it, and how often it does.

use crate::lever::Lever;
use crate::levers::calls::{Calls, Does};
use crate::record::{Put, Turned};
use crate::text::restore_id;
use crate::view::Decisions;
use deadweight_cache::Digest;
use deadweight_cache::prefix::Prefix;
use deadweight_wire::anatomy::{Anatomy, BlockKind};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The name of the tool, before an agent puts its own before it.
pub const RESTORE_TOOL: &str = "restore";

/// How the tool's description begins. It is known by these words, whatever an agent calls it and its server.
pub const RESTORE_SAYS: &str = "Gives back text that deadweight left out of this conversation";

/// The name under which the model can call for what was cut, in this very request: `mcp__deadweight__restore`,
/// `deadweight_restore`, or whatever the agent makes of it. `None` where no such tool is offered, or only one that has to be
/// searched for first.
#[must_use]
pub fn restore_tool(anatomy: &Anatomy<'_, '_>) -> Option<String> {
    let offered = anatomy.tools.iter().filter(|tool| !tool.deferred).find_map(|tool| {
        let name = tool.name?.as_str()?;
        let says = tool.description?.as_str()?;
        (name.ends_with(RESTORE_TOOL) && says.contains(RESTORE_SAYS)).then(|| name.into_owned())
    });
    offered.filter(|name| {
        // A choice of tools that leaves it out leaves no way back.
        let choice = anatomy.document.root().get("tool_choice");
        choice.is_none_or(|choice| {
            let kind = choice.get("type").unwrap_or(choice);
            let named = choice.get("name").or_else(|| choice.get("function")?.get("name"));
            !kind.is_str("none") && named.is_none_or(|own| own.is_str(name))
        })
    })
}

/// How much of what a lever cut was asked for again, as far as a request shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AskedAgain {
    /// How many texts and rounds were cut.
    pub cut: u32,
    /// How many of them the model asked for: by the tool, or by reading the same file again.
    pub asked: u32,
}

impl AskedAgain {
    /// Whether so much was asked for that cutting does not pay: three things at least, and a quarter of what was cut.
    #[must_use]
    pub const fn is_too_much(self) -> bool {
        self.asked >= 3 && self.asked.saturating_mul(4) >= self.cut
    }
}

/// What was cut of a conversation and asked for again after that, by lever. Add up several conversations to see whether a
/// lever has to back off ([`Circumstances::backed_off`](crate::Circumstances::backed_off)).
#[must_use]
pub fn asked_again(
    anatomy: &Anatomy<'_, '_>,
    prefix: &Prefix,
    decisions: &dyn Decisions,
) -> BTreeMap<Lever, AskedAgain> {
    let mut cuts: Vec<Cut> = Vec::new();
    for (end, link) in prefix.messages.iter().enumerate() {
        if let Some(sent) = decisions.sent(&link.chain) {
            cuts.extend(sent.puts.iter().filter_map(|put| Cut::of(put, end, end)));
        }
        if let Some(turned) = decisions.turned(&link.chain) {
            cuts.extend(of_turned(prefix, &turned, end));
        }
    }
    let mut again: BTreeMap<Lever, AskedAgain> = BTreeMap::new();
    if cuts.is_empty() {
        return again;
    }
    let calls = Calls::read(anatomy);
    for cut in cuts {
        let own = again.entry(cut.lever).or_default();
        own.cut += 1;
        own.asked += u32::from(cut.was_asked_for(anatomy, &calls));
    }
    again
}

/// Something that was cut.
struct Cut {
    lever: Lever,
    /// The message it stood in, and, of a text, its block.
    message: usize,
    block: Option<usize>,
    /// The last message of the request at which it was cut.
    end: usize,
    /// What the model was told to ask for; of a round it is that of the whole view, which is counted once.
    id: Option<String>,
}

impl Cut {
    fn of(put: &Put, message: usize, end: usize) -> Option<Self> {
        (put.lever == Lever::ElideResults).then(|| Self {
            lever: put.lever,
            message,
            block: Some(put.block as usize),
            end,
            id: Some(restore_id(&put.original)),
        })
    }

    fn was_asked_for(&self, anatomy: &Anatomy<'_, '_>, calls: &Calls<'_>) -> bool {
        let later = || calls.all().filter(|call| call.message as usize > self.end);
        let restored = self.id.as_ref().is_some_and(|id| {
            later().any(|call| call.name.ends_with(RESTORE_TOOL) && call.input.contains(id.as_str()))
        });
        restored || {
            let read = self.read(anatomy, calls);
            // What was out of date is not missed.
            let was = calls.all().filter(|call| (call.message as usize) <= self.end);
            let changed: BTreeSet<&str> = was
                .filter(|call| call.does == Does::Changes)
                .filter_map(|call| call.path.as_deref())
                .collect();
            later().any(|call| {
                matches!(call.does, Does::Reads | Does::ReadsPart)
                    && call.path.as_deref().is_some_and(|path| read.contains(path) && !changed.contains(path))
            })
        }
    }

    /// The files that were read in what was cut.
    fn read<'c>(&self, anatomy: &Anatomy<'_, '_>, calls: &'c Calls<'_>) -> BTreeSet<&'c str> {
        let Some(own) = anatomy.messages.get(self.message) else { return BTreeSet::new() };
        let blocks = anatomy.blocks_of(own).iter().enumerate();
        let results = blocks.filter(|(at, block)| {
            block.kind == BlockKind::ToolResult && self.block.is_none_or(|own| own == *at)
        });
        let ids = results.filter_map(|(_, block)| block.tool_id?.as_str());
        let read = ids.filter_map(|id| calls.get(&id));
        let read = read.filter(|call| matches!(call.does, Does::Reads | Does::ReadsPart));
        read.filter_map(|call| call.path.as_deref()).collect()
    }
}

/// What was cut at a cold start: texts, messages with results that were left out, and the view as a whole.
fn of_turned(prefix: &Prefix, turned: &Arc<Turned>, end: usize) -> Vec<Cut> {
    let at = |chain: &Digest| prefix.messages.iter().position(|link| link.chain == *chain);
    let texts = turned.puts.iter().filter_map(|(chain, put)| Cut::of(put, at(chain)?, end));
    let gone = turned.gone.iter().flatten().filter_map(|chain| {
        Some(Cut { lever: Lever::CompactHistory, message: at(chain)?, block: None, end, id: None })
    });
    let note = turned.puts.iter().find(|(_, put)| put.lever == Lever::CompactHistory);
    let id = note.and_then(|(_, put)| {
        let from = put.json.rfind("the id dw-")? + "the id ".len();
        Some(put.json.get(from..from + 23)?.to_owned())
    });
    let view = id.map(|id| Cut {
        lever: Lever::CompactHistory,
        message: usize::MAX,
        block: None,
        end,
        id: Some(id),
    });
    texts.chain(gone).chain(view).collect()
}
