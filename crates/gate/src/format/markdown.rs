//! Markdown: for a step summary or a comment.

use super::{failed, place, signed};
use crate::report::{Movement, Report, Status, Verdict};
use crate::words::shown;
use std::fmt::Write as _;

/// How many rows of each table are written out: a step summary may have 1 MiB, a comment 64 KB.
const ROWS: usize = 30;

/// The report as Markdown. `fix` is the command that accepts what was measured.
pub fn markdown(report: &Report, fix: Option<&str>) -> String {
    let mut out = String::new();
    let title = match report.verdict {
        Verdict::Holds => "deadweight: the budget holds",
        Verdict::Refused => "deadweight: refused",
        Verdict::Unmeasured => "deadweight: could not measure",
    };
    let _ = writeln!(out, "### {title}\n");
    if report.checks.iter().any(|check| check.measured.is_some() || check.reason.is_some()) {
        out.push_str("| check | level | about | now | allowed | delta |\n|---|---|---|--:|--:|--:|\n");
        let number = |number: Option<u64>| number.map_or("—".to_owned(), |number| number.to_string());
        for check in report.checks.iter().take(ROWS) {
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} | {} | {} |",
                check.reason.map_or("holds", |reason| reason.name()),
                check.reason.map_or("", |_| check.level.name()),
                place(&check.subject).map_or_else(|| check.surface.name().to_owned(), |place| code(&place)),
                number(check.measured),
                number(check.budget),
                check.delta.map_or("—".to_owned(), signed),
            );
        }
        out.push('\n');
    }
    for check in failed(report).take(ROWS) {
        let _ = writeln!(out, "- {}", prose(&check.message));
    }
    if failed(report).count() > ROWS {
        let _ = writeln!(out, "- and {} more", failed(report).count() - ROWS);
    }
    if failed(report).next().is_some() {
        out.push('\n');
    }
    let moved: Vec<&Movement> =
        report.tools.iter().chain(&report.texts).filter(|movement| movement.status != Status::Same).collect();
    if !moved.is_empty() {
        out.push_str("| base | now | delta | what | |\n|--:|--:|--:|---|---|\n");
        let number = |number: Option<u64>| number.map_or("—".to_owned(), |number| number.to_string());
        for movement in moved.iter().take(ROWS) {
            let what = if movement.server.is_empty() || movement.name.is_empty() {
                shown(&movement.server) + &shown(&movement.name)
            } else {
                format!("{}/{}", shown(&movement.server), shown(&movement.name))
            };
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} | {} |",
                number(movement.base_tokens),
                number(movement.tokens),
                signed(movement.delta),
                code(&what),
                format!("{:?}", movement.status).to_lowercase(),
            );
        }
        if moved.len() > ROWS {
            let _ = writeln!(out, "\n{} more moved.", moved.len() - ROWS);
        }
        out.push('\n');
    }
    if let Some(fix) = fix.filter(|_| failed(report).next().is_some()) {
        let _ = writeln!(out, "If this is wanted:\n\n```\n{fix}\n```\n");
    }
    if let Some(check) = report.checks.first() {
        let _ = writeln!(out, "_Tokens are {}._", escape(&check.provenance.to_string()));
    }
    out
}

/// Text that cannot become markup or break a table.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '|' | '\\' | '*' | '[' | ']' | '~' => out.extend(['\\', c]),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// A sentence with names in backticks: they become code that nothing in them can end.
fn prose(text: &str) -> String {
    let pieces: Vec<&str> = text.split('`').collect();
    if pieces.len().is_multiple_of(2) {
        return escape(&text.replace('`', "'"));
    }
    let each = |(at, piece): (usize, &&str)| if at % 2 == 0 { escape(piece) } else { code(piece) };
    pieces.iter().enumerate().map(each).collect()
}

/// Text as code, in a table: neither a pipe nor a backtick ends it.
fn code(text: &str) -> String {
    format!("<code>{}</code>", escape(text).replace('`', "&#96;").replace("\\|", "&#124;"))
}
