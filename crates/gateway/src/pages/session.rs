//! One session, turn by turn.

use super::chart::{self, Bar, Bars};
use super::model::OneSession;
use super::query::Query;
use super::shell::{
    Figure, Here, ROOT, basis, brief, figures, here_with, large, maybe, name, page, request_href, scroll,
    told as told_of, when,
};
use super::{overview, words};
use crate::context::{Context, Phase};
use deadweight_present::harmless::short;
use deadweight_present::money::estimated_usd;
use deadweight_present::number::{NONE, count, estimated, share, thousands};
use deadweight_present::time::{span, stamp};
use deadweight_store::Exchange;
use maud::{Markup, html};

pub(crate) fn render(model: &OneSession, query: &Query) -> String {
    let sums = &model.sums;
    let last = model.turns.last();
    let body = html! {
        nav class="crumbs" aria-label="Where this is" { a href=(format!("{ROOT}/sessions")) { "Sessions" } " / " (brief(&model.key, 36)) }
        h1 { "Session " (name(&model.key)) }
        p {
            @if let Some(agent) = last.and_then(|one| one.agent.as_deref()) { (name(agent)) " with " }
            @if let Some(of) = last.and_then(|one| one.model.as_deref()) { (name(of)) ", " }
            (count(sums.turns, "turn", "turns"))
            @if sums.failed > 0 { ", " (count(sums.failed, "request", "requests")) " not answered" }
            @if let (Some(first), Some(last)) = (sums.first_ms, sums.last_ms) {
                " over " (span(last.saturating_sub(first))) ", the last " (when(last, model.now_ms)) " (" (stamp(last)) ")"
            } "."
        }
        (conversations(model, query))
        (top(model))
        (report(&model.context))
        @if model.turns.is_empty() {
            div class="empty" { p { "No turn of this session has come to its end yet: what passed were other requests." } }
        } @else {
            (drawn(model))
            (told(model))
            @if !model.dead_weight.is_empty() {
                section {
                    h2 id="dead" { "Dead weight" }
                    ul class="cards" { @for dead in model.dead_weight.iter().take(3) { (overview::card(dead, sums, "all")) } }
                }
            }
            (turns(model))
        }
        (basis(&model.basis))
    };
    page(Here::Sessions, &format!("Session {}", short(&model.key)), &body)
}

/// Agents run sub-agents and title requests under one name.
fn conversations(model: &OneSession, query: &Query) -> Markup {
    html! {
        @if model.conversations.len() > 1 {
            nav class="ranges" aria-label="Conversations of this session" {
                ul {
                    li { a href=(here_with(query, "conversation", None)) aria-current=[model.conversation.is_none().then_some("true")] { "all" } }
                    @for (at, group) in model.conversations.iter().enumerate().take(12) {
                        @if let Some(of) = &group.of {
                            li {
                                a href=(here_with(query, "conversation", Some(of))) title=(short(of))
                                    aria-current=[(model.conversation.as_ref() == Some(of)).then_some("true")] {
                                    "conversation " (at + 1) ", " (count(group.sums.turns, "turn", "turns"))
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn top(model: &OneSession) -> Markup {
    let sums = &model.sums;
    let last = model.turns.iter().rev().find_map(|one| one.footprint.as_ref());
    figures(&[
        Figure {
            number: last.map_or_else(|| NONE.to_owned(), |footprint| estimated(footprint.floor())),
            what: html! { "tokens of floor in its last turn" @if let Some(total) = last.and_then(|footprint| footprint.total()) { " of " (estimated(total)) } },
            href: None,
        },
        Figure {
            number: sums.prompt.map_or_else(|| NONE.to_owned(), large),
            what: html! { "tokens in" @if let Some(equivalent) = sums.equivalent_tokens { ", billed as ≈ " (large(equivalent)) " at the full price" } },
            href: None,
        },
        Figure {
            number: match (sums.cache_read, sums.prompt) {
                (Some(read), Some(prompt)) => share(read, prompt),
                _ => NONE.to_owned(),
            },
            what: html! { "read from the cache" @if sums.lost_tokens > 0 { ", " (estimated(sums.lost_tokens)) " read anew" } },
            href: None,
        },
        Figure {
            number: sums.nano().map_or_else(|| NONE.to_owned(), estimated_usd),
            what: html! { @match sums.lost_nano.filter(|&lost| lost > 0) {
                Some(lost) => { (estimated_usd(lost)) " of it for what was read anew" },
                None => "so far",
            } },
            href: None,
        },
    ])
}

/// The session report: how much of the window is taken, how it grows, what to do.
fn report(context: &Context) -> Markup {
    if !context.known {
        return html! {};
    }
    let tokens = &context.tokens;
    let phase = match context.phase {
        Phase::Fresh => "fresh",
        Phase::Building => "building up",
        Phase::Cruising => "cruising",
        Phase::Crowding => "crowding its window",
        Phase::PostEvent => "just past a compaction",
    };
    html! {
        p class="report" {
            span { "It is " b { (phase) } "." }
            @if let Some(resident) = tokens.resident {
                span { (thousands(resident)) @match tokens.window { Some(window) => { " of " (thousands(window)) " tok of its window taken (" (share(resident, window)) ")" }, None => " tok in its window" } }
            }
            @if let Some(growth) = tokens.growth_per_turn { span { (deadweight_present::number::signed(growth)) " tok a turn" } }
            @if let Some(left) = context.turns.left.turns { span { "room for " (count(left, "turn", "turns")) " more, forecast" } }
        }
        @if let Some(advice) = &context.advice { p { b { "What to do: " } (told_of(&deadweight_present::harmless::harmless(&advice.step))) " " span class="dim" { "(" (short(&advice.basis)) ")" } } }
    }
}

fn drawn(model: &OneSession) -> Markup {
    let bars: Vec<Bar> = model.turns.iter().map(column).collect();
    let read: Vec<Option<u64>> = model.turns.iter().map(|one| one.usage.cache_read).collect();
    let most = model
        .turns
        .iter()
        .map(|one| {
            one.footprint
                .as_ref()
                .map_or(0, |footprint| footprint.sent())
                .max(one.usage.cache_read.unwrap_or(0))
        })
        .max()
        .unwrap_or(0);
    let named = |one: Option<&Exchange>| {
        one.map_or_else(String::new, |one| {
            one.turn.map_or_else(|| "—".to_owned(), |turn| format!("turn {}", thousands(turn)))
        })
    };
    let lost = model
        .turns
        .iter()
        .filter(|one| one.cache.as_ref().is_some_and(|cache| cache.lost_tokens > 0))
        .count() as u64;
    let sentence = format!(
        "{} of {} lost a prefix that had been sent before.",
        thousands(lost),
        count(model.turns.len() as u64, "turn", "turns")
    );
    let ends = [
        named(model.turns.first()),
        named(model.turns.get(model.turns.len() / 2)),
        named(model.turns.last()),
    ];
    html! {
        section {
            h2 id="drawn" { "Turn by turn" }
            figure class="tall" {
                (chart::bars(&Bars { id: "turns", title: "What each turn carried", sentence: &sentence, bars: &bars, line: &read,
                    top: format!("≈ {}", large(most)), ends, full: None }))
                figcaption {
                    (sentence) " Columns are what was sent (≈); the line is what the provider read from its cache. Marks below: the prefix was lost, something failed, or a lever edited."
                    (chart::keys(&[("system", "system"), ("tools", "tools"), ("history", "history"), ("tail", "tail"), ("line", "read from the cache"),
                        ("lost", "prefix lost"), ("failed", "failed"), ("edited", "edited")]))
                }
            }
            @if model.sums.exchanges > model.turns.len() as u64 {
                p class="dim" { "The last " (thousands(model.turns.len() as u64)) " of " (thousands(model.sums.exchanges)) " requests." }
            }
        }
    }
}

fn column(one: &Exchange) -> Bar {
    let footprint = one.footprint.as_ref();
    let class =
        one.cache.as_ref().map_or_else(String::new, |cache| format!(", {}", words::class(&cache.class)));
    let weight =
        footprint.map_or_else(|| NONE.to_owned(), |footprint| format!("{} tok", estimated(footprint.sent())));
    let turn = one.turn.map_or_else(|| "request".to_owned(), |turn| format!("turn {}", thousands(turn)));
    let (how, fine) = words::ended(one);
    let flag = if !fine {
        Some("failed")
    } else if one.cache.as_ref().is_some_and(|cache| cache.lost_tokens > 0) {
        Some("lost")
    } else if one.receipt.changed() {
        Some("edited")
    } else {
        None
    };
    Bar {
        title: format!("{turn}: {weight}{class}{}", if fine { String::new() } else { format!(", {how}") }),
        parts: footprint.map_or_else(Vec::new, |footprint| {
            footprint.slices().iter().map(|(name, slice)| (*name, slice.tokens)).collect()
        }),
        href: Some(request_href(&one.id)),
        flag,
    }
}

/// What happened to the cache, by reason.
fn told(model: &OneSession) -> Markup {
    let lossy: Vec<_> = model.classes.iter().filter(|group| group.sums.lost_tokens > 0).collect();
    html! {
        @if !lossy.is_empty() {
            ul class="reasons" {
                @for group in lossy {
                    @let word = group.of.as_deref().unwrap_or("unknown");
                    li {
                        b { (words::class(word)) } " " (count(group.sums.turns, "turn", "turns")) ", " (estimated(group.sums.lost_tokens)) " tok read anew"
                        @if let Some(nano) = group.sums.lost_nano { " (" (estimated_usd(nano)) ")" } ". "
                        @if let Some(advice) = words::class_advice(word) { (told_of(advice)) }
                    }
                }
            }
        }
    }
}

fn turns(model: &OneSession) -> Markup {
    let table = html! {
        table {
            thead { tr {
                th class="text" scope="col" { "turn" } th scope="col" { "floor" } th scope="col" { "sent" } th scope="col" { "counted" }
                th scope="col" { "read" } th scope="col" { "written" } th scope="col" { "out" } th scope="col" { "cost" } th scope="col" { "took" }
                th class="text" scope="col" { "what happened" }
            } }
            tbody { @for one in model.turns.iter().rev() { (turn(one)) } }
        }
    };
    html! {
        section { h2 id="table" { "Its requests" } (scroll("Its requests, the last first", &table)) }
    }
}

fn turn(one: &Exchange) -> Markup {
    let footprint = one.footprint.as_ref();
    let (how, fine) = words::ended(one);
    html! {
        tr data-key=(short(&one.id)) {
            th class="text" scope="row" { a href=(request_href(&one.id)) { @match one.turn { Some(turn) => (thousands(turn)), None => (brief(&one.id, 8)) } } }
            td { (footprint.map_or_else(|| NONE.to_owned(), |footprint| estimated(footprint.floor()))) }
            td { (footprint.map_or_else(|| NONE.to_owned(), |footprint| estimated(footprint.sent()))) }
            td { (maybe(one.usage.prompt)) }
            td { (maybe(one.usage.cache_read)) }
            td { (maybe(one.usage.cache_write())) }
            td { (maybe(one.usage.output)) }
            td { (one.cost.as_ref().map_or_else(|| NONE.to_owned(), |cost| estimated_usd(cost.total()))) }
            td { (span(one.ended.took_us / 1_000)) }
            td class="text happened" { (happened(one, &how, fine)) }
        }
    }
}

/// What happened in a turn, one thing after the other.
fn happened(one: &Exchange, how: &str, fine: bool) -> Markup {
    let mut all: Vec<Markup> = Vec::new();
    if !fine {
        all.push(html! { span class="bad" { (short(how)) } });
    }
    if let Some(cache) = &one.cache {
        all.push(html! {
            span class=[(cache.lost_tokens > 0).then_some("warn").or(Some("dim"))] { (words::class(&cache.class)) }
            @if cache.lost_tokens > 0 { ", " (estimated(cache.lost_tokens)) " read anew" }
            @if let Some(gap) = cache.gap_ms.filter(|&gap| gap > 240_000) { span class="dim" { " after " (span(gap)) } }
        });
    }
    if one.footprint.is_none() {
        all.push(html! { span class="dim" { "not measured" } });
    }
    all.extend(
        one.levers
            .iter()
            .filter(|action| action.edited)
            .map(|action| html! { span class="edited" { (short(&action.lever)) } }),
    );
    if !one.calls.is_empty() {
        all.push(html! { span class="dim" { "called " (called(one)) } });
    }
    html! { @for (at, part) in all.iter().enumerate() { @if at > 0 { span class="dim" { " · " } } (part) } }
}

fn called(one: &Exchange) -> String {
    let mut names: Vec<String> = one
        .calls
        .iter()
        .take(4)
        .map(
            |(name, count)| {
                if *count > 1 { format!("{} × {count}", short(name)) } else { short(name).into_owned() }
            },
        )
        .collect();
    if one.calls.len() > 4 {
        names.push("…".to_owned());
    }
    names.join(", ")
}
