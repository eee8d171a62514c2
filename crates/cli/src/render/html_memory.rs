//! Memory files and skills as a section of a page.

use super::harmless::harmless;
use super::html::{bar, figures, name};
use super::number::{bytes, count, estimated, share, thousands};
use super::{words, words_memory};
use deadweight_footprint::memory::{FileFootprint, MemoryFootprint};
use maud::{Markup, html};

/// The section.
pub(crate) fn section(report: &MemoryFootprint, window: Option<u64>) -> Markup {
    let title = words_memory::headline(report, None).into_iter().next().unwrap_or_default();
    let mut numbers = vec![
        (estimated(report.total.tokens.get()), String::from("tokens on every turn")),
        (bytes(report.total.bytes), String::from("as text")),
    ];
    if let Some(window) = window {
        let of = format!("of a window of {}", thousands(window));
        numbers.push((share(report.total.tokens.get(), window), of));
    }
    if !report.skills.is_empty() && !report.files.is_empty() {
        let what = format!("tokens of {}", count(report.skills.len() as u64, "skill", "skills"));
        numbers.push((estimated(report.skill_listings.tokens.get()), what));
    }
    html! {
        h1 { (harmless(&title)) }
        p { "What memory files and skills add to every request." }
        (figures(&numbers))
        @if report.agents.len() > 1 {
            h2 { "Who carries it" }
            div class="scroll" tabindex="0" { table {
                thead { tr {
                    th class="text" scope="col" { "agent" } th scope="col" { "tok" }
                    th scope="col" { "files" } th scope="col" { "skills" }
                } }
                tbody { @for total in &report.agents { tr {
                    th class="text" scope="row" { (words_memory::agent(total.agent)) }
                    td { (estimated((total.memory.tokens + total.skill_listings.tokens).get())) }
                    td { (thousands(total.files)) } td { (thousands(total.skills)) }
                } } }
            } }
        }
        @for file in &report.files { (file_section(file, report)) }
        @if !report.skills.is_empty() { (skills(report)) }
        @for remark in words_memory::remarks(report) { p { (remark) } }
        @if !report.anomalies.is_empty() {
            h2 { "Odd in these files" }
            ul class="warn" { @for anomaly in &report.anomalies { li { (words_memory::anomaly(anomaly)) } } }
        }
        @if !report.failures.is_empty() {
            h2 { "Not read" }
            ul class="bad" {
                @for failure in &report.failures { li { (name(&failure.path)) ": " (harmless(&failure.reason)) } }
            }
        }
        p class="dim" { (words::basis(&report.basis)) }
    }
}

fn file_section(file: &FileFootprint, report: &MemoryFootprint) -> Markup {
    let widest = file.sections.iter().map(|section| section.bytes).max().unwrap_or(0);
    let part = share(file.bytes, report.memory.bytes);
    html! {
        h2 { (name(&file.path)) }
        p class="dim" {
            (estimated(file.tokens.get())) " tokens, " (bytes(file.bytes))
            @if report.files.len() > 1 { ", " (part) " of the memory files" }
            ". Loaded by " (words_memory::loaded_by(file)) ". Bars show what each section holds itself."
        }
        div class="scroll" tabindex="0" { table {
            thead { tr {
                th class="text" scope="col" { "section" } th scope="col" { "own tok" }
                th scope="col" { "with below" } th scope="col" { "B" } th scope="col" { "line" }
                th scope="col" aria-hidden="true" {}
            } }
            tbody { @for section in &file.sections { tr {
                th class="text" scope="row" style=(format!("padding-left:{}em", section.depth.min(6))) {
                    bdi { (words_memory::section(section)) }
                }
                td { (estimated(section.tokens.get())) }
                td { (estimated(section.inclusive_tokens.get())) }
                td { (thousands(section.bytes)) } td { (thousands(section.line)) }
                (bar(section.bytes, widest, "standing"))
            } } }
        } }
    }
}

fn skills(report: &MemoryFootprint) -> Markup {
    let widest = report.skills.iter().map(|skill| skill.bytes).max().unwrap_or(0);
    html! {
        h2 { "Skills" }
        p class="dim" { "Names and descriptions are in every request; the rest of a skill is read when it is used." }
        div class="scroll" tabindex="0" { table {
            thead { tr {
                th class="text" scope="col" { "skill" } th class="text" scope="col" { "where" }
                th scope="col" { "tok" } th scope="col" { "B" } th scope="col" { "B when used" }
                th scope="col" aria-hidden="true" {}
            } }
            tbody { @for skill in &report.skills { tr class=(if skill.listed { "" } else { "off" }) {
                th class="text" scope="row" {
                    @if skill.listed { (name(&skill.name)) } @else { "not listed" }
                }
                td class="text" { (name(&skill.path)) }
                td { (estimated(skill.tokens.get())) } td { (thousands(skill.bytes)) }
                td { (thousands(skill.file_bytes)) }
                (bar(skill.bytes, widest, "standing"))
            } } }
        } }
    }
}
