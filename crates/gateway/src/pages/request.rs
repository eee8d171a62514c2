//! One request: what it carries and where its breakpoints are, what was counted, its receipt.

use super::chart::{self, Cell, Stretch};
use super::model::OneRequest;
use super::shell::{
    Figure, Here, ROOT, bar, basis, brief, figures, large, maybe, name, page, request_href, scroll,
    session_href,
};
use super::words;
use deadweight_present::harmless::short;
use deadweight_present::money::estimated_usd;
use deadweight_present::number::{NONE, bytes, count, estimated, share, thousands};
use deadweight_present::time::{span, stamp};
use deadweight_store::{Asked, CacheWatch, Exchange, Footprint, Origin, Segment, ToolLine};
use maud::{Markup, html};
use std::collections::BTreeMap;

pub(crate) fn render(model: &OneRequest) -> String {
    let one = &model.request;
    let (how, fine) = words::ended(one);
    let title = one
        .turn
        .map_or_else(|| format!("{} {}", one.method, one.path), |turn| format!("Turn {}", thousands(turn)));
    let body = html! {
        nav class="crumbs" aria-label="Where this is" {
            @if one.session.is_empty() { a href=(format!("{ROOT}/requests")) { "Requests" } }
            @else { a href=(format!("{ROOT}/sessions")) { "Sessions" } " / " a href=(session_href(&one.session)) { (brief(&one.session, 36)) } }
            " / " (brief(&one.id, 8))
        }
        div class="title" {
            h1 { (short(&title)) }
            (beside(model))
        }
        p {
            (short(&one.provider)) " " code { (short(&one.method)) " " (short(&one.path)) } " "
            @if let Some(of) = &one.model { (name(of)) " " }
            @if let Some(agent) = &one.agent { "from " (name(agent)) " " }
            "at " (stamp(one.at_ms)) ". "
            span class=(if fine { "fine" } else { "bad" }) { (how) }
            ", " (span(one.ended.took_us / 1_000)) " in all"
            @if let Some(first) = one.ended.first_byte_us { ", the first byte after " (span(first / 1_000)) } "."
        }
        (top(one))
        @match &one.footprint {
            Some(footprint) => { (anatomy(one, footprint)) (slices(footprint)) },
            None => div class="empty" {
                @if one.asked == Asked::Generate { p { "It was not measured: " (short(one.unmeasured.as_deref().unwrap_or("the reason was not recorded"))) ". It passed all the same." } }
                @else { p { "It is no prompt: there is nothing to weigh." } }
            },
        }
        (cache(one))
        (tools(model))
        (receipt(one))
        (levers(one))
        (basis(&model.basis))
    };
    page(Here::Requests, &title, &body)
}

fn beside(model: &OneRequest) -> Markup {
    html! {
        @if model.neighbours.before.is_some() || model.neighbours.after.is_some() {
            nav class="pager" aria-label="Turns of this conversation" {
                @if let Some(before) = &model.neighbours.before { a rel="prev" href=(request_href(before)) { "← the turn before" } }
                @if let Some(after) = &model.neighbours.after { a rel="next" href=(request_href(after)) { "the turn after →" } }
            }
        }
    }
}

fn top(one: &Exchange) -> Markup {
    let Some(footprint) = &one.footprint else { return html! {} };
    let usage = &one.usage;
    figures(&[
        Figure {
            number: estimated(footprint.floor()),
            what: html! { "tokens of floor, " (share(footprint.floor(), footprint.sent())) " of what was sent" },
            href: None,
        },
        Figure {
            number: estimated(footprint.sent()),
            what: html! {
                "tokens sent, estimated"
                @match (usage.prompt, footprint.total()) {
                    (Some(counted), Some(_)) => { "; the provider counted " (thousands(counted)) },
                    (Some(counted), None) => { "; with what it keeps itself, the provider counted " (thousands(counted)) },
                    (None, _) => "; the provider has not counted",
                }
            },
            href: None,
        },
        Figure {
            number: match (usage.cache_read, usage.prompt) {
                (Some(read), Some(prompt)) => share(read, prompt),
                _ => NONE.to_owned(),
            },
            what: html! { "read from the cache" },
            href: None,
        },
        Figure {
            number: one.cost.as_ref().map_or_else(|| NONE.to_owned(), |cost| estimated_usd(cost.total())),
            what: html! { @match &one.cost {
                Some(cost) => { (estimated_usd(cost.input())) " prompt, " (estimated_usd(cost.output)) " answer" },
                None => "no known price, or nothing counted",
            } },
            href: None,
        },
    ])
}

/// The request from its beginning to its end, with its breakpoints, and what the cache made of it.
fn anatomy(one: &Exchange, footprint: &Footprint) -> Markup {
    let layout = in_order(footprint);
    let marks: Vec<&Segment> = layout.iter().filter(|segment| segment.breakpoint.is_some()).collect();
    let sentence = format!(
        "{} tok from the first tool to the last message, with {}.",
        estimated(footprint.sent()),
        count(marks.len() as u64, "cache breakpoint", "cache breakpoints")
    );
    let stretches: Vec<Stretch> = layout
        .iter()
        .map(|segment| Stretch {
            kind: segment.slice.clone(),
            title: format!(
                "{}: {} {}, {} tok{}",
                segment.slice,
                thousands(segment.count),
                segment.kind.replace('_', " "),
                estimated(segment.tokens),
                segment
                    .breakpoint
                    .as_ref()
                    .map_or_else(String::new, |ttl| format!(", then a breakpoint of {ttl}"))
            ),
            weight: segment.tokens,
            mark: segment.breakpoint.clone(),
        })
        .collect();
    html! {
        section {
            h2 id="anatomy" { "Anatomy" }
            figure {
                (chart::strip("strip", "The request from its beginning to its end", &sentence, &stretches))
                (counted_strip(one))
                figcaption {
                    (sentence)
                    @if one.usage.prompt.is_some() { " Below it, what the provider counted." }
                    (chart::keys(&[("tools", "tools"), ("system", "system"), ("history", "history"), ("tail", "tail"), ("mark", "breakpoint")]))
                    @if one.usage.prompt.is_some() { (chart::keys(&[("read", "read from the cache"), ("write", "written to it"), ("uncached", "neither")])) }
                }
            }
            @if !marks.is_empty() {
                p { "Breakpoints: "
                    @for (at, segment) in marks.iter().enumerate() {
                        @if at > 0 { ", " } "after " (short(&segment.slice)) " " (short(&segment.kind.replace('_', " "))) " (" (short(segment.breakpoint.as_deref().unwrap_or_default())) ")"
                    } "."
                }
            }
        }
    }
}

/// The segments in the order in which the provider reads them; where none were kept, the slices.
fn in_order(footprint: &Footprint) -> Vec<Segment> {
    if !footprint.layout.is_empty() {
        return footprint.layout.clone();
    }
    let [system, tools, history, tail] = footprint.slices();
    [tools, system, history, tail]
        .into_iter()
        .filter(|(_, slice)| slice.tokens > 0)
        .map(|(name, slice)| Segment {
            slice: name.to_owned(),
            kind: name.to_owned(),
            count: 1,
            content_bytes: slice.content_bytes,
            tokens: slice.tokens,
            breakpoint: None,
        })
        .collect()
}

fn counted_strip(one: &Exchange) -> Markup {
    let usage = &one.usage;
    let (Some(prompt), Some(read)) = (usage.prompt, usage.cache_read) else { return html! {} };
    let written = usage.cache_write().unwrap_or(0);
    let rest = prompt.saturating_sub(read).saturating_sub(written);
    let sentence = format!(
        "Of {} tokens {} were read from the cache, {} written to it, and {} neither.",
        thousands(prompt),
        thousands(read),
        thousands(written),
        thousands(rest)
    );
    let stretch = |kind: &str, what: &str, weight: u64| Stretch {
        kind: kind.to_owned(),
        title: format!("{} tok {what}", thousands(weight)),
        weight,
        mark: None,
    };
    let stretches = [
        stretch("read", "read from the cache", read),
        stretch("write", "written to the cache", written),
        stretch("uncached", "at the full price", rest),
    ];
    html! { div class="below" { (chart::strip("counted", "What the provider counted", &sentence, &stretches)) } }
}

fn slices(footprint: &Footprint) -> Markup {
    let heaviest = footprint.slices().iter().map(|(_, slice)| slice.tokens).max().unwrap_or(0);
    let table = html! {
        table {
            thead { tr {
                th class="text" scope="col" { "slice" } th scope="col" { "tok" } th scope="col" { "share" } th scope="col" { "read B" } th scope="col" { "sent B" }
                th scope="col" aria-hidden="true" {}
            } }
            tbody {
                @for (slice, part) in footprint.slices() {
                    tr {
                        th class="text" scope="row" { span class=(format!("key b-{slice}")) aria-hidden="true" {} (slice) }
                        td { (estimated(part.tokens)) } td { (share(part.tokens, footprint.sent())) } td { (thousands(part.content_bytes)) } td { (thousands(part.wire_bytes)) }
                        (bar(part.tokens, heaviest, slice))
                    }
                }
                tr class="sum" { th class="text" scope="row" { "floor: system + tools" } td { (estimated(footprint.floor())) } td { (share(footprint.floor(), footprint.sent())) } td {} td {} td {} }
                tr class="sum" {
                    th class="text" scope="row" { @if footprint.delta.is_some() { "what was sent of it" } @else { "total" } }
                    td { (estimated(footprint.sent())) } td {} td {} td {} td {}
                }
                @for part in &footprint.standing {
                    tr class="off" {
                        th class="text" scope="row" { span class="key b-standing" aria-hidden="true" {} "standing, within them: " (short(&words::standing(&part.kind))) }
                        td { (estimated(part.tokens)) } td { (share(part.tokens, footprint.sent())) } td { (thousands(part.content_bytes)) } td {} (bar(part.tokens, heaviest, "standing"))
                    }
                }
                tr class="off" { th class="text" scope="row" { "envelope, which nobody reads" } td { (NONE) } td {} td {} td { (thousands(footprint.envelope_bytes)) } td {} }
            }
        }
    };
    html! {
        section {
            h2 id="slices" { "Slices" }
            @if let Some(delta) = &footprint.delta { p class="warn" { "The body is not the whole prompt (" (short(&delta.replace('_', " "))) "): it has no total." } }
            (scroll("Slices", &table))
        }
    }
}

fn cache(one: &Exchange) -> Markup {
    let Some(cache) = &one.cache else { return html! {} };
    html! {
        section {
            h2 id="cache" { "Cache" }
            p {
                b class=[(cache.lost_tokens > 0).then_some("warn")] { (words::class(&cache.class)) }
                @for also in &cache.also { ", and " (words::class(also)) }
                @if let Some(gap) = cache.gap_ms { ", " (span(gap)) " after the turn before" }
                ". " (estimated(cache.kept_tokens)) " tok of the prefix stayed as they were"
                @if cache.lost_tokens > 0 {
                    "; " (estimated(cache.lost_tokens)) " tok that had been sent before had to be read anew"
                    @if let Some(nano) = cache.lost_nano { " (" (estimated_usd(nano)) ")" }
                } "."
            }
            (received(cache))
            @if cache.lost_tokens > 0 { @if let Some(advice) = words::class_advice(&cache.class) { p { (advice) } } }
            p {
                "Counted by the provider: prompt " (maybe(one.usage.prompt)) " = " (maybe(one.usage.uncached)) " uncached + " (maybe(one.usage.cache_read)) " read + "
                (maybe(one.usage.cache_write())) " written; answer " (maybe(one.usage.output)) "."
                @match cache.agrees {
                    Some(true) => " That bears it out.",
                    Some(false) => { " " b class="warn" { "That contradicts it." } },
                    None => "",
                }
                @if let Some(reason) = &cache.miss_reason { " It says why: " (name(reason)) "." }
            }
        }
    }
}

fn tools(model: &OneRequest) -> Markup {
    let one = &model.request;
    let Some(set) = one.tools.as_ref().filter(|set| !set.tools().is_empty()) else { return html! {} };
    let used = |tool: &ToolLine| model.called.contains(&tool.name);
    let paid: Vec<&ToolLine> = set.tools().iter().filter(|tool| !tool.deferred).collect();
    let deferred = set.tools().len() - paid.len();
    let sum: u64 = paid.iter().map(|tool| tool.tokens).fold(0, u64::saturating_add);
    let idle: u64 =
        paid.iter().filter(|tool| !used(tool)).map(|tool| tool.tokens).fold(0, u64::saturating_add);
    let sentence = format!(
        "{} of the tools' tokens are definitions that this session has not called.",
        share(idle, sum)
    );
    let mut by: BTreeMap<String, Vec<Cell>> = BTreeMap::new();
    for tool in &paid {
        let cell = Cell {
            name: own(tool).to_owned(),
            tokens: tool.tokens,
            kind: if used(tool) { "tools" } else { "tools-soft" },
            title: format!(
                "{}: {} tok{}",
                tool.name,
                estimated(tool.tokens),
                if used(tool) { ", called" } else { ", not called" }
            ),
        };
        by.entry(words::origin(tool.origin, &tool.server)).or_default().push(cell);
    }
    let mut groups: Vec<(String, Vec<Cell>)> = by.into_iter().collect();
    for (_, cells) in &mut groups {
        cells.sort_by_key(|cell| std::cmp::Reverse(cell.tokens));
    }
    groups.sort_by_key(|(_, cells)| std::cmp::Reverse(cells.iter().map(|cell| cell.tokens).sum::<u64>()));
    let mut lines: Vec<&ToolLine> = set.tools().iter().collect();
    lines.sort_by_key(|tool| (tool.deferred, std::cmp::Reverse(tool.tokens)));
    let heaviest = paid.iter().map(|tool| tool.tokens).max().unwrap_or(0);
    let table = html! {
        table {
            thead { tr {
                th class="text" scope="col" { "tool" } th class="text" scope="col" { "whose" } th scope="col" { "tok" } th scope="col" { "B" } th scope="col" { "called" }
                th scope="col" aria-hidden="true" {}
            } }
            tbody {
                @for tool in lines {
                    tr class=[tool.deferred.then_some("off")] {
                        th class="text" scope="row" { (name(&tool.name)) }
                        td class="text" { @if tool.origin == Origin::Mcp { (name(&tool.server)) } @else { (words::origin(tool.origin, "")) } }
                        td { @if tool.deferred { "deferred" } @else { (estimated(tool.tokens)) } }
                        td { (thousands(tool.bytes)) }
                        td { (calls_now(one, tool)) }
                        (bar(if tool.deferred { 0 } else { tool.tokens }, heaviest, if used(tool) { "tools" } else { "tools-soft" }))
                    }
                }
            }
        }
    };
    html! {
        section {
            h2 id="tools" { "Tools" }
            p { (count(paid.len() as u64, "tool", "tools")) ", " (estimated(sum)) " tok" @if deferred > 0 { ", and " (thousands(deferred as u64)) " more that are deferred: sent, and not read until they are searched for" } ". " (sentence) }
            @if sum > 0 {
                figure {
                    (chart::treemap("tree", "The tools by weight", &sentence, &groups))
                    figcaption { "Area is tokens." (chart::keys(&[("tools", "called in this session"), ("tools-soft", "not called")])) }
                }
            }
            details open[set.tools().len() <= 30] { summary { "All " (count(set.tools().len() as u64, "tool", "tools")) } (scroll("Tools", &table)) }
        }
    }
}

/// A tool's name within its group: its own, where that is known, else without what says whose it is.
fn own(tool: &ToolLine) -> &str {
    let lead = format!("mcp__{}__", tool.server);
    match (tool.own_name.as_str(), tool.name.strip_prefix(&lead)) {
        ("", Some(rest)) if !rest.is_empty() => rest,
        ("", _) => &tool.name,
        (own, _) => own,
    }
}

/// How often it was called since the turn before.
fn calls_now(one: &Exchange, tool: &ToolLine) -> String {
    one.calls
        .iter()
        .find(|(name, _)| *name == tool.name)
        .map_or_else(String::new, |(_, count)| thousands(*count))
}

fn receipt(one: &Exchange) -> Markup {
    let receipt = &one.receipt;
    let hash = |hash: &Option<String>| html! { @match hash { Some(hash) => code class="hash" { (short(hash)) }, None => "not taken: the body was too large to be looked at" } };
    html! {
        section {
            h2 id="receipt" { "Receipt" }
            @if receipt.changed() {
                p { b class="warn" { "The body was changed." } " " (bytes(receipt.received_bytes)) " received, " (bytes(receipt.sent_bytes)) " sent." }
                @if !receipt.splices.is_empty() {
                    (scroll("Splices", &html! {
                        table {
                            thead { tr { th class="text" scope="col" { "lever" } th scope="col" { "at byte" } th scope="col" { "taken out" } th scope="col" { "put in" } } }
                            tbody { @for splice in &receipt.splices { tr {
                                th class="text" scope="row" { (short(&splice.lever)) } td { (thousands(splice.at)) } td { "−" (thousands(splice.removed)) } td { "+" (thousands(splice.inserted)) }
                            } } }
                        }
                    }))
                }
                p { "SHA-256 received " (hash(&receipt.received_sha256)) }
                p { "SHA-256 sent " (hash(&receipt.sent_sha256)) }
            } @else {
                p { b class="fine" { "Sent as it came," } " " (bytes(receipt.received_bytes)) ". The answer had " (bytes(one.ended.answer_bytes)) "." }
                p { "SHA-256 " (hash(&receipt.received_sha256)) }
            }
            p class="dim" {
                "This request is " code class="hash" { (short(&one.id)) }
                @if let Some(id) = &one.ended.request_id { "; the provider calls it " code class="hash" { (short(id)) } } "."
            }
        }
    }
}

fn levers(one: &Exchange) -> Markup {
    html! {
        @if !one.levers.is_empty() {
            section {
                h2 id="levers" { "Levers" }
                ul {
                    @for action in &one.levers {
                        li {
                            b { (short(&action.lever)) } " "
                            @if action.edited { "edited: " (count(action.splices, "splice", "splices")) @if action.replayed > 0 { " (" (thousands(action.replayed)) " as before)" } ", ≈ " (large(action.tokens.unsigned_abs())) " tok " @if action.tokens < 0 { "more" } @else { "less" } }
                            @else if action.fired() { "the body passed as it is" }
                            @else { "stood down: " (short(&action.reason.replace('_', " "))) }
                            (left_out(&action.names))
                            @if let Some(requests) = action.break_even { ", " (words::break_even(action.edited, requests)) }
                        }
                    }
                }
            }
        }
    }
}

/// The tools that a lever left out.
fn left_out(names: &[String]) -> Markup {
    /// How many are shown without being asked for.
    const FEW: usize = 12;
    let list = html! { @for (at, own) in names.iter().enumerate() { @if at > 0 { ", " } (name(own)) } };
    html! {
        @if names.len() > FEW { details { summary { "left out " (count(names.len() as u64, "tool", "tools")) } (list) } }
        @else if !names.is_empty() { ", left out: " (list) }
    }
}

/// What the client did, and what that would have cost without levers, where that is something else.
fn received(cache: &CacheWatch) -> Markup {
    let Some(received) = &cache.received else { return html! {} };
    let (lost, would) = (cache.lost_tokens, received.lost_tokens);
    html! {
        p {
            "What the client sent: " b { (words::class(&received.class)) }
            @for also in &received.also { ", and " (words::class(also)) }
            ". Without levers in this conversation "
            @if would == 0 { "nothing would have had to be read anew" }
            @else {
                (estimated(would)) " tok would have had to be read anew"
                @if let Some(nano) = received.lost_nano { " (" (estimated_usd(nano)) ")" }
            }
            @if would > lost { "; levers prevented " @if lost == 0 { "that" } @else { (estimated(would - lost)) " of them" } }
            @else if lost > would { "; " (estimated(lost - would)) " tok are for what levers changed" } "."
        }
    }
}
