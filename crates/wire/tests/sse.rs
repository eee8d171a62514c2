//! Event streams: the grammar rule by rule, against a reader written from the standard's text, at every
//! split.

#![allow(clippy::unwrap_used, reason = "a helper of a test fails the test")]

use deadweight_wire::sse::{Item, Reader, SHORT_FIELD_LIMIT};
use proptest::prelude::*;

/// An item with its bytes owned.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Seen {
    Event { name: String, data: Vec<u8>, id: String, terminated: bool },
    Oversized { name: String, bytes: u64, terminated: bool },
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn own(item: Item<'_>) -> Seen {
    match item {
        Item::Event(event) => Seen::Event {
            name: text(event.name),
            data: event.data.to_vec(),
            id: text(event.id),
            terminated: event.terminated,
        },
        Item::Oversized(event) => {
            Seen::Oversized { name: text(event.name), bytes: event.bytes, terminated: event.terminated }
        }
    }
}

fn event(name: &str, data: &str) -> Seen {
    Seen::Event { name: name.into(), data: data.into(), id: String::new(), terminated: true }
}

/// Feeds chunks and ends the stream.
fn read<'c>(reader: &mut Reader, chunks: impl IntoIterator<Item = &'c [u8]>) -> Vec<Seen> {
    let mut seen = Vec::new();
    for mut chunk in chunks {
        while let Some(item) = reader.next(&mut chunk) {
            seen.push(own(item));
        }
        assert!(chunk.is_empty(), "a reader that waits has read its whole chunk");
    }
    seen.extend(reader.finish().map(own));
    seen
}

fn whole(stream: &[u8]) -> Vec<Seen> {
    read(&mut Reader::new(), [stream])
}

/// The stream read whole, after asserting that every cut in two, and byte by byte, give the same.
fn at_every_split(stream: impl AsRef<[u8]>) -> Vec<Seen> {
    let stream = stream.as_ref();
    let expected = whole(stream);
    for at in 0..=stream.len() {
        assert_eq!(
            read(&mut Reader::new(), [&stream[..at], &stream[at..]]),
            expected,
            "cut at {at}: {:?}",
            text(stream)
        );
    }
    assert_eq!(read(&mut Reader::new(), stream.chunks(1)), expected, "byte by byte: {:?}", text(stream));
    expected
}

#[test]
fn the_three_line_ends_are_one() {
    for end in ["\n", "\r", "\r\n"] {
        let stream = ["event: a", "data: 1", "data: 2", "", "data: 3", "", ""].join(end);
        assert_eq!(at_every_split(stream), [event("a", "1\n2"), event("message", "3")], "{end:?}");
    }
}

#[test]
fn line_ends_may_be_mixed() {
    // `\r\n` is one end, `\n\r` is two.
    assert_eq!(
        at_every_split("data: 1\r\n\rdata: 2\n\r\ndata: 3\r\r"),
        [event("message", "1"), event("message", "2"), event("message", "3"),]
    );
    assert_eq!(at_every_split("data: 1\n\rdata: 2\r\n\n"), [event("message", "1"), event("message", "2")]);
}

#[test]
fn an_event_goes_out_at_the_carriage_return() {
    let mut reader = Reader::new();
    let mut chunk = &b"data: now\r\n\r"[..];
    assert_eq!(reader.next(&mut chunk).map(own), Some(event("message", "now")));
    let mut chunk = &b"\ndata: later\n\n"[..];
    assert_eq!(reader.next(&mut chunk).map(own), Some(event("message", "later")));
    assert_eq!(reader.next(&mut chunk).map(own), None);
}

#[test]
fn one_space_after_the_colon_is_dropped() {
    assert_eq!(
        at_every_split("data:x\n\ndata: x\n\ndata:  x\n\ndata:\tx\n\ndata: \n\n"),
        [
            event("message", "x"),
            event("message", "x"),
            event("message", " x"),
            event("message", "\tx"),
            event("message", ""),
        ]
    );
}

#[test]
fn data_may_hold_colons_and_be_empty() {
    assert_eq!(
        at_every_split("data: a: b:\n\ndata\n\ndata:\ndata\n\ndata\ndata: x\n\n"),
        [event("message", "a: b:"), event("message", ""), event("message", "\n"), event("message", "\nx"),]
    );
}

#[test]
fn an_event_without_data_is_none_and_leaves_no_name_behind() {
    assert_eq!(at_every_split("event: ping\n\n\n\ndata: x\n\nevent: y\n:\n\n"), [event("message", "x")]);
}

#[test]
fn the_last_name_wins_and_an_empty_one_is_message() {
    assert_eq!(
        at_every_split("event: a\nevent: b\ndata: 1\n\nevent: a\ndata: 2\nevent\n\n"),
        [event("b", "1"), event("message", "2"),]
    );
}

#[test]
fn comments_and_unknown_fields_are_read_past() {
    let stream =
        ": hello: data: no\n:\ndata: x\n:keep-alive\n data: indented\ndatas: 1\ndat: 1\nDATA: 1\nwhat\n\n";
    assert_eq!(at_every_split(stream), [event("message", "x")]);
    let mut reader = Reader::new();
    read(&mut reader, [stream.as_bytes()]);
    assert_eq!(reader.unknown_lines(), 5, "` data`, `datas`, `dat`, `DATA`, `what`");
}

#[test]
fn a_byte_order_mark_is_dropped_once_and_only_whole() {
    assert_eq!(at_every_split("\u{feff}data: x\n\n"), [event("message", "x")]);
    assert_eq!(at_every_split("\u{feff}\u{feff}data: x\n\n"), []);
    assert_eq!(at_every_split("data: \u{feff}\n\n\u{feff}data: y\n\n"), [event("message", "\u{feff}")]);
    assert_eq!(at_every_split(b"\xEF\xBBdata: x\ndata: y\n\n"), [event("message", "y")]);
    assert_eq!(at_every_split(b"\xEF\n\ndata: y\n\n"), [event("message", "y")]);
}

#[test]
fn bytes_that_are_not_utf8_pass() {
    let seen = at_every_split(b"data: \xFF\xC3\n\n");
    assert_eq!(
        seen,
        [Seen::Event {
            name: "message".into(),
            data: b"\xFF\xC3".to_vec(),
            id: String::new(),
            terminated: true,
        }]
    );
}

#[test]
fn a_split_inside_a_character_does_no_harm() {
    assert_eq!(at_every_split("event: ü\ndata: 日本語 👩‍🔧\n\n"), [event("ü", "日本語 👩‍🔧")]);
}

#[test]
fn an_id_holds_until_the_next_and_a_null_byte_voids_it() {
    let ids: Vec<String> = at_every_split(
        "id: 1\ndata\n\ndata\n\nid: a\0b\ndata\n\nid: 2\n\ndata\n\nid\ndata\n\nid: 3\nid: 4\ndata\n\n",
    )
    .into_iter()
    .map(|seen| match seen {
        Seen::Event { id, .. } => id,
        Seen::Oversized { .. } => panic!("nothing here is large"),
    })
    .collect();
    assert_eq!(ids, ["1", "1", "1", "2", "", "4"]);
}

#[test]
fn an_id_that_may_be_cut_is_not_the_last_id() {
    for (stream, id) in [
        ("id: 17\ndata: x\n\n", "17"),
        ("id: 1\ndata: x\n\nid: 2", "1"),
        ("id: 1\ndata: x\n\nid: 2\n", "1"),
        ("id: 1\ndata: x\n\nid: 2\ndata: y\n", "1"),
        ("id: 1\ndata: x\n\nid: 2\n\n", "2"),
    ] {
        let mut reader = Reader::new();
        read(&mut reader, [stream.as_bytes()]);
        assert_eq!(text(reader.last_event_id()), id, "{stream:?}");
    }
}

#[test]
fn a_retry_time_is_digits_only_and_must_be_whole() {
    for (stream, retry) in [
        ("retry: 3000\n", Some(3000)),
        ("retry:3000\n", Some(3000)),
        ("retry: 3000\nretry: 2s\n", Some(3000)),
        ("retry: 3000\nretry\n", Some(3000)),
        ("retry: -1\n", None),
        ("retry:  1\n", None),
        ("retry: 30", None),
        ("retry: 99999999999999999999999\n", Some(u64::MAX)),
    ] {
        for size in 1..=stream.len() {
            let mut reader = Reader::new();
            read(&mut reader, stream.as_bytes().chunks(size));
            assert_eq!(reader.retry(), retry, "{stream:?} in chunks of {size}");
        }
    }
}

#[test]
fn the_end_of_the_stream_hands_out_what_no_blank_line_ended() {
    let unfinished = |name: &str, data: &str| Seen::Event {
        name: name.into(),
        data: data.into(),
        id: String::new(),
        terminated: false,
    };
    assert_eq!(at_every_split("data: [DONE]"), [unfinished("message", "[DONE]")]);
    assert_eq!(at_every_split("data: [DONE]\r"), [unfinished("message", "[DONE]")]);
    assert_eq!(at_every_split("event: e\ndata: {\"a\":"), [unfinished("e", "{\"a\":")]);
    assert_eq!(at_every_split("data: 1\n\nevent: e\n"), [event("message", "1")]);
    assert_eq!(at_every_split("data: 1\n\ndat"), [event("message", "1")]);
    assert_eq!(at_every_split(""), []);
}

#[test]
fn a_finished_reader_reads_another_stream() {
    let mut reader = Reader::new();
    assert_eq!(read(&mut reader, [&b"event: a\ndata: cut\r"[..]]).len(), 1);
    let seen = read(&mut reader, ["\u{feff}data: x\n\n".as_bytes()]);
    assert_eq!(seen, [event("message", "x")], "no name, no data and no line end are left over");
}

#[test]
fn an_oversized_event_is_named_and_counted_and_the_next_is_read() {
    let stream = b"id: 7\nevent: big\ndata: 123456\ndata: 789\n\ndata: 12345678\n\n";
    for size in 1..=stream.len() {
        let mut reader = Reader::with_limit(8);
        let seen = read(&mut reader, stream.chunks(size));
        assert_eq!(
            seen,
            [
                // Three bytes of name; nine of data and the line end between.
                Seen::Oversized { name: "big".into(), bytes: 13, terminated: true },
                Seen::Event {
                    name: "message".into(),
                    data: b"12345678".to_vec(),
                    id: "7".into(),
                    terminated: true
                },
            ],
            "chunks of {size}"
        );
        assert_eq!(reader.skipped(), 1);
        assert_eq!(reader.last_event_id(), b"7", "the id of an event that was skipped counts");
    }
}

#[test]
fn an_oversized_event_at_the_end_is_counted_too() {
    let mut reader = Reader::with_limit(2);
    assert_eq!(
        read(&mut reader, [&b"data: 123"[..]]),
        [Seen::Oversized { name: "message".into(), bytes: 3, terminated: false }]
    );
    assert_eq!(reader.skipped(), 1);
}

#[test]
fn comments_and_unknown_fields_of_any_length_do_not_make_an_event_large() {
    let long = "x".repeat(100);
    let stream = format!(":{long}\n{long}: {long}\ndata: 1\n{long}\n\n");
    let mut reader = Reader::with_limit(1);
    assert_eq!(read(&mut reader, [stream.as_bytes()]), [event("message", "1")]);
}

#[test]
fn a_name_or_id_beyond_its_bound() {
    let long = "n".repeat(SHORT_FIELD_LIMIT + 1);
    let fits = "n".repeat(SHORT_FIELD_LIMIT);
    let named = format!("event: {long}\ndata: 1\n\nevent: {fits}\ndata: 2\n\n");
    for size in [1, 7, named.len()] {
        let seen = read(&mut Reader::new(), named.as_bytes().chunks(size));
        assert_eq!(
            seen,
            [
                Seen::Oversized {
                    name: String::new(),
                    bytes: SHORT_FIELD_LIMIT as u64 + 2,
                    terminated: true
                },
                event(&fits, "2"),
            ]
        );
    }
    let with_id = format!("id: 1\ndata: 1\n\nid: {long}\ndata: 2\n\n");
    for size in [1, 7, with_id.len()] {
        let mut reader = Reader::new();
        read(&mut reader, with_id.as_bytes().chunks(size));
        assert_eq!(reader.last_event_id(), b"1");
    }
}

/// The standard's algorithm, on a whole stream, as plainly as it is written there. It leaves out the two
/// bounds and hands out an unterminated event as the reader's documentation says.
fn standard(stream: &[u8]) -> Vec<Seen> {
    let stream = stream.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(stream);
    let mut lines = vec![Vec::new()];
    let mut bytes = stream.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\r' => {
                bytes.next_if_eq(&b'\n');
                lines.push(Vec::new());
            }
            b'\n' => lines.push(Vec::new()),
            _ => lines.last_mut().unwrap().push(byte),
        }
    }
    let (mut seen, mut data, mut name, mut id, mut last_id) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let dispatch = |data: &[u8], name: &[u8], id: &[u8], terminated| Seen::Event {
        name: if name.is_empty() { "message".into() } else { text(name) },
        data: data[..data.len() - 1].to_vec(),
        id: text(id),
        terminated,
    };
    let last = lines.len() - 1;
    for (number, line) in lines.iter().enumerate() {
        if line.is_empty() {
            // What follows the last line end is no line.
            if number < last {
                last_id.clone_from(&id);
                if !data.is_empty() {
                    seen.push(dispatch(&data, &name, &last_id, true));
                }
                data.clear();
                name.clear();
            }
            continue;
        }
        let (field, value) = match line.iter().position(|byte| *byte == b':') {
            Some(0) => continue,
            Some(at) => (&line[..at], line[at + 1..].strip_prefix(b" ").unwrap_or(&line[at + 1..])),
            None => (&line[..], &b""[..]),
        };
        match field {
            b"data" => {
                data.extend_from_slice(value);
                data.push(b'\n');
            }
            b"event" => name = value.to_vec(),
            b"id" if !value.contains(&0) => id = value.to_vec(),
            _ => {}
        }
    }
    if !data.is_empty() {
        seen.push(dispatch(&data, &name, &last_id, false));
    }
    seen
}

/// Streams made of what the grammar cares about.
fn streams() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        6 => Just(&b"\n"[..]),
        3 => Just(&b"\r"[..]),
        3 => Just(&b"\r\n"[..]),
        6 => Just(&b"data"[..]),
        2 => Just(&b"event"[..]),
        2 => Just(&b"id"[..]),
        1 => Just(&b"retry"[..]),
        6 => Just(&b":"[..]),
        4 => Just(&b" "[..]),
        3 => Just(&b"x"[..]),
        1 => Just(&b"\0"[..]),
        1 => Just("日".as_bytes()),
        1 => Just(&b"\xEF\xBB\xBF"[..]),
        1 => Just(&b"\xEF"[..]),
    ];
    proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn reads_what_the_standard_says(stream in streams()) {
        prop_assert_eq!(whole(&stream), standard(&stream), "{:?}", text(&stream));
    }

    #[test]
    fn reads_the_same_at_any_cut(
        stream in streams(),
        sizes in proptest::collection::vec(0usize..9, 1..40),
        limit in prop_oneof![Just(usize::MAX), 0usize..6],
    ) {
        let mut rest = &stream[..];
        let mut chunks = Vec::new();
        for size in sizes {
            let (chunk, tail) = rest.split_at(size.min(rest.len()));
            chunks.push(chunk);
            rest = tail;
        }
        chunks.push(rest);
        let (mut cut, mut uncut) = (Reader::with_limit(limit), Reader::with_limit(limit));
        prop_assert_eq!(read(&mut cut, chunks), read(&mut uncut, [&stream[..]]));
        prop_assert_eq!(cut.last_event_id(), uncut.last_event_id());
        prop_assert_eq!(cut.retry(), uncut.retry());
        prop_assert_eq!(cut.skipped(), uncut.skipped());
        prop_assert_eq!(cut.unknown_lines(), uncut.unknown_lines());
    }
}
