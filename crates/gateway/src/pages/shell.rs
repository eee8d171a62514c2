//! What every page has around it, and the pieces that pages are made of.

use super::model::{Basis, Range};
use super::query::{Query, address, encode};
use deadweight_present::harmless::{harmless, harmless_lines, short};
pub(crate) use deadweight_present::html::name;
use deadweight_present::number::{NONE, thousands};
use deadweight_present::time::{ago, iso, stamp};
use maud::{DOCTYPE, Markup, PreEscaped, html};

/// Where all of this is.
pub(crate) const ROOT: &str = "/deadweight";

/// The places of the menu.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Here {
    Overview,
    Sessions,
    Requests,
    Tools,
    Servers,
    Nowhere,
}

impl Here {
    const MENU: [(Self, &'static str, &'static str); 5] = [
        (Self::Overview, "/", "Overview"),
        (Self::Sessions, "/sessions", "Sessions"),
        (Self::Requests, "/requests", "Requests"),
        (Self::Tools, "/tools", "Tools"),
        (Self::Servers, "/servers", "Servers"),
    ];
}

/// A whole page. It loads its own style and its own script, and nothing else.
pub(crate) fn page(here: Here, title: &str, body: &Markup) -> String {
    let title = harmless(title);
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · deadweight" }
                link rel="icon" href=(format!("{ROOT}/icon.svg")) type="image/svg+xml";
                link rel="stylesheet" href=(format!("{ROOT}/style.css"));
                script src=(format!("{ROOT}/page.js")) defer {}
            }
            body {
                a class="skip" href="#main" { "To the content" }
                header class="site" {
                    div {
                        a class="mark" href=(format!("{ROOT}/")) {
                            (mark()) "deadweight"
                        }
                        nav aria-label="Pages" {
                            ul {
                                @for (place, path, name) in Here::MENU {
                                    li {
                                        a href=(format!("{ROOT}{path}")) aria-current=[(place == here).then_some("page")] {
                                            (name)
                                        }
                                    }
                                }
                            }
                        }
                        p class="live" id="live" role="status" hidden { span class="dot" {} span { "live" } }
                    }
                }
                main id="main" tabindex="-1" { (body) }
            }
        }
    }
    .into_string()
    // A number stays with its mark.
    .replace("≈ ", "≈\u{a0}")
}

/// The sign of the program: a load on a line.
fn mark() -> Markup {
    html! {
        svg class="sign" viewBox="0 0 16 16" aria-hidden="true" {
            path d="M1 13.5h14v1.5H1zM3 6h10l1.5 6.5h-13zM6 6V4.5a2 2 0 0 1 4 0V6H8.6V4.6a.6.6 0 0 0-1.2 0V6z" {}
        }
    }
}

/// What stands at the end of a page: who counted.
pub(crate) fn basis(basis: &Basis) -> Markup {
    let names =
        |names: &[String]| names.iter().map(|name| short(name).into_owned()).collect::<Vec<_>>().join(", ");
    html! {
        footer {
            p {
                "≈ marks what was estimated"
                @if !basis.estimators.is_empty() { " (tokens: " (names(&basis.estimators)) ")" }
                "; tokens without a mark were counted by the provider. "
                @if !basis.price_dates.is_empty() { "Money is its counters times prices of " (names(&basis.price_dates)) ". " }
                "Times are UTC. Nothing here is text of a prompt."
            }
        }
    }
}

/// The choice of how far back one looks.
pub(crate) fn ranges(query: &Query, range: Range) -> Markup {
    let own = range.word();
    html! {
        nav class="ranges" aria-label="How far back" {
            ul {
                @for (word, name) in Range::CHOICES {
                    li {
                        a href=(here_with(query, "days", Some(word))) aria-current=[(word == own).then_some("true")] { (name) }
                    }
                }
            }
        }
    }
}

/// The same page with one filter changed.
pub(crate) fn here_with(query: &Query, name: &str, value: Option<&str>) -> String {
    let query = query.with(name, value);
    // An empty address would keep the query.
    if query.is_empty() { "?".to_owned() } else { query }
}

/// One figure: a number, what it is, and the page behind it.
pub(crate) struct Figure {
    pub(crate) number: String,
    pub(crate) what: Markup,
    pub(crate) href: Option<String>,
}

pub(crate) fn figures(figures: &[Figure]) -> Markup {
    html! {
        ul class="figures" {
            @for figure in figures {
                li {
                    b {
                        @match &figure.href {
                            Some(href) => a href=(href) { (figure.number) },
                            None => (figure.number),
                        }
                    }
                    span { (figure.what) }
                }
            }
        }
    }
}

/// A column's head, which sorts where it can. `own`: the word of this order; `now`: the one that holds.
pub(crate) fn head(query: &Query, name: &str, own: Option<&str>, now: &str, text: bool) -> Markup {
    let class = text.then_some("text");
    html! {
        @match own {
            Some(own) => {
                th class=[class] scope="col" aria-sort=[(own == now).then_some(if text { "ascending" } else { "descending" })] {
                    a href=(here_with(query, "order", Some(own))) { (name) }
                    @if own == now { span class="sorted" aria-hidden="true" { @if text { "↑" } @else { "↓" } } }
                }
            },
            None => th class=[class] scope="col" { (name) },
        }
    }
}

/// A table that may be wider than the screen.
pub(crate) fn scroll(label: &str, table: &Markup) -> Markup {
    html! { div class="scroll" tabindex="0" role="region" aria-label=(label) { (table) } }
}

/// The beginning of a long name, the rest at hand.
pub(crate) fn brief(text: &str, characters: usize) -> Markup {
    let shown: String = text.chars().take(characters).collect();
    let whole = shown.len() == text.len();
    html! {
        bdi { code title=[(!whole).then(|| short(text).into_owned())] { (harmless(&shown)) @if !whole { "…" } } }
    }
}

pub(crate) fn session_href(key: &str) -> String {
    format!("{ROOT}/session/{}", encode(key))
}

pub(crate) fn request_href(id: &str) -> String {
    format!("{ROOT}/request/{}", encode(id))
}

pub(crate) fn requests_href(range: Range, pairs: &[(&str, &str)]) -> String {
    let days = range.word();
    let all: Vec<(&str, &str)> = [("days", days.as_str())].into_iter().chain(pairs.iter().copied()).collect();
    address(&format!("{ROOT}/requests"), &all)
}

/// A number that may be missing.
pub(crate) fn maybe(number: Option<u64>) -> String {
    number.map_or_else(|| NONE.to_owned(), thousands)
}

/// Large numbers in a heading: `2.41 M`, `18,200`.
pub(crate) fn large(number: u64) -> String {
    match number {
        0..100_000 => thousands(number),
        100_000..1_000_000 => format!("{} k", thousands((number + 500) / 1_000)),
        1_000_000..1_000_000_000 => hundredths(number, 1_000_000, "M"),
        _ => hundredths(number, 1_000_000_000, "G"),
    }
}

fn hundredths(number: u64, unit: u64, name: &str) -> String {
    let parts = (u128::from(number) * 100 + u128::from(unit) / 2) / u128::from(unit);
    if parts >= 10_000 {
        return format!("{} {name}", thousands(u64::try_from((parts + 50) / 100).unwrap_or(u64::MAX)));
    }
    format!("{}.{:02} {name}", parts / 100, parts % 100)
}

/// A point in time as people say it, exact behind it.
pub(crate) fn when(ms: u64, now_ms: u64) -> Markup {
    html! { time datetime=(iso(ms)) title=(stamp(ms)) { (ago(ms, now_ms)) } }
}

/// The pages of a list.
pub(crate) fn pager(query: &Query, page: u32, more: bool) -> Markup {
    html! {
        @if page > 1 || more {
            nav class="pager" aria-label="Pages of this list" {
                @if page > 1 { a rel="prev" href=(here_with(query, "page", Some(&(page - 1).to_string()))) { "← newer" } }
                span { "page " (page) }
                @if more { a rel="next" href=(here_with(query, "page", Some(&(page + 1).to_string()))) { "older →" } }
            }
        }
    }
}

/// The filters that hold, each to be taken out.
pub(crate) fn filters(query: &Query, names: &[(&str, &str)]) -> Markup {
    let set: Vec<(&str, &str, &str)> =
        names.iter().filter_map(|&(name, words)| query.get(name).map(|value| (name, words, value))).collect();
    html! {
        @if !set.is_empty() {
            ul class="filters" aria-label="Filters" {
                @for (own, words, value) in set {
                    li {
                        (words) " " (name(value)) " "
                        a href=(here_with(query, own, None)) aria-label=(format!("Take out the filter {words} {}", short(value))) { "×" }
                    }
                }
            }
        }
    }
}

/// A sentence of ours, in which what stands between backticks is code.
pub(crate) fn told(sentence: &str) -> Markup {
    html! {
        @for (at, part) in sentence.split('`').enumerate() {
            @if at % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

/// A command or a setting to copy.
pub(crate) fn command(text: &str) -> Markup {
    html! { pre class="command" tabindex="0" { code { (harmless_lines(text)) } } }
}

/// A bar of `part` of `whole`, drawn without a style of its own.
pub(crate) fn bar(part: u64, whole: u64, kind: &str) -> Markup {
    let tenths = if whole == 0 { 0 } else { u128::from(part.min(whole)) * 1_000 / u128::from(whole) };
    html! {
        td class="bar" aria-hidden="true" {
            @if part > 0 {
                svg viewBox="0 0 1000 10" preserveAspectRatio="none" { rect class=(format!("k-{kind}")) width=(tenths.max(6)) height="10" {} }
            }
        }
    }
}

/// A page that has nothing to show, and says what to do about it.
pub(crate) fn empty(title: &str, said: &Markup) -> Markup {
    html! { h1 { (title) } div class="empty" { (said) } }
}

/// Something that is not there.
pub(crate) fn missing(what: &str) -> String {
    let body = empty(
        "Not here",
        &html! {
            p { (harmless(what)) }
            p { a href=(format!("{ROOT}/sessions?days=all")) { "All sessions" } " · " a href=(format!("{ROOT}/")) { "Overview" } }
        },
    );
    page(Here::Nowhere, "Not here", &body)
}

/// The ledger cannot be read.
pub(crate) fn trouble(what: &str, remedy: &str) -> String {
    let body = empty(
        "The ledger cannot be read",
        &html! {
            p { (harmless(what)) "." }
            p { "Requests pass all the same. What to do: " (harmless(remedy)) "." }
        },
    );
    page(Here::Nowhere, "Trouble", &body)
}

/// The style: what all pages share, and what these have besides.
pub(crate) fn style() -> String {
    format!("{}{}", deadweight_present::html::CSS, include_str!("style.css"))
}

/// The icon of the page.
pub(crate) fn icon() -> String {
    let sign = mark().into_string();
    let path = sign.split("<path").nth(1).and_then(|rest| rest.split('>').next()).unwrap_or_default();
    let path = path.trim_end_matches('/');
    PreEscaped(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 16 16\"><style>path{{fill:#1d615b}}\
         @media (prefers-color-scheme:dark){{path{{fill:#9fd8d2}}}}</style><path{path}/></svg>"
    ))
    .0
}
