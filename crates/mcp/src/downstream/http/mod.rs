//! Clients over streamable HTTP, in both eras.
//!
//! What a client says goes to a session, and what the session says goes on the answer to the request it is about. A client
//! of the legacy era has a session of its own, with a name; clients of 2026-07-28 have none, and share one with whoever
//! has the same name and the same capabilities.

#![allow(
    clippy::result_large_err,
    reason = "a refusal is an answer like any other, and made once for a request"
)]

mod gate;
mod hub;
mod ids;
mod legacy;
mod modern;
mod places;
mod reply;

use crate::relay::frame::{Frame, NoFrame};
use crate::relay::port::{FromClient, ToClient};
use crate::text::Text;
use axum::http::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue};
use axum::http::{Method, Request, StatusCode};
use bytes::Bytes;
use deadweight_wire::json::Parser;
use gate::Gate;
use hyper::body::{Body as _, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use places::{Answer, Place, Places, time_for};
use reply::Reply;
use std::collections::HashMap;
use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

/// How long a client may take for the head of a request.
const HEAD: Duration = Duration::from_secs(10);
/// How long a body may take: between two of its bytes, for a small one, and for any.
const SILENT: Duration = Duration::from_secs(10);
const SMALL: Duration = Duration::from_secs(30);
const BODY: Duration = Duration::from_secs(120);
/// Bytes that the head of a request may have.
const HEAD_BYTES: usize = 64 << 10;
/// Messages in one body.
const BATCH: usize = 100;

/// How the proxy listens.
#[derive(Debug, Clone)]
pub struct HttpSettings {
    /// The address; one that is not loopback needs a token.
    pub address: SocketAddr,
    /// The token that clients must show.
    pub token: Option<Text>,
    /// Most bytes in one body of a client. Default 64 MiB.
    pub max_body: usize,
    /// Most sessions at once, each of which has servers of its own. Default 64.
    pub max_sessions: usize,
    /// Most connections at once; when there are so many, the slowest that waits makes room. Default 512.
    pub max_connections: usize,
    /// How long a session may be without use, before it ends with its servers. Default 10 minutes.
    pub idle: Duration,
}

impl HttpSettings {
    /// The defaults, at an address.
    pub const fn at(address: SocketAddr) -> Self {
        Self {
            address,
            token: None,
            max_body: 64 << 20,
            max_sessions: 64,
            max_connections: 512,
            idle: Duration::from_secs(10 * 60),
        }
    }
}

/// Why it is not listened.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// Other machines could ask, and nobody is asked for a token.
    #[error(
        "{address} can be reached from other machines, and there is no token: set DEADWEIGHT_TOKEN or --token, or listen on 127.0.0.1"
    )]
    TokenNeeded {
        /// The address.
        address: SocketAddr,
    },
    /// The address cannot be had.
    #[error("cannot listen on {address}: {source}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
}

/// What sessions say to their clients.
pub(crate) trait Messages: Send + 'static {
    /// The next message; none when the session is over.
    fn next(&mut self) -> impl Future<Output = Option<ToClient>> + Send;
    /// A message was taken, so that the next may be made.
    fn taken(&self, message: &ToClient);
}

/// Where sessions come from.
pub(crate) trait Sessions: Send + Sync + 'static {
    type Messages: Messages;
    /// A new session. It ends when the sender is dropped.
    fn open(&self) -> (mpsc::Sender<FromClient>, Self::Messages);
}

impl Messages for crate::session::ClientMessages {
    async fn next(&mut self) -> Option<ToClient> {
        self.next().await
    }

    fn taken(&self, message: &ToClient) {
        self.taken(message);
    }
}

/// A listener that has its address.
#[derive(Debug)]
pub(crate) struct Bound {
    listener: TcpListener,
    address: SocketAddr,
    settings: HttpSettings,
}

impl Bound {
    /// Takes the address.
    ///
    /// # Errors
    ///
    /// When there is no token for an address that others can reach, or when the address cannot be had.
    pub(crate) async fn new(settings: HttpSettings) -> Result<Self, HttpError> {
        let address = settings.address;
        let has_token = settings.token.as_ref().is_some_and(|token| !token.reveal().trim().is_empty());
        if !has_token && (!address.ip().is_loopback() || settings.token.is_some()) {
            return Err(HttpError::TokenNeeded { address });
        }
        let bind = |source| HttpError::Bind { address, source };
        let listener = TcpListener::bind(address).await.map_err(bind)?;
        let address = listener.local_addr().map_err(bind)?;
        Ok(Self { listener, address, settings })
    }

    /// Where it listens.
    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves clients until `over`; then ends their sessions.
    pub(crate) async fn serve<S: Sessions>(self, sessions: S, over: impl Future<Output = ()>) {
        let Self { listener, address, settings } = self;
        let places = Places::new(settings.max_connections);
        let server = Arc::new(Server {
            gate: Gate::new(address, settings.token.clone()),
            sessions,
            settings,
            legacy: Mutex::default(),
            modern: Mutex::default(),
        });
        let mut connections = JoinSet::new();
        let mut over = std::pin::pin!(over);
        loop {
            tokio::select! {
                () = &mut over => break,
                () = sleep(server.settings.idle.min(Duration::from_secs(60)) / 2) => server.end_idle(),
                Some(_) = connections.join_next() => {}
                () = places.available() => {
                    // A connection that is broken before it is taken is not worth a word.
                    let accepted = tokio::select! {
                        () = &mut over => break,
                        accepted = timeout(Duration::from_secs(1), listener.accept()) => accepted,
                    };
                    if let Ok(Ok((stream, _))) = accepted {
                        let _ = stream.set_nodelay(true);
                        let server = Arc::clone(&server);
                        let place = places.take();
                        let id = place.id();
                        let task = connections.spawn(connection(stream, server, place));
                        places.served_by(id, task);
                    } else if matches!(accepted, Ok(Err(_))) {
                        // Out of descriptors, for instance: it does not get better at once.
                        sleep(Duration::from_millis(50)).await;
                    }
                    server.end_idle();
                }
            }
        }
        server.end_all();
        drop(connections);
    }
}

async fn connection<S: Sessions>(stream: tokio::net::TcpStream, server: Arc<Server<S>>, place: Place) {
    let place = Arc::new(place);
    let service = service_fn(move |request: Request<Incoming>| {
        let (server, place) = (Arc::clone(&server), Arc::clone(&place));
        async move {
            let reply = server.answer(request, &place).await;
            Ok::<_, Infallible>(reply.map(|body| Answer { body, place }))
        }
    });
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

/// What all connections share.
#[derive(Debug)]
struct Server<S> {
    gate: Gate,
    sessions: S,
    settings: HttpSettings,
    legacy: Mutex<HashMap<String, Arc<legacy::Session>>>,
    modern: Mutex<HashMap<Bytes, Arc<modern::Shared>>>,
}

/// A body with its messages.
struct Posted {
    bytes: Bytes,
    frames: Vec<Frame>,
    is_array: bool,
}

impl<S: Sessions> Server<S> {
    fn legacy_sessions(&self) -> MutexGuard<'_, HashMap<String, Arc<legacy::Session>>> {
        self.legacy.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn modern_sessions(&self) -> MutexGuard<'_, HashMap<Bytes, Arc<modern::Shared>>> {
        self.modern.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn answer(self: Arc<Self>, request: Request<Incoming>, place: &Place) -> Reply {
        let (parts, body) = request.into_parts();
        // Until its body is read, nothing that could take time is done for it.
        place.is_answered();
        if let Some(refusal) = self.gate.refusal(&parts.uri, &parts.headers) {
            return refusal;
        }
        if !matches!(parts.uri.path(), "/" | "/mcp" | "/mcp/") {
            return reply::error(StatusCode::NOT_FOUND, None, -32000, "Not Found: the endpoint is /mcp");
        }
        match parts.method {
            Method::POST => {
                let posted = match self.read(&parts.headers, body, place).await {
                    Ok(posted) => posted,
                    Err(reply) => return reply,
                };
                match modern::is_modern(&parts.headers, &posted) {
                    Ok(true) => self.modern_post(&parts.headers, posted).await,
                    Ok(false) => self.legacy_post(&parts.headers, posted).await,
                    Err(reply) => reply,
                }
            }
            Method::GET => self.legacy_get(&parts.headers),
            Method::DELETE => self.legacy_delete(&parts.headers),
            _ => reply::not_allowed("GET, POST, DELETE"),
        }
    }

    async fn read(&self, headers: &HeaderMap, body: Incoming, place: &Place) -> Result<Posted, Reply> {
        let bad = |status, code, detail: &str| Err(reply::error(status, None, code, detail));
        let value = |name| headers.get(name).map(HeaderValue::as_bytes).unwrap_or_default();
        let accept = value(ACCEPT);
        if !accepts(accept, "application/json") || !accepts(accept, "text/event-stream") {
            let detail = "Not Acceptable: Client must accept both application/json and text/event-stream";
            return bad(StatusCode::NOT_ACCEPTABLE, -32000, detail);
        }
        let kind = value(CONTENT_TYPE).split(|byte| *byte == b';').next().unwrap_or_default();
        if !kind.trim_ascii().eq_ignore_ascii_case(b"application/json") {
            let detail = "Unsupported Media Type: Content-Type must be application/json";
            return bad(StatusCode::UNSUPPORTED_MEDIA_TYPE, -32000, detail);
        }
        let most = self.settings.max_body;
        let too_large = || {
            let detail = format!("Payload Too Large: a message may have {most} bytes");
            Err(reply::error(StatusCode::PAYLOAD_TOO_LARGE, None, -32000, &detail))
        };
        let length =
            std::str::from_utf8(value(CONTENT_LENGTH)).ok().and_then(|text| text.parse::<usize>().ok());
        if length.is_some_and(|length| length > most) {
            return too_large();
        }
        let body = whole(body, most, place).await;
        place.is_answered();
        let bytes = match body {
            Ok(bytes) => bytes,
            Err(NoBody::TooLarge) => return too_large(),
            Err(NoBody::Broken) => {
                return bad(StatusCode::BAD_REQUEST, -32700, "Parse error: the body ended too early");
            }
            Err(NoBody::Slow) => return bad(StatusCode::REQUEST_TIMEOUT, -32000, "Request Timeout"),
        };
        let frames = match Frame::read(&mut Parser::new(), &bytes) {
            Ok(frames) => frames,
            Err(NoFrame::Json { offset, .. }) => {
                let detail = format!("Parse error: Invalid JSON at byte {offset}");
                return bad(StatusCode::BAD_REQUEST, -32700, &detail);
            }
            Err(NoFrame::Shape { .. }) => Vec::new(),
        };
        let count = frames.len();
        let frames: Vec<Frame> = frames.into_iter().flatten().collect();
        if frames.len() != count || frames.is_empty() || count > BATCH {
            let detail = "Invalid Request: the body is no JSON-RPC message";
            return bad(StatusCode::BAD_REQUEST, -32600, detail);
        }
        let is_array = bytes.trim_ascii_start().first() == Some(&b'[');
        Ok(Posted { bytes, frames, is_array })
    }

    /// Makes sure that there is room for another session: the one that was idle for longest goes. None if all are in use.
    fn make_room(&self) -> Option<()> {
        let count = || self.legacy_sessions().len() + self.modern_sessions().len();
        if count() < self.settings.max_sessions {
            return Some(());
        }
        let legacy: Vec<_> = self
            .legacy_sessions()
            .iter()
            .map(|(name, session)| (name.clone(), Arc::clone(session)))
            .collect();
        let idle = legacy
            .iter()
            .filter_map(|(name, session)| session.idle_since().map(|since| (session.owes(), since, name)));
        // A client that left while it waited may come back for its answer: it is the last to lose its session.
        let oldest = idle.min();
        let shared: Vec<_> =
            self.modern_sessions().iter().map(|(key, shared)| (key.clone(), Arc::clone(shared))).collect();
        let oldest_shared = shared.iter().filter_map(|(key, shared)| Some((shared.idle_since()?, key))).min();
        match (oldest, oldest_shared) {
            (Some((owes, since, name)), other)
                if other.is_none_or(|(other, _)| (owes, since) <= (false, other)) =>
            {
                self.forget(name)
            }
            (_, Some((_, key))) => drop(self.modern_sessions().remove(key)),
            _ => return None,
        }
        Some(())
    }

    /// Ends the sessions that nobody has used for a while.
    fn end_idle(&self) {
        let idle = self.settings.idle;
        let is_idle = |since: Option<Instant>| since.is_some_and(|since| since.elapsed() >= idle);
        self.legacy_sessions().retain(|_, session| !is_idle(session.idle_since()));
        self.modern_sessions().retain(|_, shared| !is_idle(shared.idle_since()));
    }

    fn end_all(&self) {
        self.legacy_sessions().drain().for_each(|(_, session)| session.end());
        self.modern_sessions().drain().for_each(|(_, shared)| shared.end());
    }
}

/// Why there is no body.
enum NoBody {
    TooLarge,
    Broken,
    Slow,
}

/// A body, put together. One that makes no progress is not waited for, nor is one that makes too little.
async fn whole(mut body: Incoming, most: usize, place: &Place) -> Result<Bytes, NoBody> {
    let begun = Instant::now();
    let mut bytes: Vec<u8> = Vec::new();
    loop {
        let came = bytes.len() as u64;
        place.brings(begun, came);
        let left = (SMALL + time_for(came)).min(BODY).saturating_sub(begun.elapsed()).min(SILENT);
        let next = poll_fn(|context| Pin::new(&mut body).poll_frame(context));
        match timeout(left, next).await {
            Err(_) => return Err(NoBody::Slow),
            Ok(None) => return Ok(bytes.into()),
            Ok(Some(Err(_))) => return Err(NoBody::Broken),
            Ok(Some(Ok(frame))) => {
                let Some(data) = frame.data_ref() else { continue };
                if data.len() > most - bytes.len() {
                    return Err(NoBody::TooLarge);
                }
                bytes.extend_from_slice(data);
            }
        }
    }
}

/// Whether an `Accept` header holds a media type.
fn accepts(accept: &[u8], kind: &str) -> bool {
    let family = kind.split('/').next().unwrap_or_default();
    accept.split(|byte| *byte == b',').any(|range| {
        let range = range.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
        let range = String::from_utf8_lossy(range).to_ascii_lowercase();
        range == kind || range == "*/*" || range.strip_suffix("/*").is_some_and(|own| own == family)
    })
}

/// The `Mcp-…` headers that are not the transport's own.
fn mcp_headers(headers: &HeaderMap) -> Vec<(String, String)> {
    let own = ["mcp-session-id", "mcp-protocol-version", "mcp-method", "mcp-name"];
    let further =
        headers.iter().filter(|(name, _)| name.as_str().starts_with("mcp-") && !own.contains(&name.as_str()));
    further
        .filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned())))
        .collect()
}

#[cfg(test)]
mod tests;
