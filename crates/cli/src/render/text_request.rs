//! A report on a captured request for a terminal.

use super::harmless::short;
use super::number::{NONE, bytes, count, estimated, thousands};
use super::style::{self, BAR, DIM, NEEDS_YOU, STRONG, paint};
use super::table::{Cell, Column, Table, wrap};
use super::text::{View, hidden_row, name, paint_lines};
use super::words;
use deadweight_estimate::{Estimated, Tokens};
use deadweight_footprint::Price;
use deadweight_footprint::request::{Part, RequestFootprint};

/// How many kinds of blocks are listed for a person; a request has more only when it is made to.
const BLOCKS: usize = 20;

/// The whole report; `hidden` is what the tools that are not listed come to.
pub(crate) fn request(label: &str, report: &RequestFootprint, hidden: Price, view: &View) -> String {
    let mut out = headline(label, report, view);
    if view.quiet {
        return out;
    }
    let parts = [
        slices(report, view),
        sentences(report, view),
        origins(report, view),
        tools(report, hidden, view),
        blocks(report, view),
        levers(report, view),
        anomalies(report, view) + &paint_lines(&view.sentence(&words::basis(&report.basis)), DIM),
    ];
    for part in parts.iter().filter(|part| !part.is_empty()) {
        out.push('\n');
        out.push_str(part);
    }
    out
}

fn headline(label: &str, report: &RequestFootprint, view: &View) -> String {
    let mut parts = vec![paint(&short(label), STRONG), report.dialect.to_owned()];
    parts.push(
        report
            .model
            .as_deref()
            .map_or_else(|| "no model named".to_owned(), |model| short(model).into_owned()),
    );
    if let Some(agent) = report.agent {
        parts.push(agent.to_owned());
    }
    match &report.total {
        Some(total) => {
            parts
                .push(paint(&format!("{} ({})", words::tok(total.tokens), bytes(report.body_bytes)), STRONG));
            if view.window.is_some() {
                parts.push(words::of_window(total.tokens, view.window));
            }
        }
        None => parts.push(paint(&format!("only a part ({})", bytes(report.body_bytes)), NEEDS_YOU)),
    }
    wrap(&parts.join(" · "), 2, 4, view.screen.sentence())
}

fn slices(report: &RequestFootprint, view: &View) -> String {
    let mut table = Table::new(
        &[
            ("tok", Column::Number),
            ("share", Column::Number),
            ("read B", Column::Number),
            ("sent B", Column::Number),
            ("slice", Column::Word),
        ],
        DIM,
    );
    let parts = [
        ("system", report.slices.system),
        ("tools", report.slices.tools),
        ("history", report.slices.history),
        ("tail", report.slices.tail),
    ];
    let heaviest = parts.iter().map(|(_, part)| part.tokens.get()).max().unwrap_or(0);
    for (slice, part) in parts {
        table.row_with_bar(part_row(slice, part), part.tokens.get(), heaviest, style::slice(slice));
    }
    table.row(vec![
        Cell::from(NONE).styled(DIM),
        Cell::from(NONE).styled(DIM),
        Cell::from(NONE).styled(DIM),
        Cell::from(thousands(report.envelope_bytes)).styled(DIM),
        Cell::from("envelope").styled(DIM),
    ]);
    table.row(sum_row("floor: system + tools, on every turn", report.floor));
    if let Some(total) = report.total {
        table.row(sum_row("total", total));
    }
    view.table(&table)
}

fn part_row(what: &str, part: Part) -> Vec<Cell> {
    vec![
        estimated(part.tokens.get()).into(),
        words::pct(part.pct).into(),
        thousands(part.content_bytes).into(),
        thousands(part.wire_bytes).into(),
        what.into(),
    ]
}

/// A sum: strong, and its name may run on to where the bars are.
fn sum_row(what: &str, part: Part) -> Vec<Cell> {
    let mut cells: Vec<Cell> = part_row(what, part).into_iter().map(|cell| cell.styled(STRONG)).collect();
    if let Some(name) = cells.pop() {
        cells.push(name.running_on());
    }
    cells
}

fn sentences(report: &RequestFootprint, view: &View) -> String {
    let mut out = String::new();
    if report.standing.content_bytes > 0 {
        let what = match report.standing.parts.as_slice() {
            [only] => format!(" ({})", words::standing(only.kind)),
            _ => String::new(),
        };
        let parts: Vec<String> = report
            .standing
            .parts
            .iter()
            .map(|part| format!("{} {}", words::standing(part.kind), estimated(part.price.tokens.get())))
            .collect();
        let parts = if parts.len() > 1 { format!(" ({})", parts.join(", ")) } else { String::new() };
        out.push_str(&view.sentence(&format!(
            "Standing text{what}, repeated on every turn beside the floor: {}{parts}.",
            words::tok(report.standing.tokens),
        )));
    }
    if !report.deferred.is_empty() {
        let sent: u64 = report.deferred.iter().map(|tool| tool.wire_bytes).sum();
        out.push_str(&view.sentence(&format!(
            "Deferred: {} in the body ({}) that the model does not read until they are found: no tokens.",
            count(report.deferred.len() as u64, "tool", "tools"),
            bytes(sent)
        )));
    }
    if let Some(delta) = report.delta {
        let why = words::delta(delta);
        out.push_str(&paint_lines(
            &view.sentence(&format!(
                "No total, because {why}: what the model reads is more than what stands here."
            )),
            NEEDS_YOU,
        ));
    }
    out
}

fn origins(report: &RequestFootprint, view: &View) -> String {
    if report.origins.is_empty() {
        return String::new();
    }
    let mut table = Table::new(
        &[
            ("tok", Column::Number),
            ("share", Column::Number),
            ("tools", Column::Number),
            ("whose", Column::Name),
        ],
        DIM,
    );
    let heaviest = report.origins.iter().map(|origin| origin.content_bytes).max().unwrap_or(0);
    for origin in &report.origins {
        table.row_with_bar(
            vec![
                estimated(origin.tokens.get()).into(),
                words::pct(origin.pct).into(),
                thousands(origin.tool_count).into(),
                name(&words::origin(&origin.origin)).into(),
            ],
            origin.content_bytes,
            heaviest,
            BAR,
        );
    }
    view.table(&table)
}

fn tools(report: &RequestFootprint, hidden: Price, view: &View) -> String {
    if report.tools.is_empty() {
        return String::new();
    }
    let mut table = Table::new(
        &[
            ("tok", Column::Number),
            ("B", Column::Number),
            ("tool", Column::Name),
            ("whose", Column::Name),
            ("description", Column::Number),
            ("calls", Column::Number),
        ],
        DIM,
    );
    let heaviest = report.tools.iter().map(|tool| tool.content_bytes).max().unwrap_or(0);
    for tool in &report.tools {
        table.row_with_bar(
            vec![
                estimated(tool.tokens.get()).into(),
                thousands(tool.content_bytes).into(),
                name(&tool.name).into(),
                name(&words::origin(&tool.origin)).into(),
                thousands(tool.description_tokens.get()).into(),
                thousands(tool.calls).into(),
            ],
            tool.content_bytes,
            heaviest,
            BAR,
        );
    }
    let unlisted = report.tool_count.saturating_sub(report.shown);
    if unlisted > 0 {
        table.row(hidden_row(unlisted, hidden));
    }
    let own = report.namespaces;
    if own.content_bytes > 0 {
        let what = format!("names and descriptions of {}", count(own.count, "namespace", "namespaces"));
        let cells = [estimated(own.tokens.get()), thousands(own.content_bytes)];
        table.row(cells.into_iter().map(Cell::from).chain([Cell::from(what).running_on()]).collect());
    }
    view.table(&table)
}

fn blocks(report: &RequestFootprint, view: &View) -> String {
    if report.blocks.is_empty() {
        return String::new();
    }
    let mut table = Table::new(
        &[
            ("tok", Column::Number),
            ("read B", Column::Number),
            ("slice", Column::Word),
            ("block", Column::Name),
            ("count", Column::Number),
        ],
        DIM,
    );
    let heaviest = report.blocks.iter().map(|block| block.tokens.get()).max().unwrap_or(0);
    let mut by_weight: Vec<usize> = (0..report.blocks.len()).collect();
    by_weight.sort_by_key(|&at| std::cmp::Reverse(report.blocks[at].tokens));
    // One line is never hidden to say that one line is hidden.
    let listed = if view.verbose || by_weight.len() <= BLOCKS + 1 { by_weight.len() } else { BLOCKS };
    let hidden = by_weight.split_off(listed);
    by_weight.sort_unstable();
    for block in by_weight.iter().map(|&at| &report.blocks[at]) {
        let kind = block
            .type_name
            .as_deref()
            .map_or_else(|| block.kind.to_owned(), |own| format!("{} `{own}`", block.kind));
        table.row_with_bar(
            vec![
                estimated(block.tokens.get()).into(),
                thousands(block.content_bytes).into(),
                block.slice.into(),
                name(&kind).into(),
                thousands(block.count).into(),
            ],
            block.tokens.get(),
            heaviest,
            style::slice(block.slice),
        );
    }
    if !hidden.is_empty() {
        let all = hidden.iter().map(|&at| &report.blocks[at]);
        let tokens: Tokens<Estimated> = all.clone().map(|block| block.tokens).sum();
        let more = format!("{} more kinds (--verbose shows all)", thousands(hidden.len() as u64));
        let cells = [
            estimated(tokens.get()),
            thousands(all.clone().map(|block| block.content_bytes).sum()),
            String::new(),
            more,
            thousands(all.map(|block| block.count).sum()),
        ];
        table.row(cells.into_iter().map(|text| Cell::from(text).styled(DIM)).collect());
    }
    view.table(&table)
}

fn levers(report: &RequestFootprint, view: &View) -> String {
    let Some(largest) = report.largest.as_ref().filter(|largest| !largest.levers.is_empty()) else {
        return String::new();
    };
    let mut out = view.sentence(&format!(
        "The largest slice is {}. Levers that could cut it, once they are built:",
        largest.slice
    ));
    let wide = largest.levers.iter().map(|lever| lever.name.len()).max().unwrap_or(0);
    for lever in largest.levers {
        let hang = 6 + wide;
        let does = wrap(lever.does, hang, hang, view.screen.sentence());
        out.push_str(&format!("    {:wide$}  {}", lever.name, does.trim_start()));
    }
    out
}

fn anomalies(report: &RequestFootprint, view: &View) -> String {
    const NAMED: usize = 5;
    if report.anomalies.is_empty() {
        return String::new();
    }
    let mut parts: Vec<String> = report
        .anomalies
        .iter()
        .take(NAMED)
        .map(|anomaly| {
            let what = anomaly.kind.replace('_', " ");
            let detail =
                anomaly.detail.as_deref().map_or_else(String::new, |detail| format!(" `{}`", short(detail)));
            format!("{what}{detail} at byte {}", thousands(anomaly.offset))
        })
        .collect();
    if report.anomalies.len() > NAMED {
        parts.push(format!("{} more (--json lists all)", thousands((report.anomalies.len() - NAMED) as u64)));
    }
    paint_lines(
        &view.sentence(&format!("Odd in this request, counted all the same: {}.", parts.join("; "))),
        NEEDS_YOU,
    )
}
