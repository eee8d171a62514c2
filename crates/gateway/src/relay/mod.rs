//! The reverse proxy.
//!
//! ```text
//!  client ── listener ── line ── forward ── upstream ── provider
//!                                  │ guard, route, headers: who may ask, whose it is, what passes
//!                                  │ asked, editor, editing, gather: what may be changed is read to its end first
//!                                  │ tee, frames: bodies and messages on their way, each piece in the memory it came in
//!                                  └ passage: what is told of it
//! ```
//!
//! A request and its answer run in the tasks of their two connections; nothing is started for a request. Neither a
//! full queue nor a body that nobody understands holds anything up.

mod asked;
mod config;
mod credentials;
mod editing;
mod editor;
mod forward;
mod frames;
mod gather;
mod guard;
mod headers;
mod line;
mod listener;
mod login;
mod notes;
mod own;
mod passage;
mod refuse;
mod route;
mod tee;
mod tunnel;
mod upstream;

pub(crate) use upstream::system_tls;

pub use config::{BODY_BOUND, Config, ConfigError, Limits, Listen, Secret, Target, TargetError};
pub(crate) use editor::is_refusal;
pub use editor::{Answered, Asked, Edit, Editor, Next, Trail, Work};
pub use guard::{TOKEN_COOKIE, TOKEN_HEADER};
pub use notes::{Level, Note, OnNote};
pub use own::{Answering, Own};
pub use passage::Counted;
pub use refuse::ANSWERED;
pub use tee::{AnswerBody, Failure};

use crate::clock::{self, Clock};
use crate::exchange::Sink;
use forward::{Relay, Rules};
use hyper_util::client::proxy::matcher::Matcher;
use listener::Bound;
use notes::Notes;
use passage::Desk;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use tokio::sync::{Semaphore, watch};

/// Where the gateway is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    Serving,
    /// No new connections; what is under way comes to its end.
    Draining,
    /// Nothing is waited for any longer.
    Stopping,
}

/// Waits until the gateway is as far as this.
pub(crate) fn reached(
    phase: &watch::Receiver<Phase>,
    least: Phase,
) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    let mut phase = phase.clone();
    Box::pin(async move {
        // Whoever says so is gone only when the whole gateway is.
        let _ = phase.wait_for(|phase| *phase >= least).await;
    })
}

/// What the gateway is given besides its configuration.
pub struct Parts {
    /// Is told of every exchange.
    pub sink: Sink,
    /// Answers our own paths.
    pub own: Option<Arc<dyn Own>>,
    /// Changes requests, where there is one.
    pub editor: Option<Arc<dyn Editor>>,
    /// What time it is; the system's clock where there is nothing.
    pub clock: Option<Clock>,
    /// Is told what belongs into a log.
    pub on_note: OnNote,
    /// How providers are verified; the system's roots where there is nothing. For tests, and for who has roots of their
    /// own.
    pub tls: Option<rustls::ClientConfig>,
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts").finish_non_exhaustive()
    }
}

/// Why the gateway does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// It must not be started like this.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// An address cannot be had.
    #[error("{address} cannot be listened on: {error}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// Why.
        error: io::Error,
    },
    /// TLS cannot be used.
    #[error("TLS cannot be used: {0}")]
    Tls(#[from] rustls::Error),
}

/// A gateway whose ports are open and not served yet.
#[derive(Debug)]
pub struct Gateway {
    relay: Arc<Relay>,
    bound: Vec<Bound>,
    phase: watch::Sender<Phase>,
}

/// A hold on a gateway that runs.
#[derive(Debug, Clone)]
pub struct Handle {
    relay: Arc<Relay>,
}

impl Gateway {
    /// Opens the ports.
    ///
    /// # Errors
    ///
    /// When the configuration would let in whom it should not, or a port cannot be had.
    pub fn bind(config: Config, parts: Parts) -> Result<Self, StartError> {
        config.check()?;
        let tls = match parts.tls {
            Some(tls) => tls,
            None => upstream::system_tls()?,
        };
        let connector = upstream::Connector::new(tls, Matcher::from_env(), config.limits.connect_time);
        let clock = parts.clock.unwrap_or_else(clock::system);
        let desk = Desk { sink: parts.sink, notes: Notes(parts.on_note), counted: Arc::default(), clock };
        let listen = |listen: &Listen| {
            Bound::new(listen.clone()).map_err(|error| StartError::Bind { address: listen.address, error })
        };
        let bound = config.listen.iter().map(listen).collect::<Result<Vec<_>, _>>()?;
        let (phase, seen) = watch::channel(Phase::Serving);
        let rules = Arc::new(Rules::new(config, &connector, &desk, None));
        let (own, editor) = (parts.own, parts.editor);
        let relay = Arc::new(Relay { rules: RwLock::new(rules), desk, own, editor, connector, phase: seen });
        Ok(Self { relay, bound, phase })
    }

    /// The addresses that are listened on, in the order of the configuration.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.bound.iter().map(|bound| bound.address).collect()
    }

    /// A hold on it, for while it runs.
    pub fn handle(&self) -> Handle {
        Handle { relay: Arc::clone(&self.relay) }
    }

    /// Serves until `over`; then lets what is under way come to its end, for no longer than `drain` and not beyond `now`.
    pub async fn serve(self, over: impl Future<Output = ()>, drain: Duration, now: impl Future<Output = ()>) {
        let Self { relay, bound, phase } = self;
        let connections = relay.rules().config.limits.connections;
        let places = Arc::new(Semaphore::new(connections));
        for one in bound {
            tokio::spawn(one.accept(Arc::clone(&relay), Arc::clone(&places), phase.subscribe()));
        }
        over.await;
        let counted = Arc::clone(&relay.desk.counted);
        let open = counted.open.load(Ordering::Relaxed);
        let text = format!("stopping: {open} requests are under way, and have {} s", drain.as_secs());
        relay.desk.notes.tell(Note::new(Level::Info, "draining", text).with("open", open));
        phase.send_replace(Phase::Draining);
        let idle = async {
            while counted.open.load(Ordering::Relaxed) > 0 || counted.connections.load(Ordering::Relaxed) > 0
            {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::select! {
            () = idle => {}
            () = tokio::time::sleep(drain) => {}
            () = now => {}
        }
        counted.stopped.store(true, Ordering::Relaxed);
        phase.send_replace(Phase::Stopping);
        // What is cut off is told: that takes a moment, not more.
        for _ in 0..50 {
            if counted.open.load(Ordering::Relaxed) == 0 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

impl Handle {
    /// What was counted. It may be kept without the gateway.
    pub fn counted(&self) -> &Arc<Counted> {
        &self.relay.desk.counted
    }

    /// Where it was told to listen.
    pub fn listens(&self) -> Vec<SocketAddr> {
        self.relay.rules().config.listen.iter().map(|listen| listen.address).collect()
    }

    /// Takes over another configuration for requests that come from now on. Ports and limits of connections stay.
    ///
    /// # Errors
    ///
    /// When it must not be done, or would take away the token, an upstream that was named or a key that is held; what held
    /// goes on holding.
    pub fn reload(&self, mut config: Config) -> Result<(), ConfigError> {
        let before = self.relay.rules();
        config.listen.clone_from(&before.config.listen);
        config.check()?;
        config.may_follow(&before.config)?;
        let rules = Rules::new(config, &self.relay.connector, &self.relay.desk, Some(&before));
        *self.relay.rules.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(rules);
        Ok(())
    }
}
