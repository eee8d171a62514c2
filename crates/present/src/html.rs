//! One self-contained page: no scripts, nothing loaded, readable in the light, in the dark and on paper.

use crate::harmless::{cut_middle, harmless, short};
use crate::treemap::Rect;
use maud::{DOCTYPE, Markup, PreEscaped, html};

/// The colours and shapes that all pages share.
pub const CSS: &str = include_str!("page.css");

/// A whole page.
pub fn page(title: &str, sections: &[Markup]) -> String {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'";
                meta name="generator" content=(concat!("deadweight ", env!("CARGO_PKG_VERSION")));
                title { (harmless(title)) }
                style { (PreEscaped(CSS)) }
            }
            body {
                main {
                    @for section in sections { (section) }
                    footer {
                        "Weighed by deadweight " (env!("CARGO_PKG_VERSION"))
                        ". ≈ marks numbers that an estimator counted."
                    }
                }
            }
        }
    }
    .into_string()
    // A number stays with its mark.
    .replace("≈ ", "≈\u{a0}")
}

/// A name from outside, set apart from the direction of the text around it.
pub fn name(text: &str) -> Markup {
    html! { bdi { code { @if text.is_empty() { "(no name)" } @else { (short(text)) } } } }
}

/// Figures in one line: a number and what it is.
pub fn figures(figures: &[(String, String)]) -> Markup {
    html! {
        ul class="figures" {
            @for (number, what) in figures { li { b { (number) } span { (what) } } }
        }
    }
}

/// A bar of `part` of `whole` in the colour `kind`.
pub fn bar(part: u64, whole: u64, kind: &str) -> Markup {
    let tenths = if whole == 0 { 0 } else { u128::from(part) * 1_000 / u128::from(whole) };
    html! {
        td class="bar" aria-hidden="true" {
            @if part > 0 { div class=(format!("b-{kind}")) style=(format!("width:{}.{}%", tenths / 10, tenths % 10)) {} }
        }
    }
}

/// The SVG around `shapes`, with its title and a sentence for those who cannot see it. `id` is unique in the page.
pub fn chart(id: &str, title: &str, sentence: &str, frame: Rect, shapes: &Markup) -> Markup {
    html! {
        svg viewBox=(format!("0 0 {} {}", number(frame.w), number(frame.h))) role="img"
            aria-labelledby=(format!("{id}-t {id}-d")) xmlns="http://www.w3.org/2000/svg" {
            title id=(format!("{id}-t")) { (title) }
            desc id=(format!("{id}-d")) { (sentence) }
            (shapes)
        }
    }
}

/// A rectangle of the colour `kind`.
pub fn rect(place: Rect, kind: &str) -> Markup {
    html! {
        rect class=(format!("k-{kind}")) x=(number(place.x)) y=(number(place.y))
            width=(number(place.w)) height=(number(place.h)) {}
    }
}

/// `text` at the top left of `place`, and `second` below it, as far as they fit.
pub fn label(place: Rect, class: &str, text: &str, second: &str) -> Markup {
    const PAD: f64 = 5.0;
    const CELL: f64 = 6.7;
    let columns = ((place.w - 2.0 * PAD) / CELL).floor().max(0.0) as usize;
    let text = harmless(text);
    let first = cut_middle(&text, columns);
    let fits = place.h >= 17.0 && columns >= 8.min(crate::harmless::width(&text));
    let second_fits = place.h >= 32.0 && columns >= crate::harmless::width(second);
    html! {
        @if fits {
            text class=(class) x=(number(place.x + PAD)) y=(number(place.y + 14.0)) { (first) }
            @if second_fits && !second.is_empty() {
                text class="small" x=(number(place.x + PAD)) y=(number(place.y + 28.0)) { (second) }
            }
        }
    }
}

/// A coordinate, to a tenth.
fn number(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_from_outside_cannot_become_markup() {
        let page = page("</title><script>x</script>", &[name("<img src=x onerror=y>\u{202e}"), name("")]);
        assert!(!page.contains("<script") && !page.contains("<img"), "{page}");
        assert!(page.contains("&lt;img src=x onerror=y&gt;\\u{202e}"), "{page}");
    }

    #[test]
    fn the_page_loads_nothing() {
        let page = page("x", &[]);
        for outside in ["<script", "<link", "<img", "url(", "@import", "src="] {
            assert!(!page.contains(outside), "{outside}");
        }
    }

    #[test]
    fn labels_stay_inside() {
        let wide = Rect { x: 0.0, y: 0.0, w: 200.0, h: 40.0 };
        assert!(label(wide, "", "get_file", "≈ 12").into_string().contains("≈ 12"));
        assert_eq!(label(Rect { w: 20.0, ..wide }, "", "get_file", "").into_string(), "");
        assert_eq!(label(Rect { h: 10.0, ..wide }, "", "get_file", "").into_string(), "");
        assert!(
            !label(Rect { w: 70.0, ..wide }, "", "get_file_contents", "")
                .into_string()
                .contains("get_file_contents")
        );
    }
}
