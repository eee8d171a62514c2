//! Two footprints side by side, for a terminal.

use super::number::{NONE, count, estimated, signed, thousands};
use super::style::{DIM, NEEDS_YOU, paint};
use super::table::{Cell, Column, Table, wrap};
use super::text::{View, name, paint_lines};
use super::words;
use crate::render::harmless::short;
use anstyle::{AnsiColor, Style};
use deadweight_footprint::Price;
use deadweight_footprint::compare::{Change, Comparison, SliceChange, ToolChange};

/// The whole report; `hidden` is what the tools that are not listed moved by, `unlisted` how many they are.
pub(crate) fn compare(report: &Comparison, unlisted: u64, hidden: Change, view: &View) -> String {
    let mut out = headline(report, view);
    if view.quiet {
        return out;
    }
    if !report.slices.is_empty() {
        out.push('\n');
        out.push_str(&slices(&report.slices, view));
    }
    out.push('\n');
    out.push_str(&tools(report, unlisted, hidden, view));
    out.push('\n');
    out.push_str(&paint_lines(&view.sentence(&words::basis(&report.basis)), DIM));
    out
}

fn headline(report: &Comparison, view: &View) -> String {
    let (base, now) = (&report.base, &report.now);
    let change = format!("{} tok", signed(report.delta.tokens));
    let line = format!(
        "{} → {} · {} → {} on every turn · {}",
        short(&base.label),
        short(&now.label),
        words::tok(base.tokens),
        words::tok(now.tokens),
        paint(&change, colour(report.delta.tokens).bold()),
    );
    let mut out = wrap(&line, 2, 4, view.screen.sentence());
    if !report.comparable {
        let warning = "The two sides were counted by different estimators: the changes mean nothing.";
        out.push_str(&paint_lines(&view.sentence(warning), NEEDS_YOU));
    }
    out
}

fn slices(slices: &[SliceChange], view: &View) -> String {
    let mut table = Table::new(
        &[
            ("base", Column::Number),
            ("now", Column::Number),
            ("delta", Column::Number),
            ("slice", Column::Word),
        ],
        DIM,
    );
    for slice in slices {
        let delta = match slice.delta {
            Some(delta) => Cell::from(signed(delta.tokens)).styled(colour(delta.tokens)),
            None => NONE.into(),
        };
        table.row(vec![tokens(slice.base), tokens(slice.now), delta, slice.slice.into()]);
    }
    view.table(&table)
}

fn tools(report: &Comparison, unlisted: u64, hidden: Change, view: &View) -> String {
    let several = report.tools.iter().any(|tool| tool.server.is_some());
    let mut heads = vec![
        ("base", Column::Number),
        ("now", Column::Number),
        ("delta", Column::Number),
        ("tool", Column::Name),
    ];
    if several {
        heads.push(("server", Column::Name));
    }
    heads.push(("", Column::Word));
    let mut table = Table::new(&heads, DIM);
    for tool in &report.tools {
        let mut cells = vec![
            tokens(tool.base),
            tokens(tool.now),
            Cell::from(signed(tool.delta.tokens)).styled(colour(tool.delta.tokens)),
            name(&tool.name).into(),
        ];
        if several {
            cells.push(tool.server.as_deref().map(name).unwrap_or_default().into());
        }
        cells.push(Cell::from(state(tool)).styled(DIM));
        table.row(cells);
    }
    if unlisted > 0 {
        let more = format!("{} more that moved (--top 0 shows all)", thousands(unlisted));
        let mut cells: Vec<Cell> =
            vec!["".into(), "".into(), signed(hidden.tokens).into(), Cell::from(more).running_on()];
        for cell in &mut cells {
            cell.style = DIM;
        }
        table.row(cells);
    }
    let same = report.counts.unchanged;
    if same > 0 {
        let what = if report.counts.added + report.counts.removed + report.counts.changed == 0 {
            format!("nothing moved: {} the same", count(same, "tool is", "tools are"))
        } else {
            format!("{} the same", count(same, "other is", "others are"))
        };
        table.row(vec![
            "".into(),
            "".into(),
            Cell::from("0").styled(DIM),
            Cell::from(what).styled(DIM).running_on(),
        ]);
    }
    view.table(&table)
}

/// What became of a tool, where the numbers do not say it.
pub(crate) fn state(tool: &ToolChange) -> &'static str {
    match (tool.base, tool.now) {
        (None, _) => "new",
        (_, None) => "gone",
        (Some(base), Some(now)) if base.tokens == now.tokens => "bytes only",
        _ => "",
    }
}

fn tokens(price: Option<Price>) -> Cell {
    price.map_or_else(|| NONE.to_owned(), |price| estimated(price.tokens.get())).into()
}

/// Growth needs the reader, shrinking is good.
fn colour(delta: i64) -> Style {
    match delta {
        1.. => NEEDS_YOU,
        0 => Style::new(),
        _ => AnsiColor::Green.on_default(),
    }
}
