//! A provider that costs as little as one can: it reads a request, and answers with a message or a stream of events whose
//! times it writes into them.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How many events a stream has.
pub(super) const EVENTS: usize = 20;
/// How far they are apart.
const PACE: Duration = Duration::from_millis(5);
/// The same for a request that is to be held open.
const SLOW: Duration = Duration::from_millis(400);
/// What a request says that is to be held open.
pub(super) const HOLD: &str = r#""max_tokens":4097"#;

/// The provider.
pub(super) struct Upstream {
    pub(super) address: SocketAddr,
    /// When it began: the times in its events count from here, in microseconds.
    pub(super) begun: Instant,
    /// The sum over all bodies that came, so that one that was changed on its way shows.
    seen: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
}

impl Upstream {
    pub(super) fn start() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let begun = Instant::now();
        let (seen, over) = (Arc::<AtomicU64>::default(), Arc::<AtomicBool>::default());
        let (of_thread, ends) = (Arc::clone(&seen), Arc::clone(&over));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if ends.load(Ordering::Relaxed) {
                    return;
                }
                let seen = Arc::clone(&of_thread);
                // A proxy that closes its connection ends the thread.
                std::thread::spawn(move || serve(&stream, begun, &seen).is_ok());
            }
        });
        Ok(Self { address, begun, seen, over })
    }

    /// What has come since this was asked last: a sum that depends on every byte of every body, in any order of bodies.
    pub(super) fn take_seen(&self) -> u64 {
        self.seen.swap(0, Ordering::Relaxed)
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address);
    }
}

/// The sum of one body (FNV-1a over its words and the rest).
pub(super) fn sum(body: &[u8]) -> u64 {
    let mut sum: u64 = 0xcbf2_9ce4_8422_2325;
    let (words, rest) = body.as_chunks::<8>();
    for word in words {
        sum = (sum ^ u64::from_le_bytes(*word)).wrapping_mul(0x0100_0000_01b3);
    }
    rest.iter().fold(sum, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

fn serve(stream: &TcpStream, begun: Instant, seen: &AtomicU64) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::with_capacity(64 << 10, stream);
    let mut writer = stream;
    let mut body = Vec::new();
    while let Some(head) = head(&mut reader)? {
        read_body(&mut reader, &head, &mut body)?;
        seen.fetch_add(sum(&body), Ordering::Relaxed);
        // Proxies add members of their own; where it stands says nothing.
        if find(&body, b"\"stream\":true") || find(&body, b"\"stream\": true") {
            let pace = if find(&body, HOLD.as_bytes()) { SLOW } else { PACE };
            stream_of_events(&mut writer, begun, pace)?;
        } else {
            let text = r#"{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-4-8","content":[{"type":"text","text":"done"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":12,"cache_read_input_tokens":20000,"cache_creation_input_tokens":300,"output_tokens":4}}"#;
            let length = text.len();
            writer.write_all(
                format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{text}")
                    .as_bytes(),
            )?;
        }
    }
    Ok(())
}

fn find(body: &[u8], part: &[u8]) -> bool {
    // It stands at the beginning or the end.
    let edge = 512.min(body.len());
    let ends = [body.get(..edge), body.get(body.len() - edge..)];
    ends.into_iter().flatten().any(|text| text.windows(part.len()).any(|window| window == part))
}

/// The lines of a head, in lower case; none at the end of the connection.
pub(super) fn head(reader: &mut impl BufRead) -> io::Result<Option<Vec<String>>> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let line = line.trim_end().to_ascii_lowercase();
        if line.is_empty() {
            return Ok(Some(lines));
        }
        lines.push(line);
    }
}

pub(super) fn value<'l>(head: &'l [String], name: &str) -> Option<&'l str> {
    head.iter().find_map(|line| line.strip_prefix(name)?.strip_prefix(':').map(str::trim))
}

pub(super) fn read_body(reader: &mut impl BufRead, head: &[String], body: &mut Vec<u8>) -> io::Result<()> {
    body.clear();
    if let Some(length) = value(head, "content-length").and_then(|length| length.parse().ok()) {
        body.resize(length, 0);
        return reader.read_exact(body);
    }
    if value(head, "transfer-encoding").is_some_and(|coding| coding.contains("chunked")) {
        while chunk(reader, body)? > 0 {}
    }
    Ok(())
}

/// Reads one chunk; its length.
pub(super) fn chunk(reader: &mut impl BufRead, into: &mut Vec<u8>) -> io::Result<usize> {
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let length = usize::from_str_radix(line.trim().split(';').next().unwrap_or_default(), 16)
        .map_err(|_| io::Error::other("a chunk without its length"))?;
    let begin = into.len();
    into.resize(begin + length, 0);
    reader.read_exact(into.get_mut(begin..).unwrap_or_default())?;
    line.clear();
    reader.read_line(&mut line)?;
    Ok(length)
}

fn stream_of_events(writer: &mut impl Write, begun: Instant, pace: Duration) -> io::Result<()> {
    let piece = |text: &str| format!("{:x}\r\n{text}\r\n", text.len());
    let start = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"claude-opus-4-8\",\"content\":[],\"stop_reason\":null,\"usage\":{\"input_tokens\":12,\"cache_read_input_tokens\":20000,\"cache_creation_input_tokens\":300,\"output_tokens\":1}}}\n\nevent: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n";
    writer.write_all(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n",
    )?;
    writer.write_all(piece(start).as_bytes())?;
    for number in 0..EVENTS {
        if number > 0 {
            std::thread::sleep(pace);
        }
        let now = begun.elapsed().as_micros();
        let event = format!(
            "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":\"@{now}@\"}}}}\n\n"
        );
        writer.write_all(piece(&event).as_bytes())?;
    }
    let end = "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\nevent: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\",\"stop_sequence\":null},\"usage\":{\"output_tokens\":20}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
    writer.write_all(piece(end).as_bytes())?;
    writer.write_all(b"0\r\n\r\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_byte_changes_the_sum() {
        let body = b"0123456789abcdef0123".to_vec();
        for at in 0..body.len() {
            let mut other = body.clone();
            other[at] ^= 1;
            assert_ne!(sum(&body), sum(&other), "{at}");
        }
    }

    #[test]
    fn chunks_are_put_together() {
        let mut reader = &b"3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n"[..];
        let mut body = Vec::new();
        read_body(&mut reader, &["transfer-encoding: chunked".to_owned()], &mut body).unwrap();
        assert_eq!(body, b"abcde");
    }
}
