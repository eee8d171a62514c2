//! The sessions.

use super::model::Sessions;
use super::query::Query;
use super::shell::{
    Here, basis, brief, filters, head, here_with, maybe, name, page, pager, ranges, scroll, session_href,
    when,
};
use deadweight_present::harmless::{harmless, short};
use deadweight_present::money::estimated_usd;
use deadweight_present::number::{NONE, count, estimated, share, thousands};
use deadweight_store::{Group, Session};
use maud::{Markup, html};

pub(crate) fn render(model: &Sessions, query: &Query) -> String {
    let order = query.get("order").unwrap_or("last").to_owned();
    let body = html! {
        div class="title" { h1 { "Sessions" } (ranges(query, model.range)) }
        p { (count(model.sums.sessions, "session", "sessions")) " with " (count(model.sums.turns, "turn", "turns")) " " (model.range.words()) "." }
        (choices(query, &[("agent", "Agent", &model.agents), ("model", "Model", &model.models)]))
        (filters(query, &[("class", "class")]))
        @if model.sessions.is_empty() {
            div class="empty" {
                p { "No session fits. " a href=(here_with(&Query::default(), "days", Some("all"))) { "Show all of them" } "." }
                p { "A session appears with the first request that an agent sends through the gateway." }
            }
        } @else {
            (table(&model.sessions, query, Some(&order), model.range.now_ms))
            (pager(query, model.page, model.more))
        }
        (basis(&model.basis))
    };
    page(Here::Sessions, "Sessions", &body)
}

/// Filters as a form: it works without a script, and by itself with one.
pub(crate) fn choices(query: &Query, fields: &[(&str, &str, &Vec<Group>)]) -> Markup {
    let kept = [
        "days",
        "order",
        "class",
        "server",
        "tool",
        "origin",
        "session",
        "conversation",
        "ended",
        "failed",
        "kind",
    ];
    html! {
        form class="choices" method="get" {
            @for own in kept {
                @if let Some(value) = query.get(own).filter(|value| can_be_sent(value) && fields.iter().all(|field| field.0 != own)) { input type="hidden" name=(own) value=(value); }
            }
            @for (own, words, groups) in fields {
                label {
                    span { (words) }
                    select name=(own) {
                        option value="" { "all" }
                        @for of in groups.iter().filter_map(|group| group.of.as_deref()).filter(|of| can_be_sent(of)) {
                            option value=(of) selected[query.get(own) == Some(of)] { (short(of)) }
                        }
                    }
                }
            }
            button type="submit" { "Show" }
        }
    }
}

/// Whether a text can be the value of a field. One with characters that act would be shown as something else than what is
/// sent, and would not come back as it went: nobody names an agent or a model so, and links lead to it all the same.
fn can_be_sent(text: &str) -> bool {
    harmless(text) == text
}

/// A table of sessions; `order`: the order that holds, where it can be changed.
pub(crate) fn table(sessions: &[Session], query: &Query, order: Option<&str>, now_ms: u64) -> Markup {
    let sorts = |word: &'static str| order.map(|_| word);
    let now = order.unwrap_or_default();
    let table = html! {
        table {
            thead { tr {
                th class="text" scope="col" { "session" }
                th class="text" scope="col" { "agent" }
                (head(query, "turns", sorts("turns"), now, false))
                th scope="col" { "floor" }
                th scope="col" { "peak" }
                (head(query, "tokens in", sorts("tokens"), now, false))
                th scope="col" { "cached" }
                (head(query, "read anew", sorts("lost"), now, false))
                (head(query, "cost", sorts("money"), now, false))
                (head(query, "last", sorts("last"), now, false))
            } }
            tbody {
                @for one in sessions {
                    tr data-key=(short(&one.session)) {
                        th class="text" scope="row" { a href=(session_href(&one.session)) { (brief(&one.session, 12)) } }
                        td class="text" {
                            @match &one.agent { Some(agent) => (name(agent)), None => "—" }
                            @if one.models > 1 { span class="dim" { " " (thousands(one.models)) " models" } }
                        }
                        td { (thousands(one.sums.turns)) }
                        td { (one.floor.map_or_else(|| NONE.to_owned(), estimated)) }
                        td { (one.peak.map_or_else(|| NONE.to_owned(), estimated)) }
                        td { (maybe(one.sums.prompt)) }
                        td { (match (one.sums.cache_read, one.sums.prompt) { (Some(read), Some(prompt)) => share(read, prompt), _ => NONE.to_owned() }) }
                        td class=[(one.sums.lost_tokens > 0).then_some("warn")] { @if one.sums.lost_tokens > 0 { (estimated(one.sums.lost_tokens)) } @else { "0" } }
                        td { (one.sums.nano().map_or_else(|| NONE.to_owned(), estimated_usd)) }
                        td { (when(one.sums.last_ms.unwrap_or(0), now_ms)) }
                    }
                }
            }
        }
    };
    scroll("Sessions", &table)
}
