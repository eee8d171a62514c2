//! How a conversation is opened: with the client, and with each server in the same era.

use super::frame::{Frame, Key};
use super::fresh::List;
use super::port::{Id, Kind, Outbound};
use super::{Ask, Opening, Output, Phase, Purpose, Relay, wording};
use crate::catalogue::{self, Manifest};
use crate::listing::Era;
use crate::message::{KNOWN_VERSIONS, LEGACY_VERSION, MODERN_VERSION};
use bytes::Bytes;
use std::sync::Arc;
use std::time::Duration;

/// How long the servers of an aggregate are waited for, where a client hears of latecomers.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long they are waited for where it does not: nearly as long as clients wait, so that one silent server does not keep the
/// others from being used at all.
const PATIENCE_WITH_THE_DEAF: Duration = Duration::from_secs(20);
/// The first pause before a server that failed is started again; it doubles from one to the next, up to the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// How often in a row a server is started by itself. After that, only when someone asks for it.
const RETRIES: u32 = 8;

impl Relay {
    /// The client opens the conversation in the legacy era.
    pub(super) fn initialize(&mut self, id: &Id, frame: Frame, headers: Vec<(String, String)>) {
        if self.single() && self.client.opened && self.servers[0].phase == Phase::Ready {
            // It begins anew on the same connection; a server knows best what to say to that.
            return self.pass_plain(0, id, &frame, headers, None);
        }
        let params = frame.params().unwrap_or_else(|| Bytes::from_static(b"{}"));
        let of = |keys: &[&str]| wording::text(&params, keys).unwrap_or_default();
        self.client.who =
            crate::surface::Client::new(of(&["clientInfo", "name"]), of(&["clientInfo", "version"]));
        self.client.version = of(&["protocolVersion"]);
        self.client.capabilities = wording::member(&params, &["capabilities"]).unwrap_or_default();
        self.client.era = Some(Era::Legacy);
        self.client.init = Some(params);
        self.client.meta = None;
        self.outdated = true;
        self.look_up_manifests(Era::Legacy);
        self.opening = Some(Opening { id: id.clone(), message: frame.bytes().clone(), headers });
        self.begin();
    }

    /// The client opens the conversation in the modern era.
    pub(super) fn discover(&mut self, id: &Id, frame: Frame, headers: Vec<(String, String)>) {
        if self.client.era == Some(Era::Legacy) {
            return if self.single() {
                self.pass_plain(0, id, &frame, headers, None)
            } else {
                self.answer_error(
                    id,
                    wording::METHOD_NOT_FOUND,
                    "this conversation was opened by `initialize`",
                )
            };
        }
        if !frame.is_modern() && self.client.era.is_none() {
            self.client.era = Some(Era::Modern);
            self.look_up_manifests(Era::Modern);
        }
        if self.single() && self.servers[0].phase == Phase::Cold {
            // A server that is known to be of the other era need not be started to say so.
            let key = self.manifest_key(0, Era::Modern);
            if let Some(error) = self.world.shelf.refusal(&key) {
                self.client.era = None;
                let bytes = wording::response(id, "error", &error);
                return self.answer(id, bytes, None);
            }
        }
        self.opening = Some(Opening { id: id.clone(), message: frame.bytes().clone(), headers });
        self.begin();
    }

    /// Starts what must be started before the client has its answer.
    fn begin(&mut self) {
        if self.single() {
            if self.servers[0].manifest.as_ref().is_none_or(|manifest| manifest.opening.is_empty()) {
                self.open_through();
            }
        } else {
            for server in 0..self.servers.len() {
                if self.servers[server].manifest.is_none() && self.servers[server].phase == Phase::Cold {
                    self.start(server);
                }
            }
            let hears = self.client.who.profile.and_then(|profile| profile.list_changed);
            let patience =
                if hears.is_some_and(|fact| fact.value) { PATIENCE } else { PATIENCE_WITH_THE_DEAF };
            self.patience = Some(self.now + patience);
        }
        self.try_open();
    }

    /// Passes the client's own opening on to the one server there is.
    fn open_through(&mut self) {
        let Some(opening) = self.opening.take() else { return };
        let known = &mut self.servers[0];
        if known.phase == Phase::Failed && known.retry_at.is_some() && known.failures >= 3 {
            self.opening = Some(opening);
            return;
        }
        if matches!(known.phase, Phase::Cold | Phase::Failed) {
            self.launch(0);
        }
        self.servers[0].era = self.client.era;
        self.servers[0].phase = Phase::Opening;
        let Opening { id, message: bytes, headers } = opening;
        let method = if self.client.era == Some(Era::Modern) { "server/discover" } else { "initialize" };
        let mut message =
            self.outbound(0, bytes, Kind::Request { id: id.clone(), method: method.to_owned() });
        message.headers = headers;
        if self.client.era == Some(Era::Modern) {
            message.version = Some(MODERN_VERSION.to_owned());
        }
        self.out.push_back(Output::Send { server: 0, message: message.clone() });
        let call = super::Call {
            id: id.clone(),
            server: 0,
            message,
            purpose: Purpose::Opening,
            since: self.now,
            resent: false,
        };
        self.calls.insert(Key::of(&id), call);
    }

    /// Opens a link to a server, and nothing else.
    fn launch(&mut self, server: usize) {
        let known = &mut self.servers[server];
        known.generation += 1;
        known.phase = Phase::Opening;
        known.started_at = self.now;
        known.retry_at = None;
        known.opening = None;
        known.version = None;
        known.fresh = false;
        known.pages = None;
        known.awaited_since = None;
        known.begun_anew = 0;
        known.overdue = false;
        known.era = None;
        let generation = known.generation;
        self.out.push_back(Output::Start { server, generation });
    }

    /// Starts a server and opens the conversation with it as the client opened its own.
    pub(super) fn start(&mut self, server: usize) {
        if self.client.era.is_none() {
            return;
        }
        if self.single() && self.opening.is_some() && self.servers[server].manifest.is_none() {
            return self.open_through();
        }
        self.launch(server);
        match (self.client.era, self.client.init.clone()) {
            (Some(Era::Legacy), Some(params)) => {
                self.servers[server].era = Some(Era::Legacy);
                self.ask(server, Ask::Initialize, "initialize", &params);
            }
            _ if self.single() => {
                // There is no handshake: requests can be sent at once.
                self.servers[server].era = Some(Era::Modern);
                self.servers[server].version = Some(MODERN_VERSION.to_owned());
                self.ready(server);
            }
            _ => self.ask_discover(server),
        }
    }

    fn ask_discover(&mut self, server: usize) {
        self.servers[server].era = Some(Era::Modern);
        self.servers[server].version = Some(MODERN_VERSION.to_owned());
        let params = wording::with_members(b"{}", &[("_meta", &self.modern_meta())]);
        self.ask(server, Ask::Discover, "server/discover", &params);
    }

    /// `_meta` for our own requests of 2026-07-28: what the client says of itself in its own.
    pub(super) fn modern_meta(&self) -> Bytes {
        if let Some(meta) = &self.client.meta {
            return meta.clone();
        }
        // A client of the legacy era can be asked questions only in a way that a server of the other era does not use, so
        // that it has none of these capabilities there.
        let params = self.client.init.clone().unwrap_or_default();
        let info = wording::member(&params, &["clientInfo"])
            .unwrap_or_else(|| Bytes::from_static(br#"{"name":"deadweight","version":"0"}"#));
        let version = super::frame::quoted(MODERN_VERSION);
        wording::with_members(
            b"{}",
            &[
                ("io.modelcontextprotocol/protocolVersion", version.as_bytes()),
                ("io.modelcontextprotocol/clientInfo", &info),
                ("io.modelcontextprotocol/clientCapabilities", b"{}"),
            ],
        )
    }

    /// A server answered our own `initialize`.
    pub(super) fn initialized_by_us(&mut self, server: usize, frame: &Frame) {
        let Some(result) = frame.result().filter(|_| !frame.is_error()) else {
            // It may be of the modern era only.
            return self.ask_discover(server);
        };
        self.open_with(server, result);
        self.tell(server, "notifications/initialized", crate::message::initialized(), None);
        self.ready(server);
    }

    /// A server answered our own `server/discover`.
    pub(super) fn discovered_by_us(&mut self, server: usize, frame: &Frame) {
        let Some(result) = frame.result().filter(|result| !frame.is_error() && is_discovery(result)) else {
            if self.client.era == Some(Era::Modern) && self.servers[server].opening.is_none() {
                // A server of the legacy era behind a client of the modern one: it is opened without any capability, since
                // nothing that it asked could be passed on.
                self.servers[server].era = Some(Era::Legacy);
                self.servers[server].version = None;
                let info = wording::member(&self.modern_meta(), &["io.modelcontextprotocol/clientInfo"])
                    .unwrap_or_else(|| Bytes::from_static(br#"{"name":"deadweight","version":"0"}"#));
                let version = super::frame::quoted(LEGACY_VERSION);
                let params = wording::with_members(
                    b"{}",
                    &[
                        ("protocolVersion", version.as_bytes()),
                        ("capabilities", b"{}"),
                        ("clientInfo", &info),
                    ],
                );
                return self.ask_last_resort(server, &params);
            }
            let message = wording::text(frame.bytes(), &["error", "message"]).unwrap_or_default();
            let message = crate::harmless::excerpt(message.as_bytes(), 200);
            return self.fail(server, format!("it refused `initialize` and `server/discover`: {message}"));
        };
        self.open_with(server, result);
        self.ready(server);
    }

    fn ask_last_resort(&mut self, server: usize, params: &[u8]) {
        // Marks that there is nothing to try after it.
        self.servers[server].opening = Some(Bytes::from_static(b"{}"));
        self.ask(server, Ask::Initialize, "initialize", params);
    }

    /// Keeps what a server said about itself.
    fn open_with(&mut self, server: usize, result: Bytes) {
        let known = &mut self.servers[server];
        if known.era == Some(Era::Legacy) {
            known.version = wording::text(&result, &["protocolVersion"]);
        }
        known.opening = Some(result);
    }

    /// A server can be asked.
    pub(super) fn ready(&mut self, server: usize) {
        let known = &mut self.servers[server];
        known.phase = Phase::Ready;
        known.failure = None;
        known.once_more = false;
        let again: Vec<(&'static str, Bytes)> = if known.generation > 1 {
            let level = known.level.iter().map(|params| ("logging/setLevel", params.clone()));
            let subscribed =
                known.subscriptions.values().map(|params| ("resources/subscribe", params.clone()));
            level.chain(subscribed).collect()
        } else {
            Vec::new()
        };
        let queue: Vec<Outbound> = known.queue.drain(..).collect();
        for (method, params) in again {
            self.ask(server, Ask::Again, method, &params);
        }
        // Where what is in the lock decides, nothing passes before it is known what the server's tools are now.
        let wait = self.is_quarantined() && self.list_of(server) != List::Fresh;
        for mut message in queue {
            if wait {
                self.servers[server].queue.push_back(message);
            } else {
                self.set_era(server, &mut message);
                self.out.push_back(Output::Send { server, message });
            }
        }
        self.fetch_first_list(server);
        self.send_parts(server);
        self.go_on();
    }

    /// Sends what waited for the list of a server.
    pub(super) fn release_queue(&mut self, server: usize) {
        if self.servers[server].phase != Phase::Ready {
            return;
        }
        let queue: Vec<Outbound> = self.servers[server].queue.drain(..).collect();
        for mut message in queue {
            self.set_era(server, &mut message);
            self.out.push_back(Output::Send { server, message });
        }
    }

    /// The one server there is answered the client's own opening.
    pub(super) fn opened_through(&mut self, id: &Id, frame: &Frame, status: Option<u16>) {
        let legacy = self.client.era == Some(Era::Legacy);
        let opens = |result: &Bytes| !frame.is_error() && (legacy || is_discovery(result));
        let Some(result) = frame.result().filter(opens) else {
            if legacy && self.client.init.is_some() && speaks_only_modern(frame) {
                // The client cannot speak as the server does; so it is done for it.
                let params = self.client.init.clone().unwrap_or_default();
                let message = wording::request(id, "initialize", &params);
                self.opening = Some(Opening { id: id.clone(), message, headers: Vec::new() });
                return self.ask_discover(0);
            }
            // It says no, as it would without us. It may still say yes to the other way of opening.
            if !legacy
                && let Some(error) = wording::member(frame.bytes(), &["error"])
                && wording::member(&error, &["code"]).as_deref() == Some(b"-32601")
            {
                let key = self.manifest_key(0, Era::Modern);
                self.world.shelf.keep_refusal(&key, &error);
            }
            self.answer(id, frame.bytes().clone(), status);
            self.client.era = None;
            self.servers[0].phase = Phase::Ready;
            self.release_queue(0);
            if !self.lists.is_empty() || !self.held.is_empty() {
                self.fetch(0);
            }
            return;
        };
        self.client.expects_changes = wording::has(&result, &["capabilities", "tools", "listChanged"]);
        self.open_with(0, result);
        self.client.opened = true;
        self.answer(id, frame.bytes().clone(), status);
        if !legacy {
            self.servers[0].version = Some(MODERN_VERSION.to_owned());
            self.ready(0);
        }
        // Otherwise the client's own `notifications/initialized` comes next, and is passed on. Some send it at once.
        if legacy && self.client.initialized {
            self.client_is_initialized(crate::message::initialized());
        }
    }

    /// Answers the client's opening, if everything for it is there.
    pub(super) fn try_open(&mut self) {
        let Some(Opening { id, .. }) = &self.opening else { return };
        let id = id.clone();
        let settled = |server: &super::Server| {
            let said = |manifest: &Arc<Manifest>| !manifest.opening.is_empty();
            server.manifest.as_ref().is_some_and(said)
                || server.phase == Phase::Failed
                || (server.phase == Phase::Ready && (server.fresh || server.list_error.is_some()))
        };
        let waiting = self.patience.is_some();
        if self.servers.iter().any(|server| !settled(server)) && (self.single() || waiting) {
            return;
        }
        self.opening = None;
        self.patience = None;
        let result = if self.single() { self.opening_of_one() } else { self.opening_of_all() };
        self.client.opened = true;
        self.client.expects_changes = wording::has(&result, &["capabilities", "tools", "listChanged"]);
        self.answer_result(&id, &result);
    }

    fn opening_of_one(&mut self) -> Bytes {
        let known = &self.servers[0];
        let modern = self.client.era == Some(Era::Modern);
        let said = known
            .opening
            .clone()
            .or_else(|| known.manifest.as_ref().map(|manifest| manifest.opening.clone()));
        if let Some(said) = said.filter(|said| !said.is_empty()) {
            // What is known was said in the client's own era, or it is put into it.
            let spoken = wording::member(&said, &["protocolVersion"]).is_none();
            if spoken == modern {
                return said;
            }
            let capabilities =
                wording::member(&said, &["capabilities"]).unwrap_or_else(|| Bytes::from_static(b"{}"));
            let info = wording::member(&said, &["_meta", "io.modelcontextprotocol/serverInfo"])
                .or_else(|| wording::member(&said, &["serverInfo"]))
                .unwrap_or_else(|| Bytes::from_static(br#"{"name":"","version":""}"#));
            let version = super::frame::quoted(self.legacy_version());
            let mut members: Vec<(&str, &[u8])> = vec![
                ("protocolVersion", version.as_bytes()),
                ("capabilities", &capabilities),
                ("serverInfo", &info),
            ];
            let instructions = wording::member(&said, &["instructions"]);
            if let Some(instructions) = &instructions {
                members.push(("instructions", instructions));
            }
            return wording::with_members(b"{}", &members);
        }
        let label = self.world.labels[0].clone();
        let reason = known.failure.clone().unwrap_or_default();
        let instructions = wording::not_available(&label, &reason);
        let capabilities = r#"{"tools":{"listChanged":true}}"#;
        if modern {
            wording::own_discovery(&label, capabilities, &instructions, &[])
        } else {
            wording::own_opening(self.legacy_version(), &label, capabilities, &instructions)
        }
    }

    /// The version of the legacy era to speak with this client: its own, if it is known.
    fn legacy_version(&self) -> &'static str {
        let known = KNOWN_VERSIONS.iter().filter(|version| **version != MODERN_VERSION);
        known.copied().find(|version| *version == self.client.version).unwrap_or(LEGACY_VERSION)
    }

    fn opening_of_all(&mut self) -> Bytes {
        let modern = self.client.era == Some(Era::Modern);
        let mut instructions: Vec<String> = Vec::new();
        let mut has = [false; 5];
        let names = ["resources", "prompts", "logging", "completions", "tasks"];
        let mut subscribe = false;
        for (server, label) in self.servers.iter().zip(&self.world.labels) {
            let said = server
                .opening
                .clone()
                .or_else(|| server.manifest.as_ref().map(|manifest| manifest.opening.clone()));
            match (said, &server.failure) {
                (_, Some(reason)) => instructions.push(wording::not_available(label, reason)),
                (Some(said), None) => {
                    for (has, name) in has.iter_mut().zip(names) {
                        *has |= wording::has(&said, &["capabilities", name]);
                    }
                    subscribe |= wording::has(&said, &["capabilities", "resources", "subscribe"]);
                    let text = wording::text(&said, &["instructions"]).filter(|text| !text.trim().is_empty());
                    if let Some(text) = text {
                        instructions.push(format!("# {label}\n{}", text.trim()));
                    }
                }
                (None, None) => instructions.push(format!(
                    "The MCP server `{label}` is still starting. Its tools come when it is ready."
                )),
            }
        }
        let mut capabilities = vec![r#""tools":{"listChanged":true}"#.to_owned()];
        let [resources, prompts, logging, completions, _] = has;
        if resources {
            let subscribe = if subscribe { r#""subscribe":true,"# } else { "" };
            capabilities.push(format!(r#""resources":{{{subscribe}"listChanged":true}}"#));
        }
        if prompts {
            capabilities.push(r#""prompts":{"listChanged":true}"#.to_owned());
        }
        if logging && !modern {
            capabilities.push(r#""logging":{}"#.to_owned());
        }
        if completions {
            capabilities.push(r#""completions":{}"#.to_owned());
        }
        let capabilities = format!("{{{}}}", capabilities.join(","));
        let instructions = instructions.join("\n\n");
        if modern {
            let legacy: Vec<&str> =
                KNOWN_VERSIONS.iter().copied().filter(|version| *version != MODERN_VERSION).collect();
            wording::own_discovery(&self.world.settings.entry, &capabilities, &instructions, &legacy)
        } else {
            wording::own_opening(
                self.legacy_version(),
                &self.world.settings.entry,
                &capabilities,
                &instructions,
            )
        }
    }

    /// Takes what is known of the servers from earlier connections.
    pub(super) fn look_up_manifests(&mut self, era: Era) {
        for server in 0..self.servers.len() {
            if self.servers[server].phase == Phase::Ready || self.servers[server].manifest.is_some() {
                continue;
            }
            let key = self.manifest_key(server, era);
            let manifest = self.world.shelf.manifest(&key);
            self.servers[server].manifest = manifest.map(Arc::new);
        }
    }

    pub(super) fn manifest_key(&self, server: usize, era: Era) -> String {
        catalogue::manifest_key(&catalogue::Circumstances {
            spec: &self.world.specs[server],
            era,
            version: &self.client.version,
            client: &self.client.who,
            capabilities: &self.client.capabilities,
        })
    }

    /// Keeps what a server said and listed.
    pub(super) fn keep_manifest(&mut self, server: usize, manifest: Manifest) {
        let era = self.client.era.unwrap_or(Era::Legacy);
        let key = self.manifest_key(server, era);
        if !manifest.tools.is_empty() && !manifest.opening.is_empty() {
            self.world.shelf.keep_manifest(&key, &manifest);
        }
        self.servers[server].manifest = Some(Arc::new(manifest));
        self.listed = None;
    }

    /// A server does not work. It is started again after a pause.
    pub(super) fn fail(&mut self, server: usize, reason: String) {
        let label = self.world.labels[server].clone();
        self.note(format!("{label}: {reason}"));
        let known = &mut self.servers[server];
        known.phase = Phase::Failed;
        known.failures += 1;
        known.pages = None;
        known.failure = Some(reason.clone());
        let pause = FIRST_PAUSE.saturating_mul(1 << (known.failures - 1).min(16)).min(LONGEST_PAUSE);
        known.retry_at = (known.failures <= RETRIES).then(|| self.now + pause);
        known.queue.clear();
        self.let_go(server);
        let text = wording::not_available(&label, &reason);
        self.drop_held(server, &text);
        self.drop_work(server, &text);
        self.go_on();
    }
}

/// Whether a result is one of `server/discover`. Some servers answer whatever they do not know with an empty result, and are
/// of the legacy era all the same.
fn is_discovery(result: &[u8]) -> bool {
    wording::member(result, &["supportedVersions"]).is_some_and(|versions| versions.starts_with(b"["))
}

/// Whether a server says that it knows no `initialize`.
fn speaks_only_modern(frame: &Frame) -> bool {
    let code = wording::member(frame.bytes(), &["error", "code"]);
    let code = code.and_then(|code| String::from_utf8_lossy(&code).parse::<f64>().ok()).unwrap_or_default();
    code == -32601.0 || code == -32022.0
}
