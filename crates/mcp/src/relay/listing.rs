//! The list of tools: fetched from the servers, all pages of it, and shown to the client in one.

use super::frame::Frame;
use super::port::{Id, Kind};
use super::{Ask, Held, Output, Phase, Relay, wording};
use crate::catalogue::{self, Manifest};
use crate::listing::{Era, Options};
use crate::pages::Collected;
use crate::surface::{self, Kept, ServerTools, Surface, Target, ToolState};
use bytes::Bytes;
use deadweight_wire::json::Parser;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// How long a list is held to be right whose server does not tell of changes.
const HELD: Duration = Duration::from_secs(1);

/// How long a list waits for servers that are asked anew, since nothing can be served by what was known of them.
const RENEWED: Duration = Duration::from_secs(20);

/// The pages of a list, as far as they are there.
pub(super) struct Pages {
    collected: Collected,
    /// The result that the first page came in.
    first: Bytes,
}

impl fmt::Debug for Pages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pages").finish_non_exhaustive()
    }
}

impl Relay {
    /// Whether a server says that it has tools, or may have some.
    pub(super) fn may_have_tools(&self, server: usize) -> bool {
        let known = &self.servers[server];
        known.opening.as_ref().is_none_or(|said| wording::has(said, &["capabilities", "tools"]))
    }

    /// The list of a server that has just been opened: to check what is known of it, or to learn it.
    pub(super) fn fetch_first_list(&mut self, server: usize) {
        if self.may_have_tools(server) {
            self.fetch(server);
        } else {
            // It has none, and that is known.
            let known = &mut self.servers[server];
            let manifest = Manifest {
                era: known.era.unwrap_or(Era::Legacy),
                version: known.version.clone().unwrap_or_default(),
                opening: known.opening.clone().unwrap_or_default(),
                frame: Bytes::from_static(br#"{"tools":[]}"#),
                tools: Vec::new(),
            };
            known.fresh = true;
            known.announced = false;
            known.manifest = Some(Arc::new(manifest));
            self.outdated = true;
        }
    }

    /// Asks a server for its list, unless it is being asked.
    pub(super) fn fetch(&mut self, server: usize) {
        let known = &self.servers[server];
        if (known.pages.is_some() && !known.overdue) || known.phase != Phase::Ready {
            return;
        }
        self.forget_list(server);
        let known = &mut self.servers[server];
        known.overdue = false;
        known.list_error = None;
        known.awaited_since.get_or_insert(self.now);
        known.pages = Some(Pages { collected: Collected::new(&Options::default()), first: Bytes::new() });
        self.ask_page(server, None);
    }

    /// What is still answered to a question for the list is not listened to any more.
    pub(super) fn forget_list(&mut self, server: usize) {
        self.asks.retain(|_, (asked, ask)| !(*asked == server && *ask == Ask::Tools));
    }

    fn ask_page(&mut self, server: usize, cursor: Option<&[u8]>) {
        let meta = self.modern_meta();
        let mut members: Vec<(&str, &[u8])> = Vec::new();
        if let Some(cursor) = cursor {
            members.push(("cursor", cursor));
        }
        if self.servers[server].era == Some(Era::Modern) {
            members.push(("_meta", &meta));
        }
        let params = wording::with_members(b"{}", &members);
        self.ask(server, Ask::Tools, "tools/list", &params);
    }

    /// A page came.
    pub(super) fn page(&mut self, server: usize, frame: &Frame) {
        let Some(mut pages) = self.servers[server].pages.take() else { return };
        if frame.is_error() {
            self.servers[server].list_error = wording::member(frame.bytes(), &["error"]);
            return self.list_failed(server, "it answered `tools/list` with an error");
        }
        let result = frame.result().unwrap_or_default();
        let read = Parser::new().scope(&result, |document| match document {
            Ok(document) => crate::message::read_page(&result, document.root()),
            Err(error) => Err(error.to_string()),
        });
        let page = match read {
            Ok(page) => page,
            Err(detail) => {
                return self.list_failed(server, &format!("its list of tools is not well formed: {detail}"));
            }
        };
        if pages.first.is_empty() {
            pages.first = result;
        }
        match pages.collected.add(page) {
            Ok(Some(cursor)) => {
                self.servers[server].pages = Some(pages);
                self.servers[server].awaited_since = Some(self.now);
                self.ask_page(server, Some(&cursor));
            }
            Ok(None) => self.listed(server, pages),
            Err(reason) => {
                let text = wording::why(&self.world.specs[server], reason, Vec::new());
                self.list_failed(server, &text);
            }
        }
    }

    /// The whole list of a server is there.
    fn listed(&mut self, server: usize, pages: Pages) {
        let known = &mut self.servers[server];
        let manifest = Manifest {
            era: known.era.unwrap_or(Era::Legacy),
            version: known.version.clone().unwrap_or_default(),
            opening: known.opening.clone().unwrap_or_default(),
            frame: catalogue::frame(&pages.first),
            tools: pages.collected.tools,
        };
        let same = known.manifest.as_ref().is_some_and(|before| before.tools == manifest.tools);
        let announced = std::mem::take(&mut known.announced);
        known.fresh = true;
        known.fetched_at = self.now;
        known.failures = 0;
        known.awaited_since = None;
        known.begun_anew = 0;
        known.overdue = false;
        known.list_error = None;
        if known.failure.take().is_some() {
            // It failed to list its tools before.
            self.outdated = true;
        }
        let known = &mut self.servers[server];
        let differs = known.manifest.as_deref() != Some(&manifest);
        if differs {
            self.keep_manifest(server, manifest);
        }
        let served = self.client.opened && self.surface.is_some();
        if !same {
            self.outdated = true;
        }
        if !same && served && !announced {
            // Nobody has told the client yet. What it does not see has not changed for it.
            let before = self.surface.as_ref().map(|surface| surface.tools().clone());
            let after = self.surface().ok().map(|surface| surface.tools().clone());
            if before != after {
                self.announce();
            }
        }
        self.release_queue(server);
        self.go_on();
    }

    pub(super) fn list_failed(&mut self, server: usize, text: &str) {
        let label = self.world.labels[server].clone();
        self.note(format!("{label}: {text}"));
        let single = self.single();
        let known = &mut self.servers[server];
        known.announced = false;
        known.awaited_since = None;
        known.begun_anew = 0;
        if known.list_error.is_none() {
            let message = wording::not_available(&label, text);
            let error = format!(r#"{{"code":-32603,"message":{}}}"#, super::frame::quoted(&message));
            known.list_error = Some(error.into());
        }
        if !single && known.manifest.is_none() {
            known.failure = Some(text.to_owned());
        }
        self.release_queue(server);
        self.go_on();
    }

    /// Tells the client that the list has changed, where it has been told that this can happen.
    pub(super) fn announce(&mut self) {
        if self.client.era == Some(Era::Modern) {
            // It hears of changes on the streams that it asked for; those of one server pass as they come.
            return self.tell_listeners("notifications/tools/list_changed", b"{}");
        }
        if self.client.opened && self.client.expects_changes {
            let bytes = wording::notification("notifications/tools/list_changed", b"");
            self.say(bytes, None);
        }
    }

    /// The client asks for the list.
    pub(super) fn list(&mut self, id: &Id, frame: Frame, headers: Vec<(String, String)>) {
        let cursor = frame.params().and_then(|params| wording::member(&params, &["cursor"]));
        if cursor.is_some_and(|cursor| &cursor[..] != b"null") {
            let text = "there is no such cursor: the list comes in one page";
            return self.answer_error(id, wording::INVALID_PARAMS, text);
        }
        for server in 0..self.servers.len() {
            let known = &self.servers[server];
            let can_tell = known.era == Some(Era::Legacy)
                && known
                    .opening
                    .as_ref()
                    .is_some_and(|said| wording::has(said, &["capabilities", "tools", "listChanged"]));
            match known.phase {
                // What has not said that it tells of changes is asked again, though not at every turn.
                Phase::Ready
                    if known.fresh
                        && !can_tell
                        && self.now.saturating_sub(known.fetched_at) >= HELD
                        && self.may_have_tools(server) =>
                {
                    self.servers[server].announced = true;
                    self.fetch(server);
                }
                Phase::Ready if !known.fresh => self.fetch(server),
                Phase::Cold if known.manifest.is_none() => {
                    self.start_for_request(server);
                }
                _ => {}
            }
        }
        let known = self.servers.iter().any(|server| server.manifest.is_some());
        if known && self.surface().is_err() && self.renew_lists() {
            self.patience.get_or_insert(self.now + RENEWED);
        }
        self.lists.push(Held { frame, headers, list_of: None });
        self.serve_lists();
    }

    /// Whether the list of a server is known well enough to be shown.
    pub(super) fn known(&self, server: usize) -> bool {
        let known = &self.servers[server];
        match known.phase {
            Phase::Failed => true,
            _ if known.list_error.is_some() => true,
            _ => known.manifest.is_some() && !known.announced,
        }
    }

    /// Answers the requests for the list, if it is known.
    pub(super) fn serve_lists(&mut self) {
        if self.lists.is_empty() {
            return;
        }
        let all = (0..self.servers.len()).all(|server| self.known(server));
        let patient = self.single() || self.patience.is_some() || !self.client.opened;
        if !all && patient {
            return;
        }
        let held = std::mem::take(&mut self.lists);
        let error = self.single().then(|| self.servers[0].list_error.clone()).flatten();
        for Held { frame, .. } in held {
            let Kind::Request { id, .. } = frame.kind().clone() else { continue };
            if let Some(error) = &error {
                let bytes = wording::response(&id, "error", error);
                self.answer(&id, bytes, None);
                continue;
            }
            let surface = match self.surface() {
                Ok(surface) => surface,
                Err(text) => {
                    self.answer_error(&id, wording::INVALID_REQUEST, &text);
                    continue;
                }
            };
            let result = match &self.listed {
                Some(listed) => listed.clone(),
                None => self.list_result(&surface),
            };
            self.answer_result(&id, &result);
            self.listed = Some(result);
            self.end_reveals(true);
        }
        if error.is_some() {
            self.servers[0].list_error = None;
        }
    }

    fn list_result(&self, surface: &Surface) -> Bytes {
        let modern = self.client.era == Some(Era::Modern);
        let tools = self.tools_with_revealed(surface);
        match self.servers.first().and_then(|server| server.manifest.as_ref()) {
            Some(manifest) if self.single() => {
                let result = catalogue::list_result(&manifest.frame, &tools);
                wording::complete(result, modern)
            }
            _ if modern => wording::with_members(
                b"{}",
                &[
                    ("resultType", br#""complete""#),
                    ("tools", &tools),
                    ("ttlMs", b"0"),
                    ("cacheScope", br#""private""#),
                ],
            ),
            _ => wording::with_members(b"{}", &[("tools", &tools)]),
        }
    }

    /// What the client is shown, made again where something has changed.
    pub(super) fn surface(&mut self) -> Result<Arc<Surface>, String> {
        if let Some(surface) = self.surface.as_ref().filter(|_| !self.outdated) {
            return refused(surface).map_or_else(|| Ok(Arc::clone(surface)), Err);
        }
        let tools: Vec<ServerTools<'_>> = self
            .servers
            .iter()
            .zip(&self.world.labels)
            .map(|(server, label)| ServerTools {
                label,
                tools: server.manifest.as_ref().map_or(&[][..], |manifest| &manifest.tools),
                state: match &server.failure {
                    Some(reason) => ToolState::Failed { reason: reason.clone() },
                    None if server.manifest.is_none() => ToolState::Starting,
                    None => ToolState::Ready,
                },
            })
            .collect();
        let key = self.decision_key();
        // A decision is made once on a connection; from one to the next it is kept on disk.
        let kept: Kept = match &self.surface {
            Some(surface) => surface.kept(),
            None => self.world.shelf.kept(&key).unwrap_or_default(),
        };
        let states: Vec<&ToolState> = tools.iter().map(|server| &server.state).collect();
        let surface = self.world.surfaces.get(&format!("{key} {states:?} {kept:?}"), || {
            Surface::new(&surface::Input {
                settings: &self.world.settings,
                client: self.client.who.clone(),
                servers: &tools,
                lock: self.world.lock.as_ref(),
                aggregate: self.world.aggregate,
                kept: &kept,
            })
            .with_meaning(self.world.meaning.clone())
        });
        if kept != surface.kept() {
            self.world.shelf.keep(&key, &surface.kept());
        }
        if !self.surface.as_ref().is_some_and(|known| Arc::ptr_eq(known, &surface)) {
            self.out.push_back(Output::Listed(Arc::clone(&surface)));
        }
        for warning in surface.warnings() {
            let text = warning.to_string();
            if self.warned.insert(text.clone()) {
                self.note(text);
            }
        }
        // A tool that changed has not been shown.
        self.loaded.retain(|name, definition| {
            let Some(Target::Tool(tool)) = surface.resolve(name) else { return false };
            surface.tool(tool).is_some_and(|tool| tool.definition == *definition)
        });
        self.outdated = false;
        self.listed = None;
        self.surface = Some(Arc::clone(&surface));
        refused(&surface).map_or(Ok(surface), Err)
    }

    fn decision_key(&self) -> String {
        let manifests: Vec<Option<&Manifest>> =
            self.servers.iter().map(|server| server.manifest.as_deref()).collect();
        catalogue::decision_key(
            &self.world.settings,
            self.world.lock.as_ref(),
            &self.client.who,
            &self.world.labels,
            &manifests,
            self.world.aggregate,
        )
    }
}

fn refused(surface: &Surface) -> Option<String> {
    surface.refused().map(ToString::to_string)
}
