//! The gateway of a run: on threads of this process, for as long as the agent runs.

use super::doors::Doors;
use crate::settings::ledger::Ledger;
use deadweight_footprint::origin::Origins;
use deadweight_gateway::Provider;
use deadweight_gateway::clock;
use deadweight_gateway::edit::Settings;
use deadweight_gateway::exchange::channel;
use deadweight_gateway::own::Answers;
use deadweight_gateway::relay::{Config, Gateway, Level, OnNote, Own, Parts, Target};
use deadweight_gateway::tally::Tally;
use deadweight_gateway::watching::{Watch, Watching};
use deadweight_mcp::config::process_env;
use deadweight_store::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::watch;

/// Bytes of bodies that may wait to be measured.
const WAITING: u64 = 96 << 20;
/// How long what is under way when the agent has ended may take to end.
const DRAIN: Duration = Duration::from_secs(2);
/// How long the last of it may take to be measured and written.
const LAST: Duration = Duration::from_secs(5);
/// How many notes are kept for the end: the terminal is the agent's until then.
const NOTES: usize = 20;

/// What a run has to say when the agent has ended.
pub(super) type Notes = Arc<Mutex<Vec<String>>>;

/// A gateway that runs.
pub(super) struct Running {
    /// Where its doors are.
    pub(super) addresses: Vec<SocketAddr>,
    /// What it noted.
    pub(super) notes: Notes,
    tally: Arc<Mutex<Tally>>,
    watching: Arc<Watching>,
    stop: watch::Sender<bool>,
    serving: JoinHandle<()>,
}

/// Starts it.
///
/// # Errors
///
/// When it cannot be: why, in a sentence.
pub(super) fn start(
    doors: &Doors,
    ledger: &Ledger,
    levers: &Settings,
    servers: &[String],
) -> Result<Running, String> {
    let system = |error: std::io::Error| crate::target::file::system(&error);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .thread_name("gateway")
        .build()
        .map_err(system)?;
    let notes = Notes::default();
    let tally = Arc::new(Mutex::new(Tally::default()));
    let (sink, events) = channel(WAITING);
    let (counting, of_ledger) = (Arc::clone(&tally), Arc::clone(&notes));
    let watching = Watching::start(
        events,
        Watch {
            estimator: Box::new(deadweight_estimate::calibrated()),
            book: crate::settings::prices::book(&process_env),
            place: ledger.place.clone(),
            bodies: None,
            retention: ledger.retention(),
            origins: servers.iter().fold(Origins::new(), |origins, label| origins.with_server(label, None)),
            observers: vec![Box::new(move |exchange| lock(&counting).observe(exchange))],
            clock: clock::system(),
            tell: Box::new(move |error: &Error| {
                note(&of_ledger, crate::commands::of_ledger("not all is recorded", error));
            }),
        },
    )
    .map_err(system)?;
    let watching = Arc::new(watching);
    let told = Arc::clone(&notes);
    let on_note: OnNote = Arc::new(move |said| {
        if said.level >= Level::Warning {
            note(&told, said.text);
        }
    });
    let editing = runtime.block_on(crate::commands::levers::start(
        levers,
        &ledger.place,
        Arc::clone(&watching.book),
        Arc::clone(&on_note),
    ));
    let answers = Arc::new(Answers::new(Arc::clone(&watching)));
    let none = [Vec::new()];
    let doors = if doors.all().is_empty() { &none[..] } else { doors.all() };
    let _within = runtime.enter();
    let mut gateways = Vec::new();
    for door in doors {
        let own: Arc<dyn Own> = Arc::clone(&answers) as Arc<dyn Own>;
        let parts = Parts {
            sink: sink.clone(),
            own: Some(own),
            editor: Some(Arc::new(editing.clone())),
            clock: None,
            on_note: Arc::clone(&on_note),
            tls: None,
        };
        gateways.push(Gateway::bind(config(door), parts).map_err(|error| error.to_string())?);
    }
    drop(sink);
    drop(_within);
    let counted: Vec<_> = gateways.iter().map(|gateway| Arc::clone(gateway.handle().counted())).collect();
    watching.ask_of_open(move || counted.iter().map(|one| one.open.load(Ordering::Relaxed)).sum());
    let addresses = gateways.iter().flat_map(Gateway::addresses).collect();
    let (stop, stopped) = watch::channel(false);
    let serving = std::thread::Builder::new().name("gateway".to_owned()).spawn(move || {
        runtime.block_on(async {
            let all: Vec<_> = gateways
                .into_iter()
                .map(|gateway| {
                    let mut stopped = stopped.clone();
                    // Whoever says so is gone only when the run is.
                    let over = async move { drop(stopped.wait_for(|stop| *stop).await) };
                    tokio::spawn(gateway.serve(over, DRAIN, std::future::pending()))
                })
                .collect();
            let _ = stopped.clone().wait_for(|stop| *stop).await;
            // Pages that are still open are not waited for.
            answers.end();
            for one in all {
                let _ = one.await;
            }
            drop(answers);
            editing.end().await;
        });
        // Connections that nobody closes are not waited for.
        runtime.shutdown_timeout(Duration::from_millis(100));
    });
    Ok(Running { addresses, notes, tally, watching, stop, serving: serving.map_err(system)? })
}

fn config(door: &[(Provider, Target)]) -> Config {
    let mut config = Config::new(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
    for (provider, target) in door {
        config.set_upstream(*provider, target.clone());
    }
    config
}

fn note(notes: &Notes, text: String) {
    let mut notes = lock(notes);
    if notes.len() < NOTES && !notes.contains(&text) {
        notes.push(text);
    }
}

/// A panic elsewhere leaves numbers that are still numbers.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is known when it has ended.
pub(super) struct Ended {
    pub(super) report: deadweight_gateway::tally::Report,
    pub(super) notes: Vec<String>,
}

impl Running {
    /// Ends it: what is under way gets a moment, what has passed is measured and written.
    pub(super) fn end(self) -> Ended {
        let Self { notes, tally, watching, stop, serving, .. } = self;
        stop.send_replace(true);
        let _ = serving.join();
        // Whoever else holds it is about to let go.
        let whole = Arc::into_inner(watching).is_some_and(|watching| watching.end(LAST));
        if !whole {
            note(
                &notes,
                "the last requests are not in these figures: measuring them took too long".to_owned(),
            );
        }
        let report = lock(&tally).report();
        let notes = std::mem::take(&mut *lock(&notes));
        Ended { report, notes }
    }
}
