//! Messages out of an event stream.

use crate::error::Reason;
use crate::meter::Meter;
use bytes::Bytes;
use deadweight_wire::sse::{Item, Reader};
use reqwest::Response;
use std::collections::VecDeque;

/// One event.
#[derive(Debug)]
pub(super) struct Event {
    pub(super) name: Bytes,
    pub(super) data: Bytes,
}

/// An event stream that is being read.
#[derive(Debug)]
pub(super) struct Events {
    response: Response,
    reader: Option<Reader>,
    ready: VecDeque<Event>,
    limit: usize,
    /// The id of the last event, from which a stream can be taken up again.
    pub(super) last_id: Bytes,
}

impl Events {
    pub(super) fn new(response: Response, limit: usize) -> Self {
        let reader = Some(Reader::with_limit(limit));
        Self { response, reader, ready: VecDeque::new(), limit, last_id: Bytes::new() }
    }

    /// The next event with data; `None` when the stream has ended, in good order or not: an answer that is
    /// missing then is missed by whoever waits for it. May be dropped while it waits; nothing is lost.
    pub(super) async fn next(&mut self, meter: &Meter<'_>) -> Result<Option<Event>, Reason> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            let Some(reader) = &mut self.reader else { return Ok(None) };
            let Ok(Some(chunk)) = self.response.chunk().await else {
                // A last event without its blank line: if it is cut, it is broken JSON, and says so.
                let mut last = self.reader.take();
                if let Some(Item::Event(event)) = last.as_mut().and_then(Reader::finish) {
                    self.ready.push_back(Event {
                        name: Bytes::copy_from_slice(event.name),
                        data: Bytes::copy_from_slice(event.data),
                    });
                }
                continue;
            };
            meter.received(chunk.len());
            let mut rest = &chunk[..];
            while let Some(item) = reader.next(&mut rest) {
                let Item::Event(event) = item else {
                    return Err(Reason::MessageTooLarge { limit: self.limit });
                };
                if event.id != self.last_id {
                    self.last_id = Bytes::copy_from_slice(event.id);
                }
                self.ready.push_back(Event {
                    name: Bytes::copy_from_slice(event.name),
                    data: Bytes::copy_from_slice(event.data),
                });
            }
        }
    }
}
