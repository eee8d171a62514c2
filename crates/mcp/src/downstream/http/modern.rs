//! Clients of 2026-07-28: no session, headers that repeat what the body says, and a request that is taken back by leaving.

use super::ids::Ids;
use super::legacy::{SLOW, UNREAD, full};
use super::reply::{self, Reply};
use super::{Messages, Posted, Server, Sessions, mcp_headers};
use crate::message::{METHOD_NOT_FOUND, MODERN_VERSION};
use crate::relay::frame::{Frame, Key, quoted};
use crate::relay::port::{FromClient, Id, Kind, ToClient};
use axum::http::StatusCode;
use axum::http::header::{HeaderMap, HeaderValue};
use base64::Engine;
use bytes::Bytes;
use deadweight_wire::json::{self, Parser, Value};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};

/// How long an answer may wait for its first message before it begins as a stream.
const FIRST: Duration = Duration::from_secs(10);
const PREFIX: &str = "io.modelcontextprotocol/";

/// What clients of one name and the same capabilities share.
#[derive(Debug)]
pub(super) struct Shared {
    input: mpsc::Sender<FromClient>,
    waiting: Mutex<HashMap<Key, Waiter>>,
    next: AtomicU64,
    used: Mutex<Instant>,
}

/// Who waits for a request.
#[derive(Debug)]
struct Waiter {
    ids: Ids,
    to: mpsc::UnboundedSender<ToClient>,
    unread: Arc<AtomicUsize>,
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, HashMap<Key, Waiter>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn touch(&self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    pub(super) fn idle_since(&self) -> Option<Instant> {
        self.waiting().is_empty().then(|| *self.used.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn end(&self) {
        self.waiting().clear();
    }

    /// Brings a message to whoever waits for it. What is about no request has nowhere to go in this era.
    fn route(&self, message: &ToClient) {
        let Some(key) = message.about.as_ref().map(|about| Key::of(about)) else { return };
        let mut waiting = self.waiting();
        let Some(waiter) = waiting.get(&key) else { return };
        let bytes = waiter.ids.homeward(&message.bytes);
        waiter.unread.fetch_add(bytes.len(), Ordering::Relaxed);
        let _ = waiter.to.send(ToClient { bytes, ..message.clone() });
        if message.end {
            waiting.remove(&key);
        }
    }

    fn overfull(&self) -> Option<Key> {
        let waiting = self.waiting();
        let mut full = waiting.iter().filter(|(_, waiter)| waiter.unread.load(Ordering::Relaxed) > UNREAD);
        full.next().map(|(key, _)| key.clone())
    }
}

/// Takes a request back when its client leaves before its end.
struct Withdrawal {
    shared: Weak<Shared>,
    ours: Id,
}

impl Drop for Withdrawal {
    fn drop(&mut self) {
        let Some(shared) = self.shared.upgrade() else { return };
        if shared.waiting().remove(&Key::of(&self.ours)).is_none() {
            return;
        }
        let id = String::from_utf8_lossy(&self.ours);
        let body = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":"the client left"}}}}"#
        );
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let input = shared.input.clone();
            runtime.spawn(async move {
                let _ = input.send(FromClient { bytes: body.into(), headers: Vec::new() }).await;
            });
        }
    }
}

/// Whether a POST is one of the modern era, or of neither.
pub(super) fn is_modern(headers: &HeaderMap, posted: &Posted) -> Result<bool, Reply> {
    let version = header(headers, "mcp-protocol-version");
    let names_modern = version.as_deref() == Some(MODERN_VERSION);
    if posted.is_array {
        if posted.frames.iter().any(Frame::is_modern) {
            let detail = "Bad Request: JSON-RPC batches may not contain requests for protocol revision 2026-07-28 or later";
            return Err(reply::error(StatusCode::BAD_REQUEST, None, -32600, detail));
        }
        return Ok(false);
    }
    let Some(frame) = posted.frames.first() else { return Ok(false) };
    let id = id_of(frame);
    match frame.kind() {
        Kind::Response { .. } => Ok(false),
        _ if frame.is_modern() => Ok(true),
        Kind::Request { method, .. } if names_modern && method == "initialize" => {
            let detail =
                "an initialize request (legacy handshake) was sent with a modern MCP-Protocol-Version header";
            Err(mismatch(id, detail))
        }
        Kind::Request { .. } if names_modern => {
            let detail = "Invalid params: the MCP-Protocol-Version header names protocol revision 2026-07-28, but the request has no `_meta` with its version, client and capabilities";
            Err(reply::error(StatusCode::BAD_REQUEST, id, -32602, detail))
        }
        Kind::Notification { .. } if names_modern && !headers.contains_key("mcp-session-id") => Ok(true),
        _ => Ok(false),
    }
}

impl<S: Sessions> Server<S> {
    /// A POST of the modern era.
    pub(super) async fn modern_post(self: Arc<Self>, headers: &HeaderMap, posted: Posted) -> Reply {
        let Some(frame) = posted.frames.first() else { return reply::empty(StatusCode::BAD_REQUEST) };
        let envelope = Envelope::of(frame);
        if let Err(reply) = check(headers, frame, &envelope) {
            return reply;
        }
        if matches!(frame.kind(), Kind::Notification { .. }) {
            self.modern_notification(headers, frame, &envelope).await;
            return reply::empty(StatusCode::ACCEPTED);
        }
        let Kind::Request { id, .. } = frame.kind() else { return reply::empty(StatusCode::BAD_REQUEST) };
        let Some(shared) = self.shared(&envelope.client) else { return full() };
        let ours: Id = shared.next.fetch_add(1, Ordering::Relaxed).to_string().into();
        let ids = Ids { ours: ours.clone(), id: id.clone(), token: frame.token() };
        let bytes = ids.outward(frame.bytes());
        let (to, mut messages) = mpsc::unbounded_channel();
        let unread = Arc::new(AtomicUsize::new(0));
        let waiter = Waiter { ids, to, unread: Arc::clone(&unread) };
        shared.waiting().insert(Key::of(&ours), waiter);
        let withdrawal = Withdrawal { shared: Arc::downgrade(&shared), ours };
        let from_client = FromClient { bytes, headers: mcp_headers(headers) };
        if shared.input.send(from_client).await.is_err() {
            return over(id);
        }
        drop(shared);
        let first = match timeout(FIRST, messages.recv()).await {
            Ok(None) => return over(id),
            Ok(Some(message)) if message.end => return whole(message),
            Ok(Some(message)) => Some(message),
            Err(_) => None,
        };
        let (live, stream) = reply::stream();
        let work = async move {
            let mut next = first;
            loop {
                if let Some(message) = next.take() {
                    unread.fetch_sub(message.bytes.len(), Ordering::Relaxed);
                    if !live.send(reply::event(None, &message.bytes)) || message.end {
                        return;
                    }
                }
                // What the client does not read stays where it is counted.
                while live.unsent() > UNREAD / 2 && !live.is_gone() {
                    sleep(Duration::from_millis(5)).await;
                }
                match messages.recv().await {
                    Some(message) => next = Some(message),
                    None => return,
                }
            }
        };
        stream.into_reply((Ending(tokio::spawn(work).abort_handle()), withdrawal))
    }

    async fn modern_notification(self: &Arc<Self>, headers: &HeaderMap, frame: &Frame, envelope: &Envelope) {
        let about = (frame.method() == Some("notifications/cancelled")).then(|| frame.request_id()).flatten();
        if let Some(about) = about {
            // It should have left instead. Its id is not unique here: with two of it, nobody knows which one is meant.
            let key = Key::of(&about);
            let all: Vec<Arc<Shared>> = self.modern_sessions().values().cloned().collect();
            let mut meant = all.iter().flat_map(|shared| {
                let found: Vec<Id> = shared
                    .waiting()
                    .values()
                    .filter(|waiter| Key::of(&waiter.ids.id) == key)
                    .map(|waiter| waiter.ids.ours.clone())
                    .collect();
                found.into_iter().map(move |ours| (shared, ours))
            });
            if let (Some((shared, ours)), None) = (meant.next(), meant.next()) {
                drop(Withdrawal { shared: Arc::downgrade(shared), ours });
            }
            return;
        }
        if envelope.client.is_empty() {
            return;
        }
        if let Some(shared) = self.shared(&envelope.client) {
            let message = FromClient { bytes: frame.bytes().clone(), headers: mcp_headers(headers) };
            let _ = shared.input.send(message).await;
        }
    }

    /// What the clients of this name and these capabilities share.
    fn shared(self: &Arc<Self>, client: &Bytes) -> Option<Arc<Shared>> {
        let known = self.modern_sessions().get(client).cloned();
        if let Some(shared) = known {
            shared.touch();
            return Some(shared);
        }
        self.make_room()?;
        let (input, messages) = self.sessions.open();
        let shared = Arc::new(Shared {
            input,
            waiting: Mutex::default(),
            next: AtomicU64::new(1),
            used: Mutex::new(Instant::now()),
        });
        self.modern_sessions().insert(client.clone(), Arc::clone(&shared));
        tokio::spawn(pump(Arc::clone(self), client.clone(), Arc::downgrade(&shared), messages));
        Some(shared)
    }
}

/// Brings messages to who waits for them, until the session is over.
async fn pump<S: Sessions>(
    server: Arc<Server<S>>,
    client: Bytes,
    shared: Weak<Shared>,
    mut messages: S::Messages,
) {
    while let Some(message) = messages.next().await {
        if let Some(shared) = shared.upgrade() {
            shared.touch();
            shared.route(&message);
        }
        let since = Instant::now();
        while let Some(shared) = shared.upgrade() {
            let Some(key) = shared.overfull() else { break };
            if since.elapsed() > SLOW {
                let ours = shared.waiting().get(&key).map(|waiter| waiter.ids.ours.clone());
                if let Some(ours) = ours {
                    drop(Withdrawal { shared: Arc::downgrade(&shared), ours });
                }
            }
            drop(shared);
            sleep(Duration::from_millis(5)).await;
        }
        messages.taken(&message);
    }
    let is_own = |known: &Arc<Shared>| std::ptr::eq(Arc::as_ptr(known), shared.as_ptr());
    let mut sessions = server.modern_sessions();
    if sessions.get(&client).is_some_and(is_own) {
        sessions.remove(&client);
    }
    drop(sessions);
    if let Some(shared) = shared.upgrade() {
        shared.end();
    }
}

/// Ends a task with its owner.
struct Ending(tokio::task::AbortHandle);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// What a request says of itself and of its client.
struct Envelope {
    version: Option<String>,
    /// The raw version, client and capabilities: who has the same shares a session.
    client: Bytes,
    /// What of it is missing or of the wrong kind.
    fault: Option<&'static str>,
}

impl Envelope {
    fn of(frame: &Frame) -> Self {
        let nothing = || Self { version: None, client: Bytes::new(), fault: None };
        let Some(meta) = frame.meta() else { return nothing() };
        Parser::new().scope(&meta, |document| {
            let Ok(document) = document else { return nothing() };
            let get = |key: &str| document.root().get(&format!("{PREFIX}{key}"));
            let is = |value: Option<Value<'_, '_>>, kind: json::Kind| {
                value.is_some_and(|value| value.kind() == kind)
            };
            let (version, info, capabilities) =
                (get("protocolVersion"), get("clientInfo"), get("clientCapabilities"));
            let fault = if !is(version, json::Kind::String) {
                Some("protocolVersion")
            } else if info.is_some() && !is(info, json::Kind::Object) {
                Some("clientInfo")
            } else if !is(capabilities, json::Kind::Object) {
                Some("clientCapabilities")
            } else {
                None
            };
            let raw = |value: Option<Value<'_, '_>>| value.map_or("", |value| value.raw()).to_owned();
            let client = format!("{}\n{}\n{}", raw(version), raw(info), raw(capabilities));
            let version = version.and_then(|version| version.as_str()).map(std::borrow::Cow::into_owned);
            Self { version, client: client.into(), fault }
        })
    }
}

/// Holds the headers of a request against its body.
fn check(headers: &HeaderMap, frame: &Frame, envelope: &Envelope) -> Result<(), Reply> {
    let id = id_of(frame);
    let method = frame.method().unwrap_or_default();
    let is_request = matches!(frame.kind(), Kind::Request { .. });
    if is_request && let Some(key) = envelope.fault {
        let detail = format!("Invalid _meta envelope for protocol revision 2026-07-28: {PREFIX}{key}");
        return Err(reply::error(StatusCode::BAD_REQUEST, id, -32602, &detail));
    }
    let version = header(headers, "mcp-protocol-version");
    if let (Some(header), Some(body)) = (&version, &envelope.version)
        && header != body
    {
        let detail = format!(
            "the body names protocol version {body} but the MCP-Protocol-Version header names {header}"
        );
        return Err(mismatch(id, &detail));
    }
    let named = header(headers, "mcp-method");
    if let Some(header) = named.as_deref().filter(|header| *header != method) {
        let detail = format!("the body names method {method} but the Mcp-Method header names {header}");
        return Err(mismatch(id, &detail));
    }
    if !is_request {
        return Ok(());
    }
    if envelope.version.as_deref() != Some(MODERN_VERSION) {
        let requested = quoted(envelope.version.as_deref().unwrap_or("unknown"));
        let data = format!(r#"{{"supported":["{MODERN_VERSION}"],"requested":{requested}}}"#);
        let detail = "Unsupported protocol version";
        return Err(reply::error_with(StatusCode::BAD_REQUEST, id, -32022, detail, Some(&data)));
    }
    if version.is_none() {
        return Err(mismatch(id, "the required MCP-Protocol-Version header is absent"));
    }
    if named.is_none() {
        return Err(mismatch(
            id,
            &format!("the body names method {method} but the required Mcp-Method header is absent"),
        ));
    }
    let Some((key, expected)) = named_thing(frame, method) else { return Ok(()) };
    let given =
        headers.get("mcp-name").map(|value| String::from_utf8_lossy(value.as_bytes()).trim().to_owned());
    match (given, expected) {
        (None, Some(expected)) => {
            let detail = format!(
                "the body carries params.{key}={} but the required Mcp-Name header is absent",
                quoted(&expected)
            );
            Err(mismatch(id, &detail))
        }
        (Some(given), expected) => match decoded(&given) {
            None => Err(mismatch(id, "the Mcp-Name header carries an invalid Base64 sentinel value")),
            Some(given) if expected.as_ref().is_some_and(|expected| *expected != given) => {
                let detail = format!(
                    "the body carries params.{key}={} but the Mcp-Name header names {}",
                    quoted(&expected.unwrap_or_default()),
                    quoted(&given)
                );
                Err(mismatch(id, &detail))
            }
            Some(_) => Ok(()),
        },
        (None, None) => Ok(()),
    }
}

/// What `Mcp-Name` repeats of the body, for the methods that have it: the member of `params`, and its value.
fn named_thing(frame: &Frame, method: &str) -> Option<(&'static str, Option<String>)> {
    let key = match method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
        _ => return None,
    };
    let params = frame.params().unwrap_or_default();
    let value = Parser::new().scope(&params, |document| {
        let value = document.ok()?.root().get(key)?;
        value.as_str().map(std::borrow::Cow::into_owned)
    });
    Some((key, value))
}

/// A header's value as text: as it is, or out of its `=?base64?…?=`.
fn decoded(value: &str) -> Option<String> {
    let Some(coded) = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) else {
        return Some(value.to_owned());
    };
    String::from_utf8(base64::engine::general_purpose::STANDARD.decode(coded).ok()?).ok()
}

fn header(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name).map(HeaderValue::as_bytes).map(|value| String::from_utf8_lossy(value).trim().to_owned())
}

fn id_of(frame: &Frame) -> Option<&[u8]> {
    match frame.kind() {
        Kind::Request { id, .. } => Some(id),
        _ => None,
    }
}

fn mismatch(id: Option<&[u8]>, detail: &str) -> Reply {
    let detail = crate::harmless::excerpt(detail.as_bytes(), 400);
    let detail = format!("Bad Request: the request headers and body disagree: {detail}");
    reply::error(StatusCode::BAD_REQUEST, id, -32020, &detail)
}

fn over(id: &Id) -> Reply {
    reply::error(StatusCode::SERVICE_UNAVAILABLE, Some(id), -32603, "The proxy ended before the request did")
}

/// A message that is the whole answer. Errors of the protocol have a status of their own, where the server gave none.
fn whole(message: ToClient) -> Reply {
    let status = message.status.and_then(|status| StatusCode::from_u16(status).ok());
    reply::json(status.unwrap_or_else(|| status_of(&message.bytes)), message.bytes)
}

fn status_of(answer: &Bytes) -> StatusCode {
    let code = Parser::new()
        .scope(answer, |document| document.ok()?.root().get("error")?.get("code")?.raw().parse::<i64>().ok());
    match code {
        Some(METHOD_NOT_FOUND) => StatusCode::NOT_FOUND,
        Some(-32700 | -32600 | -32022..=-32020) => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}
