//! Event streams cut anywhere: the same events and the same counters however the bytes arrive.
//!
//! The input is eight bytes that say where to cut, and then the stream.

#![no_main]

use deadweight_wire::Dialect;
use deadweight_wire::sse::{Item, Reader};
use deadweight_wire::usage::{self, Outcome, StreamReader};
use libfuzzer_sys::fuzz_target;

/// Small, so that inputs reach it.
const LIMIT: usize = 256;

fuzz_target!(|input: &[u8]| {
    let Some((cuts, stream)) = input.split_at_checked(8) else { return };
    let whole = events(std::iter::once(stream));
    assert_eq!(whole, events(pieces(cuts, stream).into_iter()), "cut in pieces");
    assert_eq!(whole, events(stream.chunks(1)), "cut at every byte");
    for dialect in Dialect::ALL {
        let whole = outcome(dialect, std::iter::once(stream));
        assert_eq!(whole, outcome(dialect, pieces(cuts, stream).into_iter()), "{dialect}: cut in pieces");
        assert_eq!(whole, outcome(dialect, stream.chunks(1)), "{dialect}: cut at every byte");
        let _ = usage::of_body(stream, dialect);
    }
});

/// The stream in up to nine pieces, some of them empty.
fn pieces<'s>(cuts: &[u8], mut stream: &'s [u8]) -> Vec<&'s [u8]> {
    let mut pieces = Vec::new();
    for cut in cuts {
        let (piece, rest) = stream.split_at(usize::from(*cut).min(stream.len()));
        pieces.push(piece);
        stream = rest;
    }
    pieces.push(stream);
    pieces
}

fn events<'s>(chunks: impl Iterator<Item = &'s [u8]>) -> Vec<String> {
    let mut reader = Reader::with_limit(LIMIT);
    let mut seen = Vec::new();
    let bounded = |item: Item<'_>| {
        if let Item::Event(event) = item {
            assert!(event.data.len() <= LIMIT, "an event is larger than its bound");
        }
        format!("{item:?}")
    };
    for mut chunk in chunks {
        while let Some(item) = reader.next(&mut chunk) {
            seen.push(bounded(item));
        }
        assert!(chunk.is_empty(), "bytes were left unread");
    }
    seen.extend(reader.finish().map(bounded));
    seen.push(format!("{:?} {:?}", reader.retry(), reader.last_event_id()));
    seen
}

fn outcome<'s>(dialect: Dialect, chunks: impl Iterator<Item = &'s [u8]>) -> Outcome {
    let mut reader = StreamReader::with_limit(dialect, LIMIT);
    chunks.for_each(|chunk| reader.feed(chunk));
    reader.finish()
}
