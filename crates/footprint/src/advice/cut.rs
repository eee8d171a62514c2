//! Taking parts out of a schema's text: members of objects by their byte ranges.

use deadweight_wire::definition::compact;
use deadweight_wire::json::Entry;
use std::ops::Range;

/// The range that goes when the entry at `index` goes: with the comma that joins it to a neighbour.
pub(super) fn member(entries: &[Entry<'_, '_>], index: usize) -> Range<usize> {
    let span = |at: usize| entries.get(at).map(|entry| entry.span());
    let own = span(index).map_or(0..0, |span| span.range());
    if let Some(next) = span(index + 1) {
        return own.start..next.start();
    }
    match index.checked_sub(1).and_then(span) {
        Some(before) => before.end()..own.end,
        None => own,
    }
}

/// Sorts ranges and joins those that touch or overlap.
pub(super) fn union(ranges: &mut Vec<Range<usize>>) {
    ranges.sort_by_key(|range| (range.start, range.end));
    ranges.dedup_by(|next, kept| {
        let joined = next.start <= kept.end;
        if joined {
            kept.end = kept.end.max(next.end);
        }
        joined
    });
}

/// `text` without the given ranges, which must be a [`union`].
pub(super) fn without(text: &str, ranges: &[Range<usize>]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut kept = 0;
    for range in ranges {
        out.push_str(text.get(kept..range.start).unwrap_or_default());
        kept = range.end;
    }
    out.push_str(text.get(kept..).unwrap_or_default());
    out
}

/// The compact text of a schema without the given members, which must be a [`union`] of [`member`] ranges.
pub(super) fn schema_without(text: &str, ranges: &[Range<usize>]) -> String {
    let left = without(text, ranges);
    drop_dangling_commas(&compact(&left))
}

/// Where the last members of an object went one by one, a comma is left before the brace.
fn drop_dangling_commas(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = String::with_capacity(text.len());
    let (mut in_string, mut escaped, mut kept) = (false, false, 0);
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_string,
            b'"' => in_string = !in_string,
            b',' if !in_string && bytes.get(at + 1) == Some(&b'}') => {
                out.push_str(text.get(kept..at).unwrap_or_default());
                kept = at + 1;
            }
            _ => {}
        }
    }
    out.push_str(text.get(kept..).unwrap_or_default());
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use deadweight_wire::json::Parser;

    /// The object `text` without the members at `indexes`.
    fn cut(text: &str, indexes: &[usize]) -> String {
        let mut ranges = Parser::new().scope(text.as_bytes(), |document| {
            let entries: Vec<_> = document.expect("valid").root().entries().collect();
            indexes.iter().map(|index| member(&entries, *index)).collect::<Vec<_>>()
        });
        union(&mut ranges);
        schema_without(text, &ranges)
    }

    #[test]
    fn any_set_of_members_can_go() {
        let text = "{ \"a\" : 1 , \"b\":\"x,}\\\"\", \"c\" : {\"d\":[ 2 ]} }";
        let members = ["\"a\":1", "\"b\":\"x,}\\\"\"", "\"c\":{\"d\":[2]}"];
        for mask in 0..8usize {
            let gone: Vec<usize> = (0..3).filter(|index| mask & 1 << index != 0).collect();
            let kept: Vec<&str> = members
                .iter()
                .enumerate()
                .filter(|(index, _)| !gone.contains(index))
                .map(|(_, text)| *text)
                .collect();
            assert_eq!(cut(text, &gone), format!("{{{}}}", kept.join(",")), "without {gone:?}");
        }
    }

    #[test]
    fn ranges_are_joined() {
        let mut ranges = vec![5..9, 0..2, 8..12, 2..3, 20..21];
        union(&mut ranges);
        assert_eq!(ranges, [0..3, 5..12, 20..21]);
        assert_eq!(without("abcdefghijklmnopqrstuvwxyz", &ranges), "demnopqrstvwxyz");
    }
}
