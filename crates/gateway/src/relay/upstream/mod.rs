//! A provider's connections: kept open and used again, as many as are needed at a time over HTTP/1.1, one over HTTP/2.
//!
//! A request is sent on a second connection only where the first is found dead before it was given anything: the
//! request comes back whole then. Any other failure is the client's to see, as it would without the gateway.

mod connect;

pub(crate) use connect::{Connector, Io, system_tls};

use super::config::Target;
use super::headers;
use super::passage::Counted;
use super::tee::RequestBody;
use http::header::{CONNECTION, HOST, TRANSFER_ENCODING};
use http::uri::{PathAndQuery, Scheme};
use http::{Request, Response, Uri, Version};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long an idle connection is believed to be open. Load balancers commonly close after 60 s; a provider that says
/// less is believed.
const IDLE: Duration = Duration::from_secs(55);

/// The same on this machine, where servers close early and a new connection costs nothing.
const IDLE_HERE: Duration = Duration::from_secs(4);

/// Connections that are kept though nobody uses them.
const KEPT: usize = 128;

/// How often a request looks for another connection when it got back one that was dead.
const TRIES: usize = 4;

/// A provider's connections.
#[derive(Debug)]
pub(crate) struct Upstream {
    pub(crate) target: Target,
    connector: Connector,
    counted: Arc<Counted>,
    idle: Mutex<Vec<Idle>>,
    shared: Mutex<Option<http2::SendRequest<RequestBody>>>,
    speaks_h2: AtomicBool,
    /// Held while a connection is made that others will share.
    connecting: tokio::sync::Mutex<()>,
}

#[derive(Debug)]
struct Idle {
    sender: http1::SendRequest<RequestBody>,
    until: Instant,
}

/// What a request is sent on.
enum Way {
    Alone(http1::SendRequest<RequestBody>),
    Shared(http2::SendRequest<RequestBody>),
}

/// A connection that comes back when the answer was read.
#[derive(Debug)]
pub(crate) struct Lease {
    upstream: Arc<Upstream>,
    sender: http1::SendRequest<RequestBody>,
    idle: Duration,
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Failed {
    /// There was no connection, and nothing was sent.
    Unreachable(String),
    /// The connection broke.
    Cut(String),
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Upstream {
    pub(crate) fn new(target: Target, connector: Connector, counted: Arc<Counted>) -> Arc<Self> {
        Arc::new(Self {
            target,
            connector,
            counted,
            idle: Mutex::default(),
            shared: Mutex::default(),
            speaks_h2: AtomicBool::new(false),
            connecting: tokio::sync::Mutex::default(),
        })
    }

    /// The path upstream: behind the address's own.
    ///
    /// # Errors
    ///
    /// When both together are no path.
    pub(crate) fn path(&self, path_and_query: &str) -> Result<PathAndQuery, http::Error> {
        let slash = if path_and_query.starts_with('/') { "" } else { "/" };
        PathAndQuery::try_from(format!("{}{slash}{path_and_query}", self.target.base)).map_err(Into::into)
    }

    /// Sends a request whose URI is its path. `upgradable`: on a connection of its own, over HTTP/1.1.
    ///
    /// # Errors
    ///
    /// When there is no answer.
    pub(crate) async fn send(
        self: &Arc<Self>,
        mut request: Request<RequestBody>,
        path: &PathAndQuery,
        upgradable: bool,
    ) -> Result<(Response<Incoming>, Option<Lease>), Failed> {
        for attempt in 1.. {
            let way = self.way(upgradable).await.map_err(Failed::Unreachable)?;
            let failed = match way {
                Way::Alone(mut sender) => {
                    self.fit(&mut request, path, false);
                    match sender.try_send_request(request).await {
                        Ok(response) => {
                            let idle = self.idle_time(&response);
                            let lease = Lease { upstream: Arc::clone(self), sender, idle };
                            return Ok((response, (!upgradable).then_some(lease)));
                        }
                        Err(failed) => failed,
                    }
                }
                Way::Shared(mut sender) => {
                    self.fit(&mut request, path, true);
                    match sender.try_send_request(request).await {
                        Ok(response) => return Ok((response, None)),
                        Err(failed) => failed,
                    }
                }
            };
            let mut failed = failed;
            match failed.take_message() {
                Some(unsent) if attempt < TRIES => request = unsent,
                Some(_) => return Err(Failed::Unreachable(explained(failed.error()))),
                None => return Err(Failed::Cut(explained(failed.error()))),
            }
        }
        Err(Failed::Cut("no connection".to_owned()))
    }

    /// Puts the request in the form that the connection speaks.
    fn fit(&self, request: &mut Request<RequestBody>, path: &PathAndQuery, h2: bool) {
        *request.version_mut() = if h2 { Version::HTTP_2 } else { Version::HTTP_11 };
        let mut parts = http::uri::Parts::default();
        parts.path_and_query = Some(path.clone());
        if h2 {
            parts.scheme = Some(if self.target.https { Scheme::HTTPS } else { Scheme::HTTP });
            parts.authority = Some(self.target.authority.clone());
            headers::without(request.headers_mut(), &[HOST, CONNECTION, TRANSFER_ENCODING]);
        } else if !request.headers().contains_key(HOST) {
            request.headers_mut().insert(HOST, self.target.host_header.clone());
        }
        // A path alone, and a whole address, both are URIs.
        if let Ok(uri) = Uri::from_parts(parts) {
            *request.uri_mut() = uri;
        }
    }

    async fn way(&self, upgradable: bool) -> Result<Way, String> {
        if upgradable {
            return self.connect(true).await;
        }
        if let Some(way) = self.open() {
            return Ok(way);
        }
        if !self.speaks_h2.load(Ordering::Relaxed) {
            return self.connect(false).await;
        }
        let _only_one = self.connecting.lock().await;
        match self.open() {
            Some(way) => Ok(way),
            None => self.connect(false).await,
        }
    }

    /// A connection that is open already.
    fn open(&self) -> Option<Way> {
        if self.speaks_h2.load(Ordering::Relaxed) {
            let mut shared = lock(&self.shared);
            if let Some(sender) = shared.as_ref().filter(|sender| !sender.is_closed()) {
                return Some(Way::Shared(sender.clone()));
            }
            *shared = None;
        }
        let now = Instant::now();
        let mut idle = lock(&self.idle);
        idle.retain(|idle| !idle.sender.is_closed() && idle.until > now);
        let ready = idle.iter().rposition(|idle| idle.sender.is_ready())?;
        Some(Way::Alone(idle.remove(ready).sender))
    }

    async fn connect(&self, upgradable: bool) -> Result<Way, String> {
        let (io, h2) = self.connector.connect(&self.target, upgradable).await?;
        self.counted.connects.fetch_add(1, Ordering::Relaxed);
        if h2 { self.share(io).await } else { self.alone(io).await }
    }

    async fn alone(&self, io: Io) -> Result<Way, String> {
        let mut builder = http1::Builder::new();
        builder.preserve_header_case(true).max_headers(256).writev(true);
        let (sender, connection) = builder.handshake(io).await.map_err(|error| explained(&error))?;
        tokio::spawn(async move {
            let _ = connection.with_upgrades().await;
        });
        Ok(Way::Alone(sender))
    }

    async fn share(&self, io: Io) -> Result<Way, String> {
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder
            .timer(TokioTimer::new())
            .initial_stream_window_size(2 << 20)
            .initial_connection_window_size(16 << 20)
            .max_header_list_size(256 << 10)
            .keep_alive_interval(Duration::from_secs(30))
            .keep_alive_timeout(Duration::from_secs(20));
        let (sender, connection) = builder.handshake(io).await.map_err(|error| explained(&error))?;
        tokio::spawn(async move {
            let _ = connection.await;
        });
        self.speaks_h2.store(true, Ordering::Relaxed);
        *lock(&self.shared) = Some(sender.clone());
        Ok(Way::Shared(sender))
    }

    /// How long the connection of this answer may be believed to be open.
    fn idle_time(&self, response: &Response<Incoming>) -> Duration {
        let usual = if self.target.is_loopback() { IDLE_HERE } else { IDLE };
        let said = response.headers().get("keep-alive").and_then(|value| value.to_str().ok());
        let seconds = said.and_then(|said| {
            said.split(',').find_map(|part| part.trim().strip_prefix("timeout=")?.parse::<u64>().ok())
        });
        match seconds {
            Some(seconds) => Duration::from_secs(seconds.saturating_sub(1)).min(usual),
            None => usual,
        }
    }
}

impl Lease {
    /// The answer was read to its end.
    pub(crate) fn give_back(self) {
        let Self { upstream, sender, idle } = self;
        if sender.is_closed() || idle.is_zero() {
            return;
        }
        let mut all = lock(&upstream.idle);
        if all.len() >= KEPT {
            all.remove(0);
        }
        all.push(Idle { sender, until: Instant::now() + idle });
    }
}

/// What happened on a connection, for a person and for the record.
pub(crate) fn explained(error: &hyper::Error) -> String {
    connect::chain(error)
}
