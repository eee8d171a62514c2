//! A report on a catalogue as a section of a page.

use super::html::{bar, chart, figures, label, name, rect};
use super::number::{NONE, bytes, count, estimated, share, thousands};
use super::treemap::{Rect, layout};
use super::words;
use deadweight_footprint::advice::AdviceKind;
use deadweight_footprint::catalogue::{CatalogueFootprint, ToolFootprint};
use maud::{Markup, html};

const FRAME: Rect = Rect { x: 0.0, y: 0.0, w: 1000.0, h: 520.0 };

/// The section.
pub(crate) fn section(report: &CatalogueFootprint, listed: usize, window: Option<u64>) -> Markup {
    let headline = words::headline(report, None);
    let whose = headline.first().cloned().unwrap_or_default();
    html! {
        h1 { (super::harmless::short(&whose)) }
        p { "What " @if report.servers.len() == 1 { "this server's tools add" } @else { "these servers' tools add" } " to every request." }
        (figures(&numbers(report, window)))
        @if !report.failures.is_empty() { (failures(report)) }
        @if report.tools.iter().any(|tool| tool.bytes > 0) { (treemap(report)) }
        @if report.servers.len() > 1 { (servers(report)) }
        (tools(report, listed))
        (advice(report))
        (beside(report))
        p class="dim" { (words::basis(&report.basis)) }
    }
}

fn numbers(report: &CatalogueFootprint, window: Option<u64>) -> Vec<(String, String)> {
    let mut out = vec![
        (estimated(report.floor_tokens.get()), "tokens on every turn".to_owned()),
        (bytes(report.floor_bytes), "of names, descriptions and schemas".to_owned()),
        (thousands(report.tool_count), if report.tool_count == 1 { "tool" } else { "tools" }.to_owned()),
    ];
    if let Some(window) = window {
        out.push((share(report.floor_tokens.get(), window), format!("of a window of {}", thousands(window))));
    }
    if report.savings.tokens.get() > 0 {
        out.push((estimated(report.savings.tokens.get()), "tokens could be saved".to_owned()));
    }
    out
}

fn failures(report: &CatalogueFootprint) -> Markup {
    html! {
        h2 class="bad" { "Not measured" }
        p { "These are missing from every number on this page." }
        ul { @for failure in &report.failures { li { (name(&failure.server)) ": " (super::harmless::harmless(&failure.reason)) } } }
    }
}

fn treemap(report: &CatalogueFootprint) -> Markup {
    let sentence = sentence(report);
    let grouped = report.servers.len() > 1;
    let groups: Vec<(&str, u64, Vec<&ToolFootprint>)> = report
        .servers
        .iter()
        .map(|server| {
            let mut own: Vec<&ToolFootprint> =
                report.tools.iter().filter(|tool| tool.server == server.server).collect();
            own.sort_by_key(|tool| std::cmp::Reverse(tool.bytes));
            (server.server.as_str(), server.bytes, own)
        })
        .collect();
    let weights: Vec<u64> = groups.iter().map(|group| group.1).collect();
    let places = layout(&weights, FRAME);
    let shapes = html! {
        @for ((server, weight, tools), place) in groups.iter().zip(places) {
            @let inner = if grouped { place.inset(3.0) } else { place };
            @let (head, body) = if grouped && inner.h > 60.0 && inner.w > 60.0 { inner.split_top(20.0) } else { inner.split_top(0.0) };
            @if head.h > 0.0 { (label(head, "group", server, &bytes(*weight))) }
            @for (tool, place) in tools.iter().zip(layout(&tools.iter().map(|tool| tool.bytes).collect::<Vec<_>>(), body)) {
                (cell(tool, place.inset(1.0)))
            }
        }
    };
    html! {
        h2 { "Where it is" }
        figure {
            (chart("map", "Tools by weight", &sentence, FRAME, &shapes))
            figcaption {
                (sentence) br; "Area is bytes: "
                span class="key b-tools-soft" {} "name and description, "
                span class="key b-tools" {} "schema."
            }
        }
    }
}

fn cell(tool: &ToolFootprint, place: Rect) -> Markup {
    let spoken = (tool.bytes - tool.schema_bytes.min(tool.bytes)) as f64 / tool.bytes.max(1) as f64;
    let (text, schema) = place.split_long(spoken);
    let detail = format!(
        "{}: {} ({} B): description {}, schema {}",
        super::harmless::short(&tool.name),
        words::tok(tool.tokens),
        thousands(tool.bytes),
        estimated(tool.description_tokens.get()),
        estimated(tool.schema_tokens.get()),
    );
    html! {
        g {
            title { (detail) }
            (rect(text, "tools-soft"))
            (rect(schema, "tools"))
            (label(place, "", &tool.name, &estimated(tool.tokens.get())))
        }
    }
}

/// What the chart shows, in a sentence.
fn sentence(report: &CatalogueFootprint) -> String {
    let mut heaviest: Vec<&ToolFootprint> = report.tools.iter().collect();
    heaviest.sort_by_key(|tool| std::cmp::Reverse(tool.bytes));
    let half = {
        let mut sum = 0;
        heaviest
            .iter()
            .take_while(|tool| {
                let before = sum;
                sum += tool.bytes;
                before * 2 < report.floor_bytes
            })
            .count()
    };
    let first =
        heaviest.first().map(|tool| super::harmless::short(&tool.name).into_owned()).unwrap_or_default();
    let schemas = share(report.schemas.bytes, report.floor_bytes);
    let halves = match half {
        1 => format!("One tool, {first}, makes up half of the load or more."),
        half => format!(
            "{} of {} make up half of the load; the heaviest is {first}.",
            thousands(half as u64),
            count(report.tool_count, "tool", "tools")
        ),
    };
    format!("{halves} Schemas are {schemas} of it.")
}

fn servers(report: &CatalogueFootprint) -> Markup {
    let heaviest = report.servers.iter().map(|server| server.bytes).max().unwrap_or(0);
    html! {
        h2 { "Servers" }
        div class="scroll" tabindex="0" {
            table {
                thead { tr {
                    th class="text" scope="col" { "server" } th scope="col" { "tok" } th scope="col" { "B" }
                    th scope="col" { "share" } th scope="col" { "tools" } th scope="col" aria-hidden="true" {}
                } }
                tbody {
                    @for server in &report.servers {
                        tr {
                            th class="text" scope="row" { (name(&words::title(&server.server, server.name.as_deref(), server.version.as_deref()))) }
                            td { (estimated(server.tokens.get())) } td { (thousands(server.bytes)) }
                            td { (share(server.bytes, report.floor_bytes)) } td { (thousands(server.tool_count)) }
                            (bar(server.bytes, heaviest, "tools"))
                        }
                    }
                    @for failure in &report.failures {
                        tr class="off" { th class="text" scope="row" { (name(&failure.server)) " — not measured" }
                            td { (NONE) } td { (NONE) } td { (NONE) } td { (NONE) } td {} }
                    }
                }
            }
        }
    }
}

fn tools(report: &CatalogueFootprint, listed: usize) -> Markup {
    let heaviest = report.tools.iter().map(|tool| tool.bytes).max().unwrap_or(0);
    let several = report.servers.len() > 1;
    let listed = listed.min(report.tools.len());
    html! {
        h2 { "Tools" }
        div class="scroll" tabindex="0" {
            table {
                @if listed < report.tools.len() { caption { "The first " (thousands(listed as u64)) " of " (thousands(report.tool_count)) "." } }
                thead { tr {
                    th class="text" scope="col" { "tool" } @if several { th class="text" scope="col" { "server" } }
                    th scope="col" { "tok" } th scope="col" { "B" } th scope="col" { "share" }
                    th scope="col" { "description" } th scope="col" { "schema" } th scope="col" aria-hidden="true" {}
                } }
                tbody {
                    @for tool in &report.tools[..listed] {
                        tr {
                            th class="text" scope="row" { (name(&tool.name)) }
                            @if several { td class="text" { (name(&tool.server)) } }
                            td { (estimated(tool.tokens.get())) } td { (thousands(tool.bytes)) }
                            td { (share(tool.bytes, report.floor_bytes)) }
                            td { (thousands(tool.description_tokens.get())) } td { (thousands(tool.schema_tokens.get())) }
                            (bar(tool.bytes, heaviest, "tools"))
                        }
                    }
                }
            }
        }
    }
}

fn advice(report: &CatalogueFootprint) -> Markup {
    let of =
        |kind: AdviceKind| report.advice.iter().filter(move |entry| entry.kind == kind).collect::<Vec<_>>();
    let (saves, breaks) = (of(AdviceKind::Saves), of(AdviceKind::Breaks));
    html! {
        @if !saves.is_empty() {
            h2 { "What could go" }
            @if report.savings.tokens.get() > 0 {
                p { "All of it together: " (words::tok(report.savings.tokens)) " (" (bytes(report.savings.bytes)) "), each part counted once." }
            }
            ul { @for entry in &saves { (advised(entry)) } }
        }
        @if !breaks.is_empty() {
            h2 class="warn" { "Some clients will stumble" }
            ul { @for entry in &breaks { (advised(entry)) } }
        }
        @if !report.anomalies.is_empty() {
            h2 class="warn" { "Odd in this list" }
            ul {
                @for anomaly in &report.anomalies {
                    li {
                        (name(if anomaly.tool.is_empty() { &anomaly.server } else { &anomaly.tool })) ": " (words::anomaly(anomaly.kind))
                        @if let Some(detail) = &anomaly.detail { " (" (super::harmless::short(detail)) ")" }
                    }
                }
            }
        }
    }
}

fn advised(entry: &deadweight_footprint::advice::Advice) -> Markup {
    html! {
        li {
            (name(&entry.server)) ": " (words::rule(entry.rule, entry.tool_count))
            @if entry.tokens.get() > 0 { ", " (words::tok(entry.tokens)) @if !entry.in_floor { " beside the floor" } }
            ". " span class="dim" { (entry.reason) }
            details {
                summary { (count(entry.tools.len() as u64, "tool", "tools")) }
                ul {
                    @for tool in &entry.tools {
                        li {
                            (name(&tool.name)) @if tool.tokens.get() > 0 { " " (estimated(tool.tokens.get())) }
                            @if let Some(detail) = &tool.detail { " — " (super::harmless::short(detail)) }
                        }
                    }
                }
            }
        }
    }
}

fn beside(report: &CatalogueFootprint) -> Markup {
    let served = words::also_served(report);
    html! { @if !served.is_empty() { h2 { "Also served, not counted" } p { (served.join(", ")) "." } } }
}
