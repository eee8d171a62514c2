//! Which processes there are, so that a test can see that none is left behind.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

/// The processes whose command line holds `marker`, this one left out. Zombies have none and are not among them.
pub fn with(marker: &str) -> Vec<u32> {
    let own = std::process::id();
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|id| *id != own)
        .filter(|id| {
            let line = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains(marker)
        })
        .collect()
}

/// Waits until no process with `marker` is left; those that are left when the time is up.
pub fn left(marker: &str, time: Duration) -> Vec<u32> {
    let begun = Instant::now();
    loop {
        let left = with(marker);
        if left.is_empty() || begun.elapsed() > time {
            return left;
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// The memory that a process has resident now, in bytes; 0 when it is gone.
pub fn resident(id: u32) -> u64 {
    status(id, "VmRSS:")
}

/// The most memory that a process has had resident, in bytes; 0 when it is gone.
pub fn most_resident(id: u32) -> u64 {
    status(id, "VmHWM:")
}

fn status(id: u32, name: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    let kibibytes: u64 =
        line.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or_default();
    kibibytes * 1024
}

/// The processor time that a process has used, its own threads together, in ticks of a hundredth of a second.
pub fn ticks(id: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    // The name, in brackets, may hold spaces.
    let rest = text.rsplit_once(") ").map(|(_, rest)| rest).unwrap_or_default();
    rest.split(' ').skip(11).take(2).filter_map(|word| word.parse::<u64>().ok()).sum()
}

/// The processes that `id` started, and those that they started.
pub fn below(id: u32) -> Vec<u32> {
    let mut found = vec![id];
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        let Ok(threads) = fs::read_dir(format!("/proc/{parent}/task")) else {
            next += 1;
            continue;
        };
        for thread in threads.flatten() {
            let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
            found.extend(children.split_whitespace().filter_map(|word| word.parse::<u32>().ok()));
        }
        next += 1;
    }
    found.remove(0);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_process_is_seen_until_it_has_ended() {
        let mut child = Command::new("sh")
            .args(["-c", "read line # marked-by-this-test"])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        // Its command line is there a moment after it was started.
        let until = Instant::now() + Duration::from_secs(5);
        while with("marked-by-this-test") != [child.id()] {
            assert!(Instant::now() < until, "it is not seen");
        }
        assert!(below(std::process::id()).contains(&child.id()));
        assert!(resident(child.id()) > 0);
        drop(child.stdin.take());
        child.wait().unwrap();
        assert!(left("marked-by-this-test", Duration::from_secs(5)).is_empty());
    }
}
