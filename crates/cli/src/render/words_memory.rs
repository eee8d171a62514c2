//! What the facts about memory files and skills are called, shared by text, Markdown and HTML.

use super::harmless::harmless;
use super::number::{bytes, count, thousands};
use super::words::{of_window, tok};
use deadweight_estimate::{Estimated, Tokens};
use deadweight_footprint::Price;
use deadweight_footprint::memory::{
    Anomaly, AnomalyKind, FileFootprint, ImportOutcome, MemoryFootprint, SectionFootprint,
};
use deadweight_profiles::by_id;
use deadweight_profiles::memory::memory_of;

/// An agent's name for people.
pub(crate) fn agent(id: &str) -> &str {
    by_id(id).map_or(id, |profile| profile.name)
}

/// The first line of a report, in its parts: whose, how many, how much.
pub(crate) fn headline(report: &MemoryFootprint, window: Option<u64>) -> Vec<String> {
    let mut parts = Vec::new();
    match (report.files.as_slice(), report.skills.len() as u64) {
        ([only], 0) => parts.push(only.path.clone()),
        (files, skills) => {
            let files = files.len() as u64;
            if files > 0 {
                parts.push(count(files, "memory file", "memory files"));
            }
            if skills > 0 {
                parts.push(count(skills, "skill", "skills"));
            }
        }
    }
    parts.push(format!("{} on every turn ({})", tok(report.total.tokens), bytes(report.total.bytes)));
    if window.is_some() {
        parts.push(of_window(report.total.tokens, window));
    }
    parts
}

/// What a section is called.
pub(crate) fn section(section: &SectionFootprint) -> String {
    match section.kind {
        "front_matter" => String::from("(front matter)"),
        "preamble" => String::from("(before the first heading)"),
        _ if section.title.is_empty() => String::from("(no title)"),
        _ => harmless(&section.title).into_owned(),
    }
}

/// Who loads a file: the agents that read it on their own, or the files that import it.
pub(crate) fn loaded_by(file: &FileFootprint) -> String {
    let mut importers: Vec<String> = Vec::new();
    let mut readers: Vec<&str> = Vec::new();
    for load in &file.loaded_by {
        match &load.imported_by {
            Some(by) => {
                let times =
                    if load.times > 1 { format!(" {}×", thousands(load.times)) } else { String::new() };
                let text = format!("imported by {}{times}", harmless(by));
                if !importers.contains(&text) {
                    importers.push(text);
                }
            }
            None if !readers.contains(&load.agent) => readers.push(load.agent),
            None => {}
        }
    }
    let mut parts: Vec<String> = readers.into_iter().map(|id| agent(id).to_owned()).collect();
    parts.extend(importers);
    parts.join(", ")
}

/// Sentences about what is in the numbers and not always sent, and about what is not in them.
pub(crate) fn remarks(report: &MemoryFootprint) -> Vec<String> {
    let mut out = Vec::new();
    for rules in report.agents.iter().filter_map(|total| memory_of(total.agent)) {
        if rules.leaves_out.is_none() {
            continue;
        }
        let of_agent =
            report.files.iter().filter(|file| file.loaded_by.iter().any(|load| load.agent == rules.agent));
        let (mut front, mut comments) = (Tokens::<Estimated>::ZERO, Tokens::<Estimated>::ZERO);
        for file in of_agent {
            front += file.front_matter.tokens;
            comments += file.comments.tokens;
        }
        let parts: Vec<String> = [("front matter", front), ("HTML comments on their own", comments)]
            .into_iter()
            .filter(|(_, tokens)| tokens.get() > 0)
            .map(|(what, tokens)| format!("{what} {}", tok(tokens)))
            .collect();
        if !parts.is_empty() {
            out.push(format!("Counted, though {} leaves it out: {}.", agent(rules.agent), parts.join(", ")));
        }
    }
    let asks = imports(report, ImportOutcome::Asks);
    if !asks.is_empty() {
        out.push(format!(
            "Not counted, because they lie outside the project and are loaded only once you agree: {}.",
            asks.join(", ")
        ));
    }
    let unlisted = report.skills.iter().filter(|skill| !skill.listed).count() as u64;
    if unlisted > 0 {
        out.push(format!(
            "{} not listed to the model: no tokens until called on.",
            count(unlisted, "skill is", "skills are")
        ));
    }
    out
}

fn imports(report: &MemoryFootprint, outcome: ImportOutcome) -> Vec<String> {
    let mut found: Vec<String> = report
        .files
        .iter()
        .flat_map(|file| file.imports.iter().map(move |import| (file, import)))
        .filter(|(_, import)| import.outcome == outcome)
        .map(|(file, import)| {
            format!("@{} ({}:{})", harmless(&import.written), harmless(&file.path), import.line)
        })
        .collect();
    found.sort();
    found
}

/// What is odd, one sentence each.
pub(crate) fn anomaly(anomaly: &Anomaly) -> String {
    let place = match anomaly.line {
        Some(line) => format!("{}:{line}", harmless(&anomaly.path)),
        None => harmless(&anomaly.path).into_owned(),
    };
    let detail = anomaly.detail.as_deref().map(|detail| harmless(detail).into_owned()).unwrap_or_default();
    match anomaly.kind {
        AnomalyKind::MissingImport => format!("{place}: {detail} leads to no file"),
        AnomalyKind::RefusedImport => format!("{place}: {detail} leads out of the project, and is refused"),
        AnomalyKind::TooDeepImport => format!("{place}: {detail} is an import too deep, and is not loaded"),
        AnomalyKind::NotImported => format!("{place}: {detail} is no kind of file that is imported"),
        AnomalyKind::UnreadableImport => format!("{place}: {detail} could not be read"),
        AnomalyKind::TooManyImports => format!("{place}: {detail} comes after too many imports"),
        AnomalyKind::CutOff => format!("{detail}: the rest is cut off"),
        AnomalyKind::MissingFrontMatter => format!("{place}: no front matter"),
        AnomalyKind::InvalidYaml => format!("{place}: its front matter is no YAML, and is read line by line"),
        AnomalyKind::MissingDescription => format!("{place}: no description"),
        AnomalyKind::WrongType => format!("{place}: its name or description is no text"),
        AnomalyKind::DuplicateKey => format!("{place}: a member given twice, of which the last counts"),
        AnomalyKind::DescriptionCut => format!("{place}: only the beginning of its description is listed"),
        _ => format!("{place}: {detail}"),
    }
}

/// Which sections are listed: the `top` heaviest by what they hold themselves, in the order of the file; and what
/// the others come to.
pub(crate) fn heaviest(file: &FileFootprint, top: usize) -> (Vec<&SectionFootprint>, u64, Price) {
    let mut order: Vec<usize> = (0..file.sections.len()).collect();
    order.sort_by_key(|&at| std::cmp::Reverse(file.sections.get(at).map_or(0, |section| section.bytes)));
    let (kept, dropped) = order.split_at(top.min(order.len()));
    let mut kept = kept.to_vec();
    kept.sort_unstable();
    let of = |order: &[usize]| -> Vec<&SectionFootprint> {
        order.iter().filter_map(|&at| file.sections.get(at)).collect()
    };
    let hidden = of(dropped);
    let price = Price {
        bytes: hidden.iter().map(|section| section.bytes).sum(),
        tokens: hidden.iter().map(|section| section.tokens).sum(),
    };
    (of(&kept), hidden.len() as u64, price)
}
