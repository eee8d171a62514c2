//! Faults: whoever leaves, breaks off or says nothing is seen on the other side as what it is.

use crate::common::{Gate, SOON, eventually, get, post};
use deadweight_gateway::exchange::{Answer as Read, End};
use deadweight_gateway::relay::ANSWERED;
use deadweight_testkit::raw_http::RawHttp;
use std::net::{Shutdown, TcpListener};
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// How fast the other side must see that one side is gone.
const AT_ONCE: Duration = Duration::from_millis(1000);

#[test]
fn the_client_leaves_before_the_answer_and_the_provider_is_cut_off() {
    let (sender, seen) = mpsc::channel();
    let server = RawHttp::start(move |_, answer| {
        sender.send(None).unwrap();
        sender.send(Some(answer.is_left_within(SOON))).unwrap();
        answer.cut()
    })
    .unwrap();
    let gate = Gate::to(&server.at(""));
    let mut client = gate.client();
    client.send(&post("/v1/messages", &[], b"{\"a\":1}"));
    assert_eq!(seen.recv_timeout(SOON).unwrap(), None);
    let left = Instant::now();
    drop(client);
    assert_eq!(seen.recv_timeout(SOON).unwrap(), Some(true));
    assert!(left.elapsed() < AT_ONCE, "the provider saw it after {:?}", left.elapsed());
    let ended = gate.ended();
    assert_eq!((ended.end, ended.status), (End::ClientLeft, None));
}

#[test]
fn the_client_leaves_a_stream_and_what_was_used_is_booked() {
    let (sender, seen) = mpsc::channel();
    let server = RawHttp::start(move |_, answer| {
        answer.events(&[])?;
        answer.piece(
            b"event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":41}}}\n\n",
        )?;
        sender.send(answer.is_left_within(SOON)).unwrap();
        answer.cut()
    })
    .unwrap();
    let gate = Gate::to(&server.at(""));
    let mut client = gate.client();
    client.send(&post("/v1/messages", &[], b"{}"));
    client.head().unwrap();
    client.chunk().unwrap();
    let left = Instant::now();
    drop(client);
    assert!(seen.recv_timeout(SOON).unwrap());
    assert!(left.elapsed() < AT_ONCE, "the provider saw it after {:?}", left.elapsed());
    let ended = gate.ended();
    assert_eq!((ended.end, ended.status), (End::ClientLeft, Some(200)));
    let Read::Stream(outcome) = ended.answer else { panic!("{:?}", ended.answer) };
    assert_eq!(outcome.counters.input_uncached, Some(41));
    assert_eq!(outcome.end, deadweight_wire::usage::End::Truncated);
}

#[test]
fn the_client_leaves_in_the_middle_of_its_body() {
    let server = RawHttp::start(|_, answer| answer.json(200, "{}")).unwrap();
    let gate = Gate::to(&server.at(""));
    let mut client = gate.client();
    client.send(b"POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000\r\n\r\n{\"half\":");
    eventually("the exchange", || gate.handle.counted().open.load(Ordering::Relaxed) == 1);
    std::thread::sleep(Duration::from_millis(50));
    drop(client);
    let begun = gate.begun();
    assert!(!begun.received.whole);
    assert_eq!(gate.ended().end, End::ClientLeft);
    assert!(server.requests().is_empty(), "half a body was taken for a whole one");
}

#[test]
fn a_stream_that_is_cut_does_not_look_as_if_it_had_ended() {
    let server = RawHttp::start(|_, answer| {
        answer.events(&[])?;
        answer.piece(b"data: {\"a\":1}\n\n")?;
        answer.piece(b"data: {\"last\":1}\n\n")?;
        answer.cut()
    })
    .unwrap();
    let gate = Gate::to(&server.at(""));
    for _ in 0..10 {
        let answer = gate.ask(&post("/v1/messages", &[], b"{}"));
        assert!(!answer.whole, "a cut stream ended well");
        assert_eq!(
            answer.text(),
            "data: {\"a\":1}\n\ndata: {\"last\":1}\n\n",
            "what came before the cut is lost"
        );
        let ended = gate.ended();
        assert!(matches!(ended.end, End::UpstreamCut { .. }), "{:?}", ended.end);
    }
}

#[test]
fn a_body_that_is_shorter_than_it_says_is_cut() {
    let server = RawHttp::start(|_, answer| {
        answer.whole(200, &[("content-length", "100"), ("x-second", "1")], b"")?;
        answer.cut()
    })
    .unwrap();
    // The scripted server adds a second length, which makes the answer one that nobody can read.
    let gate = Gate::to(&server.at(""));
    let mut client = gate.client();
    client.send(&post("/v1/messages", &[], b"{}"));
    assert!(client.maybe().is_none_or(|answer| !answer.whole));
    assert!(matches!(gate.ended().end, End::UpstreamCut { .. }));
}

#[test]
fn a_provider_that_breaks_off_before_its_answer_breaks_the_clients_connection() {
    let server = RawHttp::start(|_, answer| answer.cut()).unwrap();
    let gate = Gate::to(&server.at(""));
    let mut client = gate.client();
    client.send(&post("/v1/messages", &[], b"{}"));
    assert_eq!(client.maybe(), None, "an answer was made up");
    let ended = gate.ended();
    assert!(matches!(ended.end, End::UpstreamCut { .. }) && ended.status.is_none(), "{ended:?}");
    assert_eq!(server.requests().len(), 1, "the request was sent again");
}

#[test]
fn a_kept_connection_that_the_provider_closed_is_not_used() {
    // The connection is closed after each answer, without a word.
    let server = RawHttp::start(|_, answer| {
        answer.json(200, "{}")?;
        answer.cut()
    })
    .unwrap();
    let gate = Gate::to(&server.at(""));
    let mut client = gate.client();
    for _ in 0..10 {
        client.send(&post("/v1/messages", &[], b"{}"));
        assert_eq!(client.answer().status(), 200);
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(server.requests().len(), 10);
}

#[test]
fn a_provider_that_says_nothing_is_waited_for() {
    let server = RawHttp::start(|_, answer| {
        std::thread::sleep(Duration::from_millis(700));
        answer.json(200, "{}")
    })
    .unwrap();
    let gate = Gate::to(&server.at(""));
    assert_eq!(gate.ask(&post("/v1/messages", &[], b"{}")).status(), 200);
    assert!(gate.ended().first_byte.unwrap() >= Duration::from_millis(700));
}

#[test]
fn a_time_to_wait_is_kept_where_one_is_set() {
    let server = RawHttp::start(|_, answer| answer.hang()).unwrap();
    let gate =
        Gate::start(&server.at(""), |config| config.limits.answer_time = Some(Duration::from_millis(200)));
    let answer = gate.ask(&post("/v1/chat/completions", &[], b"{}"));
    assert_eq!((answer.status(), answer.header(ANSWERED.as_str())), (504, Some("timed_out")));
    assert_eq!(gate.ended().end, End::TimedOut);
}

#[test]
fn a_provider_that_cannot_be_reached_is_a_502_in_its_own_shape() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let gate = Gate::to(&format!("http://{free}"));
    for (path, member) in [
        ("/v1/messages", "/error/message"),
        ("/v1/responses", "/error/message"),
        ("/v1beta/models/m:generateContent", "/error/message"),
    ] {
        let answer = gate.ask(&post(path, &[("x-api-key", "sk-secret")], b"{}"));
        assert_eq!((answer.status(), answer.header("x-deadweight-answer")), (502, Some("unreachable")));
        let body: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
        let text = body.pointer(member).and_then(serde_json::Value::as_str).unwrap();
        assert!(text.starts_with("deadweight gateway: ") && text.ends_with("Nothing was sent"), "{text}");
        let ended = gate.ended();
        assert!(matches!(ended.end, End::Unreachable { .. }), "{:?}", ended.end);
        assert_eq!(ended.status, Some(502));
    }
    let notes = format!("{:?}", gate.notes.lock().unwrap());
    assert!(notes.contains("unreachable") && !notes.contains("sk-secret"), "{notes}");
}

#[test]
fn a_provider_that_answers_before_the_body_is_done_is_heard() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = server.accept().unwrap();
        let mut buffer = [0; 1024];
        let _ = std::io::Read::read(&mut stream, &mut buffer);
        let answer = b"HTTP/1.1 413 Payload Too Large\r\ncontent-length: 5\r\nconnection: close\r\n\r\nlarge";
        std::io::Write::write_all(&mut stream, answer).unwrap();
        std::thread::sleep(Duration::from_millis(300));
        let _ = stream.shutdown(Shutdown::Both);
    });
    let gate = Gate::to(&format!("http://{address}"));
    let mut client = gate.client();
    client.send(b"POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100000\r\n\r\n{\"half\":");
    let answer = client.answer();
    assert_eq!((answer.status(), answer.text().as_str()), (413, "large"));
    let begun = gate.begun();
    assert!(!begun.received.whole);
    assert_eq!(gate.ended().end, End::Complete);
}

#[test]
fn what_nobody_takes_up_is_lost_and_holds_nothing_up() {
    let server = RawHttp::start(|_, answer| answer.json(200, "{}")).unwrap();
    let gate = Gate::to(&server.at(""));
    // Nobody takes events: they pile up to the bound, and requests pass.
    let mut client = gate.client();
    for _ in 0..200 {
        client.send(&get("/v1/messages", &[]));
        assert_eq!(client.answer().status(), 200);
    }
}
