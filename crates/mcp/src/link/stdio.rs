//! A server behind the standard streams of a process.

use crate::error::Reason;
use crate::group::{Exit, Group};
use crate::lines::Lines;
use crate::listing::{Anomaly, Options};
use crate::message::{Answer, Request};
use crate::meter::{Meter, Received};
#[cfg(feature = "proxy")]
use crate::spec::{ServerSpec, Transport};
use crate::tail::Tail;
use crate::text::{Folder, Text};
use bytes::Bytes;
use deadweight_wire::json::Parser;
use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

/// Messages that may wait to be written. A server that asks more than it reads gets no more answers.
const OUTBOX: usize = 1024;
/// How often a process that is silent is looked after.
const GLANCE: Duration = Duration::from_millis(100);
/// How long the output of a process that failed may stay open without a word (a child of it may hold it)
/// before its end is taken for the server's end.
const SILENCE_AFTER_FAILURE: Duration = Duration::from_secs(1);
/// How long a process may take to end after it closed its output.
const EXIT_AFTER_OUTPUT: Duration = Duration::from_secs(2);
/// How long the rest of standard error is waited for when the process has ended.
const REST_OF_STDERR: Duration = Duration::from_millis(500);
/// How long a process may take to end by itself when its input is closed.
const EXIT_AFTER_INPUT: Duration = Duration::from_millis(300);

/// A running server.
#[derive(Debug)]
pub(crate) struct StdioLink {
    group: Group,
    outbox: mpsc::Sender<Bytes>,
    stdout: ChildStdout,
    lines: Lines,
    parser: Parser,
    ended: bool,
    stderr: Tail,
    writer: JoinHandle<()>,
    stderr_reader: JoinHandle<()>,
    max_message_bytes: usize,
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
        let (group, stdin, stdout, stderr) = spawn_process(command, args, env, cwd)?;
        let (outbox, inbox) = mpsc::channel(OUTBOX);
        let tail = Tail::default();
        Ok(Self {
            group,
            outbox,
            stdout,
            lines: Lines::new(options.max_message_bytes),
            parser: Parser::new(),
            ended: false,
            stderr_reader: tokio::spawn(tail.clone().follow(stderr)),
            stderr: tail,
            writer: tokio::spawn(write(stdin, inbox)),
            max_message_bytes: options.max_message_bytes,
        })
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
        let mut silent_since_failure: Option<Instant> = None;
        loop {
            match self.lines.next() {
                Ok(Some(line)) => return Ok(line),
                Ok(None) if self.ended => {
                    if let Some(rest) = self.lines.rest() {
                        return Ok(rest);
                    }
                    return Err(self.end_of_output().await);
                }
                Ok(None) => {}
                Err(_) => return Err(Reason::MessageTooLarge { limit: self.max_message_bytes }),
            }
            tokio::select! {
                biased;
                read = self.stdout.read_buf(self.lines.buffer()) => match read {
                    Ok(0) | Err(_) => self.ended = true,
                    Ok(read) => {
                        silent_since_failure = None;
                        meter.received(read);
                    }
                },
                () = sleep(GLANCE) => match self.group.exit() {
                    None => {}
                    Some(Exit { code: Some(0), .. }) => meter.anomaly(Anomaly::LauncherEnded),
                    Some(exit) => {
                        let since = *silent_since_failure.get_or_insert_with(Instant::now);
                        if since.elapsed() >= SILENCE_AFTER_FAILURE {
                            self.rest_of_stderr().await;
                            return Err(Reason::Exited { code: exit.code, signal: exit.signal });
                        }
                    }
                },
            }
        }
    }

    /// Why the output ended.
    async fn end_of_output(&mut self) -> Reason {
        let until = Instant::now() + EXIT_AFTER_OUTPUT;
        let exit = loop {
            match self.group.exit() {
                Some(exit) => break Some(exit),
                None if Instant::now() >= until => break None,
                None => sleep(Duration::from_millis(5)).await,
            }
        };
        self.rest_of_stderr().await;
        exit.map_or(Reason::OutputClosed, |exit| Reason::Exited { code: exit.code, signal: exit.signal })
    }

    async fn rest_of_stderr(&mut self) {
        let _ = timeout(REST_OF_STDERR, &mut self.stderr_reader).await;
    }

    /// Ends the server and everything it started; what it last said on standard error is returned.
    pub(crate) async fn close(mut self, grace: Duration) -> Tail {
        // A server ends when its input does. Its output is read meanwhile, so that it can.
        let (outbox, _) = mpsc::channel(1);
        drop(std::mem::replace(&mut self.outbox, outbox));
        let until = Instant::now() + EXIT_AFTER_INPUT.min(grace);
        let mut sink = vec![0; 16 << 10];
        while self.group.exit().is_none() && Instant::now() < until {
            let pause = sleep(Duration::from_millis(5));
            if self.ended {
                pause.await;
                continue;
            }
            tokio::select! {
                read = self.stdout.read(&mut sink) => self.ended = !matches!(read, Ok(1..)),
                () = pause => {}
            }
        }
        let Self { group, stdout, writer, stderr, stderr_reader, .. } = self;
        writer.abort();
        drop(stdout);
        group.end(grace).await;
        stderr_reader.abort();
        stderr
    }
}

/// A process that was started, with its standard streams.
pub(crate) type Spawned = (Group, ChildStdin, ChildStdout, ChildStderr);

/// Starts the process of a server on stdio.
#[cfg(feature = "proxy")]
pub(crate) fn spawn(spec: &ServerSpec) -> Result<Spawned, Reason> {
    match &spec.transport {
        Transport::Stdio { command, args, env, cwd } => spawn_process(command, args, env, cwd.as_ref()),
        Transport::Http { .. } | Transport::Sse { .. } => {
            Err(Reason::NotStarted { detail: "it is no process".to_owned() })
        }
    }
}

fn spawn_process(
    command: &Text,
    args: &[Text],
    env: &[(String, Text)],
    cwd: Option<&Folder>,
) -> Result<Spawned, Reason> {
    let mut process = Command::new(command.reveal());
    process
        .args(args.iter().map(Text::reveal))
        .envs(env.iter().map(|(name, value)| (name, value.reveal())))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if let Some(cwd) = cwd {
        process.current_dir(cwd.reveal());
    }
    let mut group = Group::spawn(&mut process).map_err(|error| why_not(&error, command, cwd))?;
    let child = group.child();
    match (child.stdin.take(), child.stdout.take(), child.stderr.take()) {
        (Some(stdin), Some(stdout), Some(stderr)) => Ok((group, stdin, stdout, stderr)),
        _ => Err(Reason::NotStarted { detail: "its standard streams are missing".to_owned() }),
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

/// What kept a program from being started.
fn why_not(error: &io::Error, command: &Text, cwd: Option<&Folder>) -> Reason {
    let program = crate::harmless::line(command.shown());
    if let Some(cwd) = cwd.filter(|cwd| !cwd.reveal().is_dir()) {
        return Reason::NoWorkingDirectory { cwd: cwd.shown().to_owned() };
    }
    let path = Path::new(command.reveal());
    let is_path = path.components().count() > 1;
    match error.kind() {
        io::ErrorKind::NotFound if is_path && path.exists() => {
            Reason::NotStarted { detail: format!("`{program}` names an interpreter that is not there") }
        }
        io::ErrorKind::NotFound => Reason::ProgramNotFound { program },
        io::ErrorKind::PermissionDenied => Reason::ProgramNotExecutable { program },
        _ => Reason::NotStarted { detail: error.to_string() },
    }
}
