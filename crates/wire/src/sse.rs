//! Event streams (`text/event-stream`), read from chunks that may be cut anywhere.
//!
//! The grammar is the one the WHATWG HTML standard gives for server-sent events: lines end in `\n`,
//! `\r` or `\r\n`; one byte order mark at the start is dropped; a line that starts with a colon is a
//! comment; one space after a field's colon is dropped; `data` fields of one event are joined with
//! `\n`; a blank line ends the event; an event without a `data` field is none. Two points differ, and
//! both only add to what a caller can know:
//!
//! - **End of stream.** The standard throws away an event that no blank line ends. [`Reader::finish`]
//!   hands it out instead, with [`Event::terminated`] false, because real servers close their streams
//!   so. Whether it is whole is for the caller to judge: the last line may have been cut.
//! - **Bytes, not text.** Values are handed out as they were sent. The standard replaces what is not
//!   UTF-8; here the reader of the data decides (a JSON parser refuses it).
//!
//! Memory is bounded: an event whose data is longer than the reader's limit is read past and handed out
//! as [`Item::Oversized`], without its data. Comments and unknown fields are never stored.
//!
//! ```
//! use deadweight_wire::sse::{Item, Reader};
//!
//! let mut reader = Reader::new();
//! let mut seen = Vec::new();
//! for mut chunk in [&b"event: ping\r"[..], b"\ndata: {}\r\n\r", b"\n"] {
//!     while let Some(item) = reader.next(&mut chunk) {
//!         if let Item::Event(event) = item {
//!             seen.push((event.name.to_vec(), event.data.to_vec()));
//!         }
//!     }
//! }
//! assert_eq!(seen, [(b"ping".to_vec(), b"{}".to_vec())]);
//! assert!(reader.finish().is_none());
//! ```

use memchr::{memchr, memchr2};

/// Bytes of data that one event may hold unless [`Reader::with_limit`] says otherwise: 16 MiB. OpenAI's
/// closing event repeats the whole response, instructions and tools included, and must fit.
pub const DEFAULT_LIMIT: usize = 16 << 20;

/// Bytes that an event's name or id may hold. A longer name makes its event oversized; a longer id is
/// ignored, as the standard ignores one that holds a NUL.
pub const SHORT_FIELD_LIMIT: usize = 1024;

/// Buffer space that is kept from one event to the next; what a larger event needed is given back.
const KEEP: usize = 64 << 10;

const BOM: [u8; 3] = [0xEF, 0xBB, 0xBF];

/// One event of a stream, borrowed from the reader until it is asked for the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event<'r> {
    /// The value of the last `event` field; `message` where there is none or it is empty.
    pub name: &'r [u8],
    /// The values of the `data` fields, joined with `\n`.
    pub data: &'r [u8],
    /// The value of the last `id` field of the *stream*, up to the last blank line; empty where there
    /// was none.
    pub id: &'r [u8],
    /// Whether a blank line ended the event. False only for what [`Reader::finish`] hands out.
    pub terminated: bool,
}

/// An event that was read past because it was larger than the reader's limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Oversized<'r> {
    /// As in [`Event::name`]; empty where the name itself was too long.
    pub name: &'r [u8],
    /// As in [`Event::id`].
    pub id: &'r [u8],
    /// Bytes of the values of its `data` and `event` fields.
    pub bytes: u64,
    /// As in [`Event::terminated`].
    pub terminated: bool,
}

/// What a reader hands out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item<'r> {
    /// An event, whole.
    Event(Event<'r>),
    /// An event whose data was not kept.
    Oversized(Oversized<'r>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Data,
    Event,
    Id,
    Retry,
    Unknown,
}

/// Where in a line the reader stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    Start,
    Comment,
    /// In the field's name.
    Name,
    /// In the field's value; `fresh` until its first byte, which is dropped when it is a space.
    Value {
        field: Field,
        fresh: bool,
    },
}

/// Field names are at most five bytes long; a sixth makes the field an unknown one.
#[derive(Debug, Clone, Copy, Default)]
struct Name {
    bytes: [u8; 6],
    len: usize,
}

impl Name {
    fn push(&mut self, part: &[u8]) {
        for (slot, byte) in self.bytes.iter_mut().skip(self.len).zip(part) {
            *slot = *byte;
            self.len += 1;
        }
    }

    fn field(&self) -> Field {
        match self.bytes.get(..self.len) {
            Some(b"data") => Field::Data,
            Some(b"event") => Field::Event,
            Some(b"id") => Field::Id,
            Some(b"retry") => Field::Retry,
            _ => Field::Unknown,
        }
    }
}

/// Reads an event stream from chunks. Equal bytes give equal items, however they are cut.
#[derive(Debug)]
pub struct Reader {
    limit: usize,
    /// Bytes of the byte order mark seen; 3 once the start of the stream is behind.
    bom: usize,
    /// The last line ended in `\r`: a `\n` right here belongs to it.
    after_cr: bool,
    line: Line,
    name: Name,
    data: Vec<u8>,
    has_data: bool,
    event: Vec<u8>,
    event_too_long: bool,
    oversized: bool,
    bytes: u64,
    id: Vec<u8>,
    /// The id being read.
    new_id: Option<Vec<u8>>,
    /// The id that holds from the next blank line on.
    pending_id: Option<Vec<u8>>,
    new_retry: Option<u64>,
    retry: Option<u64>,
    /// The buffers hold an event that was handed out.
    delivered: bool,
    skipped: u64,
    unknown_lines: u64,
}

impl Default for Reader {
    fn default() -> Self {
        Self::new()
    }
}

impl Reader {
    /// A reader at the start of a stream, with the [default limit](DEFAULT_LIMIT).
    pub const fn new() -> Self {
        Self::with_limit(DEFAULT_LIMIT)
    }

    /// A reader that keeps at most `limit` bytes of data of one event.
    pub const fn with_limit(limit: usize) -> Self {
        Self {
            limit,
            bom: 0,
            after_cr: false,
            line: Line::Start,
            name: Name { bytes: [0; 6], len: 0 },
            data: Vec::new(),
            has_data: false,
            event: Vec::new(),
            event_too_long: false,
            oversized: false,
            bytes: 0,
            id: Vec::new(),
            new_id: None,
            pending_id: None,
            new_retry: None,
            retry: None,
            delivered: false,
            skipped: 0,
            unknown_lines: 0,
        }
    }

    /// Reads on until an event is whole or `chunk` is used up, and moves `chunk` past what was read.
    /// `None`: give the next chunk. Call it in a loop: a chunk may hold several events.
    pub fn next<'r>(&'r mut self, chunk: &mut &[u8]) -> Option<Item<'r>> {
        if self.advance(chunk) { Some(self.item(true)) } else { None }
    }

    /// Says that the stream has ended, and hands out the event that no blank line ended, if there is
    /// one. The reader then stands at the start of another stream; the last id and retry time stay, as
    /// a reconnecting client needs them. An id without a blank line after it, or a retry time without the
    /// end of its line, does not count: it may have been cut.
    pub fn finish(&mut self) -> Option<Item<'_>> {
        if self.delivered {
            self.clear();
        }
        if matches!(self.line, Line::Value { field: Field::Retry, .. }) {
            self.line = Line::Start;
        } else if self.line != Line::Start {
            self.end_line();
        }
        self.pending_id = None;
        self.bom = 0;
        self.after_cr = false;
        if self.has_data || self.oversized {
            self.delivered = true;
            self.skipped += u64::from(self.oversized);
            Some(self.item(false))
        } else {
            self.clear();
            None
        }
    }

    /// The value of the last `id` field before the last blank line; empty where there was none.
    pub fn last_event_id(&self) -> &[u8] {
        &self.id
    }

    /// The value of the last `retry` field made of digits, in milliseconds.
    pub const fn retry(&self) -> Option<u64> {
        self.retry
    }

    /// How many events were [oversized](Item::Oversized).
    pub const fn skipped(&self) -> u64 {
        self.skipped
    }

    /// How many lines were neither a comment nor a known field, such as JSON sent without `data:`.
    pub const fn unknown_lines(&self) -> u64 {
        self.unknown_lines
    }

    fn advance(&mut self, chunk: &mut &[u8]) -> bool {
        if self.delivered {
            self.clear();
        }
        while let Some((&byte, rest)) = chunk.split_first() {
            if self.after_cr {
                self.after_cr = false;
                if byte == b'\n' {
                    *chunk = rest;
                    continue;
                }
            }
            if let Some(&expected) = BOM.get(self.bom) {
                if byte == expected {
                    self.bom += 1;
                    *chunk = rest;
                    continue;
                }
                if self.bom > 0 {
                    // Half a mark is the start of a field that nobody knows.
                    self.line = Line::Value { field: Field::Unknown, fresh: false };
                }
                self.bom = BOM.len();
            }
            let end = memchr2(b'\r', b'\n', chunk);
            let (line, rest) = chunk.split_at(end.unwrap_or(chunk.len()));
            *chunk = rest;
            self.read(line);
            if let Some((&terminator, rest)) = chunk.split_first() {
                *chunk = rest;
                self.after_cr = terminator == b'\r';
                if self.end_line() {
                    return true;
                }
            }
        }
        false
    }

    /// Reads a part of a line.
    fn read(&mut self, mut part: &[u8]) {
        if self.line == Line::Start
            && let Some(&first) = part.first()
        {
            self.name = Name::default();
            self.line = if first == b':' { Line::Comment } else { Line::Name };
        }
        if self.line == Line::Name {
            let colon = memchr(b':', part);
            let (name, rest) = part.split_at(colon.unwrap_or(part.len()));
            self.name.push(name);
            let Some(value) = rest.get(1..) else { return };
            self.line = Line::Value { field: self.begin_field(), fresh: true };
            part = value;
        }
        if let Line::Value { field, fresh } = self.line
            && let Some(&first) = part.first()
        {
            if fresh && first == b' ' {
                part = part.get(1..).unwrap_or_default();
            }
            self.line = Line::Value { field, fresh: false };
            self.append(field, part);
        }
    }

    fn begin_field(&mut self) -> Field {
        let field = self.name.field();
        match field {
            Field::Data => {
                if self.has_data {
                    self.append(Field::Data, b"\n");
                }
                self.has_data = true;
            }
            Field::Event => {
                self.event.clear();
                self.event_too_long = false;
            }
            Field::Id => self.new_id = Some(Vec::new()),
            Field::Retry => self.new_retry = None,
            Field::Unknown => {}
        }
        field
    }

    fn append(&mut self, field: Field, part: &[u8]) {
        match field {
            Field::Data => {
                self.bytes += part.len() as u64;
                if self.oversized {
                } else if self.data.len() + part.len() > self.limit {
                    self.oversized = true;
                    self.data = Vec::new();
                } else {
                    self.data.extend_from_slice(part);
                }
            }
            Field::Event => {
                self.bytes += part.len() as u64;
                if self.event_too_long {
                } else if self.event.len() + part.len() > SHORT_FIELD_LIMIT {
                    self.event_too_long = true;
                    self.oversized = true;
                    self.event.clear();
                    self.data = Vec::new();
                } else {
                    self.event.extend_from_slice(part);
                }
            }
            Field::Id => {
                if let Some(id) = &mut self.new_id {
                    if id.len() + part.len() > SHORT_FIELD_LIMIT || memchr(0, part).is_some() {
                        self.new_id = None;
                    } else {
                        id.extend_from_slice(part);
                    }
                }
            }
            Field::Retry => self.append_retry(part),
            Field::Unknown => {}
        }
    }

    /// Adds digits to the retry time being read. Anything but a digit turns the field into one that is
    /// read past, so that the old time stays.
    fn append_retry(&mut self, part: &[u8]) {
        for &byte in part {
            if !byte.is_ascii_digit() {
                self.new_retry = None;
                self.line = Line::Comment;
                return;
            }
            let digit = u64::from(byte - b'0');
            self.new_retry = Some(self.new_retry.unwrap_or(0).saturating_mul(10).saturating_add(digit));
        }
    }

    /// Ends a line; true when that ends an event.
    fn end_line(&mut self) -> bool {
        let field = match self.line {
            Line::Start => return self.end_event(),
            Line::Comment => None,
            Line::Name => Some(self.begin_field()),
            Line::Value { field, .. } => Some(field),
        };
        match field {
            Some(Field::Id) => {
                if let Some(id) = self.new_id.take() {
                    self.pending_id = Some(id);
                }
            }
            Some(Field::Retry) => self.retry = self.new_retry.take().or(self.retry),
            Some(Field::Unknown) => self.unknown_lines += 1,
            Some(Field::Data | Field::Event) | None => {}
        }
        self.line = Line::Start;
        false
    }

    fn end_event(&mut self) -> bool {
        if let Some(id) = self.pending_id.take() {
            self.id = id;
        }
        self.delivered = self.has_data || self.oversized;
        self.skipped += u64::from(self.oversized);
        if !self.delivered {
            self.clear();
        }
        self.delivered
    }

    fn item(&self, terminated: bool) -> Item<'_> {
        let name: &[u8] =
            if self.event.is_empty() && !self.event_too_long { b"message" } else { &self.event };
        if self.oversized {
            Item::Oversized(Oversized { name, id: &self.id, bytes: self.bytes, terminated })
        } else {
            Item::Event(Event { name, data: &self.data, id: &self.id, terminated })
        }
    }

    /// Makes room for the next event.
    fn clear(&mut self) {
        self.data.clear();
        if self.data.capacity() > KEEP {
            self.data.shrink_to(KEEP);
        }
        self.event.clear();
        self.has_data = false;
        self.event_too_long = false;
        self.oversized = false;
        self.bytes = 0;
        self.delivered = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feed(reader: &mut Reader, mut chunk: &[u8]) {
        while reader.next(&mut chunk).is_some() {}
    }

    #[test]
    fn an_endless_line_is_never_stored() {
        for field in ["data: ", "event: ", "id: ", "retry: ", "other: ", ": "] {
            let mut reader = Reader::with_limit(1000);
            feed(&mut reader, field.as_bytes());
            for _ in 0..10_000 {
                feed(&mut reader, &[b'1'; 100]);
                let held = reader.data.capacity()
                    + reader.event.capacity()
                    + reader.id.capacity()
                    + reader.new_id.as_ref().map_or(0, Vec::capacity);
                assert!(held <= 2 * SHORT_FIELD_LIMIT, "{field:?} holds {held} bytes");
            }
        }
    }

    #[test]
    fn endless_lines_are_never_stored() {
        let mut reader = Reader::with_limit(1000);
        for _ in 0..10_000 {
            feed(&mut reader, b"data: 12345678\n");
            assert!(reader.data.capacity() <= 2000);
        }
        assert_eq!(reader.skipped(), 0, "it has not ended yet");
        feed(&mut reader, b"\n");
        assert_eq!(reader.skipped(), 1);
    }

    #[test]
    fn what_a_large_event_needed_is_given_back() {
        let mut reader = Reader::new();
        feed(&mut reader, &[&b"data: "[..], &vec![b'x'; 4 << 20], b"\n\n"].concat());
        feed(&mut reader, b"data: y\n\n");
        assert!(reader.data.capacity() <= KEEP, "{} bytes", reader.data.capacity());
    }
}
