//! The measuring: what the relay tells becomes records, off the way of whatever is forwarded.
//!
//! One thread reads the events, some at a time and behind whatever forwards. A request that has begun is priced and placed
//! in its conversation; when its answer is over, the provider's counters are set beside that, and the record goes to the
//! ledger and to [`Live`].
//!
//! [`Live`]: crate::live::Live

mod answer;
pub(crate) mod decode;
mod kinds;
mod layout;
mod money;
mod names;
mod passes;
mod request;
pub(crate) mod session;
mod tunnel;
mod turns;

#[cfg(test)]
mod tests;

use crate::exchange::{Begun, End, Ended, Event, Events, ExchangeId, Receipt};
use crate::live::Live;
use deadweight_estimate::{Estimator, Surface};
use deadweight_footprint::origin::Origins;
use deadweight_price::Book;
use deadweight_store::{self as store, Asked, Exchange};
use deadweight_wire::Dialect;
use deadweight_wire::json::Parser;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tunnel::Tunnel;
use turns::{Placed, Turns};

pub(crate) use money::rates;
pub use names::NameMap;

/// The window of a model, in tokens, where the book knows it.
#[must_use]
pub fn window(book: &Book, model: &str, at_ms: u64) -> Option<u64> {
    money::window(book, model, at_ms)
}

/// Is handed every record when it is complete.
pub type Observer = Box<dyn FnMut(&Exchange) + Send>;

/// What a measurer works with.
pub struct Setup {
    /// Who counts tokens.
    pub estimator: Box<dyn Estimator>,
    /// What models cost.
    pub book: Arc<Book>,
    /// What is known of the servers that the agents' tools come from.
    pub origins: Origins,
    /// Whose the tools are that proxies of ours show.
    pub names: NameMap,
    /// Where records go; `None`: nowhere but [`Live`].
    pub recorder: Option<Arc<store::Recorder>>,
    /// What is remembered of conversations from before.
    pub remembered: Vec<store::Lineage>,
    /// Others who want to see the records: metrics, a log.
    pub observers: Vec<Observer>,
}

/// How long the first event of a burst waits for others. Most requests are answered by then, and nothing that is read off
/// them takes the processor from the answer.
const GATHER: Duration = Duration::from_millis(20);
/// With so many bytes of bodies waiting nothing is waited for.
const ENOUGH: u64 = 16 << 20;
/// How often what is remembered of conversations is written down. It is more with every turn, and only the last counts.
/// With the time that the ledger's writer takes, a process that is killed loses no more than its last second.
const SAVE: Duration = Duration::from_millis(700);
/// How many sessions may wait for that.
const UNSAVED: usize = 256;
/// How often it is looked whether there is anything while nothing passes.
const LONG: Duration = Duration::from_secs(60);
/// How much of the room for bodies is kept while nothing passes, in bytes.
const ROOM: usize = 4 << 20;

/// Starts the measuring on a thread of its own. It ends when the relay is gone and all its events are read.
///
/// # Errors
///
/// When no thread can be started.
pub fn start(events: Events, setup: Setup, live: Arc<Live>) -> io::Result<JoinHandle<()>> {
    let mut measurer = Measurer::new(setup, live);
    std::thread::Builder::new().name("measure".to_owned()).spawn(move || {
        // Of this thread alone, which is how Linux has it: what forwards goes first.
        #[cfg(target_os = "linux")]
        let _ = rustix::process::setpriority_process(None, 10);
        loop {
            match events.next_within(measurer.due()) {
                Ok(event) => {
                    if events.waiting() < ENOUGH {
                        std::thread::sleep(GATHER);
                    }
                    measurer.take(event);
                    while let Some(event) = events.try_next() {
                        measurer.take(event);
                    }
                    measurer.rest();
                }
                Err(RecvTimeoutError::Timeout) => measurer.save(),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        measurer.save();
    })
}

/// The state of the measuring.
pub struct Measurer {
    estimator: Box<dyn Estimator>,
    book: Arc<Book>,
    origins: Origins,
    names: NameMap,
    recorder: Option<Arc<store::Recorder>>,
    observers: Vec<Observer>,
    live: Arc<Live>,
    parser: Parser,
    /// Where bodies that came in pieces are put together.
    room: Vec<u8>,
    turns: Turns,
    open: HashMap<ExchangeId, Open>,
    /// Sessions that are to be written down, with the time of their last turn.
    unsaved: BTreeMap<String, u64>,
    saved: Instant,
}

/// An exchange that is under way.
struct Open {
    exchange: Exchange,
    dialect: Option<Dialect>,
    placed: Option<Placed>,
    /// Where it has become a WebSocket.
    tunnel: Option<Box<Tunnel>>,
}

impl Measurer {
    /// A measurer that has seen nothing but what is remembered.
    #[must_use]
    pub fn new(setup: Setup, live: Arc<Live>) -> Self {
        Self {
            estimator: setup.estimator,
            book: setup.book,
            origins: setup.origins,
            names: setup.names,
            recorder: setup.recorder,
            observers: setup.observers,
            live,
            parser: Parser::new(),
            room: Vec::new(),
            turns: Turns::new(&setup.remembered),
            open: HashMap::new(),
            unsaved: BTreeMap::new(),
            saved: Instant::now(),
        }
    }

    /// Takes in one event.
    pub fn take(&mut self, event: Event) {
        match event {
            Event::Begun(begun) => self.begun(*begun),
            Event::Frame(frame) => {
                let done = self.frame(&frame);
                done.into_iter().for_each(|exchange| self.finish(exchange));
            }
            Event::Ended(ended) => self.ended(*ended),
        }
    }

    fn begun(&mut self, begun: Begun) {
        let mut open = Open { exchange: record(&begun), dialect: begun.dialect, placed: None, tunnel: None };
        match open.exchange.asked {
            Asked::Generate | Asked::Count => {
                let measured = request::measure(
                    &begun,
                    &mut self.room,
                    &mut self.parser,
                    &self.origins,
                    &self.names,
                    &*self.estimator,
                );
                match measured {
                    Ok(measured) => self.measured(&begun, measured, &mut open),
                    Err(why) => open.exchange.unmeasured = Some(why.to_string()),
                }
            }
            Asked::Other => {}
        }
        if open.exchange.session.is_empty() {
            open.exchange.session = session::named(&begun.headers).unwrap_or_default();
        }
        if open.exchange.agent.is_none() {
            let known =
                begun.agent.as_deref().or_else(|| session::agent(&begun.headers).map(|agent| agent.id));
            open.exchange.agent = known.map(str::to_owned);
        }
        self.open.insert(begun.id, open);
    }

    fn measured(&mut self, begun: &Begun, measured: request::Measured, open: &mut Open) {
        let exchange = &mut open.exchange;
        open.dialect = Some(measured.dialect);
        exchange.dialect = Some(measured.dialect.name().to_owned());
        exchange.model = measured.model;
        exchange.agent = measured.agent.map(str::to_owned);
        exchange.session =
            session::named(&begun.headers).unwrap_or_else(|| measured.prefix.session().to_string());
        exchange.footprint = Some(measured.footprint);
        exchange.tools = Some(measured.tools);
        if exchange.asked != Asked::Generate {
            return;
        }
        let prefix = &measured.prefix;
        let sent = match exchange.receipt.changed() {
            true => request::sent(begun, measured.dialect, prefix, &mut self.room, &mut self.parser),
            false => None,
        };
        let placed = self.turns.place(&exchange.session, prefix, sent.as_ref(), millis(begun.at));
        exchange.conversation = placed.placement.conversation.to_string();
        exchange.turn = Some(placed.placement.request);
        exchange.calls = placed.calls(&measured.calls);
        exchange.cache = Some(placed.watch());
        open.placed = Some(placed);
    }

    fn ended(&mut self, ended: Ended) {
        let Some(mut open) = self.open.remove(&ended.id) else { return };
        if let Some(tunnel) = open.tunnel.take() {
            let cut = tunnel.cut(&self.book, &ended);
            cut.into_iter().for_each(|exchange| self.finish(exchange));
        }
        let read = answer::read(ended.answer, open.dialect, &mut self.room);
        let exchange = &mut open.exchange;
        exchange.ended = store::Ended {
            how: how(&ended.end, read.outcome.as_ref()).to_owned(),
            status: ended.status,
            error: match &ended.end {
                End::Complete | End::Refused { .. } => read.outcome.as_ref().and_then(answer::error),
                end => end.detail().map(|detail| kinds::of_connection(detail).to_owned()),
            },
            request_id: ended.request_id,
            streamed: read.streamed,
            first_byte_us: ended.first_byte.map(micros),
            took_us: micros(ended.took),
            answer_bytes: ended.answer_bytes,
        };
        self.settle(&mut open, read.outcome.as_ref());
        let outcome = read.outcome.as_ref();
        let passes = outcome.map_or_else(Vec::new, |outcome| passes::of(&self.book, &open.exchange, outcome));
        self.finish(open.exchange);
        passes.into_iter().for_each(|pass| self.finish(pass));
    }

    /// Sets what the provider said beside what was measured.
    fn settle(&mut self, open: &mut Open, outcome: Option<&deadweight_wire::usage::Outcome>) {
        let exchange = &mut open.exchange;
        let answered = exchange.ended.status.is_some_and(|status| (200..300).contains(&status));
        if let Some(outcome) = outcome {
            exchange.usage = answer::observed(&outcome.counters);
            exchange.cost = money::cost(&self.book, exchange, outcome);
        }
        let Some(placed) = &open.placed else { return };
        if !answered {
            self.turns.failed(&exchange.session, placed);
        }
        if let Some(mut watch) = exchange.cache.take() {
            placed.settle(&mut watch, outcome, exchange.usage);
            watch.lost_nano = money::of_loss(&self.book, exchange, watch.lost_tokens);
            if let Some(received) = &mut watch.received {
                received.lost_nano = money::of_loss(&self.book, exchange, received.lost_tokens);
            }
            exchange.cache = Some(watch);
        }
    }

    /// A record is complete.
    fn finish(&mut self, exchange: Exchange) {
        for observer in &mut self.observers {
            observer(&exchange);
        }
        self.live.observe(&exchange);
        let Some(recorder) = &self.recorder else { return };
        if exchange.turn.is_some() {
            match self.unsaved.get_mut(&exchange.session) {
                Some(at_ms) => *at_ms = exchange.at_ms,
                None => {
                    self.unsaved.insert(exchange.session.clone(), exchange.at_ms);
                }
            }
        }
        recorder.exchange(exchange);
        if self.unsaved.len() >= UNSAVED || self.saved.elapsed() >= SAVE {
            self.save();
        }
    }

    /// Writes down what is remembered of the conversations that went on since it was last done.
    pub fn save(&mut self) {
        self.saved = Instant::now();
        let Some(recorder) = &self.recorder else { return };
        for (session, at_ms) in std::mem::take(&mut self.unsaved) {
            if let Some(state) = self.turns.save(&session) {
                let sent = self.turns.save_sent(&session);
                recorder.lineage(store::Lineage { session, at_ms, state, sent });
            }
        }
    }

    /// In how long the next of these is to be written down.
    fn due(&self) -> Duration {
        if self.unsaved.is_empty() { LONG } else { SAVE.saturating_sub(self.saved.elapsed()) }
    }

    /// Nothing waits to be taken in.
    fn rest(&mut self) {
        if self.room.capacity() > ROOM {
            self.room = Vec::new();
        }
    }
}

/// What is known of a request before its body is looked into.
fn record(begun: &Begun) -> Exchange {
    let receipt = Receipt::of(&begun.received, &begun.sent);
    let edited = begun.edited.as_ref();
    Exchange {
        id: begun.id.to_string(),
        at_ms: millis(begun.at),
        provider: begun.provider.name().to_owned(),
        asked: request::asked(begun),
        dialect: begun.dialect.map(|dialect| dialect.name().to_owned()),
        method: begun.method.clone(),
        path: begun.path.clone(),
        ended: store::Ended { how: "open".to_owned(), ..store::Ended::default() },
        receipt: store::Receipt {
            received_bytes: begun.received.length,
            received_sha256: receipt.received.map(hex),
            sent_bytes: begun.sent.length,
            sent_sha256: receipt.sent.map(hex),
            splices: edited.into_iter().flat_map(|edited| &edited.splices).map(splice).collect(),
        },
        levers: edited.into_iter().flat_map(actions).collect(),
        ..Exchange::default()
    }
}

/// How an exchange ended. Who leaves when the answer has said that it is over has heard all of it: some clients do not wait
/// for the connection to say so too.
fn how(end: &End, outcome: Option<&deadweight_wire::usage::Outcome>) -> &'static str {
    let is_over = outcome.is_some_and(|outcome| outcome.end == deadweight_wire::usage::End::Complete);
    if *end == End::ClientLeft && is_over { End::Complete.name() } else { end.name() }
}

fn splice(splice: &crate::exchange::Spliced) -> store::Splice {
    store::Splice {
        at: splice.at.start,
        removed: splice.at.end.saturating_sub(splice.at.start),
        inserted: splice.length,
        lever: splice.lever.to_owned(),
    }
}

fn actions(edited: &crate::exchange::Edited) -> impl Iterator<Item = store::LeverAction> {
    edited.actions.iter().map(|action| store::LeverAction {
        lever: action.lever.to_owned(),
        edited: action.edited(),
        decided: u64::from(action.decided),
        replayed: u64::from(action.replayed),
        reason: action.reason().to_owned(),
        splices: edited.splices.iter().filter(|splice| splice.lever == action.lever).count() as u64,
        bytes: action.saved_bytes,
        tokens: tokens(action),
        break_even: action.break_even,
        names: action.names.clone(),
    })
}

/// Bytes that a lever took out, in tokens (ESTIMATED, `calibrated`).
fn tokens(action: &crate::exchange::LeverAction) -> i64 {
    let surface = if action.lever == "prune-tools" { Surface::ToolDefinition } else { Surface::Prose };
    let tokens =
        deadweight_estimate::calibrated().ratios().of(surface).floor(action.saved_bytes.unsigned_abs());
    i64::try_from(tokens).unwrap_or(i64::MAX) * action.saved_bytes.signum()
}

/// Milliseconds since 1970; a clock before that is 0.
fn millis(at: SystemTime) -> u64 {
    at.duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

fn hex(hash: crate::exchange::Hash) -> String {
    use std::fmt::Write as _;
    hash.iter().fold(String::with_capacity(64), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
