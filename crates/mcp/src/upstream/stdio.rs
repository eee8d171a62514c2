//! A server behind the standard streams of a process, with many requests under way at once.

use super::Reports;
use crate::error::Reason;
use crate::group::{Exit, Group};
use crate::lines::Lines;
use crate::link::stdio::spawn;
use crate::listing::Options;
use crate::relay::port::{Event, FromServer};
use crate::spec::ServerSpec;
use crate::tail::Tail;
use bytes::Bytes;
use std::io::IoSlice;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout};

/// How often a process that is silent is looked after.
const GLANCE: Duration = Duration::from_millis(250);
/// How long the output of a process that failed may stay open without a word before that is taken for its end.
const SILENCE_AFTER_FAILURE: Duration = Duration::from_secs(1);
/// How long a process may take to end after it closed its output.
const EXIT_AFTER_OUTPUT: Duration = Duration::from_secs(2);
/// How long the rest of standard error is waited for when the process has ended.
const REST_OF_STDERR: Duration = Duration::from_millis(500);
/// How long a process may take to end by itself when its input is closed.
const EXIT_AFTER_INPUT: Duration = Duration::from_millis(300);

/// A running process.
#[derive(Debug)]
pub(crate) struct StdioLink {
    outbox: mpsc::UnboundedSender<Bytes>,
    queued: Arc<AtomicUsize>,
    /// Asks the keeper to end the process; when this is dropped, it kills it.
    end: oneshot::Sender<(Duration, oneshot::Sender<()>)>,
}

impl StdioLink {
    /// Starts the process.
    pub(crate) fn start(
        spec: &ServerSpec,
        options: &Options,
        server: usize,
        generation: u64,
        reports: Reports,
    ) -> Result<Self, Reason> {
        let (group, stdin, stdout, stderr) = spawn(spec)?;
        let (outbox, inbox) = mpsc::unbounded_channel();
        let (end, told_to_end) = oneshot::channel();
        let queued = Arc::new(AtomicUsize::new(0));
        let tail = Tail::default();
        let keeper = Keeper {
            group,
            stdout,
            lines: Lines::new(options.max_message_bytes),
            limit: options.max_message_bytes,
            stderr_reader: tokio::spawn(tail.clone().follow(stderr)),
            tail,
            writer: tokio::spawn(write(stdin, inbox, Arc::clone(&queued))),
            secrets: spec.secrets().into_iter().map(str::to_owned).collect(),
            server,
            generation,
            reports,
        };
        tokio::spawn(keeper.keep(told_to_end));
        Ok(Self { outbox, queued, end })
    }

    /// Takes a message. That the process does not read is no error here: its end will be.
    pub(crate) fn send(&self, body: &Bytes) {
        self.queued.fetch_add(body.len(), Ordering::Relaxed);
        let _ = self.outbox.send(body.clone());
    }

    /// Bytes taken and not yet written.
    pub(crate) fn queued(&self) -> usize {
        self.queued.load(Ordering::Relaxed)
    }

    /// Ends the process and everything it started.
    pub(crate) async fn close(self, grace: Duration) {
        let Self { outbox, end, .. } = self;
        drop(outbox);
        let (done, ended) = oneshot::channel();
        if end.send((grace, done)).is_ok() {
            let _ = ended.await;
        }
    }
}

/// Reads what a process writes, and looks after the process.
struct Keeper {
    group: Group,
    stdout: ChildStdout,
    lines: Lines,
    limit: usize,
    tail: Tail,
    stderr_reader: JoinHandle<()>,
    writer: JoinHandle<()>,
    secrets: Vec<String>,
    server: usize,
    generation: u64,
    reports: Reports,
}

impl Keeper {
    async fn keep(mut self, mut told_to_end: oneshot::Receiver<(Duration, oneshot::Sender<()>)>) {
        let over = tokio::select! {
            biased;
            told = &mut told_to_end => Err(told.ok()),
            reason = self.read() => Ok(reason),
        };
        let told = match over {
            Ok(reason) => {
                let reason = match reason {
                    Reason::OutputClosed => self.end_of_output().await,
                    other => other,
                };
                self.writer.abort();
                // A server that still runs without an output is of no use to anybody.
                let _ = timeout(REST_OF_STDERR, &mut self.stderr_reader).await;
                let secrets: Vec<&str> = self.secrets.iter().map(String::as_str).collect();
                let stderr = self.tail.lines(&secrets);
                let event = Event::Ended { reason, stderr };
                self.report(event).await;
                told_to_end.await.ok()
            }
            Err(told) => {
                if told.is_some() {
                    self.let_go().await;
                }
                told
            }
        };
        let Self { group, writer, stderr_reader, stdout, .. } = self;
        writer.abort();
        drop(stdout);
        if let Some((grace, done)) = told {
            group.end(grace).await;
            let _ = done.send(());
        }
        stderr_reader.abort();
    }

    async fn report(&self, event: Event) -> bool {
        let report = FromServer { server: self.server, generation: self.generation, event };
        self.reports.send(report).await.is_ok()
    }

    /// Reports line after line; comes back with the reason when there are no more.
    async fn read(&mut self) -> Reason {
        let mut silent_since_failure: Option<Instant> = None;
        let mut glance = interval(GLANCE);
        glance.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            loop {
                match self.lines.next() {
                    Ok(Some(line)) => {
                        if line.trim_ascii().is_empty() {
                            continue;
                        }
                        let event = Event::Message { bytes: line, about: None, status: None };
                        if !self.report(event).await {
                            return Reason::OutputClosed;
                        }
                    }
                    Ok(None) => break,
                    Err(_) => return Reason::MessageTooLarge { limit: self.limit },
                }
            }
            tokio::select! {
                biased;
                read = self.stdout.read_buf(self.lines.buffer()) => match read {
                    Ok(0) | Err(_) => {
                        if let Some(bytes) = self.lines.rest() {
                            self.report(Event::Message { bytes, about: None, status: None }).await;
                        }
                        return Reason::OutputClosed;
                    }
                    Ok(_) => silent_since_failure = None,
                },
                _ = glance.tick() => match self.group.exit() {
                    // A launcher may end and leave the work to what it started.
                    None | Some(Exit { code: Some(0), .. }) => {}
                    Some(exit) => {
                        let since = *silent_since_failure.get_or_insert_with(Instant::now);
                        if since.elapsed() >= SILENCE_AFTER_FAILURE {
                            return Reason::Exited { code: exit.code, signal: exit.signal };
                        }
                    }
                },
            }
        }
    }

    /// Why the output ended.
    async fn end_of_output(&self) -> Reason {
        let until = Instant::now() + EXIT_AFTER_OUTPUT;
        loop {
            match self.group.exit() {
                Some(exit) => return Reason::Exited { code: exit.code, signal: exit.signal },
                None if Instant::now() >= until => return Reason::OutputClosed,
                None => sleep(Duration::from_millis(5)).await,
            }
        }
    }

    /// A server ends when its input does. Its output is read meanwhile, so that it can.
    async fn let_go(&mut self) {
        // What was sent before is still written; then the input closes.
        let until = Instant::now() + EXIT_AFTER_INPUT;
        let mut sink = vec![0; 16 << 10];
        let mut open = true;
        while self.group.exit().is_none() && Instant::now() < until {
            let pause = sleep(Duration::from_millis(5));
            if !open {
                pause.await;
                continue;
            }
            tokio::select! {
                read = self.stdout.read(&mut sink) => open = matches!(read, Ok(1..)),
                () = pause => {}
            }
        }
    }
}

/// Writes messages, one a line, until there are no more; then the process's input is closed.
async fn write(mut stdin: ChildStdin, mut inbox: mpsc::UnboundedReceiver<Bytes>, queued: Arc<AtomicUsize>) {
    while let Some(body) = inbox.recv().await {
        let written = write_line(&mut stdin, &body).await;
        queued.fetch_sub(body.len(), Ordering::Relaxed);
        if !written {
            // The process reads no more. It may still have something to say; what is sent to it is dropped.
            inbox.close();
            while let Some(body) = inbox.recv().await {
                queued.fetch_sub(body.len(), Ordering::Relaxed);
            }
            return;
        }
    }
}

/// Writes a line, its end with its last bytes: one system call where the pipe takes it.
pub(crate) async fn write_line(to: &mut (impl tokio::io::AsyncWrite + Unpin), body: &[u8]) -> bool {
    let mut rest = body;
    loop {
        let slices = [IoSlice::new(rest), IoSlice::new(b"\n")];
        match to.write_vectored(&slices).await {
            Ok(0) | Err(_) => return false,
            Ok(written) if written > rest.len() => return to.flush().await.is_ok(),
            Ok(written) => rest = rest.get(written..).unwrap_or_default(),
        }
    }
}
