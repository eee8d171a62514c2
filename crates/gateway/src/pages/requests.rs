//! The requests behind a number.

use super::model::{LINES, Requests};
use super::query::Query;
use super::shell::{
    Here, basis, brief, filters, head, here_with, maybe, name, page, pager, ranges, request_href, scroll,
    session_href, when,
};
use super::words;
use deadweight_present::harmless::short;
use deadweight_present::money::estimated_usd;
use deadweight_present::number::{NONE, count, estimated, thousands};
use deadweight_present::time::span;
use deadweight_store::Exchange;
use maud::{Markup, html};

/// The filters that can be taken out.
const FILTERS: [(&str, &str); 10] = [
    ("session", "session"),
    ("conversation", "conversation"),
    ("agent", "agent"),
    ("model", "model"),
    ("provider", "provider"),
    ("class", "class"),
    ("ended", "ended"),
    ("tool", "carries the tool"),
    ("server", "carries tools of"),
    ("failed", "failed"),
];

pub(crate) fn render(model: &Requests, query: &Query) -> String {
    let any = query.get("kind") == Some("any");
    let body = html! {
        div class="title" { h1 { "Requests" } (ranges(query, model.range)) }
        p {
            (count(model.count, if any { "request" } else { "turn" }, if any { "requests" } else { "turns" })) " " (model.range.words()) ". "
            @if any { a href=(here_with(query, "kind", None)) { "Only turns of a model" } }
            @else { a href=(here_with(query, "kind", Some("any"))) { "Other requests too" } }
            " · "
            @if query.get("failed").is_some() { a href=(here_with(query, "failed", None)) { "Not only failed ones" } }
            @else { a href=(here_with(query, "failed", Some("1"))) { "Only failed ones" } }
        }
        (filters(query, &FILTERS))
        @if model.requests.is_empty() {
            div class="empty" { p { "No request fits. Take out a filter, or look further back." } }
        } @else {
            (table(&model.requests, query, model.range.now_ms))
            (pager(query, model.page, model.count > u64::from(model.page) * u64::from(LINES)))
        }
        (basis(&model.basis))
    };
    page(Here::Requests, "Requests", &body)
}

fn table(requests: &[Exchange], query: &Query, now_ms: u64) -> Markup {
    let now = query.get("order").unwrap_or("newest");
    let table = html! {
        table {
            thead { tr {
                (head(query, "when", Some("newest"), now, false))
                th class="text" scope="col" { "request" } th class="text" scope="col" { "session" } th class="text" scope="col" { "model" }
                th class="text" scope="col" { "what happened" }
                (head(query, "read anew", Some("lost"), now, false)) (head(query, "tokens in", Some("tokens"), now, false))
                th scope="col" { "read" } (head(query, "written", Some("written"), now, false))
                (head(query, "cost", Some("money"), now, false)) (head(query, "took", Some("slowest"), now, false))
            } }
            tbody { @for one in requests { (line(one, now_ms)) } }
        }
    };
    scroll("Requests", &table)
}

fn line(one: &Exchange, now_ms: u64) -> Markup {
    let (how, fine) = words::ended(one);
    let lost = one.cache.as_ref().map_or(0, |cache| cache.lost_tokens);
    html! {
        tr data-key=(short(&one.id)) {
            td { (when(one.at_ms, now_ms)) }
            th class="text" scope="row" { a href=(request_href(&one.id)) { (brief(&one.id, 8)) } }
            td class="text" {
                @if one.session.is_empty() { "—" } @else { a href=(session_href(&one.session)) { (brief(&one.session, 8)) } }
                @if let Some(turn) = one.turn { " turn " (thousands(turn)) }
            }
            td class="text" { @match &one.model { Some(of) => (name(of)), None => (short(&one.path)) } }
            td class="text" {
                @if !fine { span class="bad" { (short(&how)) } " " }
                @if let Some(cache) = &one.cache { span class=[(lost > 0).then_some("warn").or(Some("dim"))] { (words::class(&cache.class)) } }
                @if one.receipt.changed() { " " span class="edited" { "edited" } }
            }
            td class=[(lost > 0).then_some("warn")] { @if lost > 0 { (estimated(lost)) } @else { "0" } }
            td {
                @match (one.usage.prompt, &one.footprint) {
                    (Some(prompt), _) => (thousands(prompt)),
                    (None, Some(footprint)) => (estimated(footprint.sent())),
                    _ => (NONE),
                }
            }
            td { (maybe(one.usage.cache_read)) }
            td { (maybe(one.usage.cache_write())) }
            td { (one.cost.as_ref().map_or_else(|| NONE.to_owned(), |cost| estimated_usd(cost.total()))) }
            td { (span(one.ended.took_us / 1_000)) }
        }
    }
}
