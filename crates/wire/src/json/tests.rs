//! Both scanners against written-down answers. (Against `serde_json`: `tests/json_differential.rs`.)

use super::{Error, ErrorKind, Kind, Parser};

/// Kind, start, end, decoded length, lone surrogate.
type Found = (Kind, usize, usize, Option<usize>, bool);

/// Parses with every scanner; they must agree.
fn parse(text: &[u8]) -> Result<Vec<Found>, Error> {
    let [fast, portable] = [Parser::new(), Parser::portable()].map(|mut parser| {
        parser.scope(text, |doc| {
            let doc = doc?;
            let mut found = Vec::new();
            let mut todo = vec![doc.root()];
            while let Some(value) = todo.pop() {
                let span = value.span();
                let len = value.decoded_len();
                assert_eq!(value.as_str().map(|text| text.len()), len);
                found.push((value.kind(), span.start(), span.end(), len, value.has_lone_surrogate()));
                todo.extend(value.elements());
                todo.extend(value.entries().flat_map(|entry| [entry.key, entry.value]));
            }
            found.sort_by_key(|found| found.1);
            Ok(found)
        })
    });
    assert_eq!(fast, portable, "{}", String::from_utf8_lossy(text));
    fast
}

fn error(text: impl AsRef<[u8]>) -> (usize, ErrorKind) {
    let error = parse(text.as_ref()).unwrap_err();
    (error.offset, error.kind)
}

#[test]
fn surrogates() {
    let string = |text: &str| {
        let text = format!("\"{text}\"");
        let [(_, _, _, len, lone)] = parse(text.as_bytes()).unwrap()[..] else { panic!("{text}") };
        (len.unwrap(), lone)
    };
    assert_eq!(string(r"\ud83d\ude00"), (4, false));
    assert_eq!(string(r"\ud83d"), (3, true));
    assert_eq!(string(r"\ude00"), (3, true));
    assert_eq!(string(r"\ude00\ud83d"), (6, true));
    assert_eq!(string(r"\ud83d\ud83d\ude00"), (7, true));
    assert_eq!(string(r"\ud83d\ude00\ude00"), (7, true));
    assert_eq!(string(r"\ud83d \ude00"), (7, true));
    assert_eq!(string(r"\ud83d\n"), (4, true));
    assert_eq!(string(r"\ud83d\\ude00"), (9, true));
    assert_eq!(string(r"\uD7FF\uE000\uffff\u0800"), (12, false));
    assert_eq!(string(r"\u0000\u007f\u0080\u07ff"), (6, false));
    assert_eq!(error(br#""\ud83d\u"#), (9, ErrorKind::UnexpectedEnd));
    assert_eq!(error(br#""\ud83d\u12x4""#), (11, ErrorKind::InvalidEscape));
}

#[test]
fn errors_lie_where_the_text_goes_wrong() {
    use ErrorKind::*;
    let cases: [(&[u8], usize, ErrorKind); 37] = [
        (b"", 0, UnexpectedEnd),
        (b" \n", 2, UnexpectedEnd),
        (b"[", 1, UnexpectedEnd),
        (b"[1", 2, UnexpectedEnd),
        (b"[1,", 3, UnexpectedEnd),
        (b"[1,]", 3, ExpectedValue),
        (b"[,", 1, ExpectedValue),
        (b"[}", 1, ExpectedValue),
        (b"[1}", 2, ExpectedCommaOrEnd),
        (b"[1 2]", 3, ExpectedCommaOrEnd),
        (b"{", 1, UnexpectedEnd),
        (b"{]", 1, ExpectedKey),
        (b"{1:2}", 1, ExpectedKey),
        (b"{\"a\" 1}", 5, ExpectedColon),
        (b"{\"a\":}", 5, ExpectedValue),
        (b"{\"a\":1,}", 7, ExpectedKey),
        (b"{\"a\":1]", 6, ExpectedCommaOrEnd),
        (b"1 2", 2, TrailingData),
        (b"[]]", 2, TrailingData),
        (b"\xef\xbb\xbf{}", 0, ExpectedValue),
        (b"tru", 3, UnexpectedEnd),
        (b"trux", 3, ExpectedValue),
        (b"nul]", 3, ExpectedValue),
        (b"-", 1, UnexpectedEnd),
        (b"-x", 1, InvalidNumber),
        (b"01", 1, InvalidNumber),
        (b"1.", 2, UnexpectedEnd),
        (b"1.e1", 2, InvalidNumber),
        (b"1e+", 3, UnexpectedEnd),
        (b"1e+]", 3, InvalidNumber),
        (b"\"", 1, UnexpectedEnd),
        (b"\"\\", 2, UnexpectedEnd),
        (b"\"\\q\"", 2, InvalidEscape),
        (b"\"\\u00g0\"", 5, InvalidEscape),
        (b"\"a\nb\"", 2, ControlCharacter),
        (b"\"a\xffb\"", 2, InvalidUtf8),
        (b"\"\xe2\x82\"", 1, InvalidUtf8),
    ];
    for (text, offset, kind) in cases {
        assert_eq!(error(text), (offset, kind), "{}", String::from_utf8_lossy(text));
    }
}

#[test]
fn the_leftmost_error_is_reported() {
    use ErrorKind::*;
    // What goes wrong, before what else goes wrong, in strings long enough for every path of a scanner.
    for lead in 0..140 {
        for gap in [0, 1, 7, 31, 64] {
            let text = |first: &[u8], second: &[u8]| {
                [b"[\"", &b"x".repeat(lead)[..], first, &b"y".repeat(gap), second, &b"z".repeat(lead)]
                    .concat()
            };
            let at = 2 + lead;
            assert_eq!(error(text(b"\xff", b"\\q")), (at, InvalidUtf8));
            assert_eq!(error(text(b"\xff", b"\n")), (at, InvalidUtf8));
            assert_eq!(error(text(b"\xff", b"\"")), (at, InvalidUtf8));
            assert_eq!(error(text(b"\xff", b"\\u12")), (at, InvalidUtf8));
            assert_eq!(error(text(b"\\q", b"\xff")), (at + 1, InvalidEscape));
            assert_eq!(error(text(b"\\\xff", b"")), (at + 1, InvalidUtf8));
            assert_eq!(error(text(b"\\\xc3\xa9", b"\xff")), (at + 1, InvalidEscape));
            assert_eq!(error(text(b"\n", b"\xff")), (at, ControlCharacter));
            assert_eq!(error(text(b"\\\n", b"\xff")), (at + 1, InvalidEscape));
            assert_eq!(error(text(b"\"", b"\xff")).0, at + 1);
            assert_eq!(error(text(b"\xf0\x9f", b"\"")), (at, InvalidUtf8));
            let end = text(b"\\u00e9\xc3\xa9", b"");
            assert_eq!(error(&end), (end.len(), UnexpectedEnd));
            for cut in [&b"\xc3"[..], b"\xe2\x82", b"\xf0\x9f\x98"] {
                let end = [&end[..], cut].concat();
                assert_eq!(error(&end), (end.len(), UnexpectedEnd));
            }
        }
    }
}

#[test]
fn depth_costs_no_stack() {
    const DEPTH: usize = 1_000_000;
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let text = [&open.repeat(DEPTH), "0", &close.repeat(DEPTH)].concat();
        Parser::new().scope(text.as_bytes(), |doc| {
            let mut value = doc.unwrap().root();
            let mut depth = 0;
            while let Some(inner) =
                value.elements().next().or_else(|| value.entries().next().map(|entry| entry.value))
            {
                assert_eq!(value.span().end(), text.len() - depth);
                (value, depth) = (inner, depth + 1);
            }
            assert_eq!((depth, value.raw()), (DEPTH, "0"));
        });
        let cut = &text[..text.len() - 1];
        assert_eq!(
            Parser::new().scope(cut.as_bytes(), |doc| doc.map(|_| ())),
            Err(Error { offset: cut.len(), kind: ErrorKind::UnexpectedEnd })
        );
    }
}
