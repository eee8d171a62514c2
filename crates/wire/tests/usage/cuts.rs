//! Chunks, line ends and limits change nothing; a cut stream is told from a whole one.

use super::*;
use proptest::prelude::*;

#[test]
fn every_cut_in_two_gives_the_same() {
    for recorded in ALL {
        let expected = recorded.read();
        for at in 0..=recorded.bytes.len() {
            let (head, tail) = recorded.bytes.split_at(at);
            assert_eq!(read(recorded.dialect, [head, tail]), expected, "{} cut at {at}", recorded.name);
        }
    }
}

#[test]
fn chunks_of_every_small_size_give_the_same() {
    for recorded in ALL {
        let expected = recorded.read();
        for size in 1..64 {
            assert_eq!(
                read(recorded.dialect, recorded.bytes.chunks(size)),
                expected,
                "{} in chunks of {size}",
                recorded.name
            );
        }
    }
}

#[test]
fn line_ends_comments_and_a_byte_order_mark_change_nothing() {
    for recorded in ALL.iter().filter(|recorded| recorded.name.ends_with(".sse")) {
        let expected = recorded.read();
        let text = std::str::from_utf8(recorded.bytes).unwrap().replace("\r\n", "\n");
        let unspaced = text.replace("\ndata: ", "\ndata:").replace("\nevent: ", "\nevent:");
        for other in [
            text.replace('\n', "\r\n"),
            text.replace('\n', "\r"),
            text.clone(),
            format!("\u{feff}{text}"),
            format!(": processing\n\n{}", text.replace("\n\n", "\n: keep-alive\n\nid: 3\nretry: 5\n\n")),
            unspaced,
            text.trim_end().to_owned(),
            format!("\n\n{text}"),
        ] {
            assert_eq!(stream(recorded.dialect, &other), expected, "{}: {other:?}", recorded.name);
        }
    }
}

#[test]
fn data_may_be_broken_over_lines() {
    let outcome = stream(
        AnthropicMessages,
        "event: message_delta\ndata: {\"type\":\"message_delta\",\ndata:   \"usage\":\ndata: {\"output_tokens\":\ndata:12}}\n\n",
    );
    assert_eq!(outcome.counters.output, Some(12));
    assert_eq!(outcome.events.invalid, 0);
}

/// A stream that was cut is never a success, and never an anomaly of its sender; from the byte on that
/// settles it, it stays settled.
#[test]
fn a_stream_cut_anywhere_before_its_closing_is_truncated() {
    for recorded in ALL {
        let whole = recorded.read();
        let begins = recorded
            .bytes
            .windows(recorded.closing.len())
            .rposition(|window| window == recorded.closing.as_bytes())
            .unwrap();
        let mut settled = None;
        for length in 0..=recorded.bytes.len() {
            let outcome = read(recorded.dialect, [&recorded.bytes[..length]]);
            assert_eq!(outcome.events.invalid, 0, "{} cut after {length}", recorded.name);
            if outcome.end == End::Truncated {
                assert_eq!(settled, None, "{} cut after {length}: no longer settled", recorded.name);
            } else {
                settled.get_or_insert(length);
                assert_eq!(outcome.end, whole.end, "{} cut after {length}", recorded.name);
                assert_eq!(outcome.counters, whole.counters, "{} cut after {length}", recorded.name);
            }
        }
        let settled = settled.unwrap();
        assert!(
            settled > begins,
            "{} is settled after {settled} bytes, before its closing at {begins}",
            recorded.name
        );
        let data_end = recorded.bytes[begins..]
            .iter()
            .position(|byte| matches!(byte, b'\n' | b'\r'))
            .filter(|_| recorded.closing != "\n]")
            .map_or(begins + 2, |end| begins + end);
        assert_eq!(settled, data_end, "{} is settled by the last byte of its closing's data", recorded.name);
    }
}

#[test]
fn counters_of_a_running_stream() {
    let mut reader = StreamReader::new(AnthropicMessages);
    assert_eq!(reader.counters(), Counters::default());
    let first = TOOLS.bytes.windows(2).position(|pair| pair == b"\n\n").unwrap() + 2;
    reader.feed(&TOOLS.bytes[..first]);
    assert_eq!(reader.counters().prompt(), Some(23_788));
    assert_eq!(reader.counters().output, Some(3));
}

#[test]
fn an_oversized_event_is_counted_and_a_closing_one_still_closes() {
    let read_small = |recorded: &Recorded, limit: usize, size: usize| {
        let mut reader = StreamReader::with_limit(recorded.dialect, limit);
        recorded.bytes.chunks(size).for_each(|chunk| reader.feed(chunk));
        reader.finish()
    };
    for size in [1, 13, 5_000] {
        let outcome = read_small(&RESPONSES, 400, size);
        assert_eq!(outcome.end, End::Complete, "its name says so");
        assert_eq!(outcome.counters, Counters::default(), "its counters were not kept");
        assert_eq!(outcome.events, Events { read: 9, unknown: 1, oversized: 2, ..Events::default() });
        let outcome = read_small(&FAILED, 150, size);
        assert_eq!(failed(&outcome), &Failure::default());
        let outcome = read_small(&OVERLOADED, 100, size);
        assert_eq!(failed(&outcome), &Failure::default());
        let outcome = read_small(&GEMINI_ARRAY, 420, size);
        assert_eq!(outcome.events.oversized, 1);
        assert_eq!(outcome.end, End::Complete);
        assert_eq!(outcome.counters.cache_read, None, "that element was the large one");
        assert_eq!(outcome.counters.total_prompt, Some(6_120));
    }
    // Cut inside, it closes nothing.
    let cut = &RESPONSES.bytes[..RESPONSES.bytes.len() - 100];
    let mut reader = StreamReader::with_limit(OpenaiResponses, 400);
    reader.feed(cut);
    assert_eq!(reader.finish().end, End::Truncated);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn random_cuts_give_the_same(
        which in 0..ALL.len(),
        cuts in proptest::collection::vec(0.0f64..1.0, 0..24),
        limit in prop_oneof![Just(usize::MAX), 1usize..900],
    ) {
        let recorded = ALL[which];
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| (cut * recorded.bytes.len() as f64) as usize).collect();
        cuts.sort_unstable();
        let mut reader = StreamReader::with_limit(recorded.dialect, limit);
        let mut from = 0;
        for to in cuts.into_iter().chain([recorded.bytes.len()]) {
            reader.feed(&recorded.bytes[from..to]);
            from = to;
        }
        let mut uncut = StreamReader::with_limit(recorded.dialect, limit);
        uncut.feed(recorded.bytes);
        prop_assert_eq!(reader.finish(), uncut.finish());
    }

    /// Whatever a sender does, the reader neither stops nor depends on the cut.
    #[test]
    fn damaged_streams_read_the_same_at_any_cut(
        which in 0..ALL.len(),
        damage in proptest::collection::vec((0.0f64..1.0, any::<u8>()), 1..12),
        size in 1usize..200,
    ) {
        let recorded = ALL[which];
        let mut bytes = recorded.bytes.to_vec();
        for (at, byte) in damage {
            let at = (at * bytes.len() as f64) as usize;
            bytes[at] = byte;
        }
        prop_assert_eq!(read(recorded.dialect, bytes.chunks(size)), read(recorded.dialect, [&bytes[..]]));
    }
}
