//! A server behind the standard streams of a process.

use crate::error::Reason;
use crate::listing::{Anomaly, Options};
use crate::message::{Answer, Request};
use crate::meter::{Meter, Received};
use crate::process::{Noticed, Process, Start};
use crate::tail::Tail;
use crate::text::{Folder, Text};
use bytes::Bytes;
use deadweight_wire::json::Parser;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::process::ChildStdin;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// Messages that may wait to be written. A server that asks more than it reads gets no more answers.
const OUTBOX: usize = 1024;
/// How often a process that is silent is looked after.
const GLANCE: Duration = Duration::from_millis(100);

/// A running server.
#[derive(Debug)]
pub(crate) struct StdioLink {
    process: Process,
    outbox: mpsc::Sender<Bytes>,
    parser: Parser,
    writer: JoinHandle<()>,
}

impl StdioLink {
    /// Starts the process.
    pub(crate) fn start(
        command: &Text,
        args: &[Text],
        env: &[(String, Text)],
        cwd: Option<&Folder>,
        options: &Options,
    ) -> Result<Self, Reason> {
        let max_message_bytes = options.max_message_bytes;
        let start = Start { command, args, env, cwd, max_message_bytes, glance: GLANCE };
        let (process, stdin) = Process::start(&start)?;
        let (outbox, inbox) = mpsc::channel(OUTBOX);
        Ok(Self { process, outbox, parser: Parser::new(), writer: tokio::spawn(write(stdin, inbox)) })
    }

    /// Sends a message. That the process does not read is no error here: its silence will be.
    pub(crate) fn send(&self, body: &Bytes) {
        let _ = self.outbox.try_send(body.clone());
    }

    /// Sends a request and reads until its answer.
    pub(crate) async fn exchange(&mut self, request: &Request, meter: &Meter<'_>) -> Result<Answer, Reason> {
        self.send(&request.body);
        loop {
            let line = self.line(meter).await?;
            let outbox = &self.outbox;
            let reply = |body: Bytes| drop(outbox.try_send(body));
            if let Some(answer) = super::sort(&mut self.parser, &line, request, meter, reply)? {
                return Ok(answer);
            }
        }
    }

    /// The next line of standard output.
    async fn line(&mut self, meter: &Meter<'_>) -> Result<Bytes, Reason> {
        let notice = |noticed| match noticed {
            Noticed::Bytes(bytes) => meter.received(bytes),
            Noticed::LauncherEnded => meter.anomaly(Anomaly::LauncherEnded),
        };
        let line = self.process.line(notice).await;
        if let Err(Reason::Exited { .. } | Reason::OutputClosed) = line {
            self.process.last_words().await;
        }
        line
    }

    /// Ends the server and everything it started; what it last said on standard error is returned.
    pub(crate) async fn close(self, grace: Duration) -> Tail {
        let Self { process, outbox, writer, .. } = self;
        drop(outbox);
        let stderr = process.close(grace).await;
        writer.abort();
        stderr
    }
}

/// Writes messages, one a line, until there are no more; then the process's input is closed.
async fn write(mut stdin: ChildStdin, mut inbox: mpsc::Receiver<Bytes>) {
    while let Some(body) = inbox.recv().await {
        let mut line = body.to_vec();
        line.push(b'\n');
        if stdin.write_all(&line).await.is_err() || stdin.flush().await.is_err() {
            // The process reads no more. It may still have something to say.
            return;
        }
    }
}
