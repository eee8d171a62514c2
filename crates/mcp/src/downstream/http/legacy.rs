//! Clients of the legacy era: sessions with a name, a stream for every request, one that stands alone.

use super::hub::{Hub, NoStream};
use super::reply::{self, Reply};
use super::{Messages, Posted, Server, Sessions, mcp_headers};
use crate::message::{KNOWN_VERSIONS, LEGACY_VERSION, MODERN_VERSION};
use crate::relay::frame::Key;
use crate::relay::port::{FromClient, Kind, ToClient};
use crate::relay::wording;
use axum::http::StatusCode;
use axum::http::header::{ACCEPT, HeaderMap, HeaderValue};
use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep, timeout};

/// How long an answer may wait for its first message before it begins as a stream.
const FIRST: Duration = Duration::from_secs(10);
/// Bytes that a client may leave lying on a stream while it is waited for, and for how long.
pub(super) const UNREAD: usize = 32 << 20;
pub(super) const SLOW: Duration = Duration::from_secs(30);

/// A session.
#[derive(Debug)]
pub(super) struct Session {
    name: String,
    input: mpsc::Sender<FromClient>,
    hub: Mutex<Hub>,
    used: Mutex<Instant>,
}

impl Session {
    fn hub(&self) -> MutexGuard<'_, Hub> {
        self.hub.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn touch(&self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Since when nobody uses it, if nobody does.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        if self.hub().is_busy() {
            // Its time begins when whoever listens has left, however long that was.
            *used = Instant::now();
            return None;
        }
        Some(*used)
    }

    /// Whether it has something to answer.
    pub(super) fn owes(&self) -> bool {
        self.hub().owes()
    }

    /// Ends what its client has taken back.
    fn take_back(&self, requests: &[Key]) {
        requests.iter().for_each(|request| self.hub().cancel(request));
    }

    pub(super) fn end(&self) {
        self.hub().close();
    }
}

/// Ends a session that did not come about.
struct Unborn<S: Sessions> {
    server: Arc<Server<S>>,
    name: Option<String>,
}

impl<S: Sessions> Drop for Unborn<S> {
    fn drop(&mut self) {
        if let Some(name) = self.name.take() {
            self.server.forget(&name);
        }
    }
}

impl<S: Sessions> Server<S> {
    /// A POST.
    pub(super) async fn legacy_post(self: Arc<Self>, headers: &HeaderMap, posted: Posted) -> Reply {
        let opens = posted.frames.iter().any(|frame| frame.method() == Some("initialize"));
        let from_client = FromClient { bytes: posted.bytes.clone(), headers: mcp_headers(headers) };
        if opens {
            if posted.frames.len() > 1 {
                let detail = "Invalid Request: Only one initialization request is allowed";
                return reply::error(StatusCode::BAD_REQUEST, None, -32600, detail);
            }
            if headers.contains_key("mcp-session-id") {
                let detail = "Invalid Request: Server already initialized";
                return reply::error(StatusCode::BAD_REQUEST, None, -32600, detail);
            }
            if posted.requests().is_empty() {
                let detail = "Invalid Request: an initialization request has an id";
                return reply::error(StatusCode::BAD_REQUEST, None, -32600, detail);
            }
            return self.initialize(&posted, from_client).await;
        }
        let session = match self.session(headers) {
            Ok(session) => session,
            Err(reply) => return reply,
        };
        let requests = posted.requests();
        let cancelled = posted.cancelled();
        if requests.is_empty() {
            let sent = session.input.send(from_client).await;
            session.take_back(&cancelled);
            return if sent.is_ok() { reply::empty(StatusCode::ACCEPTED) } else { gone() };
        }
        if requests.iter().collect::<HashSet<_>>().len() < requests.len() {
            let detail = "Invalid Request: two requests in one batch have the same id";
            return reply::error(StatusCode::BAD_REQUEST, None, -32600, detail);
        }
        if requests.iter().any(|request| session.hub().waits(request)) {
            let detail = "Invalid Request: a request with this id is still under way";
            return reply::error(StatusCode::BAD_REQUEST, None, -32600, detail);
        }
        let (told, first) = oneshot::channel();
        let (_, stream) = session.hub().open(&requests, told);
        if session.input.send(from_client).await.is_err() {
            return gone();
        }
        session.take_back(&cancelled);
        match begins(first).await {
            Begins::Whole(message) => whole(&message),
            Begins::Stream => named(stream.into_reply(()), &session.name),
            Begins::Never => gone(),
        }
    }

    async fn initialize(self: Arc<Self>, posted: &Posted, from_client: FromClient) -> Reply {
        // From this version on a client knows an event without a message, and takes a lost stream up from it.
        let version =
            posted.frames.first().and_then(|frame| wording::text(&frame.params()?, &["protocolVersion"]));
        let primed = version.as_deref() == Some(LEGACY_VERSION);
        let Some((session, messages)) = self.open_session(primed) else { return full() };
        let mut unborn = Unborn { server: Arc::clone(&self), name: Some(session.name.clone()) };
        tokio::spawn(pump(Arc::clone(&self), Arc::clone(&session), messages));
        let (told, first) = oneshot::channel();
        let (_, stream) = session.hub().open(&posted.requests(), told);
        if session.input.send(from_client).await.is_err() {
            return gone();
        }
        match first.await {
            Ok(Some(message)) => whole(&message),
            Ok(None) => {
                unborn.name = None;
                named(stream.into_reply(()), &session.name)
            }
            Err(_) => gone(),
        }
    }

    /// A GET.
    pub(super) fn legacy_get(&self, headers: &HeaderMap) -> Reply {
        let accept = headers.get(ACCEPT).map(HeaderValue::as_bytes).unwrap_or_default();
        if !super::accepts(accept, "text/event-stream") {
            let detail = "Not Acceptable: Client must accept text/event-stream";
            return reply::error(StatusCode::NOT_ACCEPTABLE, None, -32000, detail);
        }
        let session = match self.session(headers) {
            Ok(session) => session,
            Err(reply) => return reply,
        };
        let last = headers.get("last-event-id").map(|last| last.to_str().unwrap_or_default());
        let mut hub = session.hub();
        let stream = match last {
            Some(last) => hub.take_up(last),
            None => hub.stand_alone(),
        };
        match stream {
            Ok(stream) => named(stream.into_reply(()), &session.name),
            Err(NoStream::Unknown) => {
                reply::error(StatusCode::BAD_REQUEST, None, -32000, "Bad Request: Unknown Last-Event-ID")
            }
            Err(NoStream::Taken) => {
                let detail = "Conflict: Only one SSE stream is allowed per session";
                reply::error(StatusCode::CONFLICT, None, -32000, detail)
            }
        }
    }

    /// A DELETE.
    pub(super) fn legacy_delete(&self, headers: &HeaderMap) -> Reply {
        match self.session(headers) {
            Ok(session) => {
                self.forget(&session.name);
                reply::empty(StatusCode::OK)
            }
            Err(reply) => reply,
        }
    }

    /// The session that a request names.
    fn session(&self, headers: &HeaderMap) -> Result<Arc<Session>, Reply> {
        let Some(name) = headers.get("mcp-session-id") else {
            let detail = "Bad Request: Mcp-Session-Id header is required";
            return Err(reply::error(StatusCode::BAD_REQUEST, None, -32000, detail));
        };
        let known = name.to_str().ok().and_then(|name| self.legacy_sessions().get(name).cloned());
        let session = known.ok_or_else(gone)?;
        if let Some(version) = headers.get("mcp-protocol-version") {
            let known = version.to_str().is_ok_and(|version| {
                KNOWN_VERSIONS.contains(&version.trim()) && version.trim() != MODERN_VERSION
            });
            if !known {
                let version = crate::harmless::excerpt(version.as_bytes(), 40);
                let detail = format!("Bad Request: Unsupported protocol version: {version}");
                return Err(reply::error(StatusCode::BAD_REQUEST, None, -32000, &detail));
            }
        }
        session.touch();
        Ok(session)
    }

    fn open_session(&self, primed: bool) -> Option<(Arc<Session>, S::Messages)> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).ok()?;
        let name: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        self.make_room()?;
        let (input, messages) = self.sessions.open();
        let session = Arc::new(Session {
            name: name.clone(),
            input,
            hub: Mutex::new(Hub::new(primed)),
            used: Mutex::new(Instant::now()),
        });
        self.legacy_sessions().insert(name, Arc::clone(&session));
        Some((session, messages))
    }

    /// Ends a session.
    pub(super) fn forget(&self, name: &str) {
        let session = self.legacy_sessions().remove(name);
        if let Some(session) = session {
            session.end();
        }
    }
}

/// Brings the messages of a session to its streams, until it is over.
async fn pump<S: Sessions>(server: Arc<Server<S>>, session: Arc<Session>, mut messages: S::Messages) {
    let name = session.name.clone();
    // Its input must not be held by who waits for its end.
    let session = {
        let weak = Arc::downgrade(&session);
        drop(session);
        weak
    };
    while let Some(message) = messages.next().await {
        if let Some(session) = session.upgrade() {
            session.touch();
            session.hub().route(&message);
        }
        let since = Instant::now();
        while let Some(session) = session.upgrade() {
            let Some(stream) = session.hub().overfull(UNREAD) else { break };
            if since.elapsed() > SLOW {
                session.hub().cut(stream);
            }
            drop(session);
            sleep(Duration::from_millis(5)).await;
        }
        messages.taken(&message);
    }
    server.forget(&name);
}

/// How an answer begins.
enum Begins {
    Whole(ToClient),
    Stream,
    Never,
}

async fn begins(mut first: oneshot::Receiver<Option<ToClient>>) -> Begins {
    let told = match timeout(FIRST, &mut first).await {
        Ok(told) => told.ok(),
        Err(_) => {
            first.close();
            Some(first.try_recv().unwrap_or(None))
        }
    };
    match told {
        Some(Some(message)) => Begins::Whole(message),
        Some(None) => Begins::Stream,
        None => Begins::Never,
    }
}

/// A message that is the whole answer.
fn whole(message: &ToClient) -> Reply {
    let status = message.status.and_then(|status| StatusCode::from_u16(status).ok());
    reply::json(status.unwrap_or(StatusCode::OK), message.bytes.clone())
}

fn named(mut reply: Reply, session: &str) -> Reply {
    if let Ok(name) = HeaderValue::from_str(session) {
        reply.headers_mut().insert("mcp-session-id", name);
    }
    reply
}

fn gone() -> Reply {
    reply::error(StatusCode::NOT_FOUND, None, -32001, "Session not found")
}

pub(super) fn full() -> Reply {
    let detail = "Service Unavailable: too many sessions are open";
    reply::error(StatusCode::SERVICE_UNAVAILABLE, None, -32000, detail)
}

impl Posted {
    /// The ids of the requests that it takes back: those that came before.
    fn cancelled(&self) -> Vec<Key> {
        let mut cancelled = Vec::new();
        for frame in &self.frames {
            match frame.kind() {
                Kind::Notification { method } if method == "notifications/cancelled" => {
                    cancelled.extend(frame.request_id().map(|id| Key::of(&id)));
                }
                Kind::Request { id, .. } => cancelled.retain(|key| *key != Key::of(id)),
                _ => {}
            }
        }
        cancelled
    }

    /// The ids of the requests in it.
    fn requests(&self) -> Vec<Key> {
        let id = |kind: &Kind| match kind {
            Kind::Request { id, .. } => Some(Key::of(id)),
            _ => None,
        };
        self.frames.iter().filter_map(|frame| id(frame.kind())).collect()
    }
}
