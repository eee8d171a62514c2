//! What a server's tools are is judged by a list that it gave in this life and has announced no change of. Calls whose run
//! depends on that wait for such a list, and no list is waited for without end.

use super::frame::Frame;
use super::port::{Id, Kind};
use super::{Held, Outcome, Phase, Purpose, Relay, Work, wording};
use crate::error::Reason;
use crate::surface::{Access, Tool, Trust};
use std::time::Duration;

/// How long a call waits for the list once the server was asked for it. Clients wait for about a minute.
const CALLS: Duration = Duration::from_secs(20);
/// How long the list is waited for at all: nearly as long as clients wait, which then hear the reason.
const LISTS: Duration = Duration::from_secs(55);

/// What is known of a server's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum List {
    /// It is that of this life, and no change was announced since.
    Fresh,
    /// It is on its way, or its server is.
    Awaited,
    /// The server can be asked, and has not given it.
    Unknown,
    /// The server does not run.
    Gone,
}

impl Relay {
    pub(super) fn list_of(&self, server: usize) -> List {
        let known = &self.servers[server];
        let waiting = || {
            let late = known.awaited_since.is_none_or(|since| self.now.saturating_sub(since) >= CALLS);
            known.pages.is_some() && !known.overdue && !late
        };
        match known.phase {
            Phase::Ready if known.fresh || !self.may_have_tools(server) => List::Fresh,
            Phase::Ready if waiting() => List::Awaited,
            Phase::Ready => List::Unknown,
            Phase::Opening => List::Awaited,
            // It is about to be started once more.
            Phase::Cold if known.once_more && known.retry_at.is_some() => List::Awaited,
            Phase::Cold | Phase::Failed => List::Gone,
        }
    }

    /// Whether nothing of a server is called whose definition is not known to be the reviewed one.
    pub(super) fn is_quarantined(&self) -> bool {
        self.world.lock.is_some() && self.world.settings.trust == Trust::Quarantine
    }

    /// Whether it depends on its definition what becomes of a call of a tool.
    pub(super) fn is_judged(&self, tool: &Tool) -> bool {
        match tool.access {
            // Whatever its definition says.
            Access::Denied => false,
            Access::Deferred => true,
            Access::Eager | Access::Quarantined => self.is_quarantined(),
        }
    }

    /// Sees to it that the list of a server comes. `None` when there is nothing to wait for: it is fresh, or was asked for in
    /// vain just now; `Some(false)` when the server does not work.
    pub(super) fn await_list(&mut self, server: usize) -> Option<bool> {
        match self.list_of(server) {
            List::Fresh => None,
            List::Awaited => Some(true),
            // It takes too long, and others have waited for it already.
            List::Unknown if self.servers[server].pages.is_some() => None,
            List::Unknown => {
                self.fetch(server);
                Some(true)
            }
            List::Gone => Some(self.start_for_request(server)),
        }
    }

    /// Where nothing can be served by what is known of the servers from earlier: whether some of it is being asked for anew.
    pub(super) fn renew_lists(&mut self) -> bool {
        let mut any = false;
        for server in 0..self.servers.len() {
            let coming = match self.list_of(server) {
                List::Gone => self.servers[server].manifest.is_some() && self.start_for_request(server),
                List::Awaited => true,
                List::Fresh | List::Unknown => false,
            };
            self.servers[server].announced |= coming;
            any |= coming;
        }
        any
    }

    /// Keeps a call until the list of its server has come.
    pub(super) fn hold(&mut self, frame: &Frame, headers: Vec<(String, String)>, server: usize) {
        self.held.push(Held { frame: frame.clone(), headers, list_of: Some(server) });
    }

    /// Answers a call whose tool must be judged, and whose server gave no list to judge it by.
    pub(super) fn refuse_unjudged(&mut self, id: &Id, name: &str, server: usize, work: Option<Work>) {
        let label = &self.world.labels[server];
        let against =
            if self.is_quarantined() { ", so that it cannot be checked against deadweight.lock" } else { "" };
        let text = format!(
            "Not run: what `{name}` does now is not known: the MCP server `{label}` was asked for its tools again and has not \
             listed them{against}. Nothing was sent to it but that question. Call it again later; the server is asked again then."
        );
        let modern = self.client.era == Some(crate::listing::Era::Modern);
        let result = wording::complete(wording::tool_error(&text, modern), modern);
        if let Some(work) = work {
            self.called(work, self.now, result.len(), Outcome::Refused);
        }
        self.answer_result(id, &result);
    }

    /// Takes up the calls that need not wait any more.
    pub(super) fn release_held(&mut self) {
        if self.held.is_empty() {
            return;
        }
        let all = (0..self.servers.len()).all(|server| self.known(server));
        for held in std::mem::take(&mut self.held) {
            let goes_on = match held.list_of {
                None => all,
                Some(server) => self.list_of(server) != List::Awaited,
            };
            let Kind::Request { id, .. } = held.frame.kind().clone() else { continue };
            match held.list_of {
                _ if !goes_on => self.held.push(held),
                Some(server) if self.list_of(server) == List::Gone => {
                    self.refuse(server, &id, Purpose::Plain)
                }
                _ => self.call(&id, held.frame, held.headers, true),
            }
        }
    }

    /// Answers the calls that were not sent to a server because its list was waited for.
    pub(super) fn drop_held(&mut self, server: usize, text: &str) {
        let (here, elsewhere) =
            std::mem::take(&mut self.held).into_iter().partition(|held| held.list_of == Some(server));
        self.held = elsewhere;
        let here: Vec<Held> = here;
        for held in here {
            if let Kind::Request { id, .. } = held.frame.kind() {
                self.answer_error(id, wording::NOT_AVAILABLE, text);
            }
        }
    }

    /// When it is to be looked whether a list takes too long.
    pub(super) fn lists_due(&self) -> Option<Duration> {
        let due = self.servers.iter().enumerate().filter_map(|(server, known)| {
            let since = known.awaited_since.filter(|_| known.pages.is_some() && !known.overdue)?;
            let calls = self.held.iter().any(|held| held.list_of == Some(server));
            Some(since + if calls { CALLS } else { LISTS })
        });
        due.min()
    }

    /// Ends the waiting for lists that take too long. One that comes all the same is taken.
    pub(super) fn lists_overdue(&mut self) {
        self.release_held();
        for server in 0..self.servers.len() {
            let known = &self.servers[server];
            let waiting = known.pages.is_some() && !known.overdue;
            let late = known.awaited_since.is_some_and(|since| self.now.saturating_sub(since) >= LISTS);
            if waiting && late {
                let reason = Reason::TimedOut { limit: LISTS, waiting_for: "tools/list", pages: 0 };
                let text = wording::no_list(&self.world.specs[server], reason);
                self.servers[server].overdue = true;
                self.list_failed(server, &text);
            }
        }
    }
}
