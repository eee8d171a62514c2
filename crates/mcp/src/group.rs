//! Processes that are ended as a group: a server, and everything it started.
//!
//! Every server is the leader of a process group of its own, so that `npx` and the `node` behind it, or a
//! shell and what it runs, end together. A group ends in one of four ways: in good order ([`Group::end`]),
//! when its owner is dropped (killed at once), when this process is told to end ([`end_all`], which the
//! binary calls on a signal), or by itself. What leaves its group (a daemon that calls `setsid`) is out
//! of reach.

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process_group, test_kill_process_group, waitid,
};
use std::collections::BTreeSet;
use std::io;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use tokio::process::{Child, Command};

/// The groups that are alive, and whether new ones may still be started.
static ALIVE: Mutex<Alive> = Mutex::new(Alive { leaders: BTreeSet::new(), closed: false });

struct Alive {
    leaders: BTreeSet<i32>,
    closed: bool,
}

/// How long to wait for a process that was killed to be gone.
const AFTER_KILL: Duration = Duration::from_secs(2);

fn alive<R>(f: impl FnOnce(&mut Alive) -> R) -> R {
    f(&mut ALIVE.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exit {
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
}

/// A process that leads a group. Dropping it kills the group.
#[derive(Debug)]
pub(crate) struct Group {
    leader: Pid,
    child: Child,
    ended: bool,
}

impl Group {
    /// Starts `command` as the leader of a new group.
    pub(crate) fn spawn(command: &mut Command) -> io::Result<Self> {
        command.process_group(0).kill_on_drop(false);
        // Under the lock: `end_all` sees this group, or no group is started after it.
        alive(|alive| {
            if alive.closed {
                return Err(io::Error::new(io::ErrorKind::Interrupted, "this program is ending"));
            }
            let child = command.spawn()?;
            let id = child.id().and_then(|id| i32::try_from(id).ok());
            let leader = id.and_then(Pid::from_raw).ok_or_else(|| io::Error::other("no process id"))?;
            alive.leaders.insert(leader.as_raw_pid());
            Ok(Self { leader, child, ended: false })
        })
    }

    /// The leader, for its standard streams.
    pub(crate) const fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// How the leader ended, if it has. It is not reaped by this: as long as it is a zombie, the group's
    /// number cannot be given to anyone else, and signals go where they should.
    pub(crate) fn exit(&self) -> Option<Exit> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let status = waitid(WaitId::Pid(self.leader), options).ok()??;
        Some(Exit { code: status.exit_status(), signal: status.terminating_signal() })
    }

    /// Ends the group: SIGTERM, and after `grace` SIGKILL. Returns when no process of it is left (or, should
    /// the kernel hold one, a little later).
    pub(crate) async fn end(mut self, grace: Duration) {
        for (signal, patience) in [(Signal::TERM, grace), (Signal::KILL, AFTER_KILL)] {
            if !self.is_alive() {
                break;
            }
            // The only error is that nobody is left.
            let _ = kill_process_group(self.leader, signal);
            let until = Instant::now() + patience;
            let mut pause = Duration::from_millis(1);
            while self.is_alive() && Instant::now() < until {
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(Duration::from_millis(20));
            }
        }
        self.ended = true;
        alive(|alive| alive.leaders.remove(&self.leader.as_raw_pid()));
        let _ = tokio::time::timeout(Duration::from_millis(100), self.child.wait()).await;
    }

    fn is_alive(&self) -> bool {
        self.exit().is_none() || has_members(self.leader)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.ended {
            let _ = kill_process_group(self.leader, Signal::KILL);
            alive(|alive| alive.leaders.remove(&self.leader.as_raw_pid()));
        }
    }
}

/// Whether a process of the group is left that is more than a zombie.
fn has_members(leader: Pid) -> bool {
    if test_kill_process_group(leader).is_err() {
        return false;
    }
    // The test counts zombies, the unreaped leader among them. Where there is /proc, it tells.
    members(leader.as_raw_pid()).is_none_or(|members| !members.is_empty())
}

/// The processes of a group that are more than zombies, from /proc; `None` where there is none.
#[cfg(target_os = "linux")]
fn members(group: i32) -> Option<Vec<i32>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").ok()?.flatten() {
        let Some(id) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
        let Ok(stat) = std::fs::read(entry.path().join("stat")) else { continue };
        // `pid (name) state ppid pgrp …`; the name may hold anything, a parenthesis too.
        let after = stat.iter().rposition(|byte| *byte == b')').map_or(0, |at| at + 1);
        let fields = String::from_utf8_lossy(stat.get(after..).unwrap_or_default()).into_owned();
        let mut fields = fields.split_ascii_whitespace();
        let state = fields.next().unwrap_or_default();
        let own = fields.nth(1).and_then(|pgrp| pgrp.parse::<i32>().ok());
        if own == Some(group) && !matches!(state, "Z" | "X" | "x") {
            found.push(id);
        }
    }
    Some(found)
}

#[cfg(not(target_os = "linux"))]
fn members(_group: i32) -> Option<Vec<i32>> {
    None
}

/// Ends every server this process has started, each as a group: SIGTERM, then SIGKILL after `grace`. No
/// server can be started afterwards. Blocks for at most a little longer than `grace`; meant to be called
/// once, when the program is told to end.
pub fn end_all(grace: Duration) {
    let leaders: Vec<Pid> = alive(|alive| {
        alive.closed = true;
        alive.leaders.iter().filter_map(|leader| Pid::from_raw(*leader)).collect()
    });
    for leader in &leaders {
        let _ = kill_process_group(*leader, Signal::TERM);
    }
    let until = Instant::now() + grace;
    while leaders.iter().any(|leader| has_members(*leader)) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    for leader in &leaders {
        let _ = kill_process_group(*leader, Signal::KILL);
    }
}

/// Catches SIGINT, SIGTERM, SIGHUP and SIGQUIT from now on; what is returned waits until this process is told to
/// end by one of them, and gives the signal's number. The caller then calls [`end_all`] and exits with 128 + that
/// number. To be called in a tokio runtime, before the first server is started: a signal that comes between the two
/// would end this process and leave the server.
///
/// # Errors
///
/// When the operating system does not let signals be caught.
pub fn told_to_end() -> io::Result<impl Future<Output = i32>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    let mut quit = signal(SignalKind::quit())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => SignalKind::interrupt(),
            _ = terminate.recv() => SignalKind::terminate(),
            _ = hangup.recv() => SignalKind::hangup(),
            _ = quit.recv() => SignalKind::quit(),
        }
        .as_raw_value()
    })
}
