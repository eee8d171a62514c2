//! A server that is a process: how it is started, read, seen to be over, and ended.

use crate::error::Reason;
use crate::group::{Exit, Group};
use crate::lines::Lines;
#[cfg(feature = "proxy")]
use crate::spec::{ServerSpec, Transport};
use crate::tail::Tail;
use crate::text::{Folder, Text};
use bytes::Bytes;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::process::{ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, sleep, timeout};

/// How long the output of a process that failed may stay open without a word (a child of it may hold it) before that is
/// taken for its end.
const SILENCE_AFTER_FAILURE: Duration = Duration::from_secs(1);
/// How long a process may take to end after it closed its output.
const EXIT_AFTER_OUTPUT: Duration = Duration::from_secs(2);
/// How long the rest of standard error is waited for when the process has ended.
const REST_OF_STDERR: Duration = Duration::from_millis(500);
/// How long a process may take to end by itself when its input is closed.
const EXIT_AFTER_INPUT: Duration = Duration::from_millis(300);

/// Variables of this program that hold a secret. No program that it starts is given one, unless a config says so in as many
/// words; another `deadweight` is, since what it asks on its part may want it.
pub const OWN_SECRETS: [&str; 2] = ["DEADWEIGHT_TOKEN", "DEADWEIGHT_CLIENT_SECRET"];

/// What a server is started with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Start<'a> {
    pub(crate) command: &'a Text,
    pub(crate) args: &'a [Text],
    pub(crate) env: &'a [(String, Text)],
    pub(crate) cwd: Option<&'a Folder>,
    /// The longest line that is read, in bytes.
    pub(crate) max_message_bytes: usize,
    /// How often it is looked after while it is silent.
    pub(crate) glance: Duration,
}

/// A running process and what it writes.
pub(crate) struct Process {
    group: Group,
    stdout: ChildStdout,
    /// Whether more may come on its output.
    open: bool,
    lines: Lines,
    max_message_bytes: usize,
    stderr: Tail,
    stderr_reader: JoinHandle<()>,
    glance: Interval,
    silent_since_failure: Option<Instant>,
}

impl fmt::Debug for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Process")
            .field("group", &self.group)
            .field("open", &self.open)
            .finish_non_exhaustive()
    }
}

/// What is noticed while a line is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Noticed {
    /// So many bytes came.
    Bytes(usize),
    /// The process has ended well, and left the work to what it started.
    LauncherEnded,
}

impl Process {
    /// Starts it, and gives its standard input.
    pub(crate) fn start(start: &Start<'_>) -> Result<(Self, ChildStdin), Reason> {
        let Start { command, args, env, cwd, max_message_bytes, glance } = *start;
        let mut process = Command::new(command.reveal());
        if !is_own_program(command, env, cwd) {
            for name in OWN_SECRETS {
                process.env_remove(name);
            }
        }
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
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(Reason::NotStarted { detail: "its standard streams are missing".to_owned() });
        };
        let tail = Tail::default();
        let mut glance = interval(glance);
        glance.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let process = Self {
            group,
            stdout,
            open: true,
            lines: Lines::new(max_message_bytes),
            max_message_bytes,
            stderr_reader: tokio::spawn(tail.clone().follow(stderr)),
            stderr: tail,
            glance,
            silent_since_failure: None,
        };
        Ok((process, stdin))
    }

    /// The next line of its output, or why there are no more. It can be left off: what was read is kept.
    pub(crate) async fn line(&mut self, mut notice: impl FnMut(Noticed)) -> Result<Bytes, Reason> {
        loop {
            match self.lines.next() {
                Ok(Some(line)) => return Ok(line),
                Ok(None) if self.open => {}
                Ok(None) => match self.lines.rest() {
                    Some(rest) => return Ok(rest),
                    None => return Err(self.end_of_output().await),
                },
                Err(_) => return Err(Reason::MessageTooLarge { limit: self.max_message_bytes }),
            }
            tokio::select! {
                biased;
                read = self.stdout.read_buf(self.lines.buffer()) => match read {
                    Ok(0) | Err(_) => self.open = false,
                    Ok(read) => {
                        self.silent_since_failure = None;
                        notice(Noticed::Bytes(read));
                    }
                },
                _ = self.glance.tick() => match self.group.exit() {
                    None => {}
                    // A launcher may end and leave the work to what it started.
                    Some(Exit { code: Some(0), .. }) => notice(Noticed::LauncherEnded),
                    Some(exit) => {
                        let since = *self.silent_since_failure.get_or_insert_with(Instant::now);
                        if since.elapsed() >= SILENCE_AFTER_FAILURE {
                            return Err(Reason::Exited { code: exit.code, signal: exit.signal });
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

    /// What a process that is over last wrote to standard error.
    pub(crate) async fn last_words(&mut self) -> &Tail {
        let _ = timeout(REST_OF_STDERR, &mut self.stderr_reader).await;
        &self.stderr
    }

    /// Ends the process, whose input is closed, and everything it started; what it last wrote to standard error is returned.
    pub(crate) async fn close(mut self, grace: Duration) -> Tail {
        // A server ends when its input does. Its output is read meanwhile, so that it can.
        let until = Instant::now() + EXIT_AFTER_INPUT.min(grace);
        let mut sink = vec![0; 16 << 10];
        while self.group.exit().is_none() && Instant::now() < until {
            let pause = sleep(Duration::from_millis(5));
            if !self.open {
                pause.await;
                continue;
            }
            tokio::select! {
                read = self.stdout.read(&mut sink) => self.open = matches!(read, Ok(1..)),
                () = pause => {}
            }
        }
        let Self { group, stdout, stderr, stderr_reader, .. } = self;
        drop(stdout);
        group.end(grace).await;
        stderr_reader.abort();
        stderr
    }
}

/// Where a program would be looked for.
fn places(command: &Text, env: &[(String, Text)], cwd: Option<&Folder>) -> Vec<PathBuf> {
    let path = Path::new(command.reveal());
    if path.components().count() > 1 {
        return vec![cwd.map_or_else(|| path.to_owned(), |cwd| cwd.reveal().join(path))];
    }
    let own = env.iter().rev().find(|(name, _)| name == "PATH").map(|(_, value)| value.reveal().into());
    let folders = own.or_else(|| std::env::var_os("PATH")).unwrap_or_default();
    std::env::split_paths(&folders).map(|folder| folder.join(path)).collect()
}

/// Whether a command is this very program.
fn is_own_program(command: &Text, env: &[(String, Text)], cwd: Option<&Folder>) -> bool {
    let Some(own) = std::env::current_exe().ok().and_then(|own| own.canonicalize().ok()) else {
        return false;
    };
    let first = places(command, env, cwd).into_iter().find(|place| place.is_file());
    first.and_then(|place| place.canonicalize().ok()).is_some_and(|place| place == own)
}

/// What would keep the program of a server from being started, as far as that can be seen without starting it.
#[cfg(feature = "proxy")]
pub(crate) fn obstacle(spec: &ServerSpec) -> Option<Reason> {
    let Transport::Stdio { command, env, cwd, .. } = &spec.transport else { return None };
    let missing = |error: io::ErrorKind| Some(why_not(&error.into(), command, cwd.as_ref()));
    if cwd.as_ref().is_some_and(|cwd| !cwd.reveal().is_dir()) {
        return missing(io::ErrorKind::NotFound);
    }
    let places = places(command, env, cwd.as_ref());
    let mut files = places.iter().filter(|place| place.is_file()).peekable();
    if files.peek().is_none() {
        return missing(io::ErrorKind::NotFound);
    }
    let runs = files.any(|file| rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok());
    if runs { None } else { missing(io::ErrorKind::PermissionDenied) }
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
