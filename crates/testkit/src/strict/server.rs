//! The judge behind HTTP on loopback, with a scripted model.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{Accepted, Account, Bill, Dialect, Judge, Request, Route, Verdict};
use crate::upstream::http::Connection;
use crate::upstream::render::{Extras, aside, turn_response};
use crate::upstream::{Answer, Recorded, Response, Script, Turn};

/// One request, what was said of it, and what it cost.
#[derive(Debug, Clone)]
pub struct Exchange {
    /// The request. Its body is empty when bodies are not kept.
    pub request: Recorded,
    /// How long the body was.
    pub length: usize,
    /// What the body was, by SHA-256.
    pub sha256: [u8; 32],
    /// When it arrived, by the provider's clock.
    pub at: Duration,
    /// What the judge said. Its ticket is used up.
    pub verdict: Verdict,
    /// What was charged: nothing for a refusal, for a count, or when the script answered by itself.
    pub bill: Option<Bill>,
    /// What the model said, signed.
    pub turn: Option<Turn>,
}

/// The strict provider. It listens until it is dropped.
///
/// ```
/// use deadweight_testkit::strict::{Account, StrictProvider};
/// use deadweight_testkit::upstream::{Turn, Turns};
///
/// let provider = StrictProvider::start(Account::NEW, [Turn::text("hello")].into_iter().collect::<Turns>())?;
/// // … a client talks to `provider.url()` …
/// provider.advance(std::time::Duration::from_secs(400));
/// assert_eq!(provider.bill().nanos, 0);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct StrictProvider {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

struct Shared {
    state: Mutex<State>,
    /// Wakes requests that wait for others.
    changed: Condvar,
    connections: Mutex<BTreeMap<usize, TcpStream>>,
    stopping: AtomicBool,
}

struct State {
    judge: Judge,
    script: Box<dyn Script>,
    now: Duration,
    keeps_bodies: bool,
    exchanges: Vec<Exchange>,
    /// How many exchanges were taken away.
    taken: usize,
    total: Bill,
    /// So many generations are still to arrive before any of their responses begins.
    awaited: usize,
    /// Counts the groups that are complete.
    group: usize,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared")
            .field("exchanges", &lock(&self.state).exchanges.len())
            .finish_non_exhaustive()
    }
}

fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl StrictProvider {
    /// Listens on a free port of 127.0.0.1. Requests that the judge accepts are answered by `script`.
    ///
    /// # Errors
    ///
    /// When no port can be had.
    pub fn start(account: Account, script: impl Script + 'static) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                judge: Judge::new(account),
                script: Box::new(script),
                now: Duration::ZERO,
                keeps_bodies: true,
                exchanges: Vec::new(),
                taken: 0,
                total: Bill::default(),
                awaited: 0,
                group: 0,
            }),
            changed: Condvar::new(),
            connections: Mutex::default(),
            stopping: AtomicBool::new(false),
        });
        let accepting = thread::spawn({
            let shared = Arc::clone(&shared);
            move || accept(&listener, &shared)
        });
        Ok(Self { address, shared, accepting: Some(accepting) })
    }

    /// Where it listens, as in `http://127.0.0.1:40123`, without a slash at the end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// The time by the provider's clock, which stands still unless it is moved.
    pub fn now(&self) -> Duration {
        lock(&self.shared.state).now
    }

    /// Moves the clock forward.
    pub fn advance(&self, by: Duration) {
        lock(&self.shared.state).now += by;
    }

    /// Whether the bodies of requests are kept; long sessions need much room. They are unless this says otherwise.
    pub fn keep_bodies(&self, keep: bool) {
        lock(&self.shared.state).keeps_bodies = keep;
    }

    /// The next `count` requests for a turn are on their way together: none of their responses begins before all have
    /// arrived.
    pub fn together(&self, count: usize) {
        lock(&self.shared.state).awaited = count;
    }

    /// All exchanges so far, in the order in which the requests were judged.
    pub fn exchanges(&self) -> Vec<Exchange> {
        lock(&self.shared.state).exchanges.clone()
    }

    /// Looks at the exchanges without copying them.
    pub fn with_exchanges<T>(&self, look: impl FnOnce(&[Exchange]) -> T) -> T {
        look(&lock(&self.shared.state).exchanges)
    }

    /// Takes the exchanges, so that they do not pile up.
    pub fn take_exchanges(&self) -> Vec<Exchange> {
        let mut state = lock(&self.shared.state);
        state.taken += state.exchanges.len();
        std::mem::take(&mut state.exchanges)
    }

    /// What all exchanges cost, also those that were taken.
    pub fn bill(&self) -> Bill {
        lock(&self.shared.state).total
    }
}

impl Drop for StrictProvider {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        self.shared.changed.notify_all();
        // Wakes the thread that waits for connections.
        let _ = TcpStream::connect(self.address);
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    let mut serving = Vec::new();
    for (number, connection) in listener.incoming().enumerate() {
        if shared.stopping.load(Ordering::SeqCst) {
            break;
        }
        let Ok(connection) = connection else { continue };
        let Ok(handle) = connection.try_clone() else { continue };
        lock(&shared.connections).insert(number, handle);
        let shared = Arc::clone(shared);
        serving.push(thread::spawn(move || {
            // The client may leave at any point; what it had sent is judged by then.
            let _ = serve(connection, &shared);
            if let Some(connection) = lock(&shared.connections).remove(&number) {
                let _ = connection.shutdown(Shutdown::Both);
            }
        }));
    }
    for connection in std::mem::take(&mut *lock(&shared.connections)).into_values() {
        let _ = connection.shutdown(Shutdown::Both);
    }
    for thread in serving {
        let _ = thread.join();
    }
}

fn serve(connection: TcpStream, shared: &Shared) -> io::Result<()> {
    connection.set_nodelay(true)?;
    let mut connection = Connection::new(connection)?;
    while let Some(request) = connection.read()? {
        let head_only = request.method == "HEAD";
        let response = answer(shared, request);
        if !connection.write(&response, head_only)? {
            return Ok(());
        }
    }
    Ok(())
}

/// Judges a request and lets the script answer it.
fn answer(shared: &Shared, request: Recorded) -> Response {
    let is_post = request.method == "POST";
    let Some(route) = Route::of(&request.path).filter(|_| is_post) else { return aside(&request) };
    let by_path = route.streams_by_path();
    if route.verb == "invoke-with-response-stream" {
        // That cloud frames its streams in a way of its own.
        let message = "the strict provider judges requests at this path, and does not answer them";
        return Response::json(501, &json!({ "message": message }));
    }
    let mut state = lock(&shared.state);
    let at = state.now;
    let verdict = state.judge.judge(Request {
        path: &request.path,
        headers: &request.headers,
        body: &request.body,
        at,
    });
    let number = state.taken + state.exchanges.len();
    let sha256 = Sha256::digest(&request.body).into();
    let kept = Recorded {
        method: request.method.clone(),
        path: request.path.clone(),
        headers: request.headers.clone(),
        body: if state.keeps_bodies { request.body.clone() } else { Vec::new() },
    };
    state.exchanges.push(Exchange {
        length: request.body.len(),
        request: kept,
        sha256,
        at,
        verdict: verdict.without_ticket(),
        bill: None,
        turn: None,
    });
    let accepted = match verdict {
        Verdict::Refused(refusal) => return Response::json(refusal.status, &refusal.body()),
        Verdict::Accepted(accepted) if accepted.ticket.counting => return counted(&accepted),
        Verdict::Accepted(accepted) => accepted,
    };
    let mut state = gathered(shared, state);
    let turn = match state.script.answer(&request) {
        Answer::Raw(response) => return response,
        Answer::Turn(turn) => turn,
    };
    let now = state.now;
    state.judge.begin(&accepted.ticket, now);
    let (turn, bill) = state.judge.answer(&accepted.ticket, turn);
    state.total += bill;
    // The exchange may have been taken meanwhile.
    let place = number.checked_sub(state.taken);
    if let Some(exchange) = place.and_then(|place| state.exchanges.get_mut(place)) {
        exchange.bill = Some(bill);
        exchange.turn = Some(turn.clone());
    }
    drop(state);
    turn_response(&request, turn, extras(&accepted, &bill, by_path))
}

/// Waits until the request's group is complete.
fn gathered<'a>(shared: &'a Shared, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
    if state.awaited == 0 {
        return state;
    }
    state.awaited -= 1;
    let group = state.group;
    if state.awaited == 0 {
        state.group += 1;
        shared.changed.notify_all();
    }
    while state.group == group && !shared.stopping.load(Ordering::SeqCst) {
        state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
    }
    state
}

fn counted(accepted: &Accepted) -> Response {
    let tokens = accepted.usage.prompt();
    let body = match accepted.ticket.dialect {
        Dialect::Gemini => json!({ "totalTokens": tokens }),
        _ => json!({ "input_tokens": tokens }),
    };
    Response::json(200, &body)
}

fn extras(accepted: &Accepted, bill: &Bill, by_path: Option<bool>) -> Extras {
    let mut extras = Extras { serial: Some(accepted.ticket.serial()), ..Extras::default() };
    // Who pays nothing for writing is not told of it.
    extras.counts_writes = super::models::model(&accepted.ticket.model).write != 1_000;
    if accepted.ticket.dialect == Dialect::Anthropic {
        extras.anthropic_usage = Some(bill.usage.anthropic());
        extras.anthropic_streams = by_path;
        if accepted.ticket.reports_thinking {
            let changes = accepted.thinking.iter().map(super::Transformed::json).collect::<Vec<_>>();
            extras.anthropic_members.push(("input_transformations", Value::Array(changes)));
        }
        if !accepted.applied_edits.is_empty() {
            let edits: Vec<_> = accepted.applied_edits.iter().map(super::AppliedEdit::json).collect();
            extras.anthropic_members.push(("context_management", json!({ "applied_edits": edits })));
        }
        if let Some(reason) = accepted.cache_miss {
            extras
                .anthropic_members
                .push(("diagnostics", json!({ "cache_miss_reason": { "type": reason } })));
        }
    }
    extras
}
