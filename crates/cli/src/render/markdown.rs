//! Reports as Markdown, for comments on pull requests and for documents.

use super::harmless::{harmless, short};
use super::number::{NONE, bytes, estimated, share, signed, thousands};
use super::words;
use deadweight_footprint::Price;
use deadweight_footprint::advice::AdviceKind;
use deadweight_footprint::catalogue::CatalogueFootprint;
use deadweight_footprint::compare::{Change, Comparison};
use deadweight_footprint::request::{Part, RequestFootprint};

/// A catalogue; `hidden` is what the tools that are not listed come to.
pub(crate) fn catalogue(report: &CatalogueFootprint, hidden: Price, window: Option<u64>) -> String {
    let mut parts = words::headline(report, window);
    if let Some(first) = parts.first_mut() {
        *first = format!("**{}**", escaped(first));
    }
    if !report.failures.is_empty() {
        parts.push(format!("**{} not measured**", report.failures.len()));
    }
    let mut out = format!("{}\n", parts.join(" · "));
    if report.servers.len() + report.failures.len() > 1 {
        let mut table = Table::new(&["-server", "tok", "B", "share", "tools"]);
        for server in &report.servers {
            let title = words::title(&server.server, server.name.as_deref(), server.version.as_deref());
            table.row(&[
                code(&title),
                estimated(server.tokens.get()),
                thousands(server.bytes),
                share(server.bytes, report.floor_bytes),
                thousands(server.tool_count),
            ]);
        }
        for failure in &report.failures {
            let none = || NONE.to_owned();
            table.row(&[format!("{} not measured", code(&failure.server)), none(), none(), none(), none()]);
        }
        out.push_str(&table.out);
    }
    if !report.tools.is_empty() {
        let several = report.servers.len() > 1;
        let mut heads = vec!["-tool"];
        if several {
            heads.push("-server");
        }
        heads.extend(["tok", "B", "description", "schema"]);
        let mut table = Table::new(&heads);
        for tool in &report.tools {
            let mut cells = vec![code(&tool.name)];
            if several {
                cells.push(code(&tool.server));
            }
            cells.push(estimated(tool.tokens.get()));
            cells.push(thousands(tool.bytes));
            cells.push(thousands(tool.description_tokens.get()));
            cells.push(thousands(tool.schema_tokens.get()));
            table.row(&cells);
        }
        let more = report.tool_count.saturating_sub(report.shown);
        if more > 0 {
            let mut cells = vec![format!("{} more tools", thousands(more))];
            if several {
                cells.push(String::new());
            }
            cells.extend([
                estimated(hidden.tokens.get()),
                thousands(hidden.bytes),
                String::new(),
                String::new(),
            ]);
            table.row(&cells);
        }
        out.push_str(&table.out);
    }
    out.push_str(&sentences(report));
    out
}

fn sentences(report: &CatalogueFootprint) -> String {
    let mut out = String::new();
    let served = words::also_served(report);
    if !served.is_empty() {
        out.push_str(&format!("\nAlso served, not counted: {}.\n", served.join(", ")));
    }
    let saves = words::advice_by_rule(&report.advice, AdviceKind::Saves);
    if !saves.is_empty() && report.savings.tokens.get() > 0 {
        out.push_str(&format!(
            "\nYou could save {}: {}.\n",
            words::tok(report.savings.tokens),
            saves.join(", ")
        ));
    }
    let breaks = words::advice_by_rule(&report.advice, AdviceKind::Breaks);
    if !breaks.is_empty() {
        out.push_str(&format!("\nSome clients will stumble: {}.\n", breaks.join("; ")));
    }
    if !report.failures.is_empty() {
        out.push_str("\nNot measured, and missing from every number above:\n\n");
        for failure in &report.failures {
            out.push_str(&format!("- {}: {}\n", code(&failure.server), escaped(&failure.reason)));
        }
    }
    out.push_str(&format!("\n<sub>{}</sub>\n", escaped(&words::basis(&report.basis))));
    out
}

/// A captured request.
pub(crate) fn request(label: &str, report: &RequestFootprint, hidden: Price, window: Option<u64>) -> String {
    let mut parts = vec![format!("**{}**", escaped(label)), report.dialect.to_owned()];
    parts.extend(report.model.as_deref().map(code));
    match &report.total {
        Some(total) => {
            parts.push(format!("{} ({})", words::tok(total.tokens), bytes(report.body_bytes)));
            if window.is_some() {
                parts.push(words::of_window(total.tokens, window));
            }
        }
        None => parts.push(format!("only a part ({})", bytes(report.body_bytes))),
    }
    let mut out = format!("{}\n", parts.join(" · "));
    let mut table = Table::new(&["-slice", "tok", "share", "read B", "sent B"]);
    let mut row = |what: &str, part: Part| {
        table.row(&[
            what.to_owned(),
            estimated(part.tokens.get()),
            words::pct(part.pct),
            thousands(part.content_bytes),
            thousands(part.wire_bytes),
        ]);
    };
    row("system", report.slices.system);
    row("tools", report.slices.tools);
    row("history", report.slices.history);
    row("tail", report.slices.tail);
    row("**floor** (system + tools)", report.floor);
    if let Some(total) = report.total {
        row("**total**", total);
    }
    out.push_str(&table.out);
    if !report.tools.is_empty() {
        let mut table = Table::new(&["-tool", "-whose", "tok", "B", "calls"]);
        for tool in &report.tools {
            table.row(&[
                code(&tool.name),
                escaped(&words::origin(&tool.origin)),
                estimated(tool.tokens.get()),
                thousands(tool.content_bytes),
                thousands(tool.calls),
            ]);
        }
        let unlisted = report.tool_count.saturating_sub(report.shown);
        if unlisted > 0 {
            let more = format!("{} more tools", thousands(unlisted));
            table.row(&[
                more,
                String::new(),
                estimated(hidden.tokens.get()),
                thousands(hidden.bytes),
                String::new(),
            ]);
        }
        out.push_str(&table.out);
    }
    out.push_str(&format!("\n<sub>{}</sub>\n", escaped(&words::basis(&report.basis))));
    out
}

/// Two footprints side by side.
pub(crate) fn compare(report: &Comparison, unlisted: u64, hidden: Change) -> String {
    let mut out = format!(
        "**{}** → **{}** · {} → {} on every turn · **{} tok**\n",
        escaped(&report.base.label),
        escaped(&report.now.label),
        words::tok(report.base.tokens),
        words::tok(report.now.tokens),
        signed(report.delta.tokens)
    );
    let price =
        |price: Option<Price>| price.map_or_else(|| NONE.to_owned(), |price| estimated(price.tokens.get()));
    if !report.slices.is_empty() {
        let mut table = Table::new(&["-slice", "base", "now", "delta"]);
        for slice in &report.slices {
            let delta = slice.delta.map_or_else(|| NONE.to_owned(), |delta| signed(delta.tokens));
            table.row(&[slice.slice.to_owned(), price(slice.base), price(slice.now), delta]);
        }
        out.push_str(&table.out);
    }
    let several = report.tools.iter().any(|tool| tool.server.is_some());
    let mut table = Table::new(if several {
        &["-tool", "-server", "base", "now", "delta", "-"]
    } else {
        &["-tool", "base", "now", "delta", "-"]
    });
    for tool in &report.tools {
        let mut cells = vec![code(&tool.name)];
        if several {
            cells.push(tool.server.as_deref().map(code).unwrap_or_default());
        }
        let state = super::text_compare::state(tool).to_owned();
        cells.extend([price(tool.base), price(tool.now), signed(tool.delta.tokens), state]);
        table.row(&cells);
    }
    let blank = if several { vec![String::new(); 3] } else { vec![String::new(); 2] };
    let mut sum = |what: String, delta: String| {
        let mut cells = vec![what];
        cells.extend(blank.clone());
        cells.extend([delta, String::new()]);
        table.row(&cells);
    };
    if unlisted > 0 {
        sum(format!("{} more that moved", thousands(unlisted)), signed(hidden.tokens));
    }
    sum(format!("{} unchanged", thousands(report.counts.unchanged)), "0".to_owned());
    out.push_str(&table.out);
    out.push_str(&format!("\n<sub>{}</sub>\n", escaped(&words::basis(&report.basis))));
    out
}

/// A table; a head that starts with `-` is set to the left.
pub(super) struct Table {
    pub(super) out: String,
}

impl Table {
    pub(super) fn new(heads: &[&str]) -> Self {
        let names: Vec<&str> = heads.iter().map(|head| head.trim_start_matches('-')).collect();
        let rules: Vec<&str> =
            heads.iter().map(|head| if head.starts_with('-') { "---" } else { "--:" }).collect();
        Self { out: format!("\n| {} |\n|{}|\n", names.join(" | "), rules.join("|")) }
    }

    pub(super) fn row(&mut self, cells: &[String]) {
        self.out.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
}

/// A name as code that a table cell can hold.
pub(super) fn code(text: &str) -> String {
    let text = short(text);
    if text.is_empty() {
        return "(no name)".to_owned();
    }
    if text.contains(['`', '|', '\\']) || text.starts_with(' ') || text.ends_with(' ') {
        return escaped(&text);
    }
    format!("`{text}`")
}

/// Text with everything that Markdown or HTML would act on escaped; code spans of our own sentences stay.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in harmless(text).chars() {
        if matches!(character, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '~' | '#' | '&' | '@') {
            out.push('\\');
        }
        out.push(character);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_break_out() {
        assert_eq!(code("get_file"), "`get_file`");
        assert_eq!(code("a|b"), "a\\|b");
        assert_eq!(code("x`y"), "x\\`y");
        assert_eq!(code("a\n| b |"), "a\\\\n\\| b \\|");
        assert_eq!(code(""), "(no name)");
        assert_eq!(escaped("<b>@team</b> [x](y)"), "\\<b\\>\\@team\\</b\\> \\[x\\](y)");
    }
}
