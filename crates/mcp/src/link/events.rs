//! Messages out of an event stream.

use crate::error::Reason;
use crate::meter::Received;
use bytes::Bytes;
use deadweight_wire::sse::{self, Item, Reader};
use reqwest::Response;
use std::collections::VecDeque;
use std::time::Duration;

/// One event.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) name: Bytes,
    pub(crate) data: Bytes,
    /// Whether it is whole; else the stream ended in it.
    #[cfg_attr(not(feature = "proxy"), allow(dead_code, reason = "only who relays looks at it"))]
    pub(crate) whole: bool,
}

impl From<sse::Event<'_>> for Event {
    fn from(event: sse::Event<'_>) -> Self {
        Self {
            name: Bytes::copy_from_slice(event.name),
            data: Bytes::copy_from_slice(event.data),
            whole: event.terminated,
        }
    }
}

/// An event stream that is being read.
#[derive(Debug)]
pub(crate) struct Events {
    response: Response,
    reader: Option<Reader>,
    /// Events, and in their order those that were too large.
    ready: VecDeque<Option<Event>>,
    limit: usize,
    /// The id of the last event, from which a stream can be taken up again.
    pub(crate) last_id: Bytes,
    /// How long the server wants to be left alone before that.
    pub(crate) retry: Option<Duration>,
}

impl Events {
    pub(crate) fn new(response: Response, limit: usize) -> Self {
        let reader = Some(Reader::with_limit(limit));
        Self { response, reader, ready: VecDeque::new(), limit, last_id: Bytes::new(), retry: None }
    }

    /// The stream goes on in another response.
    pub(crate) fn go_on(&mut self, response: Response) {
        self.response = response;
        self.reader = Some(Reader::with_limit(self.limit));
    }

    /// The next event with data; `None` when the stream has ended, in good order or not: an answer that is
    /// missing then is missed by whoever waits for it. An event that is too large is an error, after which it
    /// goes on. May be dropped while it waits; nothing is lost.
    pub(crate) async fn next(&mut self, count: &impl Received) -> Result<Option<Event>, Reason> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return event.map(Some).ok_or(Reason::MessageTooLarge { limit: self.limit });
            }
            let Some(reader) = &mut self.reader else { return Ok(None) };
            let Ok(Some(chunk)) = self.response.chunk().await else {
                // A last event without its blank line: if it is cut, it is broken JSON, and says so.
                if let Some(Item::Event(event)) = reader.finish() {
                    self.ready.push_back(Some(event.into()));
                }
                self.note_position();
                self.reader = None;
                continue;
            };
            count.received(chunk.len());
            let mut rest = &chunk[..];
            while let Some(item) = reader.next(&mut rest) {
                self.ready.push_back(match item {
                    Item::Event(event) => Some(event.into()),
                    Item::Oversized(_) => None,
                });
            }
            self.note_position();
        }
    }

    /// Remembers where the stream stands.
    fn note_position(&mut self) {
        let Some(reader) = &self.reader else { return };
        let id = reader.last_event_id();
        if !id.is_empty() && self.last_id != id {
            self.last_id = Bytes::copy_from_slice(id);
        }
        self.retry = reader.retry().map(Duration::from_millis).or(self.retry);
    }
}
