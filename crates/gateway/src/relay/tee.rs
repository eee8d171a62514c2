//! Bodies on their way. Each piece is handed on as it came, in the same memory; what is kept of it is a reference.

use super::gather::Source;
use super::line::Busy;
use super::passage::{Passage, Went};
use super::upstream::Lease;
use crate::exchange::{Answer, Copied, End, Noted, Unread};
use bytes::Bytes;
use deadweight_wire::Dialect;
use deadweight_wire::usage::StreamReader;
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http_body::{Body, Frame, SizeHint};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tokio::time::Sleep;

/// What a body fails with.
#[derive(Debug)]
pub struct Failure(Box<dyn std::error::Error + Send + Sync>);

impl Failure {
    /// What it failed with.
    pub fn new(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self(error.into())
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Failure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source()
    }
}

/// Bytes of an answer that are copied where it is not read as it passes.
const ANSWER_BOUND: u64 = 8 << 20;

/// How long a client that waits for `100 Continue` waits for the provider's before the body is sent anyway.
const CONTINUE: Duration = Duration::from_secs(1);

/// How long what was received before a cut has to get through to the client.
const LAST_BYTES: Duration = Duration::from_millis(25);

/// The body of a request, on its way upstream.
#[derive(Debug)]
pub(crate) struct RequestBody {
    inner: Source,
    passage: Arc<Passage>,
    hold: Option<Hold>,
}

/// The body is not asked for before the provider wants it.
#[derive(Debug)]
struct Hold {
    wanted: Arc<Wanted>,
    waiting: Option<Pin<Box<Sleep>>>,
}

/// Whether the provider said `100 Continue`.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    said: std::sync::atomic::AtomicBool,
    waker: std::sync::Mutex<Option<std::task::Waker>>,
}

impl Wanted {
    pub(crate) fn say(&self) {
        self.said.store(true, std::sync::atomic::Ordering::Release);
        let waker = self.waker.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn is_said(&self, cx: &Context<'_>) -> bool {
        *self.waker.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(cx.waker().clone());
        self.said.load(std::sync::atomic::Ordering::Acquire)
    }
}

impl RequestBody {
    pub(crate) fn new(inner: Source, passage: Arc<Passage>, wanted: Option<Arc<Wanted>>) -> Self {
        if inner.is_over() {
            passage.request_read();
        }
        let hold = wanted.map(|wanted| Hold { wanted, waiting: None });
        Self { inner, passage, hold }
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        if let Some(hold) = &mut self.hold {
            let waiting = hold.waiting.get_or_insert_with(|| Box::pin(tokio::time::sleep(CONTINUE)));
            if !hold.wanted.is_said(cx) && waiting.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            self.hold = None;
        }
        let polled = ready!(self.inner.poll_frame(cx));
        match &polled {
            Some(Ok((frame, straight))) => {
                // What was read before was told when it was read.
                if let (Some(piece), true) = (frame.data_ref(), straight) {
                    self.passage.passes(piece);
                }
                if self.inner.is_over() {
                    self.passage.request_read();
                }
            }
            Some(Err(_)) => self.passage.request_broke(),
            None => self.passage.request_read(),
        }
        Poll::Ready(polled.map(|frame| frame.map(|(frame, _)| frame)))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// The body of an answer, on its way to the client.
#[derive(Debug)]
pub struct AnswerBody {
    kind: Kind,
    busy: Option<Busy>,
}

#[derive(Debug)]
enum Kind {
    Passing(Box<Passing>),
    Own(Option<Bytes>),
    Boxed(http_body_util::combinators::UnsyncBoxBody<Bytes, Failure>),
}

/// An answer that passes.
#[derive(Debug)]
struct Passing {
    inner: Source,
    account: Option<Account>,
    /// The connection it comes by, to be used again once it is read.
    lease: Option<Lease>,
    /// The provider broke off; told to the client as soon as it has what came before.
    failed: Option<(hyper::Error, Pin<Box<Sleep>>)>,
}

/// What is told when the answer is over.
#[derive(Debug)]
pub(crate) struct Account {
    passage: Arc<Passage>,
    status: u16,
    headers: Noted,
    first_byte: Option<Instant>,
    length: u64,
    reading: Reading,
}

#[derive(Debug)]
enum Reading {
    Stream(Box<StreamReader>),
    Copy { body: Copied, encoding: Option<String>, stream: bool },
    Skip(Unread),
}

impl AnswerBody {
    /// A whole body of our own.
    pub fn own(bytes: Bytes) -> Self {
        Self { kind: Kind::Own(Some(bytes)), busy: None }
    }

    /// A body of our own that comes in pieces.
    pub fn boxed(body: impl Body<Data = Bytes, Error = Failure> + Send + 'static) -> Self {
        Self { kind: Kind::Boxed(http_body_util::combinators::UnsyncBoxBody::new(body)), busy: None }
    }

    /// The provider's body.
    pub(crate) fn passing(inner: Source, account: Account, lease: Option<Lease>) -> Self {
        let mut passing = Passing { inner, account: Some(account), lease, failed: None };
        if passing.inner.is_over() {
            passing.done();
        }
        Self { kind: Kind::Passing(Box::new(passing)), busy: None }
    }

    /// As long as the body is there, its connection waits for no other request.
    pub(crate) fn keep_busy(&mut self, busy: Busy) {
        self.busy = Some(busy);
    }
}

impl Account {
    pub(crate) fn new(
        passage: Arc<Passage>,
        status: u16,
        headers: &HeaderMap,
        noted: Noted,
        dialect: Option<Dialect>,
    ) -> Self {
        Self {
            passage,
            status,
            headers: noted,
            first_byte: None,
            length: 0,
            reading: Reading::of(headers, dialect),
        }
    }

    fn data(&mut self, piece: &Bytes) {
        self.first_byte.get_or_insert_with(Instant::now);
        self.length += piece.len() as u64;
        let failed = match &mut self.reading {
            // What passes does not depend on what is understood of it, not even where that is a fault of ours.
            Reading::Stream(reader) => catch_unwind(AssertUnwindSafe(|| reader.feed(piece))).is_err(),
            Reading::Copy { body, .. } => {
                body.length += piece.len() as u64;
                if body.length > ANSWER_BOUND {
                    self.reading = Reading::Skip(Unread::TooLarge);
                } else {
                    body.chunks.push(piece.clone());
                }
                false
            }
            Reading::Skip(_) => false,
        };
        if failed {
            self.reading = Reading::Skip(Unread::Fault);
        }
    }

    pub(crate) fn end(self, end: End) {
        let complete = end == End::Complete;
        let answer = match self.reading {
            Reading::Stream(_) | Reading::Copy { .. } if complete && self.length == 0 => {
                Answer::Unread(Unread::Empty)
            }
            Reading::Stream(reader) => match catch_unwind(AssertUnwindSafe(|| reader.finish())) {
                Ok(outcome) => Answer::Stream(Box::new(outcome)),
                Err(_) => Answer::Unread(Unread::Fault),
            },
            Reading::Copy { mut body, encoding, stream } => {
                body.whole = complete;
                Answer::Body { body, encoding, stream }
            }
            Reading::Skip(why) => Answer::Unread(why),
        };
        let went = Went {
            status: Some(self.status),
            first_byte: Some(self.first_byte.unwrap_or_else(Instant::now)),
            answer_bytes: self.length,
            answer,
            headers: self.headers,
            tunnel: None,
        };
        self.passage.end(end, went);
    }
}

impl Reading {
    fn of(headers: &HeaderMap, dialect: Option<Dialect>) -> Self {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let kind = text(CONTENT_TYPE).split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let encoding = text(CONTENT_ENCODING).trim().to_ascii_lowercase();
        let encoding = Some(encoding).filter(|encoding| !matches!(encoding.as_str(), "" | "identity"));
        let events = kind == "text/event-stream";
        if let (true, None, Some(dialect)) = (events, &encoding, dialect) {
            return Self::Stream(Box::new(StreamReader::new(dialect)));
        }
        let stream = events || kind == "application/vnd.amazon.eventstream";
        let is_text = stream || kind.is_empty() || kind.starts_with("text/") || kind.contains("json");
        if !is_text {
            return Self::Skip(Unread::NotText);
        }
        Self::Copy { body: Copied::default(), encoding, stream }
    }
}

impl Passing {
    fn done(&mut self) {
        if let Some(account) = self.account.take() {
            account.end(End::Complete);
        }
        if let Some(lease) = self.lease.take() {
            lease.give_back();
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Failure>>> {
        if let Some((_, wait)) = &mut self.failed {
            ready!(wait.as_mut().poll(cx));
            return Poll::Ready(self.failed.take().map(|(error, _)| Err(Failure::new(error))));
        }
        match ready!(self.inner.poll_frame(cx)) {
            Some(Ok((frame, _))) => {
                if let (Some(piece), Some(account)) = (frame.data_ref(), &mut self.account) {
                    account.data(piece);
                }
                if self.inner.is_over() {
                    self.done();
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Some(Err(error)) => {
                self.lease = None;
                if let Some(account) = self.account.take() {
                    let end = account.passage.broke(super::upstream::explained(&error));
                    account.end(end);
                }
                // Whoever writes to the client drops what it has not written yet when a body fails.
                let mut wait = Box::pin(tokio::time::sleep(LAST_BYTES));
                let _ = wait.as_mut().poll(cx);
                self.failed = Some((error, wait));
                Poll::Pending
            }
            None => {
                self.done();
                Poll::Ready(None)
            }
        }
    }
}

impl Drop for Passing {
    fn drop(&mut self) {
        if let Some(account) = self.account.take() {
            let end = account.passage.left();
            account.end(end);
        }
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = Failure;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Failure>>> {
        match &mut self.kind {
            Kind::Passing(passing) => passing.poll(cx),
            Kind::Own(bytes) => Poll::Ready(
                bytes.take().filter(|bytes| !bytes.is_empty()).map(|bytes| Ok(Frame::data(bytes))),
            ),
            Kind::Boxed(body) => Pin::new(body).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.kind {
            Kind::Passing(passing) => passing.failed.is_none() && passing.inner.is_end_stream(),
            Kind::Own(bytes) => bytes.as_ref().is_none_or(Bytes::is_empty),
            Kind::Boxed(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Passing(passing) => passing.inner.size_hint(),
            Kind::Own(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Kind::Boxed(body) => body.size_hint(),
        }
    }
}
