//! Bodies that are read to their end: a request before it is edited, and a refusal before it is passed on.

use super::passage::Passage;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// A refusal is read for no longer than this, and of no more than so many bytes.
const REFUSAL_TIME: Duration = Duration::from_secs(2);
const REFUSAL_BYTES: u64 = 256 << 10;

/// A body of which a part, or all, was read.
#[derive(Debug)]
pub(crate) struct Read {
    /// What was read, in the pieces it came in.
    pub(crate) frames: VecDeque<Frame<Bytes>>,
    /// What was not.
    pub(crate) rest: Option<Incoming>,
    /// What had been said of its length.
    pub(crate) exact: bool,
    /// Its sender broke off.
    pub(crate) failed: Option<hyper::Error>,
}

/// Whether nothing is missing: also where the end has not been said yet, but the length has come. Whoever sends a body
/// with its length does not ask for its end.
pub(crate) fn is_over(body: &Incoming) -> bool {
    body.is_end_stream() || body.size_hint().exact() == Some(0)
}

/// Reads a request's body, up to a bound; what passes is told.
///
/// # Errors
///
/// The client broke off.
pub(crate) async fn request(body: Incoming, passage: &Passage, bound: u64) -> Result<Read, hyper::Error> {
    read(body, bound, |piece| passage.passes(piece)).await
}

/// Reads a refusal, as far as that is soon done.
pub(crate) async fn refusal(mut body: Incoming) -> Read {
    let mut read = Read::nothing_of(&body);
    let until = tokio::time::Instant::now() + REFUSAL_TIME;
    let mut length = 0;
    while !is_over(&body) && length <= REFUSAL_BYTES {
        match tokio::time::timeout_at(until, next(&mut body)).await {
            Ok(Some(Ok(frame))) => {
                length += frame.data_ref().map_or(0, |data| data.len() as u64);
                read.frames.push_back(frame);
            }
            Ok(Some(Err(error))) => {
                read.failed = Some(error);
                return read;
            }
            Ok(None) => return read,
            Err(_) => break,
        }
    }
    if !is_over(&body) {
        read.rest = Some(body);
    }
    read
}

async fn read(mut body: Incoming, bound: u64, mut told: impl FnMut(&Bytes)) -> Result<Read, hyper::Error> {
    let mut read = Read::nothing_of(&body);
    let mut length = 0;
    while !is_over(&body) {
        if length > bound {
            read.rest = Some(body);
            break;
        }
        let Some(frame) = next(&mut body).await else { break };
        let frame = frame?;
        if let Some(piece) = frame.data_ref() {
            length += piece.len() as u64;
            told(piece);
        }
        read.frames.push_back(frame);
    }
    Ok(read)
}

async fn next(body: &mut Incoming) -> Option<Result<Frame<Bytes>, hyper::Error>> {
    poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await
}

impl Read {
    fn nothing_of(body: &Incoming) -> Self {
        let exact = body.size_hint().exact().is_some();
        Self { frames: VecDeque::new(), rest: None, exact, failed: None }
    }

    /// Another body, whose length is known where that of this one was. What is no data, trailers, stays.
    pub(crate) fn with_body(&self, body: Bytes) -> Self {
        let mut frames: VecDeque<_> = self.frames.iter().filter(|frame| !frame.is_data()).map(same).collect();
        frames.push_front(Frame::data(body));
        Self { frames, rest: None, exact: self.exact, failed: None }
    }

    /// All of it in one piece; `None` where a part of it was not read.
    pub(crate) fn whole(&self) -> Option<Bytes> {
        if self.rest.is_some() || self.failed.is_some() {
            return None;
        }
        let mut pieces = self.frames.iter().filter_map(|frame| frame.data_ref());
        let first = pieces.next().cloned().unwrap_or_default();
        let Some(second) = pieces.next() else { return Some(first) };
        let mut all = [&first[..], &second[..]].concat();
        pieces.for_each(|piece| all.extend_from_slice(piece));
        Some(all.into())
    }

    /// Whether there is nothing more to come.
    pub(crate) fn is_over(&self) -> bool {
        self.frames.is_empty() && self.failed.is_none() && self.rest.as_ref().is_none_or(is_over)
    }

    pub(crate) fn size_hint(&self) -> SizeHint {
        let length: u64 =
            self.frames.iter().filter_map(|frame| frame.data_ref()).map(|piece| piece.len() as u64).sum();
        let rest = self.rest.as_ref().map(Body::size_hint);
        match (self.exact, rest.map_or(Some(0), |rest| rest.exact())) {
            (true, Some(rest)) => SizeHint::with_exact(length + rest),
            _ => {
                let mut hint = SizeHint::new();
                hint.set_lower(length);
                hint
            }
        }
    }
}

/// The same frame; data shares its memory.
fn same(frame: &Frame<Bytes>) -> Frame<Bytes> {
    match (frame.data_ref(), frame.trailers_ref()) {
        (Some(data), _) => Frame::data(data.clone()),
        (None, Some(trailers)) => Frame::trailers(trailers.clone()),
        (None, None) => Frame::data(Bytes::new()),
    }
}

/// A piece of a body, and whether it comes straight from its sender.
pub(crate) type Piece = Result<(Frame<Bytes>, bool), hyper::Error>;

/// A body on its way: as it comes, or what was read of it first.
#[derive(Debug)]
pub(crate) enum Source {
    Passing(Incoming),
    Read(Read),
}

impl Source {
    /// The next piece.
    pub(crate) fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Piece>> {
        if let Self::Read(read) = self {
            if let Some(frame) = read.frames.pop_front() {
                return Poll::Ready(Some(Ok((frame, false))));
            }
            if let Some(error) = read.failed.take() {
                return Poll::Ready(Some(Err(error)));
            }
            match read.rest.take() {
                Some(rest) => *self = Self::Passing(rest),
                None => return Poll::Ready(None),
            }
        }
        let Self::Passing(body) = self else { return Poll::Ready(None) };
        Pin::new(body).poll_frame(cx).map_ok(|frame| (frame, true))
    }

    /// Whether nothing is missing.
    pub(crate) fn is_over(&self) -> bool {
        match self {
            Self::Passing(body) => is_over(body),
            Self::Read(read) => read.is_over(),
        }
    }

    pub(crate) fn is_end_stream(&self) -> bool {
        match self {
            Self::Passing(body) => body.is_end_stream(),
            // One that came in chunks goes in chunks, and be it in none: the end has to be asked for.
            Self::Read(read) => read.exact && read.is_over(),
        }
    }

    pub(crate) fn size_hint(&self) -> SizeHint {
        match self {
            Self::Passing(body) => body.size_hint(),
            Self::Read(read) => read.size_hint(),
        }
    }
}
