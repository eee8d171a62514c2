//! JUnit XML: one test case a check.

use super::place;
use crate::report::Report;
use deadweight_lock::Level;
use std::fmt::Write as _;

/// The report as JUnit XML. Warnings are passed cases with the warning as their output; what could not be
/// measured is an error, what is refused a failure.
pub fn junit(report: &Report) -> String {
    let error = |check: &&crate::Check| check.reason == Some(crate::Reason::Unmeasured);
    let failure =
        |check: &&crate::Check| check.reason.is_some() && check.level == Level::Error && !error(check);
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(
        out,
        "<testsuites><testsuite name=\"deadweight gate\" tests=\"{}\" failures=\"{}\" errors=\"{}\">",
        report.checks.len(),
        report.checks.iter().filter(failure).count(),
        report.checks.iter().filter(error).count(),
    );
    for check in &report.checks {
        let about = place(&check.subject).map_or_else(String::new, |place| format!(" {place}"));
        let name = format!("{}{about}", check.reason.map_or("holds", |reason| reason.name()));
        let head = format!(
            "  <testcase classname=\"deadweight.{}\" name=\"{}\"",
            check.surface.name(),
            escape(&name)
        );
        let message = escape(&check.message);
        let _ = match check.reason {
            Some(reason) if error(&check) => {
                writeln!(out, "{head}><error type=\"{reason}\" message=\"{message}\"/></testcase>")
            }
            Some(reason) if failure(&check) => {
                writeln!(out, "{head}><failure type=\"{reason}\" message=\"{message}\"/></testcase>")
            }
            Some(reason) => writeln!(out, "{head}><system-out>{reason}: {message}</system-out></testcase>"),
            None => writeln!(out, "{head}/>"),
        };
    }
    out.push_str("</testsuite></testsuites>\n");
    out
}

/// Text that XML 1.0 can hold: control characters are not among it, even escaped.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            '\n' | '\r' | '\t' => out.push(' '),
            '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
