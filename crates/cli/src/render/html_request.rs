//! A report on a captured request as a section of a page.

use super::html::{bar, chart, figures, label, name, rect};
use super::number::{NONE, bytes, count, estimated, share, thousands};
use super::treemap::{Rect, layout};
use super::words;
use deadweight_footprint::request::{Part, RequestFootprint};
use maud::{Markup, html};

const FRAME: Rect = Rect { x: 0.0, y: 0.0, w: 1000.0, h: 520.0 };

/// The section; `id` is unique in the page.
pub(crate) fn section(id: &str, name_of: &str, report: &RequestFootprint, window: Option<u64>) -> Markup {
    html! {
        h1 { (super::harmless::short(name_of)) }
        p {
            "A request of the dialect " (report.dialect)
            @if let Some(model) = &report.model { " to " (name(model)) }
            @if let Some(agent) = report.agent { ", sent by " (agent) } "."
        }
        @if let Some(delta) = report.delta {
            p class="warn" { "There is no total, because " (words::delta(delta)) ": what the model reads is more than what stands here." }
        }
        (figures(&numbers(report, window)))
        (treemap(id, report))
        (slices(report))
        (origins(report))
        (tools(report))
        (blocks(report))
        (rest(report))
        p class="dim" { (words::basis(&report.basis)) }
    }
}

fn numbers(report: &RequestFootprint, window: Option<u64>) -> Vec<(String, String)> {
    let mut out = Vec::new();
    if let Some(total) = report.total {
        out.push((estimated(total.tokens.get()), "tokens in all".to_owned()));
        if let Some(window) = window {
            out.push((share(total.tokens.get(), window), format!("of a window of {}", thousands(window))));
        }
    }
    out.push((estimated(report.floor.tokens.get()), "tokens of system and tools, on every turn".to_owned()));
    if report.standing.content_bytes > 0 {
        out.push((estimated(report.standing.tokens.get()), "tokens of standing text beside them".to_owned()));
    }
    out.push((bytes(report.body_bytes), "sent".to_owned()));
    out
}

/// What one rectangle of the chart stands for.
struct Item {
    name: String,
    tokens: u64,
}

fn parts(report: &RequestFootprint) -> [(&'static str, Part); 4] {
    [
        ("system", report.slices.system),
        ("tools", report.slices.tools),
        ("history", report.slices.history),
        ("tail", report.slices.tail),
    ]
}

fn items(report: &RequestFootprint, slice: &str) -> Vec<Item> {
    let mut items: Vec<Item> = if slice == "tools" {
        report.tools.iter().map(|tool| Item { name: tool.name.clone(), tokens: tool.tokens.get() }).collect()
    } else {
        let own = report.blocks.iter().filter(|block| block.slice == slice);
        own.map(|block| Item {
            name: format!("{} × {}", thousands(block.count), block.kind.replace('_', " ")),
            tokens: block.tokens.get(),
        })
        .collect()
    };
    items.sort_by_key(|item| std::cmp::Reverse(item.tokens));
    items
}

fn treemap(id: &str, report: &RequestFootprint) -> Markup {
    let mut groups: Vec<(&str, u64)> = parts(report).map(|(slice, part)| (slice, part.tokens.get())).to_vec();
    groups.sort_by_key(|&(_, tokens)| std::cmp::Reverse(tokens));
    let sum: u64 = groups.iter().map(|group| group.1).sum();
    if sum == 0 {
        return html! {};
    }
    let places = layout(&groups.iter().map(|group| group.1).collect::<Vec<_>>(), FRAME);
    let shapes = html! {
        @for (&(slice, tokens), place) in groups.iter().zip(places) {
            @let inner = place.inset(3.0);
            @let (head, body) = inner.split_top(if inner.h > 60.0 && inner.w > 60.0 { 20.0 } else { 0.0 });
            @if head.h > 0.0 { (label(head, "group", slice, "")) }
            @let items = items(report, slice);
            @let places = layout(&items.iter().map(|item| item.tokens).collect::<Vec<_>>(), body);
            @if items.is_empty() && tokens > 0 { (rect(body, slice)) }
            @for (item, place) in items.iter().zip(places) {
                @let cell = place.inset(1.0);
                g {
                    title { (slice) ", " (super::harmless::short(&item.name)) ": " (estimated(item.tokens)) " tok" }
                    (rect(cell, slice))
                    (label(cell, "", &item.name, &estimated(item.tokens)))
                }
            }
        }
    };
    let (largest, tokens) = groups.first().copied().unwrap_or_default();
    let sentence = format!("The largest slice is {largest}, {} of all tokens.", share(tokens, sum));
    html! {
        h2 { "Where it is" }
        figure {
            (chart(id, "The request by weight", &sentence, FRAME, &shapes))
            figcaption {
                (sentence) br; "Area is tokens: "
                @for (slice, _) in parts(report) { span class=(format!("key b-{slice}")) {} (slice) " " }
            }
        }
    }
}

fn slices(report: &RequestFootprint) -> Markup {
    let heaviest = parts(report).iter().map(|(_, part)| part.tokens.get()).max().unwrap_or(0);
    let cells = |part: Part| {
        html! {
            td { (estimated(part.tokens.get())) } td { (words::pct(part.pct)) }
            td { (thousands(part.content_bytes)) } td { (thousands(part.wire_bytes)) }
        }
    };
    html! {
        h2 { "Slices" }
        div class="scroll" tabindex="0" {
            table {
                thead { tr {
                    th class="text" scope="col" { "slice" } th scope="col" { "tok" } th scope="col" { "share" }
                    th scope="col" { "read B" } th scope="col" { "sent B" } th scope="col" aria-hidden="true" {}
                } }
                tbody {
                    @for (slice, part) in parts(report) {
                        tr {
                            th class="text" scope="row" { span class=(format!("key b-{slice}")) {} (slice) }
                            (cells(part)) (bar(part.tokens.get(), heaviest, slice))
                        }
                    }
                    tr class="off" {
                        th class="text" scope="row" { "envelope" } td { (NONE) } td { (NONE) } td { (NONE) }
                        td { (thousands(report.envelope_bytes)) } td {}
                    }
                    tr class="sum" { th class="text" scope="row" { "floor: system + tools" } (cells(report.floor)) td {} }
                    @if let Some(total) = report.total {
                        tr class="sum" { th class="text" scope="row" { "total" } (cells(total)) td {} }
                    }
                }
            }
        }
        @if report.standing.content_bytes > 0 {
            p {
                span class="key b-standing" {} "Standing text, repeated on every turn beside the floor: "
                (words::tok(report.standing.tokens)) " ("
                @for (at, part) in report.standing.parts.iter().enumerate() {
                    @if at > 0 { ", " } (words::standing(part.kind)) " " (estimated(part.price.tokens.get()))
                } ")."
            }
        }
    }
}

fn origins(report: &RequestFootprint) -> Markup {
    if report.origins.is_empty() {
        return html! {};
    }
    let heaviest = report.origins.iter().map(|origin| origin.content_bytes).max().unwrap_or(0);
    html! {
        h2 { "Whose tools" }
        div class="scroll" tabindex="0" {
            table {
                thead { tr {
                    th class="text" scope="col" { "whose" } th scope="col" { "tok" } th scope="col" { "share" }
                    th scope="col" { "tools" } th scope="col" aria-hidden="true" {}
                } }
                tbody {
                    @for origin in &report.origins {
                        tr {
                            th class="text" scope="row" { (super::harmless::short(&words::origin(&origin.origin))) }
                            td { (estimated(origin.tokens.get())) } td { (words::pct(origin.pct)) }
                            td { (thousands(origin.tool_count)) } (bar(origin.content_bytes, heaviest, "tools"))
                        }
                    }
                }
            }
        }
    }
}

fn tools(report: &RequestFootprint) -> Markup {
    if report.tools.is_empty() {
        return html! {};
    }
    let heaviest = report.tools.iter().map(|tool| tool.content_bytes).max().unwrap_or(0);
    html! {
        h2 { "Tools" }
        div class="scroll" tabindex="0" {
            table {
                thead { tr {
                    th class="text" scope="col" { "tool" } th class="text" scope="col" { "whose" } th scope="col" { "tok" }
                    th scope="col" { "B" } th scope="col" { "share" } th scope="col" { "calls" } th scope="col" aria-hidden="true" {}
                } }
                tbody {
                    @for tool in &report.tools {
                        tr {
                            th class="text" scope="row" { (name(&tool.name)) }
                            td class="text" { (super::harmless::short(&words::origin(&tool.origin))) }
                            td { (estimated(tool.tokens.get())) } td { (thousands(tool.content_bytes)) }
                            td { (words::pct(tool.pct)) } td { (thousands(tool.calls)) }
                            (bar(tool.content_bytes, heaviest, "tools"))
                        }
                    }
                }
            }
        }
        @if !report.deferred.is_empty() {
            p { (count(report.deferred.len() as u64, "tool is", "tools are")) " deferred: sent, but not read until found." }
        }
    }
}

fn blocks(report: &RequestFootprint) -> Markup {
    if report.blocks.is_empty() {
        return html! {};
    }
    let heaviest = report.blocks.iter().map(|block| block.tokens.get()).max().unwrap_or(0);
    html! {
        h2 { "Blocks" }
        div class="scroll" tabindex="0" {
            table {
                thead { tr {
                    th class="text" scope="col" { "slice" } th class="text" scope="col" { "block" } th scope="col" { "count" }
                    th scope="col" { "tok" } th scope="col" { "read B" } th scope="col" aria-hidden="true" {}
                } }
                tbody {
                    @for block in &report.blocks {
                        tr {
                            td class="text" { span class=(format!("key b-{}", block.slice)) {} (block.slice) }
                            th class="text" scope="row" {
                                (block.kind.replace('_', " "))
                                @if let Some(own) = &block.type_name { " " (name(own)) }
                            }
                            td { (thousands(block.count)) } td { (estimated(block.tokens.get())) }
                            td { (thousands(block.content_bytes)) } (bar(block.tokens.get(), heaviest, block.slice))
                        }
                    }
                }
            }
        }
    }
}

fn rest(report: &RequestFootprint) -> Markup {
    html! {
        @if let Some(largest) = &report.largest {
            @if !largest.levers.is_empty() {
                h2 { "What could cut " (largest.slice) }
                ul { @for lever in largest.levers { li { b { (lever.name) } ": " (lever.does) } } }
            }
        }
        @if !report.anomalies.is_empty() {
            h2 class="warn" { "Odd in this request" }
            ul {
                @for anomaly in &report.anomalies {
                    li {
                        (anomaly.kind.replace('_', " ")) @if let Some(detail) = &anomaly.detail { " " (name(detail)) }
                        " at byte " (thousands(anomaly.offset))
                    }
                }
            }
        }
    }
}
