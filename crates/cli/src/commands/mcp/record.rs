//! What is recorded while servers are served: calls as they end, and what clients are listed.

use super::explain;
use crate::exit;
use deadweight_footprint::catalogue::Saving;
use deadweight_mcp::surface::{Decision, Surface};
use deadweight_mcp::{Called, Doing, Outcome};
use deadweight_store::{self as store, Kind, Listing, Names, Place, Recorder, Shown, now_ms};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long calls are gathered before the ledger's thread is woken for them: woken at every call, it would take its time on
/// the way of each.
const GATHERED: Duration = Duration::from_millis(100);
/// How long a list waits to be priced: the client that was just served it is about to call something.
const LATER: Duration = Duration::from_secs(1);
/// How long the ledger may take to write its last lines.
const LAST_LINES: Duration = Duration::from_secs(2);

/// The record of one process; of nothing where the ledger is off.
pub(super) struct Record {
    recorder: Option<Arc<Recorder>>,
    session: String,
    entry: String,
    /// Calls on their way to the ledger.
    waiting: Arc<Mutex<Vec<store::Call>>>,
    /// Lists that are being priced, apart from what is served meanwhile.
    pricing: Mutex<Vec<JoinHandle<()>>>,
}

impl Record {
    /// Begins to record.
    pub(super) fn start(place: &Place, entry: &str) -> Self {
        let recorder = match place {
            Place::Off => None,
            Place::File(file) => Some(Arc::new(Recorder::start(file.clone(), |error| {
                exit::warn(&crate::commands::of_ledger("calls are not recorded", error));
            }))),
        };
        Self {
            recorder,
            session: format!("{:x}-{:x}", std::process::id(), now_ms()),
            entry: entry.to_owned(),
            waiting: Arc::default(),
            pricing: Mutex::default(),
        }
    }

    /// A call is over.
    pub(super) fn called(&self, called: Called) {
        let Some(recorder) = &self.recorder else { return };
        let mut waiting = held(&self.waiting);
        waiting.push(line(called, &self.session));
        if waiting.len() > 1 {
            return;
        }
        drop(waiting);
        let (recorder, waiting) = (Arc::clone(recorder), Arc::clone(&self.waiting));
        tokio::spawn(async move {
            tokio::time::sleep(GATHERED).await;
            hand_on(&recorder, &waiting);
        });
    }

    /// It was decided what a client is listed.
    pub(super) fn listed(&self, surface: &Arc<Surface>) {
        let Some(recorder) = self.recorder.clone() else { return };
        let (surface, entry) = (Arc::clone(surface), self.entry.clone());
        recorder.names(names(&surface, &entry));
        let pricing = std::thread::Builder::new().name("pricing".to_owned()).spawn(move || {
            // It has time; what is served meanwhile has not. On Linux this is about the thread, elsewhere about all of them.
            #[cfg(target_os = "linux")]
            let _ = rustix::process::nice(10);
            std::thread::park_timeout(LATER);
            rows(&surface, &entry).into_iter().for_each(|row| recorder.listed(row));
        });
        let mut all = self.pricing.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|one| !one.is_finished());
        all.extend(pricing);
    }

    /// Writes what is still to be written.
    pub(super) fn end(&self) {
        let Some(recorder) = &self.recorder else { return };
        let pricing = std::mem::take(&mut *self.pricing.lock().unwrap_or_else(PoisonError::into_inner));
        pricing.iter().for_each(|one| one.thread().unpark());
        let until = Instant::now() + LAST_LINES;
        while pricing.iter().any(|one| !one.is_finished()) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(2));
        }
        hand_on(recorder, &self.waiting);
        recorder.flush(LAST_LINES);
        let dropped = recorder.recorded().dropped;
        if dropped > 0 {
            exit::warn(&format!("{dropped} lines of the ledger were not written"));
        }
    }
}

fn held(waiting: &Mutex<Vec<store::Call>>) -> std::sync::MutexGuard<'_, Vec<store::Call>> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives the ledger what waits for it.
fn hand_on(recorder: &Recorder, waiting: &Mutex<Vec<store::Call>>) {
    std::mem::take(&mut *held(waiting)).into_iter().for_each(|call| recorder.record(call));
}

/// What the ledger has of a call.
fn line(called: Called, session: &str) -> store::Call {
    let Called { work, bytes_out, took, outcome } = called;
    store::Call {
        at_ms: now_ms().saturating_sub(u64::try_from(took.as_millis()).unwrap_or(0)),
        kind: match work.doing {
            Doing::Call => Kind::Call,
            Doing::Load => Kind::Load,
            Doing::Search => Kind::Search,
        },
        server: work.server,
        tool: work.tool,
        client: work.client,
        session: session.to_owned(),
        bytes_in: work.bytes_in,
        bytes_out,
        duration_us: u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
        outcome: match outcome {
            Outcome::Ok => store::Outcome::Ok,
            Outcome::ToolError => store::Outcome::ToolError,
            Outcome::RpcError => store::Outcome::RpcError,
            Outcome::Refused => store::Outcome::Refused,
            Outcome::Cancelled => store::Outcome::Cancelled,
            Outcome::Crashed => store::Outcome::Crashed,
        },
        loaded: work.loaded || !work.deferred,
        surface: work.shape.name().to_owned(),
    }
}

/// The names that a client is shown, with whose they are: a gateway that sees them in requests need not guess.
fn names(surface: &Surface, entry: &str) -> Names {
    let shown = |(shown, server, tool): (&str, &str, &str)| Shown {
        shown: shown.to_owned(),
        server: server.to_owned(),
        tool: tool.to_owned(),
    };
    Names {
        entry: entry.to_owned(),
        client: surface.client().name.clone(),
        at_ms: now_ms(),
        tools: surface.names().map(shown).collect(),
    }
}

/// What the ledger has of a list: a row for each server that listed something, and one for all together where there are
/// several behind one entry.
fn rows(surface: &Surface, entry: &str) -> Vec<Listing> {
    let Ok((all, servers)) = explain::price(surface) else { return Vec::new() };
    let decisions = surface.decisions();
    let listed = |(decision, _): &(&Decision, &Saving)| decision.before.tools > 0;
    let mut rows: Vec<Listing> = decisions
        .iter()
        .zip(&servers)
        .filter(listed)
        .map(|(decision, saving)| Listing {
            server: decision.server.clone(),
            deferred: decision.deferred,
            why: decision.why.text(),
            tools: decision.before.tools,
            ..row(surface, entry, saving)
        })
        .collect();
    if surface.is_aggregate() && !rows.is_empty() {
        let tools = rows.iter().map(|row| row.tools).sum();
        let deferred = rows.iter().any(|row| row.deferred);
        rows.push(Listing { tools, deferred, ..row(surface, entry, &all) });
    }
    rows
}

fn row(surface: &Surface, entry: &str, saving: &Saving) -> Listing {
    Listing {
        entry: entry.to_owned(),
        server: String::new(),
        client: surface.client().name.clone(),
        at_ms: now_ms(),
        surface: surface.shape().name().to_owned(),
        deferred: false,
        why: String::new(),
        tools: 0,
        estimator: saving.basis.estimator.to_string(),
        before_tokens: saving.before.tokens.get(),
        after_tokens: saving.after.tokens.get(),
        own_tokens: saving.own.tokens.get(),
        gross_tokens: saving.gross.tokens,
        net_tokens: saving.net.tokens,
        load_tokens: saving.load.tokens.get(),
        break_even: saving.break_even,
    }
}
