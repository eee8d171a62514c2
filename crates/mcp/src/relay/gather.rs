//! An aggregate's requests that are not about tools: lists put together from several servers, and the way to the server that
//! has a prompt, a resource or a task.

use super::client::add_name;
use super::frame::{Frame, Key, quoted};
use super::port::Id;
use super::{Ask, Phase, Purpose, Relay, wording};
use crate::listing::Era;
use crate::surface::Namer;
use bytes::Bytes;
use deadweight_wire::json::Parser;
use std::collections::BTreeMap;
use std::time::Duration;

/// How long a slow server may hold up a list of all.
const PATIENCE: Duration = Duration::from_secs(5);
/// Pages of one server that are read, and elements of all.
const PAGES: usize = 1_000;
const ELEMENTS: usize = 100_000;

/// The lists that tell whose a resource is.
const LISTS: [&str; 2] = ["resources/list", "resources/templates/list"];

/// A list that is being put together.
#[derive(Debug)]
pub(super) struct Gather {
    id: Id,
    method: String,
    member: &'static str,
    /// What each server has given.
    parts: BTreeMap<usize, Vec<Bytes>>,
    /// The servers that have not given all, and the pages they have given.
    open: BTreeMap<usize, usize>,
    until: Duration,
    purpose: For,
}

/// What a list is put together for.
#[derive(Debug)]
enum For {
    /// The client asked for it.
    Client,
    /// To learn whose a prompt or a resource is; then this request goes on.
    Owner(Box<Sought>),
}

/// A request about something of which it is not known which server has it.
#[derive(Debug)]
struct Sought {
    frame: Frame,
    headers: Vec<(String, String)>,
    /// The lists that were looked through for it.
    lists: usize,
}

impl Gather {
    pub(super) const fn until(&self) -> Option<Duration> {
        Some(self.until)
    }

    pub(super) fn is_for(&self, id: &Id) -> bool {
        self.id == *id
    }
}

/// The member of a list's result, and the capability behind it.
fn list_of(method: &str) -> Option<(&'static str, &'static str)> {
    Some(match method {
        "prompts/list" => ("prompts", "prompts"),
        "resources/list" => ("resources", "resources"),
        "resources/templates/list" => ("resourceTemplates", "resources"),
        "tasks/list" => ("tasks", "tasks"),
        _ => return None,
    })
}

impl Relay {
    /// A request of the client to an aggregate.
    pub(super) fn route(&mut self, id: &Id, method: &str, frame: Frame, headers: Vec<(String, String)>) {
        if list_of(method).is_some() {
            return self.gather(id, method, For::Client);
        }
        self.route_to_owner(id, method, Sought { frame, headers, lists: 0 });
    }

    /// A request that one server has the answer to. A client may know of a prompt or a resource from an earlier connection,
    /// or out of a result; so where it is not known whose it is, the lists are looked through first.
    fn route_to_owner(&mut self, id: &Id, method: &str, sought: Sought) {
        let Sought { frame, headers, lists } = sought;
        match method {
            "prompts/get" | "completion/complete" if method == "prompts/get" || frame.uri().is_none() => {
                match frame.name().and_then(|name| self.prompts.get(name).cloned()) {
                    Some((server, name)) => {
                        let bytes = frame.with_name(&name);
                        self.pass_renamed(server, id, &frame, headers, bytes, &name);
                    }
                    None if lists == 0 && frame.name().is_some() => {
                        let sought = Sought { frame, headers, lists: 1 };
                        self.gather(id, "prompts/list", For::Owner(Box::new(sought)));
                    }
                    None => self.answer_error(
                        id,
                        wording::INVALID_PARAMS,
                        "there is no such prompt; see `prompts/list`",
                    ),
                }
            }
            "completion/complete" | "resources/read" | "resources/subscribe" | "resources/unsubscribe" => {
                self.route_by_uri(id, Sought { frame, headers, lists });
            }
            "tasks/get" | "tasks/result" | "tasks/cancel" | "tasks/update" => {
                let task = frame.params().and_then(|params| wording::text(&params, &["taskId"]));
                match task.and_then(|task| self.owners.get(&task).copied()) {
                    Some(server) => self.pass_plain(server, id, &frame, headers, None),
                    None => self.answer_error(id, wording::INVALID_PARAMS, "there is no such task"),
                }
            }
            "logging/setLevel" => {
                let params = frame.params().unwrap_or_else(|| Bytes::from_static(b"{}"));
                for server in 0..self.servers.len() {
                    self.servers[server].level = Some(params.clone());
                    if self.servers[server].phase == Phase::Ready && self.has(server, "logging") {
                        self.ask(server, Ask::Again, method, &params);
                    }
                }
                self.answer_result(id, b"{}");
            }
            "subscriptions/listen" => self.listen(id, &frame),
            _ => self.answer_error(id, wording::METHOD_NOT_FOUND, "Method not found"),
        }
    }

    fn pass_renamed(
        &mut self,
        server: usize,
        id: &Id,
        frame: &Frame,
        mut headers: Vec<(String, String)>,
        bytes: Bytes,
        name: &str,
    ) {
        add_name(&mut headers, Some(name));
        let mut message = self.outbound(server, bytes, frame.kind().clone());
        message.headers = headers;
        self.pass(server, id, frame.token(), message, Purpose::Plain);
    }

    fn route_by_uri(&mut self, id: &Id, sought: Sought) {
        let Sought { frame, headers, lists } = sought;
        let Some(uri) = frame.uri().map(str::to_owned) else {
            return self.answer_error(id, wording::INVALID_PARAMS, "`params.uri` is missing");
        };
        // Only when all lists are known is a template a better guess than another one.
        let by_template = || self.owner_by_template(&uri).filter(|_| lists == 0 || lists == LISTS.len());
        let owner = self.owners.get(&uri).copied().or_else(by_template);
        let only = || {
            let mut having = (0..self.servers.len()).filter(|server| self.has(*server, "resources"));
            having.next().filter(|_| having.next().is_none())
        };
        match (owner.or_else(only), LISTS.get(lists)) {
            (Some(server), _) => self.pass_plain(server, id, &frame, headers, None),
            (None, Some(list)) => {
                let sought = Sought { frame, headers, lists: lists + 1 };
                self.gather(id, list, For::Owner(Box::new(sought)));
            }
            (None, None) => {
                let text = "no server is known to have this resource; see `resources/list`";
                self.answer_error(id, wording::INVALID_PARAMS, text);
            }
        }
    }

    /// The server with the template that begins most like this address.
    fn owner_by_template(&self, uri: &str) -> Option<usize> {
        self.owners
            .iter()
            .filter_map(|(template, server)| {
                let literal = template.split('{').next().filter(|literal| literal.len() < template.len())?;
                uri.starts_with(literal).then_some((literal.len(), *server))
            })
            .max()
            .map(|(_, server)| server)
    }

    /// Whether a server says that it can do something.
    fn has(&self, server: usize, capability: &str) -> bool {
        let known = &self.servers[server];
        let said =
            known.opening.as_ref().or_else(|| known.manifest.as_ref().map(|manifest| &manifest.opening));
        said.is_some_and(|said| wording::has(said, &["capabilities", capability]))
    }

    fn gather(&mut self, id: &Id, method: &str, purpose: For) {
        let Some((member, capability)) = list_of(method) else { return };
        self.last_ask += 1;
        let number = self.last_ask;
        let asked: Vec<usize> = (0..self.servers.len())
            .filter(|server| self.servers[*server].phase != Phase::Failed && self.has(*server, capability))
            .collect();
        let gather = Gather {
            id: id.clone(),
            method: method.to_owned(),
            member,
            parts: BTreeMap::new(),
            open: asked.iter().map(|server| (*server, 0)).collect(),
            until: self.now + PATIENCE,
            purpose,
        };
        self.gathers.insert(number, gather);
        for server in asked {
            if self.servers[server].phase == Phase::Ready {
                self.ask_part(number, server, None);
            } else if !self.start_for_request(server) {
                self.part_lost(number, server);
            }
        }
        self.finish_gather(number);
    }

    /// A server can be asked: what waited for that is asked.
    pub(super) fn send_parts(&mut self, server: usize) {
        let mut waiting: Vec<u64> = self
            .gathers
            .iter()
            .filter(|(_, gather)| gather.open.get(&server) == Some(&0) && !gather.parts.contains_key(&server))
            .map(|(number, _)| *number)
            .collect();
        waiting.sort_unstable();
        for number in waiting {
            self.ask_part(number, server, None);
        }
    }

    fn ask_part(&mut self, number: u64, server: usize, cursor: Option<&[u8]>) {
        let Some(gather) = self.gathers.get_mut(&number) else { return };
        gather.parts.entry(server).or_default();
        let method = gather.method.clone();
        let meta = self.modern_meta();
        let mut members: Vec<(&str, &[u8])> = Vec::new();
        if let Some(cursor) = cursor {
            members.push(("cursor", cursor));
        }
        if self.servers[server].era == Some(Era::Modern) {
            members.push(("_meta", &meta));
        }
        let params = wording::with_members(b"{}", &members);
        self.ask(server, Ask::Part(number), &method, &params);
    }

    /// A page of a part came.
    pub(super) fn part(&mut self, number: u64, server: usize, frame: &Frame) {
        let Some(gather) = self.gathers.get_mut(&number) else { return };
        let result = frame.result().filter(|_| !frame.is_error());
        let (elements, cursor) = match &result {
            Some(result) => read_part(result, gather.member),
            None => (Vec::new(), None),
        };
        let fresh = !elements.is_empty();
        let part = gather.parts.entry(server).or_default();
        part.extend(elements.into_iter().take(ELEMENTS));
        let pages = gather.open.entry(server).or_default();
        *pages += 1;
        match cursor.filter(|_| fresh && *pages < PAGES && part.len() < ELEMENTS) {
            Some(cursor) => self.ask_part(number, server, Some(&cursor)),
            None => {
                gather.open.remove(&server);
                self.finish_gather(number);
            }
        }
    }

    /// A server will not give its part.
    pub(super) fn part_lost(&mut self, number: u64, server: usize) {
        if let Some(gather) = self.gathers.get_mut(&number) {
            gather.open.remove(&server);
            self.finish_gather(number);
        }
    }

    /// A server will give none of its parts.
    pub(super) fn lose_parts(&mut self, server: usize) {
        let mut numbers: Vec<u64> = self.gathers.keys().copied().collect();
        numbers.sort_unstable();
        for number in numbers {
            self.part_lost(number, server);
        }
    }

    /// Lists that waited long enough are answered with what is there.
    pub(super) fn end_gathers(&mut self, now: Duration) {
        let mut late: Vec<u64> = self
            .gathers
            .iter()
            .filter(|(_, gather)| gather.until <= now)
            .map(|(number, _)| *number)
            .collect();
        late.sort_unstable();
        for number in late {
            if let Some(gather) = self.gathers.get_mut(&number) {
                let labels: Vec<&str> =
                    gather.open.keys().map(|server| self.world.labels[*server].as_str()).collect();
                let text = format!("{}: {} did not answer in time", gather.method, labels.join(", "));
                gather.open.clear();
                self.note(text);
                self.finish_gather(number);
            }
        }
    }

    /// Whether a request that was taken back was for such a list.
    pub(super) fn cancel_gather(&mut self, key: &Key) {
        self.gathers.retain(|_, gather| Key::of(&gather.id) != *key);
        self.listeners.remove(key);
    }

    fn finish_gather(&mut self, number: u64) {
        if self.gathers.get(&number).is_none_or(|gather| !gather.open.is_empty()) {
            return;
        }
        let Some(gather) = self.gathers.remove(&number) else { return };
        let namer = Namer::new(true, &self.world.settings.entry);
        let mut out = Vec::new();
        for (server, elements) in &gather.parts {
            for element in elements {
                let (element, key) = match gather.member {
                    "prompts" => {
                        let Some(name) = wording::text(element, &["name"]) else { continue };
                        let shown = namer.shown(&self.world.labels[*server], &name);
                        if self.prompts.get(&shown).is_some_and(|known| *known != (*server, name.clone())) {
                            continue;
                        }
                        self.prompts.insert(shown.clone(), (*server, name));
                        let renamed = super::frame::replaced(element, &["name"], quoted(&shown).as_bytes());
                        (renamed.unwrap_or_else(|| element.clone()), None)
                    }
                    "resourceTemplates" => (element.clone(), wording::text(element, &["uriTemplate"])),
                    "tasks" => (element.clone(), wording::text(element, &["taskId"])),
                    _ => (element.clone(), wording::text(element, &["uri"])),
                };
                if let Some(key) = key {
                    // Of two servers with the same address, the one that comes first in the configuration has it.
                    if *self.owners.entry(key).or_insert(*server) != *server {
                        continue;
                    }
                }
                out.push(element);
            }
        }
        if let For::Owner(sought) = gather.purpose {
            let method = sought.frame.method().unwrap_or_default().to_owned();
            return self.route_to_owner(&gather.id, &method, *sought);
        }
        let mut list = b"[".to_vec();
        list.extend_from_slice(&out.join(&b','));
        list.push(b']');
        let mut members: Vec<(&str, &[u8])> = vec![(gather.member, &list)];
        if self.client.era == Some(Era::Modern) {
            members.extend([
                ("resultType", &br#""complete""#[..]),
                ("ttlMs", b"0"),
                ("cacheScope", br#""private""#),
            ]);
        }
        let result = wording::with_members(b"{}", &members);
        self.answer_result(&gather.id, &result);
    }

    /// A client of 2026-07-28 wants to hear of changes: of those of every server. The request stays open until one of the two
    /// sides ends.
    fn listen(&mut self, id: &Id, frame: &Frame) {
        let params = frame.params().unwrap_or_default();
        let wanted =
            wording::member(&params, &["notifications"]).unwrap_or_else(|| Bytes::from_static(b"{}"));
        let params =
            wording::with_members(b"{}", &[("_meta", &subscription(id)), ("notifications", &wanted)]);
        let bytes = wording::notification("notifications/subscriptions/acknowledged", &params);
        self.say(bytes, Some(id.clone()));
        for server in 0..self.servers.len() {
            if self.servers[server].phase == Phase::Ready && self.servers[server].era == Some(Era::Modern) {
                let meta = self.modern_meta();
                let params = wording::with_members(b"{}", &[("_meta", &meta), ("notifications", &wanted)]);
                self.ask(server, Ask::Again, "subscriptions/listen", &params);
            }
        }
        let uris = Parser::new().scope(&wanted, |document| {
            let uris = document.ok()?.root().get("resourceSubscriptions")?;
            Some(
                uris.elements()
                    .filter_map(|uri| uri.as_str().map(|uri| uri.into_owned()))
                    .collect::<Vec<_>>(),
            )
        });
        for uri in uris.unwrap_or_default() {
            let Some(server) = self.owners.get(&uri).copied() else { continue };
            if self.servers[server].era == Some(Era::Legacy) {
                let params = Bytes::from(format!(r#"{{"uri":{}}}"#, quoted(&uri)));
                self.servers[server].subscriptions.insert(uri, params.clone());
                if self.servers[server].phase == Phase::Ready {
                    self.ask(server, Ask::Again, "resources/subscribe", &params);
                }
            }
        }
        self.listeners.insert(Key::of(id), (id.clone(), wanted));
    }

    /// Tells every listener of a change that wants to hear of it.
    pub(super) fn tell_listeners(&mut self, method: &str, params: &[u8]) {
        let uri = wording::text(params, &["uri"]);
        let wants = |wanted: &Bytes| match method {
            "notifications/tools/list_changed" => wording::has(wanted, &["toolsListChanged"]),
            "notifications/prompts/list_changed" => wording::has(wanted, &["promptsListChanged"]),
            "notifications/resources/list_changed" => wording::has(wanted, &["resourcesListChanged"]),
            "notifications/resources/updated" => {
                uri.as_ref().is_some_and(|uri| memchr::memmem::find(wanted, quoted(uri).as_bytes()).is_some())
            }
            _ => false,
        };
        let mut listeners: Vec<Id> =
            self.listeners.values().filter(|(_, wanted)| wants(wanted)).map(|(id, _)| id.clone()).collect();
        listeners.sort();
        for id in listeners {
            let params = wording::with_members(params, &[("_meta", &subscription(&id))]);
            self.say(wording::notification(method, &params), Some(id));
        }
    }
}

/// The `_meta` of what is told on a stream.
fn subscription(id: &Id) -> Bytes {
    wording::with_members(b"{}", &[("io.modelcontextprotocol/subscriptionId", id)])
}

/// The elements of a page, raw, and the raw cursor of the next one.
fn read_part(result: &Bytes, member: &str) -> (Vec<Bytes>, Option<Bytes>) {
    Parser::new().scope(result, |document| {
        let Ok(document) = document else { return (Vec::new(), None) };
        let list = document.root().get(member);
        let elements = list.into_iter().flat_map(|list| list.elements());
        let elements = elements.map(|element| result.slice(element.span().range())).collect();
        let cursor = document
            .root()
            .get("nextCursor")
            .filter(|cursor| cursor.as_str().is_some_and(|text| !text.is_empty()));
        (elements, cursor.map(|cursor| result.slice(cursor.span().range())))
    })
}
