//! The one client on our own standard streams.

use crate::lines::Lines;
use crate::outlet::{Outlet, Sink};
use crate::relay::port::FromClient;
use crate::session::{self, ClientQueue, ClientSource, Surroundings};
use rustix::fs::FileType;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// How long a client that has closed its side may leave the last messages to it lying without taking any of them.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Serves the client on standard input and output until its input ends; whether it said anything.
pub(crate) async fn serve(surroundings: Surroundings) -> io::Result<bool> {
    let (outlet, mut writer) = output();
    let gauge = outlet.gauge();
    let (gone, told) = oneshot::channel();
    let heard = Arc::new(AtomicBool::new(false));
    let source = LineSource {
        from: input(),
        lines: Lines::new(surroundings.options.max_message_bytes),
        heard: Arc::clone(&heard),
        gone: told,
        over: false,
    };
    let (source, queue) = (ClientSource::Lines(source), ClientQueue::Lines(outlet));
    let mut session = tokio::spawn(session::run(surroundings, source, queue));
    tokio::select! {
        _ = &mut session => last_words(writer, &gauge).await,
        // A client that does not read any more is gone: the session ends as if its input had been closed.
        _ = &mut writer => {
            let _ = gone.send(());
            let _ = session.await;
        }
    }
    Ok(heard.load(Ordering::Relaxed))
}

/// Waits until what was said last is written, as long as somebody takes it.
async fn last_words(mut writer: JoinHandle<()>, waiting: &AtomicUsize) {
    let mut left = usize::MAX;
    loop {
        let now = waiting.load(Ordering::Acquire);
        if now >= left || timeout(LAST_WORDS, &mut writer).await.is_ok() {
            return writer.abort();
        }
        left = now;
    }
}

/// Messages of a client, one a line.
pub(crate) struct LineSource {
    from: Box<dyn AsyncRead + Unpin + Send>,
    lines: Lines,
    /// Whether there was one.
    heard: Arc<AtomicBool>,
    /// Tells that there is nobody any more who could be answered.
    gone: oneshot::Receiver<()>,
    over: bool,
}

impl fmt::Debug for LineSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LineSource").field("over", &self.over).finish_non_exhaustive()
    }
}

impl LineSource {
    /// The next message; `None` when no more will come. It can be left off: what was read is kept.
    pub(crate) async fn next(&mut self) -> Option<FromClient> {
        loop {
            let line = match self.lines.next() {
                Ok(None) if self.over => self.lines.rest(),
                Ok(line) => line,
                // Nothing behind a line without an end can be made sense of.
                Err(_) => return None,
            };
            match line {
                Some(bytes) if bytes.trim_ascii().is_empty() => continue,
                Some(bytes) => {
                    self.heard.store(true, Ordering::Relaxed);
                    return Some(FromClient { bytes, headers: Vec::new() });
                }
                None if self.over => return None,
                None => {}
            }
            tokio::select! {
                biased;
                _ = &mut self.gone => return None,
                read = self.from.read_buf(self.lines.buffer()) => self.over = !matches!(read, Ok(1..)),
            }
        }
    }
}

/// Standard input, waited for by the event loop itself where it is a pipe or a socket: no thread stands in between.
fn input() -> Box<dyn AsyncRead + Unpin + Send> {
    fn direct() -> io::Result<Box<dyn AsyncRead + Unpin + Send>> {
        let owned = io::stdin().as_fd().try_clone_to_owned()?;
        Ok(match kind(&owned)? {
            FileType::Fifo => Box::new(pipe::Receiver::from_owned_fd(owned)?),
            FileType::Socket => Box::new(socket(owned)?),
            _ => return Err(io::ErrorKind::Unsupported.into()),
        })
    }
    direct().unwrap_or_else(|_| Box::new(tokio::io::stdin()))
}

/// Standard output in the same way, with the task that writes what has to wait.
fn output() -> (Outlet, JoinHandle<()>) {
    fn direct() -> io::Result<Sink> {
        let owned = io::stdout().as_fd().try_clone_to_owned()?;
        Ok(match kind(&owned)? {
            FileType::Fifo => Sink::Pipe(pipe::Sender::from_owned_fd(owned)?),
            FileType::Socket => Sink::Socket(socket(owned)?),
            _ => return Err(io::ErrorKind::Unsupported.into()),
        })
    }
    direct().map_or_else(|_| Outlet::slow(tokio::io::stdout()), Outlet::new)
}

fn kind(owned: &OwnedFd) -> io::Result<FileType> {
    Ok(FileType::from_raw_mode(rustix::fs::fstat(owned)?.st_mode))
}

fn socket(owned: OwnedFd) -> io::Result<UnixStream> {
    let stream = std::os::unix::net::UnixStream::from(owned);
    stream.set_nonblocking(true)?;
    UnixStream::from_std(stream)
}
