//! A server behind the standard streams of a process, with many requests under way at once.

use super::Reports;
use crate::error::Reason;
use crate::listing::Options;
use crate::outlet::{Outlet, Sink};
use crate::process::{Process, Start};
use crate::relay::port::{Event, FromServer};
use crate::spec::{ServerSpec, Transport};
use bytes::Bytes;
use std::io;
use std::time::Duration;
use tokio::net::unix::pipe;
use tokio::process::ChildStdin;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// How often a process that is silent is looked after.
const GLANCE: Duration = Duration::from_millis(250);

/// A running process.
#[derive(Debug)]
pub(crate) struct StdioLink {
    outlet: Outlet,
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
        let Transport::Stdio { command, args, env, cwd } = &spec.transport else {
            return Err(Reason::NotStarted { detail: "it is no process".to_owned() });
        };
        let max_message_bytes = options.max_message_bytes;
        let start = Start { command, args, env, cwd: cwd.as_ref(), max_message_bytes, glance: GLANCE };
        let (process, stdin) = Process::start(&start)?;
        let sink = sink(stdin).map_err(|error| Reason::NotStarted { detail: error.to_string() })?;
        let (outlet, writer) = Outlet::new(sink);
        let (end, told_to_end) = oneshot::channel();
        let secrets = spec.secrets().into_iter().map(str::to_owned).collect();
        let keeper = Keeper { process, writer, secrets, server, generation, reports };
        tokio::spawn(keeper.keep(told_to_end));
        Ok(Self { outlet, end })
    }

    /// Takes a message. That the process does not read is no error here: its end will be.
    pub(crate) fn send(&self, body: Bytes) {
        self.outlet.send(body);
    }

    /// Bytes taken and not yet written.
    pub(crate) fn queued(&self) -> usize {
        self.outlet.waiting()
    }

    /// Ends the process and everything it started.
    pub(crate) async fn close(self, grace: Duration) {
        let Self { outlet, end } = self;
        drop(outlet);
        let (done, ended) = oneshot::channel();
        if end.send((grace, done)).is_ok() {
            let _ = ended.await;
        }
    }
}

/// Reads what a process writes, and looks after the process.
struct Keeper {
    process: Process,
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
                self.writer.abort();
                // A server that still runs without an output is of no use to anybody.
                let secrets: Vec<&str> = self.secrets.iter().map(String::as_str).collect();
                let stderr = self.process.last_words().await.lines(&secrets);
                self.report(Event::Ended { reason, stderr }).await;
                told_to_end.await.ok()
            }
            Err(told) => told,
        };
        // What was sent before it is told to end is still written; then its input closes.
        let Self { process, writer, .. } = self;
        if let Some((grace, done)) = told {
            process.close(grace).await;
            let _ = done.send(());
        }
        writer.abort();
    }

    async fn report(&self, event: Event) -> bool {
        let report = FromServer { server: self.server, generation: self.generation, event };
        self.reports.send(report).await.is_ok()
    }

    /// Reports line after line; comes back with the reason when there are no more.
    async fn read(&mut self) -> Reason {
        loop {
            match self.process.line(|_| ()).await {
                Ok(line) if line.trim_ascii().is_empty() => {}
                Ok(bytes) => {
                    if !self.report(Event::Message { bytes, about: None, status: None }).await {
                        return Reason::OutputClosed;
                    }
                }
                Err(reason) => return reason,
            }
        }
    }
}

/// A process's standard input as something that can be written to without waiting.
fn sink(stdin: ChildStdin) -> io::Result<Sink> {
    Ok(Sink::Pipe(pipe::Sender::from_owned_fd(stdin.into_owned_fd()?)?))
}
