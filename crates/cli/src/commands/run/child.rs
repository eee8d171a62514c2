//! The agent as a process: it has the terminal, the signals and the last word.

use super::plan::Plan;
use crate::exit::Trouble;
use crate::target::file::system;
use rustix::process::{Pid, Signal, getpgrp, kill_process};
use std::ffi::OsString;
use std::future::poll_fn;
use std::io::ErrorKind;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};
use std::task::Poll;
use tokio::signal::unix::{Signal as Caught, SignalKind, signal};

/// An exit code for an agent that is not there, as shells have it.
const NOT_FOUND: i32 = 127;
/// One that is there and cannot be started.
const NOT_STARTED: i32 = 126;

/// Starts the agent as it is, without anything of ours, and waits for it.
pub(super) fn run_plain(words: &[OsString]) -> i32 {
    run(words, &[])
}

/// Starts the agent as planned, and waits for it.
pub(super) fn run_planned(plan: &Plan) -> i32 {
    run(&plan.words, &plan.set)
}

/// Its exit code; an agent that cannot be started is told of here.
fn run(words: &[OsString], set: &[(String, String)]) -> i32 {
    let Some((program, arguments)) = words.split_first() else { return NOT_FOUND };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let done = runtime.and_then(|runtime| {
        runtime.block_on(async {
            // Before it is started: what ends this process from then on ends the agent.
            let signals = Signals::new()?;
            // In this process's group, which the terminal belongs to and its keys signal.
            let child = Command::new(program)
                .args(arguments)
                .envs(set.iter().map(|(name, value)| (name, value)))
                .spawn()?;
            wait(child, signals).await
        })
    });
    match done {
        Ok(status) => status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)),
        Err(error) => {
            let program = program.to_string_lossy();
            let trouble = match error.kind() {
                ErrorKind::NotFound => Trouble::unmeasured(format!("there is no program `{program}`"))
                    .attempt("name it as the shell would find it: deadweight run -- claude"),
                _ => {
                    Trouble::unmeasured(format!("`{program}` cannot be started")).at("system", system(&error))
                }
            };
            trouble.print();
            if error.kind() == ErrorKind::NotFound { NOT_FOUND } else { NOT_STARTED }
        }
    }
}

/// What is handed on: all that would end this process if nobody caught it, where a process sends it to another; and the
/// size of the terminal. What stops and continues acts on both by itself, as keys of the terminal do.
const HANDED_ON: &[Signal] = &[
    Signal::INT,
    Signal::QUIT,
    Signal::TERM,
    Signal::HUP,
    Signal::USR1,
    Signal::USR2,
    Signal::ALARM,
    Signal::VTALARM,
    Signal::PROF,
    Signal::IO,
    Signal::WINCH,
    #[cfg(target_os = "linux")]
    Signal::POWER,
];

/// Signals that the terminal sends to all of its group itself.
const OF_TERMINAL: [Signal; 3] = [Signal::INT, Signal::QUIT, Signal::WINCH];

/// The signals that are caught.
struct Signals(Vec<(Signal, Caught)>);

impl Signals {
    fn new() -> std::io::Result<Self> {
        let ignored = ignored();
        let caught = HANDED_ON.iter().filter(|caught| ignored & (1 << (caught.as_raw() - 1)) == 0);
        caught
            .map(|&caught| Ok((caught, signal(SignalKind::from_raw(caught.as_raw()))?)))
            .collect::<std::io::Result<_>>()
            .map(Self)
    }

    async fn next(&mut self) -> Signal {
        poll_fn(|context| {
            for (signal, caught) in &mut self.0 {
                if caught.poll_recv(context).is_ready() {
                    return Poll::Ready(*signal);
                }
            }
            Poll::Pending
        })
        .await
    }
}

/// The signals that this process was started to ignore, as under `nohup`: a bit each. The agent ignores them too, as long
/// as nobody catches them here.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// Waits for the agent, and hands on to it what is sent to this process.
async fn wait(mut child: Child, mut signals: Signals) -> std::io::Result<ExitStatus> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let mut waiting = tokio::task::spawn_blocking(move || child.wait());
    loop {
        let signal = tokio::select! {
            done = &mut waiting => return done.map_err(std::io::Error::other)?,
            signal = signals.next() => signal,
        };
        // The terminal has signalled the agent already; twice is another thing to it than once.
        let of_terminal = OF_TERMINAL.contains(&signal) && in_foreground();
        if let Some(pid) = pid.filter(|_| !of_terminal) {
            let _ = kill_process(pid, signal);
        }
    }
}

/// Whether the terminal's keys signal this process's group.
fn in_foreground() -> bool {
    let Ok(terminal) = std::fs::File::open("/dev/tty") else { return false };
    rustix::termios::tcgetpgrp(&terminal).is_ok_and(|group| group == getpgrp())
}
