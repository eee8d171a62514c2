//! A paced load: requests begin when their time has come, whether those before have been answered or not, and what a late
//! one takes counts from when it should have begun.

use super::upstream::{Upstream, chunk, head, read_body, sum, value};
use crate::{Failure, Result};

use std::io::{self, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A load.
#[derive(Debug, Clone, Copy)]
pub(super) struct Load {
    pub(super) name: &'static str,
    /// Bytes of a body.
    pub(super) bytes: usize,
    /// Requests a second.
    pub(super) rate: f64,
    /// How many there are.
    pub(super) requests: usize,
    pub(super) streamed: bool,
}

/// The loads that are held against bars, each with messages and with streams.
pub(super) const LOADS: [Load; 4] = [
    Load { name: "1 KB", bytes: 1 << 10, rate: 500.0, requests: 1_000, streamed: false },
    Load { name: "256 KB", bytes: 256 << 10, rate: 50.0, requests: 100, streamed: false },
    Load { name: "2 MB", bytes: 2 << 20, rate: 5.0, requests: 25, streamed: false },
    Load { name: "1 KB, streamed", bytes: 1 << 10, rate: 100.0, requests: 200, streamed: true },
];

/// Where requests are sent, and what they must look like there.
#[derive(Debug, Clone)]
pub(super) struct Door {
    pub(super) address: SocketAddr,
    pub(super) path: String,
    pub(super) headers: String,
}

/// What came of a load.
#[derive(Debug, Clone, Default)]
pub(super) struct Told {
    /// From the time at which a request should have begun to the end of its answer, sorted.
    pub(super) times: Vec<Duration>,
    /// From when an event was sent to when it arrived: the first of each stream, sorted.
    pub(super) first: Vec<Duration>,
    /// The same of all others, sorted.
    pub(super) later: Vec<Duration>,
    /// Whether all bodies arrived as they were sent.
    pub(super) unchanged: bool,
    /// How many were not answered with a 200.
    pub(super) failed: usize,
}

impl Told {
    pub(super) fn at(times: &[Duration], share: usize) -> Duration {
        times.get(times.len() * share / 100).copied().unwrap_or_default()
    }
}

/// A body of about so many bytes, in the shape of a coding agent's.
pub(super) fn body(load: &Load, number: usize) -> Vec<u8> {
    let (head, tail) = (
        format!(
            r#"{{"model":"claude-opus-4-8","max_tokens":4096,"stream":{},"system":[{{"type":"text","text":"You are an agent for measuring."}}],"tools":[{{"name":"read_file","description":"Reads a file.","input_schema":{{"type":"object","properties":{{"path":{{"type":"string"}}}}}}}}],"messages":[{{"role":"user","content":"request {number}"}}"#,
            load.streamed
        ),
        "]}",
    );
    let mut body = head.into_bytes();
    let mut turn = 0;
    while body.len() + tail.len() + 300 < load.bytes {
        let room = (load.bytes - body.len() - tail.len() - 200).min(4_000);
        let text: String = "fn main() {\\n    let value = \\\"text\\\"; // and more of it\\n}\\n"
            .chars()
            .cycle()
            .take(room)
            .collect();
        // A cut escape would be no JSON.
        let text = text.trim_end_matches('\\');
        let role = if turn % 2 == 0 { "assistant" } else { "user" };
        body.extend_from_slice(format!(r#",{{"role":"{role}","content":"{text}"}}"#).as_bytes());
        turn += 1;
    }
    if turn % 2 == 1 {
        body.extend_from_slice(br#",{"role":"user","content":"go on"}"#);
    }
    body.extend_from_slice(tail.as_bytes());
    body
}

/// How many connections send a load: enough that none waits for another's answer.
const LINES: usize = 16;

/// Sends a load through a door.
pub(super) fn send(door: &Door, load: &Load, upstream: &Upstream) -> Result<Told> {
    let _ = upstream.take_seen();
    let bodies: Vec<Vec<u8>> = (0..load.requests.min(16)).map(|number| body(load, number)).collect();
    let next = AtomicUsize::new(0);
    let told = Mutex::new(Told::default());
    let begun = Instant::now() + Duration::from_millis(20);
    std::thread::scope(|scope| {
        for _ in 0..LINES.min(load.requests) {
            scope.spawn(|| {
                let mut line = Line { door, stream: None };
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(body) = bodies.get(number % bodies.len()).filter(|_| number < load.requests)
                    else {
                        return;
                    };
                    let due = begun + Duration::from_secs_f64(number as f64 / load.rate);
                    std::thread::sleep(due.saturating_duration_since(Instant::now()));
                    let answer = line.ask(body, load.streamed, upstream.begun);
                    let took = due.elapsed();
                    let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
                    match answer {
                        Ok(Some(mut events)) => {
                            told.times.push(took);
                            if !events.is_empty() {
                                told.first.push(events.remove(0));
                            }
                            told.later.append(&mut events);
                        }
                        Ok(None) | Err(_) => {
                            line.stream = None;
                            told.failed += 1;
                        }
                    }
                }
            });
        }
    });
    let mut told = told.into_inner().unwrap_or_else(PoisonError::into_inner);
    let sent = (0..load.requests)
        .filter_map(|number| bodies.get(number % bodies.len()))
        .fold(0_u64, |all, body| all.wrapping_add(sum(body)));
    told.unchanged = told.failed == 0 && upstream.take_seen() == sent;
    if told.times.is_empty() {
        return Err(Failure::new("no request was answered"));
    }
    for times in [&mut told.times, &mut told.first, &mut told.later] {
        times.sort_unstable();
    }
    Ok(told)
}

/// A connection that is kept.
struct Line<'d> {
    door: &'d Door,
    stream: Option<BufReader<TcpStream>>,
}

impl Line<'_> {
    /// Asks, and reads the answer to its end: how late each event came; `None` for an answer that is not a 200.
    fn ask(&mut self, body: &[u8], streamed: bool, begun: Instant) -> io::Result<Option<Vec<Duration>>> {
        let stream = match &mut self.stream {
            Some(stream) => stream,
            empty => {
                let stream = TcpStream::connect(self.door.address)?;
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(Duration::from_secs(60)))?;
                empty.insert(BufReader::with_capacity(64 << 10, stream))
            }
        };
        let Door { path, headers, address } = self.door;
        let mut request = format!(
            "POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n{headers}content-length: {}\r\n\r\n",
            body.len()
        )
        .into_bytes();
        request.extend_from_slice(body);
        stream.get_mut().write_all(&request)?;
        let head = head(stream)?.ok_or_else(|| io::Error::other("the connection was closed"))?;
        let good = head.first().is_some_and(|line| line.contains(" 200"));
        let close = value(&head, "connection").is_some_and(|what| what.contains("close"));
        let mut answer = Vec::new();
        let mut late = Vec::new();
        if streamed && value(&head, "transfer-encoding").is_some() {
            let mut read = 0;
            while chunk(stream, &mut answer)? > 0 {
                let now = begun.elapsed();
                let fresh = answer.get(read..).unwrap_or_default();
                read = answer.len();
                late.extend(times(fresh).map(|sent| now.saturating_sub(sent)));
            }
        } else {
            read_body(stream, &head, &mut answer)?;
        }
        if close {
            self.stream = None;
        }
        Ok(good.then_some(late))
    }
}

/// The times in a piece of a stream.
fn times(piece: &[u8]) -> impl Iterator<Item = Duration> {
    piece
        .split(|byte| *byte == b'@')
        .skip(1)
        .step_by(2)
        .filter_map(|text| std::str::from_utf8(text).ok()?.parse().ok().map(Duration::from_micros))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_json_of_about_their_size() {
        for load in LOADS {
            let body = body(&load, 7);
            assert!(body.len() <= load.bytes && body.len() * 2 > load.bytes, "{} {}", load.name, body.len());
            let json: serde_json::Value = serde_json::from_slice(&body).unwrap();
            assert_eq!(json["stream"], load.streamed);
            let last = json["messages"].as_array().unwrap().last().unwrap();
            assert_eq!(last["role"], "user");
        }
    }

    #[test]
    fn a_load_arrives_unchanged_and_its_events_are_timed() {
        let upstream = Upstream::start().unwrap();
        let door =
            Door { address: upstream.address, path: "/v1/messages".to_owned(), headers: String::new() };
        for streamed in [false, true] {
            let load = Load { name: "t", bytes: 2_000, rate: 200.0, requests: 20, streamed };
            let told = send(&door, &load, &upstream).unwrap();
            assert_eq!((told.times.len(), told.failed, told.unchanged), (20, 0, true));
            assert_eq!(told.first.len(), if streamed { 20 } else { 0 });
            assert_eq!(
                told.later.len(),
                if streamed { 20 * (super::super::upstream::EVENTS - 1) } else { 0 }
            );
        }
    }
}
