//! Reveal on load, for those who ask for it: what was loaded is put into the list with its whole definition, the client is
//! told, and the answer to the load waits until the client has asked for the list again. It throws the client's prompt cache
//! away at every load, which is why nobody gets it unasked.

use super::port::Id;
use super::{Relay, wording};
use crate::listing::Era;
use crate::surface::{Surface, ToolIx};
use bytes::Bytes;
use std::time::Duration;

/// How long a client may take to ask for the list again.
const PATIENCE: Duration = Duration::from_secs(2);

/// The answer to a load that waits.
#[derive(Debug)]
pub(super) struct Revealing {
    id: Id,
    result: Bytes,
    pub(super) until: Duration,
}

impl Relay {
    /// Puts tools into the list. Whether the answer to the load waits, which is then done here.
    pub(super) fn reveal(&mut self, id: &Id, surface: &Surface, tools: &[ToolIx], result: &Bytes) -> bool {
        let honoured =
            self.client.who.profile.and_then(|profile| profile.list_changed).is_some_and(|fact| fact.value);
        if !self.world.settings.reveal || self.client.era != Some(Era::Legacy) || !self.client.expects_changes
        {
            return false;
        }
        let known = self.revealed.len();
        self.revealed
            .extend(tools.iter().filter_map(|tool| surface.tool(*tool)).map(|tool| tool.shown.clone()));
        if self.revealed.len() == known {
            return false;
        }
        self.listed = None;
        self.say(wording::notification("notifications/tools/list_changed", b""), None);
        if !honoured {
            return false;
        }
        let until = self.now + PATIENCE;
        self.revealing.push(Revealing { id: id.clone(), result: result.clone(), until });
        true
    }

    /// The list was served again, or the time is over: the answers go out.
    pub(super) fn end_reveals(&mut self, all: bool) {
        let now = self.now;
        let (over, waiting): (Vec<Revealing>, Vec<Revealing>) =
            std::mem::take(&mut self.revealing).into_iter().partition(|one| all || one.until <= now);
        self.revealing = waiting;
        for Revealing { id, result, .. } in over {
            self.answer_result(&id, &result);
        }
    }

    /// Whether the answer to this load was waiting, and is not wanted any more.
    pub(super) fn cancel_reveal(&mut self, id: &[u8]) {
        self.revealing.retain(|one| one.id != id);
    }

    /// The list with what was revealed.
    pub(super) fn tools_with_revealed(&self, surface: &Surface) -> Bytes {
        if self.revealed.is_empty() {
            return surface.tools().clone();
        }
        let own = surface.own().iter().map(|own| &own.entry);
        let tools = surface.all().filter_map(|(_, tool)| {
            if self.revealed.contains(&tool.shown) { Some(&tool.full) } else { tool.entry.as_ref() }
        });
        let entries: Vec<&[u8]> = own.chain(tools).map(|entry| &entry[..]).collect();
        let mut out = b"[".to_vec();
        out.extend_from_slice(&entries.join(&b','));
        out.push(b']');
        out.into()
    }
}
