//! What is sent back: bodies, errors, event streams.

use crate::relay::frame::quoted;
use axum::body::Body;
use axum::http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderValue};
use axum::http::{Response, StatusCode};
use bytes::Bytes;
use futures_util::stream;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::timeout;

pub(super) type Reply = Response<Body>;

/// How often a quiet stream is written to, so that a client that has left is noticed.
const BEAT: Duration = Duration::from_secs(15);

/// A status without a body.
pub(super) fn empty(status: StatusCode) -> Reply {
    let mut reply = Response::new(Body::empty());
    *reply.status_mut() = status;
    reply
}

/// A message as JSON.
pub(super) fn json(status: StatusCode, body: Bytes) -> Reply {
    let mut reply = Response::new(Body::from(body));
    *reply.status_mut() = status;
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    reply
}

/// An error object; `id` is the raw one of the request, where there is one.
pub(super) fn error(status: StatusCode, id: Option<&[u8]>, code: i64, message: &str) -> Reply {
    error_with(status, id, code, message, None)
}

/// An error object with `data`, which is JSON.
pub(super) fn error_with(
    status: StatusCode,
    id: Option<&[u8]>,
    code: i64,
    message: &str,
    data: Option<&str>,
) -> Reply {
    let id = String::from_utf8_lossy(id.unwrap_or(b"null")).into_owned();
    let data = data.map(|data| format!(r#","data":{data}"#)).unwrap_or_default();
    let message = quoted(message);
    let body =
        format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":{message}{data}}}}}"#);
    json(status, body.into())
}

/// The answer to a method that there is not.
pub(super) fn not_allowed(allowed: &'static str) -> Reply {
    let mut reply = error(StatusCode::METHOD_NOT_ALLOWED, None, -32000, "Method not allowed.");
    reply.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    reply
}

/// A message as an event. Line breaks between its tokens become lines of data.
pub(super) fn event(id: Option<(u64, u64)>, message: &[u8]) -> Bytes {
    let mut event = Vec::with_capacity(message.len() + 48);
    event.extend_from_slice(b"event: message\n");
    if let Some((stream, number)) = id {
        event.extend_from_slice(format!("id: {stream}-{number}\n").as_bytes());
    }
    for line in message.split(|byte| matches!(byte, b'\n' | b'\r')) {
        event.extend_from_slice(b"data: ");
        event.extend_from_slice(line);
        event.push(b'\n');
    }
    event.push(b'\n');
    event.into()
}

/// An event without a message, from which a stream can be taken up again, and after how many milliseconds.
pub(super) fn priming(stream: u64, number: u64) -> Bytes {
    format!("id: {stream}-{number}\nretry: 1000\ndata: \n\n").into()
}

/// The near end of an event stream.
#[derive(Debug, Clone)]
pub(super) struct Live {
    sender: mpsc::UnboundedSender<Bytes>,
    unsent: Arc<AtomicUsize>,
}

impl Live {
    /// Hands out an event; whether there is still somebody to take it.
    pub(super) fn send(&self, event: Bytes) -> bool {
        self.unsent.fetch_add(event.len(), Ordering::Relaxed);
        self.sender.send(event).is_ok()
    }

    /// Bytes that the client has not taken yet.
    pub(super) fn unsent(&self) -> usize {
        self.unsent.load(Ordering::Relaxed)
    }

    /// Whether the client has left.
    pub(super) fn is_gone(&self) -> bool {
        self.sender.is_closed()
    }
}

/// The far end, before it is a body.
#[derive(Debug)]
pub(super) struct Stream {
    receiver: mpsc::UnboundedReceiver<Bytes>,
    unsent: Arc<AtomicUsize>,
}

/// An event stream.
pub(super) fn stream() -> (Live, Stream) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let unsent = Arc::new(AtomicUsize::new(0));
    (Live { sender, unsent: Arc::clone(&unsent) }, Stream { receiver, unsent })
}

impl Stream {
    /// The response that the stream is the body of. `guard` lives as long as somebody reads.
    pub(super) fn into_reply(self, guard: impl Send + 'static) -> Reply {
        let parts = stream::unfold((self, guard), async |(mut stream, guard)| {
            let next = match timeout(BEAT, stream.receiver.recv()).await {
                Ok(None) => return None,
                Ok(Some(event)) => {
                    stream.unsent.fetch_sub(event.len(), Ordering::Relaxed);
                    event
                }
                Err(_) => Bytes::from_static(b": beat\n\n"),
            };
            Some((Ok::<_, Infallible>(next), (stream, guard)))
        });
        let mut reply = Response::new(Body::from_stream(parts));
        let headers: &mut HeaderMap = reply.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
        headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
        reply
    }
}
