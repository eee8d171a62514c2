//! WebSockets: bytes both ways, and messages that are told.

use crate::common::{Gate, SOON};
use deadweight_gateway::exchange::{End, Event, Way};
use deadweight_testkit::raw_http::RawHttp;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};

const UPGRADE: &[u8] =
    b"GET /v1/responses HTTP/1.1\r\nHost: localhost\r\nConnection: keep-alive, Upgrade\r\n\
    Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
    Authorization: Bearer sk-1\r\n\r\n";

/// A provider that upgrades, keeps what it was asked, and sends back what it gets.
fn echoing() -> (String, std::thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let head = head(&mut stream);
        let answer = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
            Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";
        stream.write_all(answer).unwrap();
        let mut buffer = [0; 4096];
        loop {
            let count = stream.read(&mut buffer).unwrap();
            if count == 0 {
                break;
            }
            stream.write_all(&buffer[..count]).unwrap();
        }
        let _ = stream.shutdown(Shutdown::Both);
        head
    });
    (format!("http://{address}"), thread)
}

fn head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    String::from_utf8(head).unwrap()
}

#[test]
fn a_websocket_is_joined_and_its_messages_are_told() {
    let (upstream, provider) = echoing();
    let gate = Gate::to(&upstream);
    let mut client = gate.client();
    client.send(UPGRADE);
    let answer = client.head().unwrap();
    assert_eq!(answer.line, "HTTP/1.1 101 Switching Protocols");
    assert_eq!(answer.header("sec-websocket-accept"), Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
    assert_eq!(answer.header("upgrade"), Some("websocket"));
    // A text message of a client is masked.
    let text = b"{\"type\":\"response.create\"}";
    let mask = [7, 1, 200, 3];
    let mut frame = vec![0x81, 0x80 | text.len() as u8];
    frame.extend(mask);
    frame.extend(text.iter().enumerate().map(|(at, byte)| byte ^ mask[at % 4]));
    client.send(&frame);
    assert_eq!(client.exactly(frame.len()), frame, "bytes changed on the way");
    client.stream.shutdown(Shutdown::Write).unwrap();
    assert!(client.is_closed_within(SOON));
    let head = provider.join().unwrap();
    for line in [
        "GET /v1/responses HTTP/1.1",
        "Upgrade: websocket",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        "Authorization: Bearer sk-1",
    ] {
        assert!(head.contains(line), "{head}");
    }
    let mut ways = Vec::new();
    let ended = loop {
        match gate.events.next_within(SOON).unwrap() {
            Event::Frame(frame) => {
                assert_eq!(frame.text.bytes().unwrap(), &text[..]);
                ways.push(frame.way);
            }
            Event::Ended(ended) => break ended,
            Event::Begun(begun) => assert_eq!(begun.path, "/v1/responses"),
        }
    };
    assert_eq!(ways.len(), 2);
    assert!(ways.contains(&Way::Up) && ways.contains(&Way::Down));
    assert_eq!((ended.status, &ended.end), (Some(101), &End::Tunnel));
    let count = frame.len() as u64;
    let tunnel = ended.tunnel.unwrap();
    assert_eq!((tunnel.sent_bytes, tunnel.received_bytes), (count, count));
    assert_eq!((tunnel.sent_messages, tunnel.received_messages), (1, 1));
}

#[test]
fn a_provider_that_does_not_upgrade_answers_as_usual() {
    let server = RawHttp::start(|_, answer| answer.json(426, "{\"error\":\"no\"}")).unwrap();
    let gate = Gate::to(&server.at(""));
    let answer = gate.ask(UPGRADE);
    assert_eq!((answer.status(), answer.text().as_str()), (426, "{\"error\":\"no\"}"));
    assert_eq!(gate.ended().end, End::Complete);
}

#[test]
fn the_other_side_sees_that_one_side_is_gone() {
    let (upstream, provider) = echoing();
    let gate = Gate::to(&upstream);
    let mut client = gate.client();
    client.send(UPGRADE);
    client.head().unwrap();
    drop(client);
    provider.join().unwrap();
    assert_eq!(gate.ended().end, End::Tunnel);
}
