//! A report on a catalogue for a terminal.

use super::harmless::{closed, harmless, short};
use super::number::{NONE, estimated, share, thousands};
use super::style::{BAR, DIM, FAILED, NEEDS_YOU, STRONG, paint};
use super::table::{Cell, Column, Table, wrap};
use super::words;
use crate::settings::Screen;
use deadweight_footprint::Price;
use deadweight_footprint::advice::{AdviceKind, Rule};
use deadweight_footprint::catalogue::{AnomalyKind, CatalogueFootprint};

/// How a report is looked at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View {
    pub(crate) screen: Screen,
    /// The context window to give shares of.
    pub(crate) window: Option<u64>,
    /// Only the totals.
    pub(crate) quiet: bool,
    /// Everything, advice tool by tool too.
    pub(crate) verbose: bool,
}

impl View {
    /// A sentence, indented and wrapped.
    pub(crate) fn sentence(&self, text: &str) -> String {
        wrap(text, 2, 4, self.screen.sentence())
    }

    /// A table at the report's indent.
    pub(crate) fn table(&self, table: &Table) -> String {
        table.draw(2, self.screen.columns, self.screen.terminal)
    }
}

/// A name from outside, for a table.
pub(crate) fn name(text: &str) -> String {
    if text.is_empty() { "(no name)".to_owned() } else { closed(short(text)).into_owned() }
}

/// The whole report; `hidden` is what the tools that are not listed come to.
pub(crate) fn catalogue(report: &CatalogueFootprint, hidden: Price, view: &View) -> String {
    let mut out = headline(report, view);
    if view.quiet {
        return out;
    }
    if report.servers.len() + report.failures.len() > 1 {
        out.push('\n');
        out.push_str(&servers(report, view));
    }
    if !report.tools.is_empty() {
        out.push('\n');
        out.push_str(&tools(report, hidden, view));
    }
    out.push('\n');
    let served = words::also_served(report);
    if !served.is_empty() {
        out.push_str(&view.sentence(&format!("Also served, not counted: {}.", served.join(", "))));
    }
    out.push_str(&advice(report, view));
    out.push_str(&paint_lines(&view.sentence(&words::basis(&report.basis)), DIM));
    out
}

fn headline(report: &CatalogueFootprint, view: &View) -> String {
    let mut parts = words::headline(report, view.window);
    if let Some(first) = parts.first_mut() {
        *first = paint(&harmless(first), STRONG);
    }
    if let Some(total) = parts.get_mut(2) {
        *total = paint(total, STRONG);
    }
    if !report.failures.is_empty() {
        let failed = report.failures.len() as u64;
        parts.push(paint(&format!("{failed} not measured"), FAILED));
    }
    wrap(&parts.join(" · "), 2, 4, view.screen.sentence().max(60))
}

fn servers(report: &CatalogueFootprint, view: &View) -> String {
    let mut table = Table::new(
        &[
            ("tok", Column::Number),
            ("B", Column::Number),
            ("share", Column::Number),
            ("tools", Column::Number),
            ("server", Column::Name),
            ("", Column::Word),
        ],
        DIM,
    );
    let heaviest = report.servers.iter().map(|server| server.bytes).max().unwrap_or(0);
    for server in &report.servers {
        let title = words::title(&server.server, server.name.as_deref(), server.version.as_deref());
        table.row_with_bar(
            vec![
                estimated(server.tokens.get()).into(),
                thousands(server.bytes).into(),
                share(server.bytes, report.floor_bytes).into(),
                thousands(server.tool_count).into(),
                name(&title).into(),
            ],
            server.bytes,
            heaviest,
            BAR,
        );
    }
    for failure in &report.failures {
        table.row(vec![
            NONE.into(),
            NONE.into(),
            NONE.into(),
            NONE.into(),
            name(&failure.server).into(),
            Cell::from("not measured").styled(FAILED),
        ]);
    }
    view.table(&table)
}

fn tools(report: &CatalogueFootprint, hidden: Price, view: &View) -> String {
    let several = report.servers.len() > 1;
    let mut heads = vec![("tok", Column::Number), ("B", Column::Number), ("tool", Column::Name)];
    if several {
        heads.push(("server", Column::Name));
    }
    heads.extend([("description", Column::Number), ("schema", Column::Number)]);
    let mut table = Table::new(&heads, DIM);
    let heaviest = report.tools.iter().map(|tool| tool.bytes).max().unwrap_or(0);
    for tool in &report.tools {
        let mut cells: Vec<Cell> =
            vec![estimated(tool.tokens.get()).into(), thousands(tool.bytes).into(), name(&tool.name).into()];
        if several {
            cells.push(name(&tool.server).into());
        }
        cells.push(thousands(tool.description_tokens.get()).into());
        cells.push(thousands(tool.schema_tokens.get()).into());
        table.row_with_bar(cells, tool.bytes, heaviest, BAR);
    }
    let count = report.tool_count.saturating_sub(report.shown);
    if count > 0 {
        table.row(hidden_row(count, hidden));
    }
    view.table(&table)
}

/// The line for what `--top` hid.
pub(crate) fn hidden_row(count: u64, hidden: Price) -> Vec<Cell> {
    let more = format!("{} more tools (--top 0 shows all)", thousands(count));
    [estimated(hidden.tokens.get()), thousands(hidden.bytes), more]
        .into_iter()
        .map(|text| Cell::from(text).styled(DIM))
        .enumerate()
        .map(|(at, cell)| if at == 2 { cell.running_on() } else { cell })
        .collect()
}

fn advice(report: &CatalogueFootprint, view: &View) -> String {
    let mut out = String::new();
    let saves = words::advice_by_rule(&report.advice, AdviceKind::Saves);
    if !saves.is_empty() && report.savings.tokens.get() > 0 {
        out.push_str(&view.sentence(&format!(
            "You could save {}: {}.",
            words::tok(report.savings.tokens),
            saves.join(", ")
        )));
    }
    let breaks = words::advice_by_rule(&report.advice, AdviceKind::Breaks);
    if !breaks.is_empty() {
        out.push_str(&paint_lines(
            &view.sentence(&format!("Some clients will stumble: {}.", breaks.join("; "))),
            NEEDS_YOU,
        ));
    }
    if view.verbose {
        for entry in &report.advice {
            out.push('\n');
            let head = format!("{}: {}", short(&entry.server), words::rule(entry.rule, entry.tool_count));
            out.push_str(&view.sentence(&format!("{head}, {} — {}", words::tok(entry.tokens), entry.reason)));
            for tool in &entry.tools {
                let detail =
                    tool.detail.as_deref().map_or_else(String::new, |detail| format!("  {}", short(detail)));
                out.push_str(&format!(
                    "    {:>7}  {}{detail}\n",
                    estimated(tool.tokens.get()),
                    name(&tool.name)
                ));
            }
        }
    }
    let odd = anomalies(report);
    if !odd.is_empty() {
        out.push_str(&paint_lines(&view.sentence(&format!("Odd in this list: {odd}.")), NEEDS_YOU));
    }
    out
}

/// What is odd in the list, by kind, with the first names.
fn anomalies(report: &CatalogueFootprint) -> String {
    // What the advice says already is not said again.
    let advised = |kind: AnomalyKind| {
        kind == AnomalyKind::DuplicateName
            && report.advice.iter().any(|entry| entry.rule == Rule::DuplicateName)
    };
    let mut kinds: Vec<_> =
        report.anomalies.iter().map(|anomaly| anomaly.kind).filter(|&kind| !advised(kind)).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let parts: Vec<String> = kinds
        .into_iter()
        .map(|kind| {
            let of_kind: Vec<_> = report.anomalies.iter().filter(|anomaly| anomaly.kind == kind).collect();
            let named: Vec<String> = of_kind
                .iter()
                .take(3)
                .map(
                    |anomaly| {
                        if anomaly.tool.is_empty() { name(&anomaly.server) } else { name(&anomaly.tool) }
                    },
                )
                .collect();
            let more = of_kind.len().saturating_sub(named.len());
            let more = if more > 0 { format!(" and {} more", thousands(more as u64)) } else { String::new() };
            format!("{} ({}{more})", words::anomaly(kind), named.join(", "))
        })
        .collect();
    parts.join("; ")
}

/// Paints each line of a text, so that no style runs over an end of line.
pub(crate) fn paint_lines(text: &str, style: anstyle::Style) -> String {
    text.lines()
        .map(|line| {
            let body = line.trim_start();
            format!("{}{}\n", &line[..line.len() - body.len()], paint(body, style))
        })
        .collect()
}
