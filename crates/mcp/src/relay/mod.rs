//! The relay: one client's connection and the servers behind it, without any I/O of its own.
//!
//! A [`Relay`] is told what the client and the servers said and what time it is, and answers with what is to be done
//! ([`Output`]). Messages pass as the bytes they came in. What it does beyond passing them on:
//!
//! - it starts servers when they are needed, opens the conversation with them as the client opened its own, and starts
//!   them again when they have ended;
//! - it answers `tools/list` itself, from all pages of the servers, as the [surface](crate::surface) shows them;
//! - it takes calls of tools through the surface, which coerces, validates, refuses or lets run;
//! - it sees to it that every request ends in exactly one answer, whatever a server does.
//!
//! Ids need no mapping on the way to the servers: a client's ids are unique, and our own questions have ids of a form that
//! is ours. On the way to the client they are mapped where two servers, or two lives of one, could use the same.

mod calls;
mod client;
pub(crate) mod frame;
mod fresh;
mod gather;
mod listing;
mod opening;
pub(crate) mod port;
mod reveal;
mod server;
#[cfg(test)]
mod tests;
pub(crate) mod wording;
mod world;

pub use world::{Called, Doing, Outcome, Work};
pub(crate) use world::{Shelf, Surfaces, World};

use crate::catalogue::Manifest;
use crate::listing::Era;
use crate::surface::{Client as Who, Surface};
use bytes::Bytes;
use deadweight_wire::json::Parser;
use frame::{Frame, Key};
use gather::Gather;
use listing::Pages;
use port::{Id, Kind, Outbound, ToClient};
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// What is to be done.
#[derive(Debug)]
pub(crate) enum Output {
    /// Open a link to a server, and report under this generation.
    Start { server: usize, generation: u64 },
    /// Send a message on the link of a server.
    Send { server: usize, message: Outbound },
    /// Close the link of a server, if it has one.
    Close { server: usize },
    /// Send a message to the client.
    Client(ToClient),
    /// A call of a tool is over.
    Called(Called),
    /// It was decided anew what the client is listed.
    Listed(Arc<Surface>),
    /// Something for the log.
    Note(String),
}

/// How far a server has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// It does not run.
    Cold,
    /// It was started; the conversation is not open yet.
    Opening,
    /// It can be asked.
    Ready,
    /// It could not be started, or not be talked to.
    Failed,
}

/// One server of the connection.
#[derive(Debug)]
struct Server {
    phase: Phase,
    generation: u64,
    /// The era it is spoken to in, once that is known.
    era: Option<Era>,
    /// The protocol version agreed on.
    version: Option<String>,
    /// What it said about itself when it was opened: the raw result.
    opening: Option<Bytes>,
    /// What it listed last, in this life or an earlier one.
    manifest: Option<Arc<Manifest>>,
    /// Whether the manifest is the list of this life, and nothing was said of a change since.
    fresh: bool,
    /// When the list was fetched.
    fetched_at: Duration,
    /// Whether a change was announced: then the list is not served from what is known.
    announced: bool,
    /// The list that is being fetched.
    pages: Option<Pages>,
    /// Since when it is waited for, and how often it was begun anew meanwhile because a change was announced.
    awaited_since: Option<Duration>,
    begun_anew: u32,
    /// Whether nobody waits for it any more, since it takes too long.
    overdue: bool,
    /// The error object that its list was answered with.
    list_error: Option<Bytes>,
    /// What waits until it can be asked.
    queue: VecDeque<Outbound>,
    /// Why it does not work, if it does not.
    failure: Option<String>,
    /// How often in a row it failed.
    failures: u32,
    /// Whether it was started once more because it ended as it was started.
    once_more: bool,
    /// When it is started again.
    retry_at: Option<Duration>,
    started_at: Duration,
    /// Subscriptions to resources, and the log level, said again when it is started again.
    subscriptions: BTreeMap<String, Bytes>,
    level: Option<Bytes>,
}

impl Server {
    const fn new() -> Self {
        Self {
            phase: Phase::Cold,
            generation: 0,
            era: None,
            version: None,
            opening: None,
            manifest: None,
            fresh: false,
            fetched_at: Duration::ZERO,
            announced: false,
            pages: None,
            awaited_since: None,
            begun_anew: 0,
            overdue: false,
            list_error: None,
            queue: VecDeque::new(),
            failure: None,
            failures: 0,
            once_more: false,
            retry_at: None,
            started_at: Duration::ZERO,
            subscriptions: BTreeMap::new(),
            level: None,
        }
    }
}

/// A request of the client that is under way at a server.
#[derive(Debug)]
struct Call {
    id: Id,
    server: usize,
    /// The message as it goes to the server; to send it again if it was certainly not worked on.
    message: Outbound,
    purpose: Purpose,
    since: Duration,
    resent: bool,
}

/// What a request of the client is for.
#[derive(Debug)]
enum Purpose {
    /// It is passed on, and so is its answer.
    Plain,
    /// It opens the conversation.
    Opening,
    /// It calls a tool.
    Tool(Work),
}

/// A question of our own to a server.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Ask {
    /// `initialize`.
    Initialize,
    /// `server/discover`.
    Discover,
    /// A page of `tools/list`.
    Tools,
    /// Something said again; the answer does not matter.
    Again,
    /// A part of a list that is put together from several servers.
    Part(u64),
}

/// A question of a server to the client.
#[derive(Debug)]
struct Question {
    server: usize,
    generation: u64,
    /// Its id at the server.
    id: Id,
    /// The token of its progress at the server, where another one was put in its place.
    token: Option<Bytes>,
}

/// The client of the connection.
#[derive(Debug, Default)]
struct Client {
    era: Option<Era>,
    who: Who,
    /// The raw `params` of its `initialize`.
    init: Option<Bytes>,
    /// The raw `_meta` of its latest request of 2026-07-28, without what belongs to that request alone.
    meta: Option<Bytes>,
    /// The raw capabilities.
    capabilities: Bytes,
    /// The protocol version it asked for.
    version: String,
    /// Whether it has its answer to `initialize` or `server/discover`.
    opened: bool,
    /// Whether it said `notifications/initialized`.
    initialized: bool,
    /// Whether it was told that the list of tools can change.
    expects_changes: bool,
}

/// The client's `initialize` or `server/discover`, while it waits.
#[derive(Debug)]
struct Opening {
    id: Id,
    message: Bytes,
    headers: Vec<(String, String)>,
}

/// A request that waits until it is known what is listed.
#[derive(Debug)]
struct Held {
    frame: Frame,
    headers: Vec<(String, String)>,
    /// Whose fresh list it waits for; without one, for that of every server.
    list_of: Option<usize>,
}

/// One client's connection.
pub(crate) struct Relay {
    world: Arc<World>,
    parser: Parser,
    now: Duration,
    client: Client,
    servers: Vec<Server>,
    surface: Option<Arc<Surface>>,
    /// The result that the list was served in, while it is the same.
    listed: Option<Bytes>,
    /// Tools whose definitions are listed because they were loaded, and the answers to loads that wait for the client to see
    /// that.
    revealed: HashSet<String>,
    revealing: Vec<reveal::Revealing>,
    /// Whether the surface must be made again before it is used.
    outdated: bool,
    /// Whether a warning about the surface was told.
    warned: HashSet<String>,
    /// Tools whose schemas the client has been shown: the name it knows, and the definition that it was shown.
    loaded: HashMap<String, Bytes>,
    calls: HashMap<Key, Call>,
    /// Which of the client's requests a progress token stands for.
    tokens: HashMap<Key, Id>,
    asks: HashMap<u64, (usize, Ask)>,
    last_ask: u64,
    questions: HashMap<Key, Question>,
    last_question: u64,
    /// The client's `initialize` or `server/discover`, while it waits.
    opening: Option<Opening>,
    /// The client's requests for the list, while they wait.
    lists: Vec<Held>,
    /// Calls that wait for the list.
    held: Vec<Held>,
    /// Until when the servers of an aggregate are waited for.
    patience: Option<Duration>,
    gathers: HashMap<u64, Gather>,
    /// Requests of 2026-07-28 to hear of changes, and of which.
    listeners: HashMap<Key, (Id, Bytes)>,
    /// Which server has a resource or a task.
    owners: HashMap<String, usize>,
    /// What the client calls a prompt, and whose it is under which name.
    prompts: HashMap<String, (usize, String)>,
    results: crate::surface::Results,
    out: VecDeque<Output>,
}

/// The ids of our own questions begin with this and with what tells this process from every other: a client of ours, or a
/// server, may be a proxy too.
const OWN: &str = "deadweight:";

impl Relay {
    /// A connection on which nothing was said yet.
    pub(crate) fn new(world: Arc<World>) -> Self {
        let servers = world.specs.iter().map(|_| Server::new()).collect();
        Self {
            world,
            parser: Parser::new(),
            now: Duration::ZERO,
            client: Client::default(),
            servers,
            surface: None,
            listed: None,
            revealed: HashSet::new(),
            revealing: Vec::new(),
            outdated: true,
            warned: HashSet::new(),
            loaded: HashMap::new(),
            calls: HashMap::new(),
            tokens: HashMap::new(),
            asks: HashMap::new(),
            last_ask: 0,
            questions: HashMap::new(),
            last_question: 0,
            opening: None,
            lists: Vec::new(),
            held: Vec::new(),
            patience: None,
            gathers: HashMap::new(),
            listeners: HashMap::new(),
            owners: HashMap::new(),
            prompts: HashMap::new(),
            results: crate::surface::Results::default(),
            out: VecDeque::new(),
        }
    }

    /// The next thing to be done.
    pub(crate) fn next(&mut self) -> Option<Output> {
        self.out.pop_front()
    }

    /// When [`tick`](Self::tick) is to be called at the latest.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        let retries = self.servers.iter().filter_map(|server| server.retry_at);
        let gathers = self.gathers.values().filter_map(|gather| gather.until());
        let reveals = self.revealing.iter().map(|one| one.until);
        retries.chain(gathers).chain(reveals).chain(self.patience).chain(self.lists_due()).min()
    }

    /// Time has passed.
    pub(crate) fn tick(&mut self, now: Duration) {
        self.now = now;
        if self.patience.is_some_and(|until| until <= now) {
            self.patience = None;
            self.go_on();
        }
        for server in 0..self.servers.len() {
            if self.servers[server].retry_at.is_some_and(|at| at <= now) {
                self.servers[server].retry_at = None;
                self.start(server);
            }
        }
        self.lists_overdue();
        self.end_gathers(now);
        self.end_reveals(false);
    }

    /// Whether nothing that the client asked is waited for.
    pub(crate) fn is_idle(&self) -> bool {
        self.calls.is_empty()
            && self.lists.is_empty()
            && self.held.is_empty()
            && self.gathers.is_empty()
            && self.revealing.is_empty()
            && self.opening.is_none()
    }

    fn single(&self) -> bool {
        !self.world.aggregate
    }

    /// The number of a question of our own with this id.
    fn own_number(&self, key: &Key) -> Option<u64> {
        let Key::Text(text) = key else { return None };
        let rest = text.strip_prefix(OWN)?.strip_prefix(&*self.world.nonce)?;
        rest.strip_prefix(':')?.parse().ok()
    }

    fn note(&mut self, text: impl Into<String>) {
        self.out.push_back(Output::Note(text.into()));
    }

    /// Sends the client an answer to one of its requests.
    fn answer(&mut self, id: &Id, bytes: Bytes, status: Option<u16>) {
        let message = ToClient { bytes, about: Some(id.clone()), status, end: true };
        self.out.push_back(Output::Client(message));
    }

    fn answer_result(&mut self, id: &Id, result: &[u8]) {
        let bytes = wording::response(id, "result", result);
        self.answer(id, bytes, None);
    }

    fn answer_error(&mut self, id: &Id, code: i64, message: &str) {
        let bytes = wording::error(id, code, message);
        self.answer(id, bytes, None);
    }

    /// Asks a server something of our own.
    fn ask(&mut self, server: usize, ask: Ask, method: &str, params: &[u8]) {
        self.last_ask += 1;
        let number = self.last_ask;
        self.asks.insert(number, (server, ask));
        let id = Bytes::from(format!("\"{OWN}{}:{number}\"", self.world.nonce));
        let bytes = wording::request(&id, method, params);
        let kind = Kind::Request { id, method: method.to_owned() };
        let message = self.outbound(server, bytes, kind);
        self.out.push_back(Output::Send { server, message });
    }

    /// Tells a server something.
    fn tell(&mut self, server: usize, method: &str, bytes: Bytes, about: Option<Id>) {
        let mut message = self.outbound(server, bytes, Kind::Notification { method: method.to_owned() });
        message.about = about;
        self.out.push_back(Output::Send { server, message });
    }

    /// A message in the era of a server.
    fn outbound(&self, server: usize, bytes: Bytes, kind: Kind) -> Outbound {
        let server = &self.servers[server];
        Outbound {
            bytes,
            kind,
            about: None,
            modern: server.era == Some(Era::Modern),
            version: server.version.clone(),
            headers: Vec::new(),
        }
    }

    /// Passes a request of the client on, at once or when the server can be asked.
    fn pass(
        &mut self,
        server: usize,
        id: &Id,
        token: Option<Bytes>,
        mut message: Outbound,
        purpose: Purpose,
    ) {
        if let Some(token) = token {
            self.tokens.insert(Key::of(&token), id.clone());
        }
        if self.servers[server].phase == Phase::Ready {
            self.set_era(server, &mut message);
            self.out.push_back(Output::Send { server, message: message.clone() });
        } else {
            if !self.start_for_request(server) {
                return self.refuse(server, id, purpose);
            }
            self.servers[server].queue.push_back(message.clone());
        }
        let call = Call { id: id.clone(), server, message, purpose, since: self.now, resent: false };
        self.calls.insert(Key::of(id), call);
    }

    /// Puts a message into the era that the server turned out to be in.
    fn set_era(&self, server: usize, message: &mut Outbound) {
        let known = &self.servers[server];
        message.version.clone_from(&known.version);
        message.modern = known.era == Some(Era::Modern);
        if message.modern && self.client.era == Some(Era::Legacy) {
            message.bytes = wording::modernised(&message.bytes, &self.modern_meta());
        }
    }

    /// Starts a server because someone asks for it. Not, when it failed again and again and is about to be tried again.
    fn start_for_request(&mut self, server: usize) -> bool {
        let known = &self.servers[server];
        match known.phase {
            Phase::Opening | Phase::Ready => true,
            // Nobody has said yet how to speak.
            _ if self.client.era.is_none() => false,
            Phase::Cold | Phase::Failed if known.failures >= 3 && known.retry_at.is_some() => false,
            Phase::Cold | Phase::Failed => {
                self.start(server);
                true
            }
        }
    }

    /// Answers a request whose server does not work.
    fn refuse(&mut self, server: usize, id: &Id, purpose: Purpose) {
        let label = &self.world.labels[server];
        let reason = self.servers[server].failure.clone().unwrap_or_else(|| "it does not run".to_owned());
        let text = wording::not_available(label, &reason);
        if let Purpose::Tool(work) = purpose {
            self.called(work, self.now, 0, Outcome::Crashed);
        }
        self.answer_error(id, wording::NOT_AVAILABLE, &text);
    }

    /// Books a call of a tool.
    fn called(&mut self, work: Work, since: Duration, bytes_out: usize, outcome: Outcome) {
        let took = self.now.saturating_sub(since);
        self.out.push_back(Output::Called(Called { work, bytes_out: bytes_out as u64, took, outcome }));
    }

    /// Closes the link of a server. What it may still say is not listened to.
    fn let_go(&mut self, server: usize) {
        let known = &mut self.servers[server];
        known.generation += 1;
        known.awaited_since = None;
        known.overdue = false;
        self.out.push_back(Output::Close { server });
    }

    /// Everything that waits for something is looked at again.
    fn go_on(&mut self) {
        self.try_open();
        self.release_held();
        self.serve_lists();
    }
}
