//! A whole gateway in this process, on threads of its own: relay, editing, measuring and ledger, with a clock that is
//! brought along. For replays and tests; `deadweight gateway` puts the same parts together with signals and a terminal.

use crate::clock::Clock;
use crate::edit::{Editing, NoOriginals, Originals, Settings, Setup};
use crate::exchange::channel;
use crate::measure::Observer;
use crate::own::Answers;
use crate::relay::{Config, Gateway, OnNote, Parts};
use crate::watching::{Watch, Watching};
use deadweight_estimate::Estimator;
use deadweight_footprint::origin::Origins;
use deadweight_price::Book;
use deadweight_store::{Place, journal_beside};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::watch;

/// Bytes of bodies that may wait to be measured.
const WAITING: u64 = 256 << 20;
/// How long the last of it may take to be measured and written.
const LAST: Duration = Duration::from_secs(20);

/// What a gateway is started with.
pub struct Local {
    /// Where to listen, and where providers are asked.
    pub config: Config,
    /// What levers may do.
    pub settings: Settings,
    /// Where ledger and decisions lie; `None`: neither is kept, and nothing is decided that has to be written down.
    pub folder: Option<PathBuf>,
    /// What time it is.
    pub clock: Clock,
    /// Keeps what is cut.
    pub originals: Arc<dyn Originals>,
    /// What models cost.
    pub book: Book,
    /// Who counts tokens.
    pub estimator: Box<dyn Estimator>,
    /// Are handed every record when it is complete.
    pub observers: Vec<Observer>,
    /// Is told what belongs into a log.
    pub on_note: OnNote,
}

impl fmt::Debug for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Local").field("config", &self.config).finish_non_exhaustive()
    }
}

/// A gateway that runs.
#[derive(Debug)]
pub struct Running {
    /// Where it listens, in the order of the configuration.
    pub addresses: Vec<SocketAddr>,
    editing: Editing,
    watching: Arc<Watching>,
    stop: watch::Sender<bool>,
    serving: JoinHandle<()>,
}

impl Local {
    /// One with nothing but a configuration, settings and a clock.
    #[must_use]
    pub fn new(config: Config, settings: Settings, folder: Option<PathBuf>, clock: Clock) -> Self {
        Self {
            config,
            settings,
            folder,
            clock,
            originals: Arc::new(NoOriginals),
            book: Book::new(),
            estimator: Box::new(deadweight_estimate::calibrated()),
            observers: Vec::new(),
            on_note: Arc::new(|_| {}),
        }
    }

    /// Starts it.
    ///
    /// # Errors
    ///
    /// When no port or no thread can be had.
    pub fn start(self) -> io::Result<Running> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let ledger = self.folder.as_ref().map(|folder| folder.join("ledger.sqlite"));
        let (sink, events) = channel(WAITING);
        let watch = Watch {
            estimator: self.estimator,
            book: self.book,
            place: ledger.clone().map_or(Place::Off, Place::File),
            bodies: None,
            retention: None,
            origins: Origins::new(),
            observers: self.observers,
            clock: Arc::clone(&self.clock),
            tell: Box::new(|_| {}),
        };
        let watching = Arc::new(Watching::start(events, watch)?);
        let editing = runtime.block_on(Editing::start(Setup {
            settings: self.settings,
            journal: ledger.as_deref().map(journal_beside),
            ledger,
            book: Arc::clone(&watching.book),
            originals: self.originals,
            clock: Arc::clone(&self.clock),
            on_note: Arc::clone(&self.on_note),
        }));
        let answers = Arc::new(Answers::new(Arc::clone(&watching)));
        let parts = Parts {
            sink,
            own: Some(Arc::clone(&answers) as Arc<_>),
            editor: Some(Arc::new(editing.clone())),
            clock: Some(self.clock),
            on_note: self.on_note,
            tls: None,
        };
        let gateway = runtime.block_on(async { Gateway::bind(self.config, parts) });
        let gateway = gateway.map_err(io::Error::other)?;
        let addresses = gateway.addresses();
        let (stop, stopped) = watch::channel(false);
        let of_end = editing.clone();
        let serving = std::thread::Builder::new().name("gateway".to_owned()).spawn(move || {
            let mut stopped = stopped;
            runtime.block_on(async move {
                let over = async {
                    // Whoever says so is gone only when the gateway is to end.
                    let _ = stopped.wait_for(|stop| *stop).await;
                    answers.end();
                };
                gateway.serve(over, Duration::from_secs(2), std::future::pending()).await;
                of_end.end().await;
            });
            runtime.shutdown_timeout(Duration::from_millis(100));
        })?;
        Ok(Running { addresses, editing, watching, stop, serving })
    }
}

impl Running {
    /// Where it is asked: `http://127.0.0.1:PORT`.
    #[must_use]
    pub fn url(&self) -> String {
        self.addresses.first().map(|address| format!("http://{address}")).unwrap_or_default()
    }

    /// The editing, to tell it something else.
    #[must_use]
    pub const fn editing(&self) -> &Editing {
        &self.editing
    }

    /// What is watched.
    #[must_use]
    pub fn watching(&self) -> &Watching {
        &self.watching
    }

    /// Ends it; what has passed is measured and written. Whether all of it was.
    pub fn end(self) -> bool {
        let Self { watching, stop, serving, editing, .. } = self;
        stop.send_replace(true);
        let _ = serving.join();
        drop(editing);
        Arc::into_inner(watching).is_some_and(|watching| watching.end(LAST))
    }

    /// Ends it as if the machine had failed: what is not written yet is lost.
    pub fn crash(self) {
        let Self { watching, stop, serving, editing, .. } = self;
        editing.forget();
        stop.send_replace(true);
        let _ = serving.join();
        drop(watching);
    }
}
