//! Answers: what reaches the client is what the provider sent.

use crate::common::{Gate, eventually, get, post};
use deadweight_gateway::exchange::{Answer as Read, End, Unread};
use deadweight_testkit::raw_http::RawHttp;
use std::io::Write;
use std::net::TcpListener;
use std::time::{Duration, Instant};

/// A provider that says exactly this on its first connection, then closes.
fn saying(bytes: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            std::thread::spawn(move || {
                let mut seen = Vec::new();
                let mut buffer = [0; 4096];
                while !seen.windows(4).any(|end| end == b"\r\n\r\n") {
                    match std::io::Read::read(&mut stream, &mut buffer) {
                        Ok(count) if count > 0 => seen.extend_from_slice(&buffer[..count]),
                        _ => return,
                    }
                }
                let _ = stream.write_all(bytes);
                // What is left unread would turn the end into a reset.
                stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
                while matches!(std::io::Read::read(&mut stream, &mut buffer), Ok(count) if count > 0) {}
            });
        }
    });
    format!("http://{address}")
}

#[test]
fn head_and_body_pass_as_they_are() {
    let upstream = saying(
        b"HTTP/1.1 529 Overloaded For Now\r\nX-Odd-CASE: a\r\nrequest-id: req_1\r\nSet-Cookie: a=1\r\nset-cookie: b=2\r\n\
          Content-Type: application/json\r\nretry-after: 7\r\nContent-Length: 27\r\n\r\n{\"type\":\"error\" , \"x\":1.0}\n",
    );
    let gate = Gate::to(&upstream);
    let answer = gate.ask(&post("/v1/messages", &[], b"{}"));
    assert_eq!(answer.line, "HTTP/1.1 529 Overloaded For Now");
    let expected = [
        ("X-Odd-CASE", "a"),
        ("request-id", "req_1"),
        ("Set-Cookie", "a=1"),
        ("set-cookie", "b=2"),
        ("Content-Type", "application/json"),
        ("retry-after", "7"),
        ("Content-Length", "27"),
    ];
    assert_eq!(answer.headers, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    assert_eq!(answer.text(), "{\"type\":\"error\" , \"x\":1.0}\n");
    let ended = gate.ended();
    assert_eq!((ended.status, ended.end, ended.answer_bytes), (Some(529), End::Complete, 27));
    assert_eq!(ended.request_id.as_deref(), Some("req_1"));
    assert_eq!(ended.headers.get("retry-after"), Some("7"));
    let Read::Body { body, encoding: None, stream: false } = ended.answer else {
        panic!("{:?}", ended.answer)
    };
    assert_eq!(body.bytes().unwrap(), answer.body);
}

#[test]
fn compressed_bodies_are_not_touched() {
    let server = RawHttp::start(|_, answer| {
        let headers =
            [("content-type", "application/json"), ("content-encoding", "gzip"), ("vary", "accept-encoding")];
        answer.whole(200, &headers, &[0x1F, 0x8B, 8, 0, 1, 2, 3, 0xFF])
    })
    .unwrap();
    let gate = Gate::to(&server.at(""));
    let answer = gate.ask(&post("/v1/messages", &[("accept-encoding", "gzip")], b"{}"));
    assert_eq!(answer.header("content-encoding"), Some("gzip"));
    assert_eq!(answer.body, [0x1F, 0x8B, 8, 0, 1, 2, 3, 0xFF]);
    let Read::Body { encoding, .. } = gate.ended().answer else { panic!("not copied") };
    assert_eq!(encoding.as_deref(), Some("gzip"));
}

#[test]
fn a_stream_passes_event_by_event_and_is_read_as_it_passes() {
    let server = RawHttp::start(|_, answer| {
        answer.events(&[])?;
        let start = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"model\":\"c\",\
                     \"usage\":{\"input_tokens\":3,\"cache_read_input_tokens\":5,\"output_tokens\":1}}}\n\n";
        let end = "event: message_delta\ndata: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":9}}\n\n\
                   event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
        let all = format!("{start}{end}");
        // Cut in the middle of lines; the second half comes only once the first was seen.
        answer.piece(&all.as_bytes()[..50])?;
        std::thread::sleep(Duration::from_millis(150));
        answer.piece(&all.as_bytes()[50..])?;
        answer.end()
    })
    .unwrap();
    let gate = Gate::to(&server.at(""));
    let mut client = gate.client();
    let began = Instant::now();
    client.send(&post("/v1/messages", &[], b"{\"stream\":true}"));
    assert_eq!(client.head().unwrap().status(), 200);
    assert_eq!(client.chunk().unwrap().len(), 50);
    assert!(began.elapsed() < Duration::from_millis(140), "the first piece was held back");
    assert!(client.chunk().unwrap().ends_with(b"message_stop\"}\n\n"));
    let ended = gate.ended();
    assert_eq!(ended.end, End::Complete);
    assert!(
        ended.first_byte.unwrap() < Duration::from_millis(140) && ended.took >= Duration::from_millis(150)
    );
    let Read::Stream(outcome) = ended.answer else { panic!("{:?}", ended.answer) };
    assert_eq!(outcome.end, deadweight_wire::usage::End::Complete);
    assert_eq!((outcome.counters.cache_read, outcome.counters.output), (Some(5), Some(9)));
}

#[test]
fn trailers_pass_where_they_are_announced() {
    let upstream = saying(
        b"HTTP/1.1 200 OK\r\ntrailer: X-Sum\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-Sum: 9\r\n\r\n",
    );
    let gate = Gate::to(&upstream);
    let answer = gate.ask(&get("/v1/messages", &[("TE", "trailers"), ("Connection", "TE")]));
    assert_eq!(answer.text(), "abc");
    let trailers: Vec<_> = answer.trailers.iter().map(|(n, v)| (n.to_ascii_lowercase(), v.clone())).collect();
    assert_eq!(trailers, [("x-sum".to_owned(), "9".to_owned())]);
    assert!(answer.whole);
}

#[test]
fn answers_before_the_answer_pass() {
    let upstream = saying(
        b"HTTP/1.1 103 Early Hints\r\nlink: </a>; rel=preload\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n\
          HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok",
    );
    let gate = Gate::to(&upstream);
    let answer = gate.ask(&get("/v1/messages", &[]));
    let link = ("link".to_owned(), "</a>; rel=preload".to_owned());
    assert_eq!(answer.early, [("HTTP/1.1 103 Early Hints".to_owned(), vec![link])]);
    assert_eq!((answer.status(), answer.text().as_str()), (200, "ok"));
}

#[test]
fn chunks_win_over_a_length() {
    let gate = Gate::to(&saying(
        b"HTTP/1.1 200 OK\r\ncontent-length: 50\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    ));
    let answer = gate.ask(&get("/v1/messages", &[]));
    assert_eq!((answer.status(), answer.text().as_str(), answer.whole), (200, "ok", true));
    assert_eq!(answer.header("content-length"), None);
    assert_eq!(gate.ended().end, End::Complete);
}

#[test]
fn odd_statuses_and_empty_answers_pass() {
    for (bytes, status, body) in [
        (&b"HTTP/1.1 204 No Content\r\nx: y\r\n\r\n"[..], 204, ""),
        (b"HTTP/1.1 304 Not Modified\r\netag: \"a\"\r\n\r\n", 304, ""),
        (b"HTTP/1.1 999 Whatever\r\ncontent-length: 1\r\n\r\nx", 999, "x"),
        (b"HTTP/1.1 299 \r\ncontent-length: 0\r\n\r\n", 299, ""),
        (
            b"HTTP/1.1 307 Temporary Redirect\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n",
            307,
            "",
        ),
        (b"HTTP/1.0 200 OK\r\ncontent-length: 3\r\n\r\nold", 200, "old"),
    ] {
        let gate = Gate::to(&saying(bytes));
        let answer = gate.ask(&get("/v1/messages", &[]));
        assert_eq!((answer.status(), answer.text().as_str(), answer.whole), (status, body, true), "{status}");
        assert_eq!(gate.ended().end, End::Complete, "{status}");
    }
}

#[test]
fn a_body_that_ends_with_its_connection_ends_well() {
    let gate = Gate::to(&saying(
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n{\"a\":1}",
    ));
    let answer = gate.ask(&get("/v1/messages", &[]));
    assert_eq!((answer.text().as_str(), answer.whole), ("{\"a\":1}", true));
    assert_eq!(gate.ended().end, End::Complete);
}

#[test]
fn an_answer_to_head_keeps_the_length_of_what_it_leaves_out() {
    let gate = Gate::to(&saying(b"HTTP/1.1 200 OK\r\nContent-Length: 1234\r\n\r\n"));
    let mut client = gate.client();
    client.send(b"HEAD /v1/messages HTTP/1.1\r\nhost: localhost\r\n\r\n");
    let answer = client.head().unwrap();
    assert_eq!((answer.status(), answer.header("content-length")), (200, Some("1234")));
    let ended = gate.ended();
    assert_eq!((ended.end, ended.answer_bytes), (End::Complete, 0));
    assert!(matches!(ended.answer, Read::Unread(Unread::Empty)));
}

#[test]
fn an_answer_that_is_no_text_is_not_copied() {
    let server =
        RawHttp::start(|_, answer| answer.whole(200, &[("content-type", "audio/mpeg")], &[1; 100])).unwrap();
    let gate = Gate::to(&server.at(""));
    assert_eq!(gate.ask(&post("/v1/audio/speech", &[], b"{}")).body, [1; 100]);
    let ended = gate.ended();
    assert!(matches!(ended.answer, Read::Unread(Unread::NotText)));
    assert_eq!(ended.answer_bytes, 100);
}

#[test]
fn a_large_answer_passes_and_is_not_kept() {
    let server = RawHttp::start(|_, answer| answer.json(200, &"x".repeat(9 << 20))).unwrap();
    let gate = Gate::to(&server.at(""));
    assert_eq!(gate.ask(&post("/v1/messages", &[], b"{}")).body.len(), 9 << 20);
    let ended = gate.ended();
    assert!(matches!(ended.answer, Read::Unread(Unread::TooLarge)));
    assert_eq!(ended.answer_bytes, 9 << 20);
}

#[test]
fn an_old_client_is_answered_as_it_understands() {
    let server = RawHttp::start(|_, answer| {
        answer.events(&[])?;
        answer.piece(b"data: 1\n\n")?;
        answer.end()
    })
    .unwrap();
    let gate = Gate::to(&server.at(""));
    let mut client = gate.client();
    client.send(b"GET /v1/messages HTTP/1.0\r\nhost: localhost\r\n\r\n");
    let answer = client.answer();
    assert_eq!((answer.line.as_str(), answer.text().as_str()), ("HTTP/1.0 200 Scripted", "data: 1\n\n"));
    assert_eq!(answer.header("transfer-encoding"), None);
}

#[test]
fn the_body_waits_for_the_provider_where_the_client_does() {
    // One that refuses before it has seen the body, and one that wants it.
    let refusing = saying(b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 2\r\n\r\nno");
    let gate = Gate::to(&refusing);
    let mut client = gate.client();
    client.send(
        b"POST /v1/messages HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\ncontent-length: 5\r\n\r\n",
    );
    let answer = client.answer();
    assert_eq!(
        (answer.status(), answer.early.len()),
        (401, 0),
        "the body was asked for before the provider wanted it"
    );
    let begun = gate.begun();
    assert!(!begun.received.whole && begun.received.length == 0);
    let wanting = RawHttp::start(|request, answer| answer.whole(200, &[], &request.body)).unwrap();
    let gate = Gate::to(&wanting.at(""));
    let mut client = gate.client();
    client.send(
        b"POST /v1/messages HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\ncontent-length: 5\r\n\r\n",
    );
    let mut line = String::from_utf8(client.exactly(25)).unwrap();
    assert_eq!(line, "HTTP/1.1 100 Continue\r\n\r\n");
    client.send(b"hello");
    let answer = client.answer();
    line.clear();
    assert_eq!((answer.status(), answer.text().as_str()), (200, "hello"));
}

#[test]
fn requests_behind_each_other_are_answered_in_order() {
    let server = RawHttp::start(|request, answer| answer.whole(200, &[], request.path.as_bytes())).unwrap();
    let gate = Gate::to(&server.at(""));
    let mut client = gate.client();
    let all: Vec<u8> = (0..5).flat_map(|n| post(&format!("/v1/messages?{n}"), &[], b"{}")).collect();
    client.send(&all);
    for n in 0..5 {
        assert_eq!(client.answer().text(), format!("/v1/messages?{n}"));
    }
    eventually("the end of all", || {
        gate.handle.counted().open.load(std::sync::atomic::Ordering::Relaxed) == 0
    });
}
