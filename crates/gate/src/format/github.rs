//! GitHub Actions workflow commands: one annotation a failed check, at the lock's line.

use super::{failed, place};
use crate::report::Report;
use deadweight_lock::Level;
use std::fmt::Write as _;

/// The report as workflow commands. `lock` is the lock's path as the repository has it.
pub fn github(report: &Report, lock: &str) -> String {
    let mut out = String::new();
    for check in failed(report) {
        let command = if check.level == Level::Error { "error" } else { "warning" };
        let name = check.reason.map_or("", |reason| reason.name());
        let title = place(&check.subject).map_or_else(|| name.to_owned(), |place| format!("{name} {place}"));
        let _ = writeln!(
            out,
            "::{command} file={},line={},title={}::{}",
            property(lock),
            check.line.unwrap_or(1),
            property(&title),
            data(&check.message)
        );
    }
    out
}

/// Escapes the data of a command: a line break would end it.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes a property: a colon or comma would end it as well.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
