//! The end of what a server writes to standard error, in bounded memory.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncRead, AsyncReadExt};

/// Bytes kept.
const KEPT: usize = 16 << 10;
/// Lines shown, and characters of each.
const LINES: usize = 8;
const LINE_LENGTH: usize = 300;

/// A shared ring of the last bytes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tail(Arc<Mutex<VecDeque<u8>>>);

impl Tail {
    fn push(&self, bytes: &[u8]) {
        let mut ring = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let bytes = bytes.get(bytes.len().saturating_sub(KEPT)..).unwrap_or_default();
        let excess = (ring.len() + bytes.len()).saturating_sub(KEPT);
        ring.drain(..excess);
        ring.extend(bytes);
    }

    /// Reads `stream` to its end.
    pub(crate) async fn follow(self, mut stream: impl AsyncRead + Unpin) {
        let mut buffer = vec![0; 8 << 10];
        while let Ok(read @ 1..) = stream.read(&mut buffer).await {
            self.push(buffer.get(..read).unwrap_or_default());
        }
    }

    /// The last lines that say something, harmless to print: blank ones and frames of stack traces are
    /// left out, and so are `secrets`.
    pub(crate) fn lines(&self, secrets: &[&str]) -> Vec<String> {
        let mut ring = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let whole = ring.len() < KEPT;
        let text = String::from_utf8_lossy(ring.make_contiguous()).into_owned();
        drop(ring);
        let text = crate::redact::scrub(&text, secrets);
        let mut lines: Vec<&str> = text.lines().collect();
        if !whole && lines.len() > 1 {
            // The first line has lost its beginning.
            lines.remove(0);
        }
        let telling = |line: &&str| {
            let line = line.trim();
            !line.is_empty() && !line.starts_with("at ") && !line.chars().all(|c| "^~ ".contains(c))
        };
        let telling: Vec<&str> = lines.into_iter().filter(telling).collect();
        telling
            .iter()
            .skip(telling.len().saturating_sub(LINES))
            .map(|line| crate::harmless::excerpt(line.trim_end().as_bytes(), LINE_LENGTH))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_end_and_what_tells() {
        let tail = Tail::default();
        for index in 0..10_000 {
            tail.push(format!("line {index}\n").as_bytes());
        }
        assert_eq!(tail.lines(&[]).last().map(String::as_str), Some("line 9999"));
        assert_eq!(tail.lines(&[]).len(), LINES);
        let tail = Tail::default();
        tail.push(b"\n/x.js:3\n    ^\n\n\x1b[31mError: no s3cret-token\x1b[0m\n    at f (x.js)\n    at g\n");
        assert_eq!(tail.lines(&["s3cret-token"]), ["/x.js:3", "Error: no …"]);
    }

    #[test]
    fn one_endless_line_is_bounded() {
        let tail = Tail::default();
        tail.push(&vec![b'x'; 1 << 20]);
        assert_eq!(tail.lines(&[]), ["x".repeat(LINE_LENGTH) + "…"]);
    }
}
