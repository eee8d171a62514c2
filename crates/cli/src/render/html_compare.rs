//! Two footprints side by side as a section of a page.

use super::html::{bar, figures, name};
use super::number::{NONE, estimated, signed, thousands};
use super::words;
use deadweight_footprint::Price;
use deadweight_footprint::compare::Comparison;
use maud::{Markup, html};

/// The section.
pub(crate) fn section(report: &Comparison) -> Markup {
    let price =
        |price: Option<Price>| price.map_or_else(|| NONE.to_owned(), |price| estimated(price.tokens.get()));
    let numbers = [
        (
            estimated(report.base.tokens.get()),
            format!("tokens on every turn: {}", super::harmless::short(&report.base.label)),
        ),
        (
            estimated(report.now.tokens.get()),
            format!("tokens on every turn: {}", super::harmless::short(&report.now.label)),
        ),
        (signed(report.delta.tokens), "tokens of change".to_owned()),
    ];
    let widest = report.tools.iter().map(|tool| tool.delta.tokens.unsigned_abs()).max().unwrap_or(0);
    let several = report.tools.iter().any(|tool| tool.server.is_some());
    let counts = &report.counts;
    html! {
        h1 { (super::harmless::short(&report.base.label)) " → " (super::harmless::short(&report.now.label)) }
        p {
            (thousands(counts.added)) " new, " (thousands(counts.removed)) " gone, " (thousands(counts.changed)) " changed, "
            (thousands(counts.unchanged)) " unchanged."
        }
        @if !report.comparable { p class="warn" { "The two sides were counted by different estimators: the changes mean nothing." } }
        (figures(&numbers))
        @if !report.slices.is_empty() {
            h2 { "Slices" }
            div class="scroll" tabindex="0" { table {
                thead { tr { th class="text" scope="col" { "slice" } th scope="col" { "base" } th scope="col" { "now" } th scope="col" { "delta" } } }
                tbody {
                    @for slice in &report.slices {
                        tr {
                            th class="text" scope="row" { (slice.slice) } td { (price(slice.base)) } td { (price(slice.now)) }
                            td { (slice.delta.map_or_else(|| NONE.to_owned(), |delta| signed(delta.tokens))) }
                        }
                    }
                }
            } }
        }
        h2 { "Tools that moved" }
        p class="dim" {
            "Bars show how far each tool moved: " span class="key b-standing" {} "more than before, "
            span class="key b-tail" {} "less."
        }
        div class="scroll" tabindex="0" { table {
            thead { tr {
                th class="text" scope="col" { "tool" } @if several { th class="text" scope="col" { "server" } }
                th scope="col" { "base" } th scope="col" { "now" } th scope="col" { "delta" }
                th class="text" scope="col" {} th scope="col" aria-hidden="true" {}
            } }
            tbody {
                @for tool in &report.tools {
                    tr {
                        th class="text" scope="row" { (name(&tool.name)) }
                        @if several { td class="text" { (tool.server.as_deref().map(name).unwrap_or_default()) } }
                        td { (price(tool.base)) } td { (price(tool.now)) }
                        td class=(if tool.delta.tokens > 0 { "warn" } else { "" }) { (signed(tool.delta.tokens)) }
                        td class="text dim" { (super::text_compare::state(tool)) }
                        (bar(tool.delta.tokens.unsigned_abs(), widest, if tool.delta.tokens > 0 { "standing" } else { "tail" }))
                    }
                }
            }
        } }
        p class="dim" { (words::basis(&report.basis)) }
    }
}
