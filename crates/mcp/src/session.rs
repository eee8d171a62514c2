//! One client's connection at work: the relay, the links to its servers, and the time.

use crate::downstream::stdio::LineSource;
use crate::error::Reason;
use crate::listing::Options;
use crate::outlet::Outlet;
use crate::relay::port::{Event, FromClient, FromServer, ToClient};
use crate::relay::{Called, Output, Relay, World};
use crate::surface::Surface;
use crate::upstream::{self, Link};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio::time::sleep;

/// Bytes that may wait for a client, or for a server, before the other side is not read any more.
const HIGH_WATER: usize = 64 << 20;
/// Reports of servers that may wait to be read.
const REPORTS: usize = 256;
/// How long what a client asked before it closed its side is still worked on.
const PARTING: Duration = Duration::from_secs(1);
/// How often it is looked whether what waited has been taken.
const GLANCE: Duration = Duration::from_millis(5);

/// Where a connection's messages to its client go, and how many bytes of them have not been taken yet.
#[derive(Debug)]
pub(crate) enum ClientQueue {
    /// To whoever takes them one by one.
    Messages { sender: mpsc::UnboundedSender<ToClient>, waiting: Arc<AtomicUsize> },
    /// Out, each as a line.
    Lines(Outlet),
}

/// The other end of [`ClientQueue::Messages`].
#[derive(Debug)]
pub(crate) struct ClientMessages {
    receiver: mpsc::UnboundedReceiver<ToClient>,
    waiting: Arc<AtomicUsize>,
}

/// A queue of messages to a client.
pub(crate) fn client_queue() -> (ClientQueue, ClientMessages) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let waiting = Arc::new(AtomicUsize::new(0));
    (ClientQueue::Messages { sender, waiting: Arc::clone(&waiting) }, ClientMessages { receiver, waiting })
}

impl ClientQueue {
    fn send(&self, message: ToClient) {
        match self {
            Self::Messages { sender, waiting } => {
                waiting.fetch_add(message.bytes.len(), Ordering::Relaxed);
                let _ = sender.send(message);
            }
            Self::Lines(outlet) => outlet.send(message.bytes),
        }
    }

    fn is_full(&self) -> bool {
        let waiting = match self {
            Self::Messages { waiting, .. } => waiting.load(Ordering::Relaxed),
            Self::Lines(outlet) => outlet.waiting(),
        };
        waiting > HIGH_WATER
    }
}

impl ClientMessages {
    /// The next message; `None` when the connection is over.
    pub(crate) async fn next(&mut self) -> Option<ToClient> {
        self.receiver.recv().await
    }

    /// A message was taken.
    pub(crate) fn taken(&self, message: &ToClient) {
        self.waiting.fetch_sub(message.bytes.len(), Ordering::Relaxed);
    }
}

/// Where a connection's messages come from.
pub(crate) enum ClientSource {
    /// From whoever has them.
    Messages(mpsc::Receiver<FromClient>),
    /// From lines.
    Lines(LineSource),
}

impl ClientSource {
    /// The next message; `None` when no more will come. Nothing is lost when this is not waited for to its end.
    async fn next(&mut self) -> Option<FromClient> {
        match self {
            Self::Messages(messages) => messages.recv().await,
            Self::Lines(lines) => lines.next().await,
        }
    }
}

/// Is told of every call of a tool that is over.
pub type OnCalled = Arc<dyn Fn(Called) + Send + Sync>;
/// Is told whenever it was decided anew what a client is listed.
pub type OnListed = Arc<dyn Fn(&Arc<Surface>) + Send + Sync>;
/// Is told what belongs into a log: one line, harmless to print and without secrets.
pub type OnNote = Arc<dyn Fn(&str) + Send + Sync>;

/// What every connection of a process has.
#[derive(Clone)]
pub(crate) struct Surroundings {
    pub(crate) world: Arc<World>,
    pub(crate) options: Options,
    pub(crate) on_called: OnCalled,
    pub(crate) on_listed: OnListed,
    pub(crate) on_note: OnNote,
}

impl fmt::Debug for Surroundings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Surroundings").field("world", &self.world).finish_non_exhaustive()
    }
}

/// Serves one client until it says nothing more; then ends the servers it had.
pub(crate) async fn run(surroundings: Surroundings, mut client: ClientSource, to_client: ClientQueue) {
    let (reports, mut reported) = mpsc::channel(REPORTS);
    let mut session = Session {
        relay: Relay::new(Arc::clone(&surroundings.world)),
        surroundings,
        links: HashMap::new(),
        closing: Vec::new(),
        reports,
        to_client,
        started: Instant::now(),
    };
    // Made anew only when it is another time: most messages change nothing about it.
    let mut alarm = std::pin::pin!(sleep(Duration::ZERO));
    let mut alarm_at = None;
    // When the client has said its last: until when what it asked is still answered.
    let mut parting: Option<Duration> = None;
    loop {
        if parting.is_some_and(|until| session.relay.is_idle() || session.started.elapsed() >= until) {
            break;
        }
        let client_full = session.to_client.is_full();
        let servers_full = session.links.values().any(|link| link.queued() > HIGH_WATER);
        let full = client_full || servers_full;
        let due = if full { Some(session.started.elapsed() + GLANCE) } else { session.relay.deadline() };
        let due = due.into_iter().chain(parting).min();
        if alarm_at != due {
            alarm_at = due;
            if let Some(due) = due {
                alarm.as_mut().reset((session.started + due).into());
            }
        }
        // In no order, so that a server that floods holds up neither the client nor the time.
        tokio::select! {
            report = reported.recv(), if !client_full => if let Some(report) = report {
                let now = session.started.elapsed();
                session.relay.server(now, report);
            },
            message = client.next(), if !servers_full && parting.is_none() => match message {
                Some(message) => {
                    let now = session.started.elapsed();
                    session.relay.client(now, message);
                }
                None => parting = Some(session.started.elapsed() + PARTING),
            },
            () = &mut alarm, if due.is_some() => {
                alarm_at = None;
                let now = session.started.elapsed();
                session.relay.tick(now);
            }
        }
        session.carry_out();
    }
    session.end().await;
}

struct Session {
    relay: Relay,
    surroundings: Surroundings,
    links: HashMap<usize, Link>,
    closing: Vec<tokio::task::JoinHandle<()>>,
    reports: upstream::Reports,
    to_client: ClientQueue,
    started: Instant,
}

impl Session {
    /// Does what the relay says.
    fn carry_out(&mut self) {
        while let Some(output) = self.relay.next() {
            match output {
                Output::Client(message) => self.to_client.send(message),
                Output::Send { server, message } => {
                    if let Some(link) = self.links.get(&server) {
                        link.send(message);
                    }
                }
                Output::Start { server, generation } => self.start(server, generation),
                Output::Close { server } => self.close(server),
                Output::Listed(surface) => (self.surroundings.on_listed)(&surface),
                Output::Called(called) => (self.surroundings.on_called)(called),
                Output::Note(text) => (self.surroundings.on_note)(&text),
            }
        }
    }

    fn start(&mut self, server: usize, generation: u64) {
        self.close(server);
        let Some(spec) = self.surroundings.world.specs.get(server) else { return };
        match upstream::open(spec, &self.surroundings.options, server, generation, self.reports.clone()) {
            Ok(link) => {
                self.links.insert(server, link);
            }
            Err(reason) => self.not_started(server, generation, reason),
        }
    }

    /// A server that cannot be started is one that ended.
    fn not_started(&mut self, server: usize, generation: u64, reason: Reason) {
        let event = Event::Ended { reason, stderr: Vec::new() };
        let report = FromServer { server, generation, event };
        // Later, so that what the relay has said until then is done first.
        let reports = self.reports.clone();
        tokio::spawn(async move {
            let _ = reports.send(report).await;
        });
    }

    fn close(&mut self, server: usize) {
        self.closing.retain(|task| !task.is_finished());
        if let Some(link) = self.links.remove(&server) {
            self.closing.push(tokio::spawn(link.close(self.surroundings.options.grace)));
        }
    }

    async fn end(mut self) {
        let servers: Vec<usize> = self.links.keys().copied().collect();
        for server in servers {
            self.close(server);
        }
        for task in self.closing {
            let _ = task.await;
        }
    }
}
