//! The proxy: servers behind lazy surfaces, for the client on our standard streams or for clients over HTTP.

use crate::ListError;
use crate::catalogue;
use crate::downstream;
use crate::downstream::http::{Bound, HttpError, HttpSettings, Sessions};
use crate::listing::Options;
use crate::relay::port::FromClient;
use crate::relay::{Surfaces, World, wording};
use crate::session::{
    self, ClientMessages, ClientSource, OnCalled, OnListed, OnNote, Surroundings, client_queue,
};
use crate::spec::ServerSpec;
use crate::surface::{Meaning, Settings};
use deadweight_lock::Lock;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// What is to be served, and how.
pub struct Serve {
    /// The servers.
    pub specs: Vec<ServerSpec>,
    /// The label of each.
    pub labels: Vec<String>,
    /// Whether they are shown as one, their tools' names qualified. One server alone keeps its names.
    pub aggregate: bool,
    /// What a person asked for.
    pub settings: Settings,
    /// The project's lock.
    pub lock: Option<Lock>,
    /// Where it is kept what servers said and what was decided; nothing is kept without.
    pub cache: Option<PathBuf>,
    /// What tools mean, for searches: a model that whoever serves brings along.
    pub meaning: Option<Arc<dyn Meaning>>,
    /// Bounds on messages and lists.
    pub options: Options,
    /// Is told of every call of a tool.
    pub on_called: OnCalled,
    /// Is told what clients are listed.
    pub on_listed: OnListed,
    /// Is told what belongs into a log.
    pub on_note: OnNote,
}

impl fmt::Debug for Serve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Serve").field("labels", &self.labels).finish_non_exhaustive()
    }
}

/// Serves the client on standard input and output, until its input ends; whether it said anything. The servers are ended
/// then.
///
/// # Errors
///
/// When the standard streams cannot be used.
pub async fn serve_stdio(serve: Serve) -> io::Result<bool> {
    downstream::stdio::serve(surroundings(serve, false)).await
}

/// Looks whether the program of a server can be started, without starting it. A server that is not one is not looked at.
///
/// # Errors
///
/// What would keep it from being started.
pub fn startable(spec: &ServerSpec) -> Result<(), ListError> {
    match crate::process::obstacle(spec) {
        None => Ok(()),
        Some(reason) => Err(wording::failure(spec, reason, Vec::new()).into()),
    }
}

/// Serves clients over HTTP until `over`; `on_ready` is told the address. All sessions and their servers are ended then.
///
/// # Errors
///
/// When there is no token for an address that other machines can reach, or the address cannot be had.
pub async fn serve_http(
    serve: Serve,
    http: HttpSettings,
    on_ready: impl FnOnce(SocketAddr),
    over: impl Future<Output = ()>,
) -> Result<(), HttpError> {
    let bound = Bound::new(http).await?;
    on_ready(bound.address());
    let running = Arc::new(Mutex::new(JoinSet::new()));
    let sessions = Running { surroundings: surroundings(serve, true), tasks: Arc::clone(&running) };
    bound.serve(sessions, over).await;
    let mut tasks = std::mem::take(&mut *running.lock().unwrap_or_else(PoisonError::into_inner));
    while tasks.join_next().await.is_some() {}
    Ok(())
}

/// Sessions of clients over HTTP.
struct Running {
    surroundings: Surroundings,
    tasks: Arc<Mutex<JoinSet<()>>>,
}

/// Messages of a client that may wait to be read.
const INBOX: usize = 64;

impl Sessions for Running {
    type Messages = ClientMessages;

    fn open(&self) -> (mpsc::Sender<FromClient>, ClientMessages) {
        let (sender, inbox) = mpsc::channel(INBOX);
        let (queue, messages) = client_queue();
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(session::run(self.surroundings.clone(), ClientSource::Messages(inbox), queue));
        (sender, messages)
    }
}

pub(crate) fn surroundings(serve: Serve, over_http: bool) -> Surroundings {
    let Serve {
        specs,
        labels,
        aggregate,
        settings,
        lock,
        cache,
        meaning,
        options,
        on_called,
        on_listed,
        on_note,
    } = serve;
    let place = std::env::current_dir().unwrap_or_default();
    let shelf = catalogue::shelf(cache, place, &on_note);
    let world = World {
        specs,
        labels,
        settings,
        lock,
        aggregate,
        nonce: nonce(),
        over_http,
        shelf,
        meaning,
        surfaces: Surfaces::default(),
    };
    Surroundings { world: Arc::new(world), options, on_called, on_listed, on_note }
}

/// What no other process has: its number, and when it was started.
fn nonce() -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    format!("{:x}-{:x}", std::process::id(), now.as_nanos())
}
