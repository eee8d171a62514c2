//! A report for other programs.

mod github;
mod junit;
mod markdown;
mod sarif;

pub use github::github;
pub use junit::junit;
pub use markdown::markdown;
pub use sarif::sarif;

use crate::report::{Check, Report, Subject};
use crate::words::shown;

/// Where a check stands, in words: the tool, server or file it is about.
fn place(subject: &Subject) -> Option<String> {
    match (&subject.server, &subject.name) {
        (Some(server), Some(name)) => Some(format!("{}/{}", shown(server), shown(name))),
        (Some(one), None) | (None, Some(one)) => Some(shown(one)),
        (None, None) => None,
    }
}

/// The checks that failed.
fn failed(report: &Report) -> impl Iterator<Item = &Check> {
    report.checks.iter().filter(|check| check.reason.is_some())
}

/// A number with its sign; a true minus, and nothing before 0.
fn signed(delta: i64) -> String {
    match delta {
        0 => "0".to_owned(),
        ..0 => format!("−{}", delta.unsigned_abs()),
        _ => format!("+{delta}"),
    }
}
