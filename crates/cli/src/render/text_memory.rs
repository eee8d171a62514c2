//! A report on memory files and skills for a terminal.

use super::harmless::harmless;
use super::number::{estimated, share, thousands};
use super::style::{BAR, DIM, FAILED, NEEDS_YOU, STRONG, paint};
use super::table::{Cell, Column, Table, wrap};
use super::text::{View, name, paint_lines};
use super::{words, words_memory};
use deadweight_footprint::memory::{FileFootprint, MemoryFootprint};

/// How many odd things are named one by one.
const NAMED: usize = 10;

/// The whole report; of each file and of the skills, `listed(all)` lines are listed.
pub(crate) fn memory(report: &MemoryFootprint, listed: &dyn Fn(usize) -> usize, view: &View) -> String {
    let mut out = headline(report, view);
    if view.quiet {
        return out;
    }
    if report.agents.len() > 1 {
        out.push('\n');
        out.push_str(&agents(report, view));
    }
    if report.files.len() > 1 || (!report.files.is_empty() && !report.skills.is_empty()) {
        out.push('\n');
        out.push_str(&files(report, view));
    }
    for file in &report.files {
        out.push('\n');
        if report.files.len() > 1 {
            out.push_str(&format!("  {}\n", paint(&name(&file.path), STRONG)));
        }
        out.push_str(&sections(file, listed(file.sections.len()), view));
    }
    if !report.skills.is_empty() {
        out.push('\n');
        out.push_str(&skills(report, listed(report.skills.len()), view));
    }
    out.push('\n');
    for remark in words_memory::remarks(report) {
        out.push_str(&view.sentence(&remark));
    }
    out.push_str(&odd(report, view));
    out.push_str(&paint_lines(&view.sentence(&words::basis(&report.basis)), DIM));
    out
}

fn headline(report: &MemoryFootprint, view: &View) -> String {
    let mut parts = words_memory::headline(report, view.window);
    let total = parts.len() - if view.window.is_some() { 2 } else { 1 };
    for (at, part) in parts.iter_mut().enumerate() {
        if at == 0 {
            *part = paint(&harmless(part), STRONG);
        } else if at == total {
            *part = paint(part, STRONG);
        }
    }
    if !report.failures.is_empty() {
        parts.push(paint(&format!("{} not read", report.failures.len()), FAILED));
    }
    wrap(&parts.join(" · "), 2, 4, view.screen.sentence().max(60))
}

fn agents(report: &MemoryFootprint, view: &View) -> String {
    let mut table = Table::new(
        &[
            ("tok", Column::Number),
            ("files", Column::Number),
            ("skills", Column::Number),
            ("carried by", Column::Name),
        ],
        DIM,
    );
    for total in &report.agents {
        table.row(vec![
            estimated((total.memory.tokens + total.skill_listings.tokens).get()).into(),
            thousands(total.files).into(),
            thousands(total.skills).into(),
            words_memory::agent(total.agent).into(),
        ]);
    }
    view.table(&table)
}

fn files(report: &MemoryFootprint, view: &View) -> String {
    let mut table = Table::new(
        &[
            ("tok", Column::Number),
            ("B", Column::Number),
            ("share", Column::Number),
            ("file", Column::Name),
            ("loaded by", Column::Name),
        ],
        DIM,
    );
    let heaviest = report.files.iter().map(|file| file.bytes).max().unwrap_or(0);
    for file in &report.files {
        let cells = vec![
            estimated(file.tokens.get()).into(),
            thousands(file.bytes).into(),
            share(file.bytes, report.memory.bytes).into(),
            name(&file.path).into(),
            Cell::from(words_memory::loaded_by(file)).styled(DIM),
        ];
        table.row_with_bar(cells, file.bytes, heaviest, BAR);
    }
    view.table(&table)
}

fn sections(file: &FileFootprint, top: usize, view: &View) -> String {
    let mut table = Table::new(
        &[
            ("own tok", Column::Number),
            ("with below", Column::Number),
            ("B", Column::Number),
            ("line", Column::Number),
            ("section", Column::Name),
        ],
        DIM,
    );
    let (kept, unlisted, hidden) = words_memory::heaviest(file, top);
    let widest = file.sections.iter().map(|section| section.bytes).max().unwrap_or(0);
    for section in kept {
        let below = section.inclusive_bytes > section.bytes;
        let cells = vec![
            estimated(section.tokens.get()).into(),
            if below { estimated(section.inclusive_tokens.get()) } else { String::new() }.into(),
            thousands(section.bytes).into(),
            thousands(section.line).into(),
            Cell::from(format!(
                "{}{}",
                "  ".repeat(usize::try_from(section.depth).unwrap_or_default().min(6)),
                words_memory::section(section)
            )),
        ];
        table.row_with_bar(cells, section.bytes, widest, BAR);
    }
    if unlisted > 0 {
        table.row(
            [
                estimated(hidden.tokens.get()),
                String::new(),
                thousands(hidden.bytes),
                String::new(),
                format!("{} lighter sections (--top 0 shows all)", thousands(unlisted)),
            ]
            .into_iter()
            .map(|text| Cell::from(text).styled(DIM))
            .collect(),
        );
    }
    view.table(&table)
}

fn skills(report: &MemoryFootprint, top: usize, view: &View) -> String {
    let mut table = Table::new(
        &[
            ("tok", Column::Number),
            ("B", Column::Number),
            ("skill", Column::Name),
            ("when used", Column::Number),
            ("where", Column::Name),
        ],
        DIM,
    );
    let heaviest = report.skills.iter().map(|skill| skill.bytes).max().unwrap_or(0);
    let (kept, dropped) = report.skills.split_at(top.min(report.skills.len()));
    for skill in kept {
        let shown = if skill.listed { name(&skill.name) } else { String::from("(not listed)") };
        let cells = vec![
            estimated(skill.tokens.get()).into(),
            thousands(skill.bytes).into(),
            shown.into(),
            format!("{} B", thousands(skill.file_bytes)).into(),
            Cell::from(name(&skill.path)).styled(DIM),
        ];
        table.row_with_bar(cells, skill.bytes, heaviest, BAR);
    }
    if !dropped.is_empty() {
        let tokens = dropped.iter().map(|skill| skill.tokens).sum::<deadweight_estimate::Tokens<_>>();
        let bytes = dropped.iter().map(|skill| skill.bytes).sum();
        let more = format!("{} more skills (--top 0 shows all)", thousands(dropped.len() as u64));
        let cells = [estimated(tokens.get()), thousands(bytes), more];
        let mut cells: Vec<Cell> = cells.into_iter().map(|text| Cell::from(text).styled(DIM)).collect();
        if let Some(last) = cells.pop() {
            cells.push(last.running_on());
        }
        table.row(cells);
    }
    view.table(&table)
}

fn odd(report: &MemoryFootprint, view: &View) -> String {
    let shown = if view.verbose { report.anomalies.len() } else { NAMED };
    let mut out = String::new();
    for anomaly in report.anomalies.iter().take(shown) {
        out.push_str(&paint_lines(&view.sentence(&words_memory::anomaly(anomaly)), NEEDS_YOU));
    }
    let more = report.anomalies.len().saturating_sub(shown);
    if more > 0 {
        let more = format!("{} more like these (--verbose shows all)", thousands(more as u64));
        out.push_str(&paint_lines(&view.sentence(&more), NEEDS_YOU));
    }
    out
}
