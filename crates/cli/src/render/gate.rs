//! The gate's verdict as text.

use super::harmless::{cut_middle, harmless, width};
use super::number::{NONE, count, estimated, signed, thousands};
use super::style::{DIM, FAILED, HOLDS, NEEDS_YOU, STRONG, paint};
use super::table::{Cell, Column, Table, wrap};
use crate::settings::Screen;
use deadweight_gate::{Check, Movement, Reason, Report, Status, Surface};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// What to do about a refusal.
#[derive(Debug)]
pub(crate) struct Fix {
    /// When to do it.
    pub(crate) lead: &'static str,
    /// The command, or the line of the lock.
    pub(crate) text: String,
}

/// How many movements are listed for a person.
const ROWS: usize = 20;
/// How many refusals of one reason are told one by one.
const ALIKE: usize = 12;
/// How many columns a name takes at most.
const NAME: usize = 100;
/// How many entries a warning names.
const NAMED: usize = 4;

/// The whole report. `fix` is the command that accepts what was measured.
pub(crate) fn report(report: &Report, lock: &str, fix: Option<&Fix>, quiet: bool, screen: Screen) -> String {
    let mut out = String::new();
    let refusals: Vec<&Check> = report.refusals().collect();
    if refusals.is_empty() {
        let sums = sums(report);
        let said = if sums.is_empty() { "nothing is carried".to_owned() } else { sums.join(" · ") };
        out.push_str(&labelled(&paint("HOLDS", HOLDS.bold()), &said, screen));
    }
    // What could not be measured is told apart from what was measured and refused.
    let head =
        |check: &Check| if check.reason == Some(Reason::Unmeasured) { "UNMEASURED" } else { "REFUSED" };
    let widest = refusals.iter().map(|check| head(check).len()).max().unwrap_or(0);
    let wide = refusals.iter().map(|check| named(check).len()).max().unwrap_or(0);
    for (at, check) in refusals.iter().enumerate() {
        let (head, name) = (head(check), named(check));
        // A thousand tools refused alike are one fact; they stand together.
        let before = refusals.iter().take(at).filter(|other| named(other) == name).count();
        if before == ALIKE {
            let more = refusals.iter().filter(|other| named(other) == name).count() - ALIKE;
            let said = format!("and {} more", thousands(more as u64));
            out.push_str(&labelled(
                &format!("{}  {}", paint(head, FAILED.bold()), paint(name, STRONG)),
                &said,
                screen,
            ));
        }
        if before >= ALIKE {
            continue;
        }
        let gap = " ".repeat(widest - head.len() + 2);
        let label = if check.reason == Some(Reason::Unmeasured) {
            paint(head, FAILED.bold())
        } else {
            let fill = " ".repeat(wide - name.len());
            format!("{}{gap}{}{fill}", paint(head, FAILED.bold()), paint(name, STRONG))
        };
        out.push_str(&labelled(&label, &sentence(check), screen));
    }
    if quiet {
        return out;
    }
    let warned = by_reason(report.warnings());
    for (name, checks) in &warned {
        let said = match checks.as_slice() {
            [only] => sentence(only),
            many => format!("{}: {}", count(many.len() as u64, "entry", "entries"), names(many)),
        };
        let label = format!("{}  {}", paint("WARNS", NEEDS_YOU), paint(name, STRONG));
        out.push_str(&labelled(&label, &said, screen));
    }
    if let Some(table) = movements(report, screen) {
        let _ = write!(out, "\n{table}");
    }
    if let Some(fix) = fix {
        let _ = write!(out, "\n  {}\n    {}\n", fix.lead, harmless(&fix.text));
    }
    let mut failed = refusals.iter().chain(warned.iter().flat_map(|(_, checks)| checks));
    if let Some(line) = failed.find_map(|check| check.line) {
        let _ = writeln!(out, "  {}", paint(&harmless(&format!("{lock}:{line}")), DIM));
    }
    if let Some(check) = report.checks.first() {
        let _ = writeln!(out, "  {}", paint(&format!("tokens: {}", check.provenance), DIM));
    }
    out
}

/// What `--update` did: the movement from the lock before to the one after.
pub(crate) fn updated(movement: &Report, lock: &str, changed: bool, quiet: bool, screen: Screen) -> String {
    let tools = movement.tools.iter().filter(|tool| tool.tokens.is_some()).count() as u64;
    let texts = movement.texts.iter().filter(|text| text.tokens.is_some()).count() as u64;
    let mut parts = vec![count(tools, "tool", "tools")];
    if texts > 0 {
        parts.push(count(texts, "text", "texts"));
    }
    let (head, said) = if changed { ("WROTE", harmless(lock)) } else { ("SAME", harmless(lock)) };
    let mut out = format!("  {}  {said} · {}\n", paint(head, HOLDS.bold()), parts.join(", "));
    // Of the first lock everything would be new, which says nothing.
    let first = movement.tools.iter().chain(&movement.texts).all(|movement| movement.status == Status::Added);
    if !quiet
        && !first
        && let Some(table) = movements(movement, screen)
    {
        let _ = write!(out, "\n{table}");
    }
    out
}

/// A sentence behind its label; what does not fit goes below it, where the sentence begins, or where the
/// label does when there is little room.
fn labelled(label: &str, text: &str, screen: Screen) -> String {
    let columns = screen.sentence();
    let begins = 2 + width(&anstream::adapter::strip_str(label).to_string()) + 2;
    let hang = if begins + 30 <= columns { begins } else { 4 };
    let wrapped = wrap(text, begins, hang, columns);
    format!("  {label}  {}\n", wrapped.trim_start().trim_end())
}

/// One line a reason: a hundred changed definitions are one fact.
fn by_reason<'r>(checks: impl Iterator<Item = &'r Check>) -> Vec<(&'static str, Vec<&'r Check>)> {
    let mut out: Vec<(&'static str, Vec<&Check>)> = Vec::new();
    for check in checks {
        match out.iter_mut().find(|(name, _)| *name == named(check)) {
            Some((_, own)) => own.push(check),
            None => out.push((named(check), vec![check])),
        }
    }
    out
}

fn named(check: &Check) -> &'static str {
    check.reason.map_or("", Reason::name)
}

/// A name as it is, unless it is too long, or nothing would be seen of it.
fn legible(name: &str, columns: usize) -> String {
    if name.trim().is_empty() {
        format!("\"{name}\"")
    } else {
        cut_middle(&harmless(name), columns).into_owned()
    }
}

fn names(checks: &[&Check]) -> String {
    let about = |check: &&Check| check.subject.name.clone().or(check.subject.server.clone());
    let mut out: Vec<String> = checks
        .iter()
        .take(NAMED)
        .filter_map(about)
        .map(|name| cut_middle(&harmless(&name), NAME / 2).into_owned())
        .collect();
    if checks.len() > NAMED {
        out.push(format!("{} more", checks.len() - NAMED));
    }
    out.join(", ")
}

/// What a budget came to, in the words of a person; else the check's own sentence.
fn sentence(check: &Check) -> String {
    let own = || harmless(&check.message).to_string();
    let (Some(reason), Some(measured), Some(budget)) = (check.reason, check.measured, check.budget) else {
        return own();
    };
    let budgeted = reason.name().contains("_BUDGET_") && check.surface != Surface::Server;
    if measured == 0 || !(budgeted || reason == Reason::CeilingExceeded) {
        return own();
    }
    let what = if budgeted { "budget" } else { "ceiling" };
    let slack = match check.slack {
        Some(slack) if measured < budget => format!(", slack {}", thousands(slack)),
        _ => String::new(),
    };
    format!(
        "{} tok, {what} {} ({}{slack})",
        estimated(measured),
        thousands(budget),
        signed(check.delta.unwrap_or_default())
    )
}

/// What holds, one part a budget.
fn sums(report: &Report) -> Vec<String> {
    let mut out = Vec::new();
    let tools = report.tools.iter().filter(|tool| tool.tokens.is_some()).count() as u64;
    if tools > 0 {
        out.push(count(tools, "tool", "tools"));
    }
    for check in report.checks.iter().filter(|check| check.reason.is_none()) {
        let (Some(measured), Some(budget)) = (check.measured, check.budget) else { continue };
        if measured == 0 && budget == 0 {
            if check.surface == Surface::Lock {
                out.push("every raise says why".to_owned());
            }
            continue;
        }
        let (measured, budget) = (estimated(measured), thousands(budget));
        match (check.surface, &check.subject.name) {
            (Surface::Floor, Some(_)) => out.push(format!("under the ceiling of {budget}")),
            (Surface::Floor, None) => out.push(format!("{measured} tok of {budget}")),
            (Surface::Lock, _) => {
                out.push(format!("budget {measured} tok, {budget} before · every raise says why"))
            }
            (Surface::Tool | Surface::ToolCount | Surface::Server, _) => {}
            (surface, _) => out.push(format!("{surface} {measured} of {budget}")),
        }
    }
    out
}

/// What moved, the biggest movement first; what did not is one line.
pub(crate) fn movements(report: &Report, screen: Screen) -> Option<String> {
    let all = || report.tools.iter().chain(&report.texts);
    let moved: Vec<&Movement> = all().filter(|movement| movement.status != Status::Same).collect();
    if moved.is_empty() {
        return None;
    }
    let several = report.tools.iter().map(|tool| &tool.server).collect::<BTreeSet<_>>().len() > 1;
    let heads = [
        ("base", Column::Number),
        ("now", Column::Number),
        ("delta", Column::Number),
        ("what", Column::Name),
        ("", Column::Word),
    ];
    let mut table = Table::new(&heads, DIM);
    let number = |number: Option<u64>| number.map_or_else(|| NONE.to_owned(), thousands);
    for movement in moved.iter().take(ROWS) {
        let (style, word) = match movement.status {
            Status::Added => (FAILED, "new"),
            Status::Grew => (FAILED, ""),
            Status::Changed => (NEEDS_YOU, "changed"),
            Status::Shrank => (HOLDS, ""),
            Status::Removed => (HOLDS, "gone"),
            Status::Same => (DIM, ""),
        };
        let what = match (movement.surface, several && !movement.server.is_empty()) {
            (Surface::Instructions, _) => format!("instructions of {}", movement.server),
            (_, true) => format!("{}/{}", movement.server, movement.name),
            (_, false) => movement.name.clone(),
        };
        table.row(vec![
            number(movement.base_tokens).into(),
            number(movement.tokens).into(),
            Cell::from(signed(movement.delta)).styled(style),
            Cell::from(legible(&what, NAME)),
            Cell::from(word).styled(DIM),
        ]);
    }
    let still: Vec<&Movement> = all().filter(|movement| movement.status == Status::Same).collect();
    let others = if still.len() == 1 { "other" } else { "others" };
    for (rest, word) in [(moved.get(ROWS..).unwrap_or_default(), "more that moved"), (&still[..], others)] {
        if rest.is_empty() {
            continue;
        }
        let sum = |side: fn(&Movement) -> Option<u64>| {
            rest.iter().filter_map(|movement| side(movement)).sum::<u64>()
        };
        table.row(vec![
            thousands(sum(|movement| movement.base_tokens)).into(),
            thousands(sum(|movement| movement.tokens)).into(),
            signed(rest.iter().map(|movement| movement.delta).sum()).into(),
            Cell::from(format!("{} {word}", thousands(rest.len() as u64))).styled(DIM),
        ]);
    }
    Some(table.draw(4, screen.columns, false))
}
