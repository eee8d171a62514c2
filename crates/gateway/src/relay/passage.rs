//! One exchange on its way: what is told of it, exactly once, whatever happens.

use super::notes::Notes;
use crate::clock::{self, Clock};
use crate::exchange::{
    Answer, Begun, Copied, Edited, End, Ended, Event, ExchangeId, Noted, Sink, Tunnelled, Unread,
};
use crate::provider::Provider;
use bytes::Bytes;
use deadweight_wire::Dialect;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// What is counted over all exchanges.
#[derive(Debug, Default)]
pub struct Counted {
    /// Exchanges that were begun.
    pub exchanges: AtomicU64,
    /// Exchanges that are open.
    pub open: AtomicU64,
    /// Connections of clients that are open.
    pub connections: AtomicU64,
    /// Connections to providers that were made.
    pub connects: AtomicU64,
    /// Requests that the gateway answered itself because it may not or cannot send them on.
    pub refused: AtomicU64,
    /// Bodies of requests that were too large to be measured.
    pub unmeasured: AtomicU64,
    /// The gateway is being stopped, and waits no longer.
    pub(crate) stopped: AtomicBool,
}

/// Whom events and notes are told, and what is counted: shared by all exchanges.
#[derive(Clone)]
pub(crate) struct Desk {
    pub(crate) sink: Sink,
    pub(crate) notes: Notes,
    pub(crate) counted: Arc<Counted>,
    pub(crate) clock: Clock,
}

impl fmt::Debug for Desk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Desk").field("counted", &self.counted).finish_non_exhaustive()
    }
}

/// What is known of a request by its head.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) provider: Provider,
    pub(crate) upstream: Arc<str>,
    pub(crate) agent: Option<Arc<str>>,
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) dialect: Option<Dialect>,
    pub(crate) headers: Noted,
}

/// One exchange.
#[derive(Debug)]
pub(crate) struct Passage {
    pub(crate) id: ExchangeId,
    at: SystemTime,
    started: Instant,
    desk: Desk,
    bound: u64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Until the request has been told.
    head: Option<Head>,
    received: Copied,
    /// What is sent in its place, where that is something else.
    sent: Option<Copied>,
    /// What levers did.
    edited: Option<Edited>,
    /// The request was read to its end.
    read: bool,
    /// It is not told before it is clear which body it was.
    open: bool,
    /// The client broke off in the middle of its body.
    broke: bool,
    ended: bool,
}

/// How an answer went.
#[derive(Debug)]
pub(crate) struct Went {
    pub(crate) status: Option<u16>,
    pub(crate) first_byte: Option<Instant>,
    pub(crate) answer_bytes: u64,
    pub(crate) answer: Answer,
    pub(crate) headers: Noted,
    pub(crate) tunnel: Option<Tunnelled>,
}

impl Went {
    /// There was no answer.
    pub(crate) fn nowhere() -> Self {
        Self {
            status: None,
            first_byte: None,
            answer_bytes: 0,
            answer: Answer::Unread(Unread::Absent),
            headers: Noted::default(),
            tunnel: None,
        }
    }
}

impl Passage {
    pub(crate) fn new(desk: &Desk, head: Head, bound: u64) -> Arc<Self> {
        desk.counted.exchanges.fetch_add(1, Ordering::Relaxed);
        desk.counted.open.fetch_add(1, Ordering::Relaxed);
        Arc::new(Self {
            id: ExchangeId(random()),
            at: clock::at((desk.clock)()),
            started: Instant::now(),
            desk: desk.clone(),
            bound,
            state: Mutex::new(State {
                head: Some(head),
                received: Copied::default(),
                sent: None,
                edited: None,
                read: false,
                open: false,
                broke: false,
                ended: false,
            }),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn desk(&self) -> &Desk {
        &self.desk
    }

    /// A piece of the request's body is handed on.
    pub(crate) fn passes(&self, piece: &Bytes) {
        let mut state = self.state();
        let received = &mut state.received;
        let fits = received.length + piece.len() as u64 <= self.bound;
        if fits && (received.length == 0 || !received.chunks.is_empty()) {
            received.chunks.push(piece.clone());
        } else {
            received.chunks = Vec::new();
        }
        received.length += piece.len() as u64;
    }

    /// The request's body was handed on to its end.
    pub(crate) fn request_read(&self) {
        let mut state = self.state();
        state.read = true;
        if !state.open {
            self.tell_request(&mut state, true);
        }
    }

    /// What an editor made of the request, which was read to its end. It is told once it is settled that this body was
    /// the one that counts.
    pub(crate) fn edits(&self, body: Option<&Bytes>, edited: Option<Edited>, open: bool) {
        let whole =
            |body: &Bytes| Copied { length: body.len() as u64, chunks: vec![body.clone()], whole: true };
        let mut state = self.state();
        state.sent = body.map(whole);
        state.edited = edited;
        state.open = open;
        if state.read && !open {
            self.tell_request(&mut state, true);
        }
    }

    /// It is settled which body counts.
    pub(crate) fn settled(&self) {
        let mut state = self.state();
        state.open = false;
        if state.read {
            self.tell_request(&mut state, true);
        }
    }

    /// The client broke off in the middle of its body.
    pub(crate) fn request_broke(&self) {
        self.state().broke = true;
    }

    /// How an exchange ends whose connection to the provider broke: it may be the client's doing.
    pub(crate) fn broke(&self, detail: String) -> End {
        if self.state().broke { self.left() } else { End::UpstreamCut { detail } }
    }

    fn tell_request(&self, state: &mut State, to_its_end: bool) {
        let Some(head) = state.head.take() else { return };
        let mut received = std::mem::take(&mut state.received);
        received.whole = to_its_end && (received.length == 0 || !received.chunks.is_empty());
        if !received.whole {
            received.chunks = Vec::new();
        }
        if to_its_end && !received.whole {
            self.desk.counted.unmeasured.fetch_add(1, Ordering::Relaxed);
        }
        let Head { provider, upstream, agent, method, path, dialect, headers } = head;
        let mut sent = state.sent.take().unwrap_or_else(|| received.clone());
        if !to_its_end {
            sent.forget();
        }
        self.desk.sink.tell(Event::Begun(Box::new(Begun {
            id: self.id,
            at: self.at,
            provider,
            upstream,
            agent,
            method,
            path,
            dialect,
            headers,
            received,
            sent,
            edited: state.edited.take(),
        })));
    }

    /// The exchange is over. Only the first time counts.
    pub(crate) fn end(&self, end: End, went: Went) {
        let mut state = self.state();
        if std::mem::replace(&mut state.ended, true) {
            return;
        }
        let read = state.read;
        self.tell_request(&mut state, read);
        drop(state);
        self.desk.counted.open.fetch_sub(1, Ordering::Relaxed);
        let Went { status, first_byte, answer_bytes, answer, headers, tunnel } = went;
        let names = ["request-id", "x-request-id", "x-amzn-requestid"];
        let request_id = names.iter().find_map(|name| headers.get(name)).map(str::to_owned);
        self.desk.sink.tell(Event::Ended(Box::new(Ended {
            id: self.id,
            status,
            first_byte: first_byte.map(|at| at.saturating_duration_since(self.started)),
            took: self.started.elapsed(),
            end,
            answer_bytes,
            answer,
            headers,
            request_id,
            tunnel,
        })));
    }

    /// How an exchange ends that nobody waits for any more.
    pub(crate) fn left(&self) -> End {
        if self.desk.counted.stopped.load(Ordering::Relaxed) { End::Stopped } else { End::ClientLeft }
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }
}

impl Drop for Passage {
    fn drop(&mut self) {
        // Nobody said how it ended: whoever waited for it is gone.
        self.end(self.left(), Went::nowhere());
    }
}

/// 128 random bits. Where the system has none, the time and a counter have to do: a name need not be a secret.
fn random() -> u128 {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let mut bytes = [0; 16];
    if getrandom::fill(&mut bytes).is_ok() {
        return u128::from_ne_bytes(bytes);
    }
    let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    (time.as_nanos() << 32)
        ^ u128::from(COUNTER.fetch_add(1, Ordering::Relaxed))
        ^ (u128::from(std::process::id()) << 96)
}
