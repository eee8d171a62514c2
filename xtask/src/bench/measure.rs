//! Whole runs of a program, measured from outside.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::shell::answers;
use crate::{Context, Failure, Result};

/// The time from start to end of one run, which must succeed.
pub(super) fn time(command: &mut Command) -> Result<Duration> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let begun = Instant::now();
    let status = command.status()?;
    let took = begun.elapsed();
    if status.success() {
        Ok(took)
    } else {
        Err(Failure::new(format!("the measured program ended with {status}")))
    }
}

/// The most memory that one run held, in bytes, as the kernel counted it.
pub(super) fn peak_memory(command: &Command) -> Result<u64> {
    const TIME: &str = "/usr/bin/time";
    if !answers(TIME, &["--version"]) {
        return Err(Failure::new(
            "this bench needs GNU time at /usr/bin/time (Debian: apt-get install time)",
        ));
    }
    let told = std::env::temp_dir().join(format!("deadweight-time-{}", std::process::id()));
    let mut timed = Command::new(TIME);
    timed.args(["--format", "%M", "--output"]).arg(&told).arg(command.get_program()).args(command.get_args());
    time(&mut timed)?;
    let kibibytes: u64 =
        fs::read_to_string(&told)?.trim().parse().context("GNU time did not print a number")?;
    fs::remove_file(&told)?;
    Ok(kibibytes * 1024)
}

/// The value in the middle. Nothing has a median of zero.
pub(super) fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_whatever_the_order() {
        let times = [9, 1, 5].map(Duration::from_millis).to_vec();
        assert_eq!(median(times), Duration::from_millis(5));
    }

    #[test]
    fn a_program_that_fails_is_not_timed() {
        assert!(time(&mut Command::new("false")).is_err());
        assert!(time(&mut Command::new("true")).is_ok());
    }
}
