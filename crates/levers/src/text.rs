//! Text as JSON, and small things that are put into requests.

use deadweight_cache::Digest;
use std::fmt::Write as _;
use std::ops::Range;

/// The hash of a text.
pub(crate) fn hash(text: &str) -> Digest {
    Digest::from_bytes(*blake3::hash(text.as_bytes()).as_bytes())
}

/// The id under which the original of what was cut is asked for: it follows from the original's hash.
#[must_use]
pub fn restore_id(original: &Digest) -> String {
    let mut id = String::from("dw-");
    for byte in &original.as_bytes()[..10] {
        let _ = write!(id, "{byte:02x}");
    }
    id
}

/// A text as a JSON string, with its quotes.
pub(crate) fn quoted(text: &str) -> Box<str> {
    let mut out = String::with_capacity(text.len() + 16);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            control if u32::from(control) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", u32::from(control));
            }
            other => out.push(other),
        }
    }
    out.push('"');
    out.into()
}

/// An object as it stands at `start`, with ranges of it replaced, and a member put behind its last.
///
/// `cuts` are ranges of the body, in any order, without overlap.
pub(crate) fn rebuilt(
    raw: &str,
    start: usize,
    cuts: &[(Range<usize>, &str)],
    member: Option<&str>,
) -> String {
    let mut cuts: Vec<_> = cuts.iter().collect();
    cuts.sort_by_key(|(range, _)| range.start);
    let mut out = String::with_capacity(raw.len() + 64);
    let mut kept = 0;
    for (range, text) in cuts {
        let (from, to) = (range.start.saturating_sub(start), range.end.saturating_sub(start));
        out.push_str(raw.get(kept..from).unwrap_or_default());
        out.push_str(text);
        kept = to;
    }
    out.push_str(raw.get(kept..).unwrap_or_default());
    if let Some(member) = member
        && let Some(end) = out.rfind('}')
    {
        let empty = out.get(..end).is_some_and(|inside| inside.trim_end().ends_with('{'));
        out.insert_str(end, &format!("{}{member}", if empty { "" } else { "," }));
    }
    out
}

/// The largest place at or below `at` where a text may be cut.
pub(crate) fn floor_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The first characters of a text on one line, for people and models to know it again by.
pub(crate) fn opening(text: &str, most: usize) -> String {
    let line = text.trim_start().lines().next().unwrap_or_default().trim_end();
    let cut = floor_boundary(line, most);
    let mut out: String = line.get(..cut).unwrap_or_default().into();
    if cut < line.len() {
        out.push('…');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoting_gives_json_strings() {
        for text in ["", "plain", "a\"b\\c\n\t\r\u{1}\u{1f}ä😀\u{7f}", "\u{2028}"] {
            assert_eq!(serde_json::from_str::<String>(&quoted(text)).unwrap(), text);
        }
    }

    #[test]
    fn an_object_is_rebuilt() {
        let raw = r#"{"a":"x","b":"y" }"#;
        assert_eq!(rebuilt(raw, 10, &[(15..18, "1")], Some("\"m\":0")), r#"{"a":1,"b":"y" ,"m":0}"#);
        assert_eq!(rebuilt("{ }", 0, &[], Some("\"m\":0")), r#"{ "m":0}"#);
        assert_eq!(rebuilt(raw, 10, &[], None), raw);
    }

    #[test]
    fn openings_end_at_characters() {
        assert_eq!(opening("  ääää\nx", 3), "ä…");
        assert_eq!(opening("abc", 3), "abc");
    }
}
