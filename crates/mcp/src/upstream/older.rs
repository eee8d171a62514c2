//! A server behind the HTTP+SSE transport of 2024-11-05: one event stream down, POSTs up to the address it names first.

use super::http::{Shared, Task};
use super::words::is_message;
use crate::error::Reason;
use crate::link::client::{Body, kind};
use crate::link::events::Events;
use crate::redact::hide_in_url;
use crate::relay::port::{Kind, Outbound, Undelivered};
use reqwest::Url;
use reqwest::header::HeaderMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// How long an event stream may take to name the address for messages.
const ENDPOINT: Duration = Duration::from_secs(10);
/// How long messages behind a notification wait for the server to take it.
const ORDER: Duration = Duration::from_secs(5);

/// The stream, and the address for messages.
pub(super) type Stream = (Events, Url);

/// A connection over the older transport. Its end is the end of the link.
pub(super) struct Older {
    outbox: mpsc::UnboundedSender<Outbound>,
    _task: Task,
}

impl Older {
    /// Goes on with a stream that is there, or opens one.
    pub(super) fn start(shared: Arc<Shared>, stream: Option<Stream>) -> Self {
        let (outbox, inbox) = mpsc::unbounded_channel();
        let task = Task::spawn(async move {
            let stream = match stream {
                Some(stream) => Ok(stream),
                None => open(&shared).await,
            };
            let reason = match stream {
                Ok((events, endpoint)) => {
                    // Ends with this one.
                    let _posts = Task::spawn(post_all(Arc::clone(&shared), endpoint, inbox));
                    read(&shared, events).await
                }
                Err(reason) => reason,
            };
            shared.reporter.ended(reason).await;
        });
        Self { outbox, _task: task }
    }

    pub(super) fn send(&self, message: Outbound) {
        let _ = self.outbox.send(message);
    }
}

/// The stream, if the address turns out to lead to one.
pub(super) async fn connect(shared: &Shared) -> Option<Stream> {
    open(shared).await.ok()
}

async fn open(shared: &Shared) -> Result<Stream, Reason> {
    let not_one = || Reason::BadUrl { detail: "it is no event stream with an `endpoint` event".to_owned() };
    timeout(ENDPOINT, named(shared)).await.unwrap_or_else(|_| Err(not_one()))?.ok_or_else(not_one)
}

async fn named(shared: &Shared) -> Result<Option<Stream>, Reason> {
    let get = async |headers: HeaderMap| shared.client.get_events(&headers).await;
    let response = shared.with_login(HeaderMap::new(), get).await?;
    if !response.status().is_success() {
        return Err(shared.client.refusal(response, &()).await.into_reason());
    }
    if kind(response.headers()) != Body::Events {
        return Ok(None);
    }
    // Relative to where redirects led.
    let base = response.url().clone();
    let mut events = Events::new(response, shared.client.max_message_bytes);
    while let Some(event) = events.next(&()).await? {
        if &event.name[..] != b"endpoint" {
            continue;
        }
        let text = String::from_utf8_lossy(event.data.trim_ascii()).into_owned();
        // Else whoever runs the stream could have this client's credentials sent anywhere.
        return match base.join(&text) {
            Ok(endpoint) if endpoint.origin() == base.origin() => Ok(Some((events, endpoint))),
            _ => {
                let endpoint = crate::harmless::excerpt(hide_in_url(&text).as_bytes(), 200);
                Err(Reason::ForeignEndpoint { endpoint })
            }
        };
    }
    Ok(None)
}

async fn read(shared: &Shared, mut events: Events) -> Reason {
    loop {
        match events.next(&()).await {
            Ok(Some(event)) if &event.name[..] == b"message" && (event.whole || is_message(&event.data)) => {
                shared.reporter.message(event.data, None, None).await;
            }
            Ok(Some(_)) => {}
            Ok(None) => return Reason::StreamEnded { waiting_for: "messages" },
            // Whoever waits for what was in it would wait for ever.
            Err(reason) => return reason,
        }
    }
}

/// Sends the messages: requests at once, the others in their order.
async fn post_all(shared: Arc<Shared>, endpoint: Url, mut inbox: mpsc::UnboundedReceiver<Outbound>) {
    let mut under_way = JoinSet::new();
    while let Some(message) = inbox.recv().await {
        while under_way.try_join_next().is_some() {}
        let is_request = matches!(message.kind, Kind::Request { .. });
        let (taken, is_taken) = tokio::sync::oneshot::channel::<()>();
        let (shared, endpoint) = (Arc::clone(&shared), endpoint.clone());
        under_way.spawn(async move {
            post(&shared, &endpoint, message).await;
            drop(taken);
        });
        if !is_request {
            let _ = timeout(ORDER, is_taken).await;
        }
    }
}

async fn post(shared: &Shared, endpoint: &Url, message: Outbound) {
    let send = async |headers: HeaderMap| shared.client.post_to(endpoint, &message.bytes, &headers).await;
    let sent = shared.with_login(HeaderMap::new(), send).await;
    shared.sent(&message);
    let why = match sent {
        Ok(response) if response.status().is_success() => return,
        Ok(response) => shared.refused(shared.client.refusal(response, &()).await).await,
        Err(reason) => Undelivered::Unreachable(reason),
    };
    let id = match message.kind {
        Kind::Request { id, .. } => Some(id),
        _ => None,
    };
    shared.reporter.undelivered(id, why).await;
}
