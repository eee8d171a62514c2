//! The response of a stream, fed in chunks.

use super::elements::{Element, Splitter};
use super::state::State;
use super::{Counters, Outcome};
use crate::Dialect;
use crate::json::{Document, Error, Parser};
use crate::sse::{DEFAULT_LIMIT, Item, Reader};

/// The size of an event above which the parser's buffers are given back after it.
const LARGE_EVENT: usize = 256 << 10;

#[derive(Debug)]
enum Framing {
    /// `text/event-stream`, until the first byte that says something tells otherwise.
    Events {
        reader: Reader,
        sure: bool,
    },
    Json(Splitter),
}

/// Reads the response that a stream carries. Equal bytes give an equal [`Outcome`], however they are cut
/// into chunks.
///
/// The framing is taken from the first byte: a stream that starts with `[` or `{` is JSON, as Gemini's is
/// without `alt=sse`, and as a server's is that answers a request for a stream with a plain body.
///
/// ```
/// use deadweight_wire::Dialect;
/// use deadweight_wire::usage::{End, StreamReader};
///
/// let stream = b"data: {\"candidates\":[{\"finishReason\":\"STOP\"}],\"usageMetadata\":{\"promptTokenCount\":7}}\n\n";
/// let mut reader = StreamReader::new(Dialect::GeminiGenerate);
/// for chunk in stream.chunks(10) {
///     reader.feed(chunk);
/// }
/// let outcome = reader.finish();
/// assert_eq!(outcome.end, End::Complete);
/// assert_eq!(outcome.counters.prompt(), Some(7));
/// assert_eq!(outcome.counters.output, None);
/// ```
#[derive(Debug)]
pub struct StreamReader {
    framing: Framing,
    limit: usize,
    parser: Parser,
    state: State,
}

impl StreamReader {
    /// A reader at the start of a stream, with the [default limit](DEFAULT_LIMIT).
    pub fn new(dialect: Dialect) -> Self {
        Self::with_limit(dialect, DEFAULT_LIMIT)
    }

    /// A reader that holds at most `limit` bytes of one event, and counts longer ones in
    /// [`Events::oversized`](super::Events::oversized).
    pub fn with_limit(dialect: Dialect, limit: usize) -> Self {
        Self {
            framing: Framing::Events { reader: Reader::with_limit(limit), sure: false },
            limit,
            parser: Parser::new(),
            state: State::new(dialect),
        }
    }

    /// Reads the next bytes of the stream.
    pub fn feed(&mut self, mut chunk: &[u8]) {
        if let Framing::Events { sure: sure @ false, .. } = &mut self.framing
            && let Some(at) = chunk.iter().position(|byte| !says_nothing(*byte))
        {
            *sure = true;
            if matches!(chunk.get(at), Some(b'{' | b'[')) {
                chunk = chunk.get(at..).unwrap_or_default();
                self.framing = Framing::Json(Splitter::new(self.limit));
            }
        }
        match &mut self.framing {
            Framing::Events { reader, .. } => {
                while let Some(item) = reader.next(&mut chunk) {
                    read_item(&mut self.state, &mut self.parser, item);
                }
            }
            Framing::Json(splitter) => {
                while let Some(element) = splitter.next(&mut chunk) {
                    match element {
                        Element::Whole(text) => read(&mut self.parser, text, |document| match document {
                            Ok(document) => self.state.body(document.root()),
                            Err(_) => self.state.events.invalid += 1,
                        }),
                        Element::Oversized => self.state.events.oversized += 1,
                    }
                }
            }
        }
    }

    /// The counters seen so far, for a stream that still runs.
    pub fn counters(&self) -> Counters {
        self.state.reported.counters(self.state.dialect)
    }

    /// Says that the stream has ended, by its sender or by being cut, and what it was.
    pub fn finish(mut self) -> Outcome {
        match &mut self.framing {
            Framing::Events { reader, .. } => {
                if let Some(item) = reader.finish() {
                    read_item(&mut self.state, &mut self.parser, item);
                }
                self.state.events.stray_lines = reader.unknown_lines();
            }
            Framing::Json(splitter) => self.state.closed &= splitter.closed(),
        }
        self.state.outcome()
    }
}

/// Reads one item of an event stream. One that its blank line did not end may have been cut: it counts
/// only where it proves to be whole.
fn read_item(state: &mut State, parser: &mut Parser, item: Item<'_>) {
    let event = match item {
        Item::Event(event) => event,
        Item::Oversized(event) => {
            state.events.oversized += 1;
            if event.terminated {
                state.named(text(event.name));
            }
            return;
        }
    };
    match event.data.trim_ascii() {
        b"" if !event.terminated => {}
        b"" => {
            state.events.read += 1;
            state.events.unknown += 1;
            state.named(text(event.name));
        }
        b"[DONE]" => state.done(),
        _ => read(parser, event.data, |document| match document {
            Ok(document) => state.event(text(event.name), document.root()),
            Err(_) if event.terminated => state.events.invalid += 1,
            Err(_) => {}
        }),
    }
}

/// Parses one event, and gives the parser's buffers back after a large one.
fn read(parser: &mut Parser, bytes: &[u8], f: impl FnOnce(Result<Document<'_, '_>, Error>)) {
    parser.scope(bytes, f);
    if bytes.len() > LARGE_EVENT {
        *parser = Parser::new();
    }
}

fn text(name: &[u8]) -> &str {
    std::str::from_utf8(name).unwrap_or_default()
}

/// Bytes that may stand before an event stream and before a JSON text: white space, byte order mark.
const fn says_nothing(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | 0xEF | 0xBB | 0xBF)
}
