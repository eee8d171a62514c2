//! A client's connection, and two things that are done below HTTP: a head that does not come to its end in time ends the
//! connection, and answers before the answer (1xx) are put on the line as they come.

use std::fmt::Write as _;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Sleep;

const IDLE: u8 = 0;
const HEAD: u8 = 1;
const BUSY: u8 = 2;

/// The connection, as the HTTP above it sees it.
#[derive(Debug)]
pub(crate) struct Line {
    stream: TcpStream,
    status: Arc<Status>,
    head_time: Duration,
    head: Option<Pin<Box<Sleep>>>,
}

/// What is known of the connection from above and from below.
#[derive(Debug, Default)]
pub(crate) struct Status {
    phase: AtomicU8,
    early: Mutex<Early>,
}

#[derive(Debug, Default)]
struct Early {
    bytes: Vec<u8>,
    written: usize,
    waker: Option<Waker>,
    /// Something was written and is not known to be all of it.
    unflushed: bool,
}

/// A request is being answered, until this is dropped.
#[derive(Debug)]
pub(crate) struct Busy(Arc<Status>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.phase.store(IDLE, Ordering::Relaxed);
    }
}

impl Status {
    fn early(&self) -> MutexGuard<'_, Early> {
        self.early.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A request's head was read.
    pub(crate) fn busy(self: &Arc<Self>) -> Busy {
        self.phase.store(BUSY, Ordering::Relaxed);
        Busy(Arc::clone(self))
    }

    /// Puts an answer before the answer on the line. Where something else is still being written, it is left out: a
    /// client can do without, and not with one in the middle of something else.
    pub(crate) fn inform(&self, status: http::StatusCode, headers: &http::HeaderMap) {
        let mut text = format!("HTTP/1.1 {}", status.as_str());
        let _ = write!(text, " {}\r\n", status.canonical_reason().unwrap_or_default());
        let mut bytes = text.into_bytes();
        for (name, value) in headers {
            bytes.extend_from_slice(name.as_str().as_bytes());
            bytes.extend_from_slice(b": ");
            bytes.extend_from_slice(value.as_bytes());
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(b"\r\n");
        let mut early = self.early();
        if early.unflushed {
            return;
        }
        early.bytes.extend_from_slice(&bytes);
        if let Some(waker) = early.waker.take() {
            waker.wake();
        }
    }
}

impl Line {
    pub(crate) fn new(stream: TcpStream, head_time: Duration) -> (Self, Arc<Status>) {
        let status = Arc::new(Status::default());
        let line = Self { stream, status: Arc::clone(&status), head_time, head: None };
        (line, status)
    }

    /// Writes what goes before the answer.
    fn poll_early(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut early = self.status.early();
        while early.written < early.bytes.len() {
            let rest = early.bytes.get(early.written..).unwrap_or_default();
            match ready!(Pin::new(&mut self.stream).poll_write(cx, rest))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                count => early.written += count,
            }
        }
        if !early.bytes.is_empty() {
            early.bytes = Vec::new();
            early.written = 0;
        }
        Poll::Ready(Ok(()))
    }

    /// Whether a head takes too long.
    fn poll_late(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.status.phase.load(Ordering::Relaxed) != HEAD {
            self.head = None;
            return Poll::Pending;
        }
        let head_time = self.head_time;
        let head = self.head.get_or_insert_with(|| Box::pin(tokio::time::sleep(head_time)));
        head.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Line {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        {
            let mut early = this.status.early();
            if !early.waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
                early.waker = Some(cx.waker().clone());
            }
        }
        if let Poll::Ready(Err(error)) = this.poll_early(cx) {
            return Poll::Ready(Err(error));
        }
        if let Poll::Ready(late) = this.poll_late(cx) {
            return Poll::Ready(late);
        }
        let before = buf.filled().len();
        let polled = Pin::new(&mut this.stream).poll_read(cx, buf);
        if polled.is_ready() && buf.filled().len() > before {
            let phase = &this.status.phase;
            let _ = phase.compare_exchange(IDLE, HEAD, Ordering::Relaxed, Ordering::Relaxed);
        } else if polled.is_pending()
            && let Poll::Ready(late) = this.poll_late(cx)
        {
            return Poll::Ready(late);
        }
        polled
    }
}

impl AsyncWrite for Line {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.poll_early(cx))?;
        self.status.early().unflushed = true;
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_early(cx))?;
        // Whoever writes flushes when it has nothing more to write.
        self.status.early().unflushed = false;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_early(cx))?;
        self.status.early().unflushed = true;
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
