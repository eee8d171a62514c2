//! The way out to a process or to a client: a line goes straight into the pipe while nothing waits before it, and is queued
//! when the pipe is full. So a call costs no task that has to be woken, and nobody is ever waited for.

use bytes::Bytes;
use std::io::{self, IoSlice};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// Something that can be written to without waiting.
#[derive(Debug)]
pub(crate) enum Sink {
    /// A pipe.
    Pipe(pipe::Sender),
    /// One end of a socket pair, which some programs start others with.
    Socket(UnixStream),
}

impl Sink {
    fn try_write(&self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Self::Pipe(pipe) => pipe.try_write_vectored(slices),
            Self::Socket(socket) => socket.try_write_vectored(slices),
        }
    }

    /// Makes room for a line that a pipe of the usual size would pass on in dozens of pieces, each with a change to the
    /// reader and back. Where the system does not let us, it goes in pieces.
    #[cfg(target_os = "linux")]
    fn widen(&self) {
        if let Self::Pipe(pipe) = self {
            // As much as anybody may have: pipe(7), `/proc/sys/fs/pipe-max-size`.
            let _ = rustix::pipe::fcntl_setpipe_size(pipe, WIDE);
        }
    }

    #[cfg(not(target_os = "linux"))]
    const fn widen(&self) {}

    /// Writes a line, waiting where that is needed; whether it could be.
    async fn line(&self, body: &[u8]) -> bool {
        let mut rest = body;
        loop {
            match self.try_write(&[IoSlice::new(rest), IoSlice::new(b"\n")]) {
                Ok(written) if written > rest.len() => return true,
                Ok(0) => return false,
                Ok(written) => rest = rest.get(written..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let ready = match self {
                        Self::Pipe(pipe) => pipe.writable().await,
                        Self::Socket(socket) => socket.writable().await,
                    };
                    if ready.is_err() {
                        return false;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
    }
}

/// What a pipe holds when nobody asks for more: 16 pages, pipe(7).
const USUAL: usize = 64 << 10;
/// What it is made to hold for long lines.
#[cfg(target_os = "linux")]
const WIDE: usize = 1 << 20;

/// Lines on their way out. The writer ends, and lets go of what it writes to, when this is dropped and everything is written.
#[derive(Debug)]
pub(crate) struct Outlet {
    /// What is written to at once; none where only the writer can.
    sink: Option<Arc<Sink>>,
    queue: mpsc::UnboundedSender<Bytes>,
    waiting: Arc<AtomicUsize>,
    /// Whether room was made for long lines.
    wide: AtomicBool,
}

/// What a line counts while it waits: its end too, so that one of which only the end is missing still waits.
const fn weight(line: &Bytes) -> usize {
    line.len() + 1
}

impl Outlet {
    /// A way out, and the task that writes what has to wait; it ends early when nothing can be written any more.
    pub(crate) fn new(sink: Sink) -> (Self, JoinHandle<()>) {
        let sink = Arc::new(sink);
        let (queue, inbox) = mpsc::unbounded_channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let writer = tokio::spawn(drain(Arc::clone(&sink), inbox, Arc::clone(&waiting)));
        (Self { sink: Some(sink), queue, waiting, wide: AtomicBool::new(false) }, writer)
    }

    /// The same over something that can only be waited for.
    pub(crate) fn slow(to: impl AsyncWrite + Unpin + Send + 'static) -> (Self, JoinHandle<()>) {
        let (queue, inbox) = mpsc::unbounded_channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let writer = tokio::spawn(drain_slowly(to, inbox, Arc::clone(&waiting)));
        (Self { sink: None, queue, waiting, wide: AtomicBool::new(true) }, writer)
    }

    /// Takes a line. That it cannot be written is no error here: the writer ends over it.
    ///
    /// Only one task may send: a line that goes straight out must not overtake one that another task has just queued.
    pub(crate) fn send(&self, mut line: Bytes) {
        if line.len() >= USUAL
            && let Some(sink) = &self.sink
            && !self.wide.swap(true, Ordering::Relaxed)
        {
            sink.widen();
        }
        if self.waiting.load(Ordering::Acquire) == 0
            && let Some(sink) = &self.sink
            && let Ok(written) = sink.try_write(&[IoSlice::new(&line), IoSlice::new(b"\n")])
        {
            if written > line.len() {
                return;
            }
            line = line.slice(written..);
        }
        let weight = weight(&line);
        self.waiting.fetch_add(weight, Ordering::AcqRel);
        if self.queue.send(line).is_err() {
            self.waiting.fetch_sub(weight, Ordering::AcqRel);
        }
    }

    /// Bytes taken and not yet written.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Acquire)
    }

    /// The count of them, for whoever waits for the rest after this is dropped.
    pub(crate) fn gauge(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.waiting)
    }
}

async fn drain(sink: Arc<Sink>, mut inbox: mpsc::UnboundedReceiver<Bytes>, waiting: Arc<AtomicUsize>) {
    while let Some(line) = inbox.recv().await {
        let written = sink.line(&line).await;
        waiting.fetch_sub(weight(&line), Ordering::AcqRel);
        if !written {
            return drop_all(inbox, &waiting);
        }
    }
}

async fn drain_slowly(
    mut to: impl AsyncWrite + Unpin,
    mut inbox: mpsc::UnboundedReceiver<Bytes>,
    waiting: Arc<AtomicUsize>,
) {
    while let Some(line) = inbox.recv().await {
        let mut whole = line.to_vec();
        whole.push(b'\n');
        let written = to.write_all(&whole).await.is_ok() && to.flush().await.is_ok();
        waiting.fetch_sub(weight(&line), Ordering::AcqRel);
        if !written {
            return drop_all(inbox, &waiting);
        }
    }
}

/// The other side reads no more. It may still have something to say; what is sent to it is dropped.
fn drop_all(mut inbox: mpsc::UnboundedReceiver<Bytes>, waiting: &AtomicUsize) {
    inbox.close();
    while let Ok(line) = inbox.try_recv() {
        waiting.fetch_sub(weight(&line), Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;

    /// Lines of every size, more of them than a pipe holds, come out whole and in order whoever writes them.
    #[tokio::test]
    async fn lines_come_out_whole_and_in_order() {
        let (sender, mut receiver) = pipe::pipe().unwrap();
        let (one, mut other) = UnixStream::pair().unwrap();
        let lines: Vec<Bytes> =
            (0..400).map(|at: usize| Bytes::from(format!("{at}:{}", "x".repeat(at * 37 % 3_000)))).collect();
        let expected: Vec<u8> = lines.iter().flat_map(|line| [&line[..], b"\n"].concat()).collect();
        for (sink, from) in [
            (Sink::Pipe(sender), &mut receiver as &mut (dyn tokio::io::AsyncRead + Unpin)),
            (Sink::Socket(one), &mut other),
        ] {
            let (outlet, writer) = Outlet::new(sink);
            let mut read = Vec::new();
            for (at, line) in lines.iter().enumerate() {
                outlet.send(line.clone());
                // Now and then it is read, so that some lines go straight out and some have to wait.
                if at % 50 == 49 {
                    let mut some = vec![0; 40_000];
                    let count = from.read(&mut some).await.unwrap();
                    read.extend_from_slice(&some[..count]);
                    tokio::task::yield_now().await;
                }
            }
            assert!(outlet.waiting() > 0);
            let gauge = outlet.gauge();
            drop(outlet);
            from.read_to_end(&mut read).await.unwrap();
            writer.await.unwrap();
            assert_eq!(read, expected);
            assert_eq!(gauge.load(Ordering::Relaxed), 0);
        }
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_long_line_is_given_room_and_a_short_one_is_not() {
        let (sender, receiver) = pipe::pipe().unwrap();
        let (outlet, _writer) = Outlet::new(Sink::Pipe(sender));
        let room = || rustix::pipe::fcntl_getpipe_size(&receiver).unwrap();
        outlet.send(Bytes::from_static(b"short"));
        assert_eq!(room(), USUAL);
        // That there is room for the first line of all has to be heard from the system.
        while outlet.waiting() > 0 {
            tokio::task::yield_now().await;
        }
        outlet.send(Bytes::from(vec![b'x'; 900_000]));
        assert_eq!((room(), outlet.waiting()), (WIDE, 0));
    }

    #[tokio::test]
    async fn what_nobody_reads_any_more_ends_the_writer_and_does_not_pile_up() {
        let (sender, receiver) = pipe::pipe().unwrap();
        let (outlet, writer) = Outlet::new(Sink::Pipe(sender));
        drop(receiver);
        for _ in 0..3 {
            outlet.send(Bytes::from_static(b"lost"));
        }
        writer.await.unwrap();
        outlet.send(Bytes::from_static(b"lost"));
        assert_eq!(outlet.waiting(), 0);
    }
}
