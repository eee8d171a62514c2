//! Memory files and skills as Markdown.

use super::markdown::{Table, code, escaped};
use super::number::{estimated, share, thousands};
use super::{words, words_memory};
use deadweight_footprint::memory::MemoryFootprint;

/// The report; of each file and of the skills, `listed(all)` lines are listed.
pub(crate) fn memory(
    report: &MemoryFootprint,
    listed: &dyn Fn(usize) -> usize,
    window: Option<u64>,
) -> String {
    let mut parts = words_memory::headline(report, window);
    if let Some(first) = parts.first_mut() {
        *first = format!("**{}**", escaped(first));
    }
    if !report.failures.is_empty() {
        parts.push(format!("**{} not read**", report.failures.len()));
    }
    let mut out = format!("{}\n", parts.join(" · "));
    if report.agents.len() > 1 {
        let mut table = Table::new(&["-carried by", "tok", "files", "skills"]);
        for total in &report.agents {
            table.row(&[
                escaped(words_memory::agent(total.agent)),
                estimated((total.memory.tokens + total.skill_listings.tokens).get()),
                thousands(total.files),
                thousands(total.skills),
            ]);
        }
        out.push_str(&table.out);
    }
    if report.files.len() > 1 {
        let mut table = Table::new(&["-file", "tok", "B", "share", "-loaded by"]);
        for file in &report.files {
            table.row(&[
                code(&file.path),
                estimated(file.tokens.get()),
                thousands(file.bytes),
                share(file.bytes, report.memory.bytes),
                escaped(&words_memory::loaded_by(file)),
            ]);
        }
        out.push_str(&table.out);
    }
    for file in &report.files {
        if report.files.len() > 1 {
            out.push_str(&format!("\n{}\n", code(&file.path)));
        }
        let mut table = Table::new(&["-section", "own tok", "with below", "B", "line"]);
        let (kept, unlisted, hidden) = words_memory::heaviest(file, listed(file.sections.len()));
        for section in kept {
            let depth = usize::try_from(section.depth).unwrap_or_default();
            table.row(&[
                format!("{}{}", "&emsp;".repeat(depth.min(6)), escaped(&words_memory::section(section))),
                estimated(section.tokens.get()),
                estimated(section.inclusive_tokens.get()),
                thousands(section.bytes),
                thousands(section.line),
            ]);
        }
        if unlisted > 0 {
            table.row(&[
                format!("{} lighter sections", thousands(unlisted)),
                estimated(hidden.tokens.get()),
                String::new(),
                thousands(hidden.bytes),
                String::new(),
            ]);
        }
        out.push_str(&table.out);
    }
    if !report.skills.is_empty() {
        let mut table = Table::new(&["-skill", "tok", "B", "B when used", "-where"]);
        let (kept, dropped) = report.skills.split_at(listed(report.skills.len()).min(report.skills.len()));
        for skill in kept {
            table.row(&[
                if skill.listed { code(&skill.name) } else { String::from("(not listed)") },
                estimated(skill.tokens.get()),
                thousands(skill.bytes),
                thousands(skill.file_bytes),
                code(&skill.path),
            ]);
        }
        if !dropped.is_empty() {
            let tokens = dropped.iter().map(|skill| skill.tokens).sum::<deadweight_estimate::Tokens<_>>();
            table.row(&[
                format!("{} more skills", thousands(dropped.len() as u64)),
                estimated(tokens.get()),
                thousands(dropped.iter().map(|skill| skill.bytes).sum()),
                String::new(),
                String::new(),
            ]);
        }
        out.push_str(&table.out);
    }
    for remark in words_memory::remarks(report) {
        out.push_str(&format!("\n{}\n", escaped(&remark)));
    }
    if !report.anomalies.is_empty() {
        out.push('\n');
        for anomaly in &report.anomalies {
            out.push_str(&format!("- {}\n", escaped(&words_memory::anomaly(anomaly))));
        }
    }
    if !report.failures.is_empty() {
        out.push_str("\nNot read, and missing from every number above:\n\n");
        for failure in &report.failures {
            out.push_str(&format!("- {}: {}\n", code(&failure.path), escaped(&failure.reason)));
        }
    }
    out.push_str(&format!("\n<sub>{}</sub>\n", escaped(&words::basis(&report.basis))));
    out
}
