//! Charts, as SVG that stretches with the page. Their words stand beside them, so that they can be read at any width.

use deadweight_present::harmless::{cut_middle, harmless, short, width};
use deadweight_present::html::rect;
use deadweight_present::number::estimated;
use deadweight_present::treemap::{Rect, layout};
use maud::{Markup, html};

/// One column of a chart.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bar {
    /// What it says when it is pointed at.
    pub(crate) title: String,
    /// Its parts from the bottom up: colour and height.
    pub(crate) parts: Vec<(&'static str, u64)>,
    /// Where it leads.
    pub(crate) href: Option<String>,
    /// Whether it has a sign below it.
    pub(crate) flag: Option<&'static str>,
}

/// A chart of columns.
#[derive(Debug, Clone)]
pub(crate) struct Bars<'a> {
    /// Unique in the page.
    pub(crate) id: &'a str,
    pub(crate) title: &'a str,
    /// What it shows, in a sentence; it stands below it too.
    pub(crate) sentence: &'a str,
    pub(crate) bars: &'a [Bar],
    /// A line over the columns, where there is one: a height for each column.
    pub(crate) line: &'a [Option<u64>],
    /// What the top of the chart is.
    pub(crate) top: String,
    /// What the left, the middle and the right end are.
    pub(crate) ends: [String; 3],
    /// The height that fills the chart; `None`: that of the highest column.
    pub(crate) full: Option<u64>,
}

const HIGH: f64 = 100.0;
const STEP: f64 = 10.0;

/// The chart, without what its colours mean.
pub(crate) fn bars(chart: &Bars<'_>) -> Markup {
    let height = |bar: &Bar| bar.parts.iter().map(|part| part.1).fold(0, u64::saturating_add);
    let highest =
        chart.bars.iter().map(height).chain(chart.line.iter().copied().flatten()).max().unwrap_or(0);
    let full = chart.full.unwrap_or(highest).max(1);
    let scale = |value: u64| (value as f64 / full as f64 * HIGH).min(HIGH);
    let wide = chart.bars.len().max(1) as f64 * STEP;
    let gap = if chart.bars.len() > 60 { 0.5 } else { 1.0 };
    let flags = chart.bars.iter().any(|bar| bar.flag.is_some());
    html! {
        div class="chart" {
            p class="top" aria-hidden="true" { (chart.top) }
            svg viewBox=(format!("0 0 {wide} {HIGH}")) preserveAspectRatio="none" role="img"
                aria-labelledby=(format!("{0}-t {0}-d", chart.id)) {
                title id=(format!("{}-t", chart.id)) { (chart.title) }
                desc id=(format!("{}-d", chart.id)) { (chart.sentence) }
                line class="grid" x1="0" x2=(wide) y1="0" y2="0" {}
                line class="grid" x1="0" x2=(wide) y1="50" y2="50" {}
                @for (at, bar) in chart.bars.iter().enumerate() {
                    g class=[bar.href.as_ref().map(|_| "to")] data-href=[bar.href.as_deref()] {
                        title { (bar.title) }
                        rect class="behind" x=(number(at as f64 * STEP)) y="0" width=(STEP) height=(HIGH) {}
                        @for (kind, low, value) in stacked(bar) {
                            @let (y, h) = (HIGH - scale(low + value), scale(low + value) - scale(low));
                            rect class=(format!("k-{kind}")) x=(number(at as f64 * STEP + gap)) y=(number(y))
                                width=(number(STEP - 2.0 * gap)) height=(number(h)) {}
                        }
                    }
                }
                @for points in lines(chart.line) {
                    polyline class="line" points=(points.iter().map(|&(at, value)| {
                        let (x, y) = (at as f64 * STEP, HIGH - scale(value));
                        format!("{},{} {},{}", number(x), number(y), number(x + STEP), number(y))
                    }).collect::<Vec<_>>().join(" ")) {}
                }
            }
            @if flags {
                svg class="flags" viewBox=(format!("0 0 {wide} 10")) preserveAspectRatio="none" aria-hidden="true" {
                    @for (at, bar) in chart.bars.iter().enumerate() {
                        @if let Some(flag) = bar.flag {
                            rect class=(format!("f-{flag}")) x=(number(at as f64 * STEP + gap)) y="0" width=(number(STEP - 2.0 * gap)) height="10" {}
                        }
                    }
                }
            }
            p class="ends" aria-hidden="true" { @for end in &chart.ends { span { (end) } } }
        }
    }
}

/// The parts of a column that have a height, each with what is below it.
fn stacked(bar: &Bar) -> Vec<(&'static str, u64, u64)> {
    let mut low = 0_u64;
    let mut out = Vec::new();
    for &(kind, value) in bar.parts.iter().filter(|part| part.1 > 0) {
        out.push((kind, low, value));
        low = low.saturating_add(value);
    }
    out
}

/// The stretches of a line that have values.
fn lines(line: &[Option<u64>]) -> Vec<Vec<(usize, u64)>> {
    let mut out: Vec<Vec<(usize, u64)>> = vec![Vec::new()];
    for (at, value) in line.iter().enumerate() {
        match (value, out.last_mut()) {
            (Some(value), Some(last)) => last.push((at, *value)),
            _ => out.push(Vec::new()),
        }
    }
    out.retain(|stretch| !stretch.is_empty());
    out
}

/// What colours mean.
pub(crate) fn keys(keys: &[(&str, &str)]) -> Markup {
    html! {
        ul class="keys" {
            @for (kind, what) in keys { li { span class=(format!("key b-{kind}")) aria-hidden="true" {} (what) } }
        }
    }
}

/// One stretch of a strip.
#[derive(Debug, Clone)]
pub(crate) struct Stretch {
    pub(crate) kind: String,
    pub(crate) title: String,
    pub(crate) weight: u64,
    /// A mark at its end.
    pub(crate) mark: Option<String>,
}

/// A strip: stretches side by side, marks between them.
pub(crate) fn strip(id: &str, title: &str, sentence: &str, stretches: &[Stretch]) -> Markup {
    let sum: u64 = stretches.iter().map(|one| one.weight).fold(0, u64::saturating_add);
    let mut at = 0_u64;
    let places: Vec<(f64, f64)> = stretches
        .iter()
        .map(|one| {
            let x = at as f64 / sum.max(1) as f64 * 1_000.0;
            at = at.saturating_add(one.weight);
            (x, at as f64 / sum.max(1) as f64 * 1_000.0)
        })
        .collect();
    html! {
        div class="strip" {
            svg viewBox="0 0 1000 40" preserveAspectRatio="none" role="img" aria-labelledby=(format!("{id}-t {id}-d")) {
                title id=(format!("{id}-t")) { (title) }
                desc id=(format!("{id}-d")) { (sentence) }
                @for (one, (from, to)) in stretches.iter().zip(&places) {
                    g {
                        title { (one.title) }
                        rect class=(format!("k-{} edge", one.kind)) x=(number(*from)) y="4" width=(number((to - from).max(0.5))) height="36" {}
                    }
                }
                @for (one, (_, to)) in stretches.iter().zip(&places) {
                    @if let Some(mark) = &one.mark {
                        line class=(if mark == "1h" { "mark hour" } else { "mark" }) x1=(number(*to)) x2=(number(*to)) y1="0" y2="40" {}
                    }
                }
            }
        }
    }
}

/// A cell of a treemap.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    pub(crate) name: String,
    pub(crate) tokens: u64,
    pub(crate) kind: &'static str,
    pub(crate) title: String,
}

/// A treemap of groups of cells, heaviest first; once for wide and once for narrow screens.
pub(crate) fn treemap(id: &str, title: &str, sentence: &str, groups: &[(String, Vec<Cell>)]) -> Markup {
    let wide = Rect { x: 0.0, y: 0.0, w: 1_040.0, h: 420.0 };
    let narrow = Rect { x: 0.0, y: 0.0, w: 360.0, h: 480.0 };
    html! {
        (tree(&format!("{id}-w"), "tree wide", title, sentence, groups, wide))
        (tree(&format!("{id}-n"), "tree narrow", title, sentence, groups, narrow))
    }
}

fn tree(
    id: &str,
    class: &str,
    title: &str,
    sentence: &str,
    groups: &[(String, Vec<Cell>)],
    frame: Rect,
) -> Markup {
    let weight = |cells: &[Cell]| cells.iter().map(|cell| cell.tokens).fold(0, u64::saturating_add);
    let places = layout(&groups.iter().map(|group| weight(&group.1)).collect::<Vec<_>>(), frame);
    html! {
        svg class=(class) viewBox=(format!("0 0 {} {}", number(frame.w), number(frame.h))) role="img"
            aria-labelledby=(format!("{id}-t {id}-d")) {
            title id=(format!("{id}-t")) { (title) }
            desc id=(format!("{id}-d")) { (sentence) }
            @for ((group, cells), place) in groups.iter().zip(places) {
                @let inner = place.inset(2.0);
                @let (head, body) = inner.split_top(if inner.h > 44.0 && inner.w > 56.0 { 19.0 } else { 0.0 });
                @if head.h > 0.0 { (label(head, "group", group, "")) }
                @let places = layout(&cells.iter().map(|cell| cell.tokens).collect::<Vec<_>>(), body);
                @for (cell, place) in cells.iter().zip(places) {
                    @let place = place.inset(0.75);
                    g {
                        title { (short(&cell.title)) }
                        (rect(place, cell.kind))
                        (label(place, "", &cell.name, &estimated(cell.tokens)))
                    }
                }
            }
        }
    }
}

/// `text` at the top left of `place`, and `second` below it, as far as they fit in a typeface that runs wide.
fn label(place: Rect, class: &str, text: &str, second: &str) -> Markup {
    const PAD: f64 = 6.0;
    const CELL: f64 = 7.3;
    let columns = ((place.w - 1.5 * PAD) / CELL).floor().max(0.0) as usize;
    let text = harmless(text);
    let fits = place.h >= 18.0 && columns >= 5.min(width(&text));
    let second_fits = place.h >= 34.0 && columns >= width(second) && !second.is_empty();
    html! {
        @if fits {
            text class=(class) x=(number(place.x + PAD)) y=(number(place.y + 15.0)) { (cut_middle(&text, columns)) }
            @if second_fits {
                text class="small" x=(number(place.x + PAD)) y=(number(place.y + 29.0)) { (second) }
            }
        }
    }
}

fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
