//! A connection that was upgraded: bytes both ways until both sides are done. The messages are followed on a copy.

use super::frames::Frames;
use super::passage::{Passage, Went};
use crate::exchange::{Answer, Copied, End, Event, Frame, Noted, Tunnelled, Unread, Way};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Bytes of a message that are kept for measuring.
const MESSAGE: usize = 8 << 20;

/// Bytes that are read at a time.
const BUFFER: usize = 16 << 10;

/// What is to be joined.
pub(crate) struct Tunnel {
    pub(crate) client: OnUpgrade,
    pub(crate) provider: OnUpgrade,
    pub(crate) passage: Arc<Passage>,
    pub(crate) headers: Noted,
    pub(crate) websocket: bool,
}

#[derive(Debug, Default)]
struct Count {
    bytes: AtomicU64,
    messages: AtomicU64,
}

impl Tunnel {
    /// Joins both sides until both are done, or one breaks.
    pub(crate) async fn run(self) {
        let began = Instant::now();
        let (up, down) = (Count::default(), Count::default());
        let end = Ending { tunnel: &self, up: &up, down: &down, began };
        if let (Ok(client), Ok(provider)) = (self.client.clone().await, self.provider.clone().await) {
            let (from_client, to_client) = tokio::io::split(TokioIo::new(client));
            let (from_provider, to_provider) = tokio::io::split(TokioIo::new(provider));
            let both = async {
                tokio::try_join!(
                    self.carry(Way::Up, from_client, to_provider, &up),
                    self.carry(Way::Down, from_provider, to_client, &down)
                )
            };
            let _ = both.await;
        }
        drop(end);
    }

    async fn carry(
        &self,
        way: Way,
        mut from: impl AsyncRead + Unpin,
        mut to: impl AsyncWrite + Unpin,
        count: &Count,
    ) -> io::Result<()> {
        let mut frames = self.websocket.then(|| Frames::new(MESSAGE));
        let mut buffer = vec![0; BUFFER];
        loop {
            let read = from.read(&mut buffer).await?;
            let piece = buffer.get(..read).unwrap_or_default();
            if piece.is_empty() {
                return to.shutdown().await;
            }
            to.write_all(piece).await?;
            to.flush().await?;
            count.bytes.fetch_add(read as u64, Ordering::Relaxed);
            if let Some(following) = &mut frames {
                let follow = || {
                    following.feed(piece, |message| {
                        count.messages.fetch_add(1, Ordering::Relaxed);
                        if message.is_text {
                            let whole = message.text.is_some();
                            let text = Copied {
                                chunks: message.text.into_iter().collect(),
                                length: message.length,
                                whole,
                            };
                            let (id, at, compressed) =
                                (self.passage.id, SystemTime::now(), message.compressed);
                            let frame = Frame { id, at, way, text, compressed };
                            self.passage.desk().sink.tell(Event::Frame(Box::new(frame)));
                        }
                    });
                };
                if catch_unwind(AssertUnwindSafe(follow)).is_err() {
                    frames = None;
                }
            }
        }
    }
}

/// Tells the end, also where nobody waits for the tunnel any more.
struct Ending<'t> {
    tunnel: &'t Tunnel,
    up: &'t Count,
    down: &'t Count,
    began: Instant,
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        let stopped = self.tunnel.passage.left() == End::Stopped;
        let got = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let went = Went {
            status: Some(101),
            first_byte: Some(self.began),
            answer_bytes: got(&self.down.bytes),
            answer: Answer::Unread(Unread::NotText),
            headers: self.tunnel.headers.clone(),
            tunnel: Some(Tunnelled {
                sent_bytes: got(&self.up.bytes),
                sent_messages: got(&self.up.messages),
                received_bytes: got(&self.down.bytes),
                received_messages: got(&self.down.messages),
            }),
        };
        self.tunnel.passage.end(if stopped { End::Stopped } else { End::Tunnel }, went);
    }
}
