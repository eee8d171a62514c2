//! The chores behind `cargo xtask`, as a library so that the project's slower tests can use them too.

use std::fmt;
use std::time::Duration;

pub mod bench;
pub mod ci;
pub mod conformance;
pub mod fixtures;
pub mod fuzz;
pub mod place;
pub mod provision;
pub mod scorecard;
pub mod shell;
pub mod soak;
pub mod test;
pub mod tools;

/// The outcome of a chore.
pub type Result<T = ()> = std::result::Result<T, Failure>;

/// Why a chore could not be done, in words for the person who started it.
#[derive(Debug)]
pub struct Failure(String);

impl Failure {
    /// A failure with this message.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        let mut message = error.to_string();
        let mut source = error.source();
        while let Some(inner) = source {
            message.push_str(": ");
            message.push_str(&inner.to_string());
            source = inner.source();
        }
        Self(message)
    }
}

/// Adds what was being done to an error.
pub trait Context<T> {
    /// Puts `what` before the error's own text.
    ///
    /// # Errors
    ///
    /// The same as before, with more words.
    fn context(self, what: impl fmt::Display) -> Result<T>;
}

impl<T, E: Into<Failure>> Context<T> for std::result::Result<T, E> {
    fn context(self, what: impl fmt::Display) -> Result<T> {
        self.map_err(|error| Failure(format!("{what}: {}", error.into())))
    }
}

/// Tells the person something, on stderr: stdout belongs to results.
#[expect(clippy::print_stderr, reason = "a chore talks to the person who started it")]
pub fn say(line: impl fmt::Display) {
    eprintln!("{line}");
}

/// Prints a result, on stdout.
#[expect(clippy::print_stdout, reason = "a chore's results go to stdout")]
pub fn print(line: impl fmt::Display) {
    println!("{line}");
}

/// A length of time for people: `820 ms`, `12.4 s`, `3 min 05 s`.
pub fn length(time: Duration) -> String {
    let seconds = time.as_secs();
    match (time.as_millis(), seconds) {
        (millis @ 0..1_000, _) => format!("{millis} ms"),
        (_, 0..60) => format!("{:.1} s", time.as_secs_f64()),
        _ => format!("{} min {:02} s", seconds / 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_of_time_is_written_in_the_unit_that_fits() {
        assert_eq!(length(Duration::from_millis(999)), "999 ms");
        assert_eq!(length(Duration::from_millis(12_440)), "12.4 s");
        assert_eq!(length(Duration::from_secs(185)), "3 min 05 s");
    }

    #[test]
    fn a_failure_tells_what_was_being_done_and_every_cause() {
        let failure = std::fs::read("/no/such/file").map(drop).context("reading the seeds");
        assert_eq!(
            failure.map_err(|failure| failure.to_string()),
            Err("reading the seeds: No such file or directory (os error 2)".to_owned())
        );
    }
}
