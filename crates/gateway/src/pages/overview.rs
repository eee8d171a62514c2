//! The overview: what is carried, what it costs, what to do. In one screen.

use super::chart::{self, Bar, Bars};
use super::model::{DeadWeight, Overview};
use super::query::Query;
use super::shell::{
    Figure, Here, ROOT, bar, basis, brief, command, empty, figures, large, maybe, name, page, ranges,
    request_href, requests_href, scroll, session_href, told as told_of, when,
};
use super::words;
use deadweight_present::money::estimated_usd;
use deadweight_present::number::{NONE, count, estimated, share, thousands};
use deadweight_present::time::{clock, date};
use deadweight_store::{Exchange, Group, Origin, Sums};
use maud::{Markup, html};

/// How much dead weight is named on the first page.
const NAMED: usize = 3;

pub(crate) fn render(model: &Overview, query: &Query, address: &str) -> String {
    if model.sums.exchanges == 0 {
        return page(Here::Overview, "Overview", &nothing(model, query, address));
    }
    let body = html! {
        div class="title" {
            h1 { "What your agents carry" }
            (ranges(query, model.range))
        }
        (told(model))
        (top(model))
        (to_do(model))
        (leaks(model))
        (over_time(model))
        (slices(&model.sums))
        (latest(model))
        div class="pair" { (groups(model, &model.agents, "agent", "Agents")) (groups(model, &model.models, "model", "Models")) }
        (basis(&model.basis))
    };
    page(Here::Overview, "Overview", &body)
}

/// What to do where nothing has passed.
pub(crate) fn nothing(model: &Overview, query: &Query, address: &str) -> Markup {
    let said = html! {
        @if model.range.days.is_some() {
            p { "Nothing has passed " (model.range.words()) ". " a href=(super::shell::here_with(query, "days", Some("all"))) { "Look further back" } ", or send something:" }
        } @else {
            p { "Nothing has passed yet. Start an agent through the gateway:" }
        }
        (command("deadweight run -- claude"))
        p { "or point one that is there already at this address:" }
        (command(&format!(
            "ANTHROPIC_BASE_URL={address}/anthropic claude\nOPENAI_BASE_URL={address}/openai/v1 …\nGOOGLE_GEMINI_BASE_URL={address}/gemini gemini"
        )))
        p { "This page shows what it carries as soon as its first request has passed." }
    };
    empty("Nothing has passed yet", &said)
}

/// The page in two sentences.
fn told(model: &Overview) -> Markup {
    let sums = &model.sums;
    html! {
        p {
            (count(sums.turns, "turn", "turns")) " of " (count(sums.sessions, "session", "sessions")) " " (model.range.words())
            @if sums.failed > 0 {
                ", " a href=(requests_href(model.range, &[("failed", "1"), ("kind", "any")])) { (thousands(sums.failed)) " failed" }
            }
            ". "
            @if sums.changed == 0 { "Every body was sent as it came." }
            @else { a href=(requests_href(model.range, &[])) { (count(sums.changed, "body was", "bodies were")) " changed" } "." }
            @let unmeasured: u64 = model.unmeasured.iter().filter(|group| group.of.is_some()).map(|group| group.sums.turns).sum();
            @if unmeasured > 0 { " " (count(unmeasured, "turn was", "turns were")) " not measured: "
                (model.unmeasured.iter().filter_map(|group| group.of.as_deref()).take(3).map(|why| deadweight_present::harmless::short(why).into_owned()).collect::<Vec<_>>().join(", ")) "." }
        }
    }
}

fn top(model: &Overview) -> Markup {
    let sums = &model.sums;
    let floor = Figure {
        number: sums.floor_a_turn().map_or_else(|| NONE.to_owned(), estimated),
        what: html! { "tokens of floor a turn: system and tools" },
        href: Some(format!("{ROOT}/tools?days={}", model.range.word())),
    };
    let prompt = Figure {
        number: sums.prompt.map_or_else(|| NONE.to_owned(), large),
        what: html! {
            "tokens in"
            @if let Some(equivalent) = sums.equivalent_tokens { ", billed as " (estimated_large(equivalent)) " at the full price" }
        },
        href: Some(requests_href(model.range, &[("order", "tokens")])),
    };
    let cached = Figure {
        number: match (sums.cache_read, sums.prompt) {
            (Some(read), Some(prompt)) => share(read, prompt),
            _ => NONE.to_owned(),
        },
        what: html! { "of it read from the cache" @if let Some(written) = sums.cache_write { ", " (large(written)) " written to it" } },
        href: Some(requests_href(model.range, &[("order", "written")])),
    };
    let money = Figure {
        number: sums.nano().map_or_else(|| NONE.to_owned(), estimated_usd),
        what: html! {
            @match (sums.write_nano, sums.input_nano) {
                (Some(write), Some(input)) if input > 0 => { (share(write, input)) " of the prompts' cost is cache writes" },
                _ => "no known price",
            }
        },
        href: Some(requests_href(model.range, &[("order", "money")])),
    };
    figures(&[floor, prompt, cached, money])
}

fn estimated_large(number: u64) -> String {
    format!("≈ {}", large(number))
}

/// What is carried for nothing.
fn to_do(model: &Overview) -> Markup {
    html! {
        section {
            h2 id="to-do" { "Dead weight" }
            @if model.dead_weight.is_empty() {
                p { "Nothing is carried that was never called. "
                    @if model.sums.measured < 5 { "That is too early to tell: a tool counts after five turns." } }
            } @else {
                ul class="cards" { @for dead in model.dead_weight.iter().take(NAMED) { (card(dead, &model.sums, &model.range.word())) } }
                @if model.dead_weight.len() > NAMED {
                    p { a href=(format!("{ROOT}/servers?days={}", model.range.word())) { "All servers and built-in tools" } }
                }
            }
        }
    }
}

/// What is carried for nothing, and what to do about it.
pub(crate) fn card(dead: &DeadWeight, sums: &Sums, days: &str) -> Markup {
    let (remedy, text) = words::remedy(dead);
    let href = match dead.origin {
        Origin::Mcp => {
            super::query::address(&format!("{ROOT}/tools"), &[("days", days), ("server", &dead.whose)])
        }
        _ => super::query::address(&format!("{ROOT}/tools"), &[("days", days), ("origin", "builtin")]),
    };
    html! {
        li {
            p class="lead" {
                span { a href=(href) { (name(&dead.whose)) } @if dead.origin == Origin::Builtin { span class="what" { " own tools" } } @else { span class="what" { " server" } } }
                " " b { (estimated(dead.tokens)) " tok a turn" }
            }
            p {
                (words::dead(dead)) " Together " (estimated_large(dead.weighted_tokens)) " tok"
                @if let Some(nano) = dead.nano { ", " (estimated_usd(nano)) }
                ", " (share(dead.weighted_tokens, sums.sent_tokens())) " of all that was sent."
            }
            p { (told_of(&remedy)) }
            @if let Some(text) = text { (command(&text)) }
        }
    }
}

/// The few turns that lost most of the cache.
fn leaks(model: &Overview) -> Markup {
    let leaks = &model.leaks;
    html! {
        section {
            h2 id="leaks" { "Where the cache was lost" }
            @if leaks.exchanges.is_empty() {
                p {
                    @if model.sums.observed == 0 { "The provider has not said yet what it read from its cache." }
                    @else { "No turn lost a prefix that had been sent before." }
                }
            } @else {
                p {
                    (count(leaks.exchanges.len() as u64, "turn", "turns")) " of " (thousands(leaks.of_turns)) " caused "
                    (share(leaks.tokens, leaks.of_tokens)) " of what had to be read anew (" (estimated_large(leaks.of_tokens)) " tok"
                    @if let Some(nano) = model.sums.lost_nano { ", " (estimated_usd(nano)) } ")"
                    @if leaks.of_written > 0 { " and " (share(leaks.written, leaks.of_written)) " of all cache writes" } "."
                }
                (leak_table(&leaks.exchanges, model.range.now_ms))
                (classes(model))
            }
        }
    }
}

fn leak_table(exchanges: &[Exchange], now_ms: u64) -> Markup {
    let heaviest = exchanges
        .iter()
        .filter_map(|one| one.cache.as_ref())
        .map(|cache| cache.lost_tokens)
        .max()
        .unwrap_or(0);
    let table = html! {
        table {
            thead { tr {
                th class="text" scope="col" { "what happened" } th scope="col" { "read anew" } th scope="col" { "cost" }
                th scope="col" { "written" } th class="text" scope="col" { "session" } th scope="col" { "when" } th scope="col" aria-hidden="true" {}
            } }
            tbody {
                @for one in exchanges {
                    @if let Some(cache) = &one.cache {
                        tr {
                            th class="text" scope="row" { a href=(request_href(&one.id)) { (words::class(&cache.class)) } }
                            td { (estimated(cache.lost_tokens)) }
                            td { (cache.lost_nano.map_or_else(|| NONE.to_owned(), estimated_usd)) }
                            td { (maybe(one.usage.cache_write())) }
                            td class="text" { a href=(session_href(&one.session)) { (brief(&one.session, 8)) } @if let Some(turn) = one.turn { " turn " (thousands(turn)) } }
                            td { (when(one.at_ms, now_ms)) }
                            (bar(cache.lost_tokens, heaviest, "warn"))
                        }
                    }
                }
            }
        }
    };
    scroll("Turns that lost most of the cache", &table)
}

/// What happened how often, with what can be done about it.
fn classes(model: &Overview) -> Markup {
    let lossy: Vec<&Group> = model.classes.iter().filter(|group| group.sums.lost_tokens > 0).collect();
    html! {
        ul class="reasons" {
            @for group in lossy {
                @let word = group.of.as_deref().unwrap_or("unknown");
                li {
                    a href=(requests_href(model.range, &[("class", word), ("order", "lost")])) { b { (words::class(word)) } }
                    " " (count(group.sums.turns, "turn", "turns")) ", " (estimated_large(group.sums.lost_tokens)) " tok. "
                    @if let Some(advice) = words::class_advice(word) { (told_of(advice)) }
                }
            }
        }
    }
}

fn over_time(model: &Overview) -> Markup {
    let (Some(first), Some(last)) = (model.series.first(), model.series.last()) else { return html! {} };
    let step = model.bucket_ms.max(1);
    let from = model.range.since_ms().unwrap_or(first.start_ms).max(1);
    let from = (from - from % step).min(first.start_ms);
    let to = model.range.now_ms.max(last.start_ms);
    let count_of = usize::try_from((to - from) / step + 1).unwrap_or(1).min(400);
    let at = |index: usize| from + index as u64 * step;
    let of = |index: usize| {
        model.series.iter().find(|bucket| bucket.start_ms == at(index)).map(|bucket| bucket.sums)
    };
    let all: Vec<(u64, Option<Sums>)> = (0..count_of).map(|index| (at(index), of(index))).collect();
    let named =
        |ms: u64| if step < 86_400_000 { format!("{} {}", date(ms), &clock(ms)[..5]) } else { date(ms) };
    let short_end = |ms: u64| {
        if model.range.days == Some(1) { clock(ms)[..5].to_owned() } else { date(ms)[5..].to_owned() }
    };
    let ends = [short_end(from), short_end(at(count_of / 2)), short_end(at(count_of.saturating_sub(1)))];
    let sent: Vec<Bar> =
        all.iter().map(|&(ms, sums)| sent_bar(&named(ms), sums.unwrap_or_default())).collect();
    let money: Vec<Bar> = all
        .iter()
        .map(|&(ms, sums)| {
            let sums = sums.unwrap_or_default();
            let total = sums.nano().unwrap_or(0);
            let write = sums.write_nano.unwrap_or(0);
            Bar {
                title: format!(
                    "{}: {}, of it cache writes {}",
                    named(ms),
                    estimated_usd(total),
                    estimated_usd(write)
                ),
                parts: vec![("money-write", write), ("money", total.saturating_sub(write))],
                ..Bar::default()
            }
        })
        .collect();
    let cache: Vec<Bar> =
        all.iter().map(|&(ms, sums)| cache_bar(&named(ms), sums.unwrap_or_default())).collect();
    let most = |bars: &[Bar]| {
        bars.iter().map(|bar| bar.parts.iter().map(|part| part.1).sum::<u64>()).max().unwrap_or(0)
    };
    let sums = &model.sums;
    let sent_sentence = format!(
        "{} tok sent, of which {} were floor.",
        estimated_large(sums.sent_tokens()),
        share(sums.floor_tokens(), sums.sent_tokens())
    );
    let cache_sentence = match (sums.cache_read, sums.prompt) {
        (Some(read), Some(prompt)) => {
            format!("{} of the prompts' tokens were read from the cache.", share(read, prompt))
        }
        _ => "The provider has not said what it read from its cache.".to_owned(),
    };
    let money_sentence = sums.nano().map_or_else(
        || "No model that was used has a known price.".to_owned(),
        |nano| {
            format!(
                "{} in all, {} of it for answers.",
                estimated_usd(nano),
                estimated_usd(sums.output_nano.unwrap_or(0))
            )
        },
    );
    html! {
        section {
            h2 id="time" { "Over time" }
            div class="charts" {
                figure {
                    (chart::bars(&Bars { id: "sent", title: "What was sent", sentence: &sent_sentence, bars: &sent, line: &[],
                        top: estimated_large(most(&sent)), ends: ends.clone(), full: None }))
                    figcaption { b { "What was sent. " } (sent_sentence)
                        (chart::keys(&[("system", "system"), ("tools", "tools"), ("history", "history"), ("tail", "tail")])) }
                }
                figure {
                    (chart::bars(&Bars { id: "cache", title: "What the cache made of it", sentence: &cache_sentence, bars: &cache, line: &[],
                        top: "100 %".to_owned(), ends: ends.clone(), full: Some(1_000) }))
                    figcaption { b { "What the cache made of it. " } (cache_sentence)
                        (chart::keys(&[("read", "read from it"), ("write", "written to it"), ("uncached", "neither")])) }
                }
                figure {
                    (chart::bars(&Bars { id: "money", title: "What it cost", sentence: &money_sentence, bars: &money, line: &[],
                        top: estimated_usd(most(&money)), ends, full: None }))
                    figcaption { b { "What it cost. " } (money_sentence)
                        (chart::keys(&[("money-write", "cache writes"), ("money", "everything else")])) }
                }
            }
        }
    }
}

fn sent_bar(named: &str, sums: Sums) -> Bar {
    Bar {
        title: format!(
            "{named}: {} tok on {}",
            estimated(sums.sent_tokens()),
            count(sums.turns, "turn", "turns")
        ),
        parts: vec![
            ("system", sums.system_tokens),
            ("tools", sums.tools_tokens),
            ("history", sums.history_tokens),
            ("tail", sums.tail_tokens),
        ],
        ..Bar::default()
    }
}

fn cache_bar(named: &str, sums: Sums) -> Bar {
    let (Some(prompt), Some(read)) = (sums.prompt.filter(|&prompt| prompt > 0), sums.cache_read) else {
        return Bar { title: format!("{named}: —"), ..Bar::default() };
    };
    let thousandth =
        |part: u64| u64::try_from(u128::from(part) * 1_000 / u128::from(prompt)).unwrap_or(1_000).min(1_000);
    let (read_share, write_share) = (thousandth(read), thousandth(sums.cache_write.unwrap_or(0)));
    let write_share = write_share.min(1_000 - read_share);
    Bar {
        title: format!(
            "{named}: {} read from the cache, {} written to it",
            share(read, prompt),
            share(sums.cache_write.unwrap_or(0), prompt)
        ),
        parts: vec![
            ("read", read_share),
            ("write", write_share),
            ("uncached", 1_000 - read_share - write_share),
        ],
        ..Bar::default()
    }
}

/// The slices of all that was sent.
pub(crate) fn slices(sums: &Sums) -> Markup {
    let parts = [
        ("system", sums.system_tokens),
        ("tools", sums.tools_tokens),
        ("history", sums.history_tokens),
        ("tail", sums.tail_tokens),
    ];
    let heaviest = parts.iter().map(|part| part.1).max().unwrap_or(0);
    let a_turn = |tokens: u64| tokens.checked_div(sums.measured).map_or_else(|| NONE.to_owned(), estimated);
    let table = html! {
        table {
            thead { tr {
                th class="text" scope="col" { "slice" } th scope="col" { "tok a turn" } th scope="col" { "tok in all" } th scope="col" { "share" }
                th scope="col" aria-hidden="true" {}
            } }
            tbody {
                @for (slice, tokens) in parts {
                    tr {
                        th class="text" scope="row" { span class=(format!("key b-{slice}")) aria-hidden="true" {} (slice) }
                        td { (a_turn(tokens)) } td { (estimated(tokens)) } td { (share(tokens, sums.sent_tokens())) } (bar(tokens, heaviest, slice))
                    }
                }
                tr class="sum" {
                    th class="text" scope="row" { "floor: system + tools" }
                    td { (a_turn(sums.floor_tokens())) } td { (estimated(sums.floor_tokens())) } td { (share(sums.floor_tokens(), sums.sent_tokens())) } td {}
                }
                @if sums.standing_tokens > 0 {
                    tr class="off" {
                        th class="text" scope="row" { span class="key b-standing" aria-hidden="true" {} "standing text, within them" }
                        td { (a_turn(sums.standing_tokens)) } td { (estimated(sums.standing_tokens)) } td { (share(sums.standing_tokens, sums.sent_tokens())) } (bar(sums.standing_tokens, heaviest, "standing"))
                    }
                }
            }
        }
    };
    html! {
        section { h2 id="slices" { "Slices" } (scroll("Slices", &table)) }
    }
}

fn latest(model: &Overview) -> Markup {
    html! {
        section {
            h2 id="latest" { "Latest sessions" }
            (super::sessions::table(&model.sessions, &Query::default(), None, model.range.now_ms))
            p { a href=(format!("{ROOT}/sessions?days={}", model.range.word())) { "All sessions" } }
        }
    }
}

fn groups(model: &Overview, groups: &[Group], filter: &str, title: &str) -> Markup {
    let heaviest = groups.iter().map(|group| group.sums.sent_tokens()).max().unwrap_or(0);
    let table = html! {
        table {
            thead { tr {
                th class="text" scope="col" { (filter) } th scope="col" { "turns" } th scope="col" { "floor" } th scope="col" { "cost" } th scope="col" aria-hidden="true" {}
            } }
            tbody {
                @for group in groups.iter().take(8) {
                    tr {
                        th class="text" scope="row" {
                            @match &group.of {
                                Some(of) => a href=(requests_href(model.range, &[(filter, of)])) { (name(of)) },
                                None => "not known",
                            }
                        }
                        td { (thousands(group.sums.turns)) }
                        td { (group.sums.floor_a_turn().map_or_else(|| NONE.to_owned(), estimated)) }
                        td { (group.sums.nano().map_or_else(|| NONE.to_owned(), estimated_usd)) }
                        (bar(group.sums.sent_tokens(), heaviest, "history"))
                    }
                }
            }
        }
    };
    html! {
        section { h2 id=(filter) { (title) } (scroll(title, &table)) }
    }
}
