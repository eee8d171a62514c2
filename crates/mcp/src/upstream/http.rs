//! A server behind streamable HTTP, with many requests under way at once.
//!
//! Every message is a POST of its own. Its answer is JSON or an event stream, and what comes on that is reported as it
//! comes. A client of the legacy era also holds a stream open on which servers say what belongs to no request. An address
//! that turns out to be one of the older transport is spoken to in that, by [`super::older`].

use super::Reports;
use super::older::{self, Older};
use super::words::{framed, is_about, is_answer, is_message};
use crate::error::Reason;
use crate::link::client::{
    Body, Client, LAST_EVENT, METHOD, Refusal, SESSION, VERSION, kind, not_mcp, shown,
};
use crate::link::events::Events;
use crate::listing::Options;
use crate::oauth::Bearer;
use crate::redact::scrub;
use crate::relay::frame::Key;
use crate::relay::port::{Event, FromServer, Id, Kind, Outbound, Undelivered};
use crate::spec::{ServerSpec, Transport};
use bytes::Bytes;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Response, StatusCode, Url};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{AbortHandle, JoinHandle, JoinSet};
use tokio::time::{Instant, sleep, timeout};

/// How long messages behind a notification wait for the server to take it, so that it sees them in their order.
const ORDER: Duration = Duration::from_secs(5);
/// How often in a row a stream that ended without the answer is taken up again in vain.
const RESUMES: usize = 5;
/// The pause before a stream is taken up again, where the server names none.
const RESUME_PAUSE: Duration = Duration::from_millis(500);
/// The longest pause, whatever the server names.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// How long a stream that stood by itself must have lived for its end to be no failure.
const STEADY: Duration = Duration::from_secs(5);
/// How long a stream may stay open after its answer before it is closed from here.
const AFTERWARDS: Duration = Duration::from_secs(2);

/// A connection to a server. Dropping it ends everything that is under way.
#[derive(Debug)]
pub(crate) struct HttpLink {
    outbox: mpsc::UnboundedSender<Outbound>,
    shared: Arc<Shared>,
    driver: Task,
}

/// A task that ends with its owner.
#[derive(Debug)]
pub(super) struct Task(JoinHandle<()>);

impl Task {
    pub(super) fn spawn(work: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(tokio::spawn(work))
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// What all tasks of a connection share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) client: Client,
    pub(super) reporter: Reporter,
    pub(super) queued: AtomicUsize,
    bearer: Option<Bearer>,
    url: Mutex<Url>,
    session: Mutex<Session>,
}

/// What the server said about the session, and what goes with it into every header.
#[derive(Debug, Default)]
struct Session {
    id: Option<HeaderValue>,
    version: Option<HeaderValue>,
}

/// Tells the relay.
#[derive(Debug)]
pub(super) struct Reporter {
    server: usize,
    generation: u64,
    reports: Reports,
    secrets: Vec<String>,
}

impl Reporter {
    async fn report(&self, event: Event) {
        let Self { server, generation, .. } = *self;
        let _ = self.reports.send(FromServer { server, generation, event }).await;
    }

    pub(super) async fn message(&self, bytes: Bytes, about: Option<Id>, status: Option<u16>) {
        self.report(Event::Message { bytes, about, status }).await;
    }

    pub(super) async fn undelivered(&self, id: Option<Id>, why: Undelivered) {
        let why = match why {
            Undelivered::Unreachable(reason) => Undelivered::Unreachable(self.scrubbed(reason)),
            other => other,
        };
        self.report(Event::Undelivered { id, why }).await;
    }

    pub(super) async fn ended(&self, reason: Reason) {
        let reason = self.scrubbed(reason);
        self.report(Event::Ended { reason, stderr: Vec::new() }).await;
    }

    fn scrubbed(&self, reason: Reason) -> Reason {
        reason.scrubbed(|text| self.scrub(text))
    }

    fn scrub(&self, text: &str) -> String {
        scrub(text, &self.secrets.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// A refusal, with what may be shown of its body; `logged_in` if a stored login was sent.
    fn refused(&self, refusal: Refusal, logged_in: bool) -> Undelivered {
        match refusal {
            Refusal::Login(Reason::LoginNeeded { resource_metadata, scope, credentials_sent }) => {
                let credentials_sent = credentials_sent || logged_in;
                Undelivered::Unreachable(Reason::LoginNeeded { resource_metadata, scope, credentials_sent })
            }
            Refusal::Login(reason) => Undelivered::Unreachable(reason),
            Refusal::Status { status, body } => {
                Undelivered::Refused { status: status.as_u16(), body: self.scrub(&shown(&body)).into() }
            }
        }
    }
}

impl HttpLink {
    /// Makes ready to connect; nothing is sent before the first message.
    pub(crate) fn open(
        spec: &ServerSpec,
        options: &Options,
        server: usize,
        generation: u64,
        reports: Reports,
    ) -> Result<Self, Reason> {
        let (url, headers, older) = match &spec.transport {
            Transport::Http { url, headers } => (url, headers, false),
            Transport::Sse { url, headers } => (url, headers, true),
            Transport::Stdio { .. } => {
                return Err(Reason::BadUrl { detail: "it is started, not reached over HTTP".to_owned() });
            }
        };
        let client = Client::new(url, headers, options)?;
        let secrets = spec.secrets().into_iter().map(str::to_owned).collect();
        let shared = Arc::new(Shared {
            bearer: Bearer::of(&client, options.logins),
            url: Mutex::new(client.url.clone()),
            client,
            reporter: Reporter { server, generation, reports, secrets },
            queued: AtomicUsize::new(0),
            session: Mutex::default(),
        });
        let (outbox, inbox) = mpsc::unbounded_channel();
        let driver = Driver {
            side: Side::start(Arc::clone(&shared)),
            shared: Arc::clone(&shared),
            requests: JoinSet::new(),
            running: HashMap::new(),
            alone: None,
            older: older.then(|| Older::start(Arc::clone(&shared), None)),
        };
        Ok(Self { outbox, shared, driver: Task::spawn(driver.drive(inbox)) })
    }

    /// Takes a message to be sent. What keeps it from getting there is reported.
    pub(crate) fn send(&self, message: Outbound) {
        self.shared.queued.fetch_add(message.bytes.len(), Ordering::Relaxed);
        let _ = self.outbox.send(message);
    }

    /// Bytes taken and not yet sent.
    pub(crate) fn queued(&self) -> usize {
        self.shared.queued.load(Ordering::Relaxed)
    }

    /// Ends everything that is under way, and the session, if there is one.
    pub(crate) async fn close(self, grace: Duration) {
        let Self { outbox, shared, driver } = self;
        drop((outbox, driver));
        let headers = shared.session_headers();
        if headers.contains_key(SESSION) {
            let headers = shared.authorized(headers).await;
            shared.client.delete(shared.url(), &headers, grace).await;
        }
    }
}

/// Takes the messages in their order and lets each be sent.
struct Driver {
    shared: Arc<Shared>,
    side: Side,
    requests: JoinSet<Key>,
    /// Each with whether it is of the modern era, where to close its stream is what takes it back.
    running: HashMap<Key, (AbortHandle, bool)>,
    /// The stream that stands by itself.
    alone: Option<Task>,
    /// The older transport, once it is clear that the address is one of it.
    older: Option<Older>,
}

impl Driver {
    async fn drive(mut self, mut inbox: mpsc::UnboundedReceiver<Outbound>) {
        loop {
            tokio::select! {
                Some(done) = self.requests.join_next() => {
                    if let Ok(key) = done && self.running.get(&key).is_some_and(|(task, _)| task.is_finished()) {
                        self.running.remove(&key);
                    }
                }
                message = inbox.recv() => match message {
                    Some(message) => self.take(message).await,
                    None => return,
                },
            }
        }
    }

    async fn take(&mut self, message: Outbound) {
        let message = framed(message);
        if let Some(older) = &self.older {
            return older.send(message);
        }
        if !message.modern
            && let Some(version) = &message.version
        {
            self.shared.with_session(|session| session.version = HeaderValue::from_str(version).ok());
        }
        match &message.kind {
            Kind::Request { id, method } => {
                let (id, opens) = (id.clone(), matches!(&**method, "initialize" | "server/discover"));
                if opens {
                    self.open(message, id).await;
                } else {
                    self.request(message, id, None);
                }
            }
            Kind::Notification { method } if method == "notifications/cancelled" => {
                let key = message.about.as_ref().map(|id| Key::of(id));
                let running = key.as_ref().and_then(|key| self.running.get(key));
                let modern = running.map_or(message.modern, |(_, modern)| *modern);
                if !modern {
                    return self.side.send(message);
                }
                self.shared.sent(&message);
                if let Some((task, _)) = key.and_then(|key| self.running.remove(&key)) {
                    task.abort();
                }
            }
            Kind::Notification { method } if method == "notifications/initialized" => {
                let modern = message.modern;
                self.side.send_and_wait(message).await;
                if !modern {
                    self.alone = Some(Task::spawn(stand_alone(Arc::clone(&self.shared))));
                }
            }
            Kind::Notification { .. } | Kind::Response { .. } => self.side.send(message),
        }
    }

    /// Sends a request that opens a session; what comes after it waits until its answer has begun, because the session's
    /// name comes with that, and because it may show that the address is one of the older transport.
    async fn open(&mut self, message: Outbound, id: Id) {
        let (told, begun) = oneshot::channel();
        self.request(message.clone(), id, Some(told));
        if let Ok(Some(why)) = begun.await {
            match older::connect(&self.shared).await {
                Some(stream) => {
                    let older = Older::start(Arc::clone(&self.shared), Some(stream));
                    self.shared.queued.fetch_add(message.bytes.len(), Ordering::Relaxed);
                    older.send(message);
                    self.older = Some(older);
                }
                None => {
                    let id = match message.kind {
                        Kind::Request { id, .. } => Some(id),
                        _ => None,
                    };
                    self.shared.reporter.undelivered(id, why).await;
                }
            }
        }
    }

    fn request(&mut self, message: Outbound, id: Id, opening: Option<Opening>) {
        let shared = Arc::clone(&self.shared);
        let key = Key::of(&id);
        let (own, modern) = (key.clone(), message.modern);
        let handle = self.requests.spawn(async move {
            if let Err(why) = shared.exchange(&message, &id, opening).await {
                shared.reporter.undelivered(Some(id), why).await;
            }
            own
        });
        self.running.insert(key, (handle, modern));
    }
}

/// Whoever waits for the answer to an opening request to begin: is told of a refusal that the older transport's addresses
/// have for it, and then reports it.
type Opening = oneshot::Sender<Option<Undelivered>>;

/// Sends notifications and answers, one after the other.
struct Side {
    queue: mpsc::UnboundedSender<(Outbound, Option<oneshot::Sender<()>>)>,
    _task: Task,
}

impl Side {
    fn start(shared: Arc<Shared>) -> Self {
        let (queue, mut inbox) = mpsc::unbounded_channel::<(Outbound, Option<oneshot::Sender<()>>)>();
        let task = Task::spawn(async move {
            let mut slow = JoinSet::new();
            while let Some((message, done)) = inbox.recv().await {
                while slow.try_join_next().is_some() {}
                let shared = Arc::clone(&shared);
                let (taken, is_taken) = oneshot::channel::<()>();
                slow.spawn(async move {
                    if let Err(why) = shared.deliver(&message).await {
                        shared.reporter.undelivered(None, why).await;
                    }
                    drop(taken);
                });
                // A server that takes its time is not waited for for ever.
                let _ = timeout(ORDER, is_taken).await;
                drop(done);
            }
        });
        Self { queue, _task: task }
    }

    fn send(&self, message: Outbound) {
        let _ = self.queue.send((message, None));
    }

    async fn send_and_wait(&self, message: Outbound) {
        let (done, is_done) = oneshot::channel();
        let _ = self.queue.send((message, Some(done)));
        let _ = is_done.await;
    }
}

impl Shared {
    fn url(&self) -> Url {
        self.url.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn with_session<R>(&self, f: impl FnOnce(&mut Session) -> R) -> R {
        f(&mut self.session.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The bytes of a message do not wait any more.
    pub(super) fn sent(&self, message: &Outbound) {
        self.queued.fetch_sub(message.bytes.len(), Ordering::Relaxed);
    }

    fn session_headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        self.with_session(|session| {
            headers.extend(session.id.clone().map(|id| (SESSION, id)));
            headers.extend(session.version.clone().map(|version| (VERSION, version)));
        });
        headers
    }

    /// The headers of a message, apart from the login.
    fn headers(&self, message: &Outbound) -> HeaderMap {
        let opens = matches!(&message.kind, Kind::Request { method, .. } if method == "initialize");
        let mut headers = if message.modern || opens { HeaderMap::new() } else { self.session_headers() };
        let version = message.version.as_deref().and_then(|version| HeaderValue::from_str(version).ok());
        headers.extend(version.map(|version| (VERSION, version)));
        if message.modern
            && let Kind::Request { method, .. } | Kind::Notification { method } = &message.kind
            && let Ok(method) = HeaderValue::from_str(method)
        {
            headers.insert(METHOD, method);
        }
        for (name, value) in &message.headers {
            if let (Ok(name), Ok(value)) =
                (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(value))
            {
                headers.insert(name, value);
            }
        }
        headers
    }

    /// The same headers, with the stored login if there is one.
    pub(super) async fn authorized(&self, mut headers: HeaderMap) -> HeaderMap {
        if let Some(bearer) = &self.bearer
            && let Some(value) = bearer.value().await
        {
            headers.insert(AUTHORIZATION, value);
        }
        headers
    }

    /// What is sent by `send`, with the stored login, which is renewed once if it is refused.
    pub(super) async fn with_login<F>(
        &self,
        headers: HeaderMap,
        mut send: impl FnMut(HeaderMap) -> F,
    ) -> Result<Response, Reason>
    where
        F: Future<Output = Result<Response, Reason>>,
    {
        let mut headers = self.authorized(headers).await;
        let response = send(headers.clone()).await?;
        if response.status() == StatusCode::UNAUTHORIZED
            && let Some(bearer) = &self.bearer
            && let Some(value) = bearer.renewed(headers.get(AUTHORIZATION)).await
        {
            headers.insert(AUTHORIZATION, value);
            return send(headers).await;
        }
        Ok(response)
    }

    pub(super) async fn refused(&self, refusal: Refusal) -> Undelivered {
        let logged_in = match &self.bearer {
            Some(bearer) => bearer.is_there().await,
            None => false,
        };
        self.reporter.refused(refusal, logged_in)
    }

    async fn post(&self, message: &Outbound) -> Result<Response, Undelivered> {
        let sent = self
            .with_login(self.headers(message), async |headers| {
                let (response, url) = self.client.post_from(self.url(), &message.bytes, &headers).await?;
                *self.url.lock().unwrap_or_else(PoisonError::into_inner) = url;
                Ok(response)
            })
            .await;
        self.sent(message);
        sent.map_err(Undelivered::Unreachable)
    }

    /// Sends a notification or an answer.
    async fn deliver(&self, message: &Outbound) -> Result<(), Undelivered> {
        let response = self.post(message).await?;
        if response.status().is_success() {
            return Ok(());
        }
        if self.is_session_gone(&response, message) {
            return Err(Undelivered::SessionGone);
        }
        Err(self.refused(self.client.refusal(response, &()).await).await)
    }

    fn is_session_gone(&self, response: &Response, message: &Outbound) -> bool {
        let opens = matches!(&message.kind, Kind::Request { method, .. } if method == "initialize");
        response.status() == StatusCode::NOT_FOUND
            && !message.modern
            && !opens
            && self.with_session(|session| session.id.is_some())
    }

    /// Sends a request and reports what comes back for it.
    async fn exchange(
        &self,
        message: &Outbound,
        id: &Id,
        opening: Option<Opening>,
    ) -> Result<(), Undelivered> {
        let response = self.post(message).await?;
        let status = response.status();
        if !status.is_success() {
            if self.is_session_gone(&response, message) {
                return Err(Undelivered::SessionGone);
            }
            let refusal = self.client.refusal(response, &()).await;
            if let Refusal::Status { body, .. } = &refusal
                && is_message(body)
            {
                // Of the older transport's addresses, some put their refusal into an error object.
                if !matches!(status.as_u16(), 404 | 405) || opening.is_none() || is_about(body, id) {
                    self.reporter.message(body.clone(), Some(id.clone()), Some(status.as_u16())).await;
                    return Ok(());
                }
            }
            let why = self.refused(refusal).await;
            return match opening {
                Some(opening) if matches!(status.as_u16(), 400 | 404 | 405) => {
                    opening.send(Some(why)).map_err(|why| why.unwrap_or(Undelivered::StreamEnded))
                }
                _ => Err(why),
            };
        }
        if matches!(&message.kind, Kind::Request { method, .. } if method == "initialize") {
            let name = response.headers().get(SESSION).cloned();
            self.with_session(|session| *session = Session { id: name, version: None });
        }
        // Whoever waited for the session's name can go on.
        drop(opening);
        if kind(response.headers()) == Body::Events {
            return self.read_events(response, message, id).await;
        }
        let headers = response.headers().clone();
        let body = self.client.body(response, &()).await.map_err(Undelivered::Unreachable)?;
        if !is_message(&body) {
            return Err(Undelivered::Unreachable(not_mcp(&headers, status, &body)));
        }
        let answered = is_answer(&body, id);
        self.reporter.message(body, Some(id.clone()), Some(status.as_u16())).await;
        if answered { Ok(()) } else { Err(Undelivered::StreamEnded) }
    }

    /// Reports what comes on the event stream of a request. A server of the legacy era may end it early and go on when it
    /// is asked to, if it gave its events ids.
    async fn read_events(&self, response: Response, message: &Outbound, id: &Id) -> Result<(), Undelivered> {
        let encoded = crate::link::client::compressed(response.headers());
        let mut events = Events::new(response, self.client.max_message_bytes);
        let mut in_vain = 0;
        loop {
            let opened = Instant::now();
            let mut came = false;
            while let Some(event) = events.next(&()).await.map_err(Undelivered::Unreachable)? {
                came = true;
                if event.data.is_empty() || (!event.whole && !is_message(&event.data)) {
                    continue;
                }
                let answered = is_answer(&event.data, id);
                self.reporter.message(event.data, Some(id.clone()), None).await;
                if answered {
                    self.read_rest(events, id).await;
                    return Ok(());
                }
            }
            if let Some(reason) = encoded {
                return Err(Undelivered::Unreachable(reason));
            }
            in_vain = if came || opened.elapsed() >= STEADY { 0 } else { in_vain + 1 };
            if message.modern || in_vain > RESUMES || events.last_id.is_empty() {
                return Err(Undelivered::StreamEnded);
            }
            loop {
                sleep(events.retry.unwrap_or(RESUME_PAUSE).min(LONGEST_PAUSE)).await;
                match self.get_events(&events.last_id).await {
                    Ok(response)
                        if response.status().is_success() && kind(response.headers()) == Body::Events =>
                    {
                        events.go_on(response);
                        break;
                    }
                    Ok(response) if !response.status().is_server_error() => {
                        return Err(Undelivered::StreamEnded);
                    }
                    Ok(_) | Err(_) => in_vain += 1,
                }
                if in_vain > RESUMES {
                    return Err(Undelivered::StreamEnded);
                }
            }
        }
    }

    /// What comes behind an answer. Servers close the stream then; the connection is of use for longer if it is read to its
    /// end.
    async fn read_rest(&self, mut events: Events, id: &Id) {
        let rest = async {
            while let Ok(Some(event)) = events.next(&()).await {
                if event.whole && !event.data.is_empty() {
                    self.reporter.message(event.data, Some(id.clone()), None).await;
                }
            }
        };
        let _ = timeout(AFTERWARDS, rest).await;
    }

    /// Opens a stream with GET, from the event on that has this id.
    async fn get_events(&self, last_id: &Bytes) -> Result<Response, Reason> {
        let mut headers = self.session_headers();
        if !last_id.is_empty()
            && let Ok(id) = HeaderValue::from_bytes(last_id)
        {
            headers.insert(LAST_EVENT, id);
        }
        self.with_login(headers, async |headers| self.client.get_events_from(self.url(), &headers).await)
            .await
    }
}

/// Holds the stream open that stands by itself, as long as the server has one.
async fn stand_alone(shared: Arc<Shared>) {
    let mut last_id = Bytes::new();
    let mut pause = RESUME_PAUSE;
    loop {
        let mut wanted = None;
        match shared.get_events(&last_id).await {
            Ok(response) if response.status().is_success() && kind(response.headers()) == Body::Events => {
                let opened = Instant::now();
                let mut events = Events::new(response, shared.client.max_message_bytes);
                loop {
                    match events.next(&()).await {
                        Ok(Some(event)) if event.data.is_empty() || !event.whole => {}
                        Ok(Some(event)) => {
                            pause = RESUME_PAUSE;
                            shared.reporter.message(event.data, None, None).await;
                        }
                        Ok(None) => break,
                        // It is read past; nobody waits for it.
                        Err(_) => {}
                    }
                }
                if opened.elapsed() >= STEADY {
                    pause = RESUME_PAUSE;
                }
                wanted = events.retry;
                if !events.last_id.is_empty() {
                    last_id = events.last_id;
                }
            }
            Ok(response)
                if matches!(response.status().as_u16(), 409 | 429) || response.status().is_server_error() => {
            }
            // It has none (405), or not for us.
            Ok(_) => return,
            Err(_) => {}
        }
        sleep(wanted.unwrap_or(pause).min(LONGEST_PAUSE)).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

#[cfg(test)]
mod tests;
