//! Byte identity, over generated requests and answers: whatever a body is, however it is framed and cut, the same bytes
//! come out, and the receipt says so.
//!
//! `DEADWEIGHT_BODIES` sets how many bodies are generated; 1,000 without it.

use crate::common::{Client, Gate, Given};
use deadweight_gateway::exchange::{Answer as Read, Begun, Copied, End, Event, Receipt};
use deadweight_testkit::raw_http::RawHttp;
use deadweight_testkit::upstream::Recorded;
use http_body_util::{BodyExt, StreamBody};
use hyper_util::rt::{TokioExecutor, TokioIo};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const SOON: Duration = crate::common::SOON;

/// Paths of every dialect, and one of none.
const PATHS: [&str; 6] = [
    "/v1/messages?beta=true",
    "/v1/messages/count_tokens",
    "/v1/chat/completions",
    "/v1/responses",
    "/v1beta/models/m:streamGenerateContent?alt=sse",
    "/openai/v1/anything/else",
];

const ENCODINGS: [Option<&str>; 5] = [None, Some("gzip"), Some("br"), Some("zstd"), Some("identity")];

const KINDS: [&str; 5] = [
    "application/json",
    "text/event-stream; charset=utf-8",
    "application/octet-stream",
    "application/vnd.amazon.eventstream",
    "text/plain",
];

/// Whether levers are at work in the next gateway.
static EDITS: AtomicBool = AtomicBool::new(true);

#[derive(Debug, Clone)]
struct Case {
    seed: u64,
    path: usize,
    size: usize,
    chunked: bool,
    piece: usize,
    encoding: usize,
    answer_size: usize,
    answer_chunked: bool,
    answer_piece: usize,
    answer_kind: usize,
    status: u16,
}

fn size() -> impl Strategy<Value = usize> {
    prop_oneof![
        1 => Just(0_usize),
        11 => 1_usize..4096,
        5 => 4096_usize..(64 << 10),
        2 => (64_usize << 10)..(512 << 10),
        1 => (512_usize << 10)..(2 << 20),
    ]
}

fn case() -> impl Strategy<Value = Case> {
    let request = (any::<u64>(), 0..PATHS.len(), size(), any::<bool>(), 1_usize..100_000, 0..ENCODINGS.len());
    let answer = (size(), any::<bool>(), 1_usize..100_000, 0..KINDS.len());
    let statuses = prop::sample::select(vec![200_u16, 200, 200, 400, 429, 500, 529, 999]);
    (request, answer, statuses).prop_map(|(request, answer, status)| {
        let (seed, path, size, chunked, piece, encoding) = request;
        let (answer_size, answer_chunked, answer_piece, answer_kind) = answer;
        Case {
            seed,
            path,
            size,
            chunked,
            // Small pieces of a large body are many system calls and say nothing more.
            piece: piece.max(size / 64),
            encoding,
            answer_size,
            answer_chunked,
            answer_piece: answer_piece.max(answer_size / 64),
            answer_kind,
            status,
        }
    })
}

/// Bytes that look like nothing, or like JSON or events with everything that is often broken on the way.
fn bytes(mut seed: u64, size: usize) -> Vec<u8> {
    const PARTS: [&str; 12] = [
        "{\"model\":\"m\", \"messages\" : [",
        "1.0e3,",
        "123456789012345678901234567890,",
        "\"\\u00e9\\ud83d\\ude00 \u{e9}\u{1F600}<>&\\/\",",
        "\"cache_control\":{\"type\":\"ephemeral\"},",
        "data: {\"type\":\"message_start\"}\n\n",
        "event: message_stop\r\ndata: {}\r\n\r\n",
        "data: [DONE]\n\n",
        "}\n]\t",
        ": ping\n\n",
        "\"tools\":[],\"tools\":[],",
        "0\r\n\r\n",
    ];
    let mut next = move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize
    };
    let raw = next() % 4 == 0;
    let mut out = Vec::with_capacity(size + 64);
    while out.len() < size {
        if raw {
            out.extend((next() as u32).to_le_bytes());
        } else {
            out.extend(PARTS[next() % PARTS.len()].as_bytes());
        }
    }
    out.truncate(size);
    out
}

/// A provider that answers as the case says, and hands over what it got.
struct Rig {
    gate: Gate,
    host: String,
    got: Receiver<Recorded>,
    case: Arc<Mutex<Option<Case>>>,
    _server: RawHttp,
}

impl Rig {
    fn new() -> Self {
        let case: Arc<Mutex<Option<Case>>> = Arc::default();
        let (sender, got): (Sender<Recorded>, _) = channel();
        let (sender, of_server) = (Mutex::new(sender), Arc::clone(&case));
        let server = RawHttp::start(move |request, answer| {
            let case = of_server.lock().unwrap().clone().unwrap();
            sender.lock().unwrap().send(request.clone()).unwrap();
            let body = bytes(!case.seed, case.answer_size);
            let headers = [
                ("Content-Type", KINDS[case.answer_kind]),
                ("X-Request-ID", "req_1"),
                ("content-encoding", "x"),
            ];
            let headers = if case.seed.is_multiple_of(3) { &headers[..] } else { &headers[..2] };
            if !case.answer_chunked {
                return answer.whole(case.status, headers, &body);
            }
            answer.begin(case.status, headers)?;
            for piece in body.chunks(case.answer_piece) {
                answer.piece(piece)?;
            }
            answer.end()
        })
        .unwrap();
        let host = server.at("").replace("http://", "");
        // Now with levers at work, now without: what has nothing to be changed is the same either way.
        let edits = EDITS.fetch_not(Ordering::Relaxed);
        let gate = Gate::with(&server.at(""), Given { edits, ..Given::default() }, |_| {});
        Self { gate, host, got, case, _server: server }
    }

    /// What was told of the exchange.
    fn told(&self) -> (Box<Begun>, Box<deadweight_gateway::exchange::Ended>) {
        let begun = loop {
            if let Event::Begun(begun) = self.gate.events.next_within(SOON).unwrap() {
                break begun;
            }
        };
        loop {
            if let Event::Ended(ended) = self.gate.events.next_within(SOON).unwrap() {
                assert_eq!(ended.id, begun.id);
                return (begun, ended);
            }
        }
    }

    fn check_told(&self, case: &Case, body: &[u8], answer: &[u8]) {
        let (begun, ended) = self.told();
        let whole = Copied { chunks: vec![body.to_vec().into()], length: body.len() as u64, whole: true };
        let receipt = Receipt::of(&begun.received, &begun.sent);
        assert_eq!(receipt.received, whole.sha256());
        assert_eq!(receipt.changed(), Some(false));
        assert_eq!(begun.received.length, body.len() as u64);
        assert_eq!((ended.end, ended.status), (End::Complete, Some(case.status)));
        assert_eq!(ended.answer_bytes, answer.len() as u64);
        if let Read::Body { body, .. } = ended.answer {
            assert_eq!(body.bytes().unwrap(), answer);
        }
    }
}

fn cases() -> u32 {
    std::env::var("DEADWEIGHT_BODIES").ok().and_then(|count| count.parse().ok()).unwrap_or(1000)
}

/// Runs the cases, on another gateway from time to time.
fn run(count: u32, one: impl Fn(&Rig, &Case)) {
    let config =
        Config { cases: count, failure_persistence: None, max_shrink_iters: 200, ..Config::default() };
    let rig = Mutex::new((Rig::new(), 0));
    let outcome = TestRunner::new(config).run(&case(), |case| {
        let mut rig = rig.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        rig.1 += 1;
        if rig.1 % 100 == 0 || rig.0.gate.events.try_next().is_some() {
            rig.0 = Rig::new();
        }
        *rig.0.case.lock().unwrap() = Some(case.clone());
        one(&rig.0, &case);
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

fn pieces(case: &Case, body: &[u8]) -> Vec<Vec<u8>> {
    if !case.chunked {
        return body.chunks(case.piece).map(<[u8]>::to_vec).collect();
    }
    let mut out: Vec<Vec<u8>> = body
        .chunks(case.piece)
        .map(|piece| [format!("{:X}\r\n", piece.len()).as_bytes(), piece, b"\r\n"].concat())
        .collect();
    out.push(b"0\r\n\r\n".to_vec());
    out
}

#[test]
fn bodies_over_http_1_are_the_same_on_both_sides() {
    let client: Mutex<Option<(std::net::SocketAddr, Client)>> = Mutex::new(None);
    run(cases(), |rig, case| {
        let body = bytes(case.seed, case.size);
        let mut kept = client.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        if kept.as_ref().is_none_or(|(address, _)| *address != rig.gate.address) {
            kept = Some((rig.gate.address, rig.gate.client()));
        }
        let (address, mut client_now) = kept.unwrap();
        let mut headers = vec![
            ("Host".to_owned(), "127.0.0.1:8787".to_owned()),
            ("X-Api-KEY".to_owned(), "k".to_owned()),
            ("content-TYPE".to_owned(), "application/json".to_owned()),
        ];
        headers.extend(ENCODINGS[case.encoding].map(|name| ("Content-Encoding".to_owned(), name.to_owned())));
        headers.push(if case.chunked {
            ("Transfer-Encoding".to_owned(), "chunked".to_owned())
        } else {
            ("Content-Length".to_owned(), body.len().to_string())
        });
        headers.push(("x-Last".to_owned(), format!("{:x}", case.seed)));
        let mut head = format!("POST {} HTTP/1.1\r\n", PATHS[case.path]);
        headers.iter().for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
        client_now.send(head.as_bytes());
        client_now.send(b"\r\n");
        for piece in pieces(case, &body) {
            client_now.send(&piece);
        }
        let answer = client_now.answer();
        let got = rig.got.recv_timeout(SOON).unwrap();
        headers[0].1.clone_from(&rig.host);
        assert_eq!(got.headers, headers);
        assert_eq!(got.path, PATHS[case.path].replace("/openai", ""));
        assert!(got.body == body, "a body of {} bytes changed", body.len());
        let expected = bytes(!case.seed, case.answer_size);
        assert_eq!(answer.status(), case.status);
        assert_eq!(answer.line, format!("HTTP/1.1 {} Scripted", case.status));
        assert_eq!((answer.header("content-type"), answer.whole), (Some(KINDS[case.answer_kind]), true));
        assert_eq!(answer.headers[1], ("X-Request-ID".to_owned(), "req_1".to_owned()));
        assert!(answer.body == expected, "an answer of {} bytes changed", expected.len());
        rig.check_told(case, &body, &expected);
        *client.lock().unwrap() = Some((address, client_now));
    });
}

#[test]
fn bodies_over_http_2_are_the_same_on_both_sides() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    run(cases() / 4, |rig, case| {
        let body = bytes(case.seed, case.size);
        let (status, answer) = runtime.block_on(async {
            let stream = tokio::net::TcpStream::connect(rig.gate.address).await.unwrap();
            let made = hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream));
            let (mut sender, connection) = made.await.unwrap();
            tokio::spawn(connection);
            let frames: Vec<_> = body
                .chunks(case.piece)
                .map(|piece| {
                    Ok::<_, std::convert::Infallible>(http_body::Frame::data(bytes::Bytes::copy_from_slice(
                        piece,
                    )))
                })
                .collect();
            let mut request = http::Request::post(format!("http://localhost{}", PATHS[case.path]))
                .header("x-api-key", "k")
                .body(StreamBody::new(futures_util::stream::iter(frames)))
                .unwrap();
            if !case.chunked {
                request.headers_mut().insert("content-length", body.len().into());
            }
            let response = sender.send_request(request).await.unwrap();
            let status = response.status().as_u16();
            (status, response.into_body().collect().await.unwrap().to_bytes())
        });
        let got = rig.got.recv_timeout(SOON).unwrap();
        assert!(got.body == body, "a body of {} bytes changed", body.len());
        assert_eq!(got.header("host"), Some(rig.host.as_str()));
        assert_eq!(got.header("x-api-key"), Some("k"));
        let expected = bytes(!case.seed, case.answer_size);
        assert_eq!(status, case.status);
        assert!(answer == expected, "an answer of {} bytes changed", expected.len());
        rig.check_told(case, &body, &expected);
    });
}

#[test]
fn large_bodies_pass_and_those_above_the_bound_are_not_measured() {
    let rig = Rig::new();
    let case = Case {
        seed: 7,
        path: 0,
        size: 0,
        chunked: false,
        piece: 1 << 20,
        encoding: 0,
        answer_size: 3,
        answer_chunked: false,
        answer_piece: 1,
        answer_kind: 0,
        status: 200,
    };
    *rig.case.lock().unwrap() = Some(case.clone());
    for (megabytes, chunked, measured) in
        [(32, false, true), (32, true, true), (50, true, false), (50, false, false)]
    {
        let body = bytes(megabytes, (megabytes as usize) << 20);
        let mut client = rig.gate.client();
        let framing = if chunked {
            "transfer-encoding: chunked".to_owned()
        } else {
            format!("content-length: {}", body.len())
        };
        client.send(format!("POST /v1/messages HTTP/1.1\r\nhost: localhost\r\n{framing}\r\n\r\n").as_bytes());
        for piece in pieces(&Case { chunked, ..case.clone() }, &body) {
            client.send(&piece);
        }
        assert_eq!(client.answer().status(), 200);
        assert!(rig.got.recv_timeout(SOON).unwrap().body == body, "a body of {megabytes} MB changed");
        let (begun, _) = rig.told();
        assert_eq!((begun.received.whole, begun.received.length), (measured, body.len() as u64));
        let whole = Copied { length: body.len() as u64, chunks: vec![body.into()], whole: true };
        let receipt = Receipt::of(&begun.received, &begun.sent);
        assert_eq!(receipt.received, measured.then(|| whole.sha256()).flatten());
        assert_eq!(begun.received.chunks.is_empty(), !measured);
    }
    assert_eq!(rig.gate.handle.counted().unmeasured.load(Ordering::Relaxed), 2);
}
