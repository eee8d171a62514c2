//! What the gateway holds: idle, with five hundred streams open, over a hundred thousand requests.

use super::load::{self, Load};
use super::peers::{Peer, Programs, Who, start};
use super::upstream::{HOLD, Upstream, chunk, head};
use super::verdict;
use crate::{Context, Failure, Result, print};

use std::io::{BufReader, Write};
use std::net::TcpStream;
use std::sync::Barrier;
use std::time::{Duration, Instant};

/// Bars, in bytes.
const IDLE: u64 = 40_000_000;
const OPEN: u64 = 150_000_000;
const STREAMS: usize = 500;
/// Over how many requests memory must not grow, and by how much it may differ between the first tenth and the end.
const LONG: usize = 100_000;
const GROWTH: u64 = 4 << 20;

pub(super) fn run(programs: &Programs) -> Result<bool> {
    let upstream = Upstream::start()?;
    let peer = start(Who::Deadweight, programs, upstream.address)?;
    let mut held = true;
    let mut hold = |words: String, holds: bool| {
        print(format_args!("{words}: {}", verdict(holds)));
        held &= holds;
    };
    let mb = |bytes: u64| bytes as f64 / 1e6;
    std::thread::sleep(Duration::from_millis(500));
    let idle = peer.resident();
    hold(format!("idle: {:.1} MB, at most {:.0}", mb(idle), mb(IDLE)), idle <= IDLE);
    let open = streams(&peer)?;
    hold(
        format!("{STREAMS} streams of 64 KB requests open: {:.1} MB, at most {:.0}", mb(open), mb(OPEN)),
        open <= OPEN,
    );
    let (early, late) = long(&peer, &upstream)?;
    let growth = late.saturating_sub(early);
    let words = format!(
        "{LONG} requests: {:.1} MB after the first tenth, {:.1} MB at the end; grown {:.1} MB, at most {:.1}",
        mb(early),
        mb(late),
        mb(growth),
        mb(GROWTH)
    );
    hold(words, growth <= GROWTH);
    Ok(held)
}

/// Opens the streams, and says what is held when all have begun.
fn streams(peer: &Peer) -> Result<u64> {
    let load = Load { name: "64 KB", bytes: 64 << 10, rate: 1.0, requests: STREAMS, streamed: true };
    let body = String::from_utf8(load::body(&load, 0)).context("a body is text")?;
    let body = body.replace(r#""max_tokens":4096"#, HOLD);
    let begun = Barrier::new(STREAMS + 1);
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..STREAMS)
            .map(|_| {
                scope.spawn(|| {
                    let asked = ask(peer, &body);
                    begun.wait();
                    let (mut stream, mut answer) = asked?;
                    while chunk(&mut stream, &mut answer)? > 0 {}
                    let whole = answer.windows(12).any(|window| window == b"message_stop");
                    whole.then_some(()).ok_or_else(|| Failure::new("a stream was cut"))
                })
            })
            .collect();
        begun.wait();
        let open = peer.resident();
        for one in all {
            one.join().map_err(|_| Failure::new("a stream's thread ended"))??;
        }
        Ok(open)
    })
}

/// Asks for a stream; the answer up to its first event.
fn ask(peer: &Peer, body: &str) -> Result<(BufReader<TcpStream>, Vec<u8>)> {
    let mut stream = TcpStream::connect(peer.door.address)?;
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    let (path, headers, length) = (&peer.door.path, &peer.door.headers, body.len());
    let head_text = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n{headers}content-length: {length}\r\n\r\n"
    );
    stream.write_all(head_text.as_bytes())?;
    stream.write_all(body.as_bytes())?;
    let mut stream = BufReader::with_capacity(4 << 10, stream);
    let head = head(&mut stream)?.unwrap_or_default();
    if !head.first().is_some_and(|line| line.contains(" 200")) {
        return Err(Failure::new(format!("a stream was answered with {head:?}")));
    }
    let mut answer = Vec::new();
    chunk(&mut stream, &mut answer)?;
    Ok((stream, answer))
}

/// Sends requests as fast as they are answered; the memory after the first tenth and at the end.
fn long(peer: &Peer, upstream: &Upstream) -> Result<(u64, u64)> {
    let send = |requests| {
        let load = Load { name: "long", bytes: 4 << 10, rate: 1e9, requests, streamed: false };
        let told = load::send(&peer.door, &load, upstream)?;
        if told.failed > 0 { Err(Failure::new(format!("{} were not answered", told.failed))) } else { Ok(()) }
    };
    send(LONG / 10)?;
    settle(peer);
    let early = peer.resident();
    send(LONG - LONG / 10)?;
    settle(peer);
    Ok((early, peer.resident()))
}

/// Waits until what has passed is measured and written: until no processor time is used any more.
fn settle(peer: &Peer) {
    let until = Instant::now() + Duration::from_secs(30);
    let mut before = peer.ticks();
    while Instant::now() < until {
        std::thread::sleep(Duration::from_millis(500));
        let now = peer.ticks();
        if now <= before + 1 {
            return;
        }
        before = now;
    }
}
