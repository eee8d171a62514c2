//! What each tool weighs: tokens times turns, beside what it was used for.

use super::model::{Tools, calls, whose};
use super::query::Query;
use super::sessions::choices;
use super::shell::{
    Here, ROOT, bar, basis, filters, head, here_with, name, page, ranges, requests_href, scroll, when,
};
use super::words;
use deadweight_present::harmless::short;
use deadweight_present::money::estimated_usd;
use deadweight_present::number::{NONE, count, estimated, share, thousands};
use deadweight_store::{Billed, Origin};
use maud::{Markup, html};

/// How many tools are listed at once.
const LISTED: usize = 200;

pub(crate) fn render(model: &Tools, query: &Query) -> String {
    let weighted: u64 = model.tools.iter().map(|tool| tool.weighted_tokens).fold(0, u64::saturating_add);
    let idle: u64 = model
        .tools
        .iter()
        .filter(|tool| calls(tool) == 0)
        .map(|tool| tool.weighted_tokens)
        .fold(0, u64::saturating_add);
    let never = model.tools.iter().filter(|tool| calls(tool) == 0).count() as u64;
    let body = html! {
        div class="title" { h1 { "Tools" } (ranges(query, model.range)) }
        @if model.tools.is_empty() {
            div class="empty" {
                p { "No request carried a tool " (model.range.words()) "." }
                p { a href=(here_with(query, "days", Some("all"))) { "Look further back" } ", or start an agent with tools through the gateway." }
            }
        } @else {
            p {
                "A definition is paid on every turn that carries it. " (count(model.tools.len() as u64, "tool", "tools")) " made " b { (estimated(weighted)) " tok" }
                " over " (count(model.sums.measured, "turn", "turns")) ", " (share(weighted, model.sums.sent_tokens())) " of all that was sent. "
                @if never > 0 { (count(never, "of them was", "of them were")) " never called: " b { (estimated(idle)) " tok" } ", " (share(idle, weighted)) " of the bill." }
                @else { "All of them were called." }
            }
            @if !model.dead_weight.is_empty() {
                ul class="cards" { @for dead in model.dead_weight.iter().take(3) { (super::overview::card(dead, &model.sums, &model.range.word())) } }
            }
            (choices(query, &[("agent", "Agent", &model.agents)]))
            (filters(query, &[("server", "server"), ("origin", "origin")]))
            (table(model, query, weighted))
            @if model.tools.len() > LISTED { p class="dim" { "The first " (LISTED) " of " (thousands(model.tools.len() as u64)) ". Filter by server to see the others." } }
        }
        (basis(&model.basis))
    };
    page(Here::Tools, "Tools", &body)
}

fn table(model: &Tools, query: &Query, weighted: u64) -> Markup {
    let now = query.get("order").unwrap_or("weighted");
    let heaviest = model.tools.iter().map(|tool| tool.weighted_tokens).max().unwrap_or(0);
    let table = html! {
        table {
            thead { tr {
                (head(query, "tool", Some("name"), now, true)) (head(query, "whose", Some("whose"), now, true))
                (head(query, "tok", Some("tokens"), now, false)) (head(query, "turns", Some("turns"), now, false))
                (head(query, "tok × turns", Some("weighted"), now, false)) th scope="col" { "share" } th scope="col" { "cost" }
                (head(query, "calls", Some("calls"), now, false)) (head(query, "last call", Some("used"), now, false)) th scope="col" aria-hidden="true" {}
            } }
            tbody { @for tool in model.tools.iter().take(LISTED) { (line(tool, model, heaviest, weighted)) } }
        }
    };
    scroll("Tools by what they weigh", &table)
}

fn line(tool: &Billed, model: &Tools, heaviest: u64, weighted: u64) -> Markup {
    let called = calls(tool);
    let days = model.range.word();
    html! {
        tr data-key=(short(&format!("{} {} {}", tool.server, tool.namespace, tool.name))) {
            th class="text" scope="row" { a href=(requests_href(model.range, &[("tool", &tool.name)])) { (name(&tool.name)) } }
            td class="text" {
                @match tool.origin {
                    Origin::Mcp => a href=(super::query::address(&format!("{ROOT}/tools"), &[("days", &days), ("server", &tool.server)])) { (name(&tool.server)) },
                    other => { (words::origin(other, "")) @if other == Origin::Builtin { span class="dim" { " " (deadweight_present::harmless::short(&whose(tool))) } } },
                }
            }
            td { @if tool.paid_turns == 0 { "deferred" } @else { (estimated(tool.tokens)) } }
            td { (thousands(tool.turns)) }
            td { (estimated(tool.weighted_tokens)) }
            td { (share(tool.weighted_tokens, weighted)) }
            td { (tool.nano.map_or_else(|| NONE.to_owned(), estimated_usd)) }
            td class=[(called == 0 && tool.paid_turns >= 5).then_some("warn")] { (thousands(called)) }
            td { @match tool.called_ms { Some(at) => (when(at, model.range.now_ms)), None => "never" } }
            (bar(tool.weighted_tokens, heaviest, if called > 0 { "tools" } else { "tools-soft" }))
        }
    }
}
